"""Anonymize against a history: the regions of the last plan stay, and only whole joint classes enter or leave.

The five steps. (1) Apply the regions or levels of the last plan. (2) Compute joint classes. (3) Newcomers enter only as
a joint class that meets every requirement; otherwise they wait. (4) If people leave and those who remain, or those who
leave, fail a requirement, their joint class is withdrawn whole. (5) Regions are never cut anew: people whom no region
covers wait until they can have regions of their own.

Whoever is released is then in a joint class that meets every class-wise requirement, which is what `across_releases`
judges; the gate judges it again.
"""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, HistoryError, InfeasibleError, ParameterError, PolicyError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan, read_plan
from privacy_plugin.generalization.shaped_classes import looks_at_values
from privacy_plugin.generalization.suppression import alone
from privacy_plugin.history.in_use import history_in_use
from privacy_plugin.metrics.across_releases import class_wise, judge_joint_classes
from privacy_plugin.requirements.requirement import Requirement
from privacy_plugin.requirements.rules import Rules
from privacy_plugin.sources import Source
from privacy_plugin.sources.frequency_source import FrequencySource

if TYPE_CHECKING:
    from privacy_plugin.anonymizers.base import Request
    from privacy_plugin.anonymizers.bucketization.buckets import Buckets
    from privacy_plugin.anonymizers.generalize import GeneralizingMethod
    from privacy_plugin.history import ReleaseHistory
    from privacy_plugin.history.standings import Group, Standings

_CLASS = "class"


@dataclass(frozen=True, kw_only=True)
class Continuation:
    """Who was released against the history, who waits and who was withdrawn."""

    earlier_releases: int
    released: int
    entered: int
    waiting: int
    waiting_since: str | None
    withdrawn: int
    withdrawn_joint_classes: int
    changed: int
    erased: int
    new_regions: int = 0
    keeps_plan: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}

    def rows(self) -> list[tuple[str, str]]:
        """Return the lines of a description."""
        since = f", the first of them since {self.waiting_since[:10]}" if self.waiting_since else ""
        lines = [
            ("continues", f"{self.earlier_releases} earlier releases of this dataset"),
            ("released", f"{self.released:,} people, {self.entered:,} of them for the first time"),
            ("waiting", f"{self.waiting:,} newcomers, who do not yet make a joint class that meets the policy{since}"),
            (
                "withdrawn",
                f"{self.withdrawn:,} people of {self.withdrawn_joint_classes:,} joint classes from which others left",
            ),
        ]
        if self.changed:
            lines.append(("changed", f"{self.changed:,} people, whose sensitive value differs: not released"))
        if self.erased:
            lines.append(("erased", f"{self.erased:,} people, whose earlier releases are not known: not released"))
        if self.earlier_releases and self.keeps_plan:
            lines.append(("plan", "that of the last release; loss and suppressed people are of its first table"))
        if self.new_regions:
            lines.append(("new regions", f"{self.new_regions:,}, for newcomers whom no region covered"))
        return lines

    def facts(self) -> dict[str, Any]:
        """Return numbers for the metadata of an asset."""
        return {
            "earlier releases": self.earlier_releases,
            "people for the first time": self.entered,
            "people waiting": self.waiting,
            "waiting since": self.waiting_since or "nobody waits",
            "people withdrawn": self.withdrawn,
        }


RELEASES = inspect.Parameter(
    "releases",
    inspect.Parameter.KEYWORD_ONLY,
    default="separately",
    annotation=Literal["separately", "together"],
)
"""The option of a policy by which a method continues the releases of a history."""


def require_continuing(rules: Rules) -> None:
    """Raise PolicyError if the policy does not follow people through releases."""
    if rules.unit is None or not any(each.metric == "across_releases" for each in rules.requirements):
        raise PolicyError(
            "releases: together follows people through the releases: it needs a column with the role unit, and the "
            "requirement across_releases"
        )


