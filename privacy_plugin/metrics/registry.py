"""The registry of metrics: each declares what a gate, a search and a report need, by its formula.

Declaring a metric makes it a public function, a requirement, a policy line, an expectation, an asset check
and a row of the report; none of these keeps a list of its own.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.metrics.class_rules import ClassCondition, ClassLimit
from privacy_plugin.metrics.measurement import Measurement

Safer = Literal["higher", "lower", "between"]
Kind = Literal["privacy", "audit", "utility"]
CountsPeople = Literal["", "sizes", "one_value", "sets", "shares", "one_class", "union"]
ClassRuleOf = Callable[[ClassLimit], ClassCondition | None]
Axis = str | Callable[[Mapping[str, Any]], str]
LargestLimit = float | Callable[[Mapping[str, Any]], float | None] | None

# The arguments that name columns or tables; the caller or the policy's roles supply them, not the limit.
ROLES = ("quasi_identifiers", "sensitive", "attributes")

# How a metric may use the second table, which every interface passes as `population`, by the name of its argument.
SECOND_TABLES = {
    "population": "the population the people were drawn from",
    "original": "the original table that this one was made from",
}

# What a pass of an audit or a utility metric does not mean.
CAVEATS = {
    "audit": "This is an audit: it can find a leak, and finding none does not show that there is none.",
    "utility": "This says how useful the table is, and nothing about privacy.",
}

# Arguments that the caller of a metric supplies: a second table, a progress callback, the ledger's account, the rows
# that are people, and what the release history knows.
_HISTORY = ("joint_classes", "earlier")
_SURROUNDINGS = (*SECOND_TABLES, "progress", "account", "people", *_HISTORY)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric and its declaration."""

    name: str
    title: str
    safer: Safer
    measure: Callable[..., Measurement]
    attacker: str
    remedy: str
    paper: str
    axis: Axis
    shows: str
    hides: str
    picture: str | None = None
    kind: Kind = "privacy"
    ordered: bool = False
    counts_people: CountsPeople = ""
    monotone: bool = False
    class_wise: bool = False
    class_rule: ClassRuleOf | None = None
    refutes: Callable[..., bool] | None = None
    alone: Mapping[str, Any] = field(default_factory=dict)
    smallest: float | None = None
    largest: LargestLimit = None
    check: Callable[..., None] | None = None
    caution: Callable[[Mapping[str, Any]], str] | None = None
    writes: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, Any] | None = None

    def largest_limit(self, options: Mapping[str, Any]) -> float | None:
        """Return the largest limit that makes sense with these options, or None."""
        return self.largest(options) if callable(self.largest) else self.largest

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles whose columns are grouped, in order."""
        return tuple(name for name in ROLES if name in inspect.signature(self.measure).parameters)

    @property
    def second_table(self) -> str | None:
        """How the metric uses a second table: one of `SECOND_TABLES`, or None."""
        return next((name for name in SECOND_TABLES if name in inspect.signature(self.measure).parameters), None)

    @property
    def needs_population(self) -> bool:
        """Whether the metric compares with a second table."""
        return self.second_table is not None

    @property
    def compared_roles(self) -> tuple[str, ...]:
        """The roles whose columns the second table has: a population has no sensitive values."""
        return ("quasi_identifiers",) if self.second_table == "population" else self.roles

    @property
    def whom(self) -> str:
        """The subject of the sentence in `attacker`."""
        return "An analyst" if self.kind == "utility" else "An attacker"

    def axis_of(self, parameters: Mapping[str, Any]) -> str:
        """Return what the value of a class is called on a chart, given the measurement's parameters."""
        return self.axis.format_map(parameters) if isinstance(self.axis, str) else self.axis(parameters)

    @property
    def needs_ledger(self) -> bool:
        """Whether the metric asks the budget ledger about the whole table, all columns of it."""
        return "account" in inspect.signature(self.measure).parameters

    @property
    def follows_people(self) -> bool:
        """Whether the metric asks the release history about the people of the table, by a unit column."""
        return "joint_classes" in inspect.signature(self.measure).parameters

    @property
    def needs_history(self) -> bool:
        """Whether the metric asks the release history about earlier releases of the dataset."""
        return any(name in inspect.signature(self.measure).parameters for name in _HISTORY)

    @property
    def uses_added_rows(self) -> bool:
        """Whether the metric uses the rows that a repair added, and still counts people only."""
        return "people" in inspect.signature(self.measure).parameters

    @property
    def reports_progress(self) -> bool:
        """Whether the metric can say how far it has come."""
        return "progress" in inspect.signature(self.measure).parameters

    @property
    def options(self) -> Mapping[str, inspect.Parameter]:
        """The parameters that belong to the metric itself, such as a variant."""
        given = list(inspect.signature(self.measure).parameters.items())[1:]
        return {name: option for name, option in given if name not in (*ROLES, *_SURROUNDINGS)}

    def refuse_symbols(self, given: Iterable[str]) -> None:
        """Raise for a letter of a paper, naming the option or limit that it is here."""
        for letter in given:
            if letter in self.symbols and letter not in self.options:
                raise ParameterError(f"{self.name} has no option {letter!r}; write {self.symbols[letter]} instead")

    def require_options(self, given: Mapping[str, Any]) -> None:
        """Raise if an option is misspelt, missing or invalid, before any data is read."""
        self.refuse_symbols(given)
        for name in given:
            if name not in self.options:
                raise ParameterError(unknown_name(f"option of {self.name}", name, self.options))
        lacking = [n for n, o in self.options.items() if o.default is inspect.Parameter.empty and n not in given]
        if lacking:
            raise ParameterError(f"{self.name} needs {', '.join(lacking)}")
        if self.check is not None:
            self.check(**given)


