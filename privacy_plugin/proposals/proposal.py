"""Propose a first policy for a table, with measurements and reasons, for a person to review.

A role is proposed if the column's name or values suggest it; other columns get no role, and a gate stays closed until
every column has one. Uniqueness is measured on frequency tables: the share of people with a unique value or
combination, by the column alone, and by all proposed quasi-identifiers with and without it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from privacy_plugin.errors import EmptyTableError, ParameterError, require_column
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import label
from privacy_plugin.proposals.column_profile import ColumnProfile, profile_column
from privacy_plugin.proposals.header import Heading, require_header, require_names
from privacy_plugin.proposals.hierarchies import propose_hierarchy
from privacy_plugin.proposals.uniqueness import Uniqueness, find_shares, group_columns
from privacy_plugin.requirements import column_names
from privacy_plugin.sources import Source, open_source

_NEARLY_UNIQUE = 0.95
_ENOUGH_ROWS = 50  # in a smaller table, uniqueness is common by chance
_ENOUGH_ROWS_OF_TEXT = 1_000  # 1,000 people do not all have different towns, jobs or schools
_MOST_ROWS_A_PERSON = 50


@dataclass(frozen=True, kw_only=True)
class ColumnProposal:
    """The proposed role of one column (None: the reviewer decides), and its reason.

    `unique_alone` is the share of people made unique by this column, `unique_with` and `unique_without` by the proposed
    quasi-identifiers with and without it. A unit column, which identifies people, has none of these shares. `same_as`
    is an earlier column whose values correspond one to one to the values of this column.
    """

    profile: ColumnProfile
    role: str | None
    reason: str
    unique_alone: float | None = None
    unique_with: float | None = None
    unique_without: float | None = None
    hierarchy: dict[str, Any] | None = None
    hierarchy_note: str = ""
    same_as: str | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.profile.name


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Proposed roles for every column of a table.

    `unique_share` is the share of people made unique by the proposed quasi-identifiers, `unique_share_open` by those
    and all columns without a role together.
    """

    dataset: str
    rows: int
    columns: tuple[ColumnProposal, ...]
    unique_share: float = 0.0
    unique_share_open: float = 0.0

    def named(self, role: str | None) -> tuple[str, ...]:
        """The columns with a proposed role, or with none."""
        return tuple(column.name for column in self.columns if column.role == role)


def with_contract(proposal: "Proposal", roles: Mapping[str, Any], classifications: Mapping[str, str]) -> "Proposal":
    """Return the proposal with the roles that a data contract states; a classified column is at least sensitive.

    Where the contract classifies a column that would be released unprotected, or that has no role yet, it becomes
    sensitive. Identifiers, units and quasi-identifiers stay what they are.
    """
    columns = []
    for column in proposal.columns:
        stated = roles.get(column.name)
        role = stated.get("role") if isinstance(stated, Mapping) else stated
        classification = classifications.get(column.name)
        if role is not None:
            reason = f"the data contract gives it this role; its values suggest {column.role or 'none'}"
            kept = column.hierarchy if role == "quasi_identifier" else None
            column = replace(column, role=str(role), reason=reason, hierarchy=kept)
        elif classification is not None and column.role in (None, "insensitive"):
            reason = f"the data contract classifies it as {classification}"
            column = replace(column, role="sensitive", reason=reason, hierarchy=None)
        columns.append(column)
    return replace(proposal, columns=tuple(columns))


