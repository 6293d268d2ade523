"""Write a proposal as a policy file, which gates reject until it has been reviewed."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from privacy_plugin.anonymizers.registry import ANONYMIZERS, DEFAULT
from privacy_plugin.policy.packs import parse_packs
from privacy_plugin.proposals.proposal import ColumnProposal, Proposal

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*[A-Za-z0-9_]")
_SPECIAL = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n"})

_HEAD = """\
# A PROPOSAL by `privacy-plugin init`, made from counts about the table and not yet reviewed.
# Every gate rejects this file while it contains the line `unreviewed`. Before you delete that line:
#  - review every role below: identifier (never released), quasi_identifier (an attacker may know it), sensitive (an
#    attacker wants to learn it), insensitive (neither), unit (links the rows of one person);
#  - choose a role for the columns that are commented out: the gate stays closed until every column has one;
#  - set the requirements that your release needs; the ones below are a starting point, not legal advice.
unreviewed: delete this line once every role has been reviewed
"""


_SCORE_WORDS = """\
  # The privacy score: what follows with certainty from what an attacker may know of a person. Proposed by role:
  #  likelihood that an attacker knows the column: 1 anybody can see it or look it up, 0.75 neighbours and colleagues
  #   know it, 0.5 friends, 0.25 family or a doctor, 0 nobody; a quasi_identifier has 1, a sensitive column 0
  #  danger if the column is inferred: 1 lasting harm (health, money, prosecution), 0.5 it is embarrassing, 0.25 it is a
  #   nuisance, 0 harmless; a sensitive column has 1, a quasi_identifier 0
  #  A column that is not listed has the weights of its role; change the lists together with the roles. Limit the
  #  maximum or a share of the people: an average below a half can pass a table in which nearly everybody is exposed."""


_TREE_EXAMPLE = """{tree: {group: [value, ...], ...}}, or a CSV file with the
    #   lines value;group;*  (`privacy-plugin init --reveal` lists the values of short columns)"""
_HIERARCHY_EXAMPLES = {
    "date": """{dates: {levels: [month, year, decade], format: "%d/%m/%Y"}}, once all
    #   dates have the same known format""",
    "amount": "{intervals: ...}, once the numbers have the format 1234.56",
}


def policy_text(proposal: Proposal, *, packs: Sequence[str] = ()) -> str:
    """Return the proposal as YAML with a reason for every column, and the clauses of standards to answer."""
    blocks = [_open_block(column) if column.role is None else _role_block(column) for column in proposal.columns]
    return "\n".join(
        [
            _HEAD,
            "version: 1",
            f"dataset: {_scalar(proposal.dataset)}",
            "",
            f"# {proposal.rows:,} rows. {describe_uniqueness(proposal)}",
            "columns:",
            *blocks,
            "",
            *_requirements(proposal),
            "",
            *_packs(packs),
            "anonymize:",
            f"  method: {DEFAULT}  # or {', '.join(name for name in ANONYMIZERS if name != DEFAULT)}",
            "  max_suppression: 0.05  # at most this share of the rows may be suppressed",
            "",
        ]
    )


def describe_uniqueness(proposal: Proposal) -> str:
    """Return a sentence about the share of people who are unique by the quasi-identifiers."""
    known, undecided = proposal.named("quasi_identifier"), proposal.named(None)
    sentence = "No quasi-identifier is proposed."
    if known:
        sentence = f"The proposed quasi-identifiers together make {proposal.unique_share:.1%} of the people unique."
    if undecided:
        sentence += f" With all columns that have no role yet it would be {proposal.unique_share_open:.1%}."
    return sentence


