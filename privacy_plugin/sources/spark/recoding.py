"""Carry out a recoding in Spark: distinct values are translated here, rows are rewritten there by joins."""

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions

from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.arrow_combinations import combinations_table
from privacy_plugin.sources.spark.errors import told_as_source_error
from privacy_plugin.sources.spark.grouping import grouped
from privacy_plugin.sources.spark.terms import Terms
from privacy_plugin.sources.translation import Translator

_MAPPING = pa.schema([("old", pa.string()), ("new", pa.string()), ("number", pa.int64())])
_UNKNOWN = "a value appeared that was not there when the recoding was prepared"


class SparkRecoder:
    """The joins that recode a frame; they run when rows are asked for."""

    def __init__(self, frame: DataFrame, terms: Terms, translator: Translator) -> None:
        self._frame = frame
        self._terms = terms
        self._translator = translator

    def recoded(self) -> DataFrame:
        """Return the frame that joins every distinct value with its translation."""
        translator, recoding = self._translator, self._translator.recoding
        labels = {name: f"s{position}" for position, name in enumerate(recoding.keep)}
        mappings = {name: self._mapping(name) for name in translator.coded_columns}
        joined = self._frame.select(
            *[self._terms.shown(name).alias(label) for name, label in labels.items()],
            *[self._terms.cell(name).alias(f"k{position}") for position, name in enumerate(mappings)],
        )
        for position, mapping in enumerate(mappings.values()):
            named = mapping.toDF(f"old{position}", f"new{position}", f"number{position}")
            match = functions.col(f"k{position}").eqNullSafe(functions.col(f"old{position}"))
            joined = joined.join(functions.broadcast(named), match, "left")
        if recoding.combined_columns:
            joined = self._combined(joined)
        if recoding.suppressed:
            joined = self._marked(joined)
        outputs = [_output(translator, name, label) for name, label in labels.items()]
        with told_as_source_error("recoding"):
            return joined.select(*outputs)

    def _mapping(self, name: str) -> DataFrame:
        """Return (identifying text, new text, number) of every distinct value of a column."""
        cells = self._frame.select(self._terms.cell(name).alias("cell"), self._terms.group(name).alias("value"))
        with told_as_source_error("reading values"):
            found = grouped(cells, ["cell"], {"value": functions.first("value")}).toArrow()
        coded = code_array(found.column("value"), name)
        translated = self._translator.translate(name, [coded.values[code] for code in coded.codes])
        arrays = [found.column("cell").cast(pa.string()), translated.texts, translated.numbers.tolist()]
        return self._frame.sparkSession.createDataFrame(pa.table(arrays, schema=_MAPPING))

    def _combined(self, joined: DataFrame) -> DataFrame:
        """Join the combinations that are recoded together: numbers of the values, new texts."""
        table = self._frame.sparkSession.createDataFrame(combinations_table(self._translator))
        columns = self._translator.recoding.combined_columns
        places = [self._translator.coded_columns.index(column) for column in columns]
        matches = [functions.col(f"n{i}") == _translated(place, "number") for i, place in enumerate(places)]
        return joined.join(functions.broadcast(table), matches, "left")

    def _marked(self, joined: DataFrame) -> DataFrame:
        """Join the suppressed combinations: rows that are among them have `hidden` set."""
        translator = self._translator
        places = [translator.coded_columns.index(name) for name in translator.recoding.suppressed_columns]
        combinations = translator.suppressed_numbers()
        arrays = [pa.array([row[i] for row in combinations], type=pa.int64()) for i in range(len(places))]
        names = [*(f"h{i}" for i in range(len(places))), "hidden"]
        table = pa.table([*arrays, pa.array([True] * len(combinations), type=pa.bool_())], names=names)
        hidden = functions.broadcast(self._frame.sparkSession.createDataFrame(table))
        matches = [functions.col(f"h{i}") == _translated(place, "number") for i, place in enumerate(places)]
        marked = joined.join(hidden, matches, "left")
        return marked.filter(functions.col("hidden").isNull()) if translator.recoding.suppression == "drop" else marked


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
