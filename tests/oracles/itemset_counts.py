"""Yes and no answered at random, a row and an itemset at a time: every way in which the answers can come out."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

Held = Sequence[Sequence[bool]]
"""For every row, whether it holds each itemset."""


def said_yes(rows: Held, truthful: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The probability of every list of how many rows say yes, an itemset each."""
    found: Counter[tuple[int, ...]] = Counter()
    itemsets = len(rows[0])
    for flat in product((False, True), repeat=len(rows) * itemsets):
        answers = [flat[n * itemsets : (n + 1) * itemsets] for n in range(len(rows))]
        chance = Fraction(1)
        for row, answer in zip(rows, answers, strict=True):
            for holds, says in zip(row, answer, strict=True):
                chance *= truthful if holds == says else 1 - truthful
        found[tuple(sum(says) for says in zip(*answers, strict=True))] += chance
    return dict(found)


def largest_factor(rows: Held, truthful: Fraction) -> Fraction:
    """The largest factor by which any change of the first row moves the probability of an outcome."""
    itemsets = len(rows[0])
    before = said_yes(rows, truthful)
    widest = Fraction(1)
    for other in product((False, True), repeat=itemsets):
        after = said_yes([other, *rows[1:]], truthful)
        widest = max(widest, *(max(before[y] / after[y], after[y] / before[y]) for y in before))
    return widest
