"""Maximum disclosure in exact fractions, and the knowledge that reaches it.

Same program as `disclosure` (Martin et al., ICDE 2007, section 3.3): for every number of atoms a only the
bucket with the least m_b(a) and the one with the least (n_b / n_b(s0)) m_b(a) matter. The compiled program
finds them in floating point; buckets within its rounding bound of the least are compared in fractions, so
nothing is lost.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from privacy_plugin.errors import TooLargeError
from privacy_plugin.kernels.disclosure import absence_table
from privacy_plugin.kernels.disclosure_histograms import (
    FloatArray,
    Histograms,
    IntArray,
    distinct_histograms,
    validated_knowledge,
)

TIE_LIMIT = 5_000
"""Most buckets tied up to rounding that are told apart in fractions."""

_CHUNK = 1 << 16
_NEAR_ZERO = 1e-280


class Atom(NamedTuple):
    """A person has a value: persons count from 0 in their bucket, values as the bucket lists them."""

    bucket: int
    person: int
    value: int


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


class _Product(NamedTuple):
    """A product of choices, kept as (bucket, atoms) pairs; the first pair holds the target."""

    ratio: Fraction
    parts: tuple[tuple[int, int], ...]


def exact_disclosure_curve(
    *, offsets: object, value_counts: object, knowledge: int, limit: int = TIE_LIMIT
) -> tuple[Fraction, ...]:
    """Return the maximum disclosure for k = 0..knowledge implications as exact fractions.

    TooLargeError when more than `limit` distinct histograms are tied up to rounding. Cost: one compiled
    pass over all buckets, then at most O(limit * knowledge**2 * log knowledge) operations on fractions.

    >>> exact_disclosure_curve(offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], knowledge=2)
    (Fraction(2, 5), Fraction(2, 3), Fraction(1, 1))
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    columns = _tied_rows(histograms)
    ties = _number_of_ties(columns)
    if ties > limit:
        raise TooLargeError(
            f"{ties} histograms are tied up to rounding for knowledge {facts}, more than limit={limit}; "
            "raise limit or use disclosure_curve, which is exact up to its stated bound"
        )
    return tuple(1 / (1 + product.ratio) for product in _least_products(histograms, columns))


