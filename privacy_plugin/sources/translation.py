"""Translate the distinct values of columns by a recoding: the part of recoding that all engines share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import HierarchyError, ParameterError, require_columns
from privacy_plugin.frequency.grouping import Integers, pack
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.values import Key, Value, canonical, key, label


@dataclass(frozen=True, kw_only=True, eq=False)
class Translation:
    """The new text of every raw value of one column, and the number of that new value (equal values share it)."""

    texts: list[str | None]
    numbers: Integers


class Translator:
    """Looks up new values by canonical value (never by Python equality, for which True and 1 are equal).

    Columns with a mapping become text, and so do columns that are recoded in combination and masked columns, which mix
    `*` with their own values. All other columns keep their type.
    """

    def __init__(self, recoding: Recoding, present: Sequence[str]) -> None:
        require_columns(recoding.keep, present, role="keep")
        self.recoding = recoding
        self.masked_columns: tuple[str, ...] = ()
        if recoding.suppression == "mask" and recoding.suppressed:
            self.masked_columns = recoding.suppressed_columns
        written = {*recoding.mappings, *self.masked_columns, *recoding.combined_columns}
        self.text_columns = tuple(c for c in recoding.keep if c in written)
        self.typed_columns = tuple(c for c in recoding.typed if c not in self.masked_columns)
        if recoding.combined_columns:
            require_columns(recoding.combined_columns, present)
        self.coded_columns = tuple(
            c
            for c in dict.fromkeys((*recoding.keep, *recoding.combined_columns))
            if c in written or (recoding.suppressed and c in recoding.suppressed_columns)
        )
        self._mappings = {
            column: {key(canonical(old)): new for old, new in mapping.items()}
            for column, mapping in recoding.mappings.items()
        }
        self._numbers: dict[str, dict[Key, int]] = {column: {} for column in self.coded_columns}

    def translate(self, column: str, raw: Iterable[Any]) -> Translation:
        """Translate the distinct raw values of a column; raise if the mapping does not cover some of them."""
        values = [canonical(item) for item in raw]
        mapping = self._mappings.get(column)
        if mapping is None:
            texts, keys = [_label_or_none(value) for value in values], [key(value) for value in values]
        else:
            missing = len({key(value) for value in values} - mapping.keys())
            if missing:
                raise HierarchyError(
                    f"the mapping of column {column!r} does not cover {missing} of its {len(values)} values; "
                    "give every value of the data, also the missing one, a new value"
                )
            texts = [_label_or_none(canonical(mapping[key(value)])) for value in values]
            keys = [key(text) for text in texts]
        numbers = self._numbers[column]
        coded = np.array([numbers.setdefault(k, len(numbers)) for k in keys], dtype=np.int64)
        return Translation(texts=texts, numbers=coded)

    def suppressed_numbers(self) -> list[tuple[int, ...]]:
        """Return the suppressed combinations as numbers, once all columns are translated."""
        combinations = []
        for values in self.recoding.suppressed:
            keys = [self._new_key(c, v) for c, v in zip(self.recoding.suppressed_columns, values, strict=True)]
            numbers = [self._numbers[c].get(k) for c, k in zip(self.recoding.suppressed_columns, keys, strict=True)]
            if None not in numbers:
                combinations.append(tuple(number for number in numbers if number is not None))
        return sorted(combinations)

    def suppressed_rows(self, numbers: Mapping[str, Integers]) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the suppressed rows, given the numbers of their new values; None without suppression."""
        if not self.recoding.suppressed:
            return None
        columns = self.recoding.suppressed_columns
        wanted = np.array(self.suppressed_numbers(), dtype=np.int64).reshape(-1, len(columns))
        joined = [np.concatenate([numbers[c], wanted[:, i]]) for i, c in enumerate(columns)]
        packed, _ = pack(joined, [len(self._numbers[column]) for column in columns])
        rows = len(packed) - len(wanted)
        return np.isin(packed[:rows], packed[rows:])

    def combined_rows(self) -> list[tuple[Any, ...]]:
        """Return the combinations as numbers followed by their new texts, once all columns are translated."""
        rows = []
        for old, new in self.recoding.combined:
            named = zip(self.recoding.combined_columns, old, strict=True)
            numbers = [self._numbers[column].get(key(canonical(value))) for column, value in named]
            if None not in numbers:  # values that do not occur have no rows
                rows.append((*numbers, *(_label_or_none(canonical(value)) for value in new)))
        return rows

    def combined_texts(self, numbers: Mapping[str, Integers]) -> dict[str, npt.NDArray[np.object_]]:
        """Return the new texts of columns that are recoded in combination, given the numbers of every row's values."""
        columns = self.recoding.combined_columns
        if not columns:
            return {}
        rows, width = self.combined_rows(), len(columns)
        joined = [np.append(numbers[c], [row[i] for row in rows]).astype(np.int64) for i, c in enumerate(columns)]
        packed, _ = pack(joined, [len(self._numbers[column]) for column in columns])
        known, wanted = packed[len(packed) - len(rows) :], packed[: len(packed) - len(rows)]
        order = np.argsort(known, kind="stable")
        positions = np.searchsorted(known[order], wanted)
        if len(wanted) and (not rows or (known[order][np.minimum(positions, len(rows) - 1)] != wanted).any()):
            raise HierarchyError(
                "a combination of values has no new values; give every combination of the data new ones"
            )
        return {
            column: np.array([row[width + i] for row in rows], dtype=object)[order[positions]]
            for i, column in enumerate(columns)
            if column in self.text_columns
        }

    def _new_key(self, column: str, value: Value) -> Key:
        plain = canonical(value)
        return key(_label_or_none(plain) if column in self._mappings else plain)


def require_no_target(target: str | None, engine: str) -> None:
    """Raise if a target is given to a source that returns a frame."""
    if target is not None:
        raise ParameterError(f"{engine} returns a frame and writes nothing; remove the target (given {target!r})")


def _label_or_none(value: Value) -> str | None:
    return None if value is None else label(value)
