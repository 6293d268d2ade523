"""Spark frames: grouping, hashing and recoding run as Spark jobs; groups come back as Arrow."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, functions, types

from privacy_plugin.errors import SourceError, require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import SUPPRESSED, Value
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.arrow_combinations import combinations_table
from privacy_plugin.sources.coding import grouped_table
from privacy_plugin.sources.digest import BUCKET_DIGITS, checked_buckets, compose
from privacy_plugin.sources.drawn_rows import arrived, arrow_rows
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
from privacy_plugin.sources.spark_logs import unlogged
from privacy_plugin.sources.translation import Translator, require_no_target

_SCHEME = "spark-sha256-1"

# Types whose equality is exact and that cross into Arrow as they are; all others are compared as text.
_EXACT = (
    types.BooleanType,
    types.ByteType,
    types.ShortType,
    types.IntegerType,
    types.LongType,
    types.DecimalType,
    types.DateType,
    types.TimestampType,
    types.TimestampNTZType,
    types.BinaryType,
)
_NESTED = (types.ArrayType, types.MapType, types.StructType)


class SparkSource:
    """A frame of a classic Spark session: a plan that runs anew for every question, unless a snapshot holds it."""

    engine = "spark"

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        with _told_as_source_error("describing"):
            self._types = {field.name: field.dataType for field in frame.schema.fields}
            self.columns = checked_names(frame.columns)
            exact = str(frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
        if not exact:
            require_distinct_ignoring_case(self.columns, "Spark")

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in Spark; one row a group comes back."""
        with _told_as_source_error("grouping"):
            table = self.groups(columns, unit=unit).toArrow()
        coded = [code_array(table.column(position), name) for position, name in enumerate(columns)]
        absent = sum(table.column("absent").to_pylist()) if unit is not None else 0
        return grouped_table(columns, coded, table.column("n").to_numpy(), unit=unit, absent=absent)

    def groups(self, columns: Sequence[str], *, unit: str | None = None) -> DataFrame:
        """Return the grouping as a Spark frame, not yet run."""
        require_columns(columns, self.columns)
        labels = [f"c{position}" for position in range(len(columns))]
        terms = [self._term(name).alias(label) for name, label in zip(columns, labels, strict=True)]
        measures = [functions.count(functions.lit(1)).alias("n")]
        if unit is not None:
            require_columns([unit], self.columns, role="unit")
            terms.append(self._term(unit).alias("unit"))
            absent = functions.count(functions.lit(1)) - functions.count(functions.col("unit"))
            measures = [absent.alias("absent"), functions.count_distinct(functions.col("unit")).alias("n")]
        return self._frame.select(terms).groupBy(labels).agg(*measures)

    def joined_groups(
        self, population: Source, columns: Sequence[str], meaning: Meaning | None = None
    ) -> JoinedGroups | None:
        """Group this frame and another of the same session, and join the groups in Spark."""
        joined = self.joined(population, columns, meaning) if isinstance(population, SparkSource) else None
        if joined is None:
            return None
        with _told_as_source_error("joining the groups of"):
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
        with _told_as_source_error("grouping"):
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
        with _told_as_source_error("counting rows"):
            return self._frame.count()

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in Spark."""
        require_columns(self.columns if columns is None else columns, self.columns)
        chosen = sorted(self.columns if columns is None else columns)
        digest = functions.sha2(functions.concat_ws("", functions.sort_array(functions.collect_list("h"))), 256)
        counts = functions.count(functions.lit(1)).alias("n"), functions.count("h").alias("hashed")
        with _told_as_source_error("fingerprinting"):
            hashes = self._frame.select(self._row_hash(chosen).alias("h"))
            buckets = hashes.groupBy(functions.substring("h", 1, BUCKET_DIGITS).alias("bucket"))
            found = buckets.agg(*counts, digest.alias("digest")).toArrow()
        total, pairs = checked_buckets(zip(*(column.to_pylist() for column in found.columns), strict=True))
        kinds = [self._types[name].simpleString() for name in chosen]
        return compose(scheme=_SCHEME, columns=chosen, rows=total, buckets=pairs, types=kinds)

    def _row_hash(self, columns: Sequence[str]) -> Column:
        parts = [
            functions.when(cell.isNull(), functions.lit("N")).otherwise(
                functions.concat(functions.length(cell).cast("string"), functions.lit(":"), cell)
            )
            for cell in map(self._cell, columns)
        ]
        return functions.sha2(functions.concat(*parts), 256)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the plan once, keep its rows in Spark, and answer from them."""
        with _told_as_source_error("reading"):
            held = self._frame.localCheckpoint(eager=True)
        yield SparkSource(held)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> DataFrame:
        """Return a new frame that joins the distinct values' translations; it runs when its rows are asked for."""
        require_no_target(target, "Spark")
        translator = Translator(recoding, self.columns)
        labels = {name: f"s{position}" for position, name in enumerate(recoding.keep)}
        mappings = {name: self._mapping(translator, name) for name in translator.coded_columns}
        joined = self._frame.select(
            *[self._column(name).alias(label) for name, label in labels.items()],
            *[self._cell(name).alias(f"k{position}") for position, name in enumerate(mappings)],
        )
        for position, mapping in enumerate(mappings.values()):
            named = mapping.toDF(f"old{position}", f"new{position}", f"number{position}")
            match = functions.col(f"k{position}").eqNullSafe(functions.col(f"old{position}"))
            joined = joined.join(functions.broadcast(named), match, "left")
        if recoding.combined_columns:
            joined = self._combined(translator, joined)
        if recoding.suppressed:
            joined = self._marked(translator, joined)
        outputs = [_output(translator, name, label) for name, label in labels.items()]
        with _told_as_source_error("recoding"):
            return joined.select(*outputs)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> DataFrame:
        """Run the plan for the columns once, and return its rows as a frame once `verify` has accepted them."""
        require_no_target(target, "Spark")
        require_columns(columns, self.columns)
        with _told_as_source_error("publishing"):
            by_content = self._frame.orderBy(self._row_hash(columns))
            bare = [self._column(name).alias(name, metadata={}) for name in columns]  # which may list values
            copy = by_content.select(*bare).localCheckpoint(eager=True)
        verify(SparkSource(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[DataFrame, ...]:
        """Run the plan for the columns once, and return frames that hold their rows."""
        require_no_targets(targets, "Spark")
        require_columns(columns, self.columns)
        with _told_as_source_error("reading"):
            held = SparkSource(self._frame.select(*map(self._column, columns)).localCheckpoint(eager=True))
        frames = tuple(held._numbered(wanted) for wanted in make(held.frequencies(columns)))
        verify([SparkSource(frame) for frame in frames])
        return frames

    def _numbered(self, wanted: NumberedRows) -> DataFrame:
        """Repeat an example of every distinct row, with a number beside it."""
        names = wanted.table.columns
        labels, terms = [f"c{i}" for i in range(len(names))], [f"t{i}" for i in range(len(names))]
        shown = [self._column(name).alias(label) for name, label in zip(names, labels, strict=True)]
        told = [self._term(name).alias(term) for name, term in zip(names, terms, strict=True)]
        with _told_as_source_error("reading"):
            distinct = self._frame.select(*shown, *told).dropDuplicates(terms)
            line = functions.monotonically_increasing_id().alias("line")
            examples = distinct.select(*labels, line).localCheckpoint(eager=True)
        lines = example_lines(SparkSource(examples), labels, "line", wanted.table)
        repeated = {"place": np.arange(len(wanted.lines)), "line": lines[wanted.lines], "number": wanted.numbers}
        with _told_as_source_error("writing"):
            joined = examples.join(self._frame.sparkSession.createDataFrame(pa.table(repeated)), "line")
            named = dict(zip(names, labels, strict=True)) | {wanted.number: "number"}
            chosen = [functions.col(named[name]).alias(name) for name in wanted.columns]
            return joined.orderBy("place").select(*chosen).localCheckpoint(eager=True)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> DataFrame:
        """Return other rows as a frame of the same session once `verify` has accepted them."""
        require_no_target(target, "Spark")
        with _told_as_source_error("writing"):
            copy = self._frame.sparkSession.createDataFrame(arrow_rows(rows)).localCheckpoint(eager=True)
        arrived(rows, verify)(SparkSource(copy))
        return copy

    def _mapping(self, translator: Translator, name: str) -> DataFrame:
        """Return (identifying text, new text, number) of every distinct value of a column."""
        cells = self._frame.select(self._cell(name).alias("cell"), self._term(name).alias("value"))
        with _told_as_source_error("reading values"):
            found = cells.groupBy("cell").agg(functions.first("value").alias("value")).toArrow()
        coded = code_array(found.column("value"), name)
        translated = translator.translate(name, [coded.values[code] for code in coded.codes])
        arrays = [found.column("cell").cast(pa.string()), translated.texts, translated.numbers.tolist()]
        return self._frame.sparkSession.createDataFrame(pa.table(arrays, schema=_MAPPING))

    def _combined(self, translator: Translator, joined: DataFrame) -> DataFrame:
        """Join the combinations that are recoded together: numbers of the values, new texts."""
        table = self._frame.sparkSession.createDataFrame(combinations_table(translator))
        columns = translator.recoding.combined_columns
        places = [translator.coded_columns.index(column) for column in columns]
        matches = [functions.col(f"n{i}") == _translated(place, "number") for i, place in enumerate(places)]
        return joined.join(functions.broadcast(table), matches, "left")

    def _marked(self, translator: Translator, joined: DataFrame) -> DataFrame:
        """Join the suppressed combinations: rows that are among them have `hidden` set."""
        places = [translator.coded_columns.index(name) for name in translator.recoding.suppressed_columns]
        combinations = translator.suppressed_numbers()
        arrays = [pa.array([row[i] for row in combinations], type=pa.int64()) for i in range(len(places))]
        table = pa.table([*arrays, pa.array([True] * len(combinations), type=pa.bool_())], names=_names(places))
        hidden = functions.broadcast(self._frame.sparkSession.createDataFrame(table))
        matches = [functions.col(f"h{i}") == _translated(place, "number") for i, place in enumerate(places)]
        marked = joined.join(hidden, matches, "left")
        return marked.filter(functions.col("hidden").isNull()) if translator.recoding.suppression == "drop" else marked

    def _column(self, name: str) -> Column:
        return functions.col("`" + name.replace("`", "``") + "`")

    def _term(self, name: str) -> Column:
        """Return what to group by: binary collation, NaN as missing, nested values as text."""
        column, kind = self._column(name), self._types[name]
        if isinstance(kind, _EXACT):
            return column
        if isinstance(kind, types.FloatType | types.DoubleType):
            return functions.when(~functions.isnan(column), column)
        return _as_text(column, kind)

    def _cell(self, name: str) -> Column:
        """Return a text that tells any two values apart, whatever the session's settings; NULL if missing."""
        column, kind = self._column(name), self._types[name]
        if isinstance(kind, types.FloatType | types.DoubleType):  # adding zero makes -0.0 and 0.0 one
            return functions.when(~functions.isnan(column), (column + functions.lit(0.0)).cast("string"))
        if isinstance(kind, types.TimestampType):
            return functions.unix_micros(column).cast("string")
        return functions.hex(column) if isinstance(kind, types.BinaryType) else _as_text(column, kind)


_MAPPING = pa.schema([("old", pa.string()), ("new", pa.string()), ("number", pa.int64())])
_UNKNOWN = "a value appeared that was not there when the recoding was prepared"
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@contextmanager
def _told_as_source_error(doing: str) -> Iterator[None]:
    """Tell Spark's errors without what it puts into them: values and plans."""
    try:
        with unlogged():
            yield
    except (PySparkException, Py4JError) as error:
        raise SourceError(f"{doing} the Spark frame failed: {type(error).__name__}") from None


def _joined_sides(sides: Sequence[DataFrame], width: int) -> DataFrame:
    """Return a line for every group of the table, and one for all groups of the population without a row of it."""
    labels = [f"c{position}" for position in range(width)]
    totals = [functions.sum(name).alias(name) for name in MEASURES]
    joined = sides[0].union(sides[1]).groupBy(labels).agg(*totals)
    inside = functions.col("n") > 0
    shown = [functions.when(inside, functions.col(label)).alias(label) for label in labels]
    marked = joined.select(*shown, inside.alias("inside"), *MEASURES)
    return marked.groupBy("inside", *labels).agg(*totals).drop("inside")


def _as_text(column: Column, kind: types.DataType) -> Column:
    """Casting undoes collations; nested values become JSON, whose quotes keep their parts apart."""
    _require_telling_text(kind)
    return functions.to_json(column, _JSON) if isinstance(kind, _NESTED) else column.cast("string")


def _require_telling_text(kind: types.DataType) -> None:
    """Refuse types whose text leaves open what a value is.

    In a VARIANT that is a date beside text. A map's keys are written as Java writes them, so that the pairs ('1', '2,')
    and ('1,2', '') look alike, and bytes show their address in memory.
    """
    if isinstance(kind, types.VariantType):
        raise SourceError("a column of type VARIANT holds different values that look alike; cast it first")
    if isinstance(kind, types.MapType) and isinstance(kind.keyType, (*_NESTED, types.BinaryType)):
        raise SourceError("the keys of a map must be single values other than bytes; take map_entries of it first")
    if isinstance(kind, types.StructType):
        parts = [field.dataType for field in kind.fields]
    elif isinstance(kind, types.MapType):
        parts = [kind.keyType, kind.valueType]
    else:
        parts = [kind.elementType] if isinstance(kind, types.ArrayType) else []
    for part in parts:
        _require_telling_text(part)


def _translated(position: int, what: str) -> Column:
    """Return a column of a joined mapping; rows that found no match stop the job instead of passing as missing."""
    unknown = functions.col(f"number{position}").isNull()
    return functions.when(unknown, functions.raise_error(functions.lit(_UNKNOWN))).otherwise(
        functions.col(f"{what}{position}")
    )


def _output(translator: Translator, name: str, label: str) -> Column:
    if name not in translator.text_columns:
        return functions.col(label).alias(name)
    text = _translated(translator.coded_columns.index(name), "new")
    if name in translator.recoding.combined_columns:
        place = translator.recoding.combined_columns.index(name)
        text = functions.when(functions.col("n0").isNull(), functions.raise_error(functions.lit(_UNKNOWN))).otherwise(
            functions.col(f"t{place}")
        )
    if name in translator.masked_columns:
        text = functions.when(functions.col("hidden").isNotNull(), functions.lit(SUPPRESSED)).otherwise(text)
    return text.alias(name)


def _names(places: Sequence[int]) -> list[str]:
    return [*(f"h{i}" for i in range(len(places))), "hidden"]