def disclosure_witness(
    *, offsets: object, value_counts: object, knowledge: int, limit: int = TIE_LIMIT
) -> DisclosureWitness:
    """Return a target and at most `knowledge` implications that reach the maximum disclosure.

    All implications share the target as consequent (Theorem 9); within a bucket person i is denied its k_i
    most frequent values, k_0 >= k_1 >= ... (Lemma 13). `Atom.value` is the position in the bucket's part of
    `value_counts` as given. When more than `limit` distinct histograms are tied up to rounding, the first
    ones are taken and `is_maximum` is False. Cost: as `exact_disclosure_curve`.

    >>> found = disclosure_witness(offsets=[0, 3], value_counts=[2, 2, 1], knowledge=1)
    >>> found.target, found.antecedents, found.disclosure
    (Atom(bucket=0, person=0, value=0), (Atom(bucket=0, person=0, value=1),), Fraction(2, 3))
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    columns = _tied_rows(histograms)
    is_maximum = _number_of_ties(columns) <= limit
    if not is_maximum:
        columns = [rows[:1] for rows in columns]
    products = _least_products(histograms, columns)
    shortest = next(product for product in products if product.ratio == products[-1].ratio)
    target, antecedents = _atoms_of(shortest, histograms, np.asarray(value_counts, dtype=np.int64))
    return DisclosureWitness(
        target=target,
        antecedents=antecedents,
        disclosure=1 / (1 + shortest.ratio),
        is_maximum=is_maximum,
    )


def _tied_rows(histograms: Histograms) -> list[IntArray]:
    """Number the histograms that may have the least m_b(1..width), then the least aimed m_b(1..width)."""
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
    return rows


def _aim(histograms: Histograms, rows: IntArray) -> FloatArray:
    buckets = histograms.representatives[rows]
    return histograms.sizes[buckets] / histograms.counts[histograms.offsets[buckets]]


def _near_least(values: FloatArray, *, width: int, zero_is_exact: bool) -> IntArray:
    least = float(values.min())
    if least == 0.0 and zero_is_exact:
        return np.array([int(values.argmin())], dtype=np.int64)
    slack = 8.0 * (width + 2) * 2.0**-53
    return np.flatnonzero(values <= least * (1.0 + slack) + _NEAR_ZERO)


def _number_of_ties(columns: list[IntArray]) -> int:
    return sum(rows.size - 1 for rows in columns)


def _least_products(histograms: Histograms, columns: list[IntArray]) -> list[_Product]:
    """Return the least ratio for 1..width atoms, with the buckets that make it up."""
    width = histograms.width
    plain = [_choose(histograms, columns[atoms], atoms + 1, aimed=False) for atoms in range(width)]
    aimed = [_choose(histograms, columns[width + atoms], atoms + 1, aimed=True) for atoms in range(width)]
    free = [_Product(Fraction(1), ())]
    found = []
    for total in range(1, width + 1):
        free.append(_least_product(plain, free, total))
        found.append(_least_product(aimed, free, total))
    return found


def _least_product(choices: list[_Choice], free: list[_Product], total: int) -> _Product:
    atoms = min(range(1, total + 1), key=lambda atoms: choices[atoms - 1].factor * free[total - atoms].ratio)
    choice, rest = choices[atoms - 1], free[total - atoms]
    return _Product(choice.factor * rest.ratio, ((choice.bucket, atoms), *rest.parts))


def _choose(histograms: Histograms, rows: IntArray, atoms: int, *, aimed: bool) -> _Choice:
    """Return the first of the tied histograms with exactly the least factor for this number of atoms."""
    best: _Choice | None = None
    for bucket in histograms.representatives[rows].tolist():
        factor, _ = _least_absence(histograms, bucket, atoms)
        if aimed:
            factor *= Fraction(int(histograms.sizes[bucket]), int(histograms.counts[histograms.offsets[bucket]]))
        if best is None or factor < best.factor:
            best = _Choice(bucket, factor)
    assert best is not None
    return best


def _least_absence(histograms: Histograms, bucket: int, atoms: int) -> tuple[Fraction, tuple[int, ...]]:
    """Return m_b(atoms) and the atoms per person that reach it, by the recursion of MINIMIZE1."""
    start, stop = int(histograms.offsets[bucket]), int(histograms.offsets[bucket + 1])
    counts = [int(count) for count in histograms.counts[start : min(stop, start + atoms)]]
    size = int(histograms.sizes[bucket])
    nothing: tuple[Fraction, tuple[int, ...]] = (Fraction(1), ())
    layer: list[list[tuple[Fraction, tuple[int, ...]] | None]] = [[nothing] + [None] * atoms for _ in range(atoms + 1)]
    for person in range(min(atoms, size) - 1, -1, -1):
        for cap in range(1, (atoms // person if person else atoms) + 1):
            factor = Fraction(max(0, size - person - sum(counts[:cap])), size - person)
            for rest in range(atoms - person * cap, 0, -1):
                best = layer[cap - 1][rest]
                further = layer[cap][rest - cap] if rest >= cap else None
                if further is not None and (best is None or factor * further[0] < best[0]):
                    best = (factor * further[0], (cap, *further[1]))
                layer[cap][rest] = best
    found = layer[atoms][atoms]
    assert found is not None
    return found


def _atoms_of(product: _Product, histograms: Histograms, value_counts: IntArray) -> tuple[Atom, tuple[Atom, ...]]:
    """Spell the atoms out. A bucket named twice takes all its atoms at once, which is never less damaging."""
    shares: dict[int, int] = {}
    for bucket, atoms in product.parts:
        shares[bucket] = shares.get(bucket, 0) + atoms
    spelled = [
        Atom(bucket, person, value)
        for bucket, atoms in shares.items()
        for person, denied in enumerate(_least_absence(histograms, bucket, atoms)[1])
        for value in _values_by_frequency(histograms, bucket, value_counts)[:denied]
    ]
    return spelled[0], tuple(spelled[1:])


def _values_by_frequency(histograms: Histograms, bucket: int, value_counts: IntArray) -> list[int]:
    given = value_counts[histograms.offsets[bucket] : histograms.offsets[bucket + 1]]
    return [int(value) for value in np.argsort(-given, kind="stable") if given[value] > 0]
