"""The result of the privacy score: everybody's score, what a limit compares, and the witness of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread
from privacy_plugin.metrics.privacy_score.attributes import Attributes
from privacy_plugin.metrics.privacy_score.rows import matching_rows
from privacy_plugin.metrics.privacy_score.witness import Combination, ScoreWitness

if TYPE_CHECKING:
    from privacy_plugin.metrics.privacy_score.scores import Witness

Statistic = Literal["average", "maximum", "threshold_share"]
Floats = npt.NDArray[np.float64]

ERROR = 1e-12  # of every score, and the tolerance of thresholds
_SEARCHED_FOR_COMBINATIONS = 40
_STEPS_FOR_A_COMBINATION = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What was asked besides the attributes and their weights."""

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
class PrivacyScore(Measurement):
    """The privacy scores of a table.

    `individuals` has one score for each distinct row of the table, `counts` says how many people have that row. When
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
        """The upper end of what the value may truly be: what a limit is held against."""
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
        """The highest score of anybody."""
        return float(self.individuals.max())

    def threshold_count(self, threshold: float) -> int:
        """How many people score at least the threshold, within 1e-12 (White 2021, definition 3.6)."""
        return int(self.counts[reaching(self.individuals, threshold)].sum())

    def threshold_share(self, threshold: float) -> Fraction:
        """The share of the people who score at least the threshold."""
        return Fraction(self.threshold_count(threshold), self.rows)

    def of(self, frame: Any) -> Floats:
        """Return the scores of the rows of a frame, in the frame's order whatever its index says.

        The frame (pandas, polars, Arrow, a mapping of columns, a FrequencyTable) has the attributes as columns and
        rows like those that were measured; a row that was not among them has no score and is refused.
        """
        scores: Floats = self.individuals[matching_rows(self.table, frame)]
        return scores

    def witness(self, person: int, *, budget: int | None = None) -> ScoreWitness:
        """Return what an attacker would have to know of the people of one distinct row to reach their score."""
        return self.witnesses([person], budget=budget)[0]

    def witnesses(self, people: Sequence[int], *, budget: int | None = None) -> list[ScoreWitness]:
        """Return the witnesses of several distinct rows; `budget` limits the steps for each."""
        from privacy_plugin.metrics.privacy_score.scores import witnesses

        for person in people:
            if not isinstance(person, int | np.integer) or not 0 <= person < len(self.counts):
                raise ParameterError(f"there is no person {person!r}; valid are 0 to {len(self.counts) - 1}")
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
        """The most revealing combinations of columns, worst first, from the witnesses of the few highest scores.

        Each is looked for a fraction of a second at most; what is not found by then is left out or weighs too little.
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
        """How the scores are spread over the people, whatever the statistic."""
        return Spread(values=self.individuals, people=self.counts)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data for every door."""
        return {**super().to_dict(reveal=reveal), "histogram": self.scores.histogram()}


def average(scores: Floats, counts: Integers) -> float:
    """The average over people, not over distinct rows."""
    return math.fsum((scores * counts).tolist()) / int(counts.sum())


def reaching(scores: Floats, threshold: object) -> npt.NDArray[np.bool_]:
    """Which scores are at least the threshold, within the tolerance."""
    reached: npt.NDArray[np.bool_] = scores >= float(exact(threshold, what="threshold")) - ERROR
    return reached
