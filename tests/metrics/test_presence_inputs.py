"""What is asked of the kernels: allowed counts, decimals as written, edges, and what makes no sense."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.presence.by_recursion import exact_presence_confidence
from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds
from tests.metrics.presence_paper import minimum_dominant_subset, paper_confidence
from tests.metrics.presence_questions import deltas
from tests.oracles import presence as oracle


@settings(deadline=None, derandomize=True, max_examples=80)
@given(research=st.integers(1, 30), delta=deltas, others=st.integers(1, 60), matching=st.integers(0, 60))
def test_the_allowed_counts_are_those_that_are_present(
    research: int, delta: list[Fraction], others: int, matching: int
) -> None:
    matching = min(matching, others)
    (confidence,) = exact_presence_confidence(
        marginals=[matching], research_count=research, others=others, delta_low=delta[0], delta_high=delta[1]
    )
    assert confidence == int(oracle.is_present(research, matching, *delta))


def test_a_float_stands_for_the_decimal_it_prints_as() -> None:
    asked: dict[str, Any] = {"research_count": 1, "others": 20}
    assert exact_presence_confidence(marginals=[9], delta_low=0.1, delta_high=1, **asked) == (Fraction(1),)
    assert exact_presence_confidence(marginals=[9], delta_low=0, delta_high=np.float64(0.1), **asked) == (Fraction(1),)
    assert exact_presence_confidence(marginals=[10], delta_low=0.1, delta_high=1, **asked) == (Fraction(0),)


def test_edges() -> None:
    asked: dict[str, Any] = {"research_count": 1, "others": 5}
    assert exact_presence_confidence(marginals=[2, 3], delta_low=0, delta_high=1, **asked) == (Fraction(1),)
    assert exact_presence_confidence(marginals=[2, 3], delta_low=0, delta_high=0, **asked) == (Fraction(0),)
    assert exact_presence_confidence(marginals=[0, 3], delta_low=0, delta_high=0.5, **asked) == (Fraction(0),)
    assert exact_presence_confidence(marginals=[5, 5], delta_low=0, delta_high=0.2, **asked) == (Fraction(1),)
    lower, upper = presence_confidence_bounds(
        marginals=[[0]], research_count=[1], others=0, delta_low=0, delta_high=0.5
    )
    assert (lower[0], upper[0]) == (0.0, 0.0)


def test_equal_classes_get_equal_answers_in_any_order_of_attributes() -> None:
    lower, upper = presence_confidence_bounds(
        marginals=[[30, 40, 100], [40, 100, 30]], research_count=[2, 2], others=100, delta_low=0.1, delta_high=0.25
    )
    assert lower[0] == lower[1]
    assert upper[0] == upper[1]


def test_exact_fractions_have_a_size_limit() -> None:
    with pytest.raises(TooLargeError, match="limit=300000"):
        exact_presence_confidence(
            marginals=[5_000, 5_000], research_count=1, others=10_000, delta_low=0, delta_high=Fraction(1, 2_500)
        )
    with pytest.raises(TooLargeError, match="exceeds 5000000"):
        paper_confidence(marginals=[5], research_count=1, others=10**7, delta_low=0, delta_high=0.5)


ASKED: dict[str, Any] = {"marginals": [2, 3], "research_count": 1, "others": 5, "delta_low": 0.1, "delta_high": 0.5}


@pytest.mark.parametrize(
    "wrong",
    [
        {"others": -1},
        {"others": 2.0},
        {"others": True},
        {"marginals": [6, 1]},
        {"marginals": [-1, 1]},
        {"marginals": [0.5, 1]},
        {"marginals": [[]]},
        {"research_count": [1, 1]},
        {"research_count": 0},
        {"delta_low": 0.6},
        {"delta_low": -0.1},
        {"delta_high": 1.1},
        {"delta_high": float("nan")},
        {"delta_low": "0.1"},
    ],
)
def test_invalid_arguments_raise(wrong: dict[str, Any]) -> None:
    for function in (presence_confidence_bounds, exact_presence_confidence, paper_confidence, minimum_dominant_subset):
        with pytest.raises(ParameterError):
            function(**{**ASKED, **wrong})


def test_unknown_methods_and_limits_out_of_range_raise() -> None:
    with pytest.raises(ParameterError, match="window"):
        presence_confidence_bounds(**ASKED, method="windows")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="sigma_cut"):
        paper_confidence(**ASKED, sigma_cut=0.0)
    with pytest.raises(ParameterError, match="bucket_size"):
        paper_confidence(**ASKED, bucket_size=0)
