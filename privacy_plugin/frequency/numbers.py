"""Exact numbers: 0.1 is one tenth, not the nearest binary fraction; and the order of values that are numbers."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.values import LARGEST_EXPONENT, Value, kind, label

_READABLE = 1_000  # the largest denominator of a fraction that a message shows


def exact(number: object, *, what: str = "a number") -> Fraction:
    """Return the exact value of the text of an integer, float, decimal or fraction such as "1/11".

    >>> exact(0.1), exact("1/11")
    (Fraction(1, 10), Fraction(1, 11))
    """
    if isinstance(number, Fraction):
        return number
    is_fraction_text = isinstance(number, str) and "/" in number
    is_number = isinstance(number, int | float | Decimal | np.integer | np.floating)
    if isinstance(number, bool) or not (is_number or is_fraction_text):
        given = "text (write 0.2 for 20%, without quotes)" if isinstance(number, str) else type(number).__name__
        raise ParameterError(f"{what} must be a number or a fraction such as 1/11, not {given}")
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{what} must be a finite number") from None


def written(number: Fraction) -> int | float | str:
    """Write an exact number in the shortest form that reads back exactly.

    >>> written(Fraction(9, 100)), written(Fraction(1, 11))
    (0.09, '1/11')
    """
    if number.denominator == 1:
        return int(number)
    decimal = float(number)
    return decimal if Fraction(repr(decimal)) == number else f"{number.numerator}/{number.denominator}"


def shown(number: Fraction) -> str:
    """Write a number for a message: exact if that is short, otherwise as a decimal of ten digits.

    >>> shown(Fraction(1, 11)), shown(Fraction(9, 100)), shown(Fraction(931075481774949, 312500000000000))
    ('1/11', '0.09', '2.979441542')
    """
    exactly = written(number)
    if not isinstance(exactly, str) or number.denominator <= _READABLE:
        return str(exactly)
    with localcontext(prec=10):
        return f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():g}"


def as_number(value: Value) -> Fraction | None:
    """Return the number that a value is or that its text represents, or None.

    >>> as_number("10.5"), as_number(3), as_number("high")
    (Fraction(21, 2), Fraction(3, 1), None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        decimal = Decimal(label(value))
    except InvalidOperation:
        return None
    if not decimal.is_finite() or abs(decimal.adjusted()) > LARGEST_EXPONENT:
        return None
    return Fraction(decimal)


def rank_values(values: Sequence[Value]) -> Integers:
    """Return the rank of each value of a dictionary; text that represents a number is ranked as the number.

    In a CSV file every value is text, and as text 10 comes before 9.

    >>> rank_values(("10", "9", "high")).tolist()
    [1, 0, 2]
    """
    keys = [_rank_key(value, position) for position, value in enumerate(values)]
    order = sorted(range(len(values)), key=keys.__getitem__)
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.arange(len(values))
    return found


def _rank_key(value: Value, position: int) -> tuple[Any, ...]:
    """Keep the dictionary's order, except for text that represents a number."""
    number = as_number(value) if isinstance(value, str) else None
    if number is not None:
        return kind(0), number, position
    if kind(value) == kind(0):
        return kind(0), value, position
    return kind(value), position
