"""epsilon-safe lattice anonymization: k-anonymity by a randomly chosen generalization of a random sample.

The published table is (beta, epsilon, delta)-differentially private under sampling if tables are neighbours that differ
in one row (added or removed), the privacy unit is one row, the total number of rows is public, the hierarchies were
fixed without looking at the data, and *every* published column is one of the generalized ones. That is why no other
column is published. Delta is the proven one, which is larger than in the printed theorem, because the generalization is
chosen on the sample: docs/evaluation-epsilon-safe.md.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privacy_plugin.anonymizers.accounting import account_rows
from privacy_plugin.anonymizers.base import RandomizedMethod, table_of_all_values
from privacy_plugin.anonymizers.epsilon_safe.node_utilities import (
    Interpolation,
    generalization_of,
    interpolated,
    lattice_shape,
    node_utilities,
    require_interpolation,
)
from privacy_plugin.anonymizers.epsilon_safe.sampling import least_epsilon, sampling_delta
from privacy_plugin.anonymizers.noise import choose, opendp
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels, column_levels
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.ledger.composition import ADDED_OR_REMOVED
from privacy_plugin.ledger.spending import Cost, spending, table_to_release

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger

_DRAWN_AT_ONCE = 1 << 20
_LARGEST_PENALTY = 10**9  # above it, generalization has no influence on the choice


class Guarantee(NamedTuple):
    """The epsilon and delta of a release, known before anything is drawn; a ledger reserves them."""

    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class EpsilonSafeTable(Described):
    """A table published by epsilon-safe lattice anonymization, and its guarantee.

    `epsilon` is the total: what choosing the generalization spent plus -ln(1 - beta) for the sampling. A delta of 1
    guarantees nothing: the choice may follow the sample (a larger k or a smaller epsilon helps).
    """

    levels: Mapping[str, int]
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    frequencies: FrequencyTable = field(repr=False)
    suppressed: int = field(repr=False)  # exact counts of the secret sample: never log them
    sampled: int = field(repr=False)
    rows: int
    k: int
    beta: float
    epsilon: float
    delta: float
    private: bool
    choice_epsilon: float
    penalty: float
    interpolation: Interpolation
    generalization: float
    unit: str = "row"
    neighbours: str = "tables that differ in one row, added or removed"
    assumptions: tuple[str, ...] = (
        "the number of rows of the whole table is public",
        "the hierarchies were fixed without looking at the data",
        "nothing but the generalized columns is published",
    )

    @cached_property
    def table(self) -> Any:
        """The published rows as a pandas frame, in an order that is independent of the original order."""
        import pandas as pd

        rows = np.repeat(np.arange(self.frequencies.distinct), self.frequencies.counts)
        columns = {
            name: np.array(self.frequencies.dictionary(name), dtype=object)[self.frequencies.column_codes(name)[rows]]
            for name in self.frequencies.columns
        }
        return pd.DataFrame(columns, columns=list(self.frequencies.columns))

    @property
    def account(self) -> dict[str, Any]:
        """The privacy account as plain data."""
        return self.to_dict()

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        return self.to_dict()

    def describe(self) -> Description:
        """Return the drawn levels and the guarantee."""
        return Description(
            title="A random sample at randomly drawn levels",
            rows=account_rows(unit=self.unit, neighbours=self.neighbours, assumptions=self.assumptions),
            levels=column_levels(self.levels, self.hierarchies),
            facts={"account": self.account},
            released_rows=self.frequencies.rows,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain data, without the numbers of sampled and suppressed rows.

        Those two are computed from the secret sample and are not covered by the guarantee.
        """
        return {
            "levels": dict(self.levels),
            "k": self.k,
            "beta": self.beta,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "private": self.private,
            "choice_epsilon": self.choice_epsilon,
            "penalty": self.penalty,
            "interpolation": list(self.interpolation) if isinstance(self.interpolation, tuple) else self.interpolation,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "assumptions": list(self.assumptions),
        }


