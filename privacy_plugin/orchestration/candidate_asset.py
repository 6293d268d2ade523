"""An asset that is its upstream without the columns that identify people, and nothing else changed."""

from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.orchestration.asset_builder import Made, Run, build_step
from privacy_plugin.orchestration.upstream import Asset
from privacy_plugin.policy.policy import Policy


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
    identifiers = rules.rules.columns("identifier")

    def make(run: Run) -> Made:
        kept = tuple(column for column in run.source.columns if column not in identifiers)
        return run.source.recode(Recoding(keep=kept, mappings={}), target=run.target), {}

    return build_step(
        make,
        doing="copying the table without its identifiers",
        description=f"{rules.dataset} as it is, without the columns that identify people.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        group_name=group_name,
        automation_condition=automation_condition,
        warehouse=warehouse,
    )
