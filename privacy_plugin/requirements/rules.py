"""Rules: the role of every column and the requirements, which anonymizers and the gate read from one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from privacy_plugin.errors import NO_NAMES, PolicyError, unknown_name
from privacy_plugin.metrics.registry import SECOND_TABLES
from privacy_plugin.requirements.requirement import Requirement

ROLES = ("identifier", "quasi_identifier", "sensitive", "insensitive", "unit")

# Roles that never leave the house: a release has neither names nor the key that ties a person's rows together.
WITHHELD = ("identifier", "unit")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a gate judges by: the role of every column, the requirements, and who issued them."""

    dataset: str
    roles: Mapping[str, str]
    requirements: Sequence[Requirement]
    digest: str

    def __post_init__(self) -> None:
        for name, role in self.roles.items():  # a misspelt role would take its column out of every question
            if role not in ROLES:
                raise PolicyError(f"column {name!r}: {unknown_name('role', str(role), ROLES)}")
        require_one_second_table(self.requirements)

    @property
    def compares(self) -> bool:
        """Whether a requirement compares with a second table."""
        return any(requirement.definition.needs_population for requirement in self.requirements)

    @property
    def compares_with_original(self) -> bool:
        """Whether the second table is the original that the judged table was made from, not a population."""
        return any(requirement.definition.second_table == "original" for requirement in self.requirements)

    @property
    def asks_ledger(self) -> bool:
        """Whether a requirement can only be judged with a budget ledger."""
        return any(requirement.definition.needs_ledger for requirement in self.requirements)

    def columns(self, role: str) -> tuple[str, ...]:
        """The columns that have a role."""
        return tuple(name for name, given in self.roles.items() if given == role)

    @property
    def unit(self) -> str | None:
        """The column that says which rows belong to one person, if there is one."""
        return next(iter(self.columns("unit")), None)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns a release has."""
        return tuple(name for name, role in self.roles.items() if role not in WITHHELD)

    @property
    def judged(self) -> tuple[str, ...]:
        """The columns a verdict rests on: those of a release, and the unit."""
        return (*self.released, *self.columns("unit"))


class HasRules(Protocol):
    """A policy, as certificates see it."""

    @property
    def rules(self) -> Rules:
        """What the gate judges by."""


def require_one_second_table(requirements: Sequence[Requirement]) -> None:
    """Refuse requirements that would take one table for two: a population, and the original of a release."""
    used = {r.definition.second_table: r.metric for r in requirements if r.definition.second_table}
    if len(used) > 1:
        both = " and ".join(f"{metric} with {SECOND_TABLES[use]}" for use, metric in sorted(used.items()))
        raise PolicyError(
            f"one policy compares with one second table, but {both}; split it into two policies, and hold both gates"
        )


_UNCOUNTED = (
    "; people are counted by this column: check the table while it still has it, as `anonymize --report` and the "
    "release do"
)


def identifier_left(name: str) -> str:
    """Say that an identifier is still in the table."""
    return f"column {name!r} identifies people and is still in the table; drop it before release"


def structure_problems(rules: Rules, columns: Sequence[str]) -> tuple[str, ...]:
    """Say what is wrong with the columns: one without a role, an identifier still there, a declared one missing."""
    if not any(name in rules.roles for name in columns):
        none = "the table has none of the columns that the policy declares"
        return (f"{none}: is the policy for this table, and {NO_NAMES}",)
    problems = [f"column {name!r} has no role in the policy; declare it" for name in columns if name not in rules.roles]
    problems += [identifier_left(name) for name in rules.columns("identifier") if name in columns]
    problems += [
        f"column {name!r} is declared as {role} but not in the table{_UNCOUNTED if role == 'unit' else ''}"
        for name, role in rules.roles.items()
        if role != "identifier" and name not in columns
    ]
    return tuple(problems)
