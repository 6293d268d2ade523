"""Tables for joins, and the engines that join them by themselves."""

from typing import Any

from tests.sources.loading import Table

KINDS = {"age": "integer", "city": "text", "weight": "float", "smoker": "boolean"}


JOINED_THERE = ("duckdb_relation", "duckdb", "sqlite", "postgresql", "mariadb", "spark", "csv", "parquet")

# Tables that MariaDB fills by a query do not read the snapshot: values with several meanings are compared in Python.
RENAMED_THERE = tuple(engine for engine in JOINED_THERE if engine != "mariadb")


def table_of(rows: list[tuple[Any, ...]], kinds: dict[str, str] = KINDS) -> Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return Table(kinds=kinds, values=dict(zip(kinds, map(list, columns), strict=True)))
