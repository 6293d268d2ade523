"""Class rules: what a limit on a metric requires of every equivalence class, as plain data.

A metric declares the rule next to its formula (`@metric(class_rule=...)`), and a search over generalizations counts the
classes that break it without measuring node by node. A rule sees one class only: its size, the counts of its sensitive
values, and its people in the population.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency.table import Dictionary

NEVER = 2**53  # more rows than any table has


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity:
    """At least l different values of a sensitive column."""

    l: int  # noqa: E741 - the name it has everywhere
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity:
    """Entropy of a sensitive column at least ln(l); equality counts and is recognized exactly."""

    l: int | Fraction  # noqa: E741
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity:
    """r_1 < c * (r_l + r_(l+1) + ...), r the counts of a sensitive column's values in descending order."""

    c: int | Fraction
    l: int  # noqa: E741
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class Closeness:
    """At most t: earth mover's distance of a class to the whole table before suppression.

    `ground` None: all values equally far apart. "ordered": code i and code i + 1 are 1 / (m - 1) apart. A table of
    levels by values: the mean of the equal distances on its levels, which is the distance in the hierarchy with these
    levels below its root (level 0 the values themselves).
    """

    t: int | Fraction
    column: int = 0
    ground: npt.NDArray[np.integer[Any]] | str | None = None


@dataclass(frozen=True, kw_only=True)
class Presence:
    """Rows of a class over the population's rows of the same class, from low to high."""

    low: int | Fraction
    high: int | Fraction


ClassRule = DistinctDiversity | EntropyDiversity | RecursiveDiversity | Closeness | Presence


@dataclass(frozen=True, kw_only=True)
class ClassLimit:
    """A limit on a metric, and what a search knows of the table: the argument of a `class_rule`.

    `kind` and `bounds` are the limit's; `column` is the position of the sensitive column among all sensitive columns of
    the search, `values` its values in order. `suppression`: rows may be suppressed.
    """

    kind: str
    bounds: tuple[Fraction, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    column: int = 0
    values: Dictionary = ()
    rows: int = 0
    suppression: bool = True

    @property
    def bound(self) -> Fraction:
        """The bound, or the lower one of a pair."""
        return self.bounds[0]

    @property
    def strict(self) -> bool:
        """Whether the value must not reach the bound."""
        return self.kind in ("above", "below")

    @property
    def least_whole(self) -> int:
        """The smallest whole number >= 1 that meets the bound as a lower limit."""
        return least_whole(self.bound, strict=self.strict)


@dataclass(frozen=True, kw_only=True)
class ClassCondition:
    """What a limit requires of every class: the result of a `class_rule` declaration.

    `size`: the rows that a class needs. `rule`: what else it needs. A class that fails either must be suppressed.
    `decisive`: whether a class fails depends on that class alone, so that the table without the failing classes meets
    the limit; otherwise the condition is necessary, and what remains has to be measured. `repairable`: suppressing rows
    may help. `average`: the limit is on classes / rows of what remains, which no single class breaks.
    """

    size: int = 1
    rule: ClassRule | None = None
    decisive: bool = True
    repairable: bool = True
    average: bool = False

    @property
    def is_size(self) -> bool:
        """Whether the number of rows is all that a class needs."""
        return self.rule is None and self.decisive and not self.average


def least_whole(bound: Fraction, *, strict: bool) -> int:
    """Return the smallest whole number >= 1 that is at least the bound, or above it where `strict`.

    >>> least_whole(Fraction(9, 2), strict=False), least_whole(Fraction(5), strict=True)
    (5, 6)
    """
    return min(math.floor(bound) + 1 if strict else max(math.ceil(bound), 1), NEVER)
