"""Build an asset from a function: what it reads, the target it writes, what Dagster records."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.error_redaction import told_without_values
from privacy_plugin.orchestration.resources import table_name
from privacy_plugin.orchestration.upstream import (
    Asset,
    StepContext,
    Upstream,
    asset_key,
    partition_of,
    partitions_of,
    upstream,
)
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.sql.dialect import dialect_of


def checked_target(given: str | None, *, key: dg.AssetKey, reads: Upstream, partitions: Any) -> str | None:
    """Return the table that is written, or None where a frame is handed to the IO manager.

    Every partition has a table of its own, so that what is put in place is exactly the copy that was verified:
    rows of partitions with other levels of generalization never meet in one column.
    """
    if given is None and reads.table is None:
        return None
    target = given if given is not None else key.path[-1] + ("" if partitions is None else "_{partition}")
    if partitions is None and "{partition}" in target:
        raise ParameterError(f"the target {target!r} has a partition in it; give partitions_def")
    if partitions is not None and "{partition}" not in target:
        raise ParameterError(f"every partition would replace the target {target!r}; write {{partition}} into its name")
    if target == reads.table:
        raise ParameterError(f"the target {target!r} is the table that is read; name another")
    return target


def placed(target: str | None, *, reads: Upstream, context: StepContext, partition: str | None) -> str | None:
    """Return the target of one partition: a quoted table name, or a path for files."""
    if target is None or partition is None:
        return target
    if reads.table is None:
        if "/" in partition or "\\" in partition:  # it may lead out of the folder, or to the file of another partition
            raise ParameterError(f"the key of partition {partition!r} is a path, which names no file; rename it")
        return target.replace("{partition}", partition)
    engine = getattr(context.resources, reads.warehouse).engine
    if dialect_of(engine.dialect).ignores_case:
        _require_own_name(context, reads.partitions, partition)
    return table_name(target, partition=partition)


def _require_own_name(context: StepContext, partitions: Any, partition: str) -> None:
    """Refuse keys that differ in case only: to DuckDB and SQLite their tables are one, and each replaces the other."""
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return
    keys = partitions.get_partition_keys(dynamic_partitions_store=context.instance)
    twins = [key for key in keys if key != partition and key.encode().lower() == partition.encode().lower()]
    if twins:
        raise ParameterError(
            f"the partitions {partition!r} and {twins[0]!r} would replace each other: in the name of a table, this "
            "database sees no difference between large and small letters; rename one"
        )


def materialized(
    made: Any, *, reads: Upstream, target: str | None, metadata: Mapping[str, Any]
) -> dg.MaterializeResult[Any]:
    """Return what Dagster records: of a frame also the value, for the IO manager, and of a file its path.

    A table is where it is.
    """
    if reads.table is not None:
        return dg.MaterializeResult(metadata=metadata)
    return dg.MaterializeResult(value=made if target is None else target, metadata=metadata)


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
