"""Maximum disclosure in exact fractions, and the knowledge that reaches it.

Same program as `disclosure` (Martin et al., ICDE 2007, section 3.3): for every number of atoms a only the bucket with
the least m_b(a) and the one with the least (n_b / n_b(s0)) m_b(a) matter. The compiled program finds them in floating
point; buckets within its rounding bound of the least are compared in fractions, so the result is exact.

Buckets with different histograms often share a value exactly: with all a atoms on one person, the aimed absence is
(n - S(a)) / n(s0), for any other counts. Solving each of thousands in fractions takes seconds, so a compiled loop over
the partitions of the atoms keeps only those that may reach the least product; few distinct fractions remain.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import NamedTuple

import numpy as np

from privacy_plugin.compiled import njit_later
from privacy_plugin.errors import TooLargeError
from privacy_plugin.metrics.maximum_disclosure.disclosure import absence_table
from privacy_plugin.metrics.maximum_disclosure.histograms import (
    FloatArray,
    Histograms,
    IntArray,
    distinct_histograms,
    validated_knowledge,
)

WORK_LIMIT = 200_000_000
"""Most partitions, over all tied buckets, that are visited."""

NEAR_ZERO = 1e-280
"""Products below it may have lost digits to underflow: they are compared in fractions."""

TIE_LIMIT = 1_000_000
"""Most buckets tied up to rounding that are compared in fractions."""

_CHUNK = 1 << 16
_Absence = tuple[Fraction, tuple[int, ...]]


def partitions(atoms: int) -> int:
    """Count the ways to write a number as a sum of whole numbers, without order (Euler's recurrence).

    >>> [partitions(atoms) for atoms in (1, 5, 13)]
    [1, 7, 101]
    """
    ways = [1] + [0] * atoms
    for part in range(1, atoms + 1):
        for total in range(part, atoms + 1):
            ways[total] += ways[total - part]
    return ways[atoms]


def least_tied(histograms: Histograms, buckets: IntArray, atoms: int, *, aimed: bool, slack: float) -> int:
    """Return the first of these buckets with exactly the least m_b(atoms), or (n_b / n_b(s0)) m_b(atoms).

    `slack` bounds the relative rounding error of two products from each other. Cost: all partitions of `atoms`
    a bucket, compiled; fractions for the distinct products within `slack` of the least.
    """
    sizes, taken = histograms.sizes[buckets], top_sums(histograms, buckets, atoms)
    rows, parts = _least_partitions(sizes, taken, atoms, aimed, slack)
    people = np.arange(atoms, dtype=np.int64)
    denied = np.take_along_axis(taken[rows], parts, axis=1)
    left = sizes[rows][:, None] - people
    tops = np.where(parts > 0, np.maximum(left - denied, 0), 1)
    bottoms = np.where(parts > 0, left, 1)
    if aimed:
        tops = np.column_stack([tops, sizes[rows]])
        bottoms = np.column_stack([bottoms, taken[rows, 1]])
    distinct, first = np.unique(np.column_stack([tops, bottoms]), axis=0, return_index=True)
    half = distinct.shape[1] // 2
    exact = [Fraction(prod(line[:half]), prod(line[half:])) for line in distinct.tolist()]
    least = min(exact)
    return int(buckets[min(rows[at] for at, value in zip(first.tolist(), exact, strict=True) if value == least)])


def top_sums(histograms: Histograms, buckets: IntArray, atoms: int) -> IntArray:
    """S(0..atoms) of each bucket."""
    places = histograms.offsets[buckets][:, None] + np.arange(atoms)
    held = places < histograms.offsets[buckets + 1][:, None]
    counts = np.where(held, histograms.counts[np.where(held, places, 0)], 0)
    return np.column_stack([np.zeros(len(buckets), dtype=np.int64), np.cumsum(counts, axis=1)])


def _partition_steps(sizes: IntArray, taken: IntArray, atoms: int, *_: object) -> int:
    return sizes.size * partitions(atoms) * 4 * atoms


@njit_later(steps=_partition_steps)
def _least_partitions(
    sizes: IntArray, taken: IntArray, atoms: int, aimed: bool, slack: float
) -> tuple[IntArray, IntArray]:
    """Return (bucket, partition padded with 0) for all products within the slack of the least one."""
    rows = np.empty(64, dtype=np.int64)
    found = np.empty((64, atoms), dtype=np.int64)
    parts = np.zeros(atoms, dtype=np.int64)
    kept = 0
    least = np.inf
    for row in range(sizes.size):
        aim = sizes[row] / taken[row, 1] if aimed else 1.0
        parts[:] = 0
        parts[0] = atoms
        more = True
        while more:
            product = aim * _product(sizes[row], taken[row], parts)
            least = min(least, product)
            if product <= least * (1.0 + slack) + NEAR_ZERO:
                if kept == rows.size:
                    rows, found = np.append(rows, rows), np.concatenate((found, found))
                rows[kept] = row
                found[kept] = parts
                kept += 1
            more = _next_partition(parts)
    values = np.empty(kept, dtype=np.float64)
    for index in range(kept):
        row = rows[index]
        aim = sizes[row] / taken[row, 1] if aimed else 1.0
        values[index] = aim * _product(sizes[row], taken[row], found[index])
    near = np.flatnonzero(values <= least * (1.0 + slack) + NEAR_ZERO)
    return rows[:kept][near], found[:kept][near]


@njit_later()
def _product(size: int, taken: IntArray, parts: IntArray) -> float:
    product = 1.0
    for person in range(parts.size):
        if parts[person] == 0:
            break
        if person >= size:  # the bucket has no further person to take these atoms
            return np.inf
        product *= max(0, size - person - taken[parts[person]]) / float(size - person)
    return product


@njit_later()
def _next_partition(parts: IntArray) -> bool:
    """Step to the next partition in descending order, in place; False after the last, 1 + 1 + ... + 1."""
    last = parts.size - 1
    freed = 0
    while last >= 0 and parts[last] <= 1:
        freed += parts[last]
        parts[last] = 0
        last -= 1
    if last < 0:
        return False
    parts[last] -= 1
    freed += 1
    while freed > 0:
        parts[last + 1] = min(freed, parts[last])
        freed -= parts[last + 1]
        last += 1
    return True


def fits(rows: int, atoms: int) -> bool:
    """Return whether this many tied buckets can be compared for this many atoms."""
    return rows == 1 or rows * partitions(atoms) <= WORK_LIMIT


class Atom(NamedTuple):
    """A person has a value: persons count from 0 in their bucket, values as the bucket lists them.

    `copy`: which of the buckets, where one stands for several with the same histogram.
    """

    bucket: int
    person: int
    value: int
    copy: int = 0


@dataclass(frozen=True, kw_only=True)
class DisclosureWitness:
    """Knowledge that reaches the maximum disclosure: every antecedent implies the target."""

    target: Atom
    antecedents: tuple[Atom, ...]
    """One simple implication each, "antecedent -> target"; fewer than asked for when fewer reach the same."""
    disclosure: Fraction
    """The probability of the target given these implications, exactly."""
    is_maximum: bool
    """True when no other knowledge does better; False when only proved within `disclosure_error`."""


class _Choice(NamedTuple):
    """The bucket to put a number of atoms into, and the factor it contributes."""

    bucket: int
    factor: Fraction


class Product(NamedTuple):
    """A product of choices, kept as (bucket, atoms) pairs; the first pair holds the target."""

    ratio: Fraction
    parts: tuple[tuple[int, int], ...]


def exact_disclosure_curve(
    *, offsets: object, value_counts: object, knowledge: int, limit: int = TIE_LIMIT
) -> tuple[Fraction, ...]:
    """Return the maximum disclosure for k = 0..knowledge implications as exact fractions.

    TooLargeError when more than `limit` distinct histograms are tied up to rounding. Cost: two compiled passes,
    one over all buckets and one over the tied ones, then a few thousand operations on fractions.

    >>> exact_disclosure_curve(offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], knowledge=2)
    (Fraction(2, 5), Fraction(2, 3), Fraction(1, 1))
    """
    curve, witness = worst_knowledge(offsets=offsets, value_counts=value_counts, knowledge=knowledge, limit=limit)
    if not witness.is_maximum:
        raise TooLargeError(
            f"more than limit={limit} histograms are tied up to rounding for knowledge {knowledge}; "
            "raise limit or use disclosure_curve, which is exact up to its stated bound"
        )
    return curve


def disclosure_witness(
    *, offsets: object, value_counts: object, knowledge: int, limit: int = TIE_LIMIT
) -> DisclosureWitness:
    """Return a target and at most `knowledge` implications that reach the maximum disclosure.

    All implications share the target as consequent (Theorem 9); within a bucket person i is denied its k_i
    most frequent values, k_0 >= k_1 >= ... (Lemma 13). `Atom.value` is the position in the bucket's part of
    `value_counts` as given. When more than `limit` distinct histograms are tied up to rounding, the first
    ones are taken and `is_maximum` is False. Cost: as `exact_disclosure_curve`.

    >>> found = disclosure_witness(offsets=[0, 3], value_counts=[2, 2, 1], knowledge=1)
    >>> found.target, found.disclosure
    (Atom(bucket=0, person=0, value=0, copy=0), Fraction(2, 3))
    >>> found.antecedents
    (Atom(bucket=0, person=0, value=1, copy=0),)
    """
    return worst_knowledge(offsets=offsets, value_counts=value_counts, knowledge=knowledge, limit=limit)[1]


def worst_knowledge(
    *, offsets: object, value_counts: object, knowledge: int, limit: int = TIE_LIMIT
) -> tuple[tuple[Fraction, ...], DisclosureWitness]:
    """Return `exact_disclosure_curve` and `disclosure_witness` at once.

    Where the witness is not `is_maximum`, every entry of the curve is reached, and within `disclosure_error` of
    the maximum.
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    solved = solve(histograms, value_counts=np.asarray(value_counts, dtype=np.int64), limit=limit)
    return solved.curve, solved.witness


