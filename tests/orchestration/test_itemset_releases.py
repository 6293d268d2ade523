"""Tables of itemsets, from the raw table to the release, in real runs of Dagster and from the command line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.cli.app import app
from privacy_plugin.orchestration import BudgetLedgerResource, build_anonymized_asset, build_candidate_asset
from tests.engines import postgresql_database
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release, outcome, released
from tests.randomized_policies import (
    ITEMSET_COUNTS,
    ITEMSETS,
    KRIMP,
    KRIMP_OF_CELLS,
    MONTHS,
    monthly_policy_dict,
    open_ledger,
    people,
    policy_dict,
)

CHECK = "privacy_budget_delta_0_01_privacy_unit_row"
METHODS = {"items": ITEMSETS, "counts": ITEMSET_COUNTS, "krimp": KRIMP, "krimp of cells": KRIMP_OF_CELLS}


@pytest.fixture(params=["duckdb", "postgresql"])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipeline]:
    url = f"duckdb:///{tmp_path / 'warehouse' / 'house.db'}"
    if request.param == "postgresql":
        url = postgresql_database().url.render_as_string(hide_password=False)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Pipeline(folder=tmp_path / "records", url=url, instance=instance)


def drawing(pipeline: Pipeline, address: str, policy: dict[str, Any], **partitions: Any) -> Pipeline:
    pipeline.policy = pp.Policy.from_dict(policy)
    suffix = "_{partition}" if partitions else ""
    column = {"partition_column": "month"} if partitions else {}
    pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(name="drawn", asset="raw", table="raw", policy=pipeline.policy, **partitions, **column),
        *gate_and_release(pipeline, "drawn", table=f"drawn{suffix}", **partitions),
    ]
    pipeline.extra_resources = {"ledger": BudgetLedgerResource(url=address)}
    return pipeline


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_itemsets_are_drawn_judged_and_released(pipeline: Pipeline, tmp_path: Path, method: dict[str, Any]) -> None:
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = open_ledger(address)
    pipeline.write("raw", pd.DataFrame(people()))
    result = drawing(pipeline, address, policy_dict(anonymize=method)).run()
    assert result.success, errors(result)
    assert released(result)
    assert outcome(result) == {"privacy_structure": True, CHECK: True}
    rows = pipeline.read("release")
    assert rows
    assert rows == pipeline.read("drawn")
    texts = [row[0] for row in rows]
    assert all(item.split("=")[0] in ("sex", "zip") for text in texts for item in text.split("; "))
    assert [row[1] for row in rows] == [text.count("=") for text in texts]
    (spend,) = ledger.entries()
    assert (spend.status, spend.private) == ("committed", True)
    report = next((pipeline.folder / "reports").rglob("*.html")).read_text()
    assert spend.mechanism in report
    pipeline.execute("DELETE FROM drawn WHERE size = 1 OR size = 2")
    again = pipeline.run("release")
    assert not again.success
    assert "changed after its privacy checks" in errors(again)
    assert pipeline.read("release") == rows


def test_partitions_leave_their_column_out(pipeline: Pipeline, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/ledger.db"
    open_ledger(address)
    pipeline.write("raw", pd.concat([pd.DataFrame(people()).assign(month=month) for month in MONTHS]))
    drawing(pipeline, address, monthly_policy_dict(KRIMP), partitions_def=dg.StaticPartitionsDefinition(MONTHS))
    result = pipeline.run(partition_key=MONTHS[0])
    assert result.success, errors(result)
    rows = pipeline.read(f"release_{MONTHS[0]}") or []
    assert rows
    assert not any("month" in row[0] for row in rows)


def test_the_raw_table_never_passes_and_says_why() -> None:
    policy = pp.Policy.from_dict(policy_dict(anonymize=ITEMSETS))
    verdict = policy.judge(pd.DataFrame(people()))
    assert not verdict.passed
    assert "is released as itemsets, with the columns itemset, size, position" in verdict.reasons[0]
    with pytest.raises(pp.PrivacyPluginError, match="use build_anonymized_asset"):
        build_candidate_asset(name="as_is", asset="raw", table="raw", policy=policy)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"requirements": [{"privacy_budget": {"at_most": 0.5, "privacy_unit": "row"}}]}, "alone does not meet"),
        ({"requirements": [{"k_anonymity": {"at_least": 2}}]}, "spends privacy budget"),
        (
            {"requirements": [*policy_dict()["requirements"], {"k_anonymity": {"at_least": 2}}]},
            "not rows of people, so that k_anonymity at least 2 has nothing to judge",
        ),
        ({"anonymize": {**ITEMSETS, "support": 2}}, "support must be a share"),
        ({"anonymize": {**ITEMSETS, "number": 0}}, "number must be a whole number"),
        ({"anonymize": {**ITEMSETS, "longest": 0}}, "longest must be a whole number"),
        ({"anonymize": {k: v for k, v in ITEMSETS.items() if k != "domains"}}, "needs domains"),
        ({"anonymize": {**ITEMSET_COUNTS, "itemsets": []}}, "must be a list of itemsets"),
        ({"anonymize": {**ITEMSET_COUNTS, "itemsets": [{"age": 3}]}}, "unknown column in itemsets 'age'"),
        ({"anonymize": {**ITEMSET_COUNTS, "itemsets": [{"sex": None}]}}, "one value, which is not missing"),
        ({"anonymize": {**KRIMP, "from": "generalize"}}, "unknown from 'generalize'"),
        ({"anonymize": {k: v for k, v in KRIMP.items() if k != "from"}}, "needs from: synthesize or randomized"),
        ({"anonymize": {**KRIMP_OF_CELLS, "delta": 1e-6}}, "unknown option of sanitized_krimp from randomized_resp"),
    ],
)
def test_policies_are_refused_when_loaded(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(pp.PrivacyPluginError, match=problem):
        pp.Policy.from_dict(policy_dict(**{"anonymize": ITEMSETS, **changes}))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_command_line_writes_itemsets_with_a_report(tmp_path: Path, method: dict[str, Any]) -> None:
    address = f"sqlite:///{tmp_path}/ledger.db"
    open_ledger(address)
    pd.DataFrame(people()).to_csv(tmp_path / "raw.csv", index=False)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy_dict(anonymize=method)))
    given = ["--policy", str(tmp_path / "policy.yaml"), "--ledger", address]
    written = [str(tmp_path / "sets.csv"), "--report", str(tmp_path / "report.html")]
    made = CliRunner().invoke(app, ["anonymize", str(tmp_path / "raw.csv"), *given, "--output", *written])
    assert made.exit_code == 0, made.output
    assert list(pd.read_csv(tmp_path / "sets.csv"))[:2] == ["itemset", "size"]
    page = (tmp_path / "report.html").read_text()
    assert "privacy budget" in page
    assert CliRunner().invoke(app, ["check", str(tmp_path / "sets.csv"), *given]).exit_code == 0
    assert CliRunner().invoke(app, ["check", str(tmp_path / "raw.csv"), *given]).exit_code == 2
