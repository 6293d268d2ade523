"""Ways to fail: each makes a scene, the data and the rules of runs that cannot go well."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

POLICY: dict[str, Any] = {
    "dataset": "visits",
    "columns": {
        "name": "identifier",
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}},
        },
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 8}}},
        "disease": "sensitive",
    },
    "requirements": [{"k_anonymity": {"at_least": 3}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}],
    "anonymize": {"max_suppression": 0.1},
}


def policy(*requirements: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the policy with other requirements, or other parts."""
    asked = {"requirements": list(requirements)} if requirements else {}
    return {**POLICY, **asked, **changes}


def with_hierarchy(column: str, hierarchy: Any) -> dict[str, Any]:
    """Return the policy with another hierarchy of one column."""
    return policy(columns={**POLICY["columns"], column: {"role": "quasi_identifier", "hierarchy": hierarchy}})


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the doors are given: a path, a frame or `sql_table(...)`, and the rules; `calls` are Python's own.

    `policy` is plain data, or the text of a policy file.
    """

    data: Any
    policy: Mapping[str, Any] | str = field(default_factory=lambda: POLICY)
    population: Any = None
    ledger: str | None = None
    calls: tuple[Callable[[], Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Way:
    """A named way to fail, the doors at which it is tried, and words by which each shows that it failed in this way."""

    name: str
    doors: tuple[str, ...]
    says: str
    scene: Callable[[Path], Scene]
    marks: tuple[Any, ...] = ()


WAYS: list[Way] = []
MARKS = {"great expectations": pytest.mark.great_expectations}


def way(
    *doors: str, says: str, marks: tuple[Any, ...] = ()
) -> Callable[[Callable[[Path], Scene]], Callable[[Path], Scene]]:
    """Add a way to fail, named like its function, to the table."""

    def add(scene: Callable[[Path], Scene]) -> Callable[[Path], Scene]:
        WAYS.append(Way(name=scene.__name__.replace("_", " "), doors=doors, says=says, scene=scene, marks=marks))
        return scene

    return add
