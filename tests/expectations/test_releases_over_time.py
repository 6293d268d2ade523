"""The requirements over releases through Great Expectations: the same findings on every engine, from its groups."""

import json
from typing import Any

import pytest

import privacy_plugin as pp
from privacy_plugin.expectations import (
    ExpectTableAcrossReleasesToBeAtMost,
    ExpectTableDifferencesToBeAtMost,
    ExpectTableMInvarianceToBeAtLeast,
)
from privacy_plugin.expectations.checkpoint import validate
from privacy_plugin.history import ReleaseHistory
from tests.expectations.examples import frame
from tests.history.releases import KEY

K2 = [{"k_anonymity": {"at_least": 2}}]
PEOPLE = [(30, "a", "flu"), (30, "b", "cold"), (41, "c", "gout"), (41, "d", "flu")]  # zip is the unit here
NEWCOMER = (30, "e", "gout")
COLUMNS = {"zip": "unit", "age": "quasi_identifier", "disease": "sensitive"}


def _policy(*requirements: dict[str, Any], unit: bool = True) -> pp.Policy:
    return pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": COLUMNS if unit else {**COLUMNS, "zip": "insensitive"},
            "requirements": [*K2, *requirements],
        }
    )


def _history(rows: list[tuple[Any, ...]], *, unit: bool = True) -> ReleaseHistory:
    history = ReleaseHistory("sqlite://", key=KEY)
    history.record(frame(rows), policy=_policy(unit=unit))
    return history


def _expectations(unit: bool) -> list[Any]:
    if not unit:
        return [
            ExpectTableDifferencesToBeAtMost(quasi_identifiers=["age"], dataset="visits", requirements=K2, at_most=0)
        ]
    about = {"quasi_identifiers": ["age"], "unit": "zip", "dataset": "visits"}
    return [
        ExpectTableAcrossReleasesToBeAtMost(**about, requirements=K2, sensitive_columns=["disease"]),
        ExpectTableMInvarianceToBeAtLeast(**about, sensitive="disease", at_least=2),
    ]


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("newcomer", [True, False])
def test_a_release_is_judged_with_earlier_ones_on_every_engine(anywhere: Any, unit: bool, newcomer: bool) -> None:
    with anywhere([*PEOPLE, *([NEWCOMER] if newcomer else [])]) as (definition, parameters):
        batch = definition.get_batch(parameters)
        with pp.using_history(_history(PEOPLE, unit=unit)):
            found = [batch.validate(expectation) for expectation in _expectations(unit)]
        without = batch.validate(_expectations(unit)[0])
    assert not without.success
    assert without.exception_info["raised_exception"]
    assert [result.success for result in found] == [not newcomer] * len(found)
    assert found[0].result["observed_value"] == int(newcomer)  # the newcomer is alone
    assert not any(value in json.dumps(found[0].to_json_dict()) for value in ("flu", "gout", "sqlite"))


def test_a_policy_over_releases_is_a_suite_that_uses_the_history() -> None:
    policy = _policy({"across_releases": {}})
    with pp.using_history(_history(PEOPLE)):
        assert validate(policy, frame(PEOPLE)).success
        assert not validate(policy, frame([*PEOPLE, NEWCOMER])).success
    assert not validate(policy, frame(PEOPLE)).success
