"""Packs: the clauses of a standard, each measured, checked, declared by a person, or not covered."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from privacy_plugin.errors import PolicyError, unknown_name
from privacy_plugin.requirements.clauses import KINDS, Clause, require_check
from privacy_plugin.requirements.requirement import Requirement, require

_FOLDER = "packs"


def pack_names() -> tuple[str, ...]:
    """Return the names of the packs."""
    folder = files("privacy_plugin.policy").joinpath(_FOLDER)
    return tuple(sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")))


@cache
def load_pack(name: str) -> Mapping[str, Any]:
    """Return the content of a pack, checked: every clause has exactly one kind."""
    if name not in pack_names():
        raise PolicyError(unknown_name("pack", str(name), pack_names()))
    text = files("privacy_plugin.policy").joinpath(_FOLDER, f"{name}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    for entry in content["clauses"]:
        if len([kind for kind in KINDS if kind in entry]) != 1:
            raise PolicyError(f"clause {entry['name']} of pack {name} needs exactly one of {', '.join(KINDS)}")
        require_check(entry.get("checked", {}))
    return content


def parse_packs(given: Any, declarations: Any) -> tuple[Clause, ...]:
    """Return the clauses of the packs of a policy, with the answers that its `declarations` give.

    >>> [clause.name for clause in parse_packs(["cms_cell_11"], None)]
    ['minimum_cell', 'complementary_cells']
    """
    names = [] if given is None else given
    if not isinstance(names, Sequence) or isinstance(names, str):
        raise PolicyError(f"packs must be a list of names, such as packs: [{pack_names()[0]}]")
    answers = {} if declarations is None else declarations
    if not isinstance(answers, Mapping) or not all(isinstance(text, str) and text for text in answers.values()):
        raise PolicyError('declarations must be a mapping of clauses and answers: {wp216.linkability: "..."}')
    clauses = [_clause(str(name), entry, answers) for name in names for entry in load_pack(str(name))["clauses"]]
    questions = [f"{clause.pack}.{clause.name}" for clause in clauses if clause.kind == "declared"]
    for name in answers:
        if name not in questions:
            raise PolicyError(unknown_name("declared clause", str(name), questions))
    return tuple(clauses)


def _clause(pack: str, entry: Mapping[str, Any], answers: Mapping[str, str]) -> Clause:
    return Clause(
        pack=pack,
        name=entry["name"],
        says=entry["says"],
        source=load_pack(pack)["source"],
        kind=next(kind for kind in KINDS if kind in entry),
        check=entry.get("checked", {}),
        question=entry.get("declared", ""),
        answer=answers.get(f"{pack}.{entry['name']}"),
    )


def pack_requirements(clauses: Sequence[Clause]) -> tuple[Requirement, ...]:
    """Return the requirements of the measured clauses, with the clause as their origin."""
    found = []
    for clause in clauses:
        entry = next(each for each in load_pack(clause.pack)["clauses"] if each["name"] == clause.name)
        for line in entry.get("measured", ()):
            found += [require(metric, origin=clause.origin, **limit) for metric, limit in line.items()]
    return tuple(found)


def pack_notes(names: Sequence[str]) -> tuple[str, ...]:
    """Return for every pack how far its numbers are confirmed."""
    return tuple(f"pack {name}: {load_pack(name)['confirmed']}" for name in names)
