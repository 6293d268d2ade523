"""Whether one class meets its rules: compiled, and never safer than the truth through rounding.

A class is a histogram over *symbols*: the values of each sensitive column, one column after the other, and last the
population. Every rule here is kept by merging: two classes that meet it form one that does. So a part whose classes
all pass needs no closer look.
- size, distinct values: neither can fall;
- entropy is concave; closeness, the distance to a fixed distribution, is convex;
- recursive (c,l): r_1 at most adds up, what is left without the l-1 most frequent values at least adds up;
- presence: the share of a merged class lies between the shares of its parts.
The reverse (all classes of a part fail) follows only from too few rows or too few distinct values.

Histograms and rules are lines of tables and are handed on as table and line: a view of a line would cost more to make
(its owner is counted up and down) than most uses of it.

Comparisons that decide safety do not round: products of 64 bit numbers are compared in 128 bits, and entropies that are
equal up to rounding are compared prime by prime.
"""

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit

Integers = NDArray[np.int64]

DISTINCT, ENTROPY, RECURSIVE, CLOSENESS, ORDERED, PRESENCE = range(6)
# Columns of a rule: the symbols FIRST..END of its column, the distinct values a class needs; those symbols as bits and
# what a whole part needs (0 where bits are not kept); one or two fractions; the size of the whole table; the lines
# GROUND..GROUND_END of `ground` that closeness is measured on.
KIND, FIRST, END, NEEDED, BITS, NEEDED_BITS, NUMERATOR, DENOMINATOR, HIGHEST, HIGHEST_DENOMINATOR = range(10)
ROWS, GROUND, GROUND_END = 10, 11, 12
RULE_FIELDS = 13
# Layers of `ground` (lines, symbols, layers): the group of a symbol; of a group, its rows in the whole table and, zero
# between two uses, in the class.
GROUP, REFERENCE, MEMBERS = range(3)
GROUND_LAYERS = 3


@njit()
def _high_and_low(first: int, second: int) -> tuple[np.uint64, np.uint64]:
    """The two 64 bit halves of the product of two numbers >= 0."""
    half, lower = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = np.uint64(first), np.uint64(second)
    a_high, a_low, b_high, b_low = a >> half, a & lower, b >> half, b & lower
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & lower)
    return a_high * b_high + (middle >> half) + (other >> half), a * b


@njit()
def product_less(a: int, b: int, c: int, d: int) -> bool:
    """Tell whether a * b < c * d, exactly, for numbers from 0 to 2^63 - 1."""
    left_high, left_low = _high_and_low(a, b)
    right_high, right_low = _high_and_low(c, d)
    if left_high != right_high:
        return bool(left_high < right_high)
    return bool(left_low < right_low)


@njit()
def _exponent(number: int, prime: int) -> int:
    exponent = 0
    while number % prime == 0:
        number //= prime
        exponent += 1
    return exponent


@njit()
def _balanced(counts: Integers, total: int, numerator: int, denominator: int, prime: int) -> bool:
    """Tell whether a prime occurs equally often on both sides of the equation of `entropy_is_exactly`."""
    balance = total * (_exponent(total, prime) + _exponent(denominator, prime) - _exponent(numerator, prime))
    for count in counts:
        if count > 0:
            balance -= count * _exponent(count, prime)
    return balance == 0


@njit()
def entropy_is_exactly(counts: Integers, total: int, numerator: int, denominator: int) -> bool:
    """Tell whether the entropy of counts with this total is exactly ln(l), l = numerator / denominator in lowest terms.

    exp(H) = l  <=>  total^total * denominator^total = numerator^total * product of count^count, decided prime by prime.
    Then the numerator divides the total, and every prime of the denominator divides a count.
    Cost: trial division of every count, so call it only for entropies that are equal up to rounding.
    """
    if total % numerator != 0:
        return False
    unexplained = denominator
    for place in range(-1, len(counts)):
        rest = total if place < 0 else counts[place]
        prime = 2
        while rest > 1:
            if prime * prime > rest:
                prime = rest
            if rest % prime == 0:
                if not _balanced(counts, total, numerator, denominator, prime):
                    return False
                while rest % prime == 0:
                    rest //= prime
                while unexplained % prime == 0:
                    unexplained //= prime
            prime += 1
    return unexplained == 1


@njit()
def _entropic(histograms: Integers, line: int, table: Integers, rule: int, size: int) -> bool:
    """H >= ln(l), l = numerator / denominator; equality counts, anything else within rounding does not."""
    values, least, most, weighted = 0, size, 0, 0.0
    for symbol in range(table[rule, FIRST], table[rule, END]):
        count = histograms[line, symbol]
        if count > 0:
            values += 1
            least, most = min(least, count), max(most, count)
            weighted += count * np.log(float(count))
    numerator, denominator = table[rule, NUMERATOR], table[rule, DENOMINATOR]
    if least == most:
        return not product_less(values, denominator, numerator, 1)
    logarithm = np.log(float(size))
    excess = logarithm - weighted / size - (np.log(float(numerator)) - np.log(float(denominator)))
    tolerance = max(1e-12, (values + 8) * 1e-15 * (1.0 + logarithm))
    if excess > tolerance:
        return True
    if excess < -tolerance:
        return False
    return entropy_is_exactly(histograms[line, table[rule, FIRST] : table[rule, END]], size, numerator, denominator)


