"""Requirements: a metric, its options and a limit; the one concept that every door shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from privacy_plugin.errors import ParameterError, PrivacyPluginError, require_columns
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import written
from privacy_plugin.frequency.values import canonical, label
from privacy_plugin.measuring.measure import measure
from privacy_plugin.metrics.measurement import Measurement, Quantity, plain
from privacy_plugin.metrics.registry import CAVEATS, Metric, find_metric
from privacy_plugin.requirements.limits import KINDS, Limit
from privacy_plugin.requirements.specification import read_option

Status = Literal["passed", "failed", "not_evaluated"]

# Options that say which of a metric's answers is asked for: told by their value alone, in titles also by default.
ANSWERS = ("variant", "statistic")


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A metric with its options and the limit it must meet.

    >>> str(require("k_anonymity", at_least=5))
    'k_anonymity at least 5'
    """

    metric: str
    limit: Limit
    options: Mapping[str, Any] = field(default_factory=dict)
    sensitive: str | None = None
    attributes: tuple[str, ...] | None = None
    origin: str | None = None

    @property
    def definition(self) -> Metric:
        """The metric's declaration."""
        return find_metric(self.metric)

    def judge(
        self,
        data: Any,
        *,
        quasi_identifiers: Sequence[str] | None = None,
        sensitive: str | None = None,
        attributes: Sequence[str] | None = None,
        population: Any = None,
        unit: str | None = None,
    ) -> "Finding":
        """Measure and hold against the limit; whatever prevents a measurement closes the gate with its reason."""
        given = {
            "quasi_identifiers": quasi_identifiers,
            "sensitive": self.sensitive or sensitive,
            "attributes": self.attributes or attributes,
        }
        roles: dict[str, Any] = {name: value for name, value in given.items() if name in self.definition.roles}
        others = population if self.definition.needs_population else None
        unit = None if self.definition.kind == "utility" else unit  # who uses a table counts its rows
        try:
            measurement = measure(self.definition, data, population=others, unit=unit, **roles, **self.options)
        except PrivacyPluginError as problem:
            return self._closed(str(problem))
        except Exception as problem:  # noqa: BLE001  a gate that errs is shut; a driver's text may quote the data
            return self._closed(f"measuring failed with {type(problem).__name__}")
        return self._held_against(measurement)

    def _closed(self, reason: str) -> "Finding":
        return Finding(requirement=self, status="not_evaluated", reason=f"{self}: not evaluated: {reason}")

    def _held_against(self, measurement: Measurement) -> "Finding":
        passed = self.limit.holds(measurement)
        return Finding(
            requirement=self,
            status="passed" if passed else "failed",
            reason=_passed_words(self, measurement) if passed else _failed_words(self, measurement),
            measurement=measurement,
            people_affected=None if passed else _people_affected(self, measurement),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the requirement as a policy writes it."""
        writes = self.definition.writes
        options = {name: writes.get(name, _written)(value) for name, value in self.options.items()}
        named: dict[str, Any] = {"sensitive": self.sensitive} if self.sensitive else {}
        named |= {"attributes": list(self.attributes)} if self.attributes else {}
        return {self.metric: {**options, **named, **self.limit.given}}

    @property
    def details(self) -> str:
        """Which of a metric's answers is asked for, as far as it was written, such as "(distinct, diagnosis)"."""
        return self._details(self.options)

    def _details(self, options: Mapping[str, Any]) -> str:
        unsaid = ("hierarchies", "roles", "dataset")  # these are the policy's own, and said there
        stated = [_stated(name, value) for name, value in options.items() if name not in unsaid]
        stated += [self.sensitive] if self.sensitive else []
        stated += self.attributes or ()
        return f"({', '.join(stated)})" if stated else ""

    @property
    def title(self) -> str:
        """The metric in words, with which of its answers is asked for, written or by default."""
        known = self.definition.options
        defaults = {name: known[name].default for name in ANSWERS if name in known}
        return f"{self.definition.title} {self._details({**defaults, **self.options})}".rstrip()

    def __str__(self) -> str:
        return f"{self.metric}{self.details} {self.limit}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What came of one requirement."""

    requirement: Requirement
    status: Status
    reason: str
    measurement: Measurement | None = None
    people_affected: int | None = None

    @property
    def passed(self) -> bool:
        """Whether the requirement is met; not evaluated is not passed."""
        return self.status == "passed"

    @property
    def value(self) -> Quantity | None:
        """The measured value, or None where nothing could be measured."""
        return self.measurement.value if self.measurement else None

    @property
    def limit(self) -> Limit:
        """The limit the value was held against."""
        return self.requirement.limit

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data for every door."""
        return {
            "requirement": str(self.requirement),
            "metric": self.requirement.metric,
            "title": self.requirement.definition.title,
            "kind": self.requirement.definition.kind,
            "limit": self.limit.given,
            "status": self.status,
            "passed": self.passed,
            "value": plain(self.value),
            "reason": self.reason,
            "people_affected": self.people_affected,
            "origin": self.requirement.origin,
            "measurement": self.measurement.to_dict(reveal=reveal) if self.measurement else None,
        }


def with_hierarchies(requirement: Requirement, hierarchies: Mapping[str, Hierarchy]) -> Requirement:
    """Let a metric that asks what generalized values stand for know the columns' hierarchies, unless it was told."""
    if not hierarchies or "hierarchies" not in requirement.definition.options or "hierarchies" in requirement.options:
        return requirement
    return replace(requirement, options={**requirement.options, "hierarchies": hierarchies})


def require(
    metric: str,
    *,
    sensitive: str | None = None,
    attributes: Sequence[str] | None = None,
    origin: str | None = None,
    **given: Any,
) -> Requirement:
    """Make a requirement: a metric's name, its options, and one limit.

    Limits: `at_least`, `above` (where higher is safer), `at_most`, `below` (where lower is), `between=(low, high)`.
    An audit may name the `attributes` it compares; what a privacy metric looks at follows from the columns' roles.
    Everything is checked here, before data is read.
    """
    for name, text in {"metric": metric, "sensitive": sensitive, "origin": origin}.items():
        if not isinstance(text, str) and (text is not None or name == "metric"):
            raise ParameterError(f"{name} must be text, not {type(text).__name__}")
    definition = find_metric(metric)
    limits = {name: value for name, value in given.items() if name in KINDS}
    options = {name: read_option(name, value) for name, value in given.items() if name not in KINDS}
    definition.require_options(options)
    if sensitive is not None and "sensitive" not in definition.roles:
        raise ParameterError(f"{metric} looks at no sensitive column; leave sensitive out")
    return Requirement(
        metric=metric,
        limit=Limit.parse(definition, limits),
        options=options,
        sensitive=sensitive,
        attributes=_own_attributes(definition, attributes),
        origin=origin,
    )


def _own_attributes(definition: Metric, named: Sequence[str] | None) -> tuple[str, ...] | None:
    """Read the columns a requirement names itself; fewer than the roles name would make a privacy metric look safer."""
    if named is None:
        return None
    if definition.kind == "privacy" or "attributes" not in definition.roles:
        raise ParameterError(f"{definition.name} looks at the columns that the roles name; leave attributes out")
    if isinstance(named, str) or not isinstance(named, Sequence):
        raise ParameterError(f"attributes must be a list of column names, not {type(named).__name__}")
    require_columns(named, named, role="attributes")
    return tuple(named)


def _stated(name: str, value: Any) -> str:
    if isinstance(value, Hierarchy):
        return f"{name}=hierarchy"
    nested = isinstance(value, list | tuple) and any(isinstance(item, list | tuple) for item in value)
    if nested or not isinstance(value, bool | int | float | str | Fraction | list | tuple):  # such as marginals
        return f"{name} given"
    return str(value) if name in ANSWERS else f"{name}={plain(value)}"


def _written(value: Any) -> Any:
    """Write an option as plain data that reads back as the same option."""
    if isinstance(value, Mapping):
        return {label(canonical(name)): _written(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    return written(value) if isinstance(value, Fraction) else plain(value)


def _people_affected(requirement: Requirement, measurement: Measurement) -> int | None:
    if measurement.spread is None:
        return None
    return measurement.spread.people_where(requirement.limit.failing(measurement.spread.values))


def shown(value: Quantity | str) -> str:
    """Write a value for people: whole numbers whole, others to four digits; "infinite" is a word already."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{float(value):.4g}"


def found(measurement: Measurement, limit: Limit) -> str:
    """Write what was found: one value, or both ends where both are held against a limit."""
    if limit.kind == "between" and measurement.lowest != measurement.highest:
        return f"{shown(measurement.lowest)} to {shown(measurement.highest)}"
    return shown(measurement.value)


def _passed_words(requirement: Requirement, measurement: Measurement) -> str:
    definition = requirement.definition
    caveat = f" {CAVEATS[definition.kind]}" if definition.kind in CAVEATS else ""
    caveat += f" {measurement.reason}" if measurement.reason else ""
    return (
        f"{requirement.title} is {found(measurement, requirement.limit)}, {requirement.limit} was required "
        f"({looked_at(definition, measurement)}).{caveat}"
    )


_PEOPLE = {False: ("person", "people"), True: ("appearance of a person", "appearances of people")}


def looked_at(definition: Metric, measurement: Measurement) -> str:
    """Say what a metric looked at: people in classes, or rows where nobody stands behind a row."""
    if definition.kind == "privacy":
        return f"{counted_people(measurement)} in {_counted(measurement.classes, 'class', 'classes')}"
    return _counted(measurement.rows, "row", "rows")


def counted_people(measurement: Measurement) -> str:
    """Say how many people were looked at; by a unit one may be in several classes, and counts once in each."""
    return _counted(measurement.rows, *_PEOPLE[measurement.parameters.get("unit") is not None])


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _failed_words(requirement: Requirement, measurement: Measurement) -> str:
    definition = requirement.definition
    affected = _people_affected(requirement, measurement)
    share = f"{affected / measurement.rows:.1%}" if affected is not None else ""
    who = f" {affected:,} of {counted_people(measurement)} ({share}) do not meet it." if affected is not None else ""
    why = f" {measurement.reason}" if measurement.reason else ""
    return (
        f"{requirement.title} is {found(measurement, requirement.limit)}, {requirement.limit} is required.{who}{why} "
        f"{definition.whom} {attack(requirement, measurement)}. To fix it: {definition.remedy}."
    )


def attack(requirement: Requirement, measurement: Measurement) -> str:
    """Return what the metric's attacker can do where the requirement fails, with the columns and the limit."""
    roles = {
        name: _listed(measurement.parameters.get(name)) for name in ("quasi_identifiers", "sensitive", "attributes")
    }
    limit = " and ".join(str(bound) for bound in _flat(requirement.limit.given))
    return requirement.definition.attacker.format(limit=limit, **roles)


def _listed(names: Any) -> str:
    return names if isinstance(names, str) else ", ".join(names or ())


def _flat(given: dict[str, Any]) -> list[Any]:
    (value,) = given.values()
    return value if isinstance(value, list) else [value]
