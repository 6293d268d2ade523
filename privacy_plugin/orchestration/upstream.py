"""What a step reads: the value that an IO manager hands over, or a table of the warehouse."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.partitions import require_keys_like_moments, window_of
from privacy_plugin.sources.sql.origin import split_name

Asset = str | list[str] | tuple[str, ...] | dg.AssetKey | dg.AssetsDefinition | dg.AssetSpec
StepContext = dg.AssetExecutionContext | dg.AssetCheckExecutionContext


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """An asset and where its data lies.

    With a `table` the asset is a table of the warehouse, which is never loaded; `{partition}` in its name stands for
    the partition's key, and `partition_column` names the column that says which rows belong to it: those that hold
    the key, or, where `partitions` are windows of time, a date or moment from this key to before the next. Without a
    table the asset's IO manager hands over whatever a source accepts: a frame, or the path of a file. A table that is
    only looked at again (not `awaited`) is no dependency: what is new in it is the gate's to judge first.
    """

    key: dg.AssetKey
    argument: str
    table: str | None = None
    partition_column: str | None = None
    partitions: Any = None
    warehouse: str = "warehouse"
    awaited: bool = True

    @property
    def deps(self) -> list[dg.AssetKey]:
        """The assets that have to be there first but are not loaded."""
        return [self.key] if self.table is not None and self.awaited else []

    @property
    def ins(self) -> dict[str, dg.AssetIn]:
        """The assets that are loaded."""
        return {} if self.table is not None else {self.argument: dg.AssetIn(key=self.key)}

    @property
    def resources(self) -> set[str]:
        """The names of the resources that reading needs."""
        return set() if self.table is None else {self.warehouse}

    def data(self, context: StepContext, handed: Mapping[str, Any], partition: str | None) -> Any:
        """Return what a source accepts; of a table, nothing is read yet."""
        if self.table is None:
            if isinstance(handed[self.argument], dict):  # so do Dagster's IO managers hand over several partitions
                raise ParameterError(
                    f"several partitions of {self.key.to_user_string()!r} were handed over at once, and one is judged "
                    "at a time; give partitions_def"
                )
            return handed[self.argument]
        warehouse = getattr(context.resources, self.warehouse)
        if self.partition_column is None or partition is None:
            return warehouse.table(self.table, partition=partition)
        window = window_of(self.partitions, partition)
        return warehouse.table(self.table, partition=partition, partition_column=self.partition_column, window=window)


def upstream(
    asset: Asset,
    *,
    argument: str,
    table: str | None,
    partition_column: str | None,
    partitions: Any,
    warehouse: str,
) -> Upstream:
    """Check and put together what a step reads."""
    if partition_column is not None and (table is None or partitions is None):
        raise ParameterError("partition_column picks a partition's rows of a table; give table and partitions_def")
    if table is not None and partitions is None and "{partition}" in table:
        raise ParameterError(f"the table name {table!r} has a partition in it; give partitions_def")
    if table is not None and partitions is not None and partition_column is None and "{partition}" not in table:
        raise ParameterError(
            f"which part of table {table!r} is a partition? Write {{partition}} into its name, or give the "
            "partition_column that says which rows belong to one"
        )
    if partition_column is not None:
        require_keys_like_moments(partitions)
    return Upstream(
        key=asset_key(asset),
        argument=argument,
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
    )


def asset_key(asset: Asset) -> dg.AssetKey:
    """Return the key of an asset, however it was named."""
    if isinstance(asset, dg.AssetSpec):
        return asset.key
    return dg.AssetKey.from_coercible_or_definition(asset)


def table_key(table: str) -> dg.AssetKey:
    """Name an asset after its table; the partition is no part of it, and what keys cannot hold is an underscore.

    >>> table_key("clinic.visits_{partition}").path
    ['clinic', 'visits']
    """
    parts = [re.sub(r"[_-]?\{partition\}", "", part) or "partition" for part in split_name(table)]
    return dg.AssetKey([re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in parts])


def partition_of(context: StepContext, partitions: Any) -> str | None:
    """Return the partition a step works on; a partitioned step works on exactly one."""
    if partitions is None:
        return None
    if not context.has_partition_key:
        raise ParameterError("a gate judges one partition at a time; run every partition on its own")
    return str(context.partition_key)


def partitions_of(asset: Asset, given: Any) -> Any:
    """Return the partitions that were given, or else those of the asset."""
    if given is None and isinstance(asset, dg.AssetsDefinition | dg.AssetSpec):
        return asset.partitions_def
    return given


def population_of(asset: Asset | None, table: str | None, warehouse: str) -> Upstream | None:
    """Put together where the population lies that requirements compare with, if there is one."""
    if asset is None and table is None:
        return None
    key = asset_key(asset) if asset is not None else table_key(str(table))
    return Upstream(key=key, argument="population", table=table, warehouse=warehouse)
