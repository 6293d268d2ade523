"""Maximum disclosure in exact fractions, and the knowledge that reaches it.

Same program as `disclosure` (Martin et al., ICDE 2007, section 3.3), on the few buckets that can matter: an optimum
that puts a atoms into a bucket uses at most width - a other buckets, width = k + 1, so it may as well take one of
the width - a + 1 buckets with the least m_b(a), or for the target's bucket with the least (n / n(s0)) m_b(a). The
compiled program finds these in floating point; near ties, within its rounding bound, are kept, so nothing is lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.errors import TooLargeError
from privacy_plugin.kernels.disclosure import absence_table
from privacy_plugin.kernels.disclosure_histograms import (
    FloatArray,
    Histograms,
    IntArray,
    distinct_histograms,
    validated_knowledge,
)

DISTINCT_LIMIT = 2_000
"""Most distinct histograms, after discarding those that cannot matter, that are solved in fractions."""

_CHUNK = 1 << 16
_NEAR_ZERO = 1e-280


class Atom(NamedTuple):
    """ "This person has this value": persons count from 0 in their bucket, values as the bucket lists them."""

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


class _Share(NamedTuple):
    """m_b(a) and the numbers of atoms per person that reach it, most first."""

    probability: Fraction
    people: tuple[int, ...]


class _Chain(NamedTuple):
    """A least product, and the buckets it was made of, last one first."""

    product: Fraction
    bucket: int
    people: tuple[int, ...]
    is_target: bool
    before: "_Chain | None"


_START = _Chain(Fraction(1), -1, (), False, None)


def exact_disclosure_curve(
    *, offsets: object, value_counts: object, knowledge: int, limit: int = DISTINCT_LIMIT
) -> tuple[Fraction, ...]:
    """Return the maximum disclosure for k = 0..knowledge implications as exact fractions.

    TooLargeError when more than `limit` distinct histograms could matter. Cost: one compiled pass over all buckets,
    then O(limit * knowledge**3) operations on fractions.

    >>> exact_disclosure_curve(offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], knowledge=2)
    (Fraction(2, 5), Fraction(2, 3), Fraction(1, 1))
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    relevant = _relevant(histograms, ties=True)
    if relevant.size > limit:
        raise TooLargeError(
            f"{relevant.size} distinct histograms can matter for knowledge {facts}, more than limit={limit}; "
            "raise limit or use disclosure_curve, which is exact up to its stated bound"
        )
    chains = _least_chains(histograms, relevant)
    return tuple(1 / (1 + chain.product) for chain in chains)