class Free(NamedTuple):
    """The least product of m_b whose atoms add up to 0, 1, ..., over any buckets, each as often as wanted."""

    products: list[Product]
    buckets: frozenset[int]
    """The buckets with the least m_b(a) for some a; without any other bucket nothing changes."""
    is_least: bool
    """False when too many buckets were tied up to rounding to be compared in fractions."""


def free_products(histograms: Histograms, *, limit: int = TIE_LIMIT) -> Free:
    """Return the least products of m_b for 0..width atoms, in fractions; without buckets only that of no atom."""
    nothing = Product(Fraction(1), ())
    if not histograms.representatives.size:
        return Free([nothing], frozenset(), True)
    width = histograms.width
    columns, _ = _tied_rows(histograms)
    is_least = _number_of_ties(columns[:width]) <= limit and all(
        fits(rows.size, atoms + 1) for atoms, rows in enumerate(columns[:width])
    )
    absences = _Absences(histograms)
    plain = [
        _choose(absences, columns[atoms] if is_least else columns[atoms][:1], atoms + 1, aimed=False)
        for atoms in range(width)
    ]
    free = [nothing]
    for total in range(1, width + 1):
        free.append(_least_product(plain, free, total))
    return Free(free, frozenset(choice.bucket for choice in plain), is_least)


