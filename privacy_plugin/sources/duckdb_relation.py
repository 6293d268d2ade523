"""DuckDB relations: all SQL runs on the connection that the relation belongs to."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from privacy_plugin.errors import SourceError, require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import SUPPRESSED, Value
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.arrow_combinations import combinations_table
from privacy_plugin.sources.coding import CodedColumn, grouped_table, require_groups
from privacy_plugin.sources.digest import checked_buckets, compose
from privacy_plugin.sources.drawn_rows import arrived, arrow_rows
from privacy_plugin.sources.duckdb_terms import (
    BUCKET,
    BUCKET_MEASURES,
    OWN,
    SCHEME,
    cell_text,
    group_decoder,
    group_term,
    quote,
    row_hash,
    shown,
    shown_type,
)
from privacy_plugin.sources.joining import MEASURES, JoinedGroups, Meaning, joined_table, renaming
from privacy_plugin.sources.numbered import NumberedRows, example_lines, require_no_targets
from privacy_plugin.sources.protocol import Fingerprint, Make, Source, VerifyAll, checked_names
from privacy_plugin.sources.translation import Translator, require_no_target

_ALIAS = "privacy_plugin_source"


class DuckDBRelation:
    """A DuckDB relation: a query that runs anew for every question, unless a snapshot holds its result."""

    engine = "duckdb"

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        with told_as_source_error("describing"):
            self.columns = checked_names(relation.columns)
            self._types = {n: str(k) for n, k in zip(self.columns, relation.types, strict=True)}

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in DuckDB; one row a group comes back."""
        require_columns(columns, self.columns)
        labels = [f"c{position}" for position in range(len(columns))]
        terms = [f"{self._term(name)} AS {label}" for name, label in zip(columns, labels, strict=True)]
        absent, people = "0", f"{OWN}.count(*)"
        if unit is not None:
            require_columns([unit], self.columns, role="unit")
            absent = f"{OWN}.count(CASE WHEN {self._term(unit)} IS NULL THEN 1 END)"
            people = f"{OWN}.count(DISTINCT {self._term(unit)})"
        query = (
            f"SELECT {', '.join(terms)}, {absent} AS absent, {people} AS n FROM {_ALIAS} "
            f"GROUP BY {', '.join(self._term(name) for name in columns)}"
        )
        with told_as_source_error("grouping"):
            groups = self._asked(query).to_arrow_table()
        coded = [self._decoded(name, groups.column(label)) for name, label in zip(columns, labels, strict=True)]
        missing = int(groups.column("absent").to_numpy().sum()) if groups.num_rows else 0
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
        with told_as_source_error("grouping"):
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
        with told_as_source_error("counting rows"):
            return int(self._asked(f"SELECT {OWN}.count(*) FROM {_ALIAS}").fetchall()[0][0])

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in DuckDB."""
        require_columns(self.columns if columns is None else columns, self.columns)
        chosen = sorted(self.columns if columns is None else columns)
        hashes = row_hash([self._cell(name) for name in chosen])
        query = (
            f"SELECT {BUCKET}, {', '.join(BUCKET_MEASURES)} "
            f"FROM (SELECT {hashes} AS h FROM {_ALIAS}) AS hashes GROUP BY {BUCKET}"
        )
        with told_as_source_error("fingerprinting"):
            rows, buckets = checked_buckets(self._asked(query).fetchall())
        require_groups(rows, self.row_count)
        types = [shown_type(self._types[name]) for name in chosen]
        return compose(scheme=SCHEME, columns=chosen, rows=rows, buckets=buckets, types=types)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the query once and answer from its result: the tables it reads may change between two runs."""
        with told_as_source_error("reading"):
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
        with told_as_source_error("publishing"):
            copy = self.ordered(columns).materialize()
        verify(DuckDBRelation(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[Any, ...]:
        """Return relations that hold their rows."""
        require_no_targets(targets, "DuckDB")
        require_columns(columns, self.columns)
        with told_as_source_error("reading"):
            held = DuckDBRelation(self.restricted(columns).materialize())
        tables = make(held.frequencies(columns))
        with told_as_source_error("writing"):
            made = tuple(held.numbered(wanted).materialize() for wanted in tables)
        verify([DuckDBRelation(relation) for relation in made])
        return made

    def numbered(self, wanted: NumberedRows) -> Any:
        """Return the relation that repeats an example of every distinct row, with a number beside it."""
        labels = [f"c{position}" for position in range(len(wanted.table.columns))]
        listed = [f"{self._shown(name)} AS {label}" for name, label in zip(wanted.table.columns, labels, strict=True)]
        terms = ", ".join(self._term(name) for name in wanted.table.columns)
        rows = f"SELECT {', '.join(listed)}, row_number() OVER (PARTITION BY {terms}) AS place FROM {_ALIAS}"
        query = f"SELECT {', '.join(labels)}, row_number() OVER () AS line FROM ({rows}) WHERE place = 1"
        with told_as_source_error("reading"):
            examples = self._asked(query).materialize()
        lines = example_lines(DuckDBRelation(examples), labels, "line", wanted.table)
        # DuckDB finds this table by the name of the variable, and keeps it as long as it needs it.
        privacy_plugin_lines = pa.table(  # noqa: F841
            {"place": np.arange(len(wanted.lines)), "line": lines[wanted.lines], "number": wanted.numbers}
        )
        named = dict(zip(wanted.table.columns, labels, strict=True)) | {wanted.number: "l.number"}
        chosen = ", ".join(f"{named[name]} AS {quote(name)}" for name in wanted.columns)
        joined = f"{_ALIAS} AS e JOIN privacy_plugin_lines AS l ON l.line = e.line"
        with told_as_source_error("writing"):
            return examples.query(_ALIAS, f"SELECT {chosen} FROM {joined} ORDER BY l.place")

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> Any:
        """Return other rows as a relation of the same connection once `verify` has accepted them."""
        require_no_target(target, "DuckDB")
        privacy_plugin_rows = arrow_rows(rows)  # noqa: F841  DuckDB finds it by the name of the variable
        with told_as_source_error("writing"):
            copy = self._relation.query(_ALIAS, "SELECT * FROM privacy_plugin_rows").materialize()
        arrived(rows, verify)(DuckDBRelation(copy))
        return copy

    def restricted(self, columns: Sequence[str]) -> Any:
        """Return the relation of some columns."""
        return self._asked(f"SELECT {', '.join(map(quote, columns))} FROM {_ALIAS}")

    def ordered(self, columns: Sequence[str]) -> Any:
        """Return the relation of some columns as it is released: in the order of its content, enumerations as text."""
        listed = ", ".join(f"{self._shown(name)} AS {quote(name)}" for name in columns)
        return self._asked(f"SELECT {listed} FROM {_ALIAS} ORDER BY {', '.join(map(self._term, columns))}")

    def recoded(self, recoding: Recoding) -> Any:
        """Return the relation that joins every distinct value with its translation."""
        translator = Translator(recoding, self.columns)
        found = {name: self._distinct(name) for name in translator.coded_columns}
        rows: list[tuple[int, str | None, str | None, int]] = []
        for position, (name, (texts, values)) in enumerate(found.items()):
            translated = translator.translate(name, values)
            for old, new, number in zip(texts, translated.texts, translated.numbers.tolist(), strict=True):
                rows.append((position, old, new, number))
        hidden = translator.suppressed_numbers() if recoding.suppressed else []
        return self._joined(translator, rows, hidden)

    def _joined(self, translator: Translator, rows: list[Any], hidden: list[tuple[int, ...]]) -> Any:
        recoding = translator.recoding
        # DuckDB finds these tables by the names of the variables, and keeps them as long as it needs them.
        privacy_plugin_mapping = pa.Table.from_pylist(  # noqa: F841
            [dict(zip(_MAPPING.names, row, strict=True)) for row in rows], schema=_MAPPING
        )
        width = len(recoding.suppressed_columns) if recoding.suppressed else 1
        privacy_plugin_hidden = pa.table(  # noqa: F841
            [pa.array([row[i] for row in hidden], type=pa.int64()) for i in range(width)],
            names=[f"v{i}" for i in range(width)],
        )
        source = f"{_ALIAS} AS s"
        for position, name in enumerate(translator.coded_columns):
            source += (
                f" LEFT JOIN privacy_plugin_mapping AS m{position} ON m{position}.position = {position} AND "
                f'm{position}.old COLLATE "C" IS NOT DISTINCT FROM {self._cell(name, "s.")} COLLATE "C"'
            )
        condition = ""
        privacy_plugin_combined = combinations_table(translator)  # noqa: F841
        if recoding.combined_columns:
            places = [translator.coded_columns.index(name) for name in recoding.combined_columns]
            matches = [f"c.n{i} = {_translated(place, 'number')}" for i, place in enumerate(places)]
            source += f" LEFT JOIN privacy_plugin_combined AS c ON {' AND '.join(matches)}"
        if recoding.suppressed:
            places = [translator.coded_columns.index(name) for name in recoding.suppressed_columns]
            matches = [f"h.v{i} = {_translated(place, 'number')}" for i, place in enumerate(places)]
            source += f" LEFT JOIN privacy_plugin_hidden AS h ON {' AND '.join(matches)}"
            condition = " WHERE h.v0 IS NULL" if recoding.suppression == "drop" else ""
        chosen = ", ".join(f"{self._output(translator, name)} AS {quote(name)}" for name in recoding.keep)
        with told_as_source_error("recoding"):
            return self._relation.query(_ALIAS, f"SELECT {chosen} FROM {source}{condition}")

    def _output(self, translator: Translator, name: str) -> str:
        if name not in translator.text_columns:
            return self._shown(name, "s.")
        text = _translated(translator.coded_columns.index(name), "new")
        if name in translator.recoding.combined_columns:
            place = translator.recoding.combined_columns.index(name)
            text = f"CASE WHEN c.n0 IS NULL THEN {OWN}.error('{_UNKNOWN}') ELSE c.t{place} END"
        if name in translator.masked_columns:
            text = f"CASE WHEN h.v0 IS NOT NULL THEN '{SUPPRESSED}' ELSE {text} END"
        return text

    def _distinct(self, name: str) -> tuple[list[str | None], list[Any]]:
        """Return the distinct values of a column, as texts that identify them and as values."""
        cell = f'{self._cell(name)} COLLATE "C"'
        query = f"SELECT {cell} AS cell, {OWN}.any_value({self._term(name)}) AS value FROM {_ALIAS} GROUP BY {cell}"
        with told_as_source_error("reading values"):
            table = self._asked(query).to_arrow_table()
        require_groups(table.num_rows, self.row_count)
        coded = self._decoded(name, table.column("value"))
        return table.column("cell").to_pylist(), [coded.values[code] for code in coded.codes]

    def _asked(self, query: str) -> Any:
        return self._relation.query(_ALIAS, query)

    def _shown(self, name: str, qualifier: str = "") -> str:
        return shown(qualifier + quote(name), self._types[name])

    def _term(self, name: str) -> str:
        return group_term(quote(name), self._types[name])

    def _cell(self, name: str, qualifier: str = "") -> str:
        return cell_text(qualifier + quote(name), self._types[name])

    def _decoded(self, name: str, column: Any) -> CodedColumn:
        coded = code_array(column, name)
        decode = group_decoder(self._types[name])
        if decode is None:
            return coded
        return CodedColumn(codes=coded.codes, values=[decode(value) for value in coded.values])


_UNKNOWN = "a value appeared that was not there when the recoding was prepared"
_LINE = re.compile(r"Invalid Input Error: CSV Error on Line: (\d+)\n")
_COUNT = f"{OWN}.count(*)"
_SUMS = ", ".join(f"CAST({OWN}.sum({name}) AS BIGINT) AS {name}" for name in MEASURES)
_MAPPING = pa.schema([("position", pa.int64()), ("old", pa.string()), ("new", pa.string()), ("number", pa.int64())])


@contextmanager
def told_as_source_error(doing: str) -> Iterator[None]:
    """Tell DuckDB's errors without what it puts into them: lines of files, values, queries."""
    try:
        yield
    except duckdb.Error as error:
        raise SourceError(f"{doing} failed in DuckDB: {type(error).__name__}{_broken_line(error)}") from None


def _broken_line(error: duckdb.Error) -> str:
    """Say which line of a CSV file stopped DuckDB, by its number alone."""
    found = _LINE.match(str(error))
    if found is None:
        return ""
    return (
        f", line {found[1]} of the file: not one value a column, a quote that is not closed, or text that is not UTF-8"
    )


def _joined_sides(sides: Sequence[Any], width: int) -> Any:
    """Return a line for every group of the table, and one for all groups of the population without a row of it."""
    kept = ", ".join(f"c{position}" for position in range(width))
    shown = ", ".join(f"CASE WHEN n > 0 THEN c{p} END AS c{p}" for p in range(width))
    with told_as_source_error("joining the groups of two relations"):
        return (
            sides[0]
            .union(sides[1])
            .aggregate(f"{kept}, {_SUMS}", kept)
            .project(f"{shown}, n > 0 AS inside, {', '.join(MEASURES)}")
            .aggregate(f"{kept}, {_SUMS}", f"inside, {kept}")
            .to_arrow_table()
        )


def _translated(position: int, what: str) -> str:
    """Return a column of a joined mapping; a row that found no match stops the query instead of passing as missing."""
    return f"CASE WHEN m{position}.number IS NULL THEN {OWN}.error('{_UNKNOWN}') ELSE m{position}.{what} END"
