"""Bucketization: publish who is in which bucket, and the sensitive values of each bucket without their owners.

The pair of tables of Anatomy (Xiao and Tao, VLDB 2006), made to meet (c, k)-safety (Martin, Kifer, Machanavajjhala,
Gehrke, Halpern, ICDE 2007). Quasi-identifiers stay unchanged; only the link to the sensitive value is lost, and less of
it the smaller a bucket is. The promise: an attacker who sees both tables and knows everyone's bucket and any k basic
implications cannot name a person's value with the limit's probability, provided that all ways to assign a bucket's
values to its people (the *worlds*) are equally likely.

Whether they are equally likely to an attacker who knows this program and its parameters depends on the dealing.

- `random`: exactly. The number of buckets, and which values share one, depend only on how many people have each value
  in total and on the order in which values come up when people are taken in a random order. Two worlds of a published
  pair differ by a permutation of people inside buckets; take the same people in permuted order, and the same buckets
  result. So both worlds lead to the pair with the same probability, and an attacker to whom all tables of these values
  were equally likely before finds the worlds equally likely after. That buckets are as small as possible reveals
  nothing either (no "minimality attack"). With `neighbours`, people are first put into groups of that size, in the
  order of their quasi-identifiers alone (equal ones in random order), and each group is dealt by itself. A permutation
  inside buckets is one inside groups and leaves the values of every group unchanged, so the argument holds as before. A
  group that cannot be divided is refused instead of merged with the next, because the merge would reveal that it could
  not. For the same reason, choose `neighbours` before trying which number works.
- `similar`: not. People are taken in the order of their quasi-identifiers, so an attacker who replays the dealing with
  every world can rule out those that lead to other buckets. Some small tables are disclosed completely that way;
  `docs/evaluation-disclosure.md` has the numbers. The promise holds only against attackers who do not replay it.

Not promised by either: protection from an attacker who considers some worlds likelier beforehand ("old people never
have mumps"), or who sees the same people dealt a second time, where the buckets of both times intersect. That a person
is in the table is not hidden at all.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from privacy_plugin.anonymizers.bucketization.dealing import deal_groups
from privacy_plugin.errors import InfeasibleError, ParameterError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, group, pack, sum_by
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.metrics.maximum_disclosure.metric import maximum_disclosure, require_attacker
from privacy_plugin.metrics.measurement import Measurement

Dealing = Literal["random", "similar"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Buckets:
    """People and values in randomly numbered buckets.

    Person i, in bucket `buckets[i]`, is distinct row `people[i]` of the table; they are ordered by bucket and
    quasi-identifiers. Bucket `buckets[i]` has the value of distinct row `values[i]`, in an independent order drawn from
    the operating system's secure source.
    """

    table: FrequencyTable = field(repr=False)
    people: Integers = field(repr=False)
    values: Integers = field(repr=False)
    buckets: Integers = field(repr=False)
    measurement: Measurement = field(repr=False)
    dealing: Dealing
    private: bool

    @property
    def sizes(self) -> Integers:
        """The number of people in each bucket."""
        return np.bincount(self.buckets)[1:].astype(np.int64)


def bucketize_table(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    knowledge: int,
    below: object,
    dealing: Dealing = "random",
    neighbours: int | None = None,
    generator: np.random.Generator | None = None,
) -> Buckets:
    """Divide people into small buckets whose maximum disclosure lies below a limit.

    Buckets are as small as `division.divide` finds. People are dealt to them in a `random` order, of all people or
    within groups of about `neighbours` people, or, with `similar`, in the order of their quasi-identifiers (the columns
    with the fewest values first), so that people in a bucket are alike as far as its values allow; the module's
    description states what that costs. Raises InfeasibleError if even one bucket of all people, or of one group, is not
    safe. The result is measured again before it is returned. Randomness comes from the operating system's secure
    source; with a `generator`, which is for tests, `private` is False. Cost: one pass over the people, and one division
    for each group.
    """
    limit = require_safety(knowledge, below)
    require_dealing(dealing, neighbours)
    require_columns(quasi_identifiers, table.columns, role="quasi_identifiers")
    table.require_rows()
    table.require_one_row_a_person("bucketization")
    table = table.project([*quasi_identifiers, sensitive])
    _require_eligible(table, sensitive, knowledge, limit)
    rows = np.repeat(np.arange(table.distinct), table.counts)
    groups = _groups(table, rows, dealing, neighbours, generator)
    dealt = deal_groups(table.codes[rows, -1], groups, knowledge=knowledge, below=limit)
    buckets = (_random_order(int(dealt.max()) + 1, generator) + 1)[dealt]
    measurement = _measured(table, sensitive, rows, buckets, knowledge)
    if not measurement.highest < limit:  # groups that are safe separately may be unsafe together
        raise InfeasibleError(
            f"the buckets that were found disclose {float(measurement.highest):.4g}, and below {float(limit):.4g} is "
            "required; nothing was published. Raise the number of neighbours, or the limit"
        )
    return arrange(table, rows, buckets, measurement, dealing=dealing, generator=generator)


def keep_buckets(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    buckets: Integers,
    knowledge: int,
) -> Buckets:
    """Return buckets that people have already, numbered anew at random.

    `buckets` has one for every line of the table; people with 0 are in none.
    """
    columns, taken = [*quasi_identifiers, sensitive], buckets != 0
    _, dealt = np.unique(buckets[taken], return_inverse=True)
    numbers = (_random_order(int(dealt.max()) + 1, None) + 1)[dealt.ravel()]
    here = FrequencyTable.from_columns(
        table.columns, list(table.codes[taken].T), table.dictionaries, table.counts[taken]
    )
    inside = here.classes(columns).members
    measurement = _measured(here.project(columns), sensitive, inside, numbers, knowledge)
    rows = table.classes(columns).members[taken]
    return arrange(table.project(columns), rows, numbers, measurement, dealing="random", generator=None)


def arrange(
    table: FrequencyTable,
    rows: Integers,
    buckets: Integers,
    measurement: Measurement,
    *,
    dealing: Dealing,
    generator: np.random.Generator | None,
) -> Buckets:
    """Order people by bucket and quasi-identifiers, and the values of every bucket at random."""
    listed = np.lexsort((rows, buckets))
    shuffled = np.lexsort((_random_order(len(rows), generator), buckets))
    return Buckets(
        table=table,
        people=rows[listed],
        values=rows[shuffled],
        buckets=buckets[listed],
        measurement=measurement,
        dealing=dealing,
        private=generator is None,
    )


def require_dealing(dealing: object, neighbours: object) -> None:
    """Raise ParameterError if the dealing or the number of neighbours is not valid."""
    if dealing not in get_args(Dealing):
        raise ParameterError(f"dealing must be one of {', '.join(get_args(Dealing))}, not {dealing!r}")
    if neighbours is None:
        return
    if type(neighbours) is not int or neighbours < 2:
        raise ParameterError(f"neighbours must be a whole number of at least 2, not {neighbours!r}")
    if dealing != "random":
        raise ParameterError(f"neighbours need dealing='random', not {dealing!r}")


def require_safety(knowledge: int, below: object) -> Fraction:
    """Return the limit as an exact fraction; raise ParameterError if it or the knowledge is not valid."""
    require_attacker(knowledge)
    limit = exact(below, what="below")
    if not 0 < limit <= 1:
        raise ParameterError(f"below must lie above 0 and be at most 1, not {below!r}")
    return limit


def _require_eligible(table: FrequencyTable, sensitive: str, knowledge: int, limit: Fraction) -> None:
    """Raise InfeasibleError if no bucketization can meet the limit: one bucket of all people discloses the least."""
    everybody = np.arange(table.distinct)
    found = _measured(table, sensitive, everybody, np.ones_like(everybody), knowledge, weights=table.counts)
    if found.highest < limit:
        return
    counts = np.bincount(table.codes[:, -1], weights=table.counts)
    raise InfeasibleError(
        f"no buckets can meet it: column {sensitive!r} has {len(counts):,} values, and {int(counts.max()):,} of "
        f"{table.rows:,} people have the most frequent one. With all people in one bucket, {knowledge} facts still "
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
    """Measure the published pair: quasi-identifiers disclose a person's bucket and nothing more."""
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


