"""Spark frames: grouping, hashing and recoding run as Spark jobs; groups are read as Arrow."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, functions

from privacy_plugin.errors import require_column, require_columns
from privacy_plugin.frequency.class_profiles import ClassProfiles, class_histograms, class_sizes
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import Value
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.class_profiles import MOST_VALUES
from privacy_plugin.sources.coding import build_frequency_table, require_units
from privacy_plugin.sources.drawn_rows import build_arrow_table, check_arrival
from privacy_plugin.sources.fingerprint import BUCKET_DIGITS, check_buckets, combine_buckets
from privacy_plugin.sources.numbered_rows import NumberedRows, find_example_lines, require_no_targets
from privacy_plugin.sources.population_join import (
    MEASURES,
    PROFILE,
    JoinedGroups,
    Meaning,
    Renaming,
    build_joined_groups,
    build_joined_profiles,
    plan_renaming,
)
from privacy_plugin.sources.protocol import (
    BuildTables,
    Fingerprint,
    Source,
    VerifyTables,
    require_column_names,
    require_distinct_ignoring_case,
)
from privacy_plugin.sources.spark.recoding import SparkRecoder
from privacy_plugin.sources.spark.session import redact_spark_errors
from privacy_plugin.sources.spark.terms import Terms, group_frame
from privacy_plugin.sources.translation import Translator, require_no_target

_SCHEME = "spark-sha256-2"


class SparkSource:
    """A frame of a classic Spark session: a plan that runs again for every method, unless a snapshot stores it."""

    engine = "spark"

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        with redact_spark_errors("describing the frame"):
            self._types = {field.name: field.dataType for field in frame.schema.fields}
            self._terms = Terms(self._types)
            self.columns = require_column_names(frame.columns)
            exact = str(frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
        if not exact:
            require_distinct_ignoring_case(self.columns, "Spark")

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in Spark; one row a group comes back."""
        with redact_spark_errors("grouping"):
            table = self.groups(columns, unit=unit).toArrow()
        coded = [code_array(table.column(position), name) for position, name in enumerate(columns)]
        absent = sum(table.column("absent").to_pylist()) if unit is not None else 0
        return build_frequency_table(columns, coded, table.column("n").to_numpy(), unit=unit, absent=absent)

    def groups(self, columns: Sequence[str], *, unit: str | None = None) -> DataFrame:
        """Return the grouping as a Spark frame that has not run."""
        require_columns(columns, self.columns)
        labels = [f"c{position}" for position in range(len(columns))]
        terms = [self._terms.equality_term(name).alias(label) for name, label in zip(columns, labels, strict=True)]
        measures = {"n": functions.count(functions.lit(1))}
        if unit is not None:
            require_column(unit, self.columns, role="unit")
            terms.append(self._terms.equality_term(unit).alias("unit"))
            absent = functions.count(functions.lit(1)) - functions.count(functions.col("unit"))
            measures = {"absent": absent, "n": functions.count_distinct(functions.col("unit"))}
        return group_frame(self._frame.select(terms), labels, measures)

    def count_people(self, unit: str) -> int:
        """Count the distinct values of the unit in Spark; raise if some are missing."""
        require_column(unit, self.columns, role="unit")
        person = functions.col("unit")
        absent = functions.count(functions.lit(1)) - functions.count(person)
        measures = {"absent": absent, "n": functions.count_distinct(person)}
        with redact_spark_errors("counting people"):
            found = self._frame.select(self._terms.equality_term(unit).alias("unit"))
            table = group_frame(found, [], measures).toArrow()
        require_units(unit, sum(table.column("absent").to_pylist()))
        return int(sum(table.column("n").to_pylist()))

    def class_profiles(
        self, quasi_identifiers: Sequence[str], sensitive: str | None = None, *, first_rows: int | None = None
    ) -> ClassProfiles | None:
        """Count classes by their profile in Spark: the driver's memory does not depend on the number of classes."""
        columns = [*quasi_identifiers, *([] if sensitive is None else [sensitive])]
        require_columns(columns, self.columns)
        source = self if first_rows is None else SparkSource(self._frame.limit(first_rows))
        repeats = {"repeats": functions.count(functions.lit(1))}
        if sensitive is None:
            with redact_spark_errors("grouping"):
                found = group_frame(source.groups(columns).select("n"), ["n"], repeats).toArrow()
            sizes, times = (found.column(name).to_numpy() for name in ("n", "repeats"))
            return class_sizes(quasi_identifiers, sizes=sizes, repeats=times)
        if len(self._values(sensitive)) > MOST_VALUES:
            return None
        labels = [f"c{position}" for position in range(len(quasi_identifiers))]
        entry = functions.struct(functions.col(f"c{len(labels)}").alias("s"), functions.col("n"))
        entries = source.groups(columns).select(*labels, entry.alias("entry"))
        with redact_spark_errors("grouping"):
            shapes = group_frame(entries, labels, {"shape": functions.sort_array(functions.collect_list("entry"))})
            found = group_frame(shapes.select("shape"), ["shape"], repeats).toArrow().combine_chunks()
        lists = found.column("shape").combine_chunks()
        flat = lists.flatten()
        coded = code_array(flat.field("s"), sensitive)
        lengths = lists.value_lengths().to_numpy().astype(np.int64)
        return class_histograms(
            quasi_identifiers,
            sensitive,
            profiles=np.repeat(np.arange(len(lengths), dtype=np.int64), lengths),
            codes=coded.codes.astype(np.int64),
            counts=flat.field("n").to_numpy().astype(np.int64),
            raw_values=coded.values,
            repeats=found.column("repeats").to_numpy().astype(np.int64),
        )

    def joined_groups(
        self,
        population: Source,
        columns: Sequence[str],
        meaning: Meaning | None = None,
        *,
        profiled: bool = False,
    ) -> JoinedGroups | None:
        """Group this frame and another of the same session, and join the groups in Spark."""
        joined = None
        if isinstance(population, SparkSource):
            joined = self.joined(population, columns, meaning, profiled=profiled)
        if joined is None:
            return None
        if profiled:
            with redact_spark_errors("joining the groups of"):
                found = joined[0].toArrow()
            return build_joined_profiles(columns, [found.column(name).to_numpy() for name in PROFILE])
        with redact_spark_errors("joining the groups of"):
            table = joined[0].toArrow()
        coded = [code_array(table.column(position), name) for position, name in enumerate(columns)]
        return build_joined_groups(columns, coded, [table.column(name).to_numpy() for name in MEASURES], joined[1])

    def joined(
        self,
        population: "SparkSource",
        columns: Sequence[str],
        meaning: Meaning | None = None,
        *,
        profiled: bool = False,
    ) -> tuple[DataFrame, Renaming | None] | None:
        """Return the joined groups as a Spark frame that has not run; None for another session or different types."""
        sides = [self._group_side(columns, n="n"), population._group_side(columns, people="n", groups="1")]
        if self._frame.sparkSession is not population._frame.sparkSession:
            return None
        join = _profile_sides if profiled else _join_sides
        if meaning is None:
            differ = any(self._types[name] != population._types[name] for name in columns)
            return None if differ else (join(sides, len(columns)), None)
        with redact_spark_errors("grouping"):
            table, others = (SparkSource(side.localCheckpoint(eager=True)) for side in sides)
        renamed = plan_renaming(columns, table._values, others._values, meaning)
        if renamed is None:
            return None
        recoded = [table.recode(renamed.table), others.recode(renamed.population)]
        return join(recoded, len(columns)), renamed

    def _group_side(self, columns: Sequence[str], **measures: str) -> DataFrame:
        labels = [f"c{position}" for position in range(len(columns))]
        counts = [functions.expr(measures.get(name, "0")).cast("long").alias(name) for name in MEASURES]
        return self.groups(columns).select(*labels, *counts)

    def _values(self, column: str) -> Sequence[Value]:
        return self.frequencies([column]).dictionary(column)

    def row_count(self) -> int:
        """Count the rows."""
        with redact_spark_errors("counting rows"):
            return self._frame.count()

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in Spark."""
        require_columns(self.columns if columns is None else columns, self.columns)
        chosen = sorted(self.columns if columns is None else columns)
        digest = functions.sha2(functions.concat_ws("", functions.sort_array(functions.collect_list("h"))), 256)
        measures = {"n": functions.count(functions.lit(1)), "hashed": functions.count("h"), "digest": digest}
        with redact_spark_errors("fingerprinting"):
            hashes = self._frame.select(self._terms.row_hash(chosen).alias("h"))
            bucketed = hashes.select("h", functions.substring("h", 1, BUCKET_DIGITS).alias("bucket"))
            found = group_frame(bucketed, ["bucket"], measures).toArrow()
        total, pairs = check_buckets(zip(*(column.to_pylist() for column in found.columns), strict=True))
        kinds = [self._types[name].simpleString() for name in chosen]
        return combine_buckets(scheme=_SCHEME, columns=chosen, rows=total, buckets=pairs, types=kinds)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the plan once and store its rows in Spark."""
        with redact_spark_errors("reading"):
            result = self._frame.localCheckpoint(eager=True)
        yield SparkSource(result)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> DataFrame:
        """Return a new frame that joins the translations of the distinct values; it runs when its rows are read."""
        require_no_target(target, "Spark")
        return SparkRecoder(self._frame, self._terms, Translator(recoding, self.columns)).build()

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> DataFrame:
        """Run the plan for the columns once, and return its rows as a frame once `verify` has accepted them."""
        require_no_target(target, "Spark")
        require_columns(columns, self.columns)
        with redact_spark_errors("publishing"):
            ordered = self._frame.orderBy(self._terms.row_hash(columns))
            copy = ordered.select(*map(self._terms.released, columns)).localCheckpoint(eager=True)
        verify(SparkSource(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[DataFrame, ...]:
        """Run the plan for the columns once, and return frames that hold their rows."""
        require_no_targets(targets, "Spark")
        require_columns(columns, self.columns)
        with redact_spark_errors("reading"):
            copy = SparkSource(self._frame.select(*map(self._terms.released, columns)).localCheckpoint(eager=True))
        frames = tuple(copy._build_numbered(wanted) for wanted in make(copy.frequencies(columns)))
        verify([SparkSource(frame) for frame in frames])
        return frames

    def _build_numbered(self, wanted: NumberedRows | FrequencyTable) -> DataFrame:
        """Repeat examples of distinct rows, each with a number, or make a frame of other rows."""
        if isinstance(wanted, FrequencyTable):
            with redact_spark_errors("writing"):
                made = self._frame.sparkSession.createDataFrame(_mark_as_utc(build_arrow_table(wanted)))
                return made.localCheckpoint(eager=True)
        names = wanted.table.columns
        labels, terms = [f"c{i}" for i in range(len(names))], [f"t{i}" for i in range(len(names))]
        released = [self._terms.released(name).alias(label) for name, label in zip(names, labels, strict=True)]
        compared = [self._terms.equality_term(name).alias(term) for name, term in zip(names, terms, strict=True)]
        with redact_spark_errors("reading"):
            distinct = self._frame.select(*released, *compared).dropDuplicates(terms)
            line = functions.monotonically_increasing_id().alias("line")
            examples = distinct.select(*labels, line).localCheckpoint(eager=True)
        lines = find_example_lines(SparkSource(examples), labels, "line", wanted.table)
        repeated = {"place": np.arange(len(wanted.lines)), "line": lines[wanted.lines], "number": wanted.numbers}
        with redact_spark_errors("writing"):
            joined = examples.join(self._frame.sparkSession.createDataFrame(pa.table(repeated)), "line")
            named = dict(zip(names, labels, strict=True)) | {wanted.number: "number"}
            chosen = [functions.col(named[name]).alias(name) for name in wanted.columns]
            return joined.orderBy("place").select(*chosen).localCheckpoint(eager=True)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> DataFrame:
        """Return other rows as a frame of the same session once `verify` has accepted them."""
        require_no_target(target, "Spark")
        with redact_spark_errors("writing"):
            copy = self._frame.sparkSession.createDataFrame(_mark_as_utc(build_arrow_table(rows))).localCheckpoint(
                eager=True
            )
        check_arrival(rows, verify)(SparkSource(copy))
        return copy


def _mark_as_utc(rows: pa.Table) -> pa.Table:
    """Mark moments as UTC, which canonical ones are: Spark would read them in the session's time zone."""
    naive, zoned = pa.timestamp("us"), pa.timestamp("us", "UTC")
    return rows.cast(pa.schema([(field.name, zoned if field.type == naive else field.type) for field in rows.schema]))


def _profile_sides(sides: Sequence[DataFrame], width: int) -> DataFrame:
    """Join the groups of both sides, and count those of equal numbers of rows and people."""
    labels = [f"c{position}" for position in range(width)]
    joined = group_frame(sides[0].union(sides[1]), labels, {name: functions.sum(name) for name in MEASURES})
    fit = functions.when(functions.col("n") > 0, functions.col("people")).otherwise(functions.lit(0)).alias("fit")
    totals = {"repeats": functions.count(functions.lit(1))}
    totals |= {name: functions.sum(name) for name in ("people", "groups")}
    return group_frame(joined.select("n", fit, "people", "groups"), ["n", "fit"], totals)


def _join_sides(sides: Sequence[DataFrame], width: int) -> DataFrame:
    """Return one line for each group of the table, and one for all groups of the population without rows of it."""
    labels = [f"c{position}" for position in range(width)]
    totals = {name: functions.sum(name) for name in MEASURES}
    joined = group_frame(sides[0].union(sides[1]), labels, totals)
    inside = functions.col("n") > 0
    values = [functions.when(inside, functions.col(label)).alias(label) for label in labels]
    marked = joined.select(*values, inside.alias("inside"), *MEASURES)
    return group_frame(marked, ["inside", *labels], totals).drop("inside")
