"""Sums over the classes that pass, for every node of a lattice: what losses that look at classes are made of.

Arguments as in `lattice.failing_counts`.
"""

from collections.abc import Sequence
from typing import Any

from privacy_plugin.kernels.hierarchy_order import Codes, Integers
from privacy_plugin.kernels.lattice import _count_classes, _count_sizes
from privacy_plugin.kernels.parts import Worth
from privacy_plugin.kernels.rule_table import ClassRule


def _total(
    worth: Worth,
    codes: Codes,
    counts: Integers,
    level_maps: Sequence[Codes],
    *,
    k: int,
    rules: Sequence[ClassRule],
    **others: Any,
) -> Integers:
    if not rules:
        return _count_sizes(codes, counts, level_maps, k, worth)
    given = {"sensitive": None, "sensitive_sizes": None, "population": None, **others}
    return _count_classes(codes, counts, level_maps, k=k, rules=rules, worth=worth, **given)


def passing_classes(
    codes: Codes,
    counts: Integers,
    level_maps: Sequence[Codes],
    *,
    k: int = 1,
    rules: Sequence[ClassRule] = (),
    **others: Any,
) -> Integers:
    """For every node, the number of classes with k rows that break no rule."""
    return _total((0, 1, 0), codes, counts, level_maps, k=k, rules=rules, **others)


def discernibilities(
    codes: Codes,
    counts: Integers,
    level_maps: Sequence[Codes],
    *,
    k: int = 1,
    rules: Sequence[ClassRule] = (),
    **others: Any,
) -> Integers:
    """For every node, the sum of squared sizes of those classes, plus all rows of the table for every other row."""
    return _total((int(counts.sum()), 0, 1), codes, counts, level_maps, k=k, rules=rules, **others)
