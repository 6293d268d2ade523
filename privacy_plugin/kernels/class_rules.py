"""Whether one class meets its rules: compiled, and never safer than the truth through rounding.

A class is a histogram over *symbols*: the values of each sensitive column (one column after the other) and one symbol
for the population. The symbols of the first column add up to the class's size. Every rule here is kept by merging:
two classes that meet it form one that does. So a part whose classes all pass needs no closer look.
- size, distinct values: neither can fall;
- entropy is concave; closeness, the distance to a fixed distribution, is convex;
- recursive (c,l): r_1 at most adds up, what is left without the l-1 most frequent values at least adds up;
- presence: the share of a merged class lies between the shares of its parts.
The reverse (all classes of a part fail) follows only from too few rows or too few distinct values.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privacy_plugin.kernels.wide_products import entropy_is_exactly, product_less

Integers = NDArray[np.int64]

DISTINCT, ENTROPY, RECURSIVE, CLOSENESS, ORDERED, PRESENCE = range(6)
# Columns of a rule. Closeness compares on the lines GROUND..GROUND_END of `grounds`. Presence uses both fractions.
KIND, COLUMN, NEEDED, NUMERATOR, DENOMINATOR, HIGHEST, HIGHEST_DENOMINATOR, GROUND, GROUND_END = range(9)
RULE_FIELDS = 9


# Columns of `Rules.symbols`, a line a symbol: its sensitive column; its count in the class being judged (0 between two
# classes); then two lists that only share the space: the symbols of the class, and the counts in one column.
COLUMN_OF, COUNT, TOUCHED, LISTED = range(4)
# Columns of `Rules.columns`, a line a sensitive column and one more: its first symbol; how many values a part has.
FIRST, DISTINCT_VALUES = range(2)
# Columns of `Rules.groups`, groups being numbered through all lines of `grounds`: rows of the whole table, of the class.
REFERENCE, MEMBERS = range(2)


class Rules(NamedTuple):
    """The rules of one walk, and room to judge them in. Few arrays: every one costs time to compile and to hand on."""

    table: Integers  # (rules, RULE_FIELDS)
    symbols: Integers
    columns: Integers
    groups: Integers
    grounds: Integers  # (lines, symbols): the group of every symbol
    rows: int  # size of the whole table
    own: int  # symbols below this one add up to the class's size
    population: int  # the symbol that counts the population
    weigh_population: bool  # failing classes count by their population, not their size
    wants_values: bool  # some rule wants more than one distinct value


@njit(cache=True)
def _list_counts(rules: Rules, touched: int, column: int) -> int:
    """List the counts of a class's values in a column; return how many there are."""
    symbols, values = rules.symbols, 0
    for place in range(touched):
        symbol = symbols[place, TOUCHED]
        if symbols[symbol, COLUMN_OF] == column:
            symbols[values, LISTED] = symbols[symbol, COUNT]
            values += 1
    return values


@njit(cache=True)
def _entropic(counts: Integers, size: int, numerator: int, denominator: int) -> bool:
    """H >= ln(l) for l = numerator / denominator; equality counts, anything else within rounding does not."""
    values, equal = len(counts), True
    for count in counts:
        equal = equal and count == counts[0]
    if equal:
        return not product_less(values, denominator, numerator, 1)
    weighted = 0.0
    for count in counts:
        weighted += count * np.log(float(count))
    logarithm = np.log(float(size))
    excess = logarithm - weighted / size - (np.log(float(numerator)) - np.log(float(denominator)))
    tolerance = max(1e-12, (values + 8) * 1e-15 * (1.0 + logarithm))
    if excess > tolerance:
        return True
    return excess > -tolerance and entropy_is_exactly(counts, size, numerator, denominator)


@njit(cache=True)
def _recursive(counts: Integers, size: int, wanted: int, numerator: int, denominator: int) -> bool:
    """r_1 < c * (r_l + r_(l+1) + ...), c = numerator / denominator, with the counts r in descending order."""
    most, rest = counts.max(), size
    for _ in range(1, wanted):
        largest = counts.argmax()
        rest -= counts[largest]
        counts[largest] = 0
    return product_less(most, denominator, numerator, rest)


