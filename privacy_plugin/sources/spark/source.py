"""Spark frames: grouping, hashing and recoding run as Spark jobs; groups come back as Arrow."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, functions

from privacy_plugin.errors import require_column, require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import Value
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.coding import grouped_table
from privacy_plugin.sources.drawn_rows import arrived, arrow_rows
from privacy_plugin.sources.fingerprint import BUCKET_DIGITS, checked_buckets, compose
from privacy_plugin.sources.joining import MEASURES, JoinedGroups, Meaning, Renaming, joined_table, renaming
from privacy_plugin.sources.numbered import NumberedRows, example_lines, require_no_targets
from privacy_plugin.sources.protocol import (
    Fingerprint,
    Make,
    Source,
    VerifyAll,
    checked_names,
    require_distinct_ignoring_case,
)
from privacy_plugin.sources.spark.errors import told_as_source_error
from privacy_plugin.sources.spark.functions import require_own_functions
from privacy_plugin.sources.spark.grouping import grouped
from privacy_plugin.sources.spark.recoding import SparkRecoder
from privacy_plugin.sources.spark.terms import Terms
from privacy_plugin.sources.translation import Translator, require_no_target

_SCHEME = "spark-sha256-2"


class SparkSource:
    """A frame of a classic Spark session: a plan that runs anew for every question, unless a snapshot holds it."""

    engine = "spark"

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        with told_as_source_error("describing"):
            require_own_functions(frame.sparkSession)
            self._types = {field.name: field.dataType for field in frame.schema.fields}
            self._terms = Terms(self._types)
            self.columns = checked_names(frame.columns)
            exact = str(frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
        if not exact:
            require_distinct_ignoring_case(self.columns, "Spark")

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in Spark; one row a group comes back."""
        with told_as_source_error("grouping"):
            table = self.groups(columns, unit=unit).toArrow()
        coded = [code_array(table.column(position), name) for position, name in enumerate(columns)]
        absent = sum(table.column("absent").to_pylist()) if unit is not None else 0
        return grouped_table(columns, coded, table.column("n").to_numpy(), unit=unit, absent=absent)

    def groups(self, columns: Sequence[str], *, unit: str | None = None) -> DataFrame:
        """Return the grouping as a Spark frame, not yet run."""
        require_columns(columns, self.columns)
        labels = [f"c{position}" for position in range(len(columns))]
        terms = [self._terms.group(name).alias(label) for name, label in zip(columns, labels, strict=True)]
        measures = {"n": functions.count(functions.lit(1))}
        if unit is not None:
            require_column(unit, self.columns, role="unit")
            terms.append(self._terms.group(unit).alias("unit"))
            absent = functions.count(functions.lit(1)) - functions.count(functions.col("unit"))
            measures = {"absent": absent, "n": functions.count_distinct(functions.col("unit"))}
        return grouped(self._frame.select(terms), labels, measures)

    def joined_groups(
        self, population: Source, columns: Sequence[str], meaning: Meaning | None = None
    ) -> JoinedGroups | None:
        """Group this frame and another of the same session, and join the groups in Spark."""
        joined = self.joined(population, columns, meaning) if isinstance(population, SparkSource) else None
        if joined is None:
            return None
        with told_as_source_error("joining the groups of"):
            table = joined[0].toArrow()
        coded = [code_array(table.column(position), name) for position, name in enumerate(columns)]
        return joined_table(columns, coded, [table.column(name).to_numpy() for name in MEASURES], joined[1])

    def joined(
        self, population: "SparkSource", columns: Sequence[str], meaning: Meaning | None = None
    ) -> tuple[DataFrame, Renaming | None] | None:
        """Return the joined groups as a Spark frame, not yet run; None for another session or types that differ."""
        sides = [self._side(columns, n="n"), population._side(columns, people="n", groups="1")]
        if self._frame.sparkSession is not population._frame.sparkSession:
            return None
        if meaning is None:
            differ = any(self._types[name] != population._types[name] for name in columns)
            return None if differ else (_joined_sides(sides, len(columns)), None)
        with told_as_source_error("grouping"):
            table, others = (SparkSource(side.localCheckpoint(eager=True)) for side in sides)
        renamed = renaming(columns, table._values, others._values, meaning)
        if renamed is None:
            return None
        recoded = [table.recode(renamed.table), others.recode(renamed.population)]
        return _joined_sides(recoded, len(columns)), renamed

    def _side(self, columns: Sequence[str], **measures: str) -> DataFrame:
        labels = [f"c{position}" for position in range(len(columns))]
        counts = [functions.expr(measures.get(name, "0")).cast("long").alias(name) for name in MEASURES]
        return self.groups(columns).select(*labels, *counts)

    def _values(self, column: str) -> Sequence[Value]:
        return self.frequencies([column]).dictionary(column)

    def row_count(self) -> int:
        """Count the rows."""
        with told_as_source_error("counting rows"):
            return self._frame.count()

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in Spark."""
        require_columns(self.columns if columns is None else columns, self.columns)
        chosen = sorted(self.columns if columns is None else columns)
        digest = functions.sha2(functions.concat_ws("", functions.sort_array(functions.collect_list("h"))), 256)
        measures = {"n": functions.count(functions.lit(1)), "hashed": functions.count("h"), "digest": digest}
        with told_as_source_error("fingerprinting"):
            hashes = self._frame.select(self._terms.row_hash(chosen).alias("h"))
            placed = hashes.select("h", functions.substring("h", 1, BUCKET_DIGITS).alias("bucket"))
            found = grouped(placed, ["bucket"], measures).toArrow()
        total, pairs = checked_buckets(zip(*(column.to_pylist() for column in found.columns), strict=True))
        kinds = [self._types[name].simpleString() for name in chosen]
        return compose(scheme=_SCHEME, columns=chosen, rows=total, buckets=pairs, types=kinds)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the plan once, keep its rows in Spark, and answer from them."""
        with told_as_source_error("reading"):
            held = self._frame.localCheckpoint(eager=True)
        yield SparkSource(held)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> DataFrame:
        """Return a new frame that joins the distinct values' translations; it runs when its rows are asked for."""
        require_no_target(target, "Spark")
        return SparkRecoder(self._frame, self._terms, Translator(recoding, self.columns)).recoded()

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> DataFrame:
        """Run the plan for the columns once, and return its rows as a frame once `verify` has accepted them."""
        require_no_target(target, "Spark")
        require_columns(columns, self.columns)
        with told_as_source_error("publishing"):
            by_content = self._frame.orderBy(self._terms.row_hash(columns))
            copy = by_content.select(*map(self._terms.shown, columns)).localCheckpoint(eager=True)
        verify(SparkSource(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[DataFrame, ...]:
        """Run the plan for the columns once, and return frames that hold their rows."""
        require_no_targets(targets, "Spark")
        require_columns(columns, self.columns)
        with told_as_source_error("reading"):
            held = SparkSource(self._frame.select(*map(self._terms.shown, columns)).localCheckpoint(eager=True))
        frames = tuple(held._numbered(wanted) for wanted in make(held.frequencies(columns)))
        verify([SparkSource(frame) for frame in frames])
        return frames

    def _numbered(self, wanted: NumberedRows) -> DataFrame:
        """Repeat an example of every distinct row, with a number beside it."""
        names = wanted.table.columns
        labels, terms = [f"c{i}" for i in range(len(names))], [f"t{i}" for i in range(len(names))]
        shown = [self._terms.shown(name).alias(label) for name, label in zip(names, labels, strict=True)]
        told = [self._terms.group(name).alias(term) for name, term in zip(names, terms, strict=True)]
        with told_as_source_error("reading"):
            distinct = self._frame.select(*shown, *told).dropDuplicates(terms)
            line = functions.monotonically_increasing_id().alias("line")
            examples = distinct.select(*labels, line).localCheckpoint(eager=True)
        lines = example_lines(SparkSource(examples), labels, "line", wanted.table)
        repeated = {"place": np.arange(len(wanted.lines)), "line": lines[wanted.lines], "number": wanted.numbers}
        with told_as_source_error("writing"):
            joined = examples.join(self._frame.sparkSession.createDataFrame(pa.table(repeated)), "line")
            named = dict(zip(names, labels, strict=True)) | {wanted.number: "number"}
            chosen = [functions.col(named[name]).alias(name) for name in wanted.columns]
            return joined.orderBy("place").select(*chosen).localCheckpoint(eager=True)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> DataFrame:
        """Return other rows as a frame of the same session once `verify` has accepted them."""
        require_no_target(target, "Spark")
        with told_as_source_error("writing"):
            copy = self._frame.sparkSession.createDataFrame(_in_utc(arrow_rows(rows))).localCheckpoint(eager=True)
        arrived(rows, verify)(SparkSource(copy))
        return copy


def _in_utc(rows: pa.Table) -> pa.Table:
    """Say of moments that they are told in UTC, as canonical ones are: Spark would read them in the session's zone."""
    naive, zoned = pa.timestamp("us"), pa.timestamp("us", "UTC")
    return rows.cast(pa.schema([(field.name, zoned if field.type == naive else field.type) for field in rows.schema]))


def _joined_sides(sides: Sequence[DataFrame], width: int) -> DataFrame:
    """Return a line for every group of the table, and one for all groups of the population without a row of it."""
    labels = [f"c{position}" for position in range(width)]
    totals = {name: functions.sum(name) for name in MEASURES}
    joined = grouped(sides[0].union(sides[1]), labels, totals)
    inside = functions.col("n") > 0
    shown = [functions.when(inside, functions.col(label)).alias(label) for label in labels]
    marked = joined.select(*shown, inside.alias("inside"), *MEASURES)
    return grouped(marked, ["inside", *labels], totals).drop("inside")