@njit()
def _recursive(histograms: Integers, line: int, table: Integers, rule: int, size: int) -> bool:
    """r_1 < c * (r_l + r_(l+1) + ...), c = numerator / denominator, with the counts r in descending order."""
    most, bound, above, rest = 0, size + 1, 0, size
    # Each round takes away all values of the next lower count, until l - 1 values are gone.
    while above < table[rule, NEEDED] - 1:
        highest, times = 0, 0
        for symbol in range(table[rule, FIRST], table[rule, END]):
            count = histograms[line, symbol]
            if highest < count < bound:
                highest, times = count, 1
            elif count == highest:
                times += 1
        most, bound = max(most, highest), highest
        rest -= highest * min(times, table[rule, NEEDED] - 1 - above)
        above += times
    for symbol in range(table[rule, FIRST], table[rule, END]):
        most = max(most, histograms[line, symbol])
    return product_less(most, table[rule, DENOMINATOR], table[rule, NUMERATOR], rest)


@njit()
def _close(histograms: Integers, line: int, table: Integers, rule: int, ground: Integers, size: int) -> bool:
    """Mean over the ground's lines of (1/2) sum over groups of |n_g / n - N_g / N|, at most t."""
    distance, rows, values = 0, table[rule, ROWS], table[rule, END] - table[rule, FIRST]
    for level in range(table[rule, GROUND], table[rule, GROUND_END]):
        for value in range(values):
            ground[level, ground[level, value, GROUP], MEMBERS] += histograms[line, table[rule, FIRST] + value]
        for group in range(values):
            distance += abs(ground[level, group, MEMBERS] * rows - ground[level, group, REFERENCE] * size)
            ground[level, group, MEMBERS] = 0
    most = 2 * (table[rule, GROUND_END] - table[rule, GROUND]) * size * rows
    return not product_less(table[rule, NUMERATOR], most, table[rule, DENOMINATOR], distance)


@njit()
def _close_in_order(histograms: Integers, line: int, table: Integers, rule: int, ground: Integers, size: int) -> bool:
    """Sum over i < m of |P_i - Q_i| / (m - 1), P and Q cumulative shares of class and table, at most t."""
    distance, surplus, values = 0, 0, table[rule, END] - table[rule, FIRST]
    for value in range(values - 1):
        surplus += histograms[line, table[rule, FIRST] + value] * table[rule, ROWS]
        surplus -= ground[table[rule, GROUND], value, REFERENCE] * size
        distance += abs(surplus)
    most = (values - 1) * size * table[rule, ROWS]
    return not product_less(table[rule, NUMERATOR], most, table[rule, DENOMINATOR], distance)


@njit()
def _present(histograms: Integers, line: int, table: Integers, rule: int, size: int) -> bool:
    """Share size / population from low to high; a class without population fails."""
    people = histograms[line, histograms.shape[1] - 1]
    if product_less(size, table[rule, DENOMINATOR], table[rule, NUMERATOR], people):
        return False
    return not product_less(table[rule, HIGHEST], people, size, table[rule, HIGHEST_DENOMINATOR])


@njit()
def _has_values(histograms: Integers, line: int, table: Integers, rule: int) -> bool:
    values = 0
    for symbol in range(table[rule, FIRST], table[rule, END]):
        values += 1 if histograms[line, symbol] > 0 else 0
    return bool(values >= table[rule, NEEDED])


@njit()
def meets_all(histograms: Integers, line: int, table: Integers, ground: Integers, size: int) -> bool:
    """Tell whether a class of the given size meets every rule.

    Of a class without rows only its presence is judged: there is nothing to suppress, and merged into a class with
    rows it changes nothing but the presence.
    """
    for rule in range(len(table)):
        kind = table[rule, KIND]
        if kind == PRESENCE:
            met = _present(histograms, line, table, rule, size)
        elif size == 0:
            met = True
        elif kind == CLOSENESS:
            met = _close(histograms, line, table, rule, ground, size)
        elif kind == ORDERED:
            met = _close_in_order(histograms, line, table, rule, ground, size)
        else:
            met = _has_values(histograms, line, table, rule)
            if met and kind == ENTROPY:
                met = _entropic(histograms, line, table, rule, size)
            elif met and kind == RECURSIVE:
                met = _recursive(histograms, line, table, rule, size)
        if not met:
            return False
    return True


@njit()
def lacks_values(table: Integers, values: int) -> bool:
    """Tell whether these values, given as bits, are fewer in some column than every class needs."""
    for place in range(len(table)):
        rest = values & table[place, BITS]
        for _ in range(table[place, NEEDED_BITS]):
            if rest == 0:
                return True
            rest &= rest - 1
    return False


@njit()
def too_small(size: int, k: int, empty_fails: bool) -> bool:
    """Tell whether a class fails by its size. One without rows has nothing to suppress, unless it is what we count."""
    return size < k and (size > 0 or empty_fails)
