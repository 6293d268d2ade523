"""DuckDB relations: all SQL runs on the connection of the relation."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from privacy_plugin.errors import require_column, require_columns
from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import Value
from privacy_plugin.sources.arrow_coding import build_combinations, code_array, number_array, text_array, whole_numbers
from privacy_plugin.sources.class_profiles import choose_unique
from privacy_plugin.sources.coding import CodedColumn, build_frequency_table, require_groups, require_units
from privacy_plugin.sources.drawn_rows import build_arrow_table, check_arrival
from privacy_plugin.sources.fingerprint import check_buckets, combine_buckets
from privacy_plugin.sources.numbered_rows import NumberedRows, find_example_lines, require_no_targets
from privacy_plugin.sources.population_join import (
    MEASURES,
    PROFILE,
    JoinedGroups,
    Meaning,
    build_joined_groups,
    build_joined_profiles,
    plan_renaming,
)
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, Source, VerifyTables, require_column_names
from privacy_plugin.sources.sql import duckdb_sql
from privacy_plugin.sources.sql.duckdb_profiles import fetch_profiles
from privacy_plugin.sources.sql.duckdb_sql import ALIAS, OWN, ROW_COUNT, quote, redact_duckdb_errors
from privacy_plugin.sources.translation import Translator, require_no_target

_SUMS = ", ".join(f"CAST({OWN}.sum({name}) AS BIGINT) AS {name}" for name in MEASURES)


class DuckDBRelation:
    """A DuckDB relation: a query that runs again for every method, unless a snapshot stores its result."""

    engine = "duckdb"

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        with redact_duckdb_errors("describing", relation):
            self.columns = require_column_names(relation.columns)
            self._types = {n: str(k) for n, k in zip(self.columns, relation.types, strict=True)}

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in DuckDB; one row a group comes back."""
        require_columns(columns, self.columns)
        if unit is not None:
            require_column(unit, self.columns, role="unit")
        person = None if unit is None else self._term(unit)
        query = duckdb_sql.count_groups(ALIAS, [self._term(name) for name in columns], person)
        with redact_duckdb_errors("grouping", self._relation):
            groups = self._query(query).to_arrow_table()
        coded = [self._code_column(name, groups.column(position)) for position, name in enumerate(columns)]
        missing = 0 if unit is None else int(whole_numbers(groups.column("absent")).sum())
        table = build_frequency_table(columns, coded, whole_numbers(groups.column("n")), unit=unit, absent=missing)
        require_groups(table.distinct, self.row_count)
        return table

    def count_people(self, unit: str) -> int:
        """Count the distinct values of the unit in DuckDB; raise if some are missing."""
        require_column(unit, self.columns, role="unit")
        with redact_duckdb_errors("counting people", self._relation):
            found = self._query(duckdb_sql.count_groups(ALIAS, [], self._term(unit))).to_arrow_table()
        require_units(unit, int(whole_numbers(found.column("absent")).sum()))
        return int(whole_numbers(found.column("n")).sum())

    def class_profiles(
        self, quasi_identifiers: Sequence[str], sensitive: str | None = None, *, first_rows: int | None = None
    ) -> ClassProfiles | None:
        """Count classes by their profile in DuckDB; None if values of a column have several forms, or are too many."""
        columns = [*quasi_identifiers, *([] if sensitive is None else [sensitive])]
        require_columns(columns, self.columns)
        if any(duckdb_sql.value_decoder(self._types[name]) is not None for name in columns):
            return None
        source = ALIAS if first_rows is None else f"(SELECT * FROM {ALIAS} LIMIT {first_rows}) AS {ALIAS}"
        terms = [self._term(name) for name in columns]
        with redact_duckdb_errors("grouping", self._relation):
            return fetch_profiles(self._query, source, columns, terms, sensitive=sensitive is not None)

    def unique_columns(self, columns: Sequence[str], *, first_rows: int | None = None) -> list[str]:
        """Return the columns that have another value in every row, or in every one of the first rows."""
        require_columns(columns, self.columns)
        source = ALIAS if first_rows is None else f"(SELECT * FROM {ALIAS} LIMIT {first_rows}) AS {ALIAS}"
        with redact_duckdb_errors("counting values", self._relation):
            query = duckdb_sql.count_values(source, [self._term(name) for name in columns])
            (rows, *counts), *_ = self._query(query).fetchall()
        return choose_unique(columns, rows, counts)

    def joined_groups(
        self,
        population: Source,
        columns: Sequence[str],
        meaning: Meaning | None = None,
        *,
        profiled: bool = False,
    ) -> JoinedGroups | None:
        """Group this relation and another of the same connection, and join the groups in DuckDB."""
        if not isinstance(population, DuckDBRelation):
            return None
        for each in (self, population):
            require_columns(columns, each.columns)
        kinds = [(self._types[name], population._types[name]) for name in columns]
        if not self._shares_connection(population) or (meaning is None and any(a != b for a, b in kinds)):
            return None
        sides = [self._group_side(columns, n=ROW_COUNT), population._group_side(columns, people=ROW_COUNT, groups="1")]
        if meaning is None and profiled:
            return _profile_sides(sides, columns)
        if meaning is None:
            groups = _join_sides(sides, len(columns))
            coded = [self._code_column(name, groups.column(position)) for position, name in enumerate(columns)]
            return build_joined_groups(columns, coded, [whole_numbers(groups.column(name)) for name in MEASURES])
        if any(duckdb_sql.value_decoder(kind) is not None for pair in kinds for kind in pair):
            return None
        with redact_duckdb_errors("grouping", self._relation):
            table, others = (DuckDBRelation(side.materialize()) for side in sides)
        renamed = plan_renaming(columns, table._values, others._values, meaning)
        if renamed is None:
            return None
        sides = [table.select_recoded(renamed.table), others.select_recoded(renamed.population)]
        if profiled:
            return _profile_sides(sides, columns)
        groups = _join_sides(sides, len(columns))
        coded = [code_array(groups.column(position), name) for position, name in enumerate(columns)]
        return build_joined_groups(columns, coded, [whole_numbers(groups.column(name)) for name in MEASURES], renamed)

    def _shares_connection(self, other: "DuckDBRelation") -> bool:
        try:
            self._relation.project("1").union(other._relation.project("1"))
        except duckdb.InvalidInputException:
            return False
        return True

    def _group_side(self, columns: Sequence[str], **measures: str) -> Any:
        terms = [self._term(name) for name in columns]
        named = ", ".join(f"{term} AS c{position}" for position, term in enumerate(terms))
        counts = ", ".join(f"CAST({measures.get(name, '0')} AS BIGINT) AS {name}" for name in MEASURES)
        return self._relation.aggregate(f"{named}, {counts}", ", ".join(terms))

    def _values(self, column: str) -> Sequence[Value]:
        return self.frequencies([column]).dictionary(column)

    def row_count(self) -> int:
        """Count the rows."""
        with redact_duckdb_errors("counting rows", self._relation):
            return int(self._query(f"SELECT {ROW_COUNT} FROM {ALIAS}").fetchall()[0][0])

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in DuckDB."""
        require_columns(self.columns if columns is None else columns, self.columns)
        chosen = sorted(self.columns if columns is None else columns)
        query = duckdb_sql.hash_buckets(ALIAS, [self._cell(name) for name in chosen])
        with redact_duckdb_errors("fingerprinting", self._relation):
            rows, buckets = check_buckets(self._query(query).fetchall())
        require_groups(rows, self.row_count)
        types = [duckdb_sql.released_type(self._types[name]) for name in chosen]
        return combine_buckets(scheme=duckdb_sql.SCHEME, columns=chosen, rows=rows, buckets=buckets, types=types)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the query once and use its result: the tables it reads may change between two runs."""
        with redact_duckdb_errors("reading", self._relation):
            result = self._relation.materialize()
        yield DuckDBRelation(result)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Return a new relation that joins the translations of the distinct values."""
        require_no_target(target, "DuckDB")
        return self.select_recoded(recoding)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Run the query for the columns once, and return its result as a relation once `verify` has accepted it."""
        require_no_target(target, "DuckDB")
        require_columns(columns, self.columns)
        with redact_duckdb_errors("publishing", self._relation):
            copy = self.select_in_content_order(columns).materialize()
        verify(DuckDBRelation(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Return relations that hold their rows."""
        require_no_targets(targets, "DuckDB")
        require_columns(columns, self.columns)
        with redact_duckdb_errors("reading", self._relation):
            copy = DuckDBRelation(self.select_columns(columns).materialize())
        tables = make(copy.frequencies(columns))
        with redact_duckdb_errors("writing", self._relation):
            made = tuple(copy.select_rows(wanted).materialize() for wanted in tables)
        verify([DuckDBRelation(relation) for relation in made])
        return made

    def select_rows(self, wanted: NumberedRows | FrequencyTable) -> Any:
        """Return a relation of numbered rows, or of the rows of a frequency table."""
        if isinstance(wanted, NumberedRows):
            return self.select_numbered(wanted)
        privacy_plugin_rows = build_arrow_table(wanted)  # noqa: F841  DuckDB finds it by the name of the variable
        with redact_duckdb_errors("writing", self._relation):
            return self._relation.query(ALIAS, "SELECT * FROM privacy_plugin_rows").materialize()

    def select_numbered(self, wanted: NumberedRows) -> Any:
        """Return the relation that repeats examples of distinct rows, each with a number."""
        labels = [f"c{position}" for position in range(len(wanted.table.columns))]
        names = wanted.table.columns
        query = duckdb_sql.select_examples(ALIAS, list(map(self._released, names)), list(map(self._term, names)))
        with redact_duckdb_errors("reading", self._relation):
            examples = self._query(query).materialize()
        lines = find_example_lines(DuckDBRelation(examples), labels, "line", wanted.table)
        # DuckDB finds this table by the name of the variable, and keeps a reference to it.
        privacy_plugin_lines = pa.table(  # noqa: F841
            {
                "place": number_array(np.arange(len(wanted.lines))),
                "line": number_array(lines[wanted.lines]),
                "number": number_array(wanted.numbers),
            }
        )
        named = dict(zip(names, labels, strict=True)) | {wanted.number: "l.number"}
        chosen = ", ".join(f"{named[name]} AS {quote(name)}" for name in wanted.columns)
        joined = f"{ALIAS} AS e JOIN privacy_plugin_lines AS l ON l.line = e.line"
        with redact_duckdb_errors("writing", self._relation):
            return examples.query(ALIAS, f"SELECT {chosen} FROM {joined} ORDER BY l.place")

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> Any:
        """Return other rows as a relation of the same connection once `verify` has accepted them."""
        require_no_target(target, "DuckDB")
        privacy_plugin_rows = build_arrow_table(rows)  # noqa: F841  DuckDB finds it by the name of the variable
        with redact_duckdb_errors("writing", self._relation):
            copy = self._relation.query(ALIAS, "SELECT * FROM privacy_plugin_rows").materialize()
        check_arrival(rows, verify)(DuckDBRelation(copy))
        return copy

    def select_columns(self, columns: Sequence[str]) -> Any:
        """Return some columns."""
        return self._query(f"SELECT {', '.join(map(quote, columns))} FROM {ALIAS}")

    def select_in_content_order(self, columns: Sequence[str]) -> Any:
        """Return some columns in their released form, ordered by content."""
        listed = ", ".join(f"{self._released(name)} AS {quote(name)}" for name in columns)
        return self._query(f"SELECT {listed} FROM {ALIAS} ORDER BY {', '.join(map(self._term, columns))}")

    def select_recoded(self, recoding: Recoding) -> Any:
        """Return the relation that joins every distinct value with its translation."""
        translator = Translator(recoding, self.columns)
        found = {name: self._list_values(name) for name in translator.coded_columns}
        rows: list[tuple[Any, ...]] = []
        for position, (name, (texts, values)) in enumerate(found.items()):
            translated = translator.translate(name, values)
            for line in zip(texts, translated.texts, translated.numbers.tolist(), strict=True):
                rows.append((position, *line))
        suppressed = translator.suppressed_numbers() if recoding.suppressed else []
        width = len(recoding.suppressed_columns) if recoding.suppressed else 1
        # DuckDB finds these tables by the names of the variables, and keeps references to them.
        privacy_plugin_mapping = pa.table(  # noqa: F841
            {
                name: (number_array if name in ("position", "number") else text_array)([row[i] for row in rows])
                for i, name in enumerate(("position", "old", "new", "number"))
            }
        )
        privacy_plugin_hidden = pa.table(  # noqa: F841
            {f"v{i}": number_array([row[i] for row in suppressed]) for i in range(width)}
        )
        privacy_plugin_combined = build_combinations(translator)  # noqa: F841
        tables = "privacy_plugin_mapping", "privacy_plugin_hidden", "privacy_plugin_combined"
        with redact_duckdb_errors("recoding", self._relation):
            return self._relation.query(ALIAS, duckdb_sql.recode_rows(translator, self._types, *tables))

    def _list_values(self, name: str) -> tuple[list[str | None], list[Any]]:
        """Return the distinct values of a column, as texts that identify them and as values."""
        cell = f'{self._cell(name)} COLLATE "C"'
        query = f"SELECT {cell} AS cell, {OWN}.any_value({self._term(name)}) AS value FROM {ALIAS} GROUP BY {cell}"
        with redact_duckdb_errors("reading values", self._relation):
            table = self._query(query).to_arrow_table()
        require_groups(table.num_rows, self.row_count)
        coded = self._code_column(name, table.column("value"))
        return table.column("cell").to_pylist(), [coded.values[code] for code in coded.codes]

    def _query(self, query: str) -> Any:
        return self._relation.query(ALIAS, query)

    def _released(self, name: str) -> str:
        return duckdb_sql.release_term(quote(name), self._types[name])

    def _term(self, name: str) -> str:
        return duckdb_sql.equality_term(quote(name), self._types[name])

    def _cell(self, name: str) -> str:
        return duckdb_sql.cell_text(quote(name), self._types[name])

    def _code_column(self, name: str, column: Any) -> CodedColumn:
        return code_array(column, name).decode(duckdb_sql.value_decoder(self._types[name]))


def _profile_sides(sides: Sequence[Any], columns: Sequence[str]) -> JoinedGroups | None:
    """Join both sides, and count the groups of equal numbers of rows and people."""
    labels = ", ".join(f"c{position}" for position in range(len(columns)))
    fit = "CASE WHEN n > 0 THEN people ELSE 0 END"
    sums = ", ".join(f"CAST({OWN}.sum({name}) AS BIGINT) AS {name}" for name in ("people", "groups"))
    with redact_duckdb_errors("joining the groups of two relations", sides[0]):
        found = (
            sides[0]
            .union(sides[1])
            .aggregate(_SUMS, labels)
            .aggregate(f"n, {fit} AS fit, {ROW_COUNT} AS repeats, {sums}", f"n, {fit}")
            .to_arrow_table()
        )
    return build_joined_profiles(columns, [whole_numbers(found.column(name)) for name in PROFILE])


def _join_sides(sides: Sequence[Any], width: int) -> Any:
    """Return one line for each group of the table, and one for all groups of the population without rows of it."""
    labels = ", ".join(f"c{position}" for position in range(width))
    values = ", ".join(f"CASE WHEN n > 0 THEN c{p} END AS c{p}" for p in range(width))
    with redact_duckdb_errors("joining the groups of two relations", sides[0]):
        return (
            sides[0]
            .union(sides[1])
            .aggregate(f"{labels}, {_SUMS}", labels)
            .project(f"{values}, n > 0 AS inside, {', '.join(MEASURES)}")
            .aggregate(f"{labels}, {_SUMS}", f"inside, {labels}")
            .to_arrow_table()
        )
