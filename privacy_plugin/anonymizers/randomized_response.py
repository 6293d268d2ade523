"""Randomized response: every cell keeps its value with a known probability and otherwise takes another at random.

The stated epsilon protects one *cell*; every column may have its own (Dorrestijn 2018, theorem 3). The epsilons of a
row's cells add up. Everything computed from the randomized
cells afterwards costs nothing more; counting itemsets with fresh randomness for each, in contrast, adds up over them.
"""

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privacy_plugin.anonymizers.accounting import Part, ReleaseLedger
from privacy_plugin.anonymizers.base import DomainMethod
from privacy_plugin.anonymizers.coded_rows import Floats, declared_domain
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ParameterError, PolicyError, require_columns, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import Value, canonical, key
from privacy_plugin.ledger.spending import Cost, spending, table_to_release
from privacy_plugin.metrics.dependence.channel import logarithm_above

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger

_OBSERVED = "the values that occur in each column are public (no domain was declared for {columns})"


class Channel(NamedTuple):
    """The randomization of a column: the probability to keep a value, and that of each other value."""

    keep: float
    other: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An unbiased estimate of a count and the estimated standard deviation of its randomization."""

    count: float
    standard_error: float
    rows: int

    @property
    def share(self) -> float:
        """The count as a share of the rows."""
        return self.count / self.rows


@dataclass(frozen=True, kw_only=True)
class RandomizedCells(Described):
    """Randomized rows, grouped so that their order reveals nothing, the channel of every column, and the account."""

    frequencies: FrequencyTable = field(repr=False)
    keep: Mapping[str, Fraction]
    domains: Mapping[str, tuple[Value, ...]] = field(repr=False)
    ledger: ReleaseLedger

    @cached_property
    def table(self) -> Any:
        """The randomized rows as a pandas frame."""
        return frame_of(self.frequencies)

    def to_dict(self) -> dict[str, Any]:
        """Return the channel of every column, from which counts can be estimated, and the account; no value."""
        return {
            "keep": {column: float(kept) for column, kept in self.keep.items()},
            "values": {column: len(values) for column, values in self.domains.items()},
            "ledger": self.ledger.to_dict(),
        }

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        return self.to_dict()

    def describe(self) -> Description:
        """Return the probability of keeping a value in every column, and the account."""
        kept = {column: float(probability) for column, probability in self.keep.items()}
        return Description(
            title="Every cell drawn by randomized response",
            rows=(
                *((f"column {name} keeps a value with probability", f"{kept[name]:.4g}") for name in kept),
                *self.ledger.rows(),
            ),
            facts={"keep": kept, "account": self.account},
            released_rows=self.frequencies.rows,
        )

    @property
    def account(self) -> dict[str, Any]:
        """The privacy account as plain data."""
        return self.ledger.to_dict()

    def channel(self, column: str) -> list[list[Fraction]]:
        """Return P(released | original) of a column, rows and columns in the order of its domain."""
        require_columns([column], list(self.keep))
        size, kept = len(self.domains[column]), self.keep[column]
        other = other_probability(kept, size)
        return [[kept if x == s else other for s in range(size)] for x in range(size)]

    def rounded_channel(self, column: str) -> Channel:
        """Return the channel of a column for estimates."""
        return rounded_channel(self.keep[column], len(self.domains[column]))

    def itemset_count(self, itemset: Mapping[str, Any]) -> Estimate:
        """Estimate how many original rows have these values, without bias.

        Each row scores the product over the columns of ([released = value] - q) / (p - q), p the probability to keep,
        q that of another value to become this one. Sum of scores: the count. Sum of squared scores minus the count:
        the variance, unbiased too. Dorrestijn 2018, section 3.3, for k values and any number of columns.
        """
        require_columns(list(itemset), list(self.keep), role="the itemset")
        scores = np.ones(self.frequencies.distinct)
        for column, value in itemset.items():
            p, size = self.keep[column], len(self.domains[column])
            q = other_probability(p, size)
            if p == q or size < 2:
                raise ParameterError(f"column {column!r} is pure noise; nothing can be estimated from it")
            wanted = key(canonical(value))
            if wanted not in {key(known) for known in self.domains[column]}:
                raise ParameterError(f"a value of the itemset is not in the domain of column {column!r}")
            has = np.array([key(known) == wanted for known in self.frequencies.dictionary(column)], dtype=np.float64)
            scores *= (has[self.frequencies.column_codes(column)] - float(q)) / float(p - q)
        count = float(scores @ self.frequencies.counts)
        variance = float((scores * scores) @ self.frequencies.counts) - count
        return Estimate(count=count, standard_error=math.sqrt(max(variance, 0.0)), rows=self.frequencies.rows)


def randomized_response(
    data: Any,
    *,
    columns: Sequence[str],
    epsilon: Any,
    domains: Mapping[str, Sequence[Any]] | None = None,
    row_dependence: Any = None,
    generator: np.random.Generator | None = None,
    ledger: "BudgetLedger | None" = None,
    dataset: str | None = None,
) -> RandomizedCells:
    """Randomize every cell of some columns; `epsilon` is that of one cell, and a row has one cell per column.

    `epsilon` is a number, or {column: number}: a column that needs less protection keeps more of its values. A row has
    the sum (theorem 3 for independent cells, and for any others under the neighbour relation of the account).
    `randomize_cells` defines the mechanism; the result estimates counts without bias. With a budget `ledger` (and the
    `dataset`'s name there) the whole row's epsilon is reserved first, in the unit "row". `row_dependence`: an upper
    bound that you believe in on how much a row depends on all others; the account then states what follows for rows
    that are not independent (`ReleaseLedger`).

    >>> import pandas as pd
    >>> shown = randomized_response(pd.DataFrame({"smokes": ["yes", "no"] * 50}), columns=["smokes"], epsilon=1)
    >>> str(shown.ledger)
    'epsilon 1 a cell (epsilon 1 a row)'
    """
    table = table_to_release(data, columns=columns, domains=domains, ledger=ledger, dataset=dataset)
    require_randomizable(table, epsilon=epsilon, domains=domains)
    dependence = read_dependence(row_dependence)
    cost = response_cost(epsilon=epsilon, columns=columns)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        made = randomize_cells(table, epsilon=epsilon, domains=domains, row_dependence=dependence, generator=generator)
        spent.released(made.frequencies, account=made.ledger.to_dict())
    return made


def response_cost(*, epsilon: Any, columns: Sequence[str]) -> Cost:
    """Return what randomized response spends per row: the sum of the epsilons of its cells."""
    each = cell_epsilons(epsilon, columns).values()
    rho = sum((amount**2 for amount in each), Fraction(0)) / 2
    return Cost(mechanism="randomized response", epsilon=sum(each, Fraction(0)), rho=rho)


class RandomizedResponseMethod(DomainMethod):
    """Randomized response in every cell of all released columns; an exact column would undo the row's epsilon."""

    name = "randomized_response"
    function = randomized_response

    @cached_property
    def cost(self) -> Cost:
        """The cost of a row: the sum of the epsilons of its cells."""
        return response_cost(epsilon=self.options["epsilon"], columns=self.columns)

    def require_policy(self) -> None:
        """Refuse also a dependence of rows that is no number."""
        super().require_policy()
        try:
            read_dependence(self.options.get("row_dependence"))
        except ParameterError as problem:
            raise PolicyError(f"anonymize: {problem}") from None

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], RandomizedCells]:
        """Refuse values outside their declared domain."""
        require_randomizable(table, epsilon=self.options["epsilon"], domains=self.options["domains"])
        return partial(randomize_cells, table, **self.options, generator=generator)


