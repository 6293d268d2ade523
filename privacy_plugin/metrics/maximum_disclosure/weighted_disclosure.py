"""Maximum disclosure where some sensitive values are worse than others: every value has a weight from 0 to 1.

Weighted disclosure is the maximum of w(s) P(t has s | knowledge) over people t, values s and knowledge of k facts (the
cost-based disclosure that Martin et al. 2007 leave to future work); with weights of 1 it is maximum disclosure.

*One target.* Steps 1 and 2 of `disclosure` hold for any target atom, "t of bucket j has s". So against k implications
its probability is at most 1 / (1 + r), and reaches it, with r the least of

    (n_j / n_j(s)) m_j^s(a) times the product of m_b(a_b) over other buckets b, a >= 1, all atoms together k + 1,

m_j^s(a) the least probability that a atoms of bucket j are all false, the target among them. Bucket j is not named a
second time here: m_j^s(a + c) <= m_j^s(a) m_j(c) is not needed and not claimed.

*m^s.* Let values be ordered by frequency, s first among those as frequent as s, and let a come before b with
n(a) - n(b) = d >= 0. Fix the places of all other values; N people are left for the a's and b's, of whom x are denied a
only and y are denied b only: C(N - x - y, n(a) - y) ways, the fewer the further n(a) - y lies from (N - x - y) / 2.
If all y are denied a instead, that distance is (d + x + y) / 2, not less than |d + x - y| / 2 before. If the target
must keep b = s (then d >= 1, as s is first among equals), and all others change, it is (d + x + y - 2) / 2, not less
than |d + x + y - 2y'| / 2 for any y' of them, the target included, from 1 to x + y. So everybody is denied the most
frequent values, and the target those and s. With p values denied to the target and k_i to others, s not among the p,

    P(all false) = F(p, k_1, k_2, ...) - (n(s) / n) F'(k_1, k_2, ...),

F the product of formula (2), F' the same in the bucket without one person who has s. If s is among the p it is F.

*Equal weights.* Exchanging s for a more frequent value of the bucket lowers m^s and raises n(s): of all values with
one weight, the most frequent one decides.

*Merging* never raises it. In a merged bucket one may first draw at random who has the values of which part; given that,
the worlds are those of the parts. P(A and all A_i false) / P(A) is then a mean of numerators over a mean of
denominators, so not below the least of the quotients.

*Negations.* P(t has s) against k of them is at most n(s) / (n - the k most frequent other values of the bucket).
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from privacy_plugin.frequency import Histograms as ClassHistograms
from privacy_plugin.metrics.maximum_disclosure.disclosure import absence_table, disclosure_error
from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import (
    Atom,
    Product,
    free_products,
    spell,
    top_sums,
)
from privacy_plugin.metrics.maximum_disclosure.histograms import FloatArray, IntArray, distinct_histograms

LARGEST_KNOWLEDGE = 20
"""Most implications with weights: their partitions are enumerated."""

Weights = tuple[Fraction, ...]


class Target(NamedTuple):
    """A value of a bucket: how many people have it, and its weight; classes that agree in all of it share one."""

    histogram: int
    held: int
    weight: Fraction
    entry: int
    """One of the counts that it is."""


class Weighted(NamedTuple):
    """Curve, each class's value, and the worst knowledge; the values of a class are rounded up or a bound."""

    curve: tuple[Fraction, ...]
    values: FloatArray
    target: Atom
    facts: tuple[Atom, ...]
    probability: Fraction
    weight: Fraction
    is_maximum: bool = True


class Targets(NamedTuple):
    """Of the values of every class with the same weight the most frequent one: classes, and the distinct targets."""

    classes: IntArray
    places: IntArray
    """The distinct target of each class and weight."""
    distinct: list[Target]


class Denial(NamedTuple):
    """Atoms of one bucket: the target is denied s and the most frequent values, others only those."""

    absence: Fraction
    denied: int
    others: tuple[int, ...]


