"""Scores that are not known exactly: intervals of a search cut short, floats, and the limits judged by them."""

from fractions import Fraction
from importlib import import_module

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from tests.metrics.score_frames import ROLES, VISITS, score, wide


@pytest.mark.parametrize("statistic", ["average", "maximum", "threshold_count", "threshold_share"])
@pytest.mark.parametrize("budget", [1, 300])
def test_a_limit_is_compared_with_the_worse_end_of_an_interval(statistic, budget):
    options = {
        "likelihood": {"c5": 0.4, "c30": 0.3, "c8": 0.2, "c3": 0.5, "c2": 0.1},
        "statistic": statistic,
        **({"threshold": 0.25} if statistic.startswith("threshold") else {}),
    }
    exact, cut = score(wide(), **options), score(wide(), budget=budget, **options)
    assert exact.complete
    assert not cut.complete
    assert cut.lowest <= exact.value <= cut.highest
    assert cut.lowest < cut.highest
    assert cut.value >= exact.value
    assert (cut.lower <= exact.individuals + 1e-12).all()
    assert (cut.individuals >= exact.individuals - 1e-12).all()
    assert any("budget" in note for note in cut.notes)
    between = (Fraction(exact.highest) + Fraction(cut.highest)) / 2
    requirement = pp.require("privacy_score", below=between, **options)
    frame = wide()
    assert requirement.judge(frame, attributes=list(frame)).passed
    limited = pp.require("privacy_score", below=between, budget=budget, **options)
    assert not limited.judge(frame, attributes=list(frame)).passed


def test_the_default_budget_applies_without_one(monkeypatch):
    frame = wide()
    assert score(frame).parameters["budget"] > 10**9
    monkeypatch.setattr(import_module("privacy_plugin.metrics.privacy_score.metric"), "DEFAULT_BUDGET", 300)
    cut = score(frame)
    assert not cut.complete
    assert cut.parameters["budget"] == 300
    assert any(f"of at most {cut.details['sets_at_most']:.2g}" in note for note in cut.notes)
    assert all(combination.weight > 0 for combination in cut.combinations)


def test_a_limit_equal_to_the_value_is_met():
    for limit, passed in (({"at_most": 0.5}, True), ({"below": 0.5}, False), ({"below": 0.51}, True)):
        finding = pp.require("privacy_score", statistic="maximum", roles=ROLES, **limit).judge(
            VISITS, attributes=["city", "disease"]
        )
        assert finding.passed is passed
    finding = pp.require("privacy_score", statistic="maximum", roles=ROLES, below=0.5).judge(
        VISITS, attributes=["city", "disease"]
    )
    assert finding.people_affected == 2
    share = pp.require("privacy_score", statistic="threshold_share", threshold=0.5, roles=ROLES, at_most=0.5)
    finding = share.judge(VISITS, attributes=["city", "disease"])
    assert (finding.passed, finding.value, finding.people_affected) == (True, Fraction(1, 2), None)
    count = pp.require("privacy_score", statistic="threshold_count", threshold=0.5, roles=ROLES, at_most=2)
    finding = count.judge(VISITS, attributes=["city", "disease"])
    assert (finding.passed, finding.value) == (True, found_by_definition(VISITS, 0.5))
    fewer = pp.require("privacy_score", statistic="threshold_count", threshold=0.5, roles=ROLES, below=2)
    assert not fewer.judge(VISITS, attributes=["city", "disease"]).passed


def found_by_definition(frame, threshold):
    """Count the people who score at least the threshold, one by one."""
    return int((score(frame, roles=ROLES).of(frame) >= threshold).sum())


def test_the_number_of_people_has_no_largest_limit_and_other_statistics_have():
    counting = pp.require("privacy_score", statistic="threshold_count", threshold=0.5, at_most=1_000)
    assert counting.limit.given == {"at_most": 1_000}
    assert not counting.limit.is_weakest(counting.definition, counting.options)
    for options in ({}, {"statistic": "maximum"}, {"statistic": "threshold_share", "threshold": 0.5}):
        with pytest.raises(ParameterError, match="at most 1"):
            pp.require("privacy_score", **options, at_most=2)


def test_an_average_says_whom_it_hides():
    finding = pp.require("privacy_score", roles=ROLES, below=0.5).judge(VISITS, attributes=["city", "disease"])
    assert finding.passed
    assert "It is an average: 2 of 4 people (50.0%) score more than that, up to 0.5." in finding.reason
    maximum = pp.require("privacy_score", statistic="maximum", roles=ROLES, at_most=0.5)
    assert "average" not in maximum.judge(VISITS, attributes=["city", "disease"]).reason


def test_floats_state_their_error():
    found = score(wide(), likelihood={"c2": 0.3}, danger={"c5": 0.7})
    assert isinstance(found.value, float)
    assert not found.exact
    assert 0 < found.error < 2e-12
    assert found.lowest < found.value < found.highest
