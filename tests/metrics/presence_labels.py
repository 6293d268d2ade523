"""Hierarchies whose labels are used twice, or are original values."""

from typing import Any

from hypothesis import strategies as st

LEAVES = ["a", "b", "c", "x"]


Path = tuple[Any, ...]


@st.composite
def hierarchies(draw: st.DrawFn) -> dict[Any, Path]:
    """Two levels and often a top, with labels from so few that they are used twice, or are original values."""
    labels = st.sampled_from(["x", "y", "a", "*", "u", "v"])
    first = {leaf: draw(labels) for leaf in LEAVES}
    second = {label: draw(labels) for label in sorted({*first.values()})}
    top = ("*",) if draw(st.booleans()) else ()
    return {leaf: (first[leaf], second[first[leaf]], *top) for leaf in LEAVES}


def at_level(value: Any, paths: dict[Any, Path], level: int) -> Any:
    height = len(paths["a"])
    if value == "*" or level == 0:
        return value
    return ("*" if level == height else None) if value is None else paths[value][level - 1]
