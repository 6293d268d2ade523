"""Treatments of single numeric columns: top and bottom coding, rounding, microaggregation.

`top` and `bottom` replace numbers beyond a limit by the limit. `round` takes the nearest multiple, a tie the even one.
`microaggregate` sorts the values, puts them in groups of at least so many rows, equal values together, and replaces
each by the mean of its group, rounded to as many decimals as the column has (univariate microaggregation:
Domingo-Ferrer and Mateo-Sanz 2002). Missing values stay missing. All arithmetic is exact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.errors import InfeasibleError, ParameterError, unknown_name
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import as_number, exact, written
from privacy_plugin.frequency.values import Value

_KEYS = ("top", "bottom", "round", "microaggregate")


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """What is done to the numbers of a column; None: nothing."""

    top: Fraction | None = None
    bottom: Fraction | None = None
    step: Fraction | None = None
    group: int | None = None

    def __post_init__(self) -> None:
        if self.top is None and self.bottom is None and self.step is None and self.group is None:
            raise ParameterError(f"a treatment needs one of {', '.join(_KEYS)}")
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise ParameterError("bottom must be below top")
        if self.step is not None and self.step <= 0:
            raise ParameterError("round must be a positive number, such as 100")
        if self.group is not None and (type(self.group) is not int or self.group < 2):
            raise ParameterError("microaggregate must be a whole number of at least 2: the rows of a group")
        if self.group is not None and self.step is not None:
            raise ParameterError("round and microaggregate exclude each other: a mean is no multiple")
        for limit in (self.top, self.bottom):
            if self.step is not None and limit is not None and limit % self.step:
                raise ParameterError("top and bottom must be multiples of round")

    @classmethod
    def read(cls, given: Any) -> "Treatment":
        """Read `{top: 90, bottom: 10, round: 5}` or `{microaggregate: 5}`.

        >>> Treatment.read({"top": 90, "round": 10}).describe()
        'top-coded at 90, rounded to multiples of 10'
        """
        if not isinstance(given, Mapping) or not given:
            raise ParameterError("treatment must be a mapping such as {top: 90, round: 5} or {microaggregate: 5}")
        for name in given:
            if name not in _KEYS:
                raise ParameterError(unknown_name("key of treatment", str(name), _KEYS))
        numbers = {name: exact(given[name], what=name) for name in ("top", "bottom", "round") if name in given}
        for name, number in numbers.items():
            if Fraction(str(_decimal(number))) != number:
                raise ParameterError(f"{name} must be a number with finitely many decimals")
        return cls(
            top=numbers.get("top"),
            bottom=numbers.get("bottom"),
            step=numbers.get("round"),
            group=given.get("microaggregate"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what `read` reads."""
        named = {"top": self.top, "bottom": self.bottom, "round": self.step}
        found: dict[str, Any] = {name: written(number) for name, number in named.items() if number is not None}
        return found if self.group is None else {**found, "microaggregate": self.group}

    def describe(self) -> str:
        """Say what is done; the limits are those of the policy."""
        parts = [
            None if self.bottom is None else f"bottom-coded at {written(self.bottom)}",
            None if self.top is None else f"top-coded at {written(self.top)}",
            None if self.step is None else f"rounded to multiples of {written(self.step)}",
            None if self.group is None else f"replaced by means of at least {self.group:,} rows",
        ]
        return ", ".join(part for part in parts if part is not None)

    def mapping(self, column: str, values: Sequence[Value], counts: Integers) -> tuple[Value, ...]:
        """Return the new value of every value, given the rows that have it; raise ParameterError for other values."""
        numbers = [None if value is None else as_number(value) for value in values]
        wrong = [place for place, value in enumerate(values) if value is not None and numbers[place] is None]
        if wrong:
            rows = int(np.asarray(counts)[wrong].sum())
            raise ParameterError(
                f"column {column!r} has a treatment for numbers, but {len(wrong):,} of its values, in {rows:,} rows, "
                "are not numbers; clean the column, or remove the treatment"
            )
        limited = [None if number is None else self._within(number) for number in numbers]
        new = limited if self.group is None else self._means(column, limited, [int(count) for count in counts])
        return tuple(_like(old, number) for old, number in zip(values, new, strict=True))

    def _within(self, number: Fraction) -> Fraction:
        if self.top is not None:
            number = min(number, self.top)
        if self.bottom is not None:
            number = max(number, self.bottom)
        return number if self.step is None else round(number / self.step) * self.step

    def _means(self, column: str, numbers: Sequence[Fraction | None], counts: Sequence[int]) -> list[Fraction | None]:
        rows: dict[Fraction, int] = {}
        for number, count in zip(numbers, counts, strict=True):
            if number is not None and count:
                rows[number] = rows.get(number, 0) + count
        assert self.group is not None
        groups: list[list[Fraction]] = []
        size = self.group
        for number in sorted(rows):
            if size >= self.group:
                groups, size = [*groups, []], 0
            groups[-1].append(number)
            size += rows[number]
        if groups and size < self.group:
            if len(groups) < 2:
                raise InfeasibleError(
                    f"column {column!r} has fewer than {self.group:,} rows with a number, too few for microaggregation"
                )
            last = groups.pop()
            groups[-1].extend(last)
        decimals = max((_decimals(number) for number in rows), default=0)
        means: dict[Fraction, Fraction] = {}
        for group in groups:
            mean = sum((number * rows[number] for number in group), Fraction()) / sum(rows[number] for number in group)
            means |= dict.fromkeys(group, Fraction(round(mean * 10**decimals), 10**decimals))
        return [None if number is None else means.get(number, number) for number in numbers]

    def problem(self, column: str, values: Sequence[Value], counts: Integers, *, labels: bool) -> str | None:
        """Say where released values contradict the treatment; `labels`: other values are labels of a hierarchy."""
        numbers = [None if value is None else as_number(value) for value in values]
        other = [place for place, value in enumerate(values) if value is not None and numbers[place] is None]
        present = np.asarray(counts)
        if other and not labels:
            return f"column {column!r} is to be {self.describe()}, but {present[other].sum():,} rows have no number"
        beyond = [place for place, n in enumerate(numbers) if n is not None and self._within(n) != n]
        if beyond:
            return f"column {column!r} is to be {self.describe()}, but {present[beyond].sum():,} rows are not"
        if self.group is None or labels:
            return None
        rows: dict[Fraction, int] = {}
        for number, count in zip(numbers, present.tolist(), strict=True):
            if number is not None:
                rows[number] = rows.get(number, 0) + count
        few = sum(count for count in rows.values() if 0 < count < self.group)
        if few:
            return (
                f"column {column!r} is to be {self.describe()}, but {few:,} rows have a value that fewer share; "
                "suppression may have removed the others: use larger groups, or suppress nothing"
            )
        return None


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _decimals(number: Fraction) -> int:
    """Return how many decimals a number has; all numbers here were written with finitely many."""
    decimals = 0
    while (number * 10**decimals).denominator != 1:
        decimals += 1
    return decimals


def _like(old: Value, number: Fraction | None) -> Value:
    """Return a number in the form of the value it replaces; unchanged numbers stay as they were written."""
    if number is None or as_number(old) == number:
        return old
    text = format(_decimal(number), "f")
    if isinstance(old, str):
        return text
    return int(number) if number.denominator == 1 else type(old)(text) if isinstance(old, Decimal) else float(text)
