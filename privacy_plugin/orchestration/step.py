"""A step of the path as an asset: what it reads, where it writes, what Dagster is told; the rest is the step's own."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from privacy_plugin.orchestration.door import told_without_values
from privacy_plugin.orchestration.target import checked_target, materialized, placed
from privacy_plugin.orchestration.upstream import Asset, Upstream, asset_key, partition_of, partitions_of, upstream
from privacy_plugin.sources import Source, open_source


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a step: the opened source, the target of this partition, and what else it may ask for."""

    key: dg.AssetKey
    reads: Upstream
    source: Source
    target: str | None
    partition: str | None
    resources: Any
    population: Any = None


Made = tuple[Any, Mapping[str, Any]]


def build_step(
    make: Callable[[Run], Made],
    *,
    doing: str,
    description: str,
    name: Asset,
    asset: Asset,
    table: str | None,
    target: str | None,
    partitions_def: dg.PartitionsDefinition[Any] | None,
    partition_column: str | None,
    group_name: str | None,
    automation_condition: dg.AutomationCondition[Any] | None,
    warehouse: str,
    resources: Iterable[str] = (),
    population: Upstream | None = None,
) -> dg.AssetsDefinition:
    """Build an asset from the function that makes it out of its upstream: it returns what was made, and metadata.

    Whatever goes wrong is told without a value of the data.
    """
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
    read = [reads] if population is None else [reads, population]

    @dg.asset(
        key=key,
        deps=[dep for one in read for dep in one.deps],
        ins={argument: loaded for one in read for argument, loaded in one.ins.items()},
        required_resource_keys={*resources, *(resource for one in read for resource in one.resources)},
        partitions_def=partitions,
        group_name=group_name,
        automation_condition=automation_condition,
        description=description,
        metadata={} if reads.table is None else {"dagster/table_name": written},
        kinds={"privacy"},
    )
    def step(context: dg.AssetExecutionContext, **handed: Any) -> dg.MaterializeResult[Any]:
        with told_without_values(doing):
            partition = partition_of(context, partitions)
            run = Run(
                key=key,
                reads=reads,
                source=open_source(reads.data(context, handed, partition)),
                target=placed(written, reads=reads, context=context, partition=partition),
                partition=partition,
                resources=context.resources,
                population=None if population is None else population.data(context, handed, None),
            )
            made, metadata = make(run)
        return materialized(made, reads=reads, target=run.target, metadata=metadata)

    return step
