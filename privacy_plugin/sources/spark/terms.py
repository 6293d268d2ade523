"""Spark expressions whose equality is the equality of values."""

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, functions, types

from privacy_plugin.errors import SourceError

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
    *([types.TimeType] if hasattr(types, "TimeType") else []),  # Spark 4.1
)
_FLOATING = (types.FloatType, types.DoubleType)
_FORMS = (*_FLOATING, types.MapType)
_UNQUOTED = (types.ArrayType, types.MapType, types.StructType, types.NumericType, types.BooleanType)

# Types that a cast to text tells apart, whatever the session's settings, and whose collations it undoes.
_TELLING = (
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
    """The expressions of a frame's columns, by their types."""

    def __init__(self, kinds: Mapping[str, types.DataType]) -> None:
        self._kinds = kinds

    def column(self, name: str) -> Column:
        """Return the column as it is."""
        return functions.col("`" + name.replace("`", "``") + "`")

    def shown(self, name: str) -> Column:
        """Return the column as it is released: one form of what means the same, no metadata, which may list values."""
        return _one_form(self.column(name), self._kinds[name]).alias(name, metadata={})

    def group(self, name: str) -> Column:
        """Return what to group by: binary collation, NaN as missing, nested values as text."""
        column, kind = self.column(name), self._kinds[name]
        if isinstance(kind, _FLOATING):
            return _one_form(column, kind)
        return column if isinstance(kind, _EXACT) else _text(column, kind)

    def cell(self, name: str) -> Column:
        """Return a text that tells any two values apart, whatever the session's settings; NULL if missing."""
        return _text(self.column(name), self._kinds[name])

    def row_hash(self, columns: Sequence[str]) -> Column:
        """Return the hash of a row: every cell is `N` if missing, else its length in bytes, a colon and its text."""
        parts = [
            functions.when(cell.isNull(), functions.lit("N")).otherwise(
                functions.concat(functions.octet_length(cell).cast("string"), functions.lit(":"), cell)
            )
            for cell in map(self.cell, columns)
        ]
        return functions.sha2(functions.concat(*parts), 256)


def _one_form(column: Column, kind: types.DataType) -> Column:
    """Write what means the same in one way: NaN is missing, adding zero makes -0.0 and 0.0 one, maps are in order."""
    if isinstance(kind, _FLOATING):
        return functions.when(~functions.isnan(column), (column + functions.lit(0.0)).cast(kind))
    if isinstance(kind, types.MapType):
        return functions.map_from_entries(_ordered_entries(column, kind))
    if isinstance(kind, types.ArrayType) and _has_forms(kind):
        item = kind.elementType
        return functions.transform(column, lambda value: _one_form(value, item))
    if isinstance(kind, types.StructType) and _has_forms(kind):
        fields = [_one_form(column.getField(field.name), field.dataType).alias(field.name) for field in kind.fields]
        return functions.when(column.isNotNull(), functions.struct(*fields))
    return column


def _has_forms(kind: types.DataType) -> bool:
    """Say whether two values inside of a nested one may mean the same."""
    if isinstance(kind, types.StructType):
        return any(_has_forms(field.dataType) for field in kind.fields)
    return _has_forms(kind.elementType) if isinstance(kind, types.ArrayType) else isinstance(kind, _FORMS)


def _ordered_entries(column: Column, kind: types.MapType) -> Column:
    """Put the entries of a map in the order of the texts of their keys; Spark itself has one form of a key."""
    ordered = functions.array_sort(
        functions.map_entries(column), lambda one, other: _compared(*(_key_text(e, kind) for e in (one, other)))
    )
    return functions.transform(
        ordered,
        lambda entry: functions.struct(entry.getField("key"), _one_form(entry.getField("value"), kind.valueType)),
    )


def _key_text(entry: Column, kind: types.MapType) -> Column:
    return _part(entry.getField("key"), kind.keyType)


def _compared(one: Column, other: Column) -> Column:
    return functions.when(one < other, -1).when(one > other, 1).otherwise(0)


def _text(column: Column, kind: types.DataType) -> Column:
    """Write nested values in the manner of JSON, part by part.

    Spark's own JSON makes one character of all bytes that are no UTF-8, and writes keys of maps as Java does.
    """
    if isinstance(kind, _FLOATING):
        return _one_form(column, kind).cast("string")
    if isinstance(
        kind, types.DateType
    ):  # its text follows the session's calendar, where years before Christ look alike
        return functions.unix_date(column).cast("string")
    if isinstance(kind, types.TimestampType):  # its text follows the session's time zone
        return functions.unix_micros(column).cast("string")
    if isinstance(kind, types.BinaryType):
        return functions.hex(column)
    if isinstance(kind, types.ArrayType):
        item = kind.elementType
        return _joined("[", functions.transform(column, lambda value: _part(value, item)), "]")
    if isinstance(kind, types.MapType):
        pair = kind.keyType, kind.valueType
        entries = functions.transform(functions.map_entries(column), lambda entry: _pair(entry, *pair))
        return _joined("{", functions.sort_array(entries), "}")  # to Spark too, a map has no order
    if isinstance(kind, types.StructType):
        fields = [_field(column, field) for field in kind.fields]
        return functions.when(column.isNotNull(), _joined("{", functions.array(*fields), "}"))
    if not isinstance(kind, _TELLING):
        raise SourceError(
            f"a column of type {kind.simpleString()} holds values that may differ and look alike; cast it first"
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
    """Write a value inside of another: quotes keep texts apart from what is around them."""
    text = _text(column, kind)
    if not isinstance(kind, _UNQUOTED):
        for special in ("\\", '"'):
            text = functions.replace(text, functions.lit(special), functions.lit("\\" + special))
        text = functions.concat(functions.lit('"'), text, functions.lit('"'))
    return functions.coalesce(text, functions.lit("null"))
