"""Recode a table in its database: distinct values are translated in Python, rows are rewritten by joins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.sources.coding import require_groups
from privacy_plugin.sources.sql.dialect import Dialect, SqlColumn
from privacy_plugin.sources.sql.origin import Expression, Origin
from privacy_plugin.sources.sql.staging import TemporaryTables
from privacy_plugin.sources.translation import Translator

_MISSING = 0  # the number of the missing value in every mapping; the database's numbers begin at 1


@dataclass(frozen=True, kw_only=True, eq=False)
class _Values:
    """A column's distinct values: a table (old, number) in the database, and the values by number in Python."""

    term: Expression
    table: sa.FromClause
    numbers: list[int]
    raw: list[Any]


class SqlRecoder:
    """Builds the joins that recode a table, inside one transaction, so that every row's value is in the mapping."""

    def __init__(
        self,
        connection: Connection,
        dialect: Dialect,
        origin: Origin,
        described: Sequence[SqlColumn],
        temporary: TemporaryTables,
    ) -> None:
        self._connection = connection
        self._dialect = dialect
        self._origin = origin
        self._described = {column.name: column for column in described}
        self._temporary = temporary

    def prepare(self, recoding: Recoding) -> tuple[list[SqlColumn], sa.Select[Any]]:
        """Return the recoded table's columns and the query that produces it; raise if a value has no translation."""
        translator = Translator(recoding, tuple(self._described))
        self._require_joinable(translator)
        values = {name: self._number_values(name, position) for position, name in enumerate(translator.coded_columns)}
        translated = {name: translator.translate(name, column.raw) for name, column in values.items()}
        joined: sa.FromClause = self._origin.clause
        texts: dict[str, Expression] = {}
        codes: dict[str, Expression] = {}
        for position, (name, column) in enumerate(values.items()):
            rows = list(zip(column.numbers, translated[name].texts, translated[name].numbers.tolist(), strict=True))
            new = self._temporary.create_from_rows(f"new_{position}", ("BIGINT", "TEXT", "BIGINT"), rows)
            joined = joined.outerjoin(column.table, column.term == column.table.c.old)
            number = sa.func.coalesce(column.table.c.number, sa.literal_column(str(_MISSING)))
            joined = joined.join(new, new.c.v0 == number)
            texts[name], codes[name] = new.c.v1, new.c.v2
        if recoding.combined_columns:  # a row without a combination is lost here; the later count of rows detects it
            combined = self._combinations_table(translator)
            columns, width = recoding.combined_columns, len(recoding.combined_columns)
            joined = joined.join(combined, sa.and_(*[combined.c[f"v{i}"] == codes[c] for i, c in enumerate(columns)]))
            texts |= {column: combined.c[f"v{width + i}"] for i, column in enumerate(columns)}
        hidden = self._suppressed_table(translator) if recoding.suppressed else None
        if hidden is not None:
            columns = recoding.suppressed_columns
            matches = [hidden.c[f"v{i}"] == codes[column] for i, column in enumerate(columns)]
            joined = joined.outerjoin(hidden, sa.and_(*matches))
        self._temporary.analyze()
        return self._output_columns(translator), self._output_query(translator, joined, texts, hidden)

    def _require_joinable(self, translator: Translator) -> None:
        """Raise if there are more columns than the database can join: each needs two tables."""
        recoding, columns = translator.recoding, len(translator.coded_columns)
        others = 1 + bool(recoding.combined_columns) + bool(recoding.suppressed)
        most = None if self._dialect.max_joined_tables is None else (self._dialect.max_joined_tables - others) // 2
        if most is not None and columns > most:
            raise SourceError(
                f"{self._dialect.name} recodes at most {most} columns at once, not {columns}; "
                "withhold some of them, or use a database without this limit, such as DuckDB"
            )

    def _number_values(self, name: str, position: int) -> _Values:
        column = self._described[name]
        term = self._dialect.equality_term(self._origin, column)
        everything = sa.select(term.label("old")).select_from(self._origin.clause)
        distinct = everything.where(term.is_not(None)).distinct().subquery("distinct_values")
        number: Expression = sa.literal_column("row_number() OVER ()").label("number")
        numbered = sa.select(distinct.c.old, number)
        old = self._temporary.create_from_query(f"old_{position}", numbered, ["old", "number"])
        (fetched,), (numbers,) = self._dialect.fetch_coded(self._connection, sa.select(old.c.old, old.c.number), [name])
        decode = self._dialect.value_decoder(column) or _identity
        decoded = [decode(value) for value in fetched.values]
        ordered: list[int] = numbers.tolist()
        raw = [decoded[code] for code in fetched.codes]
        if self._connection.execute(everything.where(term.is_(None)).limit(1)).all():
            ordered, raw = [_MISSING, *ordered], [None, *raw]
        require_groups(len(ordered), lambda: self._dialect.count_rows(self._connection, self._origin))
        return _Values(term=term, table=old, numbers=ordered, raw=raw)

    def _suppressed_table(self, translator: Translator) -> sa.FromClause:
        width = len(translator.recoding.suppressed_columns)
        return self._temporary.create_from_rows("hidden", ("BIGINT",) * width, translator.suppressed_numbers())

    def _combinations_table(self, translator: Translator) -> sa.FromClause:
        width, rows = len(translator.recoding.combined_columns), translator.combined_rows()
        return self._temporary.create_from_rows("combined", ("BIGINT",) * width + ("TEXT",) * width, rows)

    def _output_columns(self, translator: Translator) -> list[SqlColumn]:
        text = self._dialect.text_type
        return [
            SqlColumn(name=name, type=text) if _becomes_text(translator, name) else self._described[name]
            for name in translator.recoding.keep
        ]

    def _output_query(
        self,
        translator: Translator,
        joined: sa.FromClause,
        texts: dict[str, Expression],
        hidden: sa.FromClause | None,
    ) -> sa.Select[Any]:
        chosen = []
        for name in translator.recoding.keep:
            unchanged = self._dialect.release_term(self._origin, self._described[name])
            expression = texts[name] if name in translator.text_columns else unchanged
            if name in translator.typed_columns:
                expression = self._dialect.number_term(expression, self._described[name])
            if hidden is not None and name in translator.masked_columns:
                mark: Expression = sa.literal_column(f"'{SUPPRESSED}'")
                expression = sa.case((hidden.c.v0.is_not(None), mark), else_=expression)
            chosen.append(expression.label(quoted_name(name, True)))
        query = sa.select(*chosen).select_from(joined)
        if hidden is not None and translator.recoding.suppression == "drop":
            query = query.where(hidden.c.v0.is_(None))
        return query


def _becomes_text(translator: Translator, name: str) -> bool:
    return name in translator.text_columns and name not in translator.typed_columns


def _identity(value: Any) -> Any:
    return value
