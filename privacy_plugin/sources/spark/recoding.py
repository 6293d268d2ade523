"""Recode a frame in Spark: distinct values are translated in Python, rows are rewritten by joins."""

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions

from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.sources.arrow_coding import build_combinations, code_array
from privacy_plugin.sources.spark.session import redact_spark_errors
from privacy_plugin.sources.spark.terms import Terms, group_frame
from privacy_plugin.sources.translation import Translator

_MAPPING = pa.schema([("old", pa.string()), ("new", pa.string()), ("number", pa.int64())])
_NEW_VALUE = "a value appeared that did not exist when the recoding was prepared"


class SparkRecoder:
    """Builds the joins that recode a frame; they run when its rows are read."""

    def __init__(self, frame: DataFrame, terms: Terms, translator: Translator) -> None:
        self._frame = frame
        self._terms = terms
        self._translator = translator

    def build(self) -> DataFrame:
        """Return the frame that joins every distinct value with its translation."""
        translator, recoding = self._translator, self._translator.recoding
        labels = {name: f"s{position}" for position, name in enumerate(recoding.keep)}
        mappings = {name: self._translate_values(name) for name in translator.coded_columns}
        joined = self._frame.select(
            *[self._terms.released(name).alias(label) for name, label in labels.items()],
            *[self._terms.cell_text(name).alias(f"k{position}") for position, name in enumerate(mappings)],
        )
        for position, mapping in enumerate(mappings.values()):
            named = mapping.toDF(f"old{position}", f"new{position}", f"number{position}")
            match = functions.col(f"k{position}").eqNullSafe(functions.col(f"old{position}"))
            joined = joined.join(functions.broadcast(named), match, "left")
        if recoding.combined_columns:
            joined = self._join_combinations(joined)
        if recoding.suppressed:
            joined = self._join_suppressed(joined)
        types = {name: self._frame.schema[name].dataType for name in translator.typed_columns}
        outputs = [
            column.cast(types[name]).alias(name) if name in types else column
            for name, column in ((name, _output_column(translator, name, label)) for name, label in labels.items())
        ]
        with redact_spark_errors("recoding"):
            return joined.select(*outputs)

    def _translate_values(self, name: str) -> DataFrame:
        """Return (identifying text, new text, number) of every distinct value of a column."""
        cells = self._frame.select(
            self._terms.cell_text(name).alias("cell"), self._terms.equality_term(name).alias("value")
        )
        with redact_spark_errors("reading values"):
            found = group_frame(cells, ["cell"], {"value": functions.first("value")}).toArrow()
        coded = code_array(found.column("value"), name)
        translated = self._translator.translate(name, [coded.values[code] for code in coded.codes])
        arrays = [found.column("cell").cast(pa.string()), translated.texts, translated.numbers.tolist()]
        return self._frame.sparkSession.createDataFrame(pa.table(arrays, schema=_MAPPING))

    def _join_combinations(self, joined: DataFrame) -> DataFrame:
        """Join the combinations that are recoded together: numbers of the values and new texts."""
        table = self._frame.sparkSession.createDataFrame(build_combinations(self._translator))
        columns = self._translator.recoding.combined_columns
        positions = [self._translator.coded_columns.index(column) for column in columns]
        matches = [functions.col(f"n{i}") == _translation(position, "number") for i, position in enumerate(positions)]
        return joined.join(functions.broadcast(table), matches, "left")

    def _join_suppressed(self, joined: DataFrame) -> DataFrame:
        """Join the suppressed combinations: their rows have `hidden` set."""
        translator = self._translator
        positions = [translator.coded_columns.index(name) for name in translator.recoding.suppressed_columns]
        combinations = translator.suppressed_numbers()
        arrays = [pa.array([row[i] for row in combinations], type=pa.int64()) for i in range(len(positions))]
        names = [*(f"h{i}" for i in range(len(positions))), "hidden"]
        table = pa.table([*arrays, pa.array([True] * len(combinations), type=pa.bool_())], names=names)
        hidden = functions.broadcast(self._frame.sparkSession.createDataFrame(table))
        matches = [functions.col(f"h{i}") == _translation(position, "number") for i, position in enumerate(positions)]
        marked = joined.join(hidden, matches, "left")
        return marked.filter(functions.col("hidden").isNull()) if translator.recoding.suppression == "drop" else marked


def _translation(position: int, field: str) -> Column:
    """Return a field of a joined mapping; rows without a match raise instead of becoming missing."""
    unknown = functions.col(f"number{position}").isNull()
    return functions.when(unknown, functions.raise_error(functions.lit(_NEW_VALUE))).otherwise(
        functions.col(f"{field}{position}")
    )


def _output_column(translator: Translator, name: str, label: str) -> Column:
    if name not in translator.text_columns:
        return functions.col(label).alias(name)
    text = _translation(translator.coded_columns.index(name), "new")
    if name in translator.recoding.combined_columns:
        position = translator.recoding.combined_columns.index(name)
        text = functions.when(functions.col("n0").isNull(), functions.raise_error(functions.lit(_NEW_VALUE))).otherwise(
            functions.col(f"t{position}")
        )
    if name in translator.masked_columns:
        text = functions.when(functions.col("hidden").isNotNull(), functions.lit(SUPPRESSED)).otherwise(text)
    return text.alias(name)