def require_choices(method: "GeneralizingMethod") -> None:
    """Raise PolicyError if the options of a generalization do not go with continuing releases."""
    if method.rules.treatments:
        raise PolicyError("releases: together does not go with treatments of columns; use hierarchies")
    if method.options.get("choose_by") == "quasi_identifiers" and looks_at_values(class_wise(method.aims)):
        raise PolicyError(
            "releases: together leaves joint classes out because of their sensitive values; it does not go with "
            "choose_by: quasi_identifiers"
        )


def release_together(
    method: "GeneralizingMethod", source: Source, request: "Request"
) -> tuple[Any, Plan | LocalPlan, Continuation]:
    """Return the table of those who can be released together with all earlier releases, its plan, and who waits."""
    if request.plan is not None:
        raise ParameterError("releases: together applies the plan of the last release; leave out the saved plan")
    rules = method.rules
    unit = str(rules.unit)
    kept = [name for name in source.columns if rules.roles[name] not in ("identifier", "unit")]
    table = source.frequencies([unit, *kept])
    table.require_rows()
    require_one_row(table)
    people = table.dictionary(unit)
    with history_in_use() as history:
        plan, new_regions = _plan(method, source, table, history, request), 0
        labelled, inside = plan.label(table)
        if not inside.all():
            extended = _with_new_regions(method, plan, table, ~inside, history, request)
            if extended is not plan:
                new_regions = _number_of_regions(extended) - _number_of_regions(plan)
                plan = extended
                labelled, inside = plan.label(table)
        if not inside.any():
            raise InfeasibleError("no region of the last plan covers anybody in this table, and no new one is possible")
        columns = {
            "quasi_identifiers": list(rules.columns("quasi_identifier")),
            "sensitive": list(rules.columns("sensitive")),
        }
        used = [unit, *columns["quasi_identifiers"], *columns["sensitive"]]
        standings = history.standings(labelled.project(used), unit=unit, dataset=rules.dataset, **columns)
        request.report("choosing whom to release")
        chosen = choose_groups(standings, class_wise(rules.requirements))
        groups = standings.groups
        taken = np.array([group in chosen for group in groups], dtype=bool)
        left = np.flatnonzero(inside)[~taken]
        absent = [people[number] for number in (*left.tolist(), *np.flatnonzero(~inside).tolist())]
        new = history.newcomers(absent, dataset=rules.dataset)
        since = history.wait(
            [person for person, is_new in zip(absent, new, strict=True) if is_new],
            dataset=rules.dataset,
            partition=request.partition,
        )
    withdrawn = [group for group, is_taken in zip(groups, taken.tolist(), strict=True) if group and not is_taken]
    outside_known = sum(not is_new for is_new in new[len(left) :])
    continuation = Continuation(
        earlier_releases=standings.releases,
        released=int(taken.sum()),
        entered=sum(group is not None and group[0] == 0 for group in np.array(groups, dtype=object)[taken].tolist()),
        waiting=sum(new),
        waiting_since=since,
        withdrawn=sum(group[0] != 0 for group in withdrawn) + outside_known,
        withdrawn_joint_classes=len({group[0] for group in withdrawn if group[0]}),
        changed=standings.changed,
        erased=standings.erased,
        new_regions=new_regions,
    )
    if not taken.any():
        raise InfeasibleError(_nobody(continuation))
    rows = lines_of(labelled, taken).project([unit, *kept])
    made = source.write_rows(rows, target=request.target, verify=lambda copy: None)
    return made, plan, continuation


def require_one_row(table: FrequencyTable) -> None:
    """Raise unless every line is one person, identified by the first column."""
    table.require_rows()
    if table.distinct != table.cardinalities[0] or (table.counts != 1).any():
        raise ColumnError(
            "people have several rows; releases: together needs one row a person: add people to the policy"
        )


def _nobody(continuation: Continuation) -> str:
    return (
        f"nobody can be released together with the earlier releases: {continuation.waiting:,} newcomers do not make a "
        f"joint class that meets the policy, and {continuation.withdrawn:,} people are in joint classes from which "
        "others left"
    )


def _plan(
    method: "GeneralizingMethod", source: Source, table: FrequencyTable, history: "ReleaseHistory", request: "Request"
) -> Plan | LocalPlan:
    """Return the plan of the last release of the partition, or of a search where there is none."""
    text = history.last_plan(dataset=method.rules.dataset, partition=request.partition)
    if text is None:
        population = request.population if method.rules.needs_population else None
        return method.search(source, population=population, progress=request.progress)
    request.report("applying the plan of the last release")
    plan = read_plan(json.loads(text))
    method.require_plan(plan)
    return plan


