"""Scores that are not known exactly: intervals of a search cut short, floats, and the limits judged by them."""

from fractions import Fraction
from importlib import import_module

import pytest

import privacy_plugin as pp
from tests.metrics.score_frames import ROLES, VISITS, score, wide


@pytest.mark.parametrize("statistic", ["average", "maximum", "threshold_share"])
@pytest.mark.parametrize("budget", [1, 300])
def test_a_limit_is_compared_with_the_worse_end_of_an_interval(statistic, budget):
    options = {
        "likelihood": {"c5": 0.4, "c30": 0.3, "c8": 0.2, "c3": 0.5, "c2": 0.1},
        "statistic": statistic,
        **({"threshold": 0.25} if statistic == "threshold_share" else {}),
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


def test_floats_state_their_error():
    found = score(wide(), likelihood={"c2": 0.3}, danger={"c5": 0.7})
    assert isinstance(found.value, float)
    assert not found.exact
    assert 0 < found.error < 2e-12
    assert found.lowest < found.value < found.highest
