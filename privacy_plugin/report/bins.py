"""How a metric's values are spread over people, in bars that end at the limit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.requirements.limits import Limit

_MOST_EXACT = 10
_STEPS = 8

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Some neighbouring values, in words, and how many people have them."""

    label: str
    meets: int
    fails: int


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The bars of a chart; `edges` are the labels between bars (none where each bar is one value).

    `limits` are the positions, counted in bars from the left, at which the limit cuts; `beyond` says of each whether
    it lies further out than the bars reach.
    """

    bars: tuple[Bar, ...]
    edges: tuple[str, ...]
    limits: tuple[int, ...]
    beyond: tuple[bool, ...]

    @property
    def highest(self) -> int:
        """How many people the highest bar has."""
        return max((bar.meets + bar.fails for bar in self.bars), default=0)


def bars_of(spread: Spread, limit: Limit, *, smallest: float | None = None, beside: Sequence[Spread] = ()) -> Bars:
    """Count people by value, one bar a value where there are few, otherwise by ranges that end at the limit.

    `smallest` is the least value that the metric can have: unless a value lies below it, the bars start no lower. What
    is drawn `beside` it has the same bars.
    """
    bounds = [float(bound) for bound in limit.bounds]
    failing = limit.failing(spread.values)
    values = np.concatenate([each.values for each in (spread, *beside)])
    distinct = np.unique(values[np.isfinite(values)])
    if len(distinct) <= _MOST_EXACT:
        return _exact(spread, failing, distinct, limit, bounds)
    edges = _edges(distinct, bounds, smallest)
    closed_right = limit.kind in ("at_most", "below")
    drawn = _at_their_limit(spread.values, failing, bounds)
    positions = np.searchsorted(edges, drawn, side="left" if closed_right else "right") - 1
    meets, fails = _count(spread, failing, np.clip(positions, 0, len(edges) - 2), len(edges) - 1)
    labels = tuple(short(edge) for edge in edges)
    whole = bool(np.all(distinct == np.floor(distinct))) and not closed_right
    ranges = [_range(low, high, whole=whole) for low, high in pairwise(edges.tolist())]
    return Bars(
        bars=tuple(Bar(label=r, meets=m, fails=f) for r, m, f in zip(ranges, meets, fails, strict=True)),
        edges=labels,
        limits=tuple(min(int(np.searchsorted(edges, bound)), len(edges) - 1) for bound in bounds),
        beyond=tuple(not edges[0] <= bound <= edges[-1] for bound in bounds),
    )


def _at_their_limit(values: Floats, failing: npt.NDArray[np.bool_], bounds: list[float]) -> Floats:
    """Return the values with those that meet the limit exactly on it: as numbers they may be a rounding beside it."""
    for bound in bounds:
        values = np.where(~failing & np.isclose(values, bound, rtol=1e-9, atol=0), bound, values)
    return values


def short(value: float) -> str:
    """Write a number for an axis."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _range(low: float, high: float, *, whole: bool) -> str:
    last = high - 1 if whole else high
    return short(low) if whole and last == low else f"{short(low)} to {short(last)}"


def _exact(spread: Spread, failing: npt.NDArray[np.bool_], distinct: Floats, limit: Limit, bounds: list[float]) -> Bars:
    bars = max(len(distinct), 1)
    positions = np.clip(np.searchsorted(distinct, spread.values), 0, bars - 1)
    meets, fails = _count(spread, failing, positions, bars)
    labels = [short(value) for value in distinct] or ["not a number"]
    sides = {"at_least": "left", "below": "left", "above": "right", "at_most": "right", "between": "left"}
    cuts = [int(np.searchsorted(distinct, bound, side=sides[limit.kind])) for bound in bounds]  # type: ignore[call-overload]
    if limit.kind == "between":
        cuts[1] = int(np.searchsorted(distinct, bounds[1], side="right"))
    return Bars(
        bars=tuple(Bar(label=n, meets=m, fails=f) for n, m, f in zip(labels, meets, fails, strict=True)),
        edges=(),
        limits=tuple(cuts),
        beyond=(False,) * len(cuts),
    )


def _count(
    spread: Spread, failing: npt.NDArray[np.bool_], positions: npt.NDArray[np.int64], bars: int
) -> tuple[list[int], list[int]]:
    meets, fails = np.zeros(bars, dtype=np.int64), np.zeros(bars, dtype=np.int64)
    np.add.at(meets, positions[~failing], spread.people[~failing])
    np.add.at(fails, positions[failing], spread.people[failing])
    return meets.tolist(), fails.tolist()


def _edges(distinct: Floats, bounds: list[float], smallest: float | None) -> Floats:
    """Round edges around the values: 1, 2, 5, 10, 20, ... for whole numbers, equal steps for others."""
    low, high = float(distinct[0]), float(distinct[-1])
    whole = low >= 1 and bool(np.all(distinct == np.floor(distinct)))
    series = _one_two_five(high) if whole and high > 4 * _MOST_EXACT else _equal_steps(low, high)
    inside = [bound for bound in bounds if low < bound <= high]
    kept = [edge for edge in series if not any(_crowds(edge, bound, low, high, whole) for bound in inside)]
    first = low if whole and high <= 4 * _MOST_EXACT else max(edge for edge in kept if edge <= low)
    least = bounds if smallest is None else [*bounds, float(smallest)]
    start = max([first, *(edge for edge in least if first < edge <= low)])
    return np.array(sorted({start, *(edge for edge in kept if edge > low), *inside}))


def _crowds(edge: float, bound: float, low: float, high: float, whole: bool) -> bool:
    """Tell whether an inner edge lies so near the limit that their labels would overlap."""
    if edge <= low or edge > high:
        return False
    return 0.8 < edge / bound < 1.25 if whole else abs(edge - bound) < (high - low) / (3 * _STEPS)


def _one_two_five(high: float) -> list[float]:
    series = [float(factor * 10**power) for power in range(19) for factor in (1, 2, 5)]
    last = next(number for number, edge in enumerate(series) if edge > high)
    return series[: last + 1]


def _equal_steps(low: float, high: float) -> list[float]:
    rough = (high - low) / _STEPS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]