def _with_new_regions(
    method: "GeneralizingMethod",
    plan: Plan | LocalPlan,
    table: FrequencyTable,
    outside: npt.NDArray[np.bool_],
    history: "ReleaseHistory",
    request: "Request",
) -> Plan | LocalPlan:
    """Return the plan with regions for newcomers whom it does not cover, if there are enough; they may also wait."""
    if not isinstance(plan, LocalPlan):
        return plan
    places = np.flatnonzero(outside)
    people = table.dictionary(str(method.rules.unit))
    new = history.newcomers([people[number] for number in places.tolist()], dataset=method.rules.dataset)
    chosen = np.zeros(table.distinct, dtype=bool)
    chosen[places[np.array(new, dtype=bool)]] = True
    if not chosen.any():
        return plan
    searching = replace(method, options={**method.options, "max_suppression": 1.0})
    try:
        found = searching.search(FrequencySource(lines_of(table, chosen)), population=None, progress=None)
    except InfeasibleError:
        return plan
    return replace(plan, found=plan.found.extended(found.found)) if isinstance(found, LocalPlan) else plan


def _number_of_regions(plan: Plan | LocalPlan) -> int:
    return len(plan.found) if isinstance(plan, LocalPlan) else 0


def lines_of(table: FrequencyTable, mask: npt.NDArray[np.bool_]) -> FrequencyTable:
    """Return some lines of a table."""
    places = range(len(table.columns))
    return FrequencyTable.from_columns(
        table.columns, [table.codes[mask, place] for place in places], table.dictionaries, table.counts[mask]
    )


def with_column(table: FrequencyTable, name: str, numbers: npt.NDArray[np.int64]) -> FrequencyTable:
    """Return a table with one more column of whole numbers, one for every line."""
    values, codes = np.unique(numbers, return_inverse=True)
    return FrequencyTable.from_columns(
        [*table.columns, name],
        [*table.codes.T, codes.ravel()],
        [*table.dictionaries, values.tolist()],
        table.counts,
    )


def keep_and_deal(
    table: FrequencyTable,
    history: "ReleaseHistory",
    *,
    unit: str,
    sensitive: str,
    requirements: Sequence[Requirement],
    deal: Callable[[FrequencyTable], "Buckets"],
    dataset: str,
    partition: str | None,
) -> tuple[npt.NDArray[np.int64], Continuation]:
    """Return the bucket of every line of a table of people, 0 where it is not released, and who waits.

    People who were dealt keep their bucket, which is released if all of them are here with their values, and withdrawn
    whole otherwise: its values are then the same in all releases, and a leaver is not set apart. Newcomers are dealt
    among themselves by `deal`; if that is not possible, or new buckets fail together with the earlier ones, they wait.
    """
    require_one_row(table)

    def stand(lines: FrequencyTable, labels: npt.NDArray[np.int64]) -> "Standings":
        grouped = with_column(lines, _CLASS, labels).project([unit, _CLASS, sensitive])
        return history.standings(grouped, unit=unit, quasi_identifiers=[_CLASS], sensitive=[sensitive], dataset=dataset)

    before = stand(table, np.zeros(table.distinct, dtype=np.int64))
    here = Counter(move.node for move in before.moves if move is not None)
    whole = {node for node, people in here.items() if node and people == sum(before.tree.counts[node].values())}
    labels = np.array([move.node if move is not None and move.node in whole else 0 for move in before.moves])
    new = np.array([move is not None and move.node == 0 for move in before.moves], dtype=bool)
    if new.any():
        with suppress(InfeasibleError):
            labels[new] = -_bucket_of_lines(lines_of(table, new), deal)
    candidates = labels != 0
    taken = np.zeros(table.distinct, dtype=bool)
    if candidates.any():
        standings = stand(lines_of(table, candidates), labels[candidates])
        chosen = choose_groups(standings, requirements)
        taken[np.flatnonzero(candidates)] = [group in chosen for group in standings.groups]
    people = table.dictionary(unit)
    since = history.wait(
        [people[line] for line in np.flatnonzero(new & ~taken).tolist()], dataset=dataset, partition=partition
    )
    gone = [
        move.node for move, kept in zip(before.moves, taken.tolist(), strict=True) if move and not kept and move.node
    ]
    continuation = Continuation(
        earlier_releases=before.releases,
        released=int(taken.sum()),
        entered=int((taken & new).sum()),
        waiting=int((new & ~taken).sum()),
        waiting_since=since,
        withdrawn=len(gone),
        withdrawn_joint_classes=len(set(gone)),
        changed=before.changed,
        erased=before.erased,
        keeps_plan=False,
    )
    if not taken.any():
        raise InfeasibleError(_nobody(continuation))
    return np.where(taken, labels, 0), continuation


