"""Suppression: which classes must go so that the rest meets the requirements."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.measuring import Tables, measure
from privacy_plugin.requirement import Requirement
from privacy_plugin.sources import open_source


def failing_rows(
    table: FrequencyTable,
    requirements: Sequence[Requirement],
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | None = None,
    max_suppression: float = 0.0,
    masked: bool = False,
) -> Integers:
    """Return one distinct row of every class that has to be suppressed, after checking that the rest passes.

    A class goes when its own value fails a limit. What remains is judged again as a table of its own, because some
    metrics compare a class with the whole table; only then is the suppression called sufficient. Rows that are
    `masked` instead of dropped remain, as one class of `*`.
    """
    classes = table.classes(quasi_identifiers)
    failing = np.zeros(len(classes), dtype=bool)
    causes = []
    for requirement in requirements:
        found = _failing_classes(table, requirement, quasi_identifiers, sensitive)
        causes += [f"{requirement} ({int(classes.sizes[found].sum()):,} rows)"] if found.any() else []
        failing |= found
    suppressed = int(classes.sizes[failing].sum())
    if suppressed > exact(max_suppression) * table.rows:
        raise InfeasibleError(
            f"{suppressed:,} of {table.rows:,} rows are in classes that fail {' and '.join(causes)}, "
            f"more than the suppression limit of {max_suppression:.1%}"
        )
    remaining = _remaining(table, failing[classes.members], quasi_identifiers if masked else None)
    for requirement in requirements:
        finding = requirement.judge(remaining, quasi_identifiers=quasi_identifiers, sensitive=sensitive)
        if not finding.passed:
            raise InfeasibleError(f"what remains after suppression still fails: {finding.reason}")
    return classes.example_rows[failing]


def require_share(max_suppression: float) -> None:
    """Refuse a suppression limit that is no share of the rows."""
    if isinstance(max_suppression, bool) or not isinstance(max_suppression, int | float):
        raise ParameterError(f"max_suppression must be a number from 0 to 1, not {type(max_suppression).__name__}")
    if not 0 <= max_suppression <= 1:
        raise ParameterError(f"max_suppression must lie between 0 and 1, not {max_suppression!r}")


def _failing_classes(
    table: FrequencyTable, requirement: Requirement, quasi_identifiers: Sequence[str], sensitive: str | None
) -> npt.NDArray[np.bool_]:
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": requirement.sensitive or sensitive}
    given: dict[str, Any] = {name: value for name, value in roles.items() if name in requirement.definition.roles}
    measurement = measure(requirement.definition, Tables(open_source(table)), **given, **requirement.options)
    if measurement.spread is None:  # no class of its own can be blamed: all or nothing
        return np.zeros(len(table.classes(quasi_identifiers)), dtype=bool)
    return requirement.limit.failing(measurement.spread.values)


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
