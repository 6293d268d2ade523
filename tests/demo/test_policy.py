"""The demo's policy: it fits the generated table, rejects the original, and can be met."""

from importlib.resources import files

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.demo.hospital import generate_hospital


@pytest.fixture(scope="module")
def policy() -> pp.Policy:
    return pp.Policy.load(str(files("privacy_plugin.demo") / "policy.yaml"))


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return generate_hospital(6_000, seed=7)[0]


def test_every_column_has_a_role_and_every_quasi_identifier_a_hierarchy(
    policy: pp.Policy, visits: pd.DataFrame
) -> None:
    assert list(policy.roles) == list(visits.columns)
    assert set(policy.hierarchies) == set(policy.quasi_identifiers)


def test_the_register_has_all_quasi_identifiers(policy: pp.Policy) -> None:
    assert set(policy.quasi_identifiers) <= set(generate_hospital(10, 1)[1].columns)


def test_the_original_table_fails(policy: pp.Policy, visits: pd.DataFrame) -> None:
    verdict = policy.judge(visits.drop(columns=list(policy.rules.columns("identifier"))))
    assert verdict.evaluated
    assert [finding.status for finding in verdict.findings] == ["failed"] * 4


def test_a_generalization_passes_with_few_rows_suppressed(policy: pp.Policy, visits: pd.DataFrame) -> None:
    plan = pp.generalize(visits, hierarchies=policy.hierarchies, requirements=policy.requirements, **policy.anonymize)
    assert 0 < plan.suppressed_share <= 0.01
    assert policy.judge(plan.apply(visits, keep=policy.rules.released)).passed
