"""Tables that repeat distinct rows of a table, each with a whole number (such as a bucket) in one more column.

The engine keeps and numbers one example of each distinct row, so that values keep their types and stay in the engine.
Python only decides which example each row of the new table repeats.
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
    """A table to write: row i repeats the `lines[i]`-th distinct row of `table` and has the number `numbers[i]`.

    `columns` are those of the table and the column `number`, in the order in which they are written. Rows are written
    in the order given.
    """

    table: FrequencyTable
    lines: Integers
    number: str
    numbers: Integers
    columns: tuple[str, ...]

    def frequencies(self) -> FrequencyTable:
        """Return the frequency table of exactly these rows."""
        codes = dict(zip(self.table.columns, self.table.codes[self.lines].T, strict=True))
        dictionaries = dict(zip(self.table.columns, self.table.dictionaries, strict=True))
        numbers, codes[self.number] = np.unique(self.numbers, return_inverse=True)
        dictionaries[self.number] = tuple(numbers.tolist())
        packed, size = pack([codes[name] for name in self.columns], [len(dictionaries[name]) for name in self.columns])
        members, first = group(packed, size)
        return FrequencyTable.from_columns(
            self.columns,
            [codes[name][first] for name in self.columns],
            [dictionaries[name] for name in self.columns],
            np.bincount(members, minlength=len(first)),
        )


def find_example_lines(examples: "Source", labels: Sequence[str], number: str, table: FrequencyTable) -> Integers:
    """Return the number of the example of every distinct row of a table; `labels` are its columns in `examples`."""
    return match_row_numbers(examples.frequencies([*labels, number]), table)


def match_row_numbers(found: FrequencyTable, table: FrequencyTable) -> Integers:
    """Return the last column of `found`, one number for each row, in the row order of `table`.

    Without that column, both tables hold the same rows.
    """
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
    """Raise if targets are given to a source that returns frames."""
    if targets is not None:
        raise ParameterError(f"{engine} returns frames and writes nothing; remove the targets (given {targets!r})")
