"""All itemsets that a schema allows: at most one value a column, counted and drawn without listing them."""

from dataclasses import dataclass
from functools import cached_property

from privacy_plugin.anonymizers.itemsets.exact_draws import Below

Chosen = tuple[tuple[int, int], ...]  # (column, code) pairs in the order of the columns


@dataclass(frozen=True, kw_only=True)
class ItemsetUniverse:
    """The itemsets of 1 to `longest` items over columns with so many values each.

    >>> ItemsetUniverse(sizes=(2, 3), longest=2).size  # (2 + 1) * (3 + 1), without the empty one
    11
    """

    sizes: tuple[int, ...]
    longest: int

    @property
    def size(self) -> int:
        """How many itemsets there are."""
        return self._ways[0][self.longest] - 1

    def draw(self, below: Below) -> Chosen:
        """Draw an itemset, all alike."""
        ways = self._ways
        while True:
            left, chosen = self.longest, []
            for column in range(len(self.sizes)):
                number = below(ways[column][left])
                without = ways[column + 1][left]
                if number >= without:
                    left -= 1
                    chosen.append((column, (number - without) // ways[column + 1][left]))
            if chosen:
                return tuple(chosen)

    @cached_property
    def _ways(self) -> list[list[int]]:
        """ways[c][k]: itemsets of at most k items over the columns from c on, with the empty one."""
        found = [[1] * (self.longest + 1)]
        for size in reversed(self.sizes):
            after = found[0]
            found.insert(0, [after[k] + (size * after[k - 1] if k else 0) for k in range(self.longest + 1)])
        return found