def randomize_cells(
    table: FrequencyTable,
    *,
    epsilon: Any,
    domains: Mapping[str, Sequence[Any]] | None = None,
    row_dependence: Any = None,
    generator: np.random.Generator | None = None,
) -> RandomizedCells:
    """Replace every cell by k-ary randomized response with this epsilon for one cell, or with that of its column.

    A cell of a column with m values keeps its value with p = e^epsilon / (e^epsilon + m - 1), rounded down, and
    becomes each other value with (1 - p) / (m - 1). `domains` declares a column's values; without it, those that occur
    are used, and the account lists that they are assumed public. Drawn exactly (by rejection) from the operating
    system's secure source; a `generator` is for tests, and `private` is False then. A missing value is a value. Cost:
    one draw per cell.
    """
    amounts = cell_epsilons(epsilon, table.columns)
    known = require_randomizable(table, epsilon=epsilon, domains=domains)
    rows = np.repeat(np.arange(table.distinct), table.counts)
    keep, codes = {}, []
    for name in table.columns:
        positions = {key(value): code for code, value in enumerate(known[name])}
        to_domain = np.array([positions[key(value)] for value in table.dictionary(name)], dtype=np.int64)
        keep[name] = keep_probability(float(amounts[name]), len(known[name]))
        codes.append(
            randomize_codes(to_domain[table.column_codes(name)[rows]], len(known[name]), keep[name], generator)
        )
    ones = np.ones(len(rows), dtype=np.int64)
    undeclared = [name for name in table.columns if name not in (domains or {})]
    return RandomizedCells(
        frequencies=FrequencyTable.from_columns(table.columns, codes, [known[n] for n in table.columns], ones),
        keep=keep,
        domains=known,
        ledger=_ledger(keep, known, undeclared, row_dependence=row_dependence, private=generator is None),
    )


