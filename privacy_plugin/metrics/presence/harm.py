"""From the harm one is willing to accept to the bounds of delta-presence."""

from fractions import Fraction
from math import inf, nextafter

from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.presence.outsiders import read_number


def presence_bounds(
    *, prior: object, gain: object, drop: object, population_size: int, research_size: int
) -> tuple[float, float]:
    """Return (d_min, d_max) that keep the belief "this person has the condition" near what it was before.

    Everybody in the research table T has the condition, a share `prior` of the population P has it. Knowing
    that a person is in T with probability p, the belief becomes p + (1 - p) (prior |P| - |T|) / (|P| -
    |T|). It rises by at most `gain` when p <= (gain |P| + (1 - gain - prior) |T|) / ((1 - prior) |P|) =
    d_max, and falls by at most `drop` when p >= ((1 + drop - prior) |T| - drop |P|) / ((1 - prior) |P|) =
    d_min (Nergiz and Clifton, section 6). Both are clipped to 0..1 and rounded to the stricter side; a
    float stands for the decimal it prints as.

    >>> low, high = presence_bounds(prior=0.07, gain=0.01, drop=0.02, population_size=10_000, research_size=400)
    >>> round(low, 4), round(high, 4)
    (0.0194, 0.0503)
    """
    belief = _share(prior, name="prior")
    rise, fall = _share(gain, name="gain"), _share(drop, name="drop")
    for name, size in (("population_size", population_size), ("research_size", research_size)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ParameterError(f"{name} must be a whole number >= 1, not {size!r}")
    if belief == 1:
        raise ParameterError("prior must be below 1: where everybody has the condition, presence reveals nothing")
    if research_size > belief * population_size:
        raise ParameterError(
            f"research_size={research_size} exceeds prior * population_size = {float(belief * population_size):g}; "
            "everybody in the research table has the condition, so the prior cannot be that low"
        )
    share = Fraction(research_size, population_size)
    highest = (rise + (1 - rise - belief) * share) / (1 - belief)
    lowest = ((1 + fall - belief) * share - fall) / (1 - belief)
    low, high = _rounded_up(max(lowest, Fraction(0))), _rounded_down(min(highest, Fraction(1)))
    # No gain and no drop at all leave one point, which a float may only meet nearly.
    return (low, high) if low <= high else (float(share), float(share))


def _share(number: object, *, name: str) -> Fraction:
    share = read_number(number, name=name)
    if not 0 <= share <= 1:
        raise ParameterError(f"{name} must lie between 0 and 1, not {float(share):g}")
    return share


def _rounded_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if _printed(nearest) >= value else nextafter(nearest, inf)


def _rounded_down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if _printed(nearest) <= value else nextafter(nearest, -inf)


def _printed(number: float) -> Fraction:
    """Read a float as whoever is given a bound does: as the decimal that it prints as."""
    return Fraction(repr(number))
