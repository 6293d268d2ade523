"""Build an asset from a function: what it reads, which target it writes, what Dagster records."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.error_redaction import redact_errors
from privacy_plugin.orchestration.partitions import RunContext, partition_key
from privacy_plugin.orchestration.resources import table_name
from privacy_plugin.orchestration.standard_arguments import (
    AssetArguments,
    require_known,
    require_one_partition_per_run,
    require_upstream_backfill,
    with_prefix,
)
from privacy_plugin.orchestration.upstream import Asset, Upstream, asset_key, build_upstream, choose_partitions
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.bundle import bundle_targets
from privacy_plugin.sources.sql.dialect import dialect_of


@dataclass(frozen=True, kw_only=True)
class AssetRun:
    """One run of an asset: the opened source, the target of the partition, and the resources."""

    key: dg.AssetKey
    reads: Upstream
    source: Source
    target: str | None
    partition: str | None
    resources: Any
    population: Any = None


MadeAsset = tuple[Any, Mapping[str, Any]]


def build_asset(
    make: Callable[[AssetRun], MadeAsset],
    *,
    activity: str,
    description: str,
    name: Asset,
    asset: Asset,
    table: str | None,
    target: str | None,
    partitions_def: dg.PartitionsDefinition[Any] | None,
    partition_column: str | None,
    warehouse: str,
    standard: AssetArguments,
    resources: Iterable[str] = (),
    population: Upstream | None = None,
    parts: Iterable[str] = (),
    made_parts: Iterable[str] = (),
) -> dg.AssetsDefinition:
    """Build an asset from the function that makes it from its upstream; it returns the result and its metadata.

    Errors are redacted: a message of `activity` never quotes the data. `parts` and `made_parts` name the tables that
    are read and made, if there are several (see `Rules.tables`).
    `standard` are arguments of `dg.asset`, which are passed on. A backfill policy with several partitions in one run
    raises an error: every partition has its own verdict.
    """
    require_known(standard, AssetArguments, builder="this asset")
    given: dict[str, Any] = {argument: value for argument, value in standard.items() if value is not None}
    key = with_prefix(asset_key(name), given.pop("key_prefix", None))
    partitions = choose_partitions(asset, partitions_def)
    if partitions is not None:
        require_one_partition_per_run(given.get("backfill_policy"), owner=f"the asset {key.to_user_string()!r}")
    require_upstream_backfill(asset, partitions)
    reads = build_upstream(
        asset,
        argument="data",
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
        parts=parts,
    )
    parts_made = tuple(made_parts)
    target_name = _check_target(target, key=key, reads=reads, partitions=partitions)
    inputs = [reads] if population is None else [reads, population]

    def materialize(context: dg.AssetExecutionContext, **loaded: Any) -> dg.MaterializeResult[Any]:
        with redact_errors(activity):
            partition = partition_key(context, partitions)
            run = AssetRun(
                key=key,
                reads=reads,
                source=open_source(reads.data(context, loaded, partition)),
                target=_partition_target(target_name, reads=reads, context=context, partition=partition),
                partition=partition,
                resources=context.resources,
                population=None if population is None else population.data(context, loaded, None),
            )
            made, metadata = make(run)
        stored = {} if run.target is None else _stored_tables(run.target, parts_made, database=reads.table is not None)
        return _materialize_result(made, reads=reads, target=stored or run.target, metadata={**metadata, **stored})

    decorate = dg.asset(
        key=key,
        deps=[*(dep for upstream in inputs for dep in upstream.deps), *given.pop("deps", ())],
        ins={argument: loaded for upstream in inputs for argument, loaded in upstream.ins.items()},
        required_resource_keys={*resources, *(resource for upstream in inputs for resource in upstream.resources)},
        partitions_def=partitions,
        description=given.pop("description", description),
        metadata={**given.pop("metadata", {}), **({} if reads.table is None else {"dagster/table_name": target_name})},
        kinds=given.pop("kinds", {"privacy"}),
        **given,
    )
    built: dg.AssetsDefinition = decorate(materialize)
    return built


def _check_target(given: str | None, *, key: dg.AssetKey, reads: Upstream, partitions: Any) -> str | None:
    """Return the target table (default: the asset's name), or None where the IO manager stores a frame.

    Every partition has its own table, so that the published table is exactly the copy that was verified: rows of
    partitions with different generalization levels never share a column.
    """
    if given is None and reads.table is None:
        return None
    target = given if given is not None else key.path[-1] + ("" if partitions is None else "_{partition}")
    if partitions is None and "{partition}" in target:
        raise ParameterError(f"the target {target!r} contains {{partition}}; give partitions_def")
    if partitions is not None and "{partition}" not in target:
        raise ParameterError(f"every partition would replace the target {target!r}; write {{partition}} into its name")
    if target == reads.table:
        raise ParameterError(f"the target {target!r} is also the table that is read; name another target")
    return target


def _partition_target(target: str | None, *, reads: Upstream, context: RunContext, partition: str | None) -> str | None:
    """Return the target of one partition: a quoted table name, or a path for files."""
    if target is None or partition is None:
        return target
    if reads.table is None:
        if "/" in partition or "\\" in partition:  # could leave the folder, or name the file of another partition
            raise ParameterError(f"the partition key {partition!r} contains a path separator; rename the partition")
        return target.replace("{partition}", partition)
    engine = getattr(context.resources, reads.warehouse).engine
    if dialect_of(engine.dialect).ignores_case:
        _require_distinct_names(context, reads.partitions, partition)
    return table_name(target, partition=partition)


def _require_distinct_names(context: RunContext, partitions: Any, partition: str) -> None:
    """Raise if partition keys differ in case only: DuckDB and SQLite would write both to one table."""
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return
    keys = partitions.get_partition_keys(dynamic_partitions_store=context.instance)
    twins = [key for key in keys if key != partition and key.encode().lower() == partition.encode().lower()]
    if twins:
        raise ParameterError(
            f"the partitions {partition!r} and {twins[0]!r} would replace each other: table names in this database are "
            "not case-sensitive; rename one partition"
        )


def _stored_tables(target: str, parts: tuple[str, ...], *, database: bool) -> dict[str, str]:
    """Return the table or file of every part of a release that has several."""
    return dict(zip(parts, bundle_targets(target, parts, database=database), strict=True))


def _materialize_result(
    made: Any, *, reads: Upstream, target: str | Mapping[str, str] | None, metadata: Mapping[str, Any]
) -> dg.MaterializeResult[Any]:
    """Return the result for Dagster: of a frame its value, of a file its path, of a table only the metadata."""
    if reads.table is not None:
        return dg.MaterializeResult(metadata=metadata)
    return dg.MaterializeResult(value=made if target is None else target, metadata=metadata)