def require_randomizable(
    table: FrequencyTable, *, epsilon: Any, domains: Mapping[str, Sequence[Any]] | None
) -> dict[str, tuple[Value, ...]]:
    """Return the domain of every column; raise, before budget is spent, if the table cannot be randomized."""
    cell_epsilons(epsilon, table.columns)
    table.require_rows()
    table.require_one_row_a_person("randomized response")
    return {name: declared_domain(table, name, domains) for name in table.columns}


def cell_epsilons(epsilon: Any, columns: Sequence[str]) -> dict[str, Fraction]:
    """Return the epsilon of a cell of every column, exact; above 40 hardly any cell would change.

    >>> cell_epsilons({"age": 1, "zip": 0.5}, ["age", "zip"])
    {'age': Fraction(1, 1), 'zip': Fraction(1, 2)}
    """
    if not isinstance(epsilon, Mapping):
        epsilon = dict.fromkeys(columns, epsilon)
    for name in epsilon:
        if name not in columns:
            raise ParameterError(unknown_name("column in epsilon", str(name), columns))
    lacking = [name for name in columns if name not in epsilon]
    if lacking:
        raise ParameterError(f"epsilon must also state that of a cell of {', '.join(map(repr, lacking))}")
    amounts = {name: exact(epsilon[name], what="epsilon") for name in columns}
    if not all(0 < amount <= 40 for amount in amounts.values()):
        raise ParameterError("epsilon of a cell must be above 0 and at most 40")
    return amounts


def read_dependence(row_dependence: Any) -> Fraction | None:
    """Return the stated dependence of a row on all others, None if nothing is stated."""
    if row_dependence is None:
        return None
    amount = exact(row_dependence, what="row_dependence")
    if amount < 0:
        raise ParameterError("row_dependence must be at least 0: the epsilon-dependence of a row and all other rows")
    return amount


def keep_probability(epsilon: float, values: int) -> Fraction:
    """Return the largest probability to keep a value, in steps of 2^-64, that costs at most epsilon."""
    if values < 2:
        return Fraction(1)
    power = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**13))
    kept = max(power, Fraction(1)) / (max(power, Fraction(1)) + values - 1)
    return max(Fraction(int(kept * 2**64), 2**64), Fraction(1, values))


def other_probability(keep: Fraction, values: int) -> Fraction:
    """Return the probability of each value other than the true one."""
    return (1 - keep) / (values - 1) if values > 1 else Fraction(0)


def rounded_channel(keep: Fraction, values: int) -> Channel:
    """Return the channel of a column with this number of values, for estimates."""
    return Channel(keep=float(keep), other=float(other_probability(keep, values)))