def _groups(
    table: FrequencyTable,
    rows: Integers,
    dealing: Dealing,
    neighbours: int | None,
    generator: np.random.Generator | None,
) -> list[Integers]:
    """Return the groups of people that are dealt separately, each in the order in which people are taken."""
    if dealing == "similar":
        return [np.lexsort(_likeness(table, rows))]
    forward = _random_order(len(rows), generator)
    number = len(rows) // neighbours if neighbours is not None else 0
    if number < 2:
        return [forward]
    lined_up = np.lexsort([_random_order(len(rows), generator), *_likeness(table, rows)])
    members = np.empty(len(rows), dtype=np.int64)
    members[lined_up] = np.arange(len(rows)) * number // len(rows)
    return np.split(forward[np.argsort(members[forward], kind="stable")], np.cumsum(np.bincount(members))[:-1])


def _likeness(table: FrequencyTable, rows: Integers) -> list[Integers]:
    """Return sort keys, the last one first, that bring similar people together: columns of few values come first."""
    columns = sorted(range(len(table.columns) - 1), key=lambda position: table.cardinalities[position])
    return [table.codes[rows, position].astype(np.int64) for position in reversed(columns)]


def _random_order(length: int, generator: np.random.Generator | None) -> Integers:
    """Draw a uniform permutation: the order of independent random numbers, drawn again if two are equal."""
    while True:
        if generator is None:
            drawn = np.frombuffer(secrets.token_bytes(8 * length), dtype=np.uint64)
        else:
            drawn = generator.integers(0, 2**64, size=length, dtype=np.uint64)
        order = np.argsort(drawn, kind="stable")
        if not np.any(drawn[order][1:] == drawn[order][:-1]):
            return order.astype(np.int64)
