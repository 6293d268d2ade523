"""The dependent code tree of rows as they are, written from its definition with counters."""

import math
from collections import Counter
from itertools import combinations

Row = tuple[int, ...]


def bits(values: list[int]) -> float:
    """Bits to write values with the code that suits them."""
    return sum(-count * math.log2(count / len(values)) for count in Counter(values).values())


def information(rows: list[Row], a: int, b: int) -> float:
    both = Counter((row[a], row[b]) for row in rows)
    first, second = Counter(row[a] for row in rows), Counter(row[b] for row in rows)
    return sum(n * math.log2(n * len(rows) / (first[x] * second[y])) for (x, y), n in both.items())


def weight_of_best_tree(rows: list[Row], columns: int) -> float:
    """The largest sum of information over all trees of columns, by trying every set of edges."""
    edges = list(combinations(range(columns), 2))
    best = 0.0
    for chosen in combinations(edges, columns - 1):
        part = list(range(columns))
        for a, b in chosen:
            part = [part[a] if known == part[b] else known for known in part]
        if len(set(part)) == 1:
            best = max(best, sum(information(rows, a, b) for a, b in chosen))
    return best


def best_division(rows: list[Row], earlier: list[int], column: int, sizes: list[int], everybody: int) -> float:
    """What the best division of these rows saves beyond its price, in bits."""
    own = bits([row[column] for row in rows])
    found = [-math.inf]
    for other in earlier:
        parts = [[row[column] for row in rows if row[other] == value] for value in range(sizes[other])]
        parts = [part for part in parts if part]
        price = (len(parts) - 1) * (sizes[column] - 1) / 2 * math.log2(everybody)
        found.append(own - sum(bits(part) for part in parts) - price)
    return max(found)
