"""The paper's optimizations: never above the truth, less work, and dominance as its definition has it."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.metrics.presence.by_recursion import exact_presence_confidence
from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds
from tests.metrics.presence_paper import minimum_dominant_subset, paper_confidence
from tests.metrics.presence_questions import classes, deltas, shares
from tests.oracles import presence as oracle


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    shape=classes(60),
    research=st.integers(1, 6),
    delta=deltas,
    cut=st.sampled_from([None, 1.0, 2.0, 4.0]),
    bucket=st.sampled_from([None, 2, 3, 4]),
)
def test_optimizations_of_the_paper_never_overstate(
    shape: tuple[list[int], int], research: int, delta: list[Fraction], cut: float | None, bucket: int | None
) -> None:
    marginals, others = shape
    asked: dict[str, Any] = {
        "marginals": marginals,
        "research_count": research,
        "others": others,
        "delta_low": delta[0],
        "delta_high": delta[1],
    }
    truth = oracle.confidence(oracle.distribution_by_recursion(marginals, others), research, *delta)
    plain, calls = paper_confidence(**asked)
    assert truth - Fraction(1, 10**8) <= Fraction(plain[0]) <= truth
    faster, fewer = paper_confidence(**asked, sigma_cut=cut, bucket_size=bucket)
    assert Fraction(faster[0]) <= truth
    assert fewer[0] <= calls[0]


def test_optimizations_of_the_paper_save_work() -> None:
    asked: dict[str, Any] = {
        "marginals": [900, 1_500, 2_000],
        "research_count": 20,
        "others": 4_000,
        "delta_low": 0,
        "delta_high": 0.11,
    }
    plain, calls = paper_confidence(**asked)
    cut, fewer = paper_confidence(**asked, sigma_cut=4.0)
    coarse, fewest = paper_confidence(**asked, sigma_cut=4.0, bucket_size=4)
    assert fewest[0] < fewer[0] / 2 < calls[0] / 4
    assert plain[0] > cut[0] > coarse[0] > 0.7 * plain[0]
    lower, upper = presence_confidence_bounds(**asked)
    assert plain[0] <= upper[0]
    assert plain[0] == pytest.approx(lower[0], abs=1e-8)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), on_low=st.booleans(), bound=shares)
def test_dominant_classes_hold_the_lowest_confidence(data: st.DataObject, on_low: bool, bound: Fraction) -> None:
    others = data.draw(st.integers(1, 12))
    rows = data.draw(
        st.lists(
            st.tuples(st.lists(st.integers(0, others), min_size=2, max_size=2), st.integers(1, 3)),
            min_size=1,
            max_size=8,
        )
    )
    asked: dict[str, Any] = {
        "marginals": [marginals for marginals, _ in rows],
        "research_count": [count for _, count in rows],
        "others": others,
        "delta_low": bound if on_low else 0,
        "delta_high": 1 if on_low else bound,
    }
    kept = minimum_dominant_subset(**asked).tolist()
    confidences = exact_presence_confidence(**asked)
    assert min(confidences[index] for index in kept) == min(confidences)
    one_sided_on_low = on_low or bound == 1
    for one in kept:
        for other in kept:
            assert one == other or not oracle.dominates(rows[one], rows[other], on_low=one_sided_on_low)
    for index in range(len(rows)):
        assert any(oracle.dominates(rows[one], rows[index], on_low=one_sided_on_low) for one in kept)


def test_with_two_sided_delta_every_class_stays() -> None:
    kept = minimum_dominant_subset(marginals=[[1], [3]], research_count=[1, 1], others=4, delta_low=0.1, delta_high=0.9)
    assert kept.tolist() == [0, 1]
