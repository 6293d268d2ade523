"""Bucketization: publish who is in which bucket, and each bucket's sensitive values without saying whose they are.

The pair of tables of Anatomy (Xiao and Tao, VLDB 2006), made to meet (c, k)-safety (Martin, Kifer, Machanavajjhala,
Gehrke, Halpern, ICDE 2007): the quasi-identifiers stay as they are, so nothing but the tie to the sensitive value is
lost, and the smaller a bucket, the less of that. What it promises, and to whom: whoever sees both tables, knows
everybody's bucket and any k basic implications, names nobody's value with the limit's probability, all ways to hand
a bucket's values to its people being equally likely. Someone who knows how buckets are chosen, and replays it, may
find some of these ways less likely than others; and the people of the table are not hidden at all.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from privacy_plugin.anonymizers.bucket_dealing import deal
from privacy_plugin.anonymizers.bucket_division import divide
from privacy_plugin.errors import InfeasibleError, ParameterError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, group, pack, sum_by
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.metrics.maximum_disclosure import maximum_disclosure, require_attacker
from privacy_plugin.metrics.measurement import Measurement


@dataclass(frozen=True, kw_only=True, eq=False)
class Buckets:
    """People and values in buckets numbered at random: person i is a `people[i]`-th distinct row of the table.

    `people` are ordered by bucket and quasi-identifiers; the value of `values[i]`-th distinct row is one of bucket
    `buckets[i]`, in an order of its own, drawn from the operating system's secure source.
    """

    table: FrequencyTable = field(repr=False)
    people: Integers = field(repr=False)
    values: Integers = field(repr=False)
    buckets: Integers = field(repr=False)
    measurement: Measurement = field(repr=False)
    private: bool

    @property
    def sizes(self) -> Integers:
        """How many people each bucket has."""
        return np.bincount(self.buckets)[1:].astype(np.int64)


def bucketize_table(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    knowledge: int,
    below: object,
    generator: np.random.Generator | None = None,
) -> Buckets:
    """Divide people into small buckets of similar people whose maximum disclosure lies below a limit.

    Buckets are as small as `bucket_division` finds; people are taken in the order of their quasi-identifiers (the
    columns with the fewest values first), so that a bucket holds neighbours as far as its values allow. InfeasibleError
    when even one bucket of everybody is not safe. The result is measured again before it is returned. Randomness comes
    from the operating system's secure source; with a `generator`, which is for tests, the result is not private and
    says so. Cost: one pass over the people.
    """
    limit = require_safety(knowledge, below)
    require_columns(quasi_identifiers, table.columns, role="quasi_identifiers")
    table.require_rows()
    table.require_one_row_a_person("bucketization")
    table = table.project([*quasi_identifiers, sensitive])
    _require_eligible(table, sensitive, knowledge, limit)
    order = _by_quasi_identifiers(table)
    rows = np.repeat(order, table.counts[order])
    held = table.codes[rows, -1].astype(np.int64)
    parts = divide(np.bincount(held).astype(np.int64), knowledge=knowledge, below=limit)
    numbers = _random_order(sum(part.buckets for part in parts), generator) + 1
    buckets = numbers[deal(held, parts)]
    measurement = _measured(table, sensitive, rows, buckets, knowledge)
    if not measurement.highest < limit:  # whatever went wrong, nothing unsafe leaves
        raise InfeasibleError("the buckets that were found do not meet the limit; nothing was published")
    listed = np.lexsort((rows, buckets))
    shuffled = np.lexsort((_random_order(len(rows), generator), buckets))
    return Buckets(
        table=table,
        people=rows[listed],
        values=rows[shuffled],
        buckets=buckets[listed],
        measurement=measurement,
        private=generator is None,
    )


def require_safety(knowledge: int, below: object) -> Fraction:
    """Refuse facts and a limit that make no sense; return the limit as it is written."""
    require_attacker(knowledge)
    limit = exact(below, what="below")
    if not 0 < limit <= 1:
        raise ParameterError(f"below must lie above 0 and be at most 1, not {below!r}")
    return limit


def _require_eligible(table: FrequencyTable, sensitive: str, knowledge: int, limit: Fraction) -> None:
    """Refuse what no bucketization can do: of all divisions, one bucket of everybody discloses the least."""
    everybody = np.arange(table.distinct)
    found = _measured(table, sensitive, everybody, np.ones_like(everybody), knowledge, weights=table.counts)
    if found.highest < limit:
        return
    counts = np.bincount(table.codes[:, -1], weights=table.counts)
    raise InfeasibleError(
        f"no buckets can meet it: column {sensitive!r} has {len(counts):,} values, and the most frequent one is held "
        f"by {int(counts.max()):,} of {table.rows:,} people; with everybody in one bucket, {knowledge} facts still "
        f"disclose a value with probability {float(found.value):.4g}, and below {float(limit):.4g} is required. Raise "
        "the limit, assume fewer facts, or leave out people with the most frequent values"
    )


def _measured(
    table: FrequencyTable,
    sensitive: str,
    rows: Integers,
    buckets: Integers,
    knowledge: int,
    weights: Integers | None = None,
) -> Measurement:
    """Measure the published pair: who is in which bucket is all that the quasi-identifiers tell."""
    bucket = "bucket" if sensitive != "bucket" else "number of the bucket"
    packed, size = pack([buckets - 1, table.codes[rows, -1]], [int(buckets.max()), table.cardinalities[-1]])
    groups, first = group(packed, size)
    published = FrequencyTable(
        columns=(bucket, sensitive),
        codes=np.column_stack([buckets[first] - 1, table.codes[rows[first], -1]]).astype(np.int32, order="F"),
        counts=sum_by(groups, np.ones(len(rows), dtype=np.int64) if weights is None else weights, len(first)),
        dictionaries=(tuple(range(1, int(buckets.max()) + 1)), table.dictionaries[-1]),
    )
    return maximum_disclosure(published, quasi_identifiers=[bucket], sensitive=sensitive, knowledge=knowledge)


def _by_quasi_identifiers(table: FrequencyTable) -> Integers:
    """Order the distinct rows so that neighbours are alike: the columns with the fewest values first."""
    columns = sorted(range(len(table.columns) - 1), key=lambda position: table.cardinalities[position])
    return np.lexsort([table.codes[:, position] for position in reversed(columns)])


def _random_order(length: int, generator: np.random.Generator | None) -> Integers:
    """Draw an order, every one equally likely: that of independent random numbers, drawn anew if two are equal."""
    while True:
        if generator is None:
            drawn = np.frombuffer(secrets.token_bytes(8 * length), dtype=np.uint64)
        else:
            drawn = generator.integers(0, 2**64, size=length, dtype=np.uint64)
        order = np.argsort(drawn, kind="stable")
        if not np.any(drawn[order][1:] == drawn[order][:-1]):
            return order.astype(np.int64)
