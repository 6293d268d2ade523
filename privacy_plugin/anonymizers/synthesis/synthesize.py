"""Synthetic tables with a privacy account.

Unit "row" (the default): counts of the rows get noise, and a whole row is protected. Unit "cell": every cell is
randomized first and everything else is computed from the randomized cells; a cell is protected, and a row by the sum
over its columns. Dorrestijn 2018 generates databases the second way; at the thesis' epsilon of 0.1 per cell, pairs of
columns are lost in the noise for tables of 50,000 rows, whatever is computed from them.

Models: the dependent code tree (`code_tree`); with a given column that everything is crossed with, a tree of tables of
two columns (`pair_tables`); and, from randomized cells only, the code tree of the thesis (`literal_tree`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privacy_plugin.anonymizers.accounting import ReleaseLedger
from privacy_plugin.anonymizers.base import DomainMethod
from privacy_plugin.anonymizers.coded_rows import CodedRows
from privacy_plugin.anonymizers.noise import opendp
from privacy_plugin.anonymizers.randomized_response import (
    frame_of,
    keep_probability,
    randomize_cells,
    require_randomizable,
    rounded_channel,
)
from privacy_plugin.anonymizers.synthesis.code_tree import CodeTree, randomized_code_tree
from privacy_plugin.anonymizers.synthesis.literal_tree import LiteralTree, largest_tree, require_few_nodes
from privacy_plugin.anonymizers.synthesis.noisy_code_tree import noisy_code_tree
from privacy_plugin.anonymizers.synthesis.pair_tables import TreeModel, noisy_pair_tables, randomized_pair_tables
from privacy_plugin.anonymizers.synthesis.reached_rows import RandomizedRows
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.ledger.spending import Cost, spending, table_to_release
from privacy_plugin.ledger.zero_concentrated import rho_within

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger

Model = Literal["code tree", "pairs", "literal tree"]


@dataclass(frozen=True, kw_only=True)
class Synthesis(Described):
    """A synthetic table, the model and the tree of columns it was drawn from, and its privacy account.

    `notes` state where the model is smaller than requested.
    """

    frequencies: FrequencyTable = field(repr=False)
    model: Model
    edges: tuple[tuple[str, str], ...]
    given: str | None
    ledger: ReleaseLedger
    notes: tuple[str, ...] = ()

    @cached_property
    def table(self) -> Any:
        """The synthetic rows as a pandas frame."""
        return frame_of(self.frequencies)

    @property
    def account(self) -> dict[str, Any]:
        """The privacy account as plain data."""
        return self.ledger.to_dict()

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        return self.to_dict()

    def describe(self) -> Description:
        """Return the model, the dependent columns and the account."""
        edges = [list(edge) for edge in self.edges]
        return Description(
            title="Synthetic rows drawn from a sanitized model",
            rows=(("model", self.model), *self.ledger.rows()),
            notes=self.notes,
            facts={"edges": edges, "account": self.account},
            released_rows=self.frequencies.rows,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the tree and the account as plain data."""
        return {
            "model": self.model,
            "edges": [list(edge) for edge in self.edges],
            "given": self.given,
            "notes": list(self.notes),
            "ledger": self.ledger.to_dict(),
        }


