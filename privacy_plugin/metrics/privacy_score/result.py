"""The result of the privacy score: every person's score, the value a limit compares, witnesses."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError, SourceError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, pack
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.frequency.people_table import UnitedTable
from privacy_plugin.frequency.values import Value, canonical, key, label
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread, plain
from privacy_plugin.metrics.privacy_score.relation import Attribute, Attributes

if TYPE_CHECKING:
    from privacy_plugin.metrics.privacy_score.scores import Witness


Statistic = Literal["average", "maximum", "threshold_count", "threshold_share"]
Floats = npt.NDArray[np.float64]

ERROR = 1e-12  # of every score, and the tolerance of thresholds
_SEARCHED_FOR_COMBINATIONS = 40
_STEPS_FOR_A_COMBINATION = 20_000_000

_LISTING = ("to_pylist", "to_list", "tolist")  # Arrow; polars and pandas; numpy


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options other than the attributes and their weights."""

    saturation: Fraction
    confidence: Fraction
    statistic: Statistic
    threshold: float | None
    budget: int

    @property
    def of_the_kernel(self) -> dict[str, Any]:
        """The arguments of the compiled algorithms."""
        return {
            "saturation": float(self.saturation),
            "confidence": float(self.confidence),
            "budget": self.budget,
        }

    @property
    def stated(self) -> dict[str, Any]:
        """Plain data for the result's parameters."""
        return {
            "confidence": written(self.confidence),
            "saturation": written(self.saturation),
            "statistic": self.statistic,
            "threshold": None if self.threshold is None else written(exact(self.threshold)),
            "budget": self.budget,
        }


