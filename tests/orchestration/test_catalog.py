"""Dagster's catalog: the real table of a partition, columns with roles and levels, and their lineage."""

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.orchestration import build_anonymized_asset, build_candidate_asset
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release, made_elsewhere, raw_rows

MONTHS = dg.StaticPartitionsDefinition(["2024-01", "2024-02"])


def shown(result: dg.ExecuteInProcessResult, node: str) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return roles and descriptions by column, and the upstream column of each."""
    (made,) = result.asset_materializations_for_node(node)
    columns = made.metadata["dagster/column_schema"].value.columns
    lineage = made.metadata["dagster/column_lineage"].value.deps_by_column
    return (
        {column.name: column.tags["privacy_role"] for column in columns},
        {column.name: column.description for column in columns},
        {name: f"{deps[0].asset_key.to_user_string()}.{deps[0].column_name}" for name, deps in lineage.items()},
    )


ROLES = {"age": "quasi_identifier", "zip": "quasi_identifier", "disease": "sensitive"}


def test_the_catalog_of_a_partition(any_pipeline: Pipeline) -> None:
    raw, policy = made_elsewhere("raw", partitions_def=MONTHS), any_pipeline.policy
    any_pipeline.write("raw_2024-01", raw_rows())
    anonymized = build_anonymized_asset(name="anonymized", asset=raw, table="raw_{partition}", policy=policy)
    candidate = build_candidate_asset(name="as_is", asset=raw, table="raw_{partition}", policy=policy)
    gated = gate_and_release(any_pipeline, anonymized, table="anonymized_{partition}")
    any_pipeline.definitions = [raw, anonymized, candidate, *gated]
    result = any_pipeline.run(partition_key="2024-01")
    assert result.success, errors(result)
    for node, upstream in (("anonymized", "raw"), ("as_is", "raw"), ("release", "anonymized")):
        (made,) = result.asset_materializations_for_node(node)
        assert made.metadata["dagster/table_name"].value == f"{node}_2024-01"
        roles, _, lineage = shown(result, node)
        assert roles == ROLES
        assert lineage == {name: f"{upstream}.{name}" for name in ROLES}
    _, descriptions, _ = shown(result, "anonymized")
    assert descriptions["age"].startswith("quasi-identifier, level ")
    assert descriptions["disease"] == "sensitive"


@pytest.mark.parametrize("name", ["release", "anonymized"])
def test_the_catalog_of_frames(pipeline: Pipeline, name: str) -> None:
    @dg.asset
    def raw() -> pd.DataFrame:
        return raw_rows()

    anonymized = build_anonymized_asset(name="anonymized", asset=raw, policy=pipeline.policy)
    pipeline.definitions = [raw, anonymized, *gate_and_release(pipeline, anonymized)]
    result = pipeline.run()
    assert result.success, errors(result)
    assert shown(result, name)[0] == ROLES
    (made,) = result.asset_materializations_for_node(name)
    assert "dagster/table_name" not in made.metadata
