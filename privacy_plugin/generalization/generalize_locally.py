"""Local generalization: every class gets the most specific labels that meet the requirements, not one level for all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.errors import InfeasibleError, ParameterError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, group, pack, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization.class_conditions import ClassConditions, class_conditions
from privacy_plugin.generalization.generalize import infeasible, require_covered, require_parameters
from privacy_plugin.generalization.label_trees import LabelTree, label_trees
from privacy_plugin.generalization.lattice import Lattice, in_order, lattice_over
from privacy_plugin.generalization.local_cells import Combinations, combinations, symbols
from privacy_plugin.generalization.local_plan import LABELS, UNCOVERED, Labels, LocalPlan, Uncovered
from privacy_plugin.generalization.people_lattice import PeopleLattice
from privacy_plugin.generalization.people_regions import regions_of_people
from privacy_plugin.generalization.regions import Regions, make_regions
from privacy_plugin.generalization.release_judgement import Release, lines_in_regions
from privacy_plugin.generalization.search import search as search_best
from privacy_plugin.generalization.shaped_classes import (
    CHOICES,
    OBSERVED_NOTE,
    SEARCH_NOTE,
    ChooseBy,
    FailedCheckError,
    climb,
    deciding_requirements,
    ladder_note,
    looks_at_values,
    require_choosable,
    require_ladder,
    shaped_note,
)
from privacy_plugin.generalization.unknown_values import Unknown, require_unknown
from privacy_plugin.generalization.wishes import purpose_weights, read_purpose
from privacy_plugin.requirements.requirement import Finding, Requirement
from privacy_plugin.sources import open_source

if TYPE_CHECKING:
    from privacy_plugin.generalization.local_search import LocalProblem

Progress = Callable[[str], None]

_MOST_MERGERS = 200


def generalize_locally(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    sensitive: str | None = None,
    attributes: Sequence[str] | None = None,
    population: Any = None,
    unit: str | None = None,
    count: str | None = None,
    max_suppression: float = 0.0,
    weights: Mapping[str, float] | None = None,
    useful_for: Mapping[str, Any] | None = None,
    labels: Labels = "hierarchy",
    choose_by: ChooseBy = "everything",
    k: Sequence[int] | None = None,
    uncovered: Uncovered = "refuse",
    unknown: Unknown = "refuse",
    keep: Mapping[str, int] | None = None,
    progress: Progress | None = None,
    reveal: bool = False,
) -> LocalPlan:
    """Find classes of small loss, each with its own labels, that meet every requirement.

    The quasi-identifiers are the keys of `hierarchies`. Combinations of their values are put into disjoint regions; a
    region is written with the most specific label, in every column, that covers all of it. The loss is the loss metric
    (Iyengar 2002): a label that covers v of a column's A leaves loses (v - 1) / (A - 1), a suppressed row loses all.
    The released table is judged by every requirement, on its labels, before the plan is returned.

    `sensitive`, `attributes`, `population`, `unit`, `count`: as for `generalize`; where the rows of a person differ,
    classes are those of one level for each column, with labels of their own. A population counts by membership in the
    regions, because labels of different regions may cover the same person. `max_suppression`: the share of rows that
    may be left out; only rows that fit no class are. `weights`: how much the loss of a column counts in the search
    (default 1); `keep`: the highest level that may be used of a column. `useful_for`: `{"predict": column}` or
    `{"count": [column, ...]}` multiplies the weights by what matters for that (see `generalization.wishes`). With any
    of these wishes a second search without them shows what they gained and cost. `labels="observed"` describes a class
    by its smallest and largest number or by the list of its values instead of the hierarchy's labels: less loss, but
    it tells which values occur. `choose_by="quasi_identifiers"`: regions follow from the quasi-identifiers and class
    sizes alone, all other requirements are only checked; the plan then tells nothing about sensitive values. `k`: class
    sizes that are tried in turn then, until the classes of one pass; what was refused before is stated.
    `uncovered`: what applying the plan does with rows that no region covers. `unknown`: what is done with values that a
    hierarchy does not cover, as for `generalize`. `progress` gets a text with the percentage that is done. An error
    about values that are not covered lists them only with `reveal`.

    Deterministic; the order of rows does not matter. The result is a heuristic: no guarantee of the least loss. Cost:
    about half a second for thirty thousand rows and eight columns, once compiled code is loaded.

    >>> import pandas as pd, privacy_plugin as pp
    >>> visits = pd.DataFrame({"zip": ["8001", "8001", "8002", "8003", "3001", "3002"]})
    >>> plan = pp.generalize_locally(visits, hierarchies={"zip": pp.mask_hierarchy(length=4)},
    ...                              requirements=[pp.require("k_anonymity", at_least=2)])
    >>> plan.apply(visits)["zip"].tolist()
    ['8001', '8001', '800*', '800*', '300*', '300*']
    """
    require_parameters(hierarchies, requirements, max_suppression, "loss_metric")
    _require_choices(labels, choose_by, uncovered)
    weights, keep = _weights(weights, hierarchies), _highest_levels(keep, hierarchies)
    source = open_source(data)
    purpose = None if useful_for is None else read_purpose(useful_for, source.columns)
    predicts = None if purpose is None else purpose.get("predict")
    if choose_by == "quasi_identifiers":
        require_choosable(requirements, hierarchies, purpose)
    require_ladder(k, requirements, choose_by)
    require_unknown(unknown)
    if reveal and unknown == "refuse":
        require_covered(data, hierarchies)
    lattice = lattice_over(
        data,
        hierarchies=hierarchies,
        requirements=requirements,
        max_suppression=max_suppression,
        loss="loss_metric",
        sensitive=sensitive,
        attributes=attributes,
        population=population,
        unit=unit,
        count=count,
        unknown=unknown,
    )
    if isinstance(lattice, PeopleLattice):
        if keep or choose_by != "everything":
            raise ParameterError(
                f"the rows of the same {unit!r} differ; keep and choose_by='quasi_identifiers' do not go with that. "
                "Instead, use method: generalize, or make one row a person (people: in the policy)"
            )
        return _people_plan(
            lattice, max_suppression, labels=labels, uncovered=uncovered, unknown=unknown, progress=progress
        )
    rows = lattice.unknown
    assert rows is not None
    if purpose is not None:
        favoured = purpose_weights(source, purpose, tuple(hierarchies))
        weights = {name: weights.get(name, 1.0) * favour for name, favour in favoured.items()}

    def attempt(asked: tuple[Requirement, ...]) -> tuple[_Job, _Outcome]:
        sized = replace(lattice, requirements=asked)
        _require_feasible(sized, keep, unit)
        job = _Job.start(sized, weights, keep, labels == "observed", choose_by, progress)
        return job, job.search() or job.one_level_for_all(unit)

    (job, outcome), refused = climb(lattice.requirements, k, attempt)
    without = job.without_wishes(unit)
    looked = choose_by == "everything" and (
        looks_at_values(requirements) or (predicts is not None and predicts not in hierarchies)
    )
    notes: tuple[str, ...] = (OBSERVED_NOTE,) if labels == "observed" else ()
    if looked:
        notes += (shaped_note(job.count_shaped(outcome.regions), len(outcome.regions)),)
    if refused:
        notes += (ladder_note(refused, job.conditions.k),)
    losses = job.losses(outcome)
    return LocalPlan(
        found=outcome.regions,
        hierarchies=lattice.hierarchies,
        requirements=job.lattice.requirements,
        loss=float(np.mean(list(losses.values()))),
        column_losses=losses,
        suppressed=outcome.suppressed + rows.removed,
        rows=rows.total,
        max_suppression=max_suppression,
        labels=labels,
        choose_by=choose_by,
        refused_sizes=refused,
        uncovered=uncovered,
        unknown=unknown,
        unknown_rows=rows.by_column,
        weights=weights,
        highest_levels=keep,
        useful_for=purpose or {},
        losses_without_wishes={} if without is None else job.losses(without),
        sensitive=sensitive,
        attributes=lattice.attributes,
        unit=unit,
        search=outcome.search,
        notes=notes,
    )


def _people_plan(
    lattice: PeopleLattice,
    max_suppression: float,
    *,
    labels: Labels,
    uncovered: Uncovered,
    unknown: Unknown,
    progress: Progress | None,
) -> LocalPlan:
    """Find one level for each column, and write every class with its own labels."""
    if any(one.definition.needs_population for one in lattice.requirements):
        raise ParameterError(
            f"the rows of the same {lattice.unit!r} differ, and a population cannot be counted by their regions; use "
            "method: generalize, or make one row a person (people: in the policy)"
        )
    best = search_best(lattice, progress)
    if best is None:
        raise infeasible(lattice, lattice.unit)
    found = regions_of_people(lattice, best.best, observed=labels == "observed")
    people = lattice.unknown
    assert people is not None
    notes = (OBSERVED_NOTE,) if labels == "observed" else ()
    return LocalPlan(
        found=found.regions,
        hierarchies=lattice.hierarchies,
        requirements=lattice.requirements,
        loss=float(np.mean(list(found.losses.values()))),
        column_losses=found.losses,
        suppressed=found.suppressed + people.removed,
        rows=people.total,
        max_suppression=max_suppression,
        labels=labels,
        uncovered=uncovered,
        unknown=unknown,
        unknown_rows=people.by_column,
        sensitive=lattice.sensitive,
        attributes=lattice.attributes,
        unit=lattice.unit,
        count=lattice.count,
        search=f"rows of a person differ: one level for each column, the lowest labels of every class; {best.search}",
        notes=(*notes, SEARCH_NOTE) if looks_at_values(lattice.requirements) else notes,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Outcome:
    """Regions that meet every requirement."""

    regions: Regions
    suppressed: int
    search: str


@dataclass(frozen=True, kw_only=True, eq=False)
class _Job:
    """One search: the combinations, what is asked of every class, and how the result is judged."""

    lattice: Lattice
    found: Combinations
    population: FrequencyTable | None
    trees: tuple[LabelTree, ...]
    conditions: ClassConditions
    weights: Mapping[str, float]
    keep: Mapping[str, int]
    observed: bool
    choose_by: ChooseBy
    progress: Progress | None

    @classmethod
    def start(
        cls,
        lattice: Lattice,
        weights: Mapping[str, float],
        keep: Mapping[str, int],
        observed: bool,
        choose_by: ChooseBy,
        progress: Progress | None,
    ) -> "_Job":
        deciding = deciding_requirements(lattice.requirements, choose_by)
        population = None
        if lattice.population is not None and any(one.definition.needs_population for one in lattice.requirements):
            population = lattice.population.frequencies(lattice.columns)
        found = combinations(lattice.table, lattice.columns, population)
        dictionaries = dict(zip(lattice.columns, found.dictionaries, strict=True))
        return cls(
            lattice=lattice,
            found=found,
            population=population,
            trees=label_trees(dictionaries, lattice.hierarchies, keep),
            conditions=class_conditions(
                deciding,
                dictionaries={name: in_order(lattice.table.dictionary(name)) for name in lattice.sensitive_columns},
                sensitive=lattice.sensitive,
                suppression=True,
                rows=lattice.table.rows,
            ),
            weights=weights,
            keep=keep,
            observed=observed,
            choose_by=choose_by,
            progress=progress,
        )

    def search(self) -> _Outcome | None:
        """Search with larger classes until every requirement holds, and then for the least loss; None if none helps.

        What no class can be blamed for (an average, a privacy score) is met by larger classes: their least size is
        doubled until the whole table passes, and halved between the last two. Every result is judged.
        """
        k, failed = self.conditions.k, None
        while k <= self.lattice.table.rows:
            findings = self._search_with(k)
            if isinstance(findings, _Outcome):
                return findings if failed is None else self._least_larger(failed, k, findings)
            if self.choose_by == "quasi_identifiers":
                failed_checks = [finding for finding in findings if not finding.passed]
                raise FailedCheckError(failed_checks[0]) if failed_checks else infeasible_locally(findings)
            failed, k = k, max(min(2 * max(k, 2), self.lattice.table.rows), k + 1)
        return None

    def _least_larger(self, failed: int, passed: int, best: _Outcome) -> _Outcome:
        """Halve between a class size that failed and one that passed; return the outcome of least loss."""
        while passed - failed > 1:
            middle = (failed + passed) // 2
            found = self._search_with(middle)
            if isinstance(found, _Outcome):
                passed = middle
                best = min(best, found, key=self._mean_loss)
            else:
                failed = middle
        return best

    def _mean_loss(self, outcome: _Outcome) -> float:
        weights = [self.weights.get(name, 1.0) for name in self.lattice.columns]
        return float(np.average(list(self.losses(outcome).values()), weights=weights))

    def losses(self, outcome: _Outcome) -> dict[str, float]:
        """Return the loss of every column, also of the rows that were left out."""
        found = _column_losses(outcome.regions, self.found, outcome.suppressed)
        return {name: self.lattice.loss_of_all(loss) for name, loss in found.items()}

    def without_wishes(self, unit: str | None) -> _Outcome | None:
        """Search again without weights and highest levels; None if there are none, or nothing is found."""
        if not self.keep and len({self.weights.get(name, 1.0) for name in self.lattice.columns}) < 2:
            return None
        plain = _Job.start(self.lattice, {}, {}, self.observed, self.choose_by, self.progress)
        try:
            return plain.search() or plain.one_level_for_all(unit)
        except InfeasibleError:  # with choose_by, other regions may fail what is only checked
            return None

    def count_shaped(self, regions: Regions) -> int:
        """Count the regions that a search by quasi-identifiers and class sizes alone does not make."""
        from privacy_plugin.generalization.local_search import search_classes  # loads compiled code

        blind = _Job.start(self.lattice, self.weights, self.keep, self.observed, "quasi_identifiers", None)
        search = search_classes(blind._problem(blind.conditions.k), lambda share: None)
        others = make_regions(
            self.found, search.classes(), self.trees, self.lattice.hierarchies, observed=self.observed
        ).assign(self.found, self.lattice.hierarchies)
        mine = regions.assign(self.found, self.lattice.hierarchies)
        here = np.flatnonzero(mine >= 0)
        pairs, numbers = np.unique(np.stack([mine[here], others[here]], axis=1), axis=0), mine[here]
        split = np.bincount(pairs[:, 0], minlength=len(regions)) > 1
        sizes = np.bincount(others[others >= 0], minlength=int(others.max()) + 1 if len(others) else 1)
        own = np.bincount(numbers, minlength=len(regions))
        met = np.full(len(regions), -1, dtype=np.int64)
        met[pairs[:, 0]] = pairs[:, 1]
        same = ~split & (met >= 0) & (sizes[np.maximum(met, 0)] == own)
        return int((~same).sum())

    def _search_with(self, k: int) -> "_Outcome | list[Finding]":
        from privacy_plugin.generalization.local_search import search_classes  # loads compiled code

        search = search_classes(self._problem(k), partial(self._report, k))
        classes: Integers | None = search.classes()
        findings: list[Finding] = []
        for _ in range(_MOST_MERGERS):
            if classes is None or not (classes >= 0).any():
                break
            regions = make_regions(self.found, classes, self.trees, self.lattice.hierarchies, observed=self.observed)
            release = self._release(regions)
            suppressed = self.lattice.table.rows - int(regions.rows.sum())
            if suppressed > self.lattice.most_suppressed:
                break
            findings = release.judge(self.lattice.requirements)
            if all(finding.passed for finding in findings):
                return _Outcome(regions=regions, suppressed=suppressed, search=self._words(k))
            failing = release.failing_regions(findings)
            if failing is None or self.choose_by == "quasi_identifiers":
                break
            classes = search.merge_further(_classes_of(regions, classes, self.found, failing))
        return findings

    def _problem(self, k: int) -> "LocalProblem":
        from privacy_plugin.generalization.local_search import LocalProblem

        rules = self.conditions.rules
        sensitive = self.lattice.sensitive_columns if rules else ()
        return LocalProblem(
            found=self.found,
            trees=self.trees,
            symbols=symbols(self.lattice.table, self.found, sensitive),
            k=k,
            rules=rules,
            weights=self.weights,
            everyone=not self.conditions.repairable,
        )

    def _release(self, regions: Regions) -> Release:
        lines, population_lines = lines_in_regions(self.found, regions.assign(self.found, self.lattice.hierarchies))
        return Release(
            table=self.lattice.table,
            population=self.population,
            regions=regions,
            lines=lines,
            population_lines=population_lines,
            sensitive=self.lattice.sensitive,
            attributes=self.lattice.attributes,
            hierarchies=dict(self.lattice.hierarchies),
        )

    def _report(self, k: int, share: float) -> None:
        if self.progress is not None:
            larger = "" if k == self.conditions.k else f", classes of at least {k:,}"
            self.progress(f"local generalization{larger}: {share:.0%}")

    def _words(self, k: int) -> str:
        words = f"classes formed at the nodes of the lattice, merged and improved; {len(self.found):,} combinations"
        return words if k == self.conditions.k else f"{words}; classes of at least {k:,} to meet every requirement"

    def one_level_for_all(self, unit: str | None) -> _Outcome:
        """Fall back to one level a column, where no search for classes met every requirement."""
        best = None if self.keep else search_best(self.lattice, self.progress)
        if best is None:
            raise infeasible(self.lattice, unit)
        groups = [
            tree.nodes[n][self.found.codes[:, c]]
            for c, (tree, n) in enumerate(zip(self.trees, best.best.node, strict=True))
        ]
        packed, size = pack(groups, [tree.nowhere + 1 for tree in self.trees])
        classes, _ = group(packed, size)
        for _ in range(2):
            regions = make_regions(
                self.found,
                _with_rows(classes, self.found),
                self.trees,
                self.lattice.hierarchies,
                observed=self.observed,
            )
            release = self._release(regions)
            findings = release.judge(self.lattice.requirements)
            if all(finding.passed for finding in findings):
                suppressed = self.lattice.table.rows - int(regions.rows.sum())
                if suppressed <= self.lattice.most_suppressed:
                    words = (
                        f"one level for each column, because no search for classes met every requirement; {best.search}"
                    )
                    return _Outcome(regions=regions, suppressed=suppressed, search=words)
            failing = release.failing_regions(findings)
            if failing is None:
                break
            region_of = regions.assign(self.found, self.lattice.hierarchies)
            classes = np.where((region_of >= 0) & failing[np.maximum(region_of, 0)], -1, classes)
        raise infeasible_locally(findings)


def infeasible_locally(findings: Sequence[Finding]) -> InfeasibleError:
    """Say which requirement no regions were found for."""
    failed = [finding.reason for finding in findings if not finding.passed]
    reason = failed[0] if failed else "too many rows fit no class"
    return InfeasibleError(f"no regions were found that meet the requirements: {reason}")


def _with_rows(classes: Integers, found: Combinations) -> Integers:
    """Number the classes that have rows; combinations of others are in no class."""
    rows = sum_by(classes[classes >= 0], found.rows[classes >= 0], int(classes.max()) + 1)
    numbers = np.where(rows > 0, np.cumsum(rows > 0) - 1, -1)
    return np.where(classes >= 0, numbers[np.maximum(classes, 0)], -1)


def _classes_of(regions: Regions, classes: Integers, found: Combinations, failing: Any) -> Any:
    """Tell which classes are in the regions that fail."""
    region_of = np.full(len(found), -1, dtype=np.int64)
    region_of[(classes >= 0) | (found.rows > 0)] = regions.region_of
    chosen = np.zeros(int(classes.max()) + 1, dtype=bool)
    inside = np.flatnonzero(classes >= 0)
    chosen[classes[inside]] = failing[region_of[inside]]
    return chosen


def _column_losses(regions: Regions, found: Combinations, suppressed: int) -> dict[str, float]:
    """Return the loss metric of every column; a suppressed row loses all."""
    lost = regions.rows @ regions.column_losses + suppressed
    return dict(zip(regions.columns, (lost / found.total).tolist(), strict=True))


def _require_choices(labels: str, choose_by: str, uncovered: str) -> None:
    for name, given, valid in (
        ("labels", labels, LABELS),
        ("choose_by", choose_by, CHOICES),
        ("uncovered", uncovered, UNCOVERED),
    ):
        if given not in valid:
            raise ParameterError(f"{name} must be one of {', '.join(valid)}, not {given!r}")


def _weights(given: Mapping[str, float] | None, hierarchies: Mapping[str, Hierarchy]) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"weights must be {{column: number}}, got {type(given).__name__}")
    for name, weight in given.items():
        if name not in hierarchies:
            raise ParameterError(unknown_name("column in weights", str(name), hierarchies))
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1e6:
            raise ParameterError(f"the weight of column {name!r} must be a number from 0 to 1,000,000")
    if not any(given.get(name, 1) for name in hierarchies):
        raise ParameterError("weights are all 0; at least one column must count")
    return {name: float(weight) for name, weight in given.items()}


def _highest_levels(given: Mapping[str, int] | None, hierarchies: Mapping[str, Hierarchy]) -> dict[str, int]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"keep must be {{column: highest level}}, got {type(given).__name__}")
    for name, level in given.items():
        if name not in hierarchies:
            raise ParameterError(unknown_name("column in keep", str(name), hierarchies))
        if type(level) is not int or not 0 <= level <= hierarchies[name].height:
            raise ParameterError(
                f"the highest level of column {name!r} must be a whole number from 0 to {hierarchies[name].height}"
            )
    return dict(given)


def _require_feasible(lattice: Lattice, keep: Mapping[str, int], unit: str | None) -> None:
    """Name the requirement that even the most general table fails, before anything is searched."""
    if not (lattice.conditions.inherited if lattice.most_suppressed else lattice.monotone):
        return
    top = tuple(min(level, keep.get(name, level)) for name, level in zip(lattice.columns, lattice.top, strict=True))
    try:
        lattice.judged(top)
    except InfeasibleError as problem:
        if not keep:
            raise infeasible(lattice, unit) from None
        reason = str(problem).rstrip(".")
        raise InfeasibleError(
            f"with keep, no generalization meets the requirements, not even the most general one that is allowed: "
            f"{reason}. Allow a higher level, or relax a limit"
        ) from None
