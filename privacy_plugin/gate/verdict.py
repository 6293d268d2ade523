"""The gate: judge a table by column roles and requirements; closed unless everything was evaluated and passed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.frequency.added_rows import select_people
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.history.in_use import find_history
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.metrics.usability.column_change import is_wiped_out
from privacy_plugin.requirements.clauses import ClauseFinding, judge_clauses
from privacy_plugin.requirements.requirement import Finding, show_findings
from privacy_plugin.requirements.rules import Rules, structure_problems
from privacy_plugin.sources import Fingerprint, Source, open_source
from privacy_plugin.sources.bundle import Bundle
from privacy_plugin.sources.class_profiles import find_unique_columns
from privacy_plugin.sources.fingerprint import LOCAL_SCHEME, fingerprint_table
from privacy_plugin.sources.population_join import open_snapshots

if TYPE_CHECKING:
    from privacy_plugin.generalization.local_plan import LocalPlan

_MOST_PORTABLE_ROWS = 1_000_000  # more rows are verified in the engine that holds them, not from an exported file
_SEPARATE_GROUPINGS = 8
_FETCHED_CELLS = 10_000_000
_BY_REGION = (
    "the population was counted by the regions of the plan that made this table, which was verified on the table; an "
    "attacker is assumed to know the plan"
)
_WIPED_OUT = "in every row: it carries no information"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The result of the gate. It passed only if there are findings, no problems, and every finding passed.

    The fingerprints identify the inputs of the findings: the rows that a release would contain (of a release of several
    tables also each table), the same rows with the unit column, and the population. `content_fingerprints` identify the
    released tables in the scheme that is the same in every engine, so that a recipient can verify a file that was
    exported from a database.
    """

    dataset: str
    policy_digest: str
    findings: tuple[Finding, ...] = ()
    clauses: tuple[ClauseFinding, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rows: int = 0
    fingerprint: Fingerprint | None = field(default=None, repr=False)
    table_fingerprints: Mapping[str, Fingerprint] = field(default_factory=dict, repr=False)
    people_fingerprint: Fingerprint | None = field(default=None, repr=False)
    population_fingerprint: Fingerprint | None = field(default=None, repr=False)
    content_fingerprints: Mapping[str, Fingerprint] = field(default_factory=dict, repr=False)
    valid_until: str | None = None
    partition: str | None = None
    judged_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def passed(self) -> bool:
        """Whether the gate is open."""
        return (
            bool(self.findings)
            and not self.problems
            and all(finding.passed for finding in self.findings)
            and not any(clause.closes for clause in self.clauses)
        )

    @property
    def evaluated(self) -> bool:
        """Whether every requirement could be evaluated; if so, a closed gate is due to the data."""
        return not self.problems and all(finding.status != "not_evaluated" for finding in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate is closed: problems first, then the reasons of failed findings."""
        return (
            *self.problems,
            *(finding.reason for finding in self.findings if not finding.passed),
            *(
                f"{clause.clause.pack}, {clause.clause.name}: {clause.reason}"
                for clause in self.clauses
                if clause.closes
            ),
        )

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; with `reveal`, including values of the worst classes.

        Only the digest of rows that may be released is included: with a digest, an attacker can test guesses of rows.
        """
        return {
            "dataset": self.dataset,
            "partition": self.partition,
            "passed": self.passed,
            "evaluated": self.evaluated,
            "policy_digest": self.policy_digest,
            "rows": self.rows,
            "judged_at": self.judged_at,
            "valid_until": self.valid_until,
            "fingerprint": _fingerprint_dict(self.fingerprint, digest=self.passed),
            "tables": {
                name: _fingerprint_dict(found, digest=self.passed) for name, found in self.table_fingerprints.items()
            },
            "people_fingerprint": _fingerprint_dict(self.people_fingerprint),
            "population_fingerprint": _fingerprint_dict(self.population_fingerprint),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "findings": [finding.to_dict(reveal=reveal) for finding in self.findings],
            "clauses": [clause.to_dict() for clause in self.clauses],
        }

    def _repr_html_(self) -> str:
        title = f"{self.dataset}: the gate is {'open' if self.passed else 'closed'}"
        return show_findings(title, self.findings, (*self.problems, *self.notes))


def _fingerprint_dict(fingerprint: Fingerprint | None, *, digest: bool = False) -> dict[str, Any] | None:
    content = fingerprint.to_dict() if fingerprint else {}
    return {name: value for name, value in content.items() if digest or name != "digest"} or None


def join_reasons(statement: str, reasons: Sequence[str]) -> str:
    """Append one reason on the same line, or several as a list.

    >>> print(join_reasons("closed", ["too few people", "too few values"]))
    closed, for 2 reasons:
    - too few people
    - too few values
    """
    if len(reasons) == 1:
        return f"{statement}: {reasons[0]}"
    return "\n- ".join([f"{statement}, for {len(reasons)} reasons:", *reasons])


def judge(
    rules: Rules,
    data: Any,
    *,
    population: Any = None,
    partition: str | None = None,
    fingerprint: bool = False,
    portable: bool = True,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    plan: "LocalPlan | None" = None,
    needs_plan: bool = False,
    made_elsewhere: bool = False,
) -> Verdict:
    """Judge data; with `fingerprint` also compute the fingerprint of the rows that a release would contain.

    Everything is read from one snapshot, so that the fingerprint belongs to the rows that were judged. With a unit
    column or a population, their fingerprints are computed too, and if `portable` those that every engine computes
    alike, which only a certificate needs. With the columns' `hierarchies`, notes also recognize
    a root that has another name than `*`.

    With a local `plan`, requirements count the population by its regions, after the plan was verified on the table; the
    population's fingerprint then covers the plan too. If the policy `needs_plan`, a table without one is judged only if
    it holds values of the population itself, or, if it was `made_elsewhere`, one level of every column.
    """

    def verdict(**found: Any) -> Verdict:
        return Verdict(dataset=rules.dataset, policy_digest=rules.digest, partition=partition, **found)

    try:
        with _open_snapshots(data, population) as (tables, others):
            problems = table_problems(rules, tables.source) + label_problems(tables.source)
            if problems:
                return verdict(problems=problems)
            rows = tables.count_rows()
            if not rows:
                return verdict(problems=("the table has no rows; an empty table never passes",))
            if rules.people and rules.unit and tables.count_people(rules.unit) != rows:
                several = "people have several rows, but the policy wants one row a person; anonymize makes them"
                return verdict(problems=(several,))
            untreated = treatment_problems(rules, tables)
            if untreated:
                return verdict(problems=untreated)
            if others is not None:
                others.count_rows()
            if rules.added is not None and (problems := added_problems(rules, rules.added, tables, others)):
                return verdict(problems=problems)
            by_region, misfit = None, ""
            try:
                if needs_plan:
                    by_region = _by_region(rules, tables, others, plan, hierarchies or {}, made_elsewhere)
            except PrivacyPluginError as problem:
                misfit = str(problem)
            _fetch_together(rules, tables, rows)
            findings = _judge_requirements(rules, tables, others, by_region, misfit)
            clauses = judge_clauses(rules.clauses, rules.released, tables, findings)
            notes = (*wiped_out_notes(rules, tables, hierarchies or {}), *release_notes(rules, tables))
            if all(finding.status != "not_evaluated" for finding in findings):  # what cannot be measured has no notes
                notes += identifying_notes(rules, tables, rows)
            notes += (_BY_REGION,) if by_region is not None else ()
            notes += tuple(f"column {name!r} was {one.describe()}" for name, one in rules.treatments.items())
            notes += tuple(getattr(tables.source, "notes", ()))
            released = tables.source.fingerprint(rules.released) if fingerprint else None
            if released is not None and released.rows != rows:
                return verdict(problems=(f"{rows:,} rows were judged, but the fingerprint covers {released.rows:,}",))
            parts = (
                tables.source.fingerprints(rules.released) if fingerprint and isinstance(tables.source, Bundle) else {}
            )
            content = _content_fingerprints(rules, tables.source, released) if portable else {}
            people = tables.source.fingerprint(rules.judged) if fingerprint and rules.unit else None
            compared = _population_fingerprint(rules, others, findings) if fingerprint else None
            if compared is not None and by_region is not None and plan is not None:
                from privacy_plugin.generalization.region_population import with_plan

                compared = with_plan(compared, plan.digest)
    except PrivacyPluginError as problem:
        return verdict(problems=(str(problem),))
    except Exception as problem:  # noqa: BLE001  an error closes the gate; a driver's message may quote the data
        return verdict(problems=(f"the data could not be read: {type(problem).__name__}",))
    return verdict(
        findings=findings,
        clauses=clauses,
        notes=notes,
        rows=rows,
        fingerprint=released,
        table_fingerprints=parts,
        content_fingerprints=content,
        people_fingerprint=people,
        population_fingerprint=compared,
    )


def table_problems(rules: Rules, source: Source) -> tuple[str, ...]:
    """Return the problems of the columns, and of a release of several tables whether its tables belong together."""
    if not rules.tables:
        if isinstance(source, Bundle):
            return (f"under this policy {rules.dataset!r} is released as one table, not as {len(source.tables)}",)
        return structure_problems(rules, source.columns)
    if not isinstance(source, Bundle) or set(source.tables) != set(rules.tables):
        return structure_problems(rules, ())
    for name, columns in rules.tables.items():
        found = source.tables[name].columns
        if sorted(found) != sorted(columns):
            more, fewer = set(found) - set(columns), set(columns) - set(found)
            return (
                f"the table of {name} must have the columns {', '.join(columns)}; "
                f"remove: {', '.join(sorted(more)) or 'none'}; add: {', '.join(sorted(fewer)) or 'none'}",
            )
    shared = sorted(set.intersection(*(set(columns) for columns in rules.tables.values())))
    counted = [table.frequencies(shared) for table in source.tables.values()]
    if not all(counted[0].has_rows_of(other) for other in counted[1:]):
        return (f"the tables do not belong together: they do not have the same rows by {', '.join(shared)}",)
    return ()


def added_problems(rules: Rules, added: str, tables: Tables, source: Tables | None) -> tuple[str, ...]:
    """Return a problem unless the rows that are not marked as added are exactly the rows of the source.

    Real people marked as added would otherwise escape every requirement that counts people.
    """
    if source is None:
        return ("rows were added to this table; it is judged together with its source: pass it as population",)
    columns = sorted(rules.released)
    people = select_people(tables.frequencies([*columns, added]), added, columns)
    if not people.has_rows_of(source.frequencies(columns)):
        return ("the rows that are not marked as added are not the rows of the source; repair the table again",)
    return ()


def treatment_problems(rules: Rules, tables: Tables) -> tuple[str, ...]:
    """Return a problem for every column whose released values contradict its treatment."""
    problems = []
    for name, treatment in rules.treatments.items():
        table = tables.frequencies([name])
        values = table.dictionary(name)
        counts = np.bincount(table.column_codes(name), weights=table.counts, minlength=len(values)).astype(np.int64)
        labels = rules.roles[name] == "quasi_identifier"
        problems.append(treatment.problem(name, values, counts, labels=labels))
    return tuple(problem for problem in problems if problem is not None)


def wiped_out_notes(rules: Rules, tables: Tables, hierarchies: Mapping[str, Hierarchy]) -> tuple[str, ...]:
    """Return a note on quasi-identifiers that contain only `*` or the root of their hierarchy.

    Only what the requirements have grouped already is looked at. Of a table whose classes were counted by profiles, the
    engine is asked for the values of columns whose first rows are all equal.
    """
    known = {name: tables.constant_values(name) for name in rules.columns("quasi_identifier")}
    return tuple(
        f"column {name!r} was generalized to {'`*`' if values[0] == SUPPRESSED else 'the root of its hierarchy'} "
        + _WIPED_OUT
        for name, values in known.items()
        if values and is_wiped_out(values, hierarchies.get(name))
    )


def identifying_notes(rules: Rules, tables: Tables, rows: int) -> tuple[str, ...]:
    """Return a note on every insensitive column whose values name single rows, such as a record number."""
    unique = find_unique_columns(tables.source, rules.columns("insensitive"), rows) if rows > 1 else []
    return tuple(
        f"column {name!r} is insensitive and has another value in every row: it is released unchanged, and a person "
        "who knows one value finds its row"
        for name in unique
    )


def release_notes(rules: Rules, tables: Tables) -> tuple[str, ...]:
    """Return a note on earlier releases that the verdict does not consider, with how many people are in both."""
    if rules.needs_history or rules.needs_ledger:  # a privacy budget covers all releases of its dataset
        return ()
    wanted = "across_releases" if rules.unit else "differences"
    with find_history() as history:
        earlier = None if history is None else history.releases(dataset=rules.dataset)
        if history is None or earlier is None:
            return (f"several releases of this dataset were not considered: the policy does not require {wanted}",)
        if not earlier:
            return ()
        not_considered = f"{len(earlier)} earlier releases of this dataset were not considered"
        if rules.unit is None or not all(release.counted_by_unit for release in earlier):
            return (f"{not_considered}; require {wanted} to judge them together",)
        people = tables.frequencies([rules.unit])
        both = history.count_returning(people, unit=rules.unit, dataset=rules.dataset)
    return (
        f"{not_considered}, and {both:,} of the {people.distinct:,} people of this table are in one of them; require "
        f"{wanted} to judge them together",
    )


def is_wiped_out_note(note: str) -> bool:
    """Tell whether a note of a verdict is about a column without information, which readers must not overlook."""
    return note.endswith(_WIPED_OUT)


def _content_fingerprints(rules: Rules, source: Source, released: Fingerprint | None) -> dict[str, Fingerprint]:
    """Return the fingerprints that every engine computes alike; none for large tables, whose rows stay in the engine.

    Frames have that scheme already.
    """
    if released is None or released.scheme.endswith(LOCAL_SCHEME) or released.rows > _MOST_PORTABLE_ROWS:
        return {}
    tables = source.tables if isinstance(source, Bundle) else {rules.dataset: source}
    wanted = {name: sorted(set(table.columns) & set(rules.released)) for name, table in tables.items()}
    return {name: fingerprint_table(table.frequencies(wanted[name])) for name, table in tables.items()}


def _population_fingerprint(rules: Rules, others: Tables | None, findings: Sequence[Finding]) -> Fingerprint | None:
    """Return the fingerprint of the population over the columns that the findings used, or of the repaired source."""
    if rules.added is not None and others is not None:
        return others.source.fingerprint(sorted(rules.released))
    compared = [f for f in findings if f.requirement.definition.needs_population and f.measurement is not None]
    if others is None or not compared:
        return None
    return others.source.fingerprint(sorted({name for finding in compared for name in _compared_columns(finding)}))


def _compared_columns(finding: Finding) -> Iterator[str]:
    """Yield the columns of the population that a finding used."""
    for role in finding.requirement.definition.compared_roles:
        if finding.measurement is not None:
            yield from finding.measurement.parameters[role]


@contextmanager
def _open_snapshots(data: Any, population: Any) -> Iterator[tuple[Tables, Tables | None]]:
    compared = None if population is None else open_source(population)
    with open_snapshots(open_source(data), compared) as (source, others):
        yield Tables(source), None if others is None else Tables(others)


def label_problems(source: Source) -> tuple[str, ...]:
    """Return a problem if a frame has an index other than row numbers: it may contain names, and is released too."""
    if not getattr(source, "labelled", False):
        return ()
    return (
        "the frame's index contains more than row numbers, and an index has no role; drop it with "
        "reset_index(drop=True), or make it a column with reset_index()",
    )


def _by_region(
    rules: Rules,
    tables: Tables,
    others: Tables | None,
    plan: "LocalPlan | None",
    hierarchies: Mapping[str, Hierarchy],
    made_elsewhere: bool,
) -> Tables | None:
    """Return the population by the regions of the plan; None without a plan, if labels alone tell people's classes.

    Raise if the plan does not fit the table, or if labels alone do not tell the classes.
    """
    from privacy_plugin.generalization.region_population import require_one_level, require_original_values

    if others is None:
        return None  # every requirement that compares says what is missing
    columns = rules.columns("quasi_identifier")
    of_columns = {name: hierarchy for name, hierarchy in hierarchies.items() if name in columns}
    if plan is None and not of_columns:
        return None
    table, population = tables.frequencies(columns), others.frequencies(columns)
    if plan is None:
        require = require_one_level if made_elsewhere else require_original_values
        require(table, population, of_columns)
        return None
    return Tables(open_source(plan.population_by_region(table, population, hierarchies)))


def _fetch_together(rules: Rules, tables: Tables, rows: int) -> None:
    """Group a small table once by all columns, if requirements on very many sensitive ones would each group it."""
    sensitive = {one.sensitive for one in rules.requirements if one.sensitive is not None} - {rules.unit}
    columns = [*rules.columns("quasi_identifier"), *sorted(sensitive)]
    asks_often = len(sensitive) > _SEPARATE_GROUPINGS and rules.counted is None and rules.added is None
    if asks_often and rows * len(columns) <= _FETCHED_CELLS and set(columns) <= set(tables.source.columns):
        tables.frequencies(columns)


def _judge_requirements(
    rules: Rules, tables: Tables, population: Tables | None, by_region: Tables | None = None, misfit: str = ""
) -> tuple[Finding, ...]:
    """Judge every requirement, those over the most columns first: coarser frequency tables derive from finer ones.

    A requirement that compares with a population takes it `by_region` where that is given: labels are written there
    already, so that no hierarchy is needed. With a `misfit` of plan and table it is not evaluated.
    """
    findings: dict[int, Finding] = {}
    definitions = [requirement.definition for requirement in rules.requirements]
    order = sorted(range(len(definitions)), key=lambda n: (not definitions[n].needs_ledger, -len(definitions[n].roles)))
    for number in order:
        requirement = judged = rules.requirements[number]
        others = population
        compares = definitions[number].second_table == "population"
        if compares and misfit:
            findings[number] = requirement.not_evaluated(misfit)
            continue
        if compares and by_region is not None:
            others = by_region
            judged = replace(judged, options={n: v for n, v in judged.options.items() if n != "hierarchies"})
        quasi_identifiers = rules.known_to(requirement)
        finding = judged.judge(
            tables,
            quasi_identifiers=quasi_identifiers,
            attributes=(*quasi_identifiers, *rules.columns("sensitive")),
            population=others,
            unit=rules.counted,
            count=None if rules.people else rules.count,
            added=None if requirement.definition.needs_population else rules.added,
        )
        findings[number] = replace(finding, requirement=requirement)
    return tuple(findings[number] for number in range(len(rules.requirements)))
