"""Requirements: a metric, its options and a limit, and the finding of judging data against it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from privacy_plugin.errors import ParameterError, PrivacyPluginError, require_columns
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import written
from privacy_plugin.frequency.values import canonical, label
from privacy_plugin.markup import notebook_table
from privacy_plugin.measuring.measure import measure
from privacy_plugin.metrics.measurement import Measurement, Quantity, plain
from privacy_plugin.metrics.registry import CAVEATS, Metric, find_metric
from privacy_plugin.requirements.limits import KINDS, Limit
from privacy_plugin.requirements.specification import parse_option

Status = Literal["passed", "failed", "not_evaluated"]

# Options that select one of several values of a metric: titles show them without their names, also by default.
SELECTORS = ("variant", "statistic")


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A metric with its options and the limit it must meet.

    >>> str(require("k_anonymity", at_least=5))
    'k_anonymity at least 5'
    """

    metric: str
    limit: Limit
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # weights and distributions name values
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
        count: str | None = None,
        added: str | None = None,
    ) -> "Finding":
        """Measure and compare with the limit; an error gives a finding that is not evaluated, with the reason."""
        given = {
            "quasi_identifiers": quasi_identifiers,
            "sensitive": self.sensitive or sensitive,
            "attributes": self.attributes or attributes,
        }
        roles: dict[str, Any] = {name: value for name, value in given.items() if name in self.definition.roles}
        others = population if self.definition.needs_population else None
        if self.definition.kind == "utility":  # who uses a table counts its rows
            unit = count = None
        try:
            measurement = measure(
                self.definition, data, population=others, unit=unit, count=count, added=added, **roles, **self.options
            )
        except PrivacyPluginError as problem:
            return self.not_evaluated(str(problem))
        except Exception as problem:  # noqa: BLE001  an error closes the gate; a driver's message may quote the data
            return self.not_evaluated(f"measuring failed with {type(problem).__name__}")
        return self._compare(measurement)

    def not_evaluated(self, reason: str) -> "Finding":
        """Return the finding that closes the gate because nothing could be measured."""
        return Finding(requirement=self, status="not_evaluated", reason=f"{self}: not evaluated: {reason}")

    def _compare(self, measurement: Measurement) -> "Finding":
        passed = self.limit.holds(measurement)
        return Finding(
            requirement=self,
            status="passed" if passed else "failed",
            reason=_passed_reason(self, measurement) if passed else _failed_reason(self, measurement),
            measurement=measurement,
            people_affected=None if passed else _people_affected(self, measurement),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the requirement as plain data, as in a policy."""
        writes = self.definition.writes
        options = {name: writes.get(name, _plain_option)(value) for name, value in self.options.items()}
        named: dict[str, Any] = {"sensitive": self.sensitive} if self.sensitive else {}
        named |= {"attributes": list(self.attributes)} if self.attributes else {}
        return {self.metric: {**options, **named, **self.limit.given}}

    @property
    def details(self) -> str:
        """The given options and columns in brackets, such as "(distinct, diagnosis)"; empty without any."""
        return self._details(self.options)

    def _details(self, options: Mapping[str, Any]) -> str:
        implied = ("hierarchies", "roles", "dataset", "requirements", "sensitive_columns")  # set by the policy
        stated = [_format_option(name, value) for name, value in options.items() if name not in implied]
        stated += [self.sensitive] if self.sensitive else []
        stated += self.attributes or ()
        return f"({', '.join(stated)})" if stated else ""

    @property
    def title(self) -> str:
        """The title of the metric with its options, including the selector's default."""
        known = self.definition.options
        defaults = {name: known[name].default for name in SELECTORS if name in known}
        return f"{self.definition.title} {self._details({**defaults, **self.options})}".rstrip()

    def __str__(self) -> str:
        return f"{self.metric}{self.details} {self.limit}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of judging data against one requirement."""

    requirement: Requirement
    status: Status
    reason: str
    measurement: Measurement | None = None
    people_affected: int | None = None

    @property
    def passed(self) -> bool:
        """Whether the requirement is met; False if it was not evaluated."""
        return self.status == "passed"

    @property
    def value(self) -> Quantity | None:
        """The measured value, or None if the requirement was not evaluated."""
        return self.measurement.value if self.measurement else None

    @property
    def limit(self) -> Limit:
        """The limit that the value was compared with."""
        return self.requirement.limit

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; with `reveal`, including values of the worst classes."""
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

    def _repr_html_(self) -> str:
        return show_findings(self.status.replace("_", " "), (self,))


def show_findings(title: str, findings: Sequence[Finding], notes: Sequence[str] = ()) -> str:
    """Return what a notebook shows of judged requirements: no value of the table."""
    rows = [
        (
            str(each.requirement),
            "" if each.measurement is None else format_measured(each.measurement, each.limit),
            each.status.replace("_", " "),
            each.reason,
        )
        for each in findings
    ]
    return notebook_table(title, ("requirement", "value", "status", "reason"), rows, notes)


def with_hierarchies(requirement: Requirement, hierarchies: Mapping[str, Hierarchy]) -> Requirement:
    """Add the columns' hierarchies to a requirement whose metric uses them, unless it has its own."""
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
    """Return a requirement: a metric's name, its options, and one limit.

    Limits: `at_least`, `above` (if higher is safer), `at_most`, `below` (if lower is safer), `between=(low, high)`.
    An audit may name the `attributes` it compares; the columns of a privacy metric follow from the column roles.
    Everything is checked here, before data is read.
    """
    for name, text in {"metric": metric, "sensitive": sensitive, "origin": origin}.items():
        if not isinstance(text, str) and (text is not None or name == "metric"):
            raise ParameterError(f"{name} must be a string, got {type(text).__name__}")
    definition = find_metric(metric)
    limits = {name: value for name, value in given.items() if name in KINDS}
    options = {name: parse_option(name, value) for name, value in given.items() if name not in KINDS}
    if "requirements" in options:
        options["requirements"] = tuple(map(_parse_requirement, options["requirements"] or ()))
    definition.require_options(options)
    if sensitive is not None and "sensitive" not in definition.roles:
        raise ParameterError(f"{metric} does not use a sensitive column; remove sensitive")
    return Requirement(
        metric=metric,
        limit=Limit.parse(definition, limits, options),
        options=options,
        sensitive=sensitive,
        attributes=_parse_attributes(definition, attributes),
        origin=origin,
    )


def _parse_requirement(given: Any) -> Requirement:
    """Return a requirement that another one is about, given as such or as plain data."""
    if isinstance(given, Requirement):
        return given
    if not isinstance(given, Mapping) or len(given) != 1:
        raise ParameterError("requirements must be a list of requirements, each one metric with its limit")
    ((name, entry),) = given.items()
    return require(name, **(entry or {}))


def _parse_attributes(definition: Metric, named: Sequence[str] | None) -> tuple[str, ...] | None:
    """Check the columns that an audit names; a privacy metric over fewer columns would look safer than it is."""
    if named is None:
        return None
    if definition.kind == "privacy" or "attributes" not in definition.roles:
        raise ParameterError(f"the columns of {definition.name} follow from the column roles; remove attributes")
    if isinstance(named, str) or not isinstance(named, Sequence):
        raise ParameterError(f"attributes must be a list of strings, got {type(named).__name__}")
    require_columns(named, named, role="attributes")
    return tuple(named)


def _format_option(name: str, value: Any) -> str:
    if isinstance(value, Hierarchy):
        return f"{name}=hierarchy"
    nested = isinstance(value, list | tuple) and any(isinstance(item, list | tuple | Mapping) for item in value)
    if nested or not isinstance(value, bool | int | float | str | Fraction | list | tuple):
        return f"{name} given"  # such as marginals, which contain values
    return str(value) if name in SELECTORS else f"{name}={plain(value)}"


def _plain_option(value: Any) -> Any:
    """Return an option as plain data that parses to the same option."""
    if isinstance(value, Mapping):
        return {label(canonical(name)): _plain_option(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_option(item) for item in value]
    return written(value) if isinstance(value, Fraction) else plain(value)


def _people_affected(requirement: Requirement, measurement: Measurement) -> int | None:
    if measurement.spread is None:
        return None
    return measurement.spread.people_where(requirement.limit.failing(measurement.spread.values))


def format_value(value: Quantity | str) -> str:
    """Format an integer with separators, any other number to four digits; text such as "infinite" stays."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{float(value):.4g}"


def format_measured(measurement: Measurement, limit: Limit) -> str:
    """Format the measured value, or both ends if a limit `between` is compared with both."""
    if limit.kind == "between" and measurement.lowest != measurement.highest:
        return f"{format_value(measurement.lowest)} to {format_value(measurement.highest)}"
    return format_value(measurement.value)


def _passed_reason(requirement: Requirement, measurement: Measurement) -> str:
    definition = requirement.definition
    caveat = f" {CAVEATS[definition.kind]}" if definition.kind in CAVEATS else ""
    caveat += f" {measurement.reason}" if measurement.reason else ""
    return (
        f"{requirement.title} is {format_measured(measurement, requirement.limit)}, {requirement.limit} was required "
        f"({describe_sample(definition, measurement)}).{caveat}"
    )


_PEOPLE = {False: ("person", "people"), True: ("appearance of a person", "appearances of people")}


def describe_sample(definition: Metric, measurement: Measurement) -> str:
    """Return what a metric measured: people in classes, or rows for metrics of generated tables."""
    if definition.kind == "privacy":
        return f"{describe_people(measurement)} in {_count(measurement.classes, 'class', 'classes')}"
    return _count(measurement.rows, "row", "rows")


def describe_people(measurement: Measurement) -> str:
    """Return the number of people; with `count: people`, a person in several classes counts once in each."""
    return _count(measurement.rows, *_PEOPLE[measurement.parameters.get("count") == "people"])


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _failed_reason(requirement: Requirement, measurement: Measurement) -> str:
    definition = requirement.definition
    affected = _people_affected(requirement, measurement)
    share = f"{affected / measurement.rows:.1%}" if affected is not None else ""
    who = f" {affected:,} of {describe_people(measurement)} ({share}) do not meet it." if affected is not None else ""
    why = f" {measurement.reason}" if measurement.reason else ""
    return (
        f"{requirement.title} is {format_measured(measurement, requirement.limit)}, {requirement.limit} is required."
        f"{who}{why} {definition.whom} {describe_attack(requirement, measurement)}. To fix it: {definition.remedy}."
    )


def describe_attack(requirement: Requirement, measurement: Measurement) -> str:
    """Return what an attacker can do if the requirement fails, with the columns and the limit."""
    roles = {
        name: _join_names(measurement.parameters.get(name)) for name in ("quasi_identifiers", "sensitive", "attributes")
    }
    limit = " and ".join(str(bound) for bound in _flat(requirement.limit.given))
    return requirement.definition.attacker.format(limit=limit, **roles)


def _join_names(names: Any) -> str:
    return names if isinstance(names, str) else ", ".join(names or ())


def _flat(given: dict[str, Any]) -> list[Any]:
    (value,) = given.values()
    return value if isinstance(value, list) else [value]
