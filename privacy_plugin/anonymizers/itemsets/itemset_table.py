"""Tables of itemsets, and what the methods that release them have in common.

An itemset is one row: its items as text (`sex=f; smokes=no`), their number, and what the method knows about it. Such a
table has no row of a person, so only the privacy budget can judge it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

from privacy_plugin.anonymizers.base import RandomizedMethod
from privacy_plugin.anonymizers.coded_rows import declared_domain
from privacy_plugin.errors import PolicyError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import Value, label
from privacy_plugin.sources import Source

ITEMSET = "itemset"
SIZE = "size"
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", "=": "\\="})


def itemset_text(itemset: Mapping[str, Value]) -> str:
    r"""Return the items as text, ordered as given; `\`, `;` and `=` in names and values are escaped by `\`.

    >>> itemset_text({"sex": "f", "note": "a=b"})
    'sex=f; note=a\\=b'
    """
    return "; ".join(
        f"{name.translate(_ESCAPES)}={label(value).translate(_ESCAPES)}" for name, value in itemset.items()
    )


def itemset_table(itemsets: Sequence[Mapping[str, Value]], **columns: Sequence[Any]) -> FrequencyTable:
    """Return one row for each itemset: its text, its number of items, and further columns.

    >>> itemset_table([{"sex": "f"}], support=[40]).columns
    ('itemset', 'size', 'support')
    """
    texts = [itemset_text(itemset) for itemset in itemsets]
    rows = zip(texts, map(len, itemsets), *columns.values(), strict=True)
    return FrequencyTable.from_rows([ITEMSET, SIZE, *columns], list(rows))


class ItemsetMethod(RandomizedMethod):
    """A method that releases itemsets of the columns, not rows; the constant column of a partition is left out."""

    done = "as itemsets drawn within its privacy budget"
    form = "itemsets"
    table_columns: ClassVar[tuple[str, ...]]
    """The columns of the released table."""

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of which itemsets are made."""
        return self.columns

    def released_roles(self) -> Mapping[str, str]:
        """Return the columns of the table of itemsets; the columns of the source are not released."""
        return dict.fromkeys(self.table_columns, "insensitive")

    def require_policy(self) -> None:
        """Refuse every requirement but the privacy budget: the others judge rows of people."""
        super().require_policy()
        others = [requirement for requirement in self.rules.requirements if not requirement.definition.needs_ledger]
        if others:
            raise PolicyError(
                f"{self.name} releases itemsets, not rows of people, so that {others[0]} has nothing to judge; a "
                "policy of this method has requirements on privacy_budget only"
            )

    def _read(
        self, source: Source, generator: Any
    ) -> tuple[FrequencyTable, Callable[[FrequencyTable], FrequencyTable]]:
        return self.frequencies(source, self.columns, generator), lambda drawn: drawn


def longest_itemsets(
    table: FrequencyTable, domains: Mapping[str, Sequence[Any]] | None = None
) -> Iterator[Mapping[str, Value]]:
    """Yield itemsets that together contain every item of the domains: singles, and one of all columns."""
    known = {name: [v for v in declared_domain(table, name, domains) if v is not None] for name in table.columns}
    singles = ({name: value} for name, values in known.items() for value in values)
    widest = {name: max(values, key=lambda value: len(label(value))) for name, values in known.items() if values}
    return chain(singles, [widest] if widest else [])
