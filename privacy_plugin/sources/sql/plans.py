"""How a database would carry out a query: in its plan, views are the tables that they stand for."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles

from privacy_plugin.sources.sql.origin import Origin


class _Explained(sa.Executable, sa.ClauseElement):
    inherit_cache = False

    def __init__(self, manner: str, query: sa.Select[Any]) -> None:
        self.manner, self.query = manner, query


@compiles(_Explained)
def _explained(element: _Explained, compiler: Any, **options: Any) -> str:
    return f"{element.manner} {compiler.process(element.query, **options)}"


def plan_of(connection: Connection, origin: Origin, manner: str) -> list[tuple[Any, ...]]:
    """Return the plan for all rows of an origin, as `manner` (EXPLAIN and its options) writes it."""
    everything: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(origin.clause)
    return [tuple(row) for row in connection.execute(_Explained(manner, everything)).all()]


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """Go through a plan that is written in JSON, node by node."""
    if isinstance(plan, dict):
        yield plan
    for part in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from nodes(part)
