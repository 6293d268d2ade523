"""A search that is cut short: intervals that hold, progress, and what is known before it starts."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_plugin.metrics.privacy_score.relation import make_relation
from privacy_plugin.metrics.privacy_score.result import ERROR
from privacy_plugin.metrics.privacy_score.scores import estimate_work, score
from tests.metrics.score_cases import PARTIAL, cases, one_hot, steady


def searches(case):
    return ("search", "words") if case.confidence == 1 else ("search",)


@steady
@given(cases(confidences=(Fraction(1), *PARTIAL)), st.integers(1, 400))
def test_an_exhausted_budget_still_brackets_the_score(case, budget):
    exact = np.array([float(value) for value in case.oracle_scores()])
    for algorithm in searches(case):
        found = score(case.relation, algorithm=algorithm, budget=budget, **case.parameters)
        assert (found.lower[case.relation.inverse] <= exact + ERROR).all()
        assert (found.upper[case.relation.inverse] >= exact - ERROR).all()
        if found.exact:
            assert (found.lower == found.upper).all()


@steady
@given(cases(confidences=(Fraction(1), Fraction(3, 4))))
def test_a_longer_search_only_narrows_the_interval(case):
    for algorithm in searches(case):
        narrow = score(case.relation, algorithm=algorithm, budget=60, **case.parameters)
        wide = score(case.relation, algorithm=algorithm, budget=20, **case.parameters)
        assert (narrow.lower >= wide.lower - ERROR).all()
        assert (narrow.upper <= wide.upper + ERROR).all()


@pytest.mark.parametrize("algorithm", ["search", "words"])
def test_a_long_search_reports_progress(algorithm):
    relation = make_relation(
        matrix=np.random.default_rng(2).random((60, 40)) < 0.97, likelihood=[0.9] * 40, danger=[1] * 40
    )
    seen = []
    found = score(
        relation, algorithm=algorithm, budget=40_000_000, progress=lambda share, steps: seen.append((share, steps))
    )
    assert seen
    assert [steps for _, steps in seen] == sorted(steps for _, steps in seen)
    assert all(0 <= share <= 1 for share, _ in seen)
    assert (found.lower <= found.upper).all()


@pytest.mark.parametrize(("rows", "algorithm"), [(400, "words"), (1500, "search")])
def test_a_budget_turns_a_long_search_into_an_interval(rows, algorithm):
    relation = one_hot(rows)
    exact = score(relation)
    assert exact.exact
    assert exact.algorithm == algorithm
    cut = score(relation, budget=exact.steps // 4)
    assert not cut.exact
    assert (cut.lower <= exact.lower + ERROR).all()
    assert (cut.upper >= exact.lower - ERROR).all()
    assert (cut.upper > cut.lower).any()


@pytest.mark.parametrize(("confidence", "algorithm"), [(1.0, "search"), (1.0, "words"), (0.8, "search")])
def test_the_interval_holds_at_any_budget(confidence, algorithm):
    relation = one_hot(60)
    exact = score(relation, confidence=confidence, algorithm=algorithm)
    assert exact.exact
    for budget in range(1, exact.steps, max(1, exact.steps // 200)):
        cut = score(relation, confidence=confidence, algorithm=algorithm, budget=budget)
        assert (cut.lower <= exact.lower + ERROR).all()
        assert (cut.upper >= exact.lower - ERROR).all()


def test_the_estimate_bounds_the_visited_sets():
    relation = one_hot()
    estimate = estimate_work(relation)
    assert estimate.usable_attributes == 48
    assert not estimate.lattice_possible
    assert estimate.largest_person == 5
    for algorithm in ("search", "words"):
        assert score(relation, algorithm=algorithm).nodes <= estimate.sets
    assert score(relation, confidence=0.9).nodes <= estimate.sets
