"""Suppression: which classes must go so that the rest meets the requirements."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, InfeasibleError, ParameterError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.measuring import Tables, measure
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.requirement import Requirement
from privacy_plugin.sources import Source, open_source


def failing_rows(
    table: FrequencyTable,
    requirements: Sequence[Requirement],
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | None = None,
    attributes: Sequence[str] | None = None,
    population: Tables | None = None,
    max_suppression: float = 0.0,
    masked: bool = False,
) -> Integers:
    """Return one distinct row of every class that has to be suppressed, after checking that the rest passes.

    A class goes when its own value fails a limit. What remains is judged again as a table of its own, because some
    metrics compare a class with the whole table; only then is the suppression called sufficient. Rows that are
    `masked` instead of dropped remain, as one class of `*`. The population stays as it is.
    """
    roles: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "attributes": attributes}
    classes = table.classes(quasi_identifiers)
    failing = np.zeros(len(classes), dtype=bool)
    measured = [_measured(table, requirement, roles, population) for requirement in requirements]
    causes = []
    for requirement, measurement in zip(requirements, measured, strict=True):
        found = _failing_classes(requirement, measurement, len(classes))
        causes += [f"{requirement} ({int(classes.sizes[found].sum()):,} rows)"] if found.any() else []
        failing |= found
    suppressed = int(classes.sizes[failing].sum())
    if suppressed > most_suppressed(max_suppression, table.rows):
        raise InfeasibleError(
            f"{suppressed:,} of {table.rows:,} rows are in classes that fail {' and '.join(causes)}, "
            f"more than the suppression limit of {max_suppression:.1%}"
        )
    remaining = table
    if suppressed:
        remaining = _remaining(table, failing[classes.members], quasi_identifiers if masked else None)
    for requirement, measurement in zip(requirements, measured, strict=True):
        if not suppressed and measurement is not None and requirement.limit.holds(measurement):
            continue  # nothing is gone: what was measured is what remains
        finding = requirement.judge(remaining, **roles, population=population)
        if not finding.passed:
            raise InfeasibleError(f"what remains after suppression still fails: {finding.reason}")
    return classes.example_rows[failing]


def needed_columns(
    quasi_identifiers: Sequence[str],
    requirements: Sequence[Requirement],
    *,
    sensitive: str | None,
    attributes: Sequence[str] | None,
) -> list[str]:
    """Return the columns that have to be grouped: quasi-identifiers first, then what requirements look at besides."""
    asked = {r.sensitive or sensitive for r in requirements if "sensitive" in r.definition.roles}
    if None in asked:
        raise ParameterError("a requirement looks at a sensitive column; name it with sensitive=")
    for name in asked & {*quasi_identifiers}:
        raise ColumnError(f"column {name!r} cannot be both a quasi-identifier and the sensitive column")
    asked |= {*(attributes or ())} if any("attributes" in r.definition.roles for r in requirements) else set()
    return [*quasi_identifiers, *sorted(str(name) for name in asked if name not in quasi_identifiers)]


def grouped(
    source: Source, columns: Sequence[str], unit: str | None, requirements: Sequence[Requirement]
) -> FrequencyTable:
    """Group a source; with a unit count people, each of whom must be in one group only.

    Numbers of people add up when classes merge only if nobody is in two of them. That is so exactly when the numbers of
    all groups add up to the number of people.
    """
    require_columns(columns, source.columns)
    if unit is None:
        return source.frequencies(columns)
    require_columns([unit], source.columns, role="unit")
    for requirement in requirements:
        if not requirement.definition.counts_people:
            raise ParameterError(
                f"{requirement.metric} is defined for one row a person and cannot count people by the unit column "
                f"{unit!r}; aggregate the table to one row a person first"
            )
    people = source.frequencies(columns, unit=unit)
    people.require_rows()
    for requirement in requirements:  # some variants of a metric refuse people too
        requirement.definition.measure(people, quasi_identifiers=columns, **requirement.options)
    if people.rows != source.frequencies([unit]).distinct:
        raise ParameterError(
            f"some people have rows in more than one combination of {', '.join(map(repr, columns))}; when those merge, "
            f"people cannot be counted from groups. Aggregate the table to one row for every {unit!r} first"
        )
    return replace(people, unit=None)


def most_suppressed(max_suppression: float, rows: int) -> int:
    """Return how many rows may be suppressed, the share read as it is written.

    >>> most_suppressed(0.29, 100)
    29
    """
    return int(exact(max_suppression) * rows)


def require_share(max_suppression: float) -> None:
    """Refuse a suppression limit that is no share of the rows."""
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


def _failing_classes(requirement: Requirement, measurement: Measurement | None, classes: int) -> npt.NDArray[np.bool_]:
    if measurement is None or measurement.spread is None:  # no class of its own can be blamed: all or nothing
        return np.zeros(classes, dtype=bool)
    # The classes of the table come first; people of the population in none of them have no rows to suppress.
    return requirement.limit.failing(measurement.spread.values[:classes])


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