def _bucket_of_lines(table: FrequencyTable, deal: Callable[[FrequencyTable], "Buckets"]) -> npt.NDArray[np.int64]:
    """Deal the people of a table, one a line, and return the bucket of every line."""
    dealt = deal(table)
    members = table.classes(dealt.table.columns).members
    buckets = np.empty(table.distinct, dtype=np.int64)
    buckets[np.argsort(members, kind="stable")] = dealt.buckets[np.argsort(dealt.people, kind="stable")]
    return buckets


def choose_groups(standings: "Standings", requirements: Sequence[Requirement]) -> "set[Group]":
    """Return the groups that can be released: every joint class after it, and every class of it, meets everything.

    Groups are left out until nothing fails: a joint class of newcomers that fails waits; where people of an earlier
    joint class fail, or those whom they leave behind, all of them are withdrawn, and nothing new is published about
    them. Requirements in which classes depend on each other are first asked of every class by itself.
    """
    chosen = {group for group in standings.groups if group is not None}
    for asked in (tuple(map(alone, requirements)), tuple(requirements)):
        while chosen:
            gone = _failing_joint_classes(standings, chosen, asked) or _failing_classes(standings, chosen, asked)
            if not gone:
                break
            chosen -= gone
    return chosen


def _failing_joint_classes(
    standings: "Standings", chosen: "set[Group]", requirements: Sequence[Requirement]
) -> "set[Group]":
    joint, origins = standings.joint_classes(chosen)
    gone: set[Group] = set()
    for requirement in requirements:
        for number in judge_joint_classes(requirement, joint):
            node, name = origins.get(number, (number, ""))
            if node == 0:
                gone.add((0, name))
                continue
            withdrawn = {group for group in chosen if group[0] == node}
            if not withdrawn:
                raise InfeasibleError(
                    f"a joint class of earlier releases fails {requirement}, whoever is released now; releases that "
                    "were made cannot be repaired"
                )
            gone |= withdrawn
    return gone


def _failing_classes(standings: "Standings", chosen: "set[Group]", requirements: Sequence[Requirement]) -> "set[Group]":
    """Return the groups of classes of this release that fail; of earlier joint classes, all groups."""
    moves = [move for move in standings.moves if move is not None and (move.node, move.name) in chosen]
    failing: set[str] = set()
    for requirement in requirements:
        column = requirement.sensitive if "sensitive" in requirement.definition.roles else None
        columns = [_CLASS, *([] if column is None else [column])]
        rows = [(move.name, *([] if column is None else [standings.value(move, column)])) for move in moves]
        table = FrequencyTable.from_rows(columns, rows)
        finding = requirement.judge(table, quasi_identifiers=[_CLASS], sensitive=column, unit=None)
        if finding.passed:
            continue
        if finding.measurement is None or finding.measurement.spread is None:
            raise HistoryError(f"in the classes of this release, {finding.reason}")
        classes = table.classes([_CLASS])
        values = finding.measurement.spread.values[: len(classes)]
        failing |= {str(table.values(row)[0]) for row in classes.example_rows[finding.limit.failing(values)].tolist()}
    nodes = {node for node, name in chosen if name in failing and node}
    return {group for group in chosen if group[0] in nodes or (group[0] == 0 and group[1] in failing)}
