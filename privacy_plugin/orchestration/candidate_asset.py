"""An asset that is its upstream without the columns that identify people, and nothing else changed."""

from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.orchestration.door import told_without_values
from privacy_plugin.orchestration.target import checked_target, materialized, placed
from privacy_plugin.orchestration.upstream import Asset, asset_key, partition_of, partitions_of, upstream
from privacy_plugin.policy import Policy
from privacy_plugin.sources import open_source


def build_candidate_asset(
    *,
    name: Asset,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    target: str | None = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    partition_column: str | None = None,
    group_name: str | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    warehouse: str = "warehouse",
) -> dg.AssetsDefinition:
    """Build what many a pipeline would release: the table as it is, minus its identifiers.

    Undeclared columns stay, so that the gate behind it objects to them.
    """
    rules = policy if isinstance(policy, Policy) else Policy.load(policy)
    key, partitions = asset_key(name), partitions_of(asset, partitions_def)
    reads = upstream(
        asset,
        argument="data",
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
    )
    written = checked_target(target, key=key, reads=reads, partitions=partitions)

    @dg.asset(
        key=key,
        deps=reads.deps,
        ins=reads.ins,
        required_resource_keys=reads.resources,
        partitions_def=partitions,
        group_name=group_name,
        automation_condition=automation_condition,
        description=f"{rules.dataset} as it is, without the columns that identify people.",
        kinds={"privacy"},
    )
    def candidate(context: dg.AssetExecutionContext, **handed: Any) -> dg.MaterializeResult[Any]:
        partition = partition_of(context, partitions)
        with told_without_values("copying the table without its identifiers"):
            source = open_source(reads.data(context, handed, partition))
            identifiers = rules.rules.columns("identifier")
            kept = tuple(column for column in source.columns if column not in identifiers)
            copied = source.recode(
                Recoding(keep=kept, mappings={}), target=placed(written, reads=reads, partition=partition)
            )
        return materialized(copied, reads=reads, metadata={})

    return candidate
