"""Clauses of a standard: what it asks, and how far a table, a policy or a person answers it.

A clause is *measured* by requirements, *checked* by a rule about columns and formats, *declared* by a person, or *not
covered*. A checked clause that is not met closes the gate. No clause says that a release complies with a standard: that
is a person's judgement.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from privacy_plugin.errors import PolicyError, unknown_name
from privacy_plugin.frequency.values import SUPPRESSED, Value, label
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.requirements.column_names import suggests_age, suggests_postcode, tokens
from privacy_plugin.requirements.requirement import Finding

Kind = Literal["measured", "checked", "declared", "not_covered"]
Status = Literal["met", "not met", "not evaluated", "answered", "open", "not covered"]

KINDS: tuple[Kind, ...] = ("measured", "checked", "declared", "not_covered")

_VALUES = {
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "phone": re.compile(r"(?:\+\d|\(\d{3}\)\s?\d)[\d\s()./-]{6,18}\d|\d{3}[-.\s]\d{3}[-.\s]\d{4}"),
    "social_security_number": re.compile(r"\d{3}-\d{2}-\d{4}"),
    "url": re.compile(r"(?:https?|ftp)://\S+|www\.\S+", re.IGNORECASE),
    "ip_address": re.compile(r"(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}", re.IGNORECASE),
}
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:[ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?:[ T].*)?")
_LOW = re.compile(r"\s*[\[(>]?=?\s*(-?\d+(?:\.\d+)?)")
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class Clause:
    """One clause of a standard, with its source and the way it is answered."""

    pack: str
    name: str
    says: str
    source: str
    kind: Kind
    check: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""
    answer: str | None = None

    @property
    def origin(self) -> str:
        """What the requirements of a measured clause name as their origin."""
        return f"pack {self.pack}, {self.name}: {self.source}"


@dataclass(frozen=True, kw_only=True)
class ClauseFinding:
    """How a clause was answered: by a measurement, a check or a person."""

    clause: Clause
    status: Status
    reason: str

    @property
    def closes(self) -> bool:
        """Whether it keeps the gate closed; a measured clause does so by its requirements."""
        return self.clause.kind == "checked" and self.status != "met"

    def to_dict(self) -> dict[str, str]:
        """Return plain data without a value of the table."""
        clause = self.clause
        return {
            "pack": clause.pack,
            "clause": clause.name,
            "says": clause.says,
            "kind": clause.kind,
            "source": clause.source,
            "status": self.status,
            "reason": self.reason,
        }


def judge_clauses(
    clauses: Sequence[Clause], released: Sequence[str], tables: Tables, findings: Sequence[Finding]
) -> tuple[ClauseFinding, ...]:
    """Answer every clause for the released columns of a table and the findings of its requirements."""
    return tuple(_judge(clause, released, tables, findings) for clause in clauses)


def _judge(clause: Clause, released: Sequence[str], tables: Tables, findings: Sequence[Finding]) -> ClauseFinding:
    if clause.kind == "measured":
        return _measured(clause, findings)
    if clause.kind == "checked":
        problems = [
            problem for name, option in clause.check.items() for problem in CHECKS[name](option, released, tables)
        ]
        return ClauseFinding(
            clause=clause,
            status="not met" if problems else "met",
            reason="; ".join(problems) or "no released column is in conflict with it",
        )
    if clause.kind == "declared":
        if clause.answer is None:
            return ClauseFinding(clause=clause, status="open", reason=f"a person has to answer: {clause.question}")
        return ClauseFinding(clause=clause, status="answered", reason=f"{clause.question} {clause.answer}")
    return ClauseFinding(clause=clause, status="not covered", reason="this package neither measures nor checks it")


def _measured(clause: Clause, findings: Sequence[Finding]) -> ClauseFinding:
    own = [finding for finding in findings if finding.requirement.origin == clause.origin]
    reason = "; ".join(f"{finding.requirement}: {finding.status.replace('_', ' ')}" for finding in own)
    if not own or any(finding.status == "not_evaluated" for finding in own):
        return ClauseFinding(clause=clause, status="not evaluated", reason=reason or "no requirement was evaluated")
    status: Status = "met" if all(finding.passed for finding in own) else "not met"
    return ClauseFinding(clause=clause, status=status, reason=reason)


Check = Callable[[Any, Sequence[str], Tables], list[str]]


def _no_column_named(words: Sequence[str], released: Sequence[str], tables: Tables) -> list[str]:
    """Name the released columns whose names contain one of the words (several words with spaces: all of them)."""
    wanted = [frozenset(word.split()) for word in words]
    found = [name for name in released if any(each <= tokens(name) for each in wanted)]
    return [f"column {name!r} is released, and its name suggests this kind of identifier" for name in found]


def _no_value_like(kinds: Sequence[str], released: Sequence[str], tables: Tables) -> list[str]:
    return [
        f"column {name!r} has {count:,} distinct values that look like this kind of identifier"
        for name in released
        if (count := sum(any(_VALUES[kind].fullmatch(text) for kind in kinds) for text in _texts(name, tables)))
    ]


def _dates(precision: str, released: Sequence[str], tables: Tables) -> list[str]:
    """Count the values that are dates with a month or a day; only the year may be left."""
    return [
        f"column {name!r} has {count:,} distinct dates with more than the year"
        for name in released
        if (count := sum(_is_fine_date(value) for value in _values(name, tables)))
    ]


def _is_fine_date(value: Value) -> bool:
    return isinstance(value, date) or (isinstance(value, str) and _DATE.fullmatch(value.strip()) is not None)


def _highest_age(limit: int, released: Sequence[str], tables: Tables) -> list[str]:
    """Count the ages above the limit; one category for all of them may be left."""
    problems = []
    for name in released:
        if suggests_age(name):
            above = [text for text in _texts(name, tables) if (low := _LOW.match(text)) and float(low[1]) > limit]
            if len(above) > 1 or any(_PLAIN.fullmatch(text) for text in above):
                problems.append(
                    f"column {name!r} has {len(above):,} distinct ages above {limit}, which have to be one category"
                )
    return problems


def _postcode_digits(most: int, released: Sequence[str], tables: Tables) -> list[str]:
    return [
        f"column {name!r} has {count:,} distinct postcodes of more than {most} digits"
        for name in released
        if suggests_postcode(name)
        and (count := sum(len(re.sub(r"[^0-9A-Za-z]", "", text)) > most for text in _texts(name, tables)))
    ]


CHECKS: Mapping[str, Check] = {
    "no_column_named": _no_column_named,
    "no_value_like": _no_value_like,
    "dates": _dates,
    "highest_age": _highest_age,
    "postcode_digits": _postcode_digits,
}


def require_check(given: Mapping[str, Any]) -> None:
    """Raise if a clause names a check that does not exist."""
    for name in given:
        if name not in CHECKS:
            raise PolicyError(unknown_name("check of a clause", str(name), CHECKS))


def _values(column: str, tables: Tables) -> Sequence[Value]:
    known = tables.known_values(column)
    found = known if known is not None else tables.frequencies([column]).dictionary(column)
    return [value for value in found if value is not None and value != SUPPRESSED]


def _texts(column: str, tables: Tables) -> list[str]:
    return [label(value).strip() for value in _values(column, tables)]
