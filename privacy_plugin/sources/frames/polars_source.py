"""polars frames: eager ones are read in place, lazy ones are grouped by polars' own engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from privacy_plugin.errors import SourceError, require_column, require_columns
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.coding import CodedColumn, code_exactly, grouped_table
from privacy_plugin.sources.frames.arrow_hidden import without_hidden
from privacy_plugin.sources.frames.canonical_form import in_one_form
from privacy_plugin.sources.frames.local_source import LocalSource, Mask, Texts
from privacy_plugin.sources.protocol import Fingerprint, Make, Source, VerifyAll, checked_names

# What Arrow has no exact form for: Python objects would cross as their addresses in memory.
_ONE_BY_ONE = (pl.Object, pl.Int128, pl.UInt128)


class PolarsSource(LocalSource):
    """An eager polars frame."""

    engine = "polars"

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self.columns = checked_names(frame.columns)

    def row_count(self) -> int:
        """Count the rows."""
        return self._frame.height

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in polars, but one by one what it does not compare as we do."""
        names = [*columns, *([] if unit is None else [unit])]
        if any(_is_compared_here(self._frame.schema.get(name)) for name in names):
            return super().frequencies(columns, unit=unit)
        return _grouped(self._frame.lazy(), self._frame.schema, columns, unit)

    def coded(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code part of a column."""
        return _coded(self._frame.get_column(name).slice(start, stop - start), name)

    def rebuilt(self, keep: Sequence[str], texts: Mapping[str, Texts], kept: Mask | None) -> pl.DataFrame:
        """Put texts in the place of columns, and leave rows out, with all that is stored of them beside the rows."""
        columns = [
            pl.Series(name, texts[name].tolist(), dtype=pl.String) if name in texts else self._frame.get_column(name)
            for name in keep
        ]
        frame = pl.DataFrame(columns)
        rows = np.arange(frame.height) if kept is None else np.flatnonzero(kept)
        return pl.DataFrame([_copied(column, rows) for column in frame.get_columns()])

    def from_arrow(self, rows: Any) -> pl.DataFrame:
        """Take the rows."""
        return pl.DataFrame(pl.from_arrow(rows))

    def reopened(self, frame: Any) -> Source:
        """Open another eager frame."""
        return PolarsSource(frame)


def _copied(column: pl.Series, rows: Integers) -> pl.Series:
    """Copy rows of a column and nothing else: filtered or sliced, polars still stores the texts of the other rows."""
    if column.dtype == pl.Object:
        return pl.Series(column.name, in_one_form(column[rows].to_list()), dtype=pl.Object)
    if column.dtype in _ONE_BY_ONE:
        return column[rows]
    if column.dtype.is_float():  # to add zero changes nothing in polars
        column = column.fill_nan(None).set(column == 0, 0)
    copy = pl.Series(column.name, without_hidden(column.to_arrow().take(pa.array(rows))), dtype=column.dtype)
    if not isinstance(column.dtype, pl.Enum):
        return copy.cast(_without_enumerations(column.dtype))
    used = set(copy.unique())
    return copy.cast(pl.String).cast(pl.Enum([value for value in column.dtype.categories if value in used]))


def _without_enumerations(kind: Any) -> Any:
    """Make text of enumerations inside of lists and records: they list values that no row may have."""
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
    """A lazy polars frame: a plan that runs anew for every question, unless a snapshot holds its result."""

    engine = "polars"

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame
        with _told_as_source_error("describing"):
            self._schema = frame.collect_schema()
        self.columns = checked_names(self._schema.names())

    def row_count(self) -> int:
        """Count the rows."""
        with _told_as_source_error("counting rows"):
            return int(self._frame.select(pl.len()).collect(engine="streaming").item())

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in polars' streaming engine, but collect what polars does not compare as we do."""
        names = [*columns, *([] if unit is None else [unit])]
        if any(_is_compared_here(self._schema.get(name)) for name in names):
            require_columns(names, self.columns)
            return self._collected(list(dict.fromkeys(names))).frequencies(columns, unit=unit)
        return _grouped(self._frame, self._schema, columns, unit)

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Collect the columns and identify their content."""
        chosen = self.columns if columns is None else tuple(columns)
        require_columns(chosen, self.columns)
        return self._collected(chosen).fingerprint(chosen)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Run the plan once and answer from its result: what it reads may change between two runs."""
        yield self._collected()

    def recode(self, recoding: Recoding, *, target: str | None = None) -> pl.LazyFrame:
        """Run the plan and return the recoded result as a lazy frame."""
        frame: pl.DataFrame = self._collected().recode(recoding, target=target)
        return frame.lazy()

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> pl.LazyFrame:
        """Run the plan, and return its result as a lazy frame once `verify` has accepted it."""
        frame: pl.DataFrame = self._collected().publish(target, columns=columns, verify=verify)
        return frame.lazy()

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[Any, ...]:
        """Run the plan for the columns once, and return eager frames."""
        require_columns(columns, self.columns)
        return self._collected(columns).distribute(columns, make, targets=targets, verify=verify)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> pl.LazyFrame:
        """Return other rows as a lazy frame once `verify` has accepted them."""
        frame: pl.DataFrame = PolarsSource(pl.DataFrame({"x": []})).write_rows(rows, target=target, verify=verify)
        return frame.lazy()

    def _collected(self, columns: Sequence[str] | None = None) -> PolarsSource:
        chosen = self._frame if columns is None else self._frame.select(cs.by_name(*columns))
        with _told_as_source_error("collecting"):
            return PolarsSource(chosen.collect(engine="streaming"))


@contextmanager
def _told_as_source_error(doing: str) -> Iterator[None]:
    """Tell errors without what is put into them, values and queries: polars' own, and those of the plan's code."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  a plan may call any Python
        raise SourceError(f"{doing} the polars frame failed: {type(error).__name__}") from None


def lazy_groups(
    frame: pl.LazyFrame, schema: Mapping[str, Any], columns: Sequence[str], unit: str | None
) -> pl.LazyFrame:
    """Return the grouping as a plan, not yet run; columns are c0, c1, ..., perhaps absent, and n."""
    require_columns(columns, tuple(schema))
    labels = [f"c{position}" for position in range(len(columns))]
    terms = [_term(name, schema[name]).alias(label) for name, label in zip(columns, labels, strict=True)]
    measures = [pl.len().alias("n")]
    if unit is not None:
        require_column(unit, tuple(schema), role="unit")
        terms.append(_term(unit, schema[unit]).alias("unit"))
        measures = [pl.col("unit").null_count().alias("absent"), pl.col("unit").n_unique().alias("n")]
    return frame.select(terms).group_by(labels).agg(measures)


def _grouped(
    frame: pl.LazyFrame, schema: Mapping[str, Any], columns: Sequence[str], unit: str | None
) -> FrequencyTable:
    plan = lazy_groups(frame, schema, columns, unit)
    with _told_as_source_error("grouping"):
        groups = plan.collect(engine="streaming")
    coded = [_coded(groups.to_series(position), name) for position, name in enumerate(columns)]
    absent = 0 if unit is None else int(groups.get_column("absent").sum())
    return grouped_table(columns, coded, groups.get_column("n").to_numpy(), unit=unit, absent=absent)


def _is_compared_here(kind: Any) -> bool:
    """Say whether values are Python objects, or have floats inside: polars calls [0.0] and [-0.0] equal."""
    if isinstance(kind, pl.List | pl.Array):
        return _is_compared_here(kind.inner) or kind.inner.is_float()
    if isinstance(kind, pl.Struct):
        return any(_is_compared_here(field.dtype) or field.dtype.is_float() for field in kind.fields)
    return bool(kind == pl.Object)


def _term(name: str, kind: Any) -> pl.Expr:
    """Select a column by its plain name (polars reads `*` and `^...$` as patterns); NaN is missing."""
    column = cs.by_name(name).as_expr()
    return column.fill_nan(None) if kind.is_float() else column


def _coded(series: pl.Series, name: str) -> CodedColumn:
    if series.dtype in _ONE_BY_ONE:
        return code_exactly(series.to_list())
    return code_array(series.to_arrow(), name)