def synthesize(
    data: Any,
    *,
    columns: Sequence[str],
    epsilon: Any,
    delta: Any = 1e-6,
    unit: Literal["row", "cell"] = "row",
    model: Model | None = None,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
    ledger: "BudgetLedger | None" = None,
    dataset: str | None = None,
) -> Synthesis:
    """Draw a synthetic table that keeps how columns depend on each other, with a stated privacy budget.

    `unit="row"`: epsilon and delta protect a whole row (one row per person). `unit="cell"`: epsilon protects one cell,
    there is no delta, and a row has the sum over its columns; the result's `ledger` states both. `model`: "code tree",
    a decision tree for every column over those before it, or "pairs", tables of two columns. The second takes `given`:
    a column to cross every table with, usually the one to predict, chosen without looking at the data. "literal tree"
    is the thesis' own, for cells and few columns: if noise alone would make it too large, TooLargeError is raised
    before anything is spent; if the rows do, its longest itemsets are left out, as the result's `notes` state.
    `domains` declares values; without it, the values that occur are assumed public. With a budget `ledger` (and the
    `dataset`'s name there) the row's whole epsilon and delta are reserved before anything is drawn, in the unit "row".
    Group numbers with many values into intervals first.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 500, "smokes": ["no", "yes"] * 500})
    >>> made = synthesize(people, columns=["sex", "smokes"], epsilon=1, delta=1e-6)
    >>> len(made.table), str(made.ledger)
    (1000, 'epsilon 1, delta 1e-06 a row')
    """
    table = table_to_release(data, columns=columns, domains=domains, ledger=ledger, dataset=dataset)
    require_synthesis(table, epsilon=epsilon, delta=delta, unit=unit, model=model, given=given, domains=domains)
    cost = synthesis_cost(epsilon=epsilon, delta=delta, unit=unit, columns=len(columns))
    common: dict[str, Any] = {"model": chosen_model(model, given, unit=unit), "given": given, "domains": domains}
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        if unit == "cell":
            made = synthesize_cells(table, epsilon=epsilon, generator=generator, **common)
        else:
            made = synthesize_rows(table, epsilon=epsilon, delta=delta, generator=generator, **common)
        spent.released(made.frequencies, account=made.ledger.to_dict())
    return made


class SynthesizeMethod(DomainMethod):
    """A synthetic table of all released columns."""

    name = "synthesize"
    function = synthesize

    @cached_property
    def cost(self) -> Cost:
        """The cost of a row, whichever unit is protected."""
        given = {"delta": 1e-6, "unit": "row", **self.options}
        chosen_model(given.get("model"), given.get("given"), unit=given["unit"])
        return synthesis_cost(
            epsilon=given["epsilon"], delta=given["delta"], unit=given["unit"], columns=len(self.columns)
        )

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], Synthesis]:
        """Refuse values outside their declared domain, and tables that are too large."""
        require_synthesis(table, **self.options)
        return partial(synthesize, table, columns=list(self.columns), **self.options, generator=generator)