_METRICS: dict[str, Metric] = {}


def metric(
    *,
    title: str,
    safer: Safer,
    attacker: str,
    remedy: str,
    paper: str,
    axis: Axis = "",
    shows: str = "",
    hides: str = "",
    picture: str | None = None,
    kind: Kind = "privacy",
    ordered: bool = False,
    counts_people: CountsPeople = "",
    monotone: bool = False,
    class_wise: bool = False,
    class_rule: ClassRuleOf | None = None,
    refutes: Callable[..., bool] | None = None,
    alone: Mapping[str, Any] | None = None,
    smallest: float | None = None,
    largest: LargestLimit = None,
    check: Callable[..., None] | None = None,
    caution: Callable[[Mapping[str, Any]], str] | None = None,
    writes: Mapping[str, Callable[[Any], Any]] | None = None,
    called: Mapping[str, str] | None = None,
    symbols: Mapping[str, str] | None = None,
    implied: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Measurement]], Callable[..., Measurement]]:
    """Declare a pure function of frequency tables as a metric of its own name.

    - `axis`: what the value of a class is called on a chart; it may name parameters, as in "values of {sensitive}".
    - `shows`, `hides`: what a passed requirement means, and what it does not.
    - `picture`: one of the report's special pictures (`report.findings.PICTURES`).
    - `kind`: a privacy metric limits what an attacker can do, an audit can only find that something went wrong, a
      utility metric does not protect anyone.
    - `ordered`: its attributes mean different things, so that the caller must name them.
    - `counts_people`: how it counts people who have several rows, found by a unit column. "sizes": by class sizes.
      "one_value": where everybody has one sensitive value. "sets": with any number of values. "shares": the same, from
      how many people of a class have each value. "one_class": where everybody is in one class, with one value.
      "union": a person has the values of all their rows. "": not at all.
    - `monotone`: merging classes never makes it worse, so a lattice search may prune.
    - `class_wise`: it needs the histogram of every class, and not which class that is; it is then measured from
      `ClassProfiles` where a table is large. It must be monotone, so that a class split in two errs to the unsafe side.
    - `class_rule`: takes a limit and returns what it requires of every class, or None where no class can be judged by
      itself; a lattice search then counts the failing classes of all nodes at once, and measures only what the
      condition does not decide.
    - `refutes`: takes a frequency table, the bound of a limit and the metric's arguments, and returns True only if the
      limit surely fails; a search asks it before it measures, where that is quicker.
    - `alone`: the options with which a class depends on no other and is never worse than together with others: a class
      that fails so has to be suppressed whatever else is.
    - `smallest`, `largest`: the limits that make sense; the largest may depend on the options.
    - `check`: takes the metric's options and raises for those that make no sense, before data is read.
    - `caution`: takes the metric's options and returns what every verdict has to say about a requirement with them, or
      an empty string.
    - `writes`: how an option that is not plain data is written as such, so that policies and suites can hold it.
    - `called`: the names that the public function has for roles, such as {"attributes": "columns"}.
    - `symbols`: the letters of the papers and the option or limit that each one is here, such as {"k": "at_least"}.
    - `implied`: the only limit that makes sense, such as {"at_most": 0}; a requirement need not write it.
    """

    def declare(function: Callable[..., Measurement]) -> Callable[..., Measurement]:
        name = function.__name__
        if name in _METRICS:
            raise ParameterError(f"a metric named {name!r} is already declared")
        _METRICS[name] = Metric(
            name=name,
            title=title,
            safer=safer,
            measure=function,
            attacker=attacker,
            remedy=remedy,
            paper=paper,
            axis=axis or title,
            shows=shows or f"The table meets the limit on {title} as defined by {paper}.",
            hides=hides or "The definition covers no attacker who knows more than it assumes.",
            picture=picture,
            kind=kind,
            ordered=ordered,
            counts_people=counts_people,
            monotone=monotone,
            class_wise=class_wise,
            class_rule=class_rule,
            refutes=refutes,
            alone=alone or {},
            smallest=smallest,
            largest=largest,
            check=check,
            caution=caution,
            writes=writes or {},
            called=called or {},
            symbols=symbols or {},
            implied=implied,
        )
        return function

    return declare


def metrics() -> Mapping[str, Metric]:
    """Return every declared metric by name: one file, or one folder, of this room each."""
    package = importlib.import_module("privacy_plugin.metrics")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"privacy_plugin.metrics.{module.name}")
    return dict(sorted(_METRICS.items()))


def find_metric(name: str) -> Metric:
    """Return a metric by name, or raise with the valid names."""
    known: Mapping[str, Metric] = _METRICS
    if name not in known and isinstance(name, str) and name.isidentifier():  # most metrics have a module of their name
        with suppress(ModuleNotFoundError):
            importlib.import_module(f"privacy_plugin.metrics.{name}")
    if name not in known:
        known = metrics()
    if name not in known:
        raise ParameterError(unknown_name("metric", str(name), known))
    return known[name]
