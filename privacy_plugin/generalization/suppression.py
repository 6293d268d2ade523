"""Suppression: which classes must go so that the rest meets the requirements."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.measuring.measure import Tables, measure
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.requirements.requirement import Requirement
from privacy_plugin.sources import open_source


def failing_rows(
    table: FrequencyTable,
    requirements: Sequence[Requirement],
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | None = None,
    attributes: Sequence[str] | None = None,
    population: Tables | None = None,
    max_suppression: float | Fraction = 0.0,
    masked: bool = False,
) -> Integers:
    """Return one distinct row of every class that has to be suppressed, after checking that the rest passes.

    A class goes when its own value fails a limit. Where classes depend on each other (maximum disclosure), those that
    fail alone go first: one person in a class of their own exposes everybody else, until they are gone. t-closeness
    compares with all rows that there were. What remains is judged again as a table of its own; only then is the
    suppression called sufficient. Rows that are `masked` instead of dropped remain, as one class of `*`. The population
    stays as it is.
    """
    roles: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "attributes": attributes}
    allowed = most_suppressed(max_suppression, table.rows)
    classes = _FailingClasses(table=table, quasi_identifiers=quasi_identifiers)
    seen: list[tuple[Measurement | None, int]] = []  # what was measured, with how many rows suppressed
    for requirement in requirements:
        measurement = _measured(table, alone(requirement) if allowed else requirement, roles, population)
        classes.add(requirement, measurement, np.arange(len(classes.failing)))
        seen.append((measurement, 0))
    for position, requirement in enumerate(requirements):
        left = np.flatnonzero(~classes.failing)
        if allowed and alone(requirement) is not requirement:
            measurement = _measured(classes.remaining(), requirement, roles, population) if len(left) else None
            seen[position] = measurement, classes.suppressed
            classes.add(requirement, measurement, left)
    if classes.suppressed > allowed:
        raise InfeasibleError(
            f"{classes.suppressed:,} of {table.rows:,} rows are in classes that fail {classes.causes}, "
            f"more than the suppression limit of {float(max_suppression):.1%}"
        )
    remaining = classes.remaining(masked=masked)
    for requirement, (measurement, gone) in zip(requirements, seen, strict=True):
        known = gone == classes.suppressed and not (masked and gone)
        if known and measurement is not None and requirement.limit.holds(measurement):
            continue  # what was measured is what remains
        finding = requirement.judge(remaining, **roles, population=population)
        if not finding.passed:
            raise InfeasibleError(f"what remains after suppression still fails: {finding.reason}")
    return classes.example_rows


class _FailingClasses:
    """The classes of a table that have to be suppressed, and why."""

    def __init__(self, *, table: FrequencyTable, quasi_identifiers: Sequence[str]) -> None:
        self._table, self._columns = table, quasi_identifiers
        self.classes = table.classes(quasi_identifiers)
        self.failing: npt.NDArray[np.bool_] = np.zeros(len(self.classes), dtype=bool)
        self._rows: dict[str, int] = {}

    @property
    def example_rows(self) -> Integers:
        """One distinct row of each of them."""
        return self.classes.example_rows[self.failing]

    @property
    def suppressed(self) -> int:
        """How many rows are in those classes."""
        return int(self.classes.sizes[self.failing].sum())

    @property
    def causes(self) -> str:
        """What they fail, and how many rows fail it."""
        return " and ".join(f"{requirement} ({rows:,} rows)" for requirement, rows in self._rows.items())

    def add(self, requirement: Requirement, measurement: Measurement | None, measured: Integers) -> None:
        """Mark the classes that fail a requirement, given the numbers of the classes that were measured."""
        if measurement is None or measurement.spread is None:
            return  # no single class is at fault: all or nothing
        # The classes of the table come first; people of the population in none of them have no rows to suppress.
        found = measured[requirement.limit.failing(measurement.spread.values[: len(measured)])]
        if len(found):
            self.failing[found] = True
            self._rows[str(requirement)] = self._rows.get(str(requirement), 0) + int(self.classes.sizes[found].sum())

    def remaining(self, *, masked: bool = False) -> FrequencyTable:
        """Return the table without the rows of those classes, or with `*` in their quasi-identifiers."""
        if not self.failing.any():
            return self._table
        return _remaining(self._table, self.failing[self.classes.members], self._columns if masked else None)


def alone(requirement: Requirement) -> Requirement:
    """Return what to ask of every class by itself, where the requirement lets classes depend on each other."""
    stricter = {**requirement.options, **requirement.definition.alone}
    return requirement if stricter == requirement.options else replace(requirement, options=stricter)


def most_suppressed(max_suppression: float | Fraction, rows: int) -> int:
    """Return how many rows may be suppressed, the share read as it is written.

    >>> most_suppressed(0.29, 100)
    29
    """
    return int(exact(max_suppression) * rows)


def require_share(max_suppression: float) -> None:
    """Raise unless the suppression limit is a share of the rows."""
    if isinstance(max_suppression, bool) or not isinstance(max_suppression, int | float):
        raise ParameterError(f"max_suppression must be a number from 0 to 1, not {type(max_suppression).__name__}")
    if not 0 <= max_suppression <= 1:
        raise ParameterError(f"max_suppression must lie between 0 and 1, not {max_suppression!r}")


def _measured(
    table: FrequencyTable, requirement: Requirement, roles: dict[str, Any], population: Tables | None
) -> Measurement | None:
    """Measure the table as it is, by a metric that knows classes; others are asked only of what remains."""
    definition = requirement.definition
    if "quasi_identifiers" not in definition.roles:
        return None
    given = {name: value for name, value in roles.items() if name in definition.roles}
    if "sensitive" in given:
        given["sensitive"] = requirement.sensitive or given["sensitive"]
    others = population if definition.needs_population else None
    return measure(definition, Tables(open_source(table)), population=others, **given, **requirement.options)


def masked_rows(table: FrequencyTable, example_rows: Integers, quasi_identifiers: Sequence[str]) -> FrequencyTable:
    """Return the table with `*` in the quasi-identifiers of some classes, given one distinct row of each."""
    members = table.classes(quasi_identifiers).members
    gone = np.isin(members, members[example_rows])
    return _remaining(table, gone, quasi_identifiers)


def rows_without(table: FrequencyTable, example_rows: Integers, quasi_identifiers: Sequence[str]) -> FrequencyTable:
    """Return the table without some classes, given one distinct row of each."""
    members = table.classes(quasi_identifiers).members
    return _remaining(table, np.isin(members, members[example_rows]), None) if len(example_rows) else table


def _remaining(table: FrequencyTable, gone: npt.NDArray[np.bool_], masked: Sequence[str] | None) -> FrequencyTable:
    """Return the table without the rows that are gone, or with `*` in their masked columns."""
    columns, dictionaries = [], []
    for position, name in enumerate(table.columns):
        codes, dictionary = table.codes[:, position], table.dictionaries[position]
        if masked is not None and name in masked:
            codes, dictionary = np.where(gone, len(dictionary), codes).astype(np.int32), (*dictionary, SUPPRESSED)
        columns.append(codes)
        dictionaries.append(dictionary)
    if masked is not None:
        return FrequencyTable.from_columns(table.columns, columns, dictionaries, table.counts)
    return FrequencyTable.from_columns(table.columns, [c[~gone] for c in columns], dictionaries, table.counts[~gone])
