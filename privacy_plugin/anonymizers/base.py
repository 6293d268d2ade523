"""Anonymizers that a policy can name: what they take, what they cost and what they make.

To add one, write one file with its public function and a subclass of `RecodingMethod` (deterministic: searches for the
values to publish) or of `RandomizedMethod` (draws at random and spends privacy budget), and list the class in
`registry.py`. Its result implements `AnonymizerResult`, so the command line, the report and Dagster can show it.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from privacy_plugin.anonymizers.coded_rows import declared_domain
from privacy_plugin.anonymizers.continued_release import Continuation
from privacy_plugin.anonymizers.options import DOMAINS, read_option
from privacy_plugin.anonymizers.worst_people import Removal
from privacy_plugin.description import Description
from privacy_plugin.errors import (
    BudgetError,
    ColumnError,
    ParameterError,
    PolicyError,
    PrivacyPluginError,
    SourceError,
    unknown_name,
)
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.drawn_people import draw_rows_of_people
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.generalization.plan import LatticeNode, TradeOff
from privacy_plugin.generalization.unknown_values import Unknown, describe_unknown_rows, unknown_lines
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.composition import SUBSTITUTED
from privacy_plugin.ledger.in_use import ledger_in_use
from privacy_plugin.ledger.spending import Cost, spending
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.requirements.requirement import Requirement
from privacy_plugin.requirements.rules import Rules
from privacy_plugin.sources import Source
from privacy_plugin.sources.protocol import RehearsalDone
from privacy_plugin.sources.treated_columns import TreatedColumns

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger

Progress = Callable[[str], None]


class AnonymizerResult(Protocol):
    """What every anonymizer makes: something that can be shown without knowing which anonymizer made it."""

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result as plain data."""

    def describe(self) -> Description:
        """Return what was done, for people."""


class RecodingResult(AnonymizerResult, Protocol):
    """A result of a search: what every value becomes."""

    def apply(self, data: Any, *, target: str | None = None, keep: Sequence[str] | None = None) -> Any:
        """Recode a table where it is stored, and return a frame or the source of the target."""


