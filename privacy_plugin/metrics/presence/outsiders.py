"""The range of outsiders that may share the values of a delta-present class.

Nergiz and Clifton, delta-presence without complete world knowledge, CSD TR 08-016, section 4.2. A class has
n1 rows in the research table; x people outside of it share its values. It is delta-present when delta_low
<= n1 / (n1 + x) <= delta_high, that is for x from ceil(n1 / delta_high - n1) to floor(n1 / delta_low - n1).
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.errors import ParameterError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LARGEST_POPULATION = 2**53
"""From here on counts are no longer exact in double precision and no rounding bound holds."""


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Classes of the research table: per class the marginal counts among the others, and its rows."""

    marginals: IntArray
    research: IntArray
    others: int
    first: tuple[int, ...]
    """Per class the least number of matching outsiders that keeps it delta-present."""
    last: tuple[int, ...]
    """Per class the largest such number; below `first` when there is none."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The question how probable `first..last` matching outsiders are: one class, reduced to what matters."""

    marginals: tuple[int, ...]
    """In ascending order, without those everybody meets; never empty."""
    others: int
    first: int
    last: int

    @property
    def least(self) -> int:
        """The least number of people that can match."""
        return max(0, sum(self.marginals) - (len(self.marginals) - 1) * self.others)

    @property
    def most(self) -> int:
        """The largest number of people that can match."""
        return self.marginals[0]

    @property
    def certain(self) -> bool | None:
        """True or False when the answer is certain, None when it is a matter of chance."""
        if self.first <= self.least and self.most <= self.last:
            return True
        if self.last < self.first or self.last < self.least or self.most < self.first:
            return False
        return None


def validated_classes(
    *, marginals: object, research_count: object, others: object, delta_low: object, delta_high: object
) -> Classes:
    """Check the arguments every presence function shares, and turn delta into numbers of people.

    >>> validated_classes(marginals=[3, 3], research_count=1, others=4, delta_low=0.33, delta_high=1).last
    (2,)
    """
    if isinstance(others, bool) or not isinstance(others, int | np.integer) or not 0 <= others < LARGEST_POPULATION:
        raise ParameterError(f"others must be a whole number from 0 to below 2**53, not {others!r}")
    people = int(others)
    counts = _whole_numbers(marginals, name="marginals", dimensions=2)
    rows = _whole_numbers(research_count, name="research_count", dimensions=1)
    if counts.shape[1] == 0:
        raise ParameterError("marginals has no attribute; give at least one count a class")
    if rows.size != counts.shape[0]:
        raise ParameterError(f"research_count has {rows.size} classes, marginals {counts.shape[0]}; give equally many")
    if counts.size and (int(counts.min()) < 0 or int(counts.max()) > people):
        raise ParameterError(f"marginals must lie between 0 and others={people}; subtract the research table from them")
    if rows.size and (int(rows.min()) < 1 or int(rows.max()) >= LARGEST_POPULATION):
        raise ParameterError("research_count must be at least 1 and below 2**53 for every class")
    low, high = read_delta(delta_low=delta_low, delta_high=delta_high)
    ranges = [allowed_others(int(count), low, high, people) for count in rows]
    return Classes(
        marginals=counts,
        research=rows,
        others=people,
        first=tuple(first for first, _ in ranges),
        last=tuple(last for _, last in ranges),
    )


def read_delta(*, delta_low: object, delta_high: object) -> tuple[Fraction, Fraction]:
    """Return the bounds as fractions; a float stands for the decimal it prints as, so that 0.1 is 1/10."""
    low = read_number(delta_low, name="delta_low")
    high = read_number(delta_high, name="delta_high")
    if not 0 <= low <= high <= 1:
        raise ParameterError(f"delta must satisfy 0 <= low <= high <= 1; given: {float(low):g} and {float(high):g}")
    return low, high


def read_number(number: object, *, name: str) -> Fraction:
    """Return a real number as a fraction, a float as the decimal it prints as."""
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction | Decimal | np.integer | np.floating):
        raise ParameterError(f"{name} must be a number, not {type(number).__name__}")
    if not isfinite(number):
        raise ParameterError(f"{name} must be finite, not {number}")
    if isinstance(number, int | Fraction | Decimal):
        return Fraction(number)
    return Fraction(int(number)) if isinstance(number, np.integer) else Fraction(repr(float(number)))


def allowed_others(research: int, low: Fraction, high: Fraction, others: int) -> tuple[int, int]:
    """Return the least and the largest number of matching outsiders that keep a class delta-present."""
    if high == 0:
        return 1, 0
    first = ceil(research / high - research)
    last = others if low == 0 else min(others, floor(research / low - research))
    return first, last


def question_of(classes: Classes, index: int) -> Question:
    """Reduce one class: the order of attributes does not matter, nor do values everybody has."""
    binding = sorted(int(count) for count in classes.marginals[index] if count < classes.others)
    return Question(
        marginals=tuple(binding) or (classes.others,),
        others=classes.others,
        first=classes.first[index],
        last=classes.last[index],
    )


def _whole_numbers(values: object, *, name: str, dimensions: int) -> IntArray:
    array: NDArray[Any] = np.asarray(values)
    if array.ndim == dimensions - 1:
        array = array[np.newaxis]
    if array.ndim != dimensions or (array.size and array.dtype.kind not in "iu"):
        raise ParameterError(
            f"{name} must be whole numbers in {dimensions - 1} or {dimensions} dimensions, "
            f"not {array.ndim} dimensions of {array.dtype}"
        )
    return np.ascontiguousarray(array, dtype=np.int64)