def explain_role(column: ColumnProposal) -> str:
    """Return the reason of a role and the measurements."""
    found = column.profile
    facts = [column.reason, f"{found.distinct:,} distinct values"]
    if column.unique_alone is not None:
        facts.append(f"alone it makes {column.unique_alone:.1%} of the people unique")
    if column.unique_with is not None and column.unique_without is not None:
        among = "with the other quasi-identifiers" if column.role else "if it joined the quasi-identifiers"
        facts.append(f"{among} {column.unique_with:.1%}, without it {column.unique_without:.1%}")
    if found.missing:
        facts.append(f"{found.missing / found.rows:.1%} missing")
    if column.same_as is not None:
        facts.append(f"it repeats {column.same_as!r} value by value: make it an identifier to leave it out")
    return "; ".join(facts)


def _role_block(column: ColumnProposal) -> str:
    lines = [f"  {_scalar(column.name)}:", f"    role: {column.role}"]
    if column.hierarchy is not None:
        lines += [f"    # {column.hierarchy_note}."] if column.hierarchy_note else []
        lines.append(f"    hierarchy: {_flow(column.hierarchy)}")
    elif column.role == "quasi_identifier":
        lines.append(
            f"    # hierarchy: needed to generalize: {_HIERARCHY_EXAMPLES.get(column.profile.kind, _TREE_EXAMPLE)}"
        )
    lines.append(f"    why: {_quoted(explain_role(column))}")
    return "\n".join(lines)


def _open_block(column: ColumnProposal) -> str:
    name = _scalar(column.name)
    lines = [
        f"  # {name}: NO ROLE YET. {explain_role(column)}.",
        "  #   quasi_identifier if others may know it, sensitive if it is private, insensitive if neither.",
        f"  # {name}: <role>",
    ]
    if column.hierarchy is not None:
        note = f"  # {column.hierarchy_note}" if column.hierarchy_note else ""
        lines.append(f"  # {name}: {{role: quasi_identifier, hierarchy: {_flow(column.hierarchy)}}}{note}")
    return "\n".join(lines)


def _requirements(proposal: Proposal) -> list[str]:
    lines = ["requirements:", "  - preset: k5  # every class has at least five people"]
    if proposal.named("sensitive"):
        line = "- l_diversity: {variant: distinct, at_least: 2}  # for every sensitive column"
        lines.append(f"  {line}")
        lines += _privacy_score(proposal)
    if proposal.named("unit"):
        lines += [
            "# people:  # one row a person before anything is judged; without it, people with several rows are counted",
            "#   <column>: set  # every column but identifiers and the unit; or min, max, most_frequent, count, drop",
        ]
    return lines


def _privacy_score(proposal: Proposal) -> list[str]:
    """Return the weights of the privacy score by role, what they mean, and a limit that nearly no raw table meets.

    Only the worst weights are written: if a column gets another role later, they are never too mild for it.
    """
    if proposal.named("unit"):  # the score is defined for one row per person
        return []
    known = dict.fromkeys(proposal.named("quasi_identifier"), 1)
    likelihood = [f"      likelihood: {_flow(known)}"] if known else []
    return [
        _SCORE_WORDS,
        "  - privacy_score:",
        *likelihood,
        f"      danger: {_flow(dict.fromkeys(proposal.named('sensitive'), 1))}",
        "      statistic: maximum  # or threshold_share with threshold: 0.5 and at_most: 0.01",
        "      below: 0.5  # a sensitive value that is certain scores 1/2: fails while one person's value follows",
    ]


def _packs(names: Sequence[str]) -> list[str]:
    """Return the packs with the questions that a person has to answer, commented out until they are answered."""
    if not names:
        return []
    declared = [clause for clause in parse_packs(names, None) if clause.kind == "declared"]
    lines = [f"packs: [{', '.join(names)}]"]
    lines += ["# declarations:  # your answers, shown in the report"] if declared else []
    lines += [f"#   {clause.pack}.{clause.name}: {_quoted(clause.question)}" for clause in declared]
    return [*lines, ""]


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=1_000_000).strip()


def _flow(hierarchy: dict[str, Any]) -> str:
    return yaml.safe_dump(
        hierarchy, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1_000_000
    ).strip()