class PlanResult(RecodingResult, Protocol):
    """A recoding that can be saved and applied again, also to other data with the same columns."""

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that it recodes."""

    def save(self, path: str | Path) -> None:
        """Write the plan to a file that `load_plan` reads."""


class DrawnResult(AnonymizerResult, Protocol):
    """A table drawn at random; drawing again would spend again, so there is nothing to apply."""

    @property
    def frequencies(self) -> FrequencyTable:
        """The drawn rows."""

    @property
    def account(self) -> dict[str, Any]:
        """The privacy account: unit, neighbour relation, epsilon, delta and assumptions."""


@runtime_checkable
class LatticeResult(Protocol):
    """A result that recorded its search over the lattice of levels, from which a report can draw pictures."""

    levels: Mapping[str, int]
    requirements: tuple[Requirement, ...]
    loss: float
    minimal_nodes: tuple[Mapping[str, int], ...]
    lattice: tuple[LatticeNode, ...]
    trade_off: tuple[TradeOff, ...]


@dataclass(frozen=True, kw_only=True)
class Anonymized:
    """The anonymized table (a frame, or the source of the target) and how it was made.

    `plan` is the result where it can be saved and applied again. A randomized method also has a `cost`, and the budget
    `remaining` for the dataset afterwards. Its text has no row of the table: a notebook saves that text with its page.
    """

    made: Any = field(repr=False)
    method: str
    makes: str
    left_out: tuple[str, ...]
    result: AnonymizerResult
    plan: PlanResult | None = None
    cost: Cost | None = None
    remaining: Budget | None = None
    unknown: tuple[Unknown, Mapping[str, int]] | None = None
    """What a saved plan did with values that no hierarchy covers, and how many rows of each column had one."""
    treated: Mapping[str, str] = field(default_factory=dict)
    """What was done to the numbers of single columns."""
    rows_a_person: int | None = None
    """At most how many rows of a person were drawn from."""
    continuation: Continuation | None = None
    """Who was released together with earlier releases, and who waits."""
    removal: Removal | None = None
    """Who was removed after generalization because of their privacy scores."""

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """What was done besides the plan: a name and a sentence each."""
        followed = () if self.continuation is None else tuple(self.continuation.rows())
        return followed if self.removal is None else (*followed, self.removal.line())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        content: dict[str, Any] = {
            "method": self.method,
            "left_out": list(self.left_out),
            self.makes: self.result.summary(),
        }
        if self.cost is not None and self.remaining is not None:
            content["spent"] = {**self.cost.budget.to_dict(), "unit": self.cost.unit, "mechanism": self.cost.mechanism}
            content["remaining"] = {**self.remaining.to_dict(), "unit": self.cost.unit}
        if self.rows_a_person is not None:
            content["rows_a_person"] = self.rows_a_person
        if self.continuation is not None:
            content["continuation"] = self.continuation.to_dict()
        if self.removal is not None:
            content["removed"] = self.removal.to_dict()
        if self.treated:
            content["treated"] = dict(self.treated)
        if self.unknown is not None:
            content["unknown"] = {"treatment": self.unknown[0], "rows": dict(self.unknown[1])}
        return content

    def describe(self) -> Description:
        """Describe the result, the columns that were left out, and the budget that was spent."""
        content = self.result.describe()
        rows = [("left out", ", ".join(self.left_out))] if self.left_out else []
        rows += [(f"column {name}", described) for name, described in self.treated.items()]
        facts: dict[str, Any] = {"method": self.method, "left out": ", ".join(self.left_out) or "no column"}
        rows += self.steps
        if self.continuation is not None:
            facts |= self.continuation.facts()
        if self.removal is not None:
            facts |= self.removal.facts()
        if self.unknown is not None:
            rows += [(f"{title}, here", found) for title, found in describe_unknown_rows(*self.unknown, "rows")]
            facts["cells with unknown values"] = sum(self.unknown[1].values())
        if self.cost is not None and self.remaining is not None:
            cost, remaining = self.cost, self.remaining
            rows.append((cost.mechanism, f"spent {cost}; {remaining} left a {cost.unit}"))
            if self.rows_a_person is not None:
                rows.append(("rows of a person", f"at most {self.rows_a_person}, drawn at random"))
            facts |= {
                "mechanism": cost.mechanism,
                "privacy unit": cost.unit,
                "epsilon": float(cost.budget.epsilon),
                "delta": float(cost.budget.delta),
                "remaining epsilon": float(remaining.epsilon),
                "remaining delta": float(remaining.delta),
            }
        counted = content.released_rows if self.continuation is None else self.continuation.released
        if self.removal is not None:
            counted = self.removal.released
        return replace(content, rows=(*rows, *content.rows), facts={**facts, **content.facts}, released_rows=counted)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What `anonymize` was asked for besides the data and the policy; see there."""

    target: str | None = None
    final: str | None = None
    population: Any = None
    plan: PlanResult | None = None
    partition: str | None = None
    ledger: "BudgetLedger | None" = None
    generator: Any = None
    progress: Progress | None = None

    def report(self, step: str) -> None:
        """Report the next step to the caller's progress function."""
        if self.progress is not None:
            self.progress(step)


