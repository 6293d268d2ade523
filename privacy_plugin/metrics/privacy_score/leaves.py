"""What a generalized value stands for: the leaves of its hierarchy below it."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import HierarchyError
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.hierarchy_builders import IntervalHierarchy
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import SUPPRESSED, Value, label

Flags = npt.NDArray[np.bool_]

_MISSING = "\0missing"  # no label: text cannot pass for a missing value


def leaves_held(tree: Hierarchy, values: Sequence[Value], *, column: str) -> tuple[tuple[Value, ...], Flags]:
    """Return the leaves of a column and, for each of its values, which of them it holds.

    The leaves are what a table lists; otherwise the values of the column that the hierarchy covers and, of intervals,
    the finest ones, each of which stands for the numbers in it that nobody has. Missing is a leaf of its own where it
    occurs; `*` holds all leaves. As in all hierarchies, 39 and "39" are one value. A value that is neither a leaf nor
    above one is refused. Leaves that nobody holds are left out.

    >>> from privacy_plugin.frequency.hierarchy_builders import interval_hierarchy
    >>> ages = interval_hierarchy(boundaries=[[0, 10, 20, 40], [0, 20, 40]], open_ends=False)
    >>> leaves, holds = leaves_held(ages, [7, "[0, 20)"], column="age")
    >>> leaves, holds.tolist()
    ((7, '[0, 10)', '[10, 20)'), [[True, False, False], [True, True, True]])
    """
    leaves = list(_leaf_paths(tree, values).values())
    below: dict[str, list[int]] = {}
    for place, (leaf, steps) in enumerate(leaves):
        for name in dict.fromkeys([_name(leaf), *map(_name, steps)]):
            below.setdefault(name, []).append(place)
    holds = np.zeros((len(values), len(leaves)), dtype=np.bool_)
    uncovered = 0
    for position, value in enumerate(values):
        held = range(len(leaves)) if value == SUPPRESSED else below.get(_name(value), ())
        holds[position, list(held)] = True
        uncovered += not held
    if uncovered:
        raise HierarchyError(
            f"the hierarchy does not cover {uncovered} value(s) of column {column!r}; every value must be a leaf of it "
            "or stand above one"
        )
    held_by_some: Flags = np.asarray(holds.any(axis=0))
    return tuple(leaf for (leaf, _), held in zip(leaves, held_by_some, strict=True) if held), holds[:, held_by_some]


_Paths = dict[str, tuple[Value, tuple[Value, ...]]]


def _leaf_paths(tree: Hierarchy, values: Sequence[Value]) -> _Paths:
    """Every leaf, by name, with what it becomes on the levels above it."""
    candidates = tree.values if isinstance(tree, TableHierarchy) else values
    listed = [(leaf, steps) for leaf in candidates if (steps := _steps(tree, leaf)) is not None]
    if isinstance(tree, IntervalHierarchy):
        listed += _intervals(tree)
    if None in values:
        listed.append((None, _steps(tree, None) or ()))
    if all(leaf is None for leaf, _ in listed):  # a column of `*` alone has one leaf, which stands for all of them
        listed.append((SUPPRESSED, ()))
    return {_name(leaf): (leaf, steps) for leaf, steps in listed}


def _steps(tree: Hierarchy, value: Value) -> tuple[Value, ...] | None:
    if value == SUPPRESSED:
        return None
    try:
        return tuple(tree.generalize(value, level) for level in range(1, tree.height + 1))
    except HierarchyError:
        return None


def _intervals(tree: IntervalHierarchy) -> list[tuple[Value, tuple[Value, ...]]]:
    """The finest intervals and what lies above each, found by a number inside."""
    rule = tree.specification["intervals"]
    cuts = [exact(cut) for cut in rule["boundaries"][0]]
    inside: list[Fraction] = [(low + high) / 2 for low, high in pairwise(cuts)]
    if rule["open_ends"]:
        inside += [cuts[0] - abs(cuts[0]) - 1, cuts[-1] + abs(cuts[-1]) + 1]
    found = {}
    for number in inside:
        first, *above = _steps(tree, float(number)) or (None,)
        found[first] = tuple(above)
    if len(found) != len(inside) or None in found:
        raise HierarchyError("the finest intervals are too narrow or too far out to be told apart by numbers")
    return list(found.items())


def _name(value: Value) -> str:
    """The text under which hierarchies find a value; true and "True" are one."""
    if value is None:
        return _MISSING
    text = label(value)
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text