@lru_cache(maxsize=100_000)
def known_denials(counts: tuple[int, ...], size: int, held: int, width: int) -> tuple[Denial, ...]:
    """Remember solved buckets: of a table that changes, or of the next node of a search, only new ones are solved."""
    return tuple(least_with_target(list(counts), size=size, held=held, width=width))


def least_with_target(counts: list[int], *, size: int, held: int, width: int) -> list[Denial]:
    """Return m^s(1..width) of a bucket, exactly, for a value that `held` people have; index 0 is m^s(1).

    `counts`: at least the `width` largest counts, in descending order. Cost: all partitions of up to `width` atoms.

    >>> [str(denial.absence) for denial in least_with_target([2, 2, 1], size=5, held=1, width=2)]
    ['4/5', '2/5']
    """
    rank = sum(count > held for count in counts[:width])
    sums = [0]
    for place in range(width):
        sums.append(sums[-1] + (counts[place] if place < len(counts) else 0))
    best: list[Denial | None] = [None] * width
    for shared in range(width):  # atoms of the others
        for others in _partitions(shared):
            if len(others) >= size:
                continue
            ways = prod(size - person for person in range(len(others) + 1))
            without = prod(max(0, size - 1 - person - sums[cap] + (cap > rank)) for person, cap in enumerate(others))
            for denied in range(width - shared + 1):
                aside = denied <= rank
                atoms = shared + denied + aside
                if not 1 <= atoms <= width or denied == rank + 1:  # the first rank values and s: counted as aside
                    continue
                false = _chain(size, sums, others, denied) - (held * without if aside else 0)
                absence = Fraction(false, ways)
                found = best[atoms - 1]
                if found is None or absence < found.absence:
                    best[atoms - 1] = Denial(absence, denied, others)
    return [denial for denial in best if denial is not None]


def _chain(size: int, sums: list[int], others: tuple[int, ...], denied: int) -> int:
    """Return the ways in which nobody has a value they are denied: one person `denied`, the others by their parts."""
    ways = 1
    for person, cap in enumerate(sorted((*others, denied), reverse=True)):
        ways *= max(0, size - person - sums[cap])
    return ways


@cache
def _partitions(total: int) -> tuple[tuple[int, ...], ...]:
    return tuple(_descending(total, total))


def _descending(total: int, cap: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, cap), 0, -1):
        for rest in _descending(total - first, first):
            yield (first, *rest)


def find_targets(histograms: ClassHistograms, members: IntArray, weights: Weights) -> Targets:
    """Return the targets that may be the worst; `weights` are aligned with the dictionary of the sensitive column."""
    ordered = sorted(set(weights))
    codes = np.array([ordered.index(weight) for weight in weights], dtype=np.int64)[histograms.values]
    classes, counts = histograms.entry_classes, histograms.counts
    order = np.lexsort((-counts, codes, classes))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(classes[order]) != 0) | (np.diff(codes[order]) != 0)
    kept = order[first]
    keys = np.column_stack([members[classes[kept]], counts[kept], codes[kept]])
    distinct, example, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return Targets(
        classes=classes[kept],
        places=places.reshape(-1).astype(np.int64),
        distinct=[
            Target(histogram, held, ordered[code], int(kept[at]))
            for (histogram, held, code), at in zip(distinct.tolist(), example.tolist(), strict=True)
        ],
    )


def weighted_implications(histograms: ClassHistograms, weights: Weights, *, facts: int) -> Weighted:
    """Return the weighted disclosure for 0..facts implications, exactly.

    Every target gets an upper bound in floating point first, with m_j in place of m_j^s; targets are then solved in
    fractions, the highest bound first, until no bound is above the best solution. A class whose targets were not all
    solved keeps their bound, at most the maximum.
    """
    solver = _Solver(histograms, weights, facts)
    best = [solver.worst(atoms) for atoms in range(1, facts + 2)]
    shortest = next(found for found in best if found.value == best[-1].value)
    target = solver.targets.distinct[shortest.target]
    spelled = solver.spell(shortest)
    return Weighted(
        curve=tuple(found.value for found in best),
        values=solver.class_values(best[-1]),
        target=spelled[0],
        facts=tuple(spelled[1:]),
        probability=shortest.probability,
        weight=target.weight,
        is_maximum=solver.free.is_least,
    )


