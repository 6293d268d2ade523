"""DuckDB relations: all SQL runs on the connection that the relation belongs to."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from privacy_plugin.errors import require_column, require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import Value
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.coding import CodedColumn, grouped_table, require_groups
from privacy_plugin.sources.drawn_rows import arrived, arrow_rows
from privacy_plugin.sources.fingerprint import checked_buckets, compose
from privacy_plugin.sources.joining import MEASURES, JoinedGroups, Meaning, joined_table, renaming
from privacy_plugin.sources.numbered import NumberedRows, example_lines, require_no_targets
from privacy_plugin.sources.protocol import Fingerprint, Make, Source, VerifyAll, checked_names
from privacy_plugin.sources.sql.duckdb_errors import told_as_source_error
from privacy_plugin.sources.sql.duckdb_recoding import Translated, joined_with_translations
from privacy_plugin.sources.sql.duckdb_terms import (
    ALIAS,
    BUCKET,
    BUCKET_MEASURES,
    OWN,
    SCHEME,
    cell_text,
    counting_query,
    group_decoder,
    group_term,
    quote,
    row_hash,
    shown,
    shown_type,
)
from privacy_plugin.sources.translation import Translator, require_no_target


class DuckDBRelation:
    """A DuckDB relation: a query that runs anew for every question, unless a snapshot holds its result."""

    engine = "duckdb"

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        with told_as_source_error("describing", relation):
            self.columns = checked_names(relation.columns)
            self._types = {n: str(k) for n, k in zip(self.columns, relation.types, strict=True)}

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in DuckDB; one row a group comes back."""
        require_columns(columns, self.columns)
        if unit is not None:
            require_column(unit, self.columns, role="unit")
        person = None if unit is None else self._term(unit)
        query = counting_query(ALIAS, [self._term(name) for name in columns], person)
        with told_as_source_error("grouping", self._relation):
            groups = self._asked(query).to_arrow_table()
        coded = [self._decoded(name, groups.column(position)) for position, name in enumerate(columns)]
        missing = 0 if unit is None else int(groups.column("absent").to_numpy().sum())
        table = grouped_table(columns, coded, groups.column("n").to_numpy(), unit=unit, absent=missing)
        require_groups(table.distinct, self.row_count)
        return table

    def joined_groups(
        self, population: Source, columns: Sequence[str], meaning: Meaning | None = None
    ) -> JoinedGroups | None:
        """Group this relation and another of the same connection, and join the groups in DuckDB."""
        if not isinstance(population, DuckDBRelation):
            return None
        for each in (self, population):
            require_columns(columns, each.columns)
        kinds = [(self._types[name], population._types[name]) for name in columns]
        if not self._shares_connection(population) or (meaning is None and any(a != b for a, b in kinds)):
            return None
        sides = [self._side(columns, n=_COUNT), population._side(columns, people=_COUNT, groups="1")]
        if meaning is None:
            groups = _joined_sides(sides, len(columns))
            coded = [self._decoded(name, groups.column(position)) for position, name in enumerate(columns)]
            return joined_table(columns, coded, [groups.column(name).to_numpy() for name in MEASURES])
        if any(group_decoder(kind) is not None for pair in kinds for kind in pair):
            return None
        with told_as_source_error("grouping", self._relation):
            table, others = (DuckDBRelation(side.materialize()) for side in sides)
        renamed = renaming(columns, table._values, others._values, meaning)
        if renamed is None:
            return None
        groups = _joined_sides([table.recoded(renamed.table), others.recoded(renamed.population)], len(columns))
        coded = [code_array(groups.column(position), name) for position, name in enumerate(columns)]
        return joined_table(columns, coded, [groups.column(name).to_numpy() for name in MEASURES], renamed)

    def _shares_connection(self, other: "DuckDBRelation") -> bool:
        try:
            self._relation.project("1").union(other._relation.project("1"))
        except duckdb.InvalidInputException:
            return False
        return True

    def _side(self, columns: Sequence[str], **measures: str) -> Any:
        terms = [self._term(name) for name in columns]
        named = ", ".join(f"{term} AS c{position}" for position, term in enumerate(terms))
        counts = ", ".join(f"CAST({measures.get(name, '0')} AS BIGINT) AS {name}" for name in MEASURES)
        return self._relation.aggregate(f"{named}, {counts}", ", ".join(terms))

    def _values(self, column: str) -> Sequence[Value]:
        return self.frequencies([column]).dictionary(column)

    def row_count(self) -> int:
        """Count the rows."""
        with told_as_source_error("counting rows", self._relation):
            return int(self._asked(f"SELECT {OWN}.count(*) FROM {ALIAS}").fetchall()[0][0])

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in DuckDB."""
        require_columns(self.columns if columns is None else columns, self.columns)
        chosen = sorted(self.columns if columns is None else columns)
        hashes = row_hash([self._cell(name) for name in chosen])
        query = (
            f"SELECT {BUCKET}, {', '.join(BUCKET_MEASURES)} "
            f"FROM (SELECT {hashes} AS h FROM {ALIAS}) AS hashes GROUP BY {BUCKET}"
        )
        with told_as_source_error("fingerprinting", self._relation):
            rows, buckets = checked_buckets(self._asked(query).fetchall())
        require_groups(rows, self.row_count)
        types = [shown_type(self._types[name]) for name in chosen]
        return compose(scheme=SCHEME, columns=chosen, rows=rows, buckets=buckets, types=types)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the query once and answer from its result: the tables it reads may change between two runs."""
        with told_as_source_error("reading", self._relation):
            held = self._relation.materialize()
        yield DuckDBRelation(held)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Return a new relation that joins the distinct values' translations."""
        require_no_target(target, "DuckDB")
        return self.recoded(recoding)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Run the query for the columns once, and return its result as a relation once `verify` has accepted it."""
        require_no_target(target, "DuckDB")
        require_columns(columns, self.columns)
        with told_as_source_error("publishing", self._relation):
            copy = self.ordered(columns).materialize()
        verify(DuckDBRelation(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[Any, ...]:
        """Return relations that hold their rows."""
        require_no_targets(targets, "DuckDB")
        require_columns(columns, self.columns)
        with told_as_source_error("reading", self._relation):
            held = DuckDBRelation(self.restricted(columns).materialize())
        tables = make(held.frequencies(columns))
        with told_as_source_error("writing", self._relation):
            made = tuple(held.numbered(wanted).materialize() for wanted in tables)
        verify([DuckDBRelation(relation) for relation in made])
        return made

    def numbered(self, wanted: NumberedRows) -> Any:
        """Return the relation that repeats an example of every distinct row, with a number beside it."""
        labels = [f"c{position}" for position in range(len(wanted.table.columns))]
        listed = [f"{self._shown(name)} AS {label}" for name, label in zip(wanted.table.columns, labels, strict=True)]
        terms = ", ".join(self._term(name) for name in wanted.table.columns)
        rows = f"SELECT {', '.join(listed)}, row_number() OVER (PARTITION BY {terms}) AS place FROM {ALIAS}"
        query = f"SELECT {', '.join(labels)}, row_number() OVER () AS line FROM ({rows}) WHERE place = 1"
        with told_as_source_error("reading", self._relation):
            examples = self._asked(query).materialize()
        lines = example_lines(DuckDBRelation(examples), labels, "line", wanted.table)
        # DuckDB finds this table by the name of the variable, and keeps it as long as it needs it.
        privacy_plugin_lines = pa.table(  # noqa: F841
            {"place": np.arange(len(wanted.lines)), "line": lines[wanted.lines], "number": wanted.numbers}
        )
        named = dict(zip(wanted.table.columns, labels, strict=True)) | {wanted.number: "l.number"}
        chosen = ", ".join(f"{named[name]} AS {quote(name)}" for name in wanted.columns)
        joined = f"{ALIAS} AS e JOIN privacy_plugin_lines AS l ON l.line = e.line"
        with told_as_source_error("writing", self._relation):
            return examples.query(ALIAS, f"SELECT {chosen} FROM {joined} ORDER BY l.place")

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> Any:
        """Return other rows as a relation of the same connection once `verify` has accepted them."""
        require_no_target(target, "DuckDB")
        privacy_plugin_rows = arrow_rows(rows)  # noqa: F841  DuckDB finds it by the name of the variable
        with told_as_source_error("writing", self._relation):
            copy = self._relation.query(ALIAS, "SELECT * FROM privacy_plugin_rows").materialize()
        arrived(rows, verify)(DuckDBRelation(copy))
        return copy

    def restricted(self, columns: Sequence[str]) -> Any:
        """Return the relation of some columns."""
        return self._asked(f"SELECT {', '.join(map(quote, columns))} FROM {ALIAS}")

    def ordered(self, columns: Sequence[str]) -> Any:
        """Return the relation of some columns as it is released: in the order of its content, enumerations as text."""
        listed = ", ".join(f"{self._shown(name)} AS {quote(name)}" for name in columns)
        return self._asked(f"SELECT {listed} FROM {ALIAS} ORDER BY {', '.join(map(self._term, columns))}")

    def recoded(self, recoding: Recoding) -> Any:
        """Return the relation that joins every distinct value with its translation."""
        translator = Translator(recoding, self.columns)
        found = {name: self._distinct(name) for name in translator.coded_columns}
        rows: list[Translated] = []
        for position, (name, (texts, values)) in enumerate(found.items()):
            translated = translator.translate(name, values)
            for old, new, number in zip(texts, translated.texts, translated.numbers.tolist(), strict=True):
                rows.append((position, old, new, number))
        return joined_with_translations(self._relation, self._types, translator, rows)

    def _distinct(self, name: str) -> tuple[list[str | None], list[Any]]:
        """Return the distinct values of a column, as texts that identify them and as values."""
        cell = f'{self._cell(name)} COLLATE "C"'
        query = f"SELECT {cell} AS cell, {OWN}.any_value({self._term(name)}) AS value FROM {ALIAS} GROUP BY {cell}"
        with told_as_source_error("reading values", self._relation):
            table = self._asked(query).to_arrow_table()
        require_groups(table.num_rows, self.row_count)
        coded = self._decoded(name, table.column("value"))
        return table.column("cell").to_pylist(), [coded.values[code] for code in coded.codes]

    def _asked(self, query: str) -> Any:
        return self._relation.query(ALIAS, query)

    def _shown(self, name: str) -> str:
        return shown(quote(name), self._types[name])

    def _term(self, name: str) -> str:
        return group_term(quote(name), self._types[name])

    def _cell(self, name: str) -> str:
        return cell_text(quote(name), self._types[name])

    def _decoded(self, name: str, column: Any) -> CodedColumn:
        coded = code_array(column, name)
        decode = group_decoder(self._types[name])
        if decode is None:
            return coded
        return CodedColumn(codes=coded.codes, values=[decode(value) for value in coded.values])


_COUNT = f"{OWN}.count(*)"
_SUMS = ", ".join(f"CAST({OWN}.sum({name}) AS BIGINT) AS {name}" for name in MEASURES)


def _joined_sides(sides: Sequence[Any], width: int) -> Any:
    """Return a line for every group of the table, and one for all groups of the population without a row of it."""
    kept = ", ".join(f"c{position}" for position in range(width))
    shown = ", ".join(f"CASE WHEN n > 0 THEN c{p} END AS c{p}" for p in range(width))
    with told_as_source_error("joining the groups of two relations", sides[0]):
        return (
            sides[0]
            .union(sides[1])
            .aggregate(f"{kept}, {_SUMS}", kept)
            .project(f"{shown}, n > 0 AS inside, {', '.join(MEASURES)}")
            .aggregate(f"{kept}, {_SUMS}", f"inside, {kept}")
            .to_arrow_table()
        )
