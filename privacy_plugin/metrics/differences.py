"""Differences: what a release adds to and removes from each earlier one, judged as if it were released alone."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import HistoryError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.hierarchy_builders import DateHierarchy, IntervalHierarchy, MaskHierarchy
from privacy_plugin.frequency.values import SUPPRESSED, Value, label
from privacy_plugin.metrics.across_releases import class_wise, require_requirements
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.usability.compared_tables import domain_of

_CLASS = "class"
_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_PAIRS_ONLY = (
    "releases are compared in pairs: what combinations of three or more releases tell is not bounded; a policy with a "
    "unit can require across_releases"
)

Row = tuple[Any, ...]


def require_judgeable(
    requirements: Any = None, dataset: Any = None, hierarchies: Any = None, sensitive_columns: Any = None
) -> None:
    """Raise if a privacy requirement cannot be judged on a difference of two tables."""
    require_requirements(requirements, dataset, sensitive_columns)
    for requirement in requirements or ():
        if requirement.metric == "t_closeness" or not class_wise([requirement]):
            raise ParameterError(
                f"{requirement.metric} is not about single classes and cannot be judged on the difference of two "
                "releases; remove it or differences"
            )


@metric(
    title="rows exposed by differences of releases",
    safer="lower",
    attacker="who subtracts an earlier release from this one, or the other way round, is left with a few people who do "
    "not meet the other requirements",
    remedy="wait until enough people with different values were added or removed in each class, and keep the classes",
    paper="pairwise difference attack; Byun, Sohn, Bertino, Li 2006",
    axis="rows that do not meet a requirement",
    shows="For each earlier release, the rows that this one adds and those that it removes, class by class, meet every "
    "other requirement themselves, or there are none.",
    hides="Combinations of three or more releases: Y, XY, YZ, XYZP pass in pairs and R4 - R3 - R2 + R1 is P. A person "
    "who is replaced by another one with the same values. Releases that were not recorded.",
    implied={"at_most": 0},
    smallest=0,
    check=require_judgeable,
    writes={"requirements": lambda given: [requirement.to_dict() for requirement in given]},
)
def differences(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    earlier: Sequence[FrequencyTable],
    requirements: Any = (),
    sensitive_columns: Any = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    dataset: str | None = None,
) -> Measurement:
    """Return how many rows of a difference fail a requirement, the most of all earlier releases; 0 passes.

    For an earlier release: D+ = max(new - old, 0) and D- = max(old - new, 0), by class and sensitive value (of the
    requirements and `sensitive_columns`; in a policy all of them), on the
    finest common coarsening of the classes of both: two classes belong together if some person could be in both, by
    what the hierarchies say that their labels stand for. Where a label occurs in both releases the difference is also
    judged label by label, because an attacker subtracts what looks the same. D+ and D- are empty or meet every
    requirement, each judged as a table of its own.

    What it bounds: an attacker without knowledge about single people who subtracts one release from another. Pairs
    only: combinations of three or more releases are not bounded, and two changes that cancel are not seen; both need
    a unit and `across_releases`. A label that its hierarchy cannot explain is not evaluated. Missing values are
    values. Exact. Cost: the classes of both releases, compared pair by pair where labels differ.

    >>> from privacy_plugin.requirements.requirement import require
    >>> old, new = (FrequencyTable.from_rows(["age"], [("30-39",)], [n]) for n in (5, 6))
    >>> k2 = require("k_anonymity", at_least=2)
    >>> differences(new, quasi_identifiers=["age"], earlier=[old], requirements=[k2]).value
    1
    """
    require_judgeable(requirements, dataset, hierarchies, sensitive_columns)
    judged = class_wise(requirements)
    if not judged:
        raise ParameterError("differences needs at least one requirement about classes, such as k_anonymity")
    table.require_rows()
    affected, reasons = [0], []
    for number, old in enumerate(earlier, start=1):
        groupings = _groupings(table, old, quasi_identifiers, hierarchies or {})
        for requirement in judged:
            failing, reason = _judge_difference(requirement, table, old, quasi_identifiers, groupings)
            affected.append(failing)
            if failing:
                reasons.append(f"Compared with earlier release {number} of {len(earlier)}: {reason}")
    return Measurement(
        metric="differences",
        value=max(affected),
        parameters={"quasi_identifiers": list(quasi_identifiers), "dataset": dataset},
        rows=table.rows,
        classes=len(table.project(quasi_identifiers).counts),
        details={"earlier_releases": len(earlier)},
        reason=" ".join(reasons[:3]),
        notes=(f"compared with {len(earlier)} earlier releases", _PAIRS_ONLY),
    )


Grouping = Mapping[Row, int]


def _judge_difference(
    requirement: Any, new: FrequencyTable, old: FrequencyTable, columns: Sequence[str], groupings: Sequence[Grouping]
) -> tuple[int, str]:
    """Return how many rows of what was added or removed fail a requirement, and the reason."""
    sensitive = [requirement.sensitive] if "sensitive" in requirement.definition.roles else _others(new, columns)
    worst, why = 0, ""
    for grouping in groupings:
        counts = [_counts(table, columns, sensitive, grouping) for table in (new, old)]
        for doing, difference in (("adds", counts[0] - counts[1]), ("removes", counts[1] - counts[0])):
            if not difference:
                continue
            rows = [(number, *values) for number, values in difference]
            made = FrequencyTable.from_rows([_CLASS, *sensitive], rows, list(difference.values()))
            finding = requirement.judge(
                made, quasi_identifiers=[_CLASS], sensitive=requirement.sensitive, population=None, unit=None
            )
            if finding.status == "not_evaluated":
                raise HistoryError(f"on the difference of two releases, {finding.reason}")
            failing = 0 if finding.passed else (finding.people_affected or made.rows)
            if failing > worst:
                worst, why = failing, f"this release {doing} {made.rows:,} rows, and of these alone {finding.reason}"
    return worst, why


def _others(table: FrequencyTable, columns: Sequence[str]) -> list[str]:
    return [name for name in table.columns if name not in columns]


def _counts(
    table: FrequencyTable, columns: Sequence[str], sensitive: Sequence[str], grouping: Grouping
) -> Counter[tuple[int, Row]]:
    """Count the rows by group and sensitive values; classes outside of the grouping are left out."""
    projected = table.project([*columns, *sensitive])
    found: Counter[tuple[int, Row]] = Counter()
    for row, count in enumerate(projected.counts.tolist()):
        values = tuple(map(_plain, projected.values(row)))
        number = grouping.get(values[: len(columns)])
        if number is not None:
            found[number, values[len(columns) :]] += count
    return found


def _groupings(
    new: FrequencyTable, old: FrequencyTable, columns: Sequence[str], hierarchies: Mapping[str, Hierarchy]
) -> list[Grouping]:
    """Return the finest common coarsening of the classes of both tables, and the classes that both have."""
    lists = [_classes(table, columns) for table in (new, old)]
    common = {row: number for number, row in enumerate(sorted(set(lists[0]) & set(lists[1]), key=repr))}
    listed = [*lists[0], *(row for row in lists[1] if row not in set(lists[0]))]
    parts = {row: number for number, row in enumerate(listed)}
    roots = list(range(len(listed)))

    def root(number: int) -> int:
        while roots[number] != number:
            roots[number] = roots[roots[number]]
            number = roots[number]
        return number

    overlaps = [
        _overlaps(name, [row[p] for rows in lists for row in rows], hierarchies.get(name))
        for p, name in enumerate(columns)
    ]
    codes = [(np.array([places[_named(row[p])] for row in lists[1]]), p) for p, (places, _) in enumerate(overlaps)]
    for row in lists[0]:
        shared = np.ones(len(lists[1]), dtype=bool)
        for own, p in codes:
            places, matrix = overlaps[p]
            shared &= matrix[places[_named(row[p])]][own]
        for other in np.flatnonzero(shared).tolist():
            roots[root(parts[lists[1][other]])] = root(parts[row])
    coarse = {row: root(number) for row, number in parts.items()}
    return [coarse, common] if common else [coarse]


def _classes(table: FrequencyTable, columns: Sequence[str]) -> list[Row]:
    projected = table.project(columns)
    return [tuple(map(_plain, projected.values(row))) for row in range(projected.distinct)]


def _overlaps(
    column: str, used: Sequence[Value], hierarchy: Hierarchy | None
) -> tuple[dict[str | None, int], npt.NDArray[np.bool_]]:
    """Return the position of every label of a column, and which two of them may stand for one person."""
    labels = list({_named(value): value for value in used}.values())
    places = {_named(value): number for number, value in enumerate(labels)}
    matrix = np.eye(len(labels), dtype=bool)
    stars = [number for number, value in enumerate(labels) if value == SUPPRESSED]
    matrix[stars, :] = matrix[:, stars] = True
    if hierarchy is None:
        return places, matrix
    covered = _covered(column, labels, hierarchy)
    for first, leaves in enumerate(covered):
        for second in range(first):
            if leaves & covered[second]:
                matrix[first, second] = matrix[second, first] = True
    return places, matrix


def _covered(column: str, labels: Sequence[Value], hierarchy: Hierarchy) -> list[set[int]]:
    """Return the leaves behind every label; raise for a label that the hierarchy cannot explain."""
    leaves = [*labels, *_leaves(labels, hierarchy)]
    known = {_named(value): value for value in leaves if hierarchy.path_of(value) is not None}
    domain = domain_of(column, [value for value in known.values() if value != SUPPRESSED], hierarchy)
    found = [set(domain.covered(value).tolist()) for value in labels]
    if not all(found):
        raise HistoryError(
            f"column {column!r} has labels that its hierarchy does not explain, so that two releases cannot be compared"
        )
    return found


def _leaves(labels: Sequence[Value], hierarchy: Hierarchy) -> list[Value]:
    """Return values that tell the labels apart: listed ones, one of each interval, days, or codes without masks."""
    if isinstance(hierarchy, IntervalHierarchy):
        return list(hierarchy.representatives)
    if isinstance(hierarchy, DateHierarchy):
        years = {int(text) for value in labels for text in _YEAR.findall(label(value))}
        days = {year + later for year in years for later in range(10)}
        return [date(year, 1, 1) + timedelta(days=day) for year in sorted(days) for day in range(365)]
    if isinstance(hierarchy, MaskHierarchy):  # of two masked codes that share a code, one stands for all of the other
        return [label(value).replace(hierarchy.character, "0") for value in labels]
    return []


def _plain(value: Value) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else label(value)


def _named(value: Value) -> str | None:
    return None if value is None else label(value)
