"""What an asset or a check reads: the value that an IO manager loads, or a table of the warehouse."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.partitions import RunContext, require_comparable_keys, time_window
from privacy_plugin.sources.bundle import Bundle, bundle_targets
from privacy_plugin.sources.sql.origin import split_name

Asset = str | list[str] | tuple[str, ...] | dg.AssetKey | dg.AssetsDefinition | dg.AssetSpec


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """An asset and the place of its data.

    With a `table` the asset is a table of the warehouse, which is never loaded into memory; `{partition}` in its name
    stands for the partition key, and `partition_column` names the column that assigns rows to partitions: its value is
    the key or, if `partitions` are time windows, a date or time from this key up to the next. Without a table the
    asset's IO manager loads anything that a source accepts: a frame, or the path of a file. With `awaited=False` a
    table is read without a dependency on its asset: new data in it is for the gate to judge first. `parts` name the
    tables of a release that has several: each is stored under the table's name with its own as suffix.
    """

    key: dg.AssetKey
    argument: str
    table: str | None = None
    partition_column: str | None = None
    partitions: Any = None
    warehouse: str = "warehouse"
    awaited: bool = True
    parts: tuple[str, ...] = ()

    @property
    def deps(self) -> list[dg.AssetKey]:
        """The assets that must be materialized first but are not loaded."""
        return [self.key] if self.table is not None and self.awaited else []

    @property
    def ins(self) -> dict[str, dg.AssetIn]:
        """The assets that an IO manager loads."""
        return {} if self.table is not None else {self.argument: dg.AssetIn(key=self.key)}

    @property
    def resources(self) -> set[str]:
        """The names of the resources that reading needs."""
        return set() if self.table is None else {self.warehouse}

    def data(self, context: RunContext, loaded: Mapping[str, Any], partition: str | None) -> Any:
        """Return data that a source accepts; a table is not read yet."""
        if self.parts:
            return self._bundle(context, loaded, partition)
        if self.table is None:
            if isinstance(loaded[self.argument], dict):  # Dagster's IO managers load several partitions as a dict
                raise ParameterError(
                    f"the IO manager loaded several partitions of {self.key.to_user_string()!r}, but a gate judges one "
                    "partition per run; give partitions_def"
                )
            return loaded[self.argument]
        warehouse = getattr(context.resources, self.warehouse)
        if self.partition_column is None or partition is None:
            return warehouse.table(self.table, partition=partition)
        window = time_window(self.partitions, partition)
        return warehouse.table(self.table, partition=partition, partition_column=self.partition_column, window=window)

    def _bundle(self, context: RunContext, loaded: Mapping[str, Any], partition: str | None) -> Bundle:
        """Return all tables of a release: those with their names as suffixes, or those that an IO manager loaded."""
        if self.table is not None:
            warehouse = getattr(context.resources, self.warehouse)
            names = bundle_targets(self.table, self.parts, database=True)
            tables = (warehouse.table(name, partition=partition) for name in names)
            return Bundle(dict(zip(self.parts, tables, strict=True)))
        given = loaded[self.argument]
        if not isinstance(given, Mapping) or set(given) != set(self.parts):
            raise ParameterError(
                f"the IO manager must load {self.key.to_user_string()!r} as a mapping of {' and '.join(self.parts)}"
            )
        return Bundle({name: given[name] for name in self.parts})


def build_upstream(
    asset: Asset,
    *,
    argument: str,
    table: str | None,
    partition_column: str | None,
    partitions: Any,
    warehouse: str,
    parts: Iterable[str] = (),
) -> Upstream:
    """Check the arguments that say what is read, and return them as an `Upstream`; `parts`: see `Rules.tables`."""
    parts = tuple(parts)
    if parts and partition_column is not None:
        raise ParameterError(
            f"a release of several tables ({', '.join(parts)}) has a pair of tables for every partition; write "
            "{partition} into the name of the table, without partition_column"
        )
    if partition_column is not None and (table is None or partitions is None):
        raise ParameterError(
            "partition_column selects the rows of a partition from a table; give table and partitions_def"
        )
    if table is not None and partitions is None and "{partition}" in table:
        raise ParameterError(f"the table name {table!r} contains {{partition}}; give partitions_def")
    if table is not None and partitions is not None and partition_column is None and "{partition}" not in table:
        raise ParameterError(
            f"table {table!r} does not separate partitions; write {{partition}} into its name, or give the "
            "partition_column that assigns rows to partitions"
        )
    if partition_column is not None:
        require_comparable_keys(partitions)
    return Upstream(
        key=asset_key(asset),
        argument=argument,
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
        parts=parts,
    )


def asset_key(asset: Asset) -> dg.AssetKey:
    """Return the key of an asset, given by name, key, spec or definition."""
    if isinstance(asset, dg.AssetSpec):
        return asset.key
    return dg.AssetKey.from_coercible_or_definition(asset)


def table_key(table: str) -> dg.AssetKey:
    """Return the asset key of a table, without its partition; characters that keys do not allow become underscores.

    >>> table_key("clinic.visits_{partition}").path
    ['clinic', 'visits']
    """
    parts = [re.sub(r"[_-]?\{partition\}", "", part) or "partition" for part in split_name(table)]
    return dg.AssetKey([re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in parts])


def choose_partitions(asset: Asset, given: Any) -> Any:
    """Return the given partitions, or else those of the asset's definition."""
    if given is None and isinstance(asset, dg.AssetsDefinition | dg.AssetSpec):
        return asset.partitions_def
    return given


def build_population(asset: Asset | None, table: str | None, warehouse: str) -> Upstream | None:
    """Return the population that requirements compare with, or None if neither asset nor table is given."""
    if asset is None and table is None:
        return None
    key = asset_key(asset) if asset is not None else table_key(str(table))
    return Upstream(key=key, argument="population", table=table, warehouse=warehouse)
