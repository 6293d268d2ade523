"""Delta-presence without world knowledge by brute force, from the definitions of Nergiz and Clifton alone.

U people outside the research table are known by attribute distributions only: for each attribute of a
class, how many of them have its (generalized) value. A world says who they are; all worlds are equally
likely.
"""

from fractions import Fraction
from itertools import combinations, product
from math import comb


def distribution_by_worlds(marginals: list[int], others: int) -> dict[int, Fraction]:
    """How many people match all attributes: every choice of holders for every attribute is one world."""
    people = range(others)
    worlds = list(product(*(list(combinations(people, count)) for count in marginals)))
    found: dict[int, int] = {}
    for holders in worlds:
        matching = len(set(people).intersection(*holders))
        found[matching] = found.get(matching, 0) + 1
    return {matching: Fraction(count, len(worlds)) for matching, count in found.items()}


def distribution_by_recursion(marginals: list[int], others: int) -> dict[int, Fraction]:
    """Equation 4 with the hypergeometric density as printed, y = 0 included."""
    likelihood = {marginals[0]: Fraction(1)}
    for marked in marginals[1:]:
        following: dict[int, Fraction] = {}
        for drawn, weight in likelihood.items():
            for x in range(drawn + 1):
                chance = Fraction(comb(marked, x) * comb(others - marked, drawn - x), comb(others, drawn))
                following[x] = following.get(x, Fraction(0)) + weight * chance
        likelihood = following
    return likelihood


def is_present(research: int, matching: int, low: Fraction, high: Fraction) -> bool:
    return low <= Fraction(research, research + matching) <= high


def confidence(distribution: dict[int, Fraction], research: int, low: Fraction, high: Fraction) -> Fraction:
    return sum(
        (chance for matching, chance in distribution.items() if is_present(research, matching, low, high)),
        Fraction(0),
    )


def two_attribute_probability(one: int, other: int, others: int, first: int, last: int) -> Fraction:
    """P(first <= X <= last) for two attributes in a large population: one hypergeometric distribution."""
    ways = sum(comb(one, x) * comb(others - one, other - x) for x in range(first, min(last, one, other) + 1))
    return Fraction(ways, comb(others, other))


def belief(prior: Fraction, in_table: Fraction, population: int, research: int) -> Fraction:
    """How likely a person has the condition that everybody in the research table has."""
    elsewhere = (prior * population - research) / (population - research)
    return in_table + (1 - in_table) * elsewhere


def dominates(one: tuple[list[int], int], other: tuple[list[int], int], *, on_low: bool) -> bool:
    """Definition 11, for marginals and rows: on the min parameter or on the max parameter."""
    pairs = list(zip(one[0], other[0], strict=True))
    if on_low:
        return one[1] <= other[1] and all(left >= right for left, right in pairs)
    return one[1] >= other[1] and all(left <= right for left, right in pairs)
