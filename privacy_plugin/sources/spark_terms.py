"""Spark expressions whose equality is the equality of values."""

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
)
_NESTED = (types.ArrayType, types.MapType, types.StructType)
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class Terms:
    """The expressions of a frame's columns, by their types."""

    def __init__(self, kinds: Mapping[str, types.DataType]) -> None:
        self._kinds = kinds

    def column(self, name: str) -> Column:
        """Return the column as it is."""
        return functions.col("`" + name.replace("`", "``") + "`")

    def group(self, name: str) -> Column:
        """Return what to group by: binary collation, NaN as missing, nested values as text."""
        column, kind = self.column(name), self._kinds[name]
        if isinstance(kind, _EXACT):
            return column
        if isinstance(kind, types.FloatType | types.DoubleType):
            return functions.when(~functions.isnan(column), column)
        return _as_text(column, kind)

    def cell(self, name: str) -> Column:
        """Return a text that tells any two values apart, whatever the session's settings; NULL if missing."""
        column, kind = self.column(name), self._kinds[name]
        if isinstance(kind, types.FloatType | types.DoubleType):  # adding zero makes -0.0 and 0.0 one
            return functions.when(~functions.isnan(column), (column + functions.lit(0.0)).cast("string"))
        if isinstance(kind, types.TimestampType):
            return functions.unix_micros(column).cast("string")
        return functions.hex(column) if isinstance(kind, types.BinaryType) else _as_text(column, kind)

    def row_hash(self, columns: Sequence[str]) -> Column:
        """Return the hash of a row: every cell is `N` if missing, else its length, a colon and its text."""
        parts = [
            functions.when(cell.isNull(), functions.lit("N")).otherwise(
                functions.concat(functions.length(cell).cast("string"), functions.lit(":"), cell)
            )
            for cell in map(self.cell, columns)
        ]
        return functions.sha2(functions.concat(*parts), 256)


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