class _Worst(NamedTuple):
    """The worst target for a number of atoms in all, how many of them are in its own bucket, and all bounds."""

    value: Fraction
    probability: Fraction
    target: int
    own: int
    atoms: int
    values: FloatArray


class _Solver:
    """The targets of a table, with what has been solved for them."""

    def __init__(self, histograms: ClassHistograms, weights: Weights, facts: int) -> None:
        self.width = facts + 1
        self.given = histograms
        self.distinct = distinct_histograms(
            offsets=histograms.offsets, value_counts=histograms.counts, width=self.width
        )
        self.targets = find_targets(histograms, self.distinct.members, weights)
        self.free = free_products(self.distinct)
        repeats = histograms.classes.repeats
        number = np.ones(len(histograms.classes), dtype=np.int64) if repeats is None else repeats
        self._copies = np.bincount(self.distinct.members, weights=number).astype(np.int64)
        self._without: dict[int, list[Product]] = {}
        self._denials: dict[tuple[int, int], tuple[Denial, ...]] = {}
        used = np.array([target.histogram for target in self.targets.distinct])
        sizes = self.distinct.sizes[self.distinct.representatives[used]]
        table = absence_table(self.distinct, first=0, last=self.distinct.representatives.size)[used]
        self._aimed = table * (sizes / np.array([target.held for target in self.targets.distinct]))[:, None]
        self._weights = np.array([float(target.weight) for target in self.targets.distinct])

    def worst(self, atoms: int) -> _Worst:
        """Return the highest weighted disclosure with so many atoms in all, the target among them."""
        free = np.array([float(product.ratio) for product in self.free.products])
        ratios = (self._aimed[:, 1 : atoms + 1] * free[atoms - 1 :: -1][:atoms]).min(axis=1)
        values = self._weights / (1.0 + ratios) * (1.0 + 4.0 * disclosure_error(knowledge=atoms))
        best = Fraction(-1), Fraction(0), 0, 0
        for index in np.argsort(-values, kind="stable").tolist():
            if Fraction(values[index]) <= best[0]:
                break
            target = self.targets.distinct[index]
            probability, own = self._solve(target, atoms)
            values[index] = float(target.weight * probability)
            if target.weight * probability > best[0]:
                best = target.weight * probability, probability, index, own
        return _Worst(*best, atoms, np.minimum(values, float(best[0])))

    def _solve(self, target: Target, atoms: int) -> tuple[Fraction, int]:
        """Return 1 / (1 + r) and the number of atoms in the target's own bucket."""
        denials, free = self._denials_of(target), self._free_without(target.histogram)
        possible = range(1, atoms + 1) if len(free) > 1 else (atoms,)
        own = min(possible, key=lambda own: denials[own - 1].absence * free[atoms - own].ratio)
        size = int(self.distinct.sizes[self.distinct.representatives[target.histogram]])
        ratio = Fraction(size, target.held) * denials[own - 1].absence * free[atoms - own].ratio
        return 1 / (1 + ratio), own

    def _denials_of(self, target: Target) -> tuple[Denial, ...]:
        key = (target.histogram, target.held)
        if key not in self._denials:
            bucket = int(self.distinct.representatives[target.histogram])
            start, stop = self.distinct.offsets[bucket : bucket + 2].tolist()
            counts = self.distinct.counts[start : min(stop, start + self.width)].tolist()
            size = int(self.distinct.sizes[bucket])
            self._denials[key] = known_denials(tuple(counts), size, target.held, self.width)
        return self._denials[key]

    def _free_without(self, histogram: int) -> list[Product]:
        """Return the least products of the other buckets: those with this histogram only if several have it."""
        bucket = int(self.distinct.representatives[histogram])
        if self._copies[histogram] > 1 or bucket not in self.free.buckets:
            return self.free.products
        if histogram not in self._without:
            others = replace(self.distinct, representatives=np.delete(self.distinct.representatives, histogram))
            self._without[histogram] = free_products(others).products
        return self._without[histogram]

    def class_values(self, worst: _Worst) -> FloatArray:
        """Return the highest value of each class."""
        values = np.zeros(len(self.given.classes))
        np.maximum.at(values, self.targets.classes, worst.values[self.targets.places])
        return values

    def spell(self, worst: _Worst) -> list[Atom]:
        """Return the target and the antecedents that imply it."""
        target = self.targets.distinct[worst.target]
        own = int(self.given.entry_classes[target.entry])
        denial = self._denials_of(target)[worst.own - 1]
        start, stop = self.given.offsets[own : own + 2].tolist()
        counts, wanted = self.given.counts[start:stop].tolist(), target.entry - start
        ordered = sorted(range(stop - start), key=lambda value: (-counts[value], value != wanted, value))
        spelled = [Atom(own, 0, wanted)]
        spelled += [Atom(own, 0, value) for value in ordered[: denial.denied] if value != wanted]
        spelled += [Atom(own, person + 1, v) for person, cap in enumerate(denial.others) for v in ordered[:cap]]
        parts = self._free_without(target.histogram)[worst.atoms - worst.own].parts
        elsewhere = spell(parts, self.distinct, self.given.counts)
        return spelled + [atom._replace(**self._other_class(own)) if atom.bucket == own else atom for atom in elsewhere]

    def _other_class(self, own: int) -> dict[str, int]:
        """Return another class with the histogram of this one."""
        alike = np.flatnonzero(self.distinct.members == self.distinct.members[own])
        others = alike[alike != own]
        return {"bucket": int(others[0])} if others.size else {"copy": 1}


