"""The gate: judge a table by column roles and requirements, closed unless everything was looked at and passed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.metrics.usability.wiped_out import is_wiped_out
from privacy_plugin.requirements.requirement import Finding
from privacy_plugin.requirements.rules import Rules, structure_problems
from privacy_plugin.sources import Fingerprint, Source, open_source
from privacy_plugin.sources.population_join import open_snapshots


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the gate found. It passed only if there was something to judge and every finding passed.

    The fingerprints are of what the findings rest on: the rows that a release would hold, the same rows with the unit
    that says whose they are, and the table they were compared with.
    """

    dataset: str
    policy_digest: str
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rows: int = 0
    fingerprint: Fingerprint | None = field(default=None, repr=False)
    people_fingerprint: Fingerprint | None = field(default=None, repr=False)
    population_fingerprint: Fingerprint | None = field(default=None, repr=False)
    partition: str | None = None
    judged_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def passed(self) -> bool:
        """Whether the gate is open."""
        return bool(self.findings) and not self.problems and all(finding.passed for finding in self.findings)

    @property
    def evaluated(self) -> bool:
        """Whether everything could be looked at; only then is a closed gate the data's fault."""
        return not self.problems and all(finding.status != "not_evaluated" for finding in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate is closed, in words."""
        return (*self.problems, *(finding.reason for finding in self.findings if not finding.passed))

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data for every door.

        A digest is told of what may be released, and of nothing else: whoever has one can try guesses of the rows.
        """
        return {
            "dataset": self.dataset,
            "partition": self.partition,
            "passed": self.passed,
            "evaluated": self.evaluated,
            "policy_digest": self.policy_digest,
            "rows": self.rows,
            "judged_at": self.judged_at,
            "fingerprint": _described(self.fingerprint, digest=self.passed),
            "people_fingerprint": _described(self.people_fingerprint),
            "population_fingerprint": _described(self.population_fingerprint),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "findings": [finding.to_dict(reveal=reveal) for finding in self.findings],
        }


def _described(fingerprint: Fingerprint | None, *, digest: bool = False) -> dict[str, Any] | None:
    told = fingerprint.to_dict() if fingerprint else {}
    return {name: value for name, value in told.items() if digest or name != "digest"} or None


def in_lines(said: str, reasons: Sequence[str]) -> str:
    """Put one reason on the line of what it explains, and several on a line each, so that people can read them.

    >>> print(in_lines("closed", ["too few people", "too few values"]))
    closed, for 2 reasons:
    - too few people
    - too few values
    """
    if len(reasons) == 1:
        return f"{said}: {reasons[0]}"
    return "\n- ".join([f"{said}, for {len(reasons)} reasons:", *reasons])


def judge(
    rules: Rules,
    data: Any,
    *,
    population: Any = None,
    partition: str | None = None,
    fingerprint: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Verdict:
    """Judge data; with `fingerprint` also take the content fingerprint of what a release would hold.

    Everything is read from one snapshot, so the fingerprint is that of the rows that were judged. Where people were
    counted by a unit column, or a population was compared with, the fingerprints of those are taken too. With the
    columns' `hierarchies` a root that has another name than `*` is recognized in the notes.
    """

    def verdict(**found: Any) -> Verdict:
        return Verdict(dataset=rules.dataset, policy_digest=rules.digest, partition=partition, **found)

    try:
        with _snapshots(data, population) as (tables, others):
            problems = structure_problems(rules, tables.source.columns) + label_problems(tables.source)
            if problems:
                return verdict(problems=problems)
            rows = tables.count_rows()
            if not rows:
                return verdict(problems=("the table has no rows; an empty table is never judged private",))
            if others is not None:
                others.count_rows()
            findings = _findings(rules, tables, others)
            notes = wiped_out_notes(rules, tables, hierarchies or {})
            taken = tables.source.fingerprint(rules.released) if fingerprint else None
            if taken is not None and taken.rows != rows:
                return verdict(problems=(f"{rows:,} rows were judged, but the fingerprint covers {taken.rows:,}",))
            people = tables.source.fingerprint(rules.judged) if fingerprint and rules.unit else None
            compared = _compared_with(others, findings) if fingerprint else None
    except PrivacyPluginError as problem:
        return verdict(problems=(str(problem),))
    except Exception as problem:  # noqa: BLE001  a gate that errs is shut; a driver's text may quote the data
        return verdict(problems=(f"the data could not be read: {type(problem).__name__}",))
    return verdict(
        findings=findings,
        notes=notes,
        rows=rows,
        fingerprint=taken,
        people_fingerprint=people,
        population_fingerprint=compared,
    )


def wiped_out_notes(rules: Rules, tables: Tables, hierarchies: Mapping[str, Hierarchy]) -> tuple[str, ...]:
    """Say which quasi-identifiers hold nothing but `*`, or the root of their hierarchy: a release may do without them.

    Only what the requirements have grouped already is looked at; the engine is not asked again.
    """
    known = {name: tables.known_values(name) for name in rules.columns("quasi_identifier")}
    return tuple(
        f"column {name!r} was generalized to {'`*`' if values[0] == SUPPRESSED else 'the root of its hierarchy'} "
        "in every row: it carries no information"
        for name, values in known.items()
        if values and is_wiped_out(values, hierarchies.get(name))
    )


def _compared_with(others: Tables | None, findings: Sequence[Finding]) -> Fingerprint | None:
    """Identify the table that requirements were compared with, by the columns they looked at."""
    compared = [f for f in findings if f.requirement.definition.needs_population and f.measurement is not None]
    if others is None or not compared:
        return None
    return others.source.fingerprint(sorted({name for finding in compared for name in _columns_seen(finding)}))


def _columns_seen(finding: Finding) -> Iterator[str]:
    """Return the columns of the second table that a finding rests on."""
    for role in finding.requirement.definition.compared_roles:
        if finding.measurement is not None:
            yield from finding.measurement.parameters[role]


@contextmanager
def _snapshots(data: Any, population: Any) -> Iterator[tuple[Tables, Tables | None]]:
    compared = None if population is None else open_source(population)
    with open_snapshots(open_source(data), compared) as (source, others):
        yield Tables(source), None if others is None else Tables(others)


def label_problems(source: Source) -> tuple[str, ...]:
    """Say so where rows carry labels beside the columns: names may be among them, and they go where the rows go."""
    if not getattr(source, "labelled", False):
        return ()
    return (
        "the frame's index is more than a numbering of its rows, and no column that a role could protect; drop it with "
        "reset_index(drop=True), or make it a column with reset_index()",
    )


def _findings(rules: Rules, tables: Tables, population: Tables | None) -> tuple[Finding, ...]:
    """Judge every requirement, those over the most columns first: coarser groupings are made from finer ones."""
    quasi_identifiers = rules.columns("quasi_identifier")
    findings: dict[int, Finding] = {}
    asked = [requirement.definition for requirement in rules.requirements]
    order = sorted(range(len(asked)), key=lambda n: (not asked[n].needs_ledger, -len(asked[n].roles)))
    for number in order:
        requirement = rules.requirements[number]
        findings[number] = requirement.judge(
            tables,
            quasi_identifiers=quasi_identifiers,
            attributes=(*quasi_identifiers, *rules.columns("sensitive")),
            population=population,
            unit=rules.unit,
        )
    return tuple(findings[number] for number in range(len(rules.requirements)))
