"""Frames in this process: one way to count, fingerprint and recode them, column by column."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import require_column, require_columns
from privacy_plugin.frequency.grouping import Integers, pack
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable, merge
from privacy_plugin.frequency.values import SUPPRESSED, canonical, key
from privacy_plugin.sources.coding import CHUNK_ROWS, CodedColumn, chunk_table, compacted, count_units
from privacy_plugin.sources.fingerprint import LocalDigest
from privacy_plugin.sources.numbered import NumberedRows, require_no_targets
from privacy_plugin.sources.protocol import Fingerprint, Make, Source, VerifyAll
from privacy_plugin.sources.translation import Translator, require_no_target

Texts = npt.NDArray[np.object_]
Mask = npt.NDArray[np.bool_]


class LocalSource(ABC):
    """A frame whose columns can be coded piece by piece, so that memory grows with distinct rows."""

    engine: str
    columns: tuple[str, ...]

    @abstractmethod
    def row_count(self) -> int:
        """Count the rows."""

    @abstractmethod
    def coded(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code the rows from start to stop of one column."""

    @abstractmethod
    def rebuilt(self, keep: Sequence[str], texts: Mapping[str, Texts], kept: Mask | None) -> Any:
        """Return a new frame of these columns, some of them replaced by texts, with the kept rows only."""

    @abstractmethod
    def from_arrow(self, rows: Any) -> Any:
        """Return a new frame of this kind with the rows of an Arrow table."""

    def bare(self, frame: Any) -> Any:
        """Return a frame without what is no column: an index may hold names."""
        return frame

    @abstractmethod
    def reopened(self, frame: Any) -> Source:
        """Open another frame of the same kind."""

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Count equal rows."""
        require_columns(columns, self.columns)
        if unit is None:
            return self._counted(columns)
        require_column(unit, self.columns, role="unit")
        return count_units(self._counted([*columns, unit]), unit)

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content by its canonical values; all local frames share one scheme."""
        chosen = self.columns if columns is None else tuple(columns)
        require_columns(chosen, self.columns)
        digest = LocalDigest(chosen)
        for start, stop in self._pieces():
            digest.add([self.coded(name, start, stop) for name in chosen])
        return digest.finish()

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Return the frame itself: it does not change by itself."""
        yield self

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Return a new frame of the same kind; rows keep their order."""
        require_no_target(target, self.engine)
        translator = Translator(recoding, self.columns)
        rows = self.row_count()
        coded = {name: compacted(self.coded(name, 0, rows)) for name in translator.coded_columns}
        translated = {name: translator.translate(name, column.values) for name, column in coded.items()}
        numbers = {name: translated[name].numbers[column.codes] for name, column in coded.items()}
        hit = translator.suppressed_rows(numbers)
        texts: dict[str, Texts] = translator.combined_texts(numbers)
        for name in translator.text_columns:
            if name in texts:
                continue
            texts[name] = np.array(translated[name].texts, dtype=object)[coded[name].codes]
            if hit is not None and name in translator.masked_columns:
                texts[name][hit] = SUPPRESSED
        dropping = hit is not None and recoding.suppression == "drop"
        return self.rebuilt(recoding.keep, texts, ~hit if dropping and hit is not None else None)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Return a frame of the columns, and of nothing that its gate did not judge, once `verify` has accepted it."""
        require_no_target(target, self.engine)
        require_columns(columns, self.columns)
        copy = self.bare(_in_random_order(self.rebuilt(columns, {}, None)))
        verify(self.reopened(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[Any, ...]:
        """Return frames of the same kind and column types."""
        require_no_targets(targets, self.engine)
        frames = tuple(self._numbered(wanted) for wanted in make(self.frequencies(columns)))
        verify([self.reopened(frame) for frame in frames])
        return frames

    def _numbered(self, wanted: NumberedRows) -> Any:
        import narwhals.stable.v1 as nw

        frame = nw.from_native(self.rebuilt(wanted.table.columns, {}, None), eager_only=True)
        numbers = nw.new_series(wanted.number, wanted.numbers, nw.Int64, backend=nw.get_native_namespace(frame))
        repeated = nw.maybe_reset_index(frame[self._example_rows(wanted.table)[wanted.lines].tolist()])
        found = {name: repeated[name] for name in wanted.table.columns} | {wanted.number: numbers}
        return repeated.select(*[found[name] for name in wanted.columns]).to_native()  # polars takes names for patterns

    def _example_rows(self, table: FrequencyTable) -> Integers:
        """Find a row of the frame for every distinct row of the table: its values keep their types.

        Of values that mean the same (None and NaN, 39 and 39.0) equal rows get the same form.
        """
        coded_rows = []
        for name, dictionary in zip(table.columns, table.dictionaries, strict=True):
            coded = self.coded(name, 0, self.row_count())
            positions = {key(value): code for code, value in enumerate(dictionary)}
            # values that do not occur have no position
            known = np.array([positions.get(key(canonical(value)), 0) for value in coded.values], dtype=np.int64)
            coded_rows.append(known[coded.codes])
        packed, _ = pack(coded_rows, table.cardinalities)
        wanted, _ = pack(list(table.codes.T), table.cardinalities)
        first = np.unique(packed, return_index=True)[1]
        return first[np.searchsorted(packed[first], wanted)].astype(np.int64)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> Any:
        """Return a frame of the same kind with other rows, once `verify` has accepted it."""
        from privacy_plugin.sources.drawn_rows import arrived, arrow_rows  # Arrow comes when it is needed

        require_no_target(target, self.engine)
        frame = self.from_arrow(arrow_rows(rows))
        arrived(rows, verify)(self.reopened(frame))
        return frame

    def _counted(self, columns: Sequence[str]) -> FrequencyTable:
        return merge(
            [
                chunk_table(columns, [self.coded(name, start, stop) for name in columns])
                for start, stop in self._pieces()
            ]
        )

    def _pieces(self) -> Iterator[tuple[int, int]]:
        rows = self.row_count()
        for start in range(0, max(rows, 1), CHUNK_ROWS):
            yield start, min(start + CHUNK_ROWS, rows)


def _in_random_order(frame: Any) -> Any:
    """Put the rows of a frame in an order drawn from the operating system's secure source."""
    import narwhals.stable.v1 as nw

    opened = nw.from_native(frame, eager_only=True)
    drawn = np.frombuffer(secrets.token_bytes(8 * len(opened)), dtype=np.uint64)
    return opened[np.argsort(drawn, kind="stable")].to_native()