def weighted_negations(histograms: ClassHistograms, weights: Weights, *, knowledge: int) -> Weighted:
    """Return the weighted disclosure for 0..knowledge negations, exactly, and each class's value."""
    facts = min(knowledge, int(np.diff(histograms.offsets).max()))
    distinct = distinct_histograms(offsets=histograms.offsets, value_counts=histograms.counts, width=facts + 1)
    targets = find_targets(histograms, distinct.members, weights)
    used = distinct.representatives[np.array([target.histogram for target in targets.distinct])]
    held = np.array([target.held for target in targets.distinct], dtype=np.int64)
    sums, sizes = top_sums(distinct, used, facts + 1), distinct.sizes[used]
    rank = (np.diff(sums, axis=1) > held[:, None]).sum(axis=1)
    rounded = np.array([float(target.weight) for target in targets.distinct])
    curve: list[Fraction] = []
    for known in range(facts + 1):
        left = sizes - np.where(rank < known, sums[:, known + 1] - held, sums[:, known])
        values = rounded * (held / left)
        near = np.flatnonzero(values >= values.max() * (1 - 1e-12)).tolist()
        exact = {at: targets.distinct[at].weight * Fraction(int(held[at]), int(left[at])) for at in near}
        worst = max(near, key=exact.__getitem__)
        curve.append(exact[worst])
    target = targets.distinct[worst]
    own = int(histograms.entry_classes[target.entry])
    start, stop = histograms.offsets[own : own + 2].tolist()
    ordered = np.argsort(-histograms.counts[start:stop], kind="stable").tolist()
    others = [value for value in ordered if value != target.entry - start]
    by_class = np.zeros(len(histograms.classes))
    np.maximum.at(by_class, targets.classes, values[targets.places])
    return Weighted(
        curve=(*curve, *[curve[-1]] * (knowledge - facts)),
        values=by_class,
        target=Atom(own, 0, target.entry - start),
        facts=tuple(Atom(own, 0, value) for value in others[:facts]),
        probability=Fraction(int(held[worst]), int(left[worst])),
        weight=target.weight,
    )
