"""Numbers read as they are written: 0.1 is one tenth, not the nearest binary fraction."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.values import LARGEST_EXPONENT, Value, label


def exact(number: object, *, what: str = "a number") -> Fraction:
    """Return the number that the text of a whole number, float, decimal or fraction such as "1/11" states.

    >>> exact(0.1), exact("1/11")
    (Fraction(1, 10), Fraction(1, 11))
    """
    if isinstance(number, Fraction):
        return number
    is_fraction_text = isinstance(number, str) and "/" in number
    is_number = isinstance(number, int | float | Decimal | np.integer | np.floating)
    if isinstance(number, bool) or not (is_number or is_fraction_text):
        given = "text: 20% is 0.2, and a number has no quotes" if isinstance(number, str) else type(number).__name__
        raise ParameterError(f"{what} must be a number or a fraction such as 1/11, not {given}")
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{what} must be a finite number") from None


def written(number: Fraction) -> int | float | str:
    """Write an exact number the shortest way that reads back exactly.

    >>> written(Fraction(9, 100)), written(Fraction(1, 11))
    (0.09, '1/11')
    """
    if number.denominator == 1:
        return int(number)
    decimal = float(number)
    return decimal if Fraction(repr(decimal)) == number else f"{number.numerator}/{number.denominator}"


def as_number(value: Value) -> Fraction | None:
    """Return the number that a value is or that its text states, or None.

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
