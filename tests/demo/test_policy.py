"""The demo's policy: it fits the generated table, rejects the original, and can be met."""

from importlib.resources import files

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.demo.hospital import generate_hospital
from privacy_plugin.generalization.local_plan import LocalPlan


@pytest.fixture(scope="module")
def policy() -> pp.Policy:
    return pp.Policy.load(str(files("privacy_plugin.demo") / "policy.yaml"))


@pytest.fixture(scope="module")
def hospital() -> tuple[pd.DataFrame, pd.DataFrame]:
    return generate_hospital(6_000, seed=7)


@pytest.fixture(scope="module")
def visits(hospital: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    return hospital[0]


@pytest.fixture(scope="module")
def register(hospital: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    return hospital[1]


def test_every_column_has_a_role_and_every_quasi_identifier_a_hierarchy(
    policy: pp.Policy, visits: pd.DataFrame
) -> None:
    assert list(policy.roles) == list(visits.columns)
    assert set(policy.hierarchies) == set(policy.quasi_identifiers)


def test_the_register_has_all_quasi_identifiers(policy: pp.Policy) -> None:
    assert set(policy.quasi_identifiers) <= set(generate_hospital(10, 1)[1].columns)


def test_the_original_table_fails(policy: pp.Policy, visits: pd.DataFrame, register: pd.DataFrame) -> None:
    verdict = policy.judge(visits.drop(columns=list(policy.rules.columns("identifier"))), population=register)
    assert verdict.evaluated
    assert [finding.status for finding in verdict.findings] == ["failed"] * 7


def test_a_generalization_passes_and_keeps_every_column(
    policy: pp.Policy, visits: pd.DataFrame, register: pd.DataFrame
) -> None:
    made = anonymize(visits, policy=policy, population=register)
    assert isinstance(made.plan, LocalPlan)
    assert made.plan.suppressed_share <= 0.01
    verdict = policy.judge(made.made, population=register, plan=made.plan)
    assert {finding.requirement.metric for finding in verdict.findings} >= {
        "maximum_disclosure",
        "delta_presence",
        "privacy_score",
    }
    assert verdict.passed
    assert {name: (made.made[name] == "*").mean() < 0.5 for name in policy.quasi_identifiers} == dict.fromkeys(
        policy.quasi_identifiers, True
    )