class Solved(NamedTuple):
    """The disclosure curve, its witness, and the least m_b(0..width) of all buckets."""

    curve: tuple[Fraction, ...]
    witness: DisclosureWitness
    plain: FloatArray


def solve(histograms: Histograms, *, value_counts: IntArray, limit: int = TIE_LIMIT) -> Solved:
    """Do what `worst_knowledge` does for given histograms; `value_counts` is their source."""
    columns, plain = _tied_rows(histograms)
    is_maximum = _number_of_ties(columns) <= limit and all(
        fits(rows.size, column % histograms.width + 1) for column, rows in enumerate(columns)
    )
    if not is_maximum:
        columns = [rows[:1] for rows in columns]
    products = _least_products(histograms, columns)
    shortest = next(product for product in products if product.ratio == products[-1].ratio)
    target, antecedents = _atoms_of(shortest, histograms, value_counts)
    witness = DisclosureWitness(
        target=target,
        antecedents=antecedents,
        disclosure=1 / (1 + shortest.ratio),
        is_maximum=is_maximum,
    )
    return Solved(tuple(1 / (1 + product.ratio) for product in products), witness, plain)


def _tied_rows(histograms: Histograms) -> tuple[list[IntArray], FloatArray]:
    """Number the histograms that may have the least m_b(1..width), then the least aimed m_b(1..width).

    Also returns the least m_b(0..width), as computed.
    """
    width = histograms.width
    # Every positive factor is at least 1 / size: below this product of logarithms nothing underflows to 0.
    zero_is_exact = width * int(histograms.sizes.max()).bit_length() < 900
    rows = [np.empty(0, dtype=np.int64)] * (2 * width)
    values = [np.empty(0)] * (2 * width)
    for first in range(0, histograms.representatives.size, _CHUNK):
        last = min(first + _CHUNK, histograms.representatives.size)
        chunk = np.arange(first, last, dtype=np.int64)
        table = absence_table(histograms, first=first, last=last)[:, 1:]
        both = np.hstack([table, table * _aim(histograms, chunk)[:, None]])
        for column in range(2 * width):
            joined = np.concatenate([values[column], both[:, column]])
            tied = _near_least(joined, width=width, zero_is_exact=zero_is_exact)
            rows[column] = np.concatenate([rows[column], chunk])[tied]
            values[column] = joined[tied]
    return rows, np.array([1.0, *(float(kept.min()) for kept in values[:width])])


def _aim(histograms: Histograms, rows: IntArray) -> FloatArray:
    buckets = histograms.representatives[rows]
    return histograms.sizes[buckets] / histograms.counts[histograms.offsets[buckets]]


def _near_least(values: FloatArray, *, width: int, zero_is_exact: bool) -> IntArray:
    least = float(values.min())
    if least == 0.0 and zero_is_exact:
        return np.array([int(values.argmin())], dtype=np.int64)
    return np.flatnonzero(values <= least * (1.0 + _slack(width)) + NEAR_ZERO)