@njit(cache=True)
def _close(rules: Rules, rule: int, touched: int, size: int) -> bool:
    """Mean over the ground's lines of (1/2) sum over groups of |n_g / n - N_g / N|, at most t."""
    row, groups, grounds, symbols = rules.table[rule], rules.groups, rules.grounds, rules.symbols
    lines = row[GROUND_END] - row[GROUND]
    distance = lines * size * rules.rows  # every group of the table absent from the class: N_g * n each
    for line in range(row[GROUND], row[GROUND_END]):
        for place in range(touched):
            symbol = symbols[place, TOUCHED]
            if symbols[symbol, COLUMN_OF] == row[COLUMN]:
                groups[grounds[line, symbol], MEMBERS] += symbols[symbol, COUNT]
        for place in range(touched):
            symbol = symbols[place, TOUCHED]
            group = grounds[line, symbol]
            if symbols[symbol, COLUMN_OF] == row[COLUMN] and groups[group, MEMBERS] > 0:
                expected = groups[group, REFERENCE] * size
                distance += abs(groups[group, MEMBERS] * rules.rows - expected) - expected
                groups[group, MEMBERS] = 0
    most = 2 * lines * size * rules.rows
    return not product_less(row[NUMERATOR], most, row[DENOMINATOR], distance)


@njit(cache=True)
def _close_in_order(rules: Rules, rule: int, size: int) -> bool:
    """Sum over i < m of |P_i - Q_i| / (m - 1), P and Q cumulative shares of class and table, at most t."""
    row, groups, grounds, symbols = rules.table[rule], rules.groups, rules.grounds, rules.symbols
    first, end = rules.columns[row[COLUMN], FIRST], rules.columns[row[COLUMN] + 1, FIRST]
    distance, surplus = 0, 0
    for symbol in range(first, end - 1):
        expected = groups[grounds[row[GROUND], symbol], REFERENCE] * size
        surplus += symbols[symbol, COUNT] * rules.rows - expected
        distance += abs(surplus)
    most = (end - first - 1) * size * rules.rows
    return not product_less(row[NUMERATOR], most, row[DENOMINATOR], distance)


@njit(cache=True)
def _present(rules: Rules, rule: int, size: int) -> bool:
    """low <= size / population <= high; a class without population fails."""
    people = rules.symbols[rules.population, COUNT]
    row = rules.table[rule]
    if people == 0 or product_less(size, row[DENOMINATOR], row[NUMERATOR], people):
        return False
    return not product_less(row[HIGHEST], people, size, row[HIGHEST_DENOMINATOR])


@njit(cache=True)
def _meets(rules: Rules, rule: int, touched: int, size: int) -> bool:
    row = rules.table[rule]
    kind = row[KIND]
    if kind == PRESENCE:
        return _present(rules, rule, size)
    if kind == CLOSENESS:
        return _close(rules, rule, touched, size)
    if kind == ORDERED:
        return _close_in_order(rules, rule, size)
    values = _list_counts(rules, touched, row[COLUMN])
    if values < row[NEEDED]:
        return False
    if kind == ENTROPY:
        return _entropic(rules.symbols[:values, LISTED], size, row[NUMERATOR], row[DENOMINATOR])
    if kind == RECURSIVE:
        return _recursive(rules.symbols[:values, LISTED], size, row[NEEDED], row[NUMERATOR], row[DENOMINATOR])
    return True


@njit(cache=True)
def load(symbols: Integers, symbol: int, count: int, touched: int) -> int:
    """Add an entry to the class being judged; return how many symbols it has."""
    if symbols[symbol, COUNT] == 0:
        symbols[touched, TOUCHED] = symbol
        touched += 1
    symbols[symbol, COUNT] += count
    return touched


@njit(cache=True)
def judge_and_clear(rules: Rules, touched: int, size: int) -> bool:
    """Tell whether the loaded class meets every rule, and make room for the next.

    Of a class without rows only its presence is judged: there is nothing to suppress, and merged into a class with
    rows it changes nothing but the presence.
    """
    passes, symbols, table = True, rules.symbols, rules.table
    for rule in range(len(table)):
        if size > 0 or table[rule, KIND] == PRESENCE:
            passes = passes and _meets(rules, rule, touched, size)
    for place in range(touched):
        symbols[symbols[place, TOUCHED], COUNT] = 0
    return passes