@dataclass(frozen=True, kw_only=True)
class Anonymizer(ABC):
    """A method of anonymization with the options, the rules and the hierarchies of one policy.

    An option of the policy is a keyword of the public `function`, and is checked when the policy is loaded. No
    anonymizer certifies its own output: the gate judges what was written.
    """

    name: ClassVar[str]
    """The name in a policy, which is the name of the public function."""
    function: ClassVar[Callable[..., Any]]
    supplied: ClassVar[tuple[str, ...]]
    """Keywords of the function that roles, requirements, the caller or the ledger supply; a policy cannot set them."""
    required_options: ClassVar[Mapping[str, str]] = {}
    """Options that a policy must state although the function has a default, each with what to state."""
    makes: ClassVar[str]
    """What the result is called in JSON output."""
    doing: ClassVar[str]
    """What a terminal shows while it runs."""
    done: ClassVar[str]
    """The state of the anonymized table, for the description of an asset."""
    plan_type: ClassVar[type[PlanResult] | None] = None
    """The class of its plan where the result can be saved and applied again."""
    treats_columns: ClassVar[bool] = False
    """Whether it can treat single columns before: top coding, rounding, microaggregation."""
    spends_budget: ClassVar[bool] = False
    keeps_people: ClassVar[bool] = False
    """Whether a unit column only says who is who from release to release: the released tables do not have it."""
    made_once: ClassVar[str] = ""
    """What a second run makes anew, such as a deal: the release of another one is refused, because both intersect."""
    form: ClassVar[str] = "rows"
    """What the released tables contain: rows with the columns of the source, or something that is made of them."""

    options: Mapping[str, Any]
    rules: Rules = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    constant: str | None = None
    """A released column with one public value throughout, such as a partition's; see `hold_constant`."""

    @classmethod
    def policy_options(cls) -> dict[str, inspect.Parameter]:
        """Return the options a policy may set."""
        parameters = inspect.signature(cls.function).parameters.items()
        return {name: option for name, option in parameters if name not in cls.supplied}

    @classmethod
    def read_options(cls, given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        """Check the options of a policy: unknown names, missing ones, and every value."""
        known = cls.policy_options()
        for name in given:
            if name not in known:
                raise ParameterError(unknown_name(f"option of {cls.name}", str(name), [*known, "method"]))
        missing = [n for n, o in known.items() if o.default is inspect.Parameter.empty and n not in given]
        if missing:
            raise ParameterError(f"{cls.name} needs {', '.join(missing)}")
        for name, content in cls.required_options.items():
            if given.get(name) is None:
                raise ParameterError(f"{cls.name} needs {name}: {content}")
        return {name: read_option(name, value, known[name], columns) for name, value in given.items()}

    @property
    def continues(self) -> bool:
        """Whether a release continues the earlier ones that the history knows."""
        return self.options.get("releases") == "together"

    @property
    def once(self) -> str:
        """What may be released once only; empty if releases continue each other, or none is made anew."""
        return "" if self.continues else self.made_once

    @property
    def gate_needs_plan(self) -> bool:
        """Whether the gate has to know the plan, because labels alone do not tell a person's class."""
        return False

    @property
    def budgets(self) -> list[Requirement]:
        """The policy's requirements on the privacy budget."""
        return [requirement for requirement in self.rules.requirements if requirement.definition.needs_ledger]

    @property
    def aims(self) -> tuple[Requirement, ...]:
        """The requirements that a search can aim at; usefulness and earlier releases are judged by the gate."""
        return tuple(
            requirement
            for requirement in self.rules.requirements
            if requirement.definition.kind != "utility" and not requirement.definition.needs_history
        )

    @abstractmethod
    def require_policy(self) -> None:
        """Raise PolicyError if the method cannot meet the policy, whatever the data."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of every table of a release that has several; empty for a release of one table."""
        return {}

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns by which people can be recognized, where sensitive values are judged by others; see `Rules`."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the verdict has to know about the method: columns left out, what it assumes."""
        return ()

    def notes_on(self, plan: Any) -> tuple[str, ...]:
        """Return the notes on a table that this plan made, where it is known; otherwise those on any table."""
        return self.notes

    def released_roles(self) -> Mapping[str, str]:
        """Return the roles of the columns that the gate judges; those of the source, unless others are made."""
        return self.rules.roles

    def require_usable(self, constant: str | None = None) -> None:
        """Raise PolicyError if the method cannot run; `constant`: a column with one value, such as a partition's."""
        self.require_policy()

    def hold_constant(self, column: str | None) -> "Anonymizer":
        """Return the method for a table in which this column has one public value; a search needs no change."""
        return self

    def require_plan(self, plan: PlanResult | None = None) -> None:
        """Raise ParameterError if the method makes no plan, or if this plan belongs to another method or policy."""
        if self.plan_type is None:
            raise ParameterError(f"{self.name} makes no plan; it cannot save one, and cannot apply a saved plan")
        if plan is None:
            return
        if not isinstance(plan, self.plan_type):
            raise ParameterError(f"the saved plan was not made by {self.name}, which the policy names; make a new plan")
        if set(plan.quasi_identifiers) != set(self.hierarchies):
            raise ParameterError("the plan was made for other quasi-identifiers than those of the policy")

    @abstractmethod
    def run(self, source: Source, request: Request) -> Anonymized:
        """Anonymize the source; a failure leaves the target as it was."""


class RecodingMethod(Anonymizer):
    """A deterministic method: every quasi-identifier has a hierarchy, and its values become more general ones."""

    @abstractmethod
    def search(self, source: Source, *, population: Any, progress: Progress | None) -> RecodingResult:
        """Find what every value becomes."""

    def apply(self, result: Any, source: Source, *, target: str | None, keep: Sequence[str], population: Any) -> Any:
        """Recode the table; a result that compares with the population again overrides this."""
        return result.apply(source, target=target, keep=keep)

    def run(self, source: Source, request: Request) -> Anonymized:
        """Search, or take the saved plan, and apply the result."""
        population = request.population if self.rules.needs_population else None
        unknown = None
        if self.rules.treatments:
            source = TreatedColumns(source, self.rules.treatments)
        if request.plan is None:
            result: Any = self.search(source, population=population, progress=request.progress)
        else:
            self.require_plan(request.plan)
            result = request.plan
            unknown = self._unknown_rows(result, source)
        request.report("generalizing")
        kept = tuple(name for name in source.columns if self.rules.roles[name] != "identifier")
        if request.final is not None and set(kept) == set(self.rules.released):
            kept = self.rules.released  # in the order of the release, which then is a copy
        return Anonymized(
            made=self.apply(result, source, target=request.target, keep=kept, population=population),
            method=self.name,
            makes=self.makes,
            left_out=_left_out(source, kept),
            result=result,
            plan=None if self.plan_type is None else result,
            unknown=unknown,
            treated={name: one.describe() for name, one in self.rules.treatments.items()},
        )

    def require_plan(self, plan: PlanResult | None = None) -> None:
        """Refuse also a plan that treats values which no hierarchy covers in another way than the policy."""
        super().require_plan(plan)
        made, asked = getattr(plan, "unknown", None), self.options.get("unknown", "refuse")
        if made is not None and made != asked:
            raise ParameterError(
                f"the plan was made with unknown: {made}, the policy says unknown: {asked}; make a new plan"
            )

    def _unknown_rows(self, plan: Any, source: Source) -> tuple[Unknown, Mapping[str, int]] | None:
        """Count the rows with values that no hierarchy covers, where the plan says what to do with them."""
        treatment: Unknown = getattr(plan, "unknown", "refuse")
        if treatment == "refuse":
            return None
        tables = {name: source.frequencies([name]) for name in plan.hierarchies if name in source.columns}
        lines = {name: unknown_lines(table, {name: plan.hierarchies[name]}) for name, table in tables.items()}
        rows = {name: int(tables[name].counts[found[name]].sum()) for name, found in lines.items() if found}
        return treatment, rows

    def require_policy(self) -> None:
        """Refuse a requirement that only a randomized method can meet."""
        if self.budgets:
            raise PolicyError(
                f"{self.budgets[0]}: no generalization meets it; name a randomized method under anonymize"
            )

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse quasi-identifiers without a hierarchy, and a hierarchy for the constant column."""
        self.require_policy()
        lacking = [
            name for name in self.rules.columns("quasi_identifier") if name not in self.hierarchies and name != constant
        ]
        if lacking:
            raise PolicyError(
                f"to generalize, these columns need a hierarchy in the policy: {', '.join(lacking)}. For example "
                f"`{lacking[0]}: {{role: quasi_identifier, hierarchy: {{tree: {{group: [value, ...]}}}}}}`, with the "
                "column's own groups and values; `privacy-plugin init --reveal` lists the values of short columns"
            )
        if constant in self.hierarchies:
            raise PolicyError(f"{constant!r} is the partition column; it cannot have a hierarchy too")


class RandomizedMethod(Anonymizer):
    """A method that draws a table at random; every draw spends privacy budget, also if the table is refused later.

    Whatever can be refused is refused first. Then the budget is reserved, the table drawn and staged, and the spend
    committed with the fingerprint of the staged content; only then does the table replace the target.
    """

    supplied = ("data", "hierarchies", "columns", "generator", "ledger", "dataset")
    makes = "drawn"
    doing = "preparing the draw"
    done = "drawn at random within its privacy budget"
    spends_budget = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are drawn: all that are released, but a constant one."""
        return tuple(name for name in self.rules.released if name != self.constant)

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of the source that the release is made of."""
        return self.rules.released

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What one draw spends for a row."""

    @property
    def spend(self) -> Cost:
        """What one draw spends, for a person where the policy bounds the rows of a person."""
        return self.cost if self.rules.rows_a_person is None else self.cost.of_people(self.rules.rows_a_person)

    def released_roles(self) -> Mapping[str, str]:
        """Return the roles of the columns; drawn rows belong to no person, so that the unit is left out."""
        return {name: "identifier" if role == "unit" else role for name, role in self.rules.roles.items()}

    def frequencies(self, source: Source, columns: Sequence[str], generator: Any) -> FrequencyTable:
        """Count the rows to draw from: at most so many of every person, where the policy bounds them."""
        unit, rows = self.rules.unit, self.rules.rows_a_person
        if unit is None or rows is None:
            return source.frequencies(columns)
        table = source.frequencies([*columns, unit])
        table.require_rows()
        return draw_rows_of_people(table, unit=unit, rows=rows, generator=generator)

    @abstractmethod
    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], DrawnResult]:
        """Refuse whatever the draw would refuse, before budget is spent, and return the function that draws."""

    @abstractmethod
    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return tables that together hold every value the draw can produce, to test that they can be written."""

    def unmet(self, spent_at: Callable[[Fraction], Budget]) -> Requirement | None:
        """Return a requirement on the privacy budget that the spend at its delta does not meet, or None."""
        for requirement in self.budgets:
            if requirement.options["privacy_unit"] == self.spend.unit:
                allowed = exact(requirement.options.get("delta", 0))
                spent = spent_at(allowed)
                value = spent.epsilon if spent.delta <= allowed else math.inf
                stated = Measurement(metric=requirement.metric, value=value, parameters={}, rows=0, classes=0)
                if not requirement.limit.holds(stated):
                    return requirement
        return None

    def require_policy(self) -> None:
        """Refuse a policy without a budget requirement in the unit of the method, or with one that a draw exceeds."""
        if self.rules.people:
            raise PolicyError(f"{self.name} cannot make one row a person with people; use rows_a_person: 1")
        if self.rules.unit is not None and self.rules.rows_a_person is None:
            raise PolicyError(
                f"{self.name} protects one row, and people by {self.rules.unit!r} may have several; add rows_a_person: "
                "at most how many rows of a person are drawn from"
            )
        try:
            cost = self.spend
            budget = cost.budget
        except ParameterError as problem:
            raise PolicyError(f"anonymize: {problem}") from None
        if not any(requirement.options["privacy_unit"] == cost.unit for requirement in self.budgets):
            raise PolicyError(
                f"{self.name} spends privacy budget ({cost}); add a requirement that limits it, such as "
                f"privacy_budget: {{at_most: {written(budget.epsilon)}, delta: {written(budget.delta)}, "
                f"privacy_unit: {cost.unit}}}"
            )
        unmet = self.unmet(lambda _: budget)  # as stated: no one draw may state more than the policy allows
        if unmet is not None:
            raise PolicyError(f"anonymize: {self.name} spends {cost}, which alone does not meet {unmet}")

    def hold_constant(self, column: str | None) -> "RandomizedMethod":
        """Return the method that draws every column but this one, and writes its one value into every row.

        Drawn, it would label rows of one partition with the key of another, and the gate would not notice.
        """
        if column not in self.rules.released:
            return self
        options = dict(self.options)
        for name in ("domains", "epsilon"):
            if isinstance(options.get(name), Mapping):
                options[name] = {other: stated for other, stated in options[name].items() if other != column}
        return replace(self, constant=column, options=options)

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse a constant column that is the only one to draw, or that an option names."""
        self.require_policy()
        held = self.hold_constant(constant)
        if not held.columns:
            raise PolicyError(f"{constant!r} is the partition column and the only released column; there is no draw")
        interpolation = self.options.get("interpolation")
        level_of = interpolation[0] if isinstance(interpolation, list | tuple) else None  # else None or "levels"
        named = {"given": self.options.get("given"), "interpolation": level_of}
        for option, column in named.items():
            if held.constant is not None and column == constant:
                raise PolicyError(f"{constant!r} is the partition column, which is not drawn; name another {option}")
        held.require_policy()

    def run(self, source: Source, request: Request) -> Anonymized:
        """Refuse what can be refused, then reserve the budget, draw, stage, commit and write."""
        with _open_ledger(request.ledger) as ledger:
            return self._draw(source, request, ledger)

    def _draw(self, source: Source, request: Request, ledger: "BudgetLedger") -> Anonymized:
        ledger.require_apart(getattr(source, "bind", None))
        request.report("reading")
        table, complete = self._read(source, request.generator)
        draw = self.prepare(table, request.generator)
        self._require_budget(ledger)
        targets = dict.fromkeys((request.target, request.target if request.final is None else request.final))
        for rehearsal in self.rehearsals(table):
            for target in targets:
                _require_writable(source, complete(rehearsal), target)
        private = request.generator is None
        with (
            _without_retry(),
            spending(self.spend, ledger=ledger, dataset=self.rules.dataset, private=private) as spent,
        ):
            request.report("drawing")
            drawn = draw()
            released = complete(drawn.frequencies)

            def record(staged: Source) -> None:
                spent.released(released, staged, account=self._account(drawn))
                spent.commit()

            request.report("writing")
            released.require_rows()
            made = source.write_rows(released, target=request.target, verify=record)
        return Anonymized(
            made=made,
            method=self.name,
            makes=self.makes,
            left_out=_left_out(source, self.used),
            result=drawn,
            cost=self.spend,
            rows_a_person=self.rules.rows_a_person,
            remaining=ledger.remaining(dataset=self.rules.dataset, unit=self.spend.unit),
        )

    def _read(
        self, source: Source, generator: Any
    ) -> tuple[FrequencyTable, Callable[[FrequencyTable], FrequencyTable]]:
        """Return the table to draw from, and a function that adds the constant column to drawn rows."""
        if self.constant is None:
            return self.frequencies(source, self.columns, generator), lambda drawn: drawn
        whole = self.frequencies(source, self.rules.released, generator)
        whole.require_rows()
        values = whole.project([self.constant]).dictionary(self.constant)
        if len(values) > 1:
            raise ColumnError(
                f"the partition column {self.constant!r} has more than one value in this partition, and {self.name} "
                "writes one; declare it an identifier, which is left out, or partition by a column with one value"
            )
        return whole.project(self.columns), lambda drawn: self._add_constant(drawn, values[0])

    def _add_constant(self, drawn: FrequencyTable, value: Any) -> FrequencyTable:
        """Return the drawn rows with the value in the constant column, in the order of the released columns."""
        same = np.zeros(drawn.distinct, dtype=np.int64)
        return FrequencyTable.from_columns(
            self.rules.released,
            [same if name == self.constant else drawn.column_codes(name) for name in self.rules.released],
            [[value] if name == self.constant else drawn.dictionary(name) for name in self.rules.released],
            drawn.counts,
        )

    def _account(self, drawn: DrawnResult) -> dict[str, Any]:
        account = dict(drawn.account)
        assumptions = list(account.get("assumptions", ()))
        if self.constant is not None:
            assumptions.append(f"the value of {self.constant!r} is public: it names the partition, and is not drawn")
        if (rows := self.rules.rows_a_person) is not None:
            spend = self.spend
            account |= {"unit": spend.unit, "neighbours": _person_relation(spend.neighbours, rows)}
            account |= {name: float(amount) for name, amount in vars(spend.budget).items()}
            if spend.neighbours == SUBSTITUTED:
                assumptions.append(f"how many rows a person has is public, up to {rows}")
        return {**account, "assumptions": assumptions}

    def _require_budget(self, ledger: "BudgetLedger") -> None:
        """Refuse a draw whose table could not pass the gate: it would spend budget for nothing."""
        cost, dataset = self.spend, self.rules.dataset
        spent = ledger.spent(dataset=dataset, unit=cost.unit)
        after = ledger.total(dataset=dataset, unit=cost.unit).after(cost.sums, cost.neighbours)
        unmet = self.unmet(lambda delta: after.within(delta)[0])
        if unmet is not None:
            raise BudgetError(
                f"{dataset!r} has spent {spent} a {cost.unit}; after {cost.budget} more the table could not pass "
                f"{unmet}. Nothing was drawn"
            )