def propose(
    data: Any,
    *,
    dataset: str,
    reveal: bool = False,
    header: bool = False,
    group_by: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Proposal:
    """Propose a role, with its reason, for every column of a table.

    With `reveal`, hierarchies of columns with few values list those values; without it, the proposal contains only
    column names and counts. `group_by` names a sensitive column: trees of short columns then group values by their
    association with it, which needs `reveal`. Raises if the column names may be a row of values, unless `header` is
    true. Cost: one frequency table for as many columns as fit in memory together (in a large table: one per column),
    one for all possible quasi-identifiers, and up to two projections of it for each of those.

    >>> import pandas
    >>> table = pandas.DataFrame({"age": [30, 30, 41], "disease": ["flu", "flu", "cold"], "ward": [1, 2, 2]})
    >>> [(column.name, column.role) for column in propose(table, dataset="visits").columns]
    [('age', 'quasi_identifier'), ('disease', 'sensitive'), ('ward', None)]
    """
    source = open_source(data)
    if group_by is not None:
        require_column(group_by, source.columns, role="group_by")
        if not reveal:
            raise ParameterError("group_by lists values in the proposed trees; pass reveal=True (--reveal) too")
    with source.snapshot() as snapshot:
        rows = snapshot.row_count()
        if not rows:
            raise EmptyTableError("the table has no rows; a policy cannot be proposed for an empty table")
        proposed: list[ColumnProposal] = []
        headings: list[Heading] = []
        for place, (name, grouped) in enumerate(group_columns(snapshot, snapshot.columns, rows=rows), start=1):
            progress(f"profiling column {place} of {len(snapshot.columns)}")  # not its name, which may be a value
            table = grouped.frequencies([name])
            column = _propose_role(profile_column(table), has_unit=any(c.role == "unit" for c in proposed))
            related = snapshot.frequencies([name, group_by]) if group_by not in (None, name) else None
            proposed.append(_with_hierarchy(column, table, reveal=reveal, related=related))
            is_value = any(label(value) == name for value in table.dictionaries[0])
            headings.append(Heading(profile=column.profile, is_value=is_value))
        if not header:
            require_names(headings)
            if getattr(source, "named_by_first_line", False):
                require_header(headings)
        return _measure_uniqueness(Proposal(dataset=dataset, rows=rows, columns=tuple(proposed)), snapshot, progress)


def _propose_role(column: ColumnProfile, *, has_unit: bool) -> ColumnProposal:
    """Propose a role by name and values; the first matching rule wins, and None is proposed where rules disagree.

    The role insensitive is never proposed: the values of today say nothing about the values of tomorrow.
    """
    suggested = column_names.suggested_roles(column.name)

    def proposal(role: str | None, reason: str) -> ColumnProposal:
        return ColumnProposal(profile=column, role=role, reason=reason)

    if column_names.suggests_identifier(column.name):
        return proposal(*_identifier_or_unit(column, has_unit=has_unit))
    if column.kind == "personal":
        return proposal(
            "identifier", "its values look like e-mail addresses, phone numbers, account numbers or personal numbers"
        )
    if "quasi_identifier" in suggested and _is_numbering(column):
        return proposal(None, "its name suggests a quasi-identifier, but every row has a different value, like a key")
    if "quasi_identifier" not in suggested and _is_key(column):
        return proposal("identifier", "nearly every row has a different value, like a key")
    if column.kind == "date":
        return proposal("quasi_identifier", "others may know dates of birth, visits and events")
    if "sensitive" in suggested and ("quasi_identifier" in suggested or _names_people(column.name)):
        return proposal(None, "its name suggests both a sensitive value and a quasi-identifier")
    if "sensitive" in suggested:
        return proposal("sensitive", "its name suggests a sensitive value")
    if "quasi_identifier" in suggested:
        return proposal("quasi_identifier", "its name suggests an attribute that others may know")
    if column.is_constant:
        return proposal(None, "every row has the same value; decide by the values it may have later")
    return proposal(None, "neither its name nor its values suggest a role")


def _names_people(name: str) -> bool:
    return "identifier" in column_names.suggested_roles(name) and column_names.suggests_person(name)


def _is_key(column: ColumnProfile) -> bool:
    if column.rows < _ENOUGH_ROWS:
        return False
    if column.kind in ("text", "code"):
        return column.unique_share >= _NEARLY_UNIQUE
    return column.whole and column.distinct == column.rows and not column.missing


def _is_numbering(column: ColumnProfile) -> bool:
    """Return whether a column named like a quasi-identifier is a key; postcodes and few texts may differ by chance."""
    if column_names.suggests_postcode(column.name):
        return False
    return _is_key(column) and (column.kind != "text" or column.rows >= _ENOUGH_ROWS_OF_TEXT)


def _identifier_or_unit(column: ColumnProfile, *, has_unit: bool) -> tuple[str | None, str]:
    if column.unique_share >= _NEARLY_UNIQUE or not column_names.suggests_person(column.name):
        return "identifier", "its name suggests an identifier of people" + _shared_values(column)
    average = column.rows / column.distinct
    if has_unit or column.missing or average > _MOST_ROWS_A_PERSON:
        return (
            None,
            "its name suggests a key, but its values repeat; decide if it is a key of people, of places or of things",
        )
    return "unit", f"its name suggests a key of people with {average:.3g} rows each: classes count people by it"


def _shared_values(column: ColumnProfile) -> str:
    """Return a warning if rows share a value of a likely key of people: rows would be counted as people."""
    shared = column.rows - column.missing - column.unique
    if shared <= 0 or not column_names.suggests_person(column.name):
        return ""
    return f", but {shared:,} rows share a value: keep one row per person, or use the role unit to count people"


def _with_hierarchy(
    column: ColumnProposal, table: FrequencyTable, *, reveal: bool, related: FrequencyTable | None
) -> ColumnProposal:
    """Add the hierarchy of a column that is, or may become, a quasi-identifier."""
    if column.role not in ("quasi_identifier", None):
        return column
    found = propose_hierarchy(column.profile, table, reveal=reveal, related=related)
    return replace(column, hierarchy=found.specification, hierarchy_note=found.note)


def _measure_uniqueness(proposal: Proposal, source: Source, progress: Callable[[str], None]) -> Proposal:
    """Measure how much every possible quasi-identifier adds to the share of unique people."""
    known, undecided = proposal.named("quasi_identifier"), proposal.named(None)
    unit = next(iter(proposal.named("unit")), None)
    progress("grouping by all quasi-identifiers")
    uniqueness = Uniqueness(source, [*known, *undecided], rows=proposal.rows, unit=unit)

    def unique(columns: Sequence[str]) -> float:
        progress(f"measuring uniqueness by {len(columns)} columns")
        return uniqueness.share(columns)

    def unique_without(columns: Sequence[str]) -> float:
        left_out = frozenset(columns)
        return unique([name for name in known if name not in left_out])

    together, everything = unique(known), unique([*known, *undecided])
    without = find_shares(known, unique_without, unchanged=together)
    joined = find_shares(undecided, lambda columns: unique([*known, *columns]), unchanged=together) if known else {}
    alone = _unique_alone(proposal, uniqueness, unit=unit)
    possible = [column for column in proposal.columns if column.name in {*known, *undecided}]
    same = uniqueness.find_repeated({column.name: column.profile.distinct for column in possible})

    def measured(column: ColumnProposal) -> ColumnProposal:
        shares: dict[str, Any] = {"unique_alone": alone.get(column.name), "same_as": same.get(column.name)}
        if column.name in without:
            shares |= {"unique_with": together, "unique_without": without[column.name]}
        if column.name in joined:
            shares |= {"unique_with": joined[column.name], "unique_without": together}
        return replace(column, **shares)

    columns = tuple(measured(column) for column in proposal.columns)
    return replace(proposal, columns=columns, unique_share=together, unique_share_open=everything)


def _unique_alone(proposal: Proposal, uniqueness: Uniqueness, *, unit: str | None) -> dict[str, float]:
    """Return the share of people whom each column alone makes unique; without a unit, from the profiles."""
    if unit is None:
        return {column.name: column.profile.unique_share for column in proposal.columns}
    return uniqueness.alone([column.name for column in proposal.columns if column.name != unit])
