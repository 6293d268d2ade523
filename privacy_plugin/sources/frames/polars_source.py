"""polars frames: both eager and lazy ones are grouped by polars' own engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from privacy_plugin.errors import require_column, require_columns
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.coding import CodedColumn, build_frequency_table, code_by_meaning
from privacy_plugin.sources.error_redaction import ForeignErrors, redact_errors
from privacy_plugin.sources.frames.arrow_copy import drop_hidden_values
from privacy_plugin.sources.frames.canonical_form import to_canonical_form
from privacy_plugin.sources.frames.local_source import LocalSource, Mask, Texts
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, Source, VerifyTables, require_column_names

# Types that Arrow cannot represent: it would convert Python objects to their addresses in memory.
_NOT_IN_ARROW = tuple(getattr(pl, name) for name in ("Object", "Int128", "UInt128") if hasattr(pl, name))

_ERRORS = ForeignErrors(classes=(Exception,), place="in polars")  # a plan may call any Python code


class PolarsSource(LocalSource):
    """An eager polars frame."""

    engine = "polars"

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self.columns = require_column_names(frame.columns)

    def row_count(self) -> int:
        """Count the rows."""
        return self._frame.height

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in polars, but in Python if polars compares values in another way."""
        names = [*columns, *([] if unit is None else [unit])]
        if any(_is_compared_in_python(self._frame.schema.get(name)) for name in names):
            return super().frequencies(columns, unit=unit)
        return _group_frame(self._frame.lazy(), self._frame.schema, columns, unit)

    def code_column(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code part of a column."""
        return _code_series(self._frame.get_column(name).slice(start, stop - start), name)

    def rebuild(
        self, keep: Sequence[str], texts: Mapping[str, Texts], mask: Mask | None, typed: Sequence[str] = ()
    ) -> pl.DataFrame:
        """Replace columns by texts and remove rows, with everything that is stored of them."""
        columns = [
            pl.Series(name, texts[name].tolist(), dtype=pl.String) if name in texts else self._frame.get_column(name)
            for name in keep
        ]
        columns = [one.cast(self._frame.get_column(one.name).dtype) if one.name in typed else one for one in columns]
        frame = pl.DataFrame(columns)
        rows = np.arange(frame.height) if mask is None else np.flatnonzero(mask)
        return pl.DataFrame([_copy_rows(column, rows) for column in frame.get_columns()])

    def from_arrow(self, rows: Any) -> pl.DataFrame:
        """Convert the rows."""
        return pl.DataFrame(pl.from_arrow(rows))

    def reopen(self, frame: Any) -> Source:
        """Open another eager frame."""
        return PolarsSource(frame)


def _copy_rows(column: pl.Series, rows: Integers) -> pl.Series:
    """Copy rows of a column and nothing else: after a filter or slice polars still stores the other rows' texts."""
    if column.dtype == pl.Object:
        return pl.Series(column.name, to_canonical_form(column[rows].to_list()), dtype=pl.Object)
    if column.dtype in _NOT_IN_ARROW:
        return column[rows]
    if column.dtype.is_float():  # in polars adding zero keeps -0.0
        column = column.fill_nan(None).set(column == 0, 0)
    copy = pl.Series(column.name, drop_hidden_values(column.to_arrow().take(pa.array(rows))), dtype=column.dtype)
    if not isinstance(column.dtype, pl.Enum):
        return copy.cast(_without_enumerations(column.dtype))
    used = set(copy.unique())
    return copy.cast(pl.String).cast(pl.Enum([value for value in column.dtype.categories if value in used]))


def _without_enumerations(kind: Any) -> Any:
    """Cast enumerations inside of lists and records to text: they list values that no row may have."""
    if isinstance(kind, pl.Enum):
        return pl.String
    if isinstance(kind, pl.Array):
        return pl.Array(_without_enumerations(kind.inner), kind.size)
    if isinstance(kind, pl.List):
        return pl.List(_without_enumerations(kind.inner))
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _without_enumerations(field.dtype) for field in kind.fields})
    return kind


