"""Limits: bounds that a measured value is compared with, parsed exactly as written."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency.numbers import exact, shown, written
from privacy_plugin.metrics.measurement import Measurement, Quantity
from privacy_plugin.metrics.registry import Metric

KINDS = ("at_least", "above", "at_most", "below", "between")
_ROUNDING = 1e-12
_FITTING = {"higher": ("at_least", "above"), "lower": ("at_most", "below"), "between": ("between",)}


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One bound (or a pair, for `between`) on a metric.

    A float is read as the decimal it prints as, so that 9/100 meets `at_most 0.09`. A value that is known only within
    an error is compared at its worse end.
    """

    kind: str
    bounds: tuple[Fraction, ...]

    @classmethod
    def parse(cls, metric: Metric, given: dict[str, Any], options: Mapping[str, Any] | None = None) -> "Limit":
        """Parse the one limit among keyword arguments; raise for none, several, a wrong direction or a wrong value.

        `options` are those of the metric: the values that a limit may have can depend on them.
        """
        given_limits = {kind: value for kind, value in given.items() if value is not None}
        fitting = fitting_kinds(metric)
        if metric.implied is not None:
            given_limits = given_limits or dict(metric.implied)
            if given_limits != metric.implied:
                raise ParameterError(f"{metric.name} has no limit to choose: write {metric.name}: {{}}")
        for kind in given_limits:
            if kind not in KINDS:
                raise ParameterError(unknown_name("limit", kind, fitting))
        if len(given_limits) != 1:
            names = ", ".join(given_limits) or "none"
            raise ParameterError(f"{metric.name} needs exactly one limit ({' or '.join(fitting)}); got: {names}")
        ((kind, value),) = given_limits.items()
        if kind not in fitting:
            raise ParameterError(
                f"{metric.name} is safer when {_SAFER[metric.safer]}: use {' or '.join(fitting)}, not {kind}"
            )
        numbers = value if kind == "between" else (value,)
        if not isinstance(numbers, list | tuple) or len(numbers) != (2 if kind == "between" else 1):
            raise ParameterError(f"the limit 'between' of {metric.name} takes a pair (low, high)")
        bounds = tuple(_parse_bound(metric, number, options or {}) for number in numbers)
        if len(bounds) == 2 and bounds[0] > bounds[1]:
            raise ParameterError("the limit 'between' takes the lower bound first")
        return cls(kind=kind, bounds=bounds)

    def holds(self, measurement: Measurement) -> bool:
        """Return whether the limit is met even at the worse end of an inexact value."""
        if _is_nan(measurement.lowest) or _is_nan(measurement.highest):
            return False
        return self._compare(measurement.lowest, measurement.highest)

    def _compare(self, lowest: Quantity, highest: Quantity) -> bool:
        first, last = self.bounds[0], self.bounds[-1]
        return {
            "at_least": lambda: lowest >= first,
            "above": lambda: lowest > first,
            "at_most": lambda: highest <= last,
            "below": lambda: highest < last,
            "between": lambda: lowest >= first and highest <= last,
        }[self.kind]()

    def is_weakest(self, metric: Metric, options: Mapping[str, Any]) -> bool:
        """Return whether every table meets this limit of a metric with these options."""
        low, high = metric.smallest, metric.largest_limit(options)
        ends: dict[str, tuple[Any, ...]] = {"at_least": (low,), "at_most": (high,), "between": (low, high)}
        return self.bounds == ends.get(self.kind)

    def failing(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which values do not meet the limit, in floating point; used for the number of people affected."""
        first, last = float(self.bounds[0]), float(self.bounds[-1])
        lowest, highest = first - abs(first) * _ROUNDING, last + abs(last) * _ROUNDING
        met = {
            "at_least": values >= lowest,
            "above": values > first,
            "at_most": values <= highest,
            "below": values < last,
            "between": (values >= lowest) & (values <= highest),
        }[self.kind]
        return ~met

    @property
    def given(self) -> dict[str, Any]:
        """The limit as a policy writes it: a number, or a fraction such as "1/11" if no short decimal is exact."""
        numbers = [written(bound) for bound in self.bounds]
        return {self.kind: numbers if self.kind == "between" else numbers[0]}

    def __str__(self) -> str:
        numbers = " and ".join(shown(bound) for bound in self.bounds)
        return f"{self.kind.replace('_', ' ')} {numbers}"


def fitting_kinds(metric: Metric) -> tuple[str, ...]:
    """Return the kinds of limits that keep a metric on its safe side."""
    return _FITTING[metric.safer]


_SAFER = {"higher": "higher", "lower": "lower", "between": "between two bounds"}


def _parse_bound(metric: Metric, number: Any, options: Mapping[str, Any]) -> Fraction:
    bound = exact(number, what=f"a limit of {metric.name}")
    low, high = metric.smallest, metric.largest_limit(options)
    if (low is not None and bound < low) or (high is not None and bound > high):
        allowed = " and ".join(
            f"{kind} {end:g}" for kind, end in (("at least", low), ("at most", high)) if end is not None
        )
        raise ParameterError(f"a limit of {metric.name} must be {allowed}, got {shown(bound)}")
    return bound


def _is_nan(value: Quantity) -> bool:
    return isinstance(value, float) and math.isnan(value)