def epsilon_safe_lattice(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    beta: float,
    epsilon: float,
    penalty: float,
    interpolation: Interpolation = None,
    generator: np.random.Generator | None = None,
    ledger: "BudgetLedger | None" = None,
    dataset: str | None = None,
) -> EpsilonSafeTable:
    """Publish a random sample, generalized to a node that the exponential mechanism draws, without small classes.

    Every row is kept with probability beta. A node's utility is -(gen + penalty * sup), gen the mean of level / height,
    sup the suppressed rows over N = round(beta * rows); a node is drawn with probability proportional to
    exp(epsilon * utility / (2 * penalty * k / N)). Li 2019, section 3, with these corrections: generalization counts as
    cost, N is public, and suppressed rows are counted over the same N, so that the sensitivity penalty * k / N holds.

    `epsilon` is what the choice of the node spends (eps' in Li 2019); the result's epsilon adds -ln(1 - beta) for the
    sampling, and `guarantee` returns both epsilon and delta before anything is drawn. Noise comes from opendp, sampling
    from the operating system's secure source; with a `generator`, which is for tests, the result is not private and its
    `private` is False. With a `ledger` (and the `dataset`'s name there) the whole amount is reserved before the draw,
    and a draw beyond the cap is refused.
    """
    if not hierarchies:
        raise ParameterError("hierarchies is empty; give one for every column that is published")
    table = table_to_release(data, columns=list(hierarchies), ledger=ledger, dataset=dataset)
    release = prepare(
        table,
        hierarchies=hierarchies,
        k=k,
        beta=beta,
        epsilon=epsilon,
        penalty=penalty,
        interpolation=interpolation,
        generator=generator,
    )
    cost = lattice_cost(k=k, beta=beta, epsilon=epsilon, interpolation=interpolation)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        made = release.draw()
        spent.released(made.frequencies, account=made.to_dict())
    return made


