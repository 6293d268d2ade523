"""Holes filled by a policy: the added row has the hole, and nothing that undoes it."""

from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import InfeasibleError

POLICY: dict[str, Any] = {
    "dataset": "people",
    "columns": {"a": "quasi_identifier", "b": "quasi_identifier", "c": "quasi_identifier", "ill": "sensitive"},
    "requirements": [{"privacy_score": {"statistic": "maximum", "at_most": 0}}],
    "anonymize": {"method": "fill_holes", "max_size": 3},
}
PAIRS = pd.DataFrame({"a": [True, True, False], "b": [True, False, True], "c": [False, True, True]}).assign(ill=True)
SINGLES = pd.DataFrame({"a": [True, False, False], "b": [False, True, False], "c": [False, False, True]})
PEOPLE = pd.concat([PAIRS, SINGLES.assign(ill=False)], ignore_index=True)


def test_a_hole_is_filled_and_the_gate_opens() -> None:
    policy = pp.Policy.from_dict(POLICY)
    result = anonymize(PEOPLE, policy=policy)
    added = result.made[result.made["added"] == "added"]
    assert added.drop(columns="added").to_dict("records") == [{"a": True, "b": True, "c": True, "ill": False}]
    verdict = policy.judge(result.made, population=PEOPLE)
    assert verdict.passed, verdict.reasons
    assert verdict.findings[0].measurement.rows == len(PEOPLE)
    assert not policy.judge(PEOPLE.assign(added="person"), population=PEOPLE).passed


def test_holes_that_do_not_help_are_an_error() -> None:
    policy = pp.Policy.from_dict({**POLICY, "anonymize": {"method": "fill_holes", "max_size": 2}})
    with pytest.raises(InfeasibleError, match="fill_holes cannot meet privacy_score"):
        anonymize(PEOPLE, policy=policy)