def _slack(width: int) -> float:
    """Bound the relative distance of two products of up to width + 1 rounded quotients, generously."""
    return 8.0 * (width + 2) * 2.0**-53


def _number_of_ties(columns: list[IntArray]) -> int:
    return sum(rows.size - 1 for rows in columns)


def _least_products(histograms: Histograms, columns: list[IntArray]) -> list[Product]:
    """Return the least ratio for 1..width atoms, with the buckets that make it up."""
    width = histograms.width
    absences = _Absences(histograms)
    plain = [_choose(absences, columns[atoms], atoms + 1, aimed=False) for atoms in range(width)]
    aimed = [_choose(absences, columns[width + atoms], atoms + 1, aimed=True) for atoms in range(width)]
    free = [Product(Fraction(1), ())]
    found = []
    for total in range(1, width + 1):
        free.append(_least_product(plain, free, total))
        found.append(_least_product(aimed, free, total))
    return found


def _least_product(choices: list[_Choice], free: list[Product], total: int) -> Product:
    atoms = min(range(1, total + 1), key=lambda atoms: choices[atoms - 1].factor * free[total - atoms].ratio)
    choice, rest = choices[atoms - 1], free[total - atoms]
    return Product(choice.factor * rest.ratio, ((choice.bucket, atoms), *rest.parts))


def _choose(absences: "_Absences", rows: IntArray, atoms: int, *, aimed: bool) -> _Choice:
    """Return the first of the tied histograms with exactly the least factor for this number of atoms."""
    histograms = absences.histograms
    buckets = histograms.representatives[rows]
    bucket = int(buckets[0])
    if buckets.size > 1:
        bucket = least_tied(histograms, buckets, atoms, aimed=aimed, slack=_slack(histograms.width))
    factor, _ = absences.of(bucket)[atoms]
    if aimed:
        factor *= Fraction(int(histograms.sizes[bucket]), int(histograms.counts[histograms.offsets[bucket]]))
    return _Choice(bucket, factor)


class _Absences:
    """m_b(0..width) of single buckets in fractions, each solved once.

    With the atoms per person that reach it.
    """

    def __init__(self, histograms: Histograms) -> None:
        self.histograms = histograms
        self._solved: dict[int, list[_Absence]] = {}

    def of(self, bucket: int) -> list[_Absence]:
        if bucket not in self._solved:
            self._solved[bucket] = _least_absences(self.histograms, bucket, self.histograms.width)
        return self._solved[bucket]


def _least_absences(histograms: Histograms, bucket: int, width: int) -> list[_Absence]:
    """Return m_b(0..width) and the atoms per person that reach it, by the recursion of MINIMIZE1."""
    start, stop = int(histograms.offsets[bucket]), int(histograms.offsets[bucket + 1])
    counts = [int(count) for count in histograms.counts[start : min(stop, start + width)]]
    size = int(histograms.sizes[bucket])
    nothing: _Absence = (Fraction(1), ())
    layer: list[list[_Absence | None]] = [[nothing] + [None] * width for _ in range(width + 1)]
    for person in range(min(width, size) - 1, -1, -1):
        for cap in range(1, (width // person if person else width) + 1):
            factor = Fraction(max(0, size - person - sum(counts[:cap])), size - person)
            for rest in range(width - person * cap, 0, -1):
                best = layer[cap - 1][rest]
                further = layer[cap][rest - cap] if rest >= cap else None
                if further is not None and (best is None or factor * further[0] < best[0]):
                    best = (factor * further[0], (cap, *further[1]))
                layer[cap][rest] = best
    return [absence for absence in layer[width] if absence is not None]


def _atoms_of(product: Product, histograms: Histograms, value_counts: IntArray) -> tuple[Atom, tuple[Atom, ...]]:
    """Return the atoms of a product.

    A bucket named twice takes all its atoms at once, which never discloses less.
    """
    spelled = spell(product.parts, histograms, value_counts)
    return spelled[0], tuple(spelled[1:])


def spell(parts: tuple[tuple[int, int], ...], histograms: Histograms, value_counts: IntArray) -> list[Atom]:
    """Return atoms that reach the product of m_b of these (bucket, atoms)."""
    shares: dict[int, int] = {}
    for bucket, atoms in parts:
        shares[bucket] = shares.get(bucket, 0) + atoms
    return [
        Atom(bucket, person, value)
        for bucket, atoms in shares.items()
        for person, denied in enumerate(_least_absences(histograms, bucket, atoms)[atoms][1])
        for value in _values_by_frequency(histograms, bucket, value_counts)[:denied]
    ]


def _values_by_frequency(histograms: Histograms, bucket: int, value_counts: IntArray) -> list[int]:
    given = value_counts[histograms.offsets[bucket] : histograms.offsets[bucket + 1]]
    return [int(value) for value in np.argsort(-given, kind="stable") if given[value] > 0]
