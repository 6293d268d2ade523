"""The result of a metric: a number, its error, what was measured, and its spread over the people."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency import Classes, FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.markup import notebook_table

Quantity = int | float | Fraction
Role = Literal["judged", "good", "bad", "reference"]

_WORST_SHOWN = 5
_BARS = 24


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """A metric's value in every class (or group of equal people), and its number of people."""

    values: npt.NDArray[np.float64]
    people: npt.NDArray[np.int64]

    def people_where(self, failing: npt.NDArray[np.bool_]) -> int:
        """Return the number of people in the classes that a mask selects."""
        return int(self.people[failing].sum())

    def histogram(self) -> list[dict[str, float | int]]:
        """Count people by value, in at most a few dozen bars, for a chart."""
        finite = self.values[np.isfinite(self.values)]
        if not len(finite):
            return []
        distinct = np.unique(finite)
        edges = distinct
        if len(distinct) > _BARS:  # a bar begins at a value that occurs, not at 242.99999999999997
            edges = np.unique(np.quantile(distinct, np.linspace(0, 1, _BARS + 1), method="lower"))
        bars = np.clip(np.searchsorted(edges, self.values, side="right") - 1, 0, len(edges) - 1)
        people = np.zeros(len(edges), dtype=np.int64)
        np.add.at(people, bars, self.people)
        return [{"from": float(edge), "people": int(count)} for edge, count in zip(edges, people, strict=True)]


@dataclass(frozen=True, kw_only=True)
class WorstClass:
    """One of the worst classes: rank, value and size; quasi-identifiers only with `reveal`."""

    rank: int
    value: Quantity
    people: int
    members: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; `reveal` adds the class's quasi-identifiers."""
        shown = {"members": {name: plain(value) for name, value in self.members.items()}} if reveal else {}
        return {"class": self.rank, "value": plain(self.value), "people": self.people, **shown}


@dataclass(frozen=True, kw_only=True)
class ComparedValue:
    """One number of a comparison.

    `role`: "judged" is held against the limit, "good" and "bad" are so whatever the limit is, "reference" is what the
    others are compared with. `unit`: how it is written, as a share in percent, a count or a number.
    """

    name: str
    value: Quantity
    role: Role = "reference"
    unit: Literal["share", "count", "number"] = "share"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Numbers that a value is to be seen with; a report draws a bar for each.

    `full`: where the axis ends (default: at the largest number). `limited`: the limit lies on the same axis. A table of
    names and numbers may come with it.
    """

    caption: str
    values: tuple[ComparedValue, ...]
    full: float | None = None
    limited: bool = True
    table_caption: str = ""
    table_heads: tuple[str, str] = ("", "")
    table_rows: tuple[tuple[str, Quantity | str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The result of a metric.

    `value` is a whole number or an exact fraction where the definition is rational; otherwise the truth lies
    within `error` of it. A limit is compared with the worse end of [`lowest`, `highest`]. `reason` is a sentence
    that explains an unusual value; it is shown wherever the value is shown.
    """

    metric: str
    value: Quantity
    parameters: Mapping[str, Any]
    rows: int
    classes: int
    error: float = 0.0
    spread: Spread | None = field(default=None, repr=False, compare=False)
    worst: tuple[WorstClass, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def lowest(self) -> Quantity:
        """The lower end of what the value may truly be."""
        return self.value - self.error if self.error else self.value

    @property
    def highest(self) -> Quantity:
        """The upper end of what the value may truly be."""
        return self.value + self.error if self.error else self.value

    def _repr_html_(self) -> str:
        value = plain(self.value)
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        rows = [("value", shown if not self.error else f"{shown} (within {self.error:.2g})")]
        rows += [("rows", f"{self.rows:,}"), ("classes", f"{self.classes:,}"), *self.facts]
        return notebook_table(self.metric, ("", ""), rows, (*filter(None, [self.reason]), *self.notes))

    @property
    def comparison(self) -> Comparison | None:
        """The numbers to see the value with, where the metric has any."""
        return None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Further terms and statements about what was measured, for a report."""
        return ()

    @property
    def exact(self) -> bool:
        """Whether the value is exact."""
        return not self.error and not isinstance(self.value, float)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data for JSON, reports and metadata; without `reveal` it holds no value of the table."""
        return {
            "metric": self.metric,
            "value": plain(self.value),
            "exact_value": str(self.value) if self.exact else None,
            "error": self.error,
            "parameters": {name: plain(value) for name, value in self.parameters.items()},
            "rows": self.rows,
            "classes": self.classes,
            "histogram": self.spread.histogram() if self.spread else [],
            "worst": [item.to_dict(reveal=reveal) for item in self.worst],
            "details": {name: plain(value) for name, value in self.details.items()},
            "reason": self.reason,
            "notes": list(self.notes),
        }


def plain(value: Any) -> Any:
    """Turn a quantity or a nested parameter into what JSON can hold."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Hierarchy):
        return value.specification
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no number for it
        return "not a number" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def about_unit(table: FrequencyTable) -> tuple[str, ...]:
    """Return a note on how people are counted where a person may be in several classes."""
    if table.unit is None:
        return ()
    return (f"people are counted by {table.unit!r}, once in every class that has a row of theirs",)


def worst_classes(
    table: FrequencyTable, classes: Classes, values: npt.NDArray[Any], *, lowest_first: bool
) -> tuple[WorstClass, ...]:
    """Pick the few worst classes, ties broken by size and then by position."""
    sign = 1.0 if lowest_first else -1.0
    order = np.lexsort((classes.sizes, sign * values.astype(np.float64)))[:_WORST_SHOWN]
    if classes.repeats is not None:
        order = np.repeat(order, np.minimum(classes.repeats[order], _WORST_SHOWN))[:_WORST_SHOWN]
    return tuple(
        WorstClass(
            rank=rank,
            value=plain(values[index]),
            people=int(classes.sizes[index]),
            members=class_members(table, classes, int(index)),
        )
        for rank, index in enumerate(order, start=1)
    )


def class_members(table: FrequencyTable, classes: Classes, index: int) -> dict[str, Any]:
    """Return the quasi-identifiers of a class; empty if the class stands for several."""
    if classes.repeats is not None:
        return {}
    values = dict(zip(table.columns, table.values(int(classes.example_rows[index])), strict=True))
    return {name: values[name] for name in classes.quasi_identifiers}