@contextmanager
def _without_retry() -> Iterator[None]:
    """Raise BudgetError for every failure of a draw, because Dagster retries other errors and would spend again.

    A ledger that refuses has spent nothing; its error passes unchanged.
    """
    try:
        yield
    except PrivacyPluginError as problem:
        if not isinstance(problem, SourceError):
            raise
        raise BudgetError(f"{problem}; no table was written, and the budget of the draw stays spent") from None
    except Exception as problem:
        raise BudgetError(
            f"the draw failed with {type(problem).__name__}; no table was written, and its budget stays spent"
        ) from problem


def _person_relation(neighbours: str, rows: int) -> str:
    """Return the neighbour relation of people, at most so many rows of whom are drawn from."""
    drawn = f"at most {rows} rows of every person were drawn at random"
    if neighbours == SUBSTITUTED:
        return f"tables that differ in all rows of one person, who has as many in both; {drawn}"
    return f"tables with and without all rows of one person; {drawn}"


class DomainMethod(RandomizedMethod):
    """A draw of any values from the columns' domains.

    A value that is in its domain only because it occurs in the data shows that it occurs, whatever the noise, and no
    budget covers that. So a policy must state where domains come from.
    """

    required_options: ClassVar[Mapping[str, str]] = {"domains": DOMAINS}

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return every value of the domains."""
        domains = [declared_domain(table, name, self.options["domains"]) for name in table.columns]
        yield table_of_all_values(table.columns, domains)


def table_of_all_values(columns: Sequence[str], domains: Sequence[Sequence[Any]]) -> FrequencyTable:
    """Return the fewest rows that hold all values of all columns; their combinations mean nothing."""
    rows = range(max(map(len, domains)))
    return FrequencyTable.from_rows(columns, [[values[row % len(values)] for values in domains] for row in rows])


def _require_writable(source: Source, rehearsal: FrequencyTable, target: str | None) -> None:
    """Raise if the target or the values cannot be written, by writing some, before budget is spent."""
    rehearse = getattr(source, "rehearse_rows", None)
    if rehearse is not None:
        rehearse(rehearsal, target=target)
        return

    def stop(_: Source) -> None:
        raise RehearsalDone

    with suppress(RehearsalDone):
        source.write_rows(rehearsal, target=target, verify=stop)


@contextmanager
def _open_ledger(given: "BudgetLedger | None") -> Iterator["BudgetLedger"]:
    if given is not None:
        yield given
        return
    with ledger_in_use() as ledger:
        yield ledger


def _left_out(source: Source, kept: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in source.columns if name not in kept)
