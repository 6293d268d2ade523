"""A proposal as a policy file that a person reviews: closed until they have."""

import re
from typing import Any

import yaml

from privacy_plugin.anonymizers.registry import ANONYMIZERS
from privacy_plugin.proposals.proposal import ColumnProposal, Proposal

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*[A-Za-z0-9_]")
_SPECIAL = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n"})

_HEAD = """\
# A PROPOSAL, made by `privacy-plugin init` from counts about the table. Nobody has reviewed it yet.
# Every gate refuses this file as long as the next line is in it. Before you remove that line:
#  - read every role below: identifier (never released), quasi_identifier (an attacker may know it), sensitive (an
#    attacker would like to know it), insensitive (neither), unit (ties the rows of one person together);
#  - decide about the columns that stand there as comments: without a role for each, the gate stays closed;
#  - set the requirements that your release needs; the ones below are a starting point, not legal advice.
unreviewed: remove this line once every role has been reviewed
"""


_A_TREE = """{tree: {group: [value, ...], ...}}, or a CSV file with the
    #   lines value;group;*  (`privacy-plugin init --reveal` lists the values of short columns)"""
_TO_WRITE = {
    "date": """{dates: {levels: [month, year, decade], format: "%d/%m/%Y"}}, once all
    #   dates are written in one way, and you know which""",
    "amount": "{intervals: ...}, once the numbers are written as 1234.56",
}


def policy_text(proposal: Proposal) -> str:
    """Write the proposal as YAML with a reason for every column."""
    blocks = [_undecided(column) if column.role is None else _decided(column) for column in proposal.columns]
    return "\n".join(
        [
            _HEAD,
            "version: 1",
            f"dataset: {_scalar(proposal.dataset)}",
            "",
            f"# {proposal.rows:,} rows. {uniqueness(proposal)}",
            "columns:",
            *blocks,
            "",
            *_requirements(proposal),
            "",
            "anonymize:",
            f"  method: generalize  # or {', '.join(name for name in ANONYMIZERS if name != 'generalize')}",
            "  max_suppression: 0.05  # at most this share of the rows may be left out",
            "",
        ]
    )


def uniqueness(proposal: Proposal) -> str:
    """Say how many people stand alone by what an attacker may know, as far as that is decided."""
    known, undecided = proposal.named("quasi_identifier"), proposal.named(None)
    words = "No quasi-identifier is proposed."
    if known:
        words = f"The proposed quasi-identifiers together make {proposal.unique_share:.1%} of the people unique."
    if undecided:
        words += f" With all columns that have no role yet it would be {proposal.unique_share_open:.1%}."
    return words


def why(column: ColumnProposal) -> str:
    """Explain a role: what speaks for it, and what was measured."""
    found = column.profile
    words = [column.reason, f"{found.distinct:,} distinct values"]
    if column.unique_alone is not None:
        words.append(f"alone it makes {column.unique_alone:.1%} of the people unique")
    if column.unique_with is not None and column.unique_without is not None:
        among = "with the other quasi-identifiers" if column.role else "if it joined the quasi-identifiers"
        words.append(f"{among} {column.unique_with:.1%}, without it {column.unique_without:.1%}")
    if found.missing:
        words.append(f"{found.missing / found.rows:.1%} missing")
    if column.same_as is not None:
        words.append(f"it repeats {column.same_as!r} value by value: make it an identifier to leave it out")
    return "; ".join(words)


def _decided(column: ColumnProposal) -> str:
    lines = [f"  {_scalar(column.name)}:", f"    role: {column.role}"]
    if column.hierarchy is not None:
        lines += [f"    # {column.hierarchy_note}."] if column.hierarchy_note else []
        lines.append(f"    hierarchy: {_flow(column.hierarchy)}")
    elif column.role == "quasi_identifier":
        lines.append(f"    # hierarchy: needed to generalize: {_TO_WRITE.get(column.profile.kind, _A_TREE)}")
    lines.append(f"    why: {_quoted(why(column))}")
    return "\n".join(lines)


def _undecided(column: ColumnProposal) -> str:
    name = _scalar(column.name)
    lines = [
        f"  # {name}: NO ROLE YET. {why(column)}.",
        "  #   quasi_identifier if others may know it, sensitive if it is private, insensitive if neither.",
        f"  # {name}: <role>",
    ]
    if column.hierarchy is not None:
        note = f"  # {column.hierarchy_note}" if column.hierarchy_note else ""
        lines.append(f"  # {name}: {{role: quasi_identifier, hierarchy: {_flow(column.hierarchy)}}}{note}")
    return "\n".join(lines)


def _requirements(proposal: Proposal) -> list[str]:
    lines = ["requirements:", "  - preset: k5  # every person looks like at least four others"]
    if proposal.named("sensitive"):
        line = "- l_diversity: {variant: distinct, at_least: 2}  # for every sensitive column"
        unit = proposal.named("unit")
        lines.append(f"  # {line}; needs one row per person" if unit else f"  {line}")
    return lines


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=1_000_000).strip()


def _flow(hierarchy: dict[str, Any]) -> str:
    return yaml.safe_dump(
        hierarchy, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1_000_000
    ).strip()
