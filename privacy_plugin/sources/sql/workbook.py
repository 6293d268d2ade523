"""Excel workbooks: one sheet with the names of the columns in its first row, through openpyxl."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from privacy_plugin.errors import ParameterError, PrivacyPluginError, SourceError
from privacy_plugin.sources.protocol import require_column_names, require_distinct_ignoring_case

_MOST_ROWS = 1_048_576  # of a sheet, with its header
_EXACT = 1 << 53
_TYPES: dict[type, Any] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
    time: pa.time64("us"),
}
_NAMES = {str: "text", bool: "booleans", int: "numbers", float: "numbers", date: "dates", datetime: "dates and times"}
KEPT = ("VARCHAR", "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP")


def convert_workbook(path: Path, folder: Path, sheet: str | None) -> Path:
    """Write a sheet to a Parquet file in a private folder; raise for cells whose value is not certain.

    A column has one type: text, numbers, booleans, dates or times. Rows without any value at the end are left out.
    """
    with _redact(path, "reading"):
        import openpyxl

        values = openpyxl.load_workbook(path, read_only=True, data_only=True)
        formulas = openpyxl.load_workbook(path, read_only=True, data_only=False)
        try:
            chosen = _choose_sheet(values, sheet)
            table = _read_sheet(values[chosen], formulas[chosen])
        finally:
            values.close()
            formulas.close()
        converted = folder / "sheet.parquet"
        pq.write_table(table, converted)
    return converted


def write_workbook(table: pa.Table, path: Path) -> None:
    """Write a table to a new workbook of one sheet; text that begins with '=' stays text."""
    if table.num_rows >= _MOST_ROWS:
        raise SourceError(f"a sheet has at most {_MOST_ROWS - 1:,} rows below its header; write the table as Parquet")
    with _redact(path, "writing"):
        import openpyxl
        from openpyxl.cell import WriteOnlyCell

        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("data")

        def cell(value: Any) -> Any:
            written = WriteOnlyCell(sheet, value=value)
            if isinstance(value, str):
                written.data_type = "s"
            return written

        sheet.append([cell(name) for name in table.column_names])
        for batch in table.to_batches(max_chunksize=10_000):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sheet.append([cell(value) for value in row])
        book.save(path)


@contextmanager
def _redact(path: Path, doing: str) -> Iterator[None]:
    """Raise SourceError instead of any error of openpyxl and its XML parser, which may quote cells."""
    try:
        yield
    except ModuleNotFoundError:
        raise SourceError("Excel files need the package openpyxl; pip install 'privacy-plugin[excel]'") from None
    except PrivacyPluginError:
        raise
    except Exception as error:  # noqa: BLE001  a damaged file raises whatever the ZIP and XML parsers raise
        place = f"the file {str(path)!r}" if doing == "reading" else "the workbook"
        raise SourceError(f"{doing} {place} failed: {type(error).__name__}; is it an .xlsx file?") from None


def _choose_sheet(book: Any, wanted: str | None) -> str:
    names = [sheet.title for sheet in book.worksheets]
    if wanted is not None and wanted not in names:
        raise ParameterError(f"the workbook has no sheet {wanted!r}; it has {len(names)}")
    if wanted is None and len(names) != 1:
        raise ParameterError(f"the workbook has {len(names)} sheets; name one (--sheet, or sheet=)")
    return wanted or names[0]


def _read_sheet(values: Any, formulas: Any) -> pa.Table:
    for sheet in (values, formulas):
        sheet.reset_dimensions()  # what other programs write there may be wrong
    rows = zip(values.iter_rows(), formulas.iter_rows(), strict=True)
    names = _header([cell.value for cell in next(rows, ((), ()))[0]])
    columns: list[list[Any]] = [[] for _ in names]
    timed = [False] * len(names)
    filled = 0
    for number, (row, written) in enumerate(rows, start=1):
        for position, cell in enumerate(row):
            value = _value(cell, written[position], number + 1)
            if value is None:
                continue
            if position >= len(names):
                raise SourceError(f"row {number + 1} of the sheet has more cells than the first row has names")
            column = columns[position]
            column.extend([None] * (number - 1 - len(column)))
            column.append(value)
            timed[position] |= isinstance(value, datetime) and any(c in str(cell.number_format).lower() for c in "hs")
            filled = number
    for column in columns:
        column.extend([None] * (filled - len(column)))
    arrays = [_array(name, column, hours) for name, column, hours in zip(names, columns, timed, strict=True)]
    return pa.table(dict(zip(names, arrays, strict=True)))


def _header(cells: list[Any]) -> tuple[str, ...]:
    while cells and cells[-1] is None:
        cells.pop()
    if not all(isinstance(name, str) for name in cells):
        raise SourceError("the first row of the sheet must name every column by a text")
    names = require_column_names(cells)
    require_distinct_ignoring_case(names, "DuckDB")
    return names


def _value(cell: Any, written: Any, row: int) -> Any:
    """Return the value of a cell; raise for errors such as #N/A, and for formulas without a stored result."""
    if getattr(cell, "data_type", None) == "e":
        raise SourceError(f"row {row} of the sheet has a cell with an error such as #N/A; correct it")
    value = cell.value
    if value is None and getattr(written, "data_type", None) == "f":
        raise SourceError(f"row {row} of the sheet has a formula without a stored result; open and save it in Excel")
    return value


def _array(name: str, values: Iterable[Any], hours: bool) -> pa.Array:
    values = list(values)
    kinds = {type(value) for value in values if value is not None}
    if kinds == {datetime} and not hours and all(v is None or v.time() == time() for v in values):
        return pa.array([None if v is None else v.date() for v in values], pa.date32())
    if kinds == {int, float}:
        if any(isinstance(v, int) and abs(v) > _EXACT for v in values):
            raise SourceError(f"column {name!r} has numbers that Excel does not hold exactly; format it as text")
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if len(kinds) > 1 or not kinds <= set(_TYPES):
        found = sorted({_NAMES.get(kind, "other values") for kind in kinds})
        raise SourceError(f"column {name!r} of the sheet has {' and '.join(found)}; format all its cells alike")
    return pa.array(values, _TYPES[kinds.pop()] if kinds else pa.string())
