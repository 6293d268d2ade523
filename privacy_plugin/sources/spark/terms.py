"""Spark expressions whose equality is the equality of values, and grouping by them."""

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, functions, types

from privacy_plugin.errors import SourceError

# Types whose equality is exact and that Arrow can represent; all others are compared as text.
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
    *([types.TimeType] if hasattr(types, "TimeType") else []),  # Spark 4.1
)
_FLOATING = (types.FloatType, types.DoubleType)
_WITH_SEVERAL_FORMS = (*_FLOATING, types.MapType)
_UNQUOTED = (types.ArrayType, types.MapType, types.StructType, types.NumericType, types.BooleanType)

# Types whose text identifies a value, whatever the session's settings and the column's collation.
_WITH_EXACT_TEXT = (
    *_EXACT,
    types.StringType,
    types.CharType,
    types.VarcharType,
    types.NullType,
    types.DayTimeIntervalType,
    types.YearMonthIntervalType,
    types.CalendarIntervalType,
)


class Terms:
    """Builds expressions for the columns of a frame, by their types."""

    def __init__(self, kinds: Mapping[str, types.DataType]) -> None:
        self._kinds = kinds

    def column(self, name: str) -> Column:
        """Return the column unchanged."""
        return functions.col("`" + name.replace("`", "``") + "`")

    def released(self, name: str) -> Column:
        """Return the column in its released form: canonical, and without metadata, which may list values."""
        return _canonical_column(self.column(name), self._kinds[name]).alias(name, metadata={})

    def equality_term(self, name: str) -> Column:
        """Return the term to group by: binary collation, NaN as missing, nested values as text."""
        column, kind = self.column(name), self._kinds[name]
        if isinstance(kind, _FLOATING):
            return _canonical_column(column, kind)
        return column if isinstance(kind, _EXACT) else _text(column, kind)

    def cell_text(self, name: str) -> Column:
        """Return a text that identifies a value, whatever the session's settings; NULL if missing."""
        return _text(self.column(name), self._kinds[name])

    def row_hash(self, columns: Sequence[str]) -> Column:
        """Return the hash of a row: every cell is `N` if missing, else its length in bytes, a colon and its text."""
        parts = [
            functions.when(cell.isNull(), functions.lit("N")).otherwise(
                functions.concat(functions.octet_length(cell).cast("string"), functions.lit(":"), cell)
            )
            for cell in map(self.cell_text, columns)
        ]
        return functions.sha2(functions.concat(*parts), 256)


def _canonical_column(column: Column, kind: types.DataType) -> Column:
    """Write values that mean the same in one form: NaN is missing, -0.0 is 0.0, maps are sorted."""
    if isinstance(kind, _FLOATING):
        return functions.when(~functions.isnan(column), (column + functions.lit(0.0)).cast(kind))
    if isinstance(kind, types.MapType):
        return functions.map_from_entries(_sorted_entries(column, kind))
    if isinstance(kind, types.ArrayType) and _has_several_forms(kind):
        item = kind.elementType
        return functions.transform(column, lambda value: _canonical_column(value, item))
    if isinstance(kind, types.StructType) and _has_several_forms(kind):
        fields = [
            _canonical_column(column.getField(field.name), field.dataType).alias(field.name) for field in kind.fields
        ]
        return functions.when(column.isNotNull(), functions.struct(*fields))
    return column


def _has_several_forms(kind: types.DataType) -> bool:
    """Return whether two nested values may mean the same."""
    if isinstance(kind, types.StructType):
        return any(_has_several_forms(field.dataType) for field in kind.fields)
    return (
        _has_several_forms(kind.elementType)
        if isinstance(kind, types.ArrayType)
        else isinstance(kind, _WITH_SEVERAL_FORMS)
    )


def _sorted_entries(column: Column, kind: types.MapType) -> Column:
    """Sort the entries of a map by the texts of their keys; Spark itself normalizes keys."""
    ordered = functions.array_sort(
        functions.map_entries(column), lambda one, other: _compare(*(_key_text(e, kind) for e in (one, other)))
    )
    return functions.transform(
        ordered,
        lambda entry: functions.struct(
            entry.getField("key"), _canonical_column(entry.getField("value"), kind.valueType)
        ),
    )


def _key_text(entry: Column, kind: types.MapType) -> Column:
    return _part(entry.getField("key"), kind.keyType)


def _compare(one: Column, other: Column) -> Column:
    return functions.when(one < other, -1).when(one > other, 1).otherwise(0)


def _text(column: Column, kind: types.DataType) -> Column:
    """Write nested values similar to JSON, part by part.

    Spark's own JSON replaces bytes that are not UTF-8 by one character, and writes keys of maps as Java does.
    """
    if isinstance(kind, _FLOATING):
        return _canonical_column(column, kind).cast("string")
    if isinstance(kind, types.DateType):  # its text depends on the session's calendar, which loses the era
        return functions.unix_date(column).cast("string")
    if isinstance(kind, types.TimestampType):  # its text depends on the session's time zone
        return functions.unix_micros(column).cast("string")
    if isinstance(kind, types.BinaryType):
        return functions.hex(column)
    if isinstance(kind, types.ArrayType):
        item = kind.elementType
        return _joined("[", functions.transform(column, lambda value: _part(value, item)), "]")
    if isinstance(kind, types.MapType):
        pair = kind.keyType, kind.valueType
        entries = functions.transform(functions.map_entries(column), lambda entry: _pair(entry, *pair))
        return _joined("{", functions.sort_array(entries), "}")  # a map has no order
    if isinstance(kind, types.StructType):
        fields = [_field(column, field) for field in kind.fields]
        return functions.when(column.isNotNull(), _joined("{", functions.array(*fields), "}"))
    if not isinstance(kind, _WITH_EXACT_TEXT):
        raise SourceError(
            f"a column of type {kind.simpleString()} holds different values that look alike; cast it first"
        )
    return column.cast("string")


def _joined(opening: str, parts: Column, closing: str) -> Column:
    return functions.concat(functions.lit(opening), functions.array_join(parts, ","), functions.lit(closing))


def _field(column: Column, field: types.StructField) -> Column:
    name = functions.lit(json.dumps(field.name, ensure_ascii=False) + ":")
    return functions.concat(name, _part(column.getField(field.name), field.dataType))


def _pair(entry: Column, key: types.DataType, value: types.DataType) -> Column:
    return functions.concat(
        _part(entry.getField("key"), key), functions.lit(":"), _part(entry.getField("value"), value)
    )


def _part(column: Column, kind: types.DataType) -> Column:
    """Write a nested value; quotes separate texts from what surrounds them."""
    text = _text(column, kind)
    if not isinstance(kind, _UNQUOTED):
        for special in ("\\", '"'):
            text = functions.replace(text, functions.lit(special), functions.lit("\\" + special))
        text = functions.concat(functions.lit('"'), text, functions.lit('"'))
    return functions.coalesce(text, functions.lit("null"))


def group_frame(frame: DataFrame, by: Sequence[str], measures: Mapping[str, Column]) -> DataFrame:
    """Return the columns grouped by, followed by the measures.

    With `spark.sql.retainGroupColumns` off, Spark returns the measures alone, and counts would be read as values.
    """
    asked = {f"by {name}": functions.col(name) for name in by} | dict(measures)
    found = frame.groupBy(*by).agg(*[column.alias(name) for name, column in asked.items()])
    return found.select(*[functions.col(f"by {name}").alias(name) for name in by], *measures)
