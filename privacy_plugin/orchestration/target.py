"""Where a step writes: the asset's own name unless another was given, one table a partition."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.upstream import StepContext, Upstream
from privacy_plugin.orchestration.warehouse import EMBEDDED, table_name


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
    if engine.dialect.name in EMBEDDED:
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
