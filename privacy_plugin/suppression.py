"""Suppression: which classes must go so that the rest meets the requirements."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
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
) -> Integers:
    """Return one distinct row of every class that has to be suppressed, after checking that the rest passes.

    A class goes when its own value fails a limit. What remains is judged again as a table of its own, because some
    metrics compare a class with the whole table; only then is the suppression called sufficient.
    """
    classes = table.classes(quasi_identifiers)
    failing = np.zeros(len(classes), dtype=bool)
    for requirement in requirements:
        failing |= _failing_classes(table, requirement, quasi_identifiers, sensitive)
    suppressed = int(classes.sizes[failing].sum())
    if suppressed > max_suppression * table.rows:
        raise InfeasibleError(
            f"{suppressed:,} of {table.rows:,} rows are in classes that fail, more than the suppression limit "
            f"of {max_suppression:.1%}"
        )
    kept = _rows_kept(table, ~failing[classes.members])
    for requirement in requirements:
        finding = requirement.judge(kept, quasi_identifiers=quasi_identifiers, sensitive=sensitive)
        if not finding.passed:
            raise InfeasibleError(f"what remains after suppression still fails: {finding.reason}")
    return classes.example_rows[failing]


def _failing_classes(
    table: FrequencyTable, requirement: Requirement, quasi_identifiers: Sequence[str], sensitive: str | None
) -> npt.NDArray[np.bool_]:
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": requirement.sensitive or sensitive}
    given = {name: value for name, value in roles.items() if name in requirement.definition.roles}
    measurement = measure(requirement.definition, Tables(open_source(table)), **given, **requirement.options)
    if measurement.spread is None:  # no class of its own can be blamed: all or nothing
        return np.zeros(len(table.classes(quasi_identifiers)), dtype=bool)
    return requirement.limit.failing(measurement.spread.values)


def _rows_kept(table: FrequencyTable, kept: npt.NDArray[np.bool_]) -> FrequencyTable:
    columns = [table.codes[kept, position] for position in range(len(table.columns))]
    return FrequencyTable.from_columns(table.columns, columns, table.dictionaries, table.counts[kept])
