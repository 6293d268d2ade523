"""Rules: the role of every column and the requirements, as anonymizers and the gate use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from privacy_plugin.errors import NO_NAMES, PolicyError, unknown_name
from privacy_plugin.frequency.treatment import Treatment
from privacy_plugin.measuring.people import WAYS_OUT, describe_one_row
from privacy_plugin.metrics.registry import SECOND_TABLES
from privacy_plugin.requirements.clauses import Clause
from privacy_plugin.requirements.requirement import Requirement

ROLES = ("identifier", "quasi_identifier", "sensitive", "insensitive", "unit")

# The role of the column in which a repair marks the rows that it added. No policy can name it: otherwise real people
# could be marked as added and escape every requirement that counts people.
ADDED = "added"

# Roles of columns that are never released: identifiers, the key that links the rows of a person, and marks of a repair.
WITHHELD = ("identifier", "unit", ADDED)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The role of every column, the requirements, and the digest of the policy they come from."""

    dataset: str
    roles: Mapping[str, str]
    requirements: Sequence[Requirement]
    digest: str
    form: str = "rows"
    """What a release contains: rows with the columns of the source, or what is made of them, such as itemsets."""
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of every table of a release that has several; empty for a release of one table."""
    identity: tuple[str, ...] = ()
    """The columns by which people can be recognized, where sensitive values are judged by others, such as a bucket."""
    clauses: Sequence[Clause] = ()
    count: str | None = None
    """How the people of a unit column are counted; None is the default, `sequences`."""
    rows_a_person: int | None = None
    """At most how many rows of a person a randomized method draws from; None where every row is a person."""
    people: Mapping[str, Any] = field(default_factory=dict)
    """How one row a person is made before anything is judged; empty where rows stay as they are."""
    treatments: Mapping[str, Treatment] = field(default_factory=dict)
    """What is done to the numbers of single columns; the gate refuses a table in which it was not done."""

    def __post_init__(self) -> None:
        for name, role in self.roles.items():  # a column with a misspelled role would be ignored
            if role not in (*ROLES, ADDED):
                raise PolicyError(f"column {name!r}: {unknown_name('role', str(role), ROLES)}")
        require_one_second_table(self.requirements)

    @property
    def needs_population(self) -> bool:
        """Whether a requirement compares with a population or an original table, or the gate with the source."""
        return self.added is not None or any(
            requirement.definition.needs_population for requirement in self.requirements
        )

    @property
    def compares_with_original(self) -> bool:
        """Whether the second table is the original that the judged table was made from, not a population."""
        return self.added is not None or any(
            requirement.definition.second_table == "original" for requirement in self.requirements
        )

    @property
    def needs_ledger(self) -> bool:
        """Whether a requirement needs a budget ledger."""
        return any(requirement.definition.needs_ledger for requirement in self.requirements)

    @property
    def needs_history(self) -> bool:
        """Whether a requirement needs a release history."""
        return any(requirement.definition.needs_history for requirement in self.requirements)

    def columns(self, role: str) -> tuple[str, ...]:
        """Return the columns with a role."""
        return tuple(name for name, given in self.roles.items() if given == role)

    def known_to(self, requirement: Requirement) -> tuple[str, ...]:
        """Return the quasi-identifiers that a requirement is judged by."""
        if self.identity and "sensitive" not in requirement.definition.roles:
            return self.identity
        return self.columns("quasi_identifier")

    @property
    def unit(self) -> str | None:
        """The column that identifies the person of a row, or None."""
        return next(iter(self.columns("unit")), None)

    @property
    def added(self) -> str | None:
        """The column in which a repair marks the rows that it added, or None."""
        return next(iter(self.columns(ADDED)), None)

    @property
    def counted(self) -> str | None:
        """The unit by which metrics count people; None where every person has one row."""
        return None if self.people else self.unit

    @property
    def released(self) -> tuple[str, ...]:
        """The columns of a release."""
        return tuple(name for name, role in self.roles.items() if role not in WITHHELD)

    @property
    def judged(self) -> tuple[str, ...]:
        """The columns that a verdict depends on: those of a release, and the unit."""
        return (*self.released, *self.columns("unit"))


class HasRules(Protocol):
    """An object with rules, such as a policy."""

    @property
    def rules(self) -> Rules:
        """The rules that the gate evaluates."""


def require_one_second_table(requirements: Sequence[Requirement]) -> None:
    """Raise if requirements compare with both a population and an original: a policy has one second table."""
    used = {r.definition.second_table: r.metric for r in requirements if r.definition.second_table}
    if len(used) > 1:
        both = " and ".join(f"{metric} with {SECOND_TABLES[use]}" for use, metric in sorted(used.items()))
        raise PolicyError(
            f"one policy compares with one second table, but {both}; split it into two policies, and hold both gates"
        )


def _listed_columns(rules: Rules) -> str:
    tables = {"the columns": tuple(rules.roles)} if not rules.tables else rules.tables
    return " and ".join(f"{name} {', '.join(columns)}" for name, columns in tables.items())


def require_countable(requirements: Sequence[Requirement], unit: str | None) -> None:
    """Raise if a requirement cannot be judged where people have several rows."""
    for requirement in requirements if unit is not None else ():
        definition = requirement.definition
        if definition.kind != "utility" and not definition.counts_people and not definition.needs_history:
            raise PolicyError(f"{describe_one_row(str(requirement))} such as {unit!r}; {WAYS_OUT}")


_UNIT_HINT = (
    "; people are counted by this column: check the table before the column is removed, as `anonymize --report` and "
    "the release do"
)


def identifier_problem(name: str) -> str:
    """Return the problem of an identifier column that is still in the table."""
    return f"the identifier column {name!r} is still in the table; drop it before release"


def structure_problems(rules: Rules, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the problems of the columns: without a role, an identifier, or declared but missing."""
    if rules.form != "rows" and set(columns) != set(rules.roles):
        return (
            f"under this policy {rules.dataset!r} is released as {rules.form}, with {_listed_columns(rules)}; "
            "judge the table that its method makes (`privacy-plugin anonymize`)",
        )
    if not any(name in rules.roles for name in columns):
        return (f"the table has none of the columns of the policy: is the policy for this table, and {NO_NAMES}",)
    problems = [
        f"column {name!r} has no role in the policy; add it to columns" for name in columns if name not in rules.roles
    ]
    problems += [identifier_problem(name) for name in rules.columns("identifier") if name in columns]
    problems += [
        f"column {name!r} has the role {role} but is not in the table{_UNIT_HINT if role == 'unit' else ''}"
        for name, role in rules.roles.items()
        if role != "identifier" and name not in columns
    ]
    return tuple(problems)
