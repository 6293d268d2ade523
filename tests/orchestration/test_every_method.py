"""Every method that a policy can name, through every door: Dagster on two databases, suites, command line, report.

The cases are in `tests/method_cases.py`; `tests/test_contract.py` fails for a method without one.
"""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.anonymizers.registry import ANONYMIZERS
from privacy_plugin.cli.app import app
from privacy_plugin.errors import PolicyError
from privacy_plugin.orchestration import BudgetLedgerResource, build_anonymized_asset
from tests.engines import postgresql_database
from tests.method_cases import METHOD_CASES, MethodCase
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release, outcome, released
from tests.randomized_policies import open_ledger

pytestmark = pytest.mark.great_expectations


def compared(case: MethodCase) -> dict[str, Any]:
    """The second table of the gate, by its arguments."""
    if case.population is not None:
        return {"population_table": "register"}
    return {"population": "raw", "population_table": "raw"} if case.compares_with_source else {}


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize("method", ANONYMIZERS)
def test_dagster_anonymizes_judges_and_releases(method: str, engine: str, tmp_path: Path) -> None:
    case = METHOD_CASES[method]
    url = f"duckdb:///{tmp_path / 'house.db'}"
    if engine == "postgresql":
        url = postgresql_database().url.render_as_string(hide_password=False)
    address = f"sqlite:///{tmp_path}/ledger.db"
    with dg.DagsterInstance.ephemeral() as instance:
        pipeline = Pipeline(folder=tmp_path / "records", url=url, instance=instance)
        pipeline.policy = pp.Policy.from_dict(case.policy)
        pipeline.write("raw", case.raw)
        searched: dict[str, Any] = {}
        if case.population is not None:
            pipeline.write("register", case.population)
            searched = {"population_table": "register"}
        if case.draws:
            open_ledger(address)
            pipeline.extra_resources = {"ledger": BudgetLedgerResource(url=address)}
        pipeline.definitions = [
            dg.AssetSpec("raw"),
            build_anonymized_asset(name="made", asset="raw", table="raw", policy=pipeline.policy, **searched),
            *gate_and_release(pipeline, "made", table="made", **compared(case)),
        ]
        result = pipeline.run()
        assert result.success, errors(result)
        assert released(result)
        checks = outcome(result)
        assert checks.pop("privacy_structure")
        assert len(checks) == len(pipeline.policy.requirements)
        assert all(checks.values())
        for suffix in case.tables:
            rows = pipeline.read(f"release{suffix}")
            assert rows
            assert "MARKER" not in str(rows)
        (made,) = result.asset_materializations_for_node("made")
        assert made.metadata["method"].value == method
        assert pipeline.certificate_files()
        page = next((pipeline.folder / "reports").rglob("*.html")).read_text()
        assert "MARKER" not in page
        assert pipeline.policy.requirements[0].definition.title in page


@pytest.mark.parametrize("method", ANONYMIZERS)
def test_the_suite_of_its_policy_expects_what_it_promises(method: str) -> None:
    case = METHOD_CASES[method]
    named = {} if case.population is None else {"population": "register"}
    policy = pp.Policy.from_dict({**case.policy, **named})
    if case.compares_with_source:  # a suite sees one table; only the gate can verify who was added
        with pytest.raises(PolicyError, match="use the gate"):
            policy.to_expectation_suite()
        return
    expected = {requirement.metric for requirement in policy.requirements}
    tables = list(policy.rules.tables) or [None]
    found = [
        {getattr(expectation, "metric", None) for expectation in policy.to_expectation_suite(table=table).expectations}
        for table in tables
    ]
    assert expected <= set.union(*found)


@pytest.mark.parametrize("method", ANONYMIZERS)
def test_the_command_line_anonymizes_and_reports(method: str, tmp_path: Path) -> None:
    case = METHOD_CASES[method]
    address = f"sqlite:///{tmp_path}/ledger.db"
    case.raw.to_csv(tmp_path / "raw.csv", index=False)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(case.policy))
    given = ["--policy", str(tmp_path / "policy.yaml")]
    if case.draws:
        open_ledger(address)
        given += ["--ledger", address]
    if case.population is not None:
        case.population.to_csv(tmp_path / "register.csv", index=False)
        given += ["--population", str(tmp_path / "register.csv")]
    written = ["--output", str(tmp_path / "made.csv"), "--report", str(tmp_path / "report.html")]
    result = CliRunner().invoke(app, ["anonymize", str(tmp_path / "raw.csv"), *given, *written])
    assert result.exit_code == 0, result.output
    for suffix in case.tables:
        assert (tmp_path / f"made{suffix}.csv").read_text().count("\n") > 1
        assert "MARKER" not in (tmp_path / f"made{suffix}.csv").read_text()
    page = (tmp_path / "report.html").read_text()
    assert "What was changed" in page
    assert "MARKER" not in page + result.output
