"""The people of a population in the regions of a local plan, verified on the table that the plan is said to have made.

Labels of regions may overlap, so that a label alone does not say which class a person of the population is in; the
plan says it. The plan is an input like the table, and nothing it claims is taken for granted: its hierarchies are those
of the policy, every class of the table has the labels of exactly one region, and a person counts in a region only if
its labels cover that person. A plan that fails any of this is refused.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import Value, key, label
from privacy_plugin.generalization.local_cells import combinations
from privacy_plugin.generalization.regions import Regions
from privacy_plugin.sources import Fingerprint, Source
from privacy_plugin.sources.without_columns import WithoutColumns

_REMAKE = "apply the plan again, or make a new one"


def population_by_region(
    regions: Regions,
    specifications: Mapping[str, Any],
    *,
    table: FrequencyTable,
    population: FrequencyTable,
    hierarchies: Mapping[str, Hierarchy],
) -> FrequencyTable:
    """Return the population with the labels of everybody's region, written as in the table; raise ParameterError.

    `table` and `population` are grouped by the quasi-identifiers. `specifications` are those of the plan's hierarchies,
    `hierarchies` those of the policy. Cost: O(distinct rows of the population * columns).
    """
    _require_hierarchies(regions, specifications, hierarchies)
    if set(table.columns) != set(regions.columns):
        raise ParameterError("the plan is for other quasi-identifiers than those of the table; make a new plan")
    texts = regions.texts(np.arange(len(regions)))
    if len(set(texts)) != len(texts):
        raise ParameterError("two regions of the plan have the same labels; make a new plan")
    _require_honest_labels(regions)
    own = table.project(regions.columns)
    written = {tuple(_text(value) for value in own.values(row)) for row in range(own.distinct)}
    strange = len(written - set(texts))
    if strange:
        raise ParameterError(f"{strange:,} classes of the table are no region of the plan; {_REMAKE}")
    people = population.project(regions.columns)
    found = combinations(people, regions.columns)
    region_of = regions.assign(found, hierarchies)
    inside = np.flatnonzero(region_of >= 0)
    covered = regions.covers(found, inside, region_of[inside], hierarchies)
    if not covered.all():
        outside = int(found.rows[inside[~covered]].sum())
        raise ParameterError(
            f"the plan counts {outside:,} people of the population in regions whose labels do not cover them; {_REMAKE}"
        )
    return _written_as(regions.released_population(people, region_of[found.lines]), own)


def require_original_values(
    table: FrequencyTable, population: FrequencyTable, hierarchies: Mapping[str, Hierarchy]
) -> None:
    """Raise ParameterError if the table has labels of a hierarchy: only a plan tells which people they stand for.

    Any other value that the population lacks is an error of the comparison itself.
    """
    for name, hierarchy in hierarchies.items():
        known = {key(value) for value in population.dictionary(name)}
        labels = {_text(above) for value in population.dictionary(name) for above in hierarchy.path_of(value) or ()}
        general = sum(1 for value in table.dictionary(name) if key(value) not in known and _text(value) in labels)
        if general:
            raise ParameterError(
                f"column {name!r} has {general:,} generalized values, and labels of local classes may overlap. Pass "
                "the plan that made the table (plan=, --plan); if every column has one level, name "
                "method: generalize in the policy"
            )


def require_one_level(table: FrequencyTable, population: FrequencyTable, hierarchies: Mapping[str, Hierarchy]) -> None:
    """Raise ParameterError unless the table has the values of one level in every column: only then labels are classes.

    Labels of several levels may overlap, and only a plan tells which people they stand for. A value that is no label of
    the population is an error of the comparison itself.
    """
    for name, hierarchy in hierarchies.items():
        paths = [(value, *(hierarchy.path_of(value) or ())) for value in population.dictionary(name)]
        levels = [{_text(path[level]) for path in paths if level < len(path)} for level in range(hierarchy.height + 1)]
        used = {_text(value) for value in table.dictionary(name)} & set().union(*levels)
        if not any(used <= level for level in levels):
            raise ParameterError(
                f"column {name!r} has labels of several levels, and labels of local classes may overlap. Pass the plan "
                "that made the table (plan=, --plan)"
            )


def region_digest(regions: Regions) -> str:
    """Return the SHA-256 of the regions: their labels, and which combinations are in them."""
    content = {"columns": list(regions.columns), **regions.to_dict()}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def with_plan(fingerprint: Fingerprint, plan_digest: str) -> Fingerprint:
    """Return the fingerprint of a population together with the plan by which its people were counted."""
    joined = hashlib.sha256(json.dumps([fingerprint.digest, plan_digest]).encode()).hexdigest()
    return replace(fingerprint, digest=joined, scheme=f"{fingerprint.scheme}+regions")


class CountedByRegion(WithoutColumns):
    """A population that a verdict counted by the regions of a plan: its fingerprint covers both."""

    def __init__(self, population: Source, plan_digest: str) -> None:
        super().__init__(population, ())
        self._plan_digest = plan_digest

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the people of some columns and the plan."""
        return with_plan(super().fingerprint(columns), self._plan_digest)


def count_by_plan(population: Source | None, plan: Any) -> Source | None:
    """Return the population with a fingerprint that covers a local plan, as that of the verdict does."""
    digest = None if population is None else getattr(plan, "digest", None)
    return population if population is None or digest is None else CountedByRegion(population, digest)


def _require_hierarchies(
    regions: Regions, specifications: Mapping[str, Any], hierarchies: Mapping[str, Hierarchy]
) -> None:
    for name in regions.columns:
        hierarchy = hierarchies.get(name)
        if hierarchy is None or _plain(specifications.get(name)) != _plain(hierarchy.specification):
            raise ParameterError(
                f"the plan was made with another hierarchy of column {name!r} than that of the policy; make a new plan"
            )


def _plain(specification: Any) -> str:
    return json.dumps(specification, sort_keys=True, default=str)


def _require_honest_labels(regions: Regions) -> None:
    """Raise if an observed label is written otherwise than what it is said to cover; others follow a hierarchy."""
    for name, labels in zip(regions.columns, regions.labels, strict=True):
        for one in labels:
            if one.observed is not None and one.text not in one.observed.texts():
                raise ParameterError(f"a label of column {name!r} is not written as what it covers; make a new plan")


def _text(value: Value) -> str | None:
    return None if value is None else label(value)


def _written_as(population: FrequencyTable, table: FrequencyTable) -> FrequencyTable:
    """Write labels as the table has them: a file may read the label "8001" back as a number."""
    dictionaries: list[list[Value]] = []
    for name in population.columns:
        own: dict[str | None, Value] = {}
        for value in table.dictionary(name):
            if own.setdefault(_text(value), value) is not value:
                raise ParameterError(f"column {name!r} holds a number and its text; give the column one type")
        dictionaries.append([own.get(text, text) for text in map(_text, population.dictionary(name))])
    codes = [population.column_codes(name) for name in population.columns]
    return FrequencyTable.from_columns(population.columns, codes, dictionaries, population.counts)