def randomize_codes(codes: Integers, values: int, keep: Fraction, generator: np.random.Generator | None) -> Integers:
    """Keep each code with probability `keep`, and otherwise replace it by another one, uniformly."""
    if values < 2:
        return codes.copy()
    if keep == Fraction(1, values):  # may not be a multiple of 2^-64, and the code must not show
        return uniform_below(values, len(codes), generator)
    below = keep.numerator * 2**64 // keep.denominator
    kept = np.ones(len(codes), dtype=bool) if below >= 2**64 else _numbers(len(codes), generator) < np.uint64(below)
    moved = (codes + 1 + uniform_below(values - 1, len(codes), generator)) % values
    return np.asarray(np.where(kept, codes, moved), dtype=np.int64)


def uniform_below(bound: int, length: int, generator: np.random.Generator | None) -> Integers:
    """Draw uniform integers from 0 to bound - 1, exactly: numbers above the last full multiple are drawn again."""
    last = np.uint64((2**64 // bound) * bound - 1)
    drawn = _numbers(length, generator)
    while (again := np.flatnonzero(drawn > last)).size:
        drawn[again] = _numbers(len(again), generator)
    return (drawn % np.uint64(bound)).astype(np.int64)


def unbiased_counts(counts: Integers | Floats, channels: Sequence[Channel | None]) -> Floats:
    """Return unbiased estimates of the true counts from counts of randomized values, one channel per axis.

    A channel of None means that the axis was not randomized.

    >>> unbiased_counts(np.array([55, 45]), [Channel(keep=0.75, other=0.25)]).tolist()
    [60.0, 40.0]
    """
    found = counts.astype(np.float64)
    for axis, channel in enumerate(channels):
        if channel is not None and found.shape[axis] > 1:
            if channel.keep == channel.other:
                raise ParameterError("the cells are pure noise; nothing can be estimated from them")
            totals = found.sum(axis=axis, keepdims=True)
            found = (found - channel.other * totals) / (channel.keep - channel.other)
    return found


def frame_of(frequencies: FrequencyTable) -> Any:
    """Return grouped rows as a pandas frame, in an order that is independent of the original order."""
    import pandas as pd

    rows = np.repeat(np.arange(frequencies.distinct), frequencies.counts)
    columns = {
        name: np.array([*frequencies.dictionary(name), None], dtype=object)[frequencies.column_codes(name)[rows]]
        for name in frequencies.columns
    }
    return pd.DataFrame(columns, columns=list(frequencies.columns))


def _numbers(length: int, generator: np.random.Generator | None) -> npt.NDArray[np.uint64]:
    if generator is not None:
        return generator.integers(0, 2**64, length, dtype=np.uint64)
    return np.frombuffer(secrets.token_bytes(8 * length), dtype=np.uint64).copy()


def _ledger(
    keep: Mapping[str, Fraction],
    domains: Mapping[str, Sequence[Value]],
    undeclared: list[str],
    *,
    row_dependence: Any,
    private: bool,
) -> ReleaseLedger:
    spent = {name: _cell_epsilon(keep[name], len(domains[name])) for name in keep}
    parts = tuple(
        Part(
            name=f"cells of column {name}",
            mechanism=f"randomized response over {len(domains[name])} values, keeping with {float(keep[name]):.6g}",
            sensitivity="one cell",
            epsilon=epsilon,
        )
        for name, epsilon in spent.items()
    )
    observed = (_OBSERVED.format(columns=", ".join(undeclared)),) if undeclared else ()
    return ReleaseLedger(
        unit="cell",
        neighbours="tables that differ in one cell",
        parts=parts,
        epsilon=max(spent.values()),
        epsilon_row=math.fsum(spent.values()) * (1 + 1e-15),
        delta=0.0,
        assumptions=("the number of rows is public", *observed),
        private=private,
        row_dependence=read_dependence(row_dependence),
    )


def _cell_epsilon(keep: Fraction, values: int) -> float:
    if values < 2:
        return 0.0
    return logarithm_above(keep / other_probability(keep, values))[0]
