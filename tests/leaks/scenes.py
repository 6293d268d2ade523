"""Failing scenes: the data and the policy of runs that must fail."""

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
    """The input of entry points: a path, a frame or `sql_table(...)`, and the policy; `calls` are for Python only.

    `policy` is plain data, or the text of a policy file.
    """

    data: Any
    policy: Mapping[str, Any] | str = field(default_factory=lambda: POLICY)
    population: Any = None
    ledger: str | None = None
    calls: tuple[Callable[[], Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A named failure, its entry points, and a part of the message that proves that it happened."""

    name: str
    entry_points: tuple[str, ...]
    message: str
    scene: Callable[[Path], Scene]
    marks: tuple[Any, ...] = ()


FAILURES: list[Failure] = []
MARKS = {"great expectations": pytest.mark.great_expectations}


def failure(
    *entry_points: str, message: str, marks: tuple[Any, ...] = ()
) -> Callable[[Callable[[Path], Scene]], Callable[[Path], Scene]]:
    """Register a failure under the name of its function."""

    def add(scene: Callable[[Path], Scene]) -> Callable[[Path], Scene]:
        FAILURES.append(
            Failure(
                name=scene.__name__.replace("_", " "),
                entry_points=entry_points,
                message=message,
                scene=scene,
                marks=marks,
            )
        )
        return scene

    return add