@dataclass(frozen=True, kw_only=True)
class ScoreWitness:
    """Knowledge that reaches a person's score; no part of it alone does.

    `known` and `inferred` are columns; values are shown only with `reveal`. Inferred attributes without danger are left
    out. `confidences` is aligned with `inferred_attributes`. `exact` is false when the budget ended before the search:
    the score may then be higher than `weight`.
    """

    person: int
    people: int
    weight: Quantity
    exact: bool
    known_attributes: tuple[Attribute, ...] = field(repr=False)
    inferred_attributes: tuple[Attribute, ...] = field(repr=False)
    confidences: tuple[float, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """The columns an attacker would know, each once."""
        return _columns(self.known_attributes)

    @property
    def inferred(self) -> tuple[str, ...]:
        """The columns that follow, each once."""
        return _columns(self.inferred_attributes)

    def words(self, *, reveal: bool = False) -> str:
        """Return a sentence; without `reveal` it contains no value of the table."""
        known = ", ".join(_shown(self.known_attributes, reveal=reveal))
        inferred = ", ".join(_shown(self.inferred_attributes, reveal=reveal))
        who = f"An attacker who knows {known}" if known else "Any attacker"
        what = f"learns {inferred}" if inferred else "learns nothing"
        whom = "1 person" if self.people == 1 else f"{self.people:,} people"
        return f"{who} {what}: weight {float(self.weight):.4g}, true of {whom}."

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; without `reveal` it holds no value of the table."""
        raw = {
            "known_values": [_pair(attribute) for attribute in self.known_attributes],
            "inferred_values": [_pair(attribute) for attribute in self.inferred_attributes],
        }
        return {
            "person": self.person,
            "people": self.people,
            "known": list(self.known),
            "inferred": list(self.inferred),
            "confidences": list(self.confidences),
            "weight": plain(self.weight),
            "exact": self.exact,
            "words": self.words(reveal=reveal),
            **(raw if reveal else {}),
        }

    def __str__(self) -> str:
        return self.words()


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Columns from which others follow, the highest weight, and the number of people concerned."""

    known: tuple[str, ...]
    inferred: tuple[str, ...]
    weight: float
    people: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: names of columns and numbers."""
        return {
            "known": list(self.known),
            "inferred": list(self.inferred),
            "weight": self.weight,
            "people": self.people,
        }


@dataclass(frozen=True, kw_only=True)
class PrivacyScore(Measurement):
    """The privacy scores of a table.

    `individuals` has one score for each distinct row of the table, `counts` the number of people with that row. When
    the budget ended, scores are the upper ends of guaranteed intervals whose lower ends are `lower`; `value` is then
    the upper end and `error` the width.
    """

    individuals: Floats = field(repr=False, compare=False)
    lower: Floats = field(repr=False, compare=False)
    counts: Integers = field(repr=False, compare=False)
    interval: tuple[Quantity, Quantity]
    table: FrequencyTable = field(repr=False, compare=False)
    related: Attributes = field(repr=False, compare=False)
    settings: Settings

    @property
    def lowest(self) -> Quantity:
        """The lower end of what the value may truly be."""
        return self.interval[0]

    @property
    def highest(self) -> Quantity:
        """The upper end of what the value may truly be: a limit is compared with it."""
        return self.interval[1]

    @property
    def complete(self) -> bool:
        """Whether the search came to its end; if not, scores are upper ends of intervals."""
        return bool(self.details["complete"])

    @property
    def average(self) -> float:
        """The average score of the people (White 2021, definition 3.5)."""
        return average(self.individuals, self.counts)

    @property
    def maximum(self) -> float:
        """The highest score of any person."""
        return float(self.individuals.max())

    def threshold_count(self, threshold: float) -> int:
        """Return how many people score at least the threshold, within 1e-12 (White 2021, definition 3.6)."""
        return int(self.counts[reaching(self.individuals, threshold)].sum())

    def threshold_share(self, threshold: float) -> Fraction:
        """Return the share of the people who score at least the threshold."""
        return Fraction(self.threshold_count(threshold), self.rows)

    def of(self, frame: Any) -> Floats:
        """Return the scores of the rows of a frame, in the frame's order, for any index.

        The frame (pandas, polars, Arrow, a mapping of columns, a FrequencyTable) has the attributes as columns and
        rows like those that were measured; a row that was not among them has no score and is refused.
        """
        if isinstance(self.table, UnitedTable):
            raise ParameterError(
                "people have several rows, so that a score belongs to a person and not to a row; use individuals, "
                "with counts"
            )
        scores: Floats = self.individuals[matching_rows(self.table, frame)]
        return scores

    def witness(self, person: int, *, budget: int | None = None) -> ScoreWitness:
        """Return the knowledge that reaches the score of the people of one distinct row."""
        return self.witnesses([person], budget=budget)[0]

    def witnesses(self, people: Sequence[int], *, budget: int | None = None) -> list[ScoreWitness]:
        """Return the witnesses of several distinct rows; `budget` limits the steps for each."""
        from privacy_plugin.metrics.privacy_score.scores import witnesses

        for person in people:
            if not isinstance(person, int | np.integer) or not 0 <= person < len(self.counts):
                raise ParameterError(f"person {person!r} does not exist; valid are 0 to {len(self.counts) - 1}")
        inverse = self.related.relation.inverse
        limits = self.settings.of_the_kernel | ({} if budget is None else {"budget": budget})
        found = witnesses(self.related.relation, rows=[int(inverse[person]) for person in people], **limits)
        return [self._named(int(person), one) for person, one in zip(people, found, strict=True)]

    def _named(self, person: int, found: "Witness") -> ScoreWitness:
        listed = self.related.listed
        counted = [
            (listed[number], share)
            for number, share in zip(found.inferred, found.confidences, strict=True)
            if self.related.danger[number] > 0
        ]
        return ScoreWitness(
            person=person,
            people=int(self.counts[person]),
            weight=found.weight,
            exact=found.exact,
            known_attributes=tuple(listed[number] for number in found.known),
            inferred_attributes=tuple(attribute for attribute, _ in counted),
            confidences=tuple(share for _, share in counted),
        )

    @cached_property
    def combinations(self) -> tuple[Combination, ...]:
        """The most revealing combinations of columns, from the witnesses of the highest scores.

        The search for each takes a fraction of a second at most; a combination not found by then is left out or its
        weight is too low.
        """
        order = np.lexsort((-self.counts, -self.individuals))[:_SEARCHED_FOR_COMBINATIONS]
        people = [int(person) for person in order if self.individuals[person] > 0]
        merged: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[float, int]] = {}
        for found in self.witnesses(people, budget=min(self.settings.budget, _STEPS_FOR_A_COMBINATION)):
            if found.weight == 0:  # the budget ended before anything was found
                continue
            names = (found.known, found.inferred)
            weight, count = merged.get(names, (0.0, 0))
            merged[names] = (max(weight, float(found.weight)), count + found.people)
        listed = [
            Combination(known=known, inferred=inferred, weight=weight, people=count)
            for (known, inferred), (weight, count) in merged.items()
        ]
        return tuple(sorted(listed, key=lambda one: (-one.weight, -one.people, one.known)))

    @property
    def scores(self) -> Spread:
        """The scores and how many people have each, for any statistic."""
        return Spread(values=self.individuals, people=self.counts)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data for JSON, reports and metadata."""
        return {**super().to_dict(reveal=reveal), "histogram": self.scores.histogram()}


def average(scores: Floats, counts: Integers) -> float:
    """Return the average over people, not over distinct rows."""
    return math.fsum((scores * counts).tolist()) / int(counts.sum())


def reaching(scores: Floats, threshold: object) -> npt.NDArray[np.bool_]:
    """Return which scores are at least the threshold, within the tolerance."""
    reached: npt.NDArray[np.bool_] = scores >= float(exact(threshold, what="threshold")) - ERROR
    return reached


def _columns(attributes: tuple[Attribute, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(attribute.column for attribute in attributes))


def _shown(attributes: tuple[Attribute, ...], *, reveal: bool) -> list[str]:
    if not reveal:
        return list(_columns(attributes))
    return [f"{attribute.column} {_named(attribute.value)}" for attribute in attributes]


def _named(value: Value) -> str:
    return "missing" if value is None else label(value)


def _pair(attribute: Attribute) -> list[Any]:
    return [attribute.column, plain(attribute.value)]


def matching_rows(table: FrequencyTable, frame: Any) -> Integers:
    """Return the distinct row of the table that each row of the frame equals; raise if a row equals none.

    Cost: one lookup per cell.
    """
    require_columns(table.columns, _names(frame))
    codes = [_codes(_values(frame, name), table.dictionary(name)) for name in table.columns]
    if len({len(column) for column in codes}) > 1:
        raise SourceError("the columns of the frame have different lengths")
    known = np.logical_and.reduce([column >= 0 for column in codes])
    sizes = table.cardinalities
    together = [
        np.concatenate([table.codes[:, position], np.maximum(column, 0)]) for position, column in enumerate(codes)
    ]
    packed, _ = pack(together, sizes)
    measured, asked = packed[: table.distinct], packed[table.distinct :]
    order = np.argsort(measured)
    places = np.minimum(np.searchsorted(measured[order], asked), table.distinct - 1)
    rows: Integers = order[places]
    strangers = int((~known | (measured[rows] != asked)).sum())
    if strangers:
        raise ParameterError(f"{strangers:,} of {len(asked):,} rows are not among the rows that were measured")
    return rows


def _names(frame: Any) -> list[str]:
    if isinstance(frame, Mapping):
        return list(frame)
    if not isinstance(frame, FrequencyTable) and not hasattr(
        frame, "shape"
    ):  # neither a frame nor the result of a query
        raise SourceError(f"a frame with rows is needed to align scores with, not {type(frame).__name__}")
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _values(frame: Any, name: str) -> Iterable[Any]:
    if isinstance(frame, FrequencyTable):
        dictionary = frame.dictionary(name)
        return [dictionary[code] for code in frame.column_codes(name).tolist()]
    try:
        column = frame[name]
        if isinstance(column, list | tuple):
            return column
        listing = next(getattr(column, method) for method in _LISTING if hasattr(column, method))
        listed: Iterable[Any] = listing()
    except (TypeError, StopIteration):  # a query that has not run
        raise SourceError(
            f"the rows of a {type(frame).__name__} have no order to align scores with; give a pandas, polars or Arrow "
            "frame"
        ) from None
    return listed


def _codes(values: Iterable[Any], dictionary: tuple[Value, ...]) -> Integers:
    """Return the position of every value in the dictionary, -1 for unknown values."""
    positions = {key(value): position for position, value in enumerate(dictionary)}
    seen: dict[tuple[type, Any], int] = {}
    codes = []
    for raw in values:
        try:
            place = seen.get((type(raw), raw))
        except TypeError:  # a value that cannot be hashed
            codes.append(positions.get(key(canonical(raw)), -1))
            continue
        if place is None:
            value = canonical(raw)
            place = positions.get(key(value), -1)
            if value is not None:  # NaN differs from itself: each would be a new key
                seen[type(raw), raw] = place
        codes.append(place)
    return np.array(codes, dtype=np.int64)