def disclosure_witness(
    *, offsets: object, value_counts: object, knowledge: int, limit: int = DISTINCT_LIMIT
) -> DisclosureWitness:
    """Return a target and at most `knowledge` implications that reach the maximum disclosure.

    All implications share the target as consequent (Theorem 9); within a bucket person i is denied its k_i most
    frequent values, k_0 >= k_1 >= ... (Lemma 13). `Atom.value` is the position in the bucket's part of
    `value_counts` as given. When more than `limit` distinct histograms are tied up to rounding, ties are broken in
    floating point and `is_maximum` is False. Cost: as `exact_disclosure_curve`.

    >>> found = disclosure_witness(offsets=[0, 3], value_counts=[2, 2, 1], knowledge=1)
    >>> found.target, found.antecedents, found.disclosure
    (Atom(bucket=0, person=0, value=0), (Atom(bucket=0, person=0, value=1),), Fraction(2, 3))
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    relevant = _relevant(histograms, ties=True)
    is_maximum = relevant.size <= limit
    if not is_maximum:
        relevant = _relevant(histograms, ties=False)
    chains = _least_chains(histograms, relevant)
    shortest = next(chain for chain in chains if chain.product == chains[-1].product)
    target, antecedents = _atoms_of(shortest, histograms, np.asarray(value_counts, dtype=np.int64))
    return DisclosureWitness(
        target=target,
        antecedents=antecedents,
        disclosure=1 / (1 + shortest.product),
        is_maximum=is_maximum,
    )


def _relevant(histograms: Histograms, *, ties: bool) -> IntArray:
    """Number the distinct histograms that an optimum can be made of, chunk by chunk to keep memory small."""
    # Every positive factor is at least 1 / size: below this product of logarithms nothing underflows to 0.
    zero_is_exact = histograms.width * int(histograms.sizes.max()).bit_length() < 900
    kept = np.empty(0, dtype=np.int64)
    table = np.empty((0, histograms.width + 1))
    for first in range(0, histograms.representatives.size, _CHUNK):
        last = min(first + _CHUNK, histograms.representatives.size)
        kept = np.concatenate([kept, np.arange(first, last, dtype=np.int64)])
        table = np.concatenate([table, absence_table(histograms, first=first, last=last)])
        chosen = _least_rows(table, _aim(histograms, kept), ties=ties, zero_is_exact=zero_is_exact)
        kept, table = kept[chosen], table[chosen]
    return kept


def _aim(histograms: Histograms, rows: IntArray) -> FloatArray:
    buckets = histograms.representatives[rows]
    return histograms.sizes[buckets] / histograms.counts[histograms.offsets[buckets]]


def _least_rows(table: FloatArray, aim: FloatArray, *, ties: bool, zero_is_exact: bool) -> NDArray[np.bool_]:
    width = table.shape[1] - 1
    chosen = np.zeros(table.shape[0], dtype=np.bool_)
    slack = 8.0 * (width + 2) * 2.0**-53
    for atoms in range(1, width + 1):
        wanted = min(width - atoms + 1, table.shape[0])
        for column in (table[:, atoms], table[:, atoms] * aim):
            least = np.argpartition(column, wanted - 1)[:wanted]
            chosen[least] = True
            worst = float(column[least].max())
            # A product of exactly 0 cannot be beaten, and any rows that reach it will do.
            if ties and not (worst == 0.0 and zero_is_exact):
                chosen |= column <= worst * (1.0 + slack) + _NEAR_ZERO
    return chosen


def _least_chains(histograms: Histograms, relevant: IntArray) -> list[_Chain]:
    """Return the least ratio for 1..width atoms, with the buckets that make it up."""
    width = histograms.width
    unplaced: list[_Chain | None] = [_START] + [None] * width
    placed: list[_Chain | None] = [None] * (width + 1)
    shares_of = {int(row): _shares(histograms, int(row)) for row in relevant}
    for bucket, row in _buckets_of(histograms, relevant):
        size, most = int(histograms.sizes[bucket]), int(histograms.counts[histograms.offsets[bucket]])
        _offer(bucket, shares_of[row], Fraction(size, most), unplaced, placed)
    return [chain for chain in placed[1:] if chain is not None]


def _buckets_of(histograms: Histograms, relevant: IntArray) -> Iterator[tuple[int, int]]:
    """Yield at most width buckets of every relevant histogram: no optimum uses more."""
    used: dict[int, int] = dict.fromkeys((int(row) for row in relevant), 0)
    wanted = np.zeros(histograms.representatives.size, dtype=np.bool_)
    wanted[relevant] = True
    for bucket in np.flatnonzero(wanted[histograms.groups]):
        row = int(histograms.groups[bucket])
        if used[row] < histograms.width:
            used[row] += 1
            yield int(bucket), row


def _offer(
    bucket: int,
    shares: list[_Share],
    aim: Fraction,
    unplaced: list[_Chain | None],
    placed: list[_Chain | None],
) -> None:
    for total in range(len(shares) - 1, 0, -1):
        for atoms in range(1, total + 1):
            share = shares[atoms]
            _keep_less(placed, total, unplaced[total - atoms], aim * share.probability, bucket, share, True)
            _keep_less(placed, total, placed[total - atoms], share.probability, bucket, share, False)
            _keep_less(unplaced, total, unplaced[total - atoms], share.probability, bucket, share, False)


def _keep_less(
    row: list[_Chain | None],
    total: int,
    before: _Chain | None,
    factor: Fraction,
    bucket: int,
    share: _Share,
    is_target: bool,
) -> None:
    if before is None:
        return
    product = before.product * factor
    current = row[total]
    if current is None or product < current.product:
        row[total] = _Chain(product, bucket, share.people, is_target, before)


def _shares(histograms: Histograms, row: int) -> list[_Share]:
    """Return m_b(0..width) of one histogram by the recursion of MINIMIZE1, clipped at 0."""
    width = histograms.width
    bucket = int(histograms.representatives[row])
    start, stop = int(histograms.offsets[bucket]), int(histograms.offsets[bucket + 1])
    counts = [int(count) for count in histograms.counts[start : min(stop, start + width)]]
    size = int(histograms.sizes[bucket])
    layer: list[list[_Share | None]] = [[_Share(Fraction(1), ())] + [None] * width for _ in range(width + 1)]
    for person in range(min(width, size) - 1, -1, -1):
        for cap in range(1, (width // person if person else width) + 1):
            factor = Fraction(max(0, size - person - sum(counts[:cap])), size - person)
            for rest in range(width - person * cap, 0, -1):
                best = layer[cap - 1][rest]
                further = layer[cap][rest - cap] if rest >= cap else None
                if further is not None:
                    product = factor * further.probability
                    if best is None or product < best.probability:
                        best = _Share(product, (cap, *further.people))
                layer[cap][rest] = best
    return [share for share in layer[width] if share is not None]


def _atoms_of(chain: _Chain, histograms: Histograms, value_counts: IntArray) -> tuple[Atom, tuple[Atom, ...]]:
    targets: list[Atom] = []
    others: list[Atom] = []
    link: _Chain | None = chain
    while link is not None and link.bucket >= 0:
        given = value_counts[histograms.offsets[link.bucket] : histograms.offsets[link.bucket + 1]]
        ranked = [int(value) for value in np.argsort(-given, kind="stable") if given[value] > 0]
        atoms = [
            Atom(link.bucket, person, value)
            for person, denied in enumerate(link.people)
            for value in ranked[:denied]
        ]
        (targets if link.is_target else others).extend(atoms)
        link = link.before
    return targets[0], tuple(targets[1:] + others)