def require_synthesis(
    table: FrequencyTable,
    *,
    epsilon: Any,
    delta: Any = 1e-6,
    unit: str = "row",
    model: str | None = None,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Raise, before anything is drawn or spent, if this table cannot be synthesized."""
    require_mode(unit)
    chosen = chosen_model(model, given, unit=unit)
    if unit == "row":
        rho_within(float(exact(epsilon, what="epsilon")), float(exact(delta, what="delta")))
        opendp()
    else:
        require_randomizable(table, epsilon=epsilon, domains=domains)
    rows = CodedRows.of(table, given=given, domains=domains)
    if unit == "cell":
        require_estimable(rows, epsilon=epsilon, model=chosen)


def synthesis_cost(*, epsilon: Any, delta: Any, unit: str, columns: int) -> Cost:
    """Return what synthesis spends per row: for cells, the sum of their epsilons over the columns, and no delta."""
    require_mode(unit)
    amount = exact(epsilon, what="epsilon")
    if amount <= 0:
        raise ParameterError("epsilon must be positive")
    if unit == "cell":
        return Cost(mechanism="synthesis by cell", epsilon=amount * columns, rho=columns * amount**2 / 2)
    rho = rho_within(float(amount), float(exact(delta, what="delta")))
    return Cost(mechanism="synthesis by row", epsilon=amount, delta=delta, rho=Fraction(rho) * (1 + Fraction(1, 10**9)))


def synthesize_rows(
    table: FrequencyTable,
    *,
    epsilon: Any,
    delta: Any = 1e-6,
    model: Model | None = None,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
) -> Synthesis:
    """Draw a synthetic table with (epsilon, delta)-differential privacy for one row.

    Neighbours differ by the substitution of one row; the number of rows is public. `noisy_code_tree` and `pair_tables`
    describe the mechanisms and prove that their zero-concentrated budgets add up to the whole. `given` names a column,
    chosen without looking at the data, that every table of the pairs is crossed with. A missing value is a value.
    """
    amount, failing = float(exact(epsilon, what="epsilon")), float(exact(delta, what="delta"))
    chosen = chosen_model(model, given, unit="row")
    rho = rho_within(amount, failing)
    rows = CodedRows.of(table, given=given, domains=domains)
    fit = noisy_code_tree if chosen == "code tree" else noisy_pair_tables
    found, parts = fit(rows, rho=rho, generator=generator)
    ledger = ReleaseLedger(
        unit="row",
        neighbours="tables of the same number of rows that differ in one row",
        parts=parts,
        epsilon=amount,
        epsilon_row=amount,
        delta=failing,
        assumptions=_assumptions(rows, given),
        private=generator is None,
    )
    return _drawn(rows, chosen, found, ledger, generator)


def synthesize_cells(
    table: FrequencyTable,
    *,
    epsilon: Any,
    model: Model | None = None,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
) -> Synthesis:
    """Randomize every cell once, with the epsilon of a cell, and draw a synthetic table from the randomized cells.

    Counts are estimated without bias from the randomized cells and everything that follows is post-processing.
    Dorrestijn 2018, section 3, with the unit stated: the epsilons of a row's cells add up.
    """
    chosen = chosen_model(model, given, unit="cell")
    cells = randomize_cells(table, epsilon=epsilon, domains=domains, generator=generator)
    rows = CodedRows.of(cells.frequencies, given=given, domains=cells.domains)
    source = RandomizedRows(coded=rows, channels=tuple(cells.rounded_channel(name) for name in rows.names))
    found: CodeTree | TreeModel | LiteralTree
    if chosen == "pairs":
        found = randomized_pair_tables(cells, rows)
    else:
        found = randomized_code_tree(source) if chosen == "code tree" else largest_tree(source)
    return _drawn(rows, chosen, found, cells.ledger, generator)


def require_estimable(rows: CodedRows, *, epsilon: Any, model: Model) -> None:
    """Raise if the schema and epsilon rule out an estimate from randomized cells; no row is looked at."""
    amount = float(exact(epsilon, what="epsilon"))
    sizes = [len(known) for known in (*rows.domains, rows.given_domain)]
    channels = [rounded_channel(keep_probability(amount, size), size) for size in sizes]
    if any(channel.keep == channel.other for channel in channels):
        raise ParameterError("epsilon of a cell is too small: cells would be pure noise; raise epsilon")
    if model == "literal tree":
        require_few_nodes(channels[:-1], rows.sizes, rows=rows.rows)


def chosen_model(model: str | None, given: str | None, *, unit: str) -> Model:
    """Return the requested model, or the default one: pairs with a given column, a code tree without."""
    if model is None:
        return "code tree" if given is None else "pairs"
    if model == "pairs":
        return "pairs"
    if model not in ("code tree", "literal tree"):
        raise ParameterError(f"model must be 'code tree', 'pairs' or 'literal tree', not {model!r}")
    if given is not None:
        raise ParameterError("a code tree takes no given column; leave out given, or use model 'pairs'")
    if model == "literal tree" and unit == "row":
        raise ParameterError("a literal tree needs randomized cells; set unit to 'cell', or use model 'code tree'")
    return "code tree" if model == "code tree" else "literal tree"


def _drawn(
    rows: CodedRows,
    model: Model,
    found: CodeTree | TreeModel | LiteralTree,
    ledger: ReleaseLedger,
    generator: np.random.Generator | None,
) -> Synthesis:
    planes, codes = found.sample(rows.rows, generator if generator is not None else np.random.default_rng())
    return Synthesis(
        frequencies=rows.decoded(planes, codes),
        model=model,
        edges=tuple((rows.names[a], rows.names[b]) for a, b in found.edges),
        given=rows.given,
        ledger=ledger,
        notes=_notes(found),
    )


def _notes(found: CodeTree | TreeModel | LiteralTree) -> tuple[str, ...]:
    if not isinstance(found, LiteralTree) or found.longest is None:
        return ()
    return (f"too many itemsets look frequent; those of more than {found.longest} values are left out of the tree",)


def _assumptions(rows: CodedRows, given: str | None) -> tuple[str, ...]:
    chosen = f"column {given!r} was chosen as the given one without looking at the data"
    return rows.assumptions if given is None else (*rows.assumptions, chosen)


def require_mode(unit: str) -> None:
    """Raise ParameterError if the privacy unit is neither row nor cell."""
    if unit not in ("row", "cell"):
        raise ParameterError(f"unit must be row or cell, not {unit!r}")
