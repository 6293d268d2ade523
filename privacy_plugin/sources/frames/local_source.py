"""The base of pandas, polars and Arrow sources: count, fingerprint and recode frames column by column."""

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
from privacy_plugin.sources.coding import CHUNK_ROWS, CodedColumn, count_chunk, count_units
from privacy_plugin.sources.fingerprint import LocalDigest
from privacy_plugin.sources.numbered_rows import NumberedRows, require_no_targets
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, Source, VerifyTables
from privacy_plugin.sources.translation import Translator, require_no_target

Texts = npt.NDArray[np.object_]
Mask = npt.NDArray[np.bool_]


class LocalSource(ABC):
    """A frame whose columns are coded chunk by chunk, so that memory grows with distinct rows."""

    engine: str
    columns: tuple[str, ...]

    @abstractmethod
    def row_count(self) -> int:
        """Count the rows."""

    @abstractmethod
    def code_column(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code the rows from start to stop of one column."""

    @abstractmethod
    def rebuild(
        self, keep: Sequence[str], texts: Mapping[str, Texts], mask: Mask | None, typed: Sequence[str] = ()
    ) -> Any:
        """Return a new frame of these columns, some replaced by texts, with the rows of the mask (default: all)."""

    @abstractmethod
    def from_arrow(self, rows: Any) -> Any:
        """Return a new frame of this kind with the rows of an Arrow table."""

    def strip(self, frame: Any) -> Any:
        """Return a frame of columns only: an index may hold names."""
        return frame

    @abstractmethod
    def reopen(self, frame: Any) -> Source:
        """Open another frame of the same kind."""

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Count equal rows."""
        require_columns(columns, self.columns)
        if unit is None:
            return self._count_rows(columns)
        require_column(unit, self.columns, role="unit")
        return count_units(self._count_rows([*columns, unit]), unit)

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content by its canonical values; all frames share one scheme."""
        chosen = self.columns if columns is None else tuple(columns)
        require_columns(chosen, self.columns)
        digest = LocalDigest(chosen)
        for start, stop in self._chunks():
            digest.add([self.code_column(name, start, stop) for name in chosen])
        return digest.finish()

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Return the frame itself."""
        yield self

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Return a new frame of the same kind; rows keep their order."""
        require_no_target(target, self.engine)
        translator = Translator(recoding, self.columns)
        rows = self.row_count()
        coded = {name: self.code_column(name, 0, rows).drop_unused_values() for name in translator.coded_columns}
        translated = {name: translator.translate(name, column.values) for name, column in coded.items()}
        numbers = {name: translated[name].numbers[column.codes] for name, column in coded.items()}
        suppressed = translator.suppressed_rows(numbers)
        texts: dict[str, Texts] = translator.combined_texts(numbers)
        for name in translator.text_columns:
            if name in texts:
                continue
            texts[name] = np.array(translated[name].texts, dtype=object)[coded[name].codes]
            if suppressed is not None and name in translator.masked_columns:
                texts[name][suppressed] = SUPPRESSED
        kept = None if suppressed is None or recoding.suppression != "drop" else ~suppressed
        return self.rebuild(recoding.keep, texts, kept, typed=translator.typed_columns)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Return a frame of these columns only, in random order, once `verify` has accepted it."""
        require_no_target(target, self.engine)
        require_columns(columns, self.columns)
        copy = self.strip(_shuffle_rows(self.rebuild(columns, {}, None)))
        verify(self.reopen(copy))
        return copy

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Return frames of the same kind and column types."""
        require_no_targets(targets, self.engine)
        frames = tuple(self._build_numbered(wanted) for wanted in make(self.frequencies(columns)))
        verify([self.reopen(frame) for frame in frames])
        return frames

    def _build_numbered(self, wanted: NumberedRows | FrequencyTable) -> Any:
        import narwhals.stable.v1 as nw

        if isinstance(wanted, FrequencyTable):
            from privacy_plugin.sources.drawn_rows import build_arrow_table  # imports Arrow

            return self.from_arrow(build_arrow_table(wanted))
        frame = nw.from_native(self.rebuild(wanted.table.columns, {}, None), eager_only=True)
        numbers = nw.new_series(wanted.number, wanted.numbers, nw.Int64, backend=nw.get_native_namespace(frame))
        repeated = nw.maybe_reset_index(frame[self._find_example_rows(wanted.table)[wanted.lines].tolist()])
        found = {name: repeated[name] for name in wanted.table.columns} | {wanted.number: numbers}
        # series, not names, which polars would read as patterns
        return repeated.select(*[found[name] for name in wanted.columns]).to_native()

    def _find_example_rows(self, table: FrequencyTable) -> Integers:
        """Return one row of the frame for every distinct row of the table, so that values keep their types.

        Values that mean the same (None and NaN, 39 and 39.0) get the same form in all rows.
        """
        coded_rows = []
        for name, dictionary in zip(table.columns, table.dictionaries, strict=True):
            coded = self.code_column(name, 0, self.row_count())
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
        from privacy_plugin.sources.drawn_rows import build_arrow_table, check_arrival  # imports Arrow

        require_no_target(target, self.engine)
        frame = self.from_arrow(build_arrow_table(rows))
        check_arrival(rows, verify)(self.reopen(frame))
        return frame

    def _count_rows(self, columns: Sequence[str]) -> FrequencyTable:
        return merge(
            [
                count_chunk(columns, [self.code_column(name, start, stop) for name in columns])
                for start, stop in self._chunks()
            ]
        )

    def _chunks(self) -> Iterator[tuple[int, int]]:
        rows = self.row_count()
        for start in range(0, max(rows, 1), CHUNK_ROWS):
            yield start, min(start + CHUNK_ROWS, rows)


def _shuffle_rows(frame: Any) -> Any:
    """Shuffle the rows of a frame with randomness from the operating system's secure source."""
    import narwhals.stable.v1 as nw

    opened = nw.from_native(frame, eager_only=True)
    drawn = np.frombuffer(secrets.token_bytes(8 * len(opened)), dtype=np.uint64)
    return opened[np.argsort(drawn, kind="stable")].to_native()