class EpsilonSafeLatticeMethod(RandomizedMethod):
    """epsilon-safe lattice anonymization: every published column is generalized, so every one needs a hierarchy."""

    name = "epsilon_safe_lattice"
    function = epsilon_safe_lattice

    @cached_property
    def cost(self) -> Cost:
        """The choice of the generalization, and the sampling."""
        lacking = [name for name in self.columns if name not in self.hierarchies]
        if lacking:
            raise ParameterError(
                f"{self.name} publishes generalized columns only; {', '.join(map(repr, lacking))} must be a "
                "quasi_identifier with a hierarchy, or an identifier, which is left out"
            )
        parameters = ("k", "beta", "epsilon", "interpolation")
        return lattice_cost(**{name: value for name, value in self.options.items() if name in parameters})

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], EpsilonSafeTable]:
        """Refuse values that no hierarchy covers, and fewer rows than a class needs."""
        chosen = {name: self.hierarchies[name] for name in self.columns}
        return prepare(table, hierarchies=chosen, **self.options, generator=generator).draw

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return every level of every column: the drawn level decides which type the column needs."""
        levels = [self.hierarchies[name].levels(table.dictionary(name), column=name) for name in self.columns]
        for level in range(max(column.height for column in levels) + 1):
            values = [column.dictionaries[min(level, column.height)] for column in levels]
            yield table_of_all_values(self.columns, values)


def lattice_cost(*, k: int, beta: float, epsilon: float, interpolation: Interpolation = None) -> Cost:
    """Return what epsilon-safe lattice anonymization spends per row: the epsilons of the choice and of sampling."""
    stated = guarantee(k=k, beta=beta, epsilon=epsilon, interpolation=interpolation)
    return Cost(
        mechanism="epsilon-safe lattice anonymization",
        epsilon=stated.epsilon,
        delta=stated.delta,
        neighbours=ADDED_OR_REMOVED,
    )


def guarantee(*, k: int, beta: float, epsilon: float, interpolation: Interpolation = None) -> Guarantee:
    """Return the epsilon and delta of a release: epsilon - ln(1 - beta), rounded up, and the proven delta.

    >>> stated = guarantee(k=75, beta=0.7, epsilon=0.5)
    >>> f"epsilon {stated.epsilon:.4f}, delta {stated.delta:.2e}"
    'epsilon 1.7040, delta 3.25e-06'
    """
    _require_choice(k, epsilon)
    delta = sampling_delta(k=k, beta=beta, choice_epsilon=epsilon, interpolated=interpolation is not None)
    return Guarantee(nextafter(float(exact(epsilon)) + least_epsilon(beta), inf), delta)


@dataclass(frozen=True, kw_only=True)
class PreparedRelease:
    """A release whose checks have passed: budget is reserved after it was prepared and before it is drawn."""

    table: FrequencyTable = field(repr=False)
    levels: Mapping[str, Levels] = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    k: int
    beta: Fraction
    epsilon: float
    penalty: float
    interpolation: Interpolation
    expected: int
    guarantee: Guarantee
    generator: np.random.Generator | None

    @property
    def sensitivity(self) -> float:
        """The sensitivity of the utilities: penalty * k / N, and what rounding adds to four of them.

        With a very small penalty, rounding changes utilities more than a row does. All of it is public.
        """
        largest = 1 + self.penalty * self.table.rows / self.expected
        rounding = (2 * len(self.levels) + 4) * float(np.spacing(largest))
        return self.penalty * self.k / self.expected + 4 * rounding

    def draw(self) -> EpsilonSafeTable:
        """Sample, choose a node by the exponential mechanism, generalize, suppress small classes."""
        kept = sample(self.table.counts, self.beta, self.generator)
        utilities = node_utilities(
            self.table, self.levels, kept, k=self.k, penalty=self.penalty, expected=self.expected
        )
        utilities = interpolated(utilities, tuple(self.levels), self.interpolation)
        chosen = choose(utilities.ravel(), sensitivity=self.sensitivity, epsilon=self.epsilon, generator=self.generator)
        position = (int(level) for level in np.unravel_index(chosen, utilities.shape))
        node = dict(zip(self.levels, position, strict=True))
        published, suppressed = _publish(self.table, self.levels, kept, node, self.k)
        return EpsilonSafeTable(
            levels=node,
            hierarchies=self.hierarchies,
            frequencies=published,
            suppressed=suppressed,
            sampled=int(kept.sum()),
            rows=self.table.rows,
            k=self.k,
            beta=float(self.beta),
            epsilon=self.guarantee.epsilon,
            delta=self.guarantee.delta,
            private=self.generator is None,
            choice_epsilon=self.epsilon,
            penalty=self.penalty,
            interpolation=self.interpolation,
            generalization=generalization_of(node, self.levels),
        )


def prepare(
    table: FrequencyTable,
    *,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    beta: float,
    epsilon: float,
    penalty: float,
    interpolation: Interpolation = None,
    generator: np.random.Generator | None = None,
) -> PreparedRelease:
    """Check everything that can be refused, before anything is drawn or spent."""
    stated = guarantee(k=k, beta=beta, epsilon=epsilon, interpolation=interpolation)
    require_positive("penalty", penalty)
    if exact(penalty) > _LARGEST_PENALTY:
        raise ParameterError(f"penalty must be at most {_LARGEST_PENALTY:,}, not {penalty!r}")
    table.require_rows()
    table.require_one_row_a_person("epsilon-safe lattice anonymization")
    table = table.project(list(hierarchies))
    levels = {name: h.levels(table.dictionary(name), column=name) for name, h in hierarchies.items()}
    require_interpolation(interpolation, tuple(levels), lattice_shape(levels))
    expected = round(float(exact(beta)) * table.rows)
    if expected < k:
        raise ParameterError(
            f"about {expected} of {table.rows} rows would be sampled, fewer than k = {k}; lower k or raise beta"
        )
    if generator is None:
        opendp()
    return PreparedRelease(
        table=table,
        levels=levels,
        hierarchies=hierarchies,
        k=k,
        beta=exact(beta),
        epsilon=float(exact(epsilon)),
        penalty=float(exact(penalty)),
        interpolation=interpolation,
        expected=expected,
        guarantee=stated,
        generator=generator,
    )


def sample(counts: Integers, beta: Fraction | float, generator: np.random.Generator | None) -> Integers:
    """Keep every row independently with probability beta (from the secure source: at most 2^-64 below it)."""
    if generator is not None:
        return generator.binomial(counts, float(beta)).astype(np.int64)
    below = int(exact(beta, what="beta") * 2**64)
    kept = np.zeros(len(counts), dtype=np.int64)
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), _DRAWN_AT_ONCE):
        stop = min(start + _DRAWN_AT_ONCE, int(ends[-1]))
        numbers = np.frombuffer(secrets.token_bytes(8 * (stop - start)), dtype=np.uint64)
        rows = np.searchsorted(ends, np.arange(start, stop), side="right")
        np.add.at(kept, rows, (numbers < np.uint64(below)).astype(np.int64))
    return kept


def _publish(
    table: FrequencyTable, levels: Mapping[str, Levels], kept: Integers, node: Mapping[str, int], k: int
) -> tuple[FrequencyTable, int]:
    """Generalize the sample and suppress the classes smaller than k."""
    columns = [levels[name].maps[level][table.column_codes(name)] for name, level in node.items()]
    dictionaries = [levels[name].dictionaries[level] for name, level in node.items()]
    present = kept > 0
    sample = FrequencyTable.from_columns(
        tuple(node), [codes[present] for codes in columns], dictionaries, kept[present]
    )
    large = sample.counts >= k
    published = FrequencyTable.from_columns(
        sample.columns,
        [sample.codes[large, position] for position in range(len(sample.columns))],
        sample.dictionaries,
        sample.counts[large],
    )
    return published, sample.rows - published.rows


def _require_choice(k: int, epsilon: float) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise ParameterError(f"k must be a whole number of at least 2, not {k!r}")
    require_positive("epsilon", epsilon)


def require_positive(name: str, value: float) -> None:
    """Raise ParameterError if a parameter is not a number above 0."""
    if exact(value, what=name) <= 0:
        raise ParameterError(f"{name} must be positive, not {value!r}")