class PolarsLazySource:
    """A lazy polars frame: a plan that runs again for every method, unless a snapshot stores its result."""

    engine = "polars"

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame
        with redact_errors("describing the frame", _ERRORS):
            self._schema = frame.collect_schema()
        self.columns = require_column_names(self._schema.names())

    def row_count(self) -> int:
        """Count the rows."""
        with redact_errors("counting rows", _ERRORS):
            return int(self._frame.select(pl.len()).collect(engine="streaming").item())

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in polars' streaming engine, but in Python if polars compares values in another way."""
        names = [*columns, *([] if unit is None else [unit])]
        if any(_is_compared_in_python(self._schema.get(name)) for name in names):
            require_columns(names, self.columns)
            return self._collect(list(dict.fromkeys(names))).frequencies(columns, unit=unit)
        return _group_frame(self._frame, self._schema, columns, unit)

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Collect the columns and identify their content."""
        chosen = self.columns if columns is None else tuple(columns)
        require_columns(chosen, self.columns)
        return self._collect(chosen).fingerprint(chosen)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the plan once and use its result: the data it reads may change between two runs."""
        yield self._collect()

    def recode(self, recoding: Recoding, *, target: str | None = None) -> pl.LazyFrame:
        """Run the plan and return the recoded result as a lazy frame."""
        frame: pl.DataFrame = self._collect().recode(recoding, target=target)
        return frame.lazy()

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> pl.LazyFrame:
        """Run the plan, and return its result as a lazy frame once `verify` has accepted it."""
        frame: pl.DataFrame = self._collect().publish(target, columns=columns, verify=verify)
        return frame.lazy()

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Run the plan for the columns once, and return eager frames."""
        require_columns(columns, self.columns)
        return self._collect(columns).distribute(columns, make, targets=targets, verify=verify)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> pl.LazyFrame:
        """Return other rows as a lazy frame once `verify` has accepted them."""
        frame: pl.DataFrame = PolarsSource(pl.DataFrame({"x": []})).write_rows(rows, target=target, verify=verify)
        return frame.lazy()

    def _collect(self, columns: Sequence[str] | None = None) -> PolarsSource:
        chosen = self._frame if columns is None else self._frame.select(cs.by_name(*columns))
        with redact_errors("collecting the frame", _ERRORS):
            return PolarsSource(chosen.collect(engine="streaming"))


def plan_groups(
    frame: pl.LazyFrame, schema: Mapping[str, Any], columns: Sequence[str], unit: str | None
) -> pl.LazyFrame:
    """Return the grouping as a plan that has not run; its columns are c0, c1, ..., n, and absent with a unit."""
    require_columns(columns, tuple(schema))
    labels = [f"c{position}" for position in range(len(columns))]
    terms = [_term(name, schema[name]).alias(label) for name, label in zip(columns, labels, strict=True)]
    measures = [pl.len().alias("n")]
    if unit is not None:
        require_column(unit, tuple(schema), role="unit")
        terms.append(_term(unit, schema[unit]).alias("unit"))
        measures = [pl.col("unit").null_count().alias("absent"), pl.col("unit").n_unique().alias("n")]
    return frame.select(terms).group_by(labels).agg(measures)


def _group_frame(
    frame: pl.LazyFrame, schema: Mapping[str, Any], columns: Sequence[str], unit: str | None
) -> FrequencyTable:
    plan = plan_groups(frame, schema, columns, unit)
    with redact_errors("grouping", _ERRORS):
        groups = plan.collect(engine="streaming")
    coded = [_code_series(groups.to_series(position), name) for position, name in enumerate(columns)]
    absent = 0 if unit is None else int(groups.get_column("absent").sum())
    return build_frequency_table(columns, coded, groups.get_column("n").to_numpy(), unit=unit, absent=absent)


def _is_compared_in_python(kind: Any) -> bool:
    """Return whether values are Python objects, or contain floats: polars treats [0.0] and [-0.0] as equal."""
    if isinstance(kind, pl.List | pl.Array):
        return _is_compared_in_python(kind.inner) or kind.inner.is_float()
    if isinstance(kind, pl.Struct):
        return any(_is_compared_in_python(field.dtype) or field.dtype.is_float() for field in kind.fields)
    return bool(kind == pl.Object)


def _term(name: str, kind: Any) -> pl.Expr:
    """Select a column by its literal name (polars reads `*` and `^...$` as patterns); NaN is missing."""
    column = cs.by_name(name).as_expr()
    return column.fill_nan(None) if kind.is_float() else column


def _code_series(series: pl.Series, name: str) -> CodedColumn:
    if series.dtype in _NOT_IN_ARROW:
        return code_by_meaning(series.to_list())
    return code_array(series.to_arrow(), name)
