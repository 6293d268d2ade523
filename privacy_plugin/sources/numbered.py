"""Tables made of a table's own distinct rows, each as often as wanted, with a whole number beside it.

What every engine shares: the engine keeps one example of each distinct row and numbers them, so that values stay what
they are and where they are; here it is only said which example each row of the new table repeats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.frequency.grouping import Integers, group, pack
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import key

if TYPE_CHECKING:
    from privacy_plugin.sources.protocol import Source


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberedRows:
    """A table to write: row i repeats the `lines[i]`-th distinct row of `table` and has `numbers[i]` beside it.

    `columns` are those of the table and the one of the numbers, in the order in which they are written; rows are
    written in the order given.
    """

    table: FrequencyTable
    lines: Integers
    number: str
    numbers: Integers
    columns: tuple[str, ...]

    def frequencies(self) -> FrequencyTable:
        """Return what a table with exactly these rows must be counted as."""
        shown = dict(zip(self.table.columns, self.table.codes[self.lines].T, strict=True))
        dictionaries = dict(zip(self.table.columns, self.table.dictionaries, strict=True))
        numbers, shown[self.number] = np.unique(self.numbers, return_inverse=True)
        dictionaries[self.number] = tuple(numbers.tolist())
        packed, size = pack([shown[name] for name in self.columns], [len(dictionaries[name]) for name in self.columns])
        members, first = group(packed, size)
        return FrequencyTable.from_columns(
            self.columns,
            [shown[name][first] for name in self.columns],
            [dictionaries[name] for name in self.columns],
            np.bincount(members, minlength=len(first)),
        )


def example_lines(examples: "Source", labels: Sequence[str], number: str, table: FrequencyTable) -> Integers:
    """Return the number of the example of every distinct row of a table; `labels` name its columns there."""
    return matched_numbers(examples.frequencies([*labels, number]), table)


def matched_numbers(found: FrequencyTable, table: FrequencyTable) -> Integers:
    """Return the last column of `found`, a number for each of its rows, in the order of an equal table without it."""
    both = []
    for position, dictionary in enumerate(table.dictionaries):
        codes = {key(value): code for code, value in enumerate(dictionary)}
        known = np.array([codes.get(key(value), len(codes)) for value in found.dictionaries[position]], dtype=np.int64)
        both.append(np.concatenate([table.codes[:, position], known[found.codes[:, position]]]))
    packed, _ = pack(both, [cardinality + 1 for cardinality in table.cardinalities])
    wanted, there = packed[: table.distinct], packed[table.distinct :]
    order = np.argsort(there, kind="stable")
    if not np.array_equal(there[order], np.sort(wanted)):
        raise SourceError("the table changed while it was read; nothing was written")
    numbers = np.array(found.dictionaries[-1], dtype=np.int64)[found.codes[:, -1]]
    return numbers[order][np.searchsorted(there[order], wanted)]


def require_no_targets(targets: Sequence[str] | None, engine: str) -> None:
    """Refuse targets where results are handed back as frames."""
    if targets is not None:
        raise ParameterError(f"{engine} frames are returned, not written; leave out the targets (given {targets!r})")
