"""Suppress the people at the highest risk: those with the highest privacy score, until the score is as required.

A step after generalization, where a policy names it. Whoever is removed leaves a class behind that may be too small
then, so that a class that no longer meets the other requirements goes with them, whole; the other classes are as
before. Removing people can raise the score of others, because more follows from what they share: scores are measured
anew after every step, and the gate judges the result as any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency.grouping import pack
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.generalization.suppression import most_suppressed
from privacy_plugin.metrics.privacy_score.result import ERROR, PrivacyScore
from privacy_plugin.requirements.requirement import Requirement

Flags = npt.NDArray[np.bool_]

NOTE = (
    "people with the highest privacy scores were removed: an attacker who knows the program learns that what follows "
    "from the attributes of a missing person was dangerous"
)


@dataclass(frozen=True, kw_only=True)
class Removal:
    """Who was removed: people with the highest scores, those of classes that failed without them, and of how many."""

    worst: int
    with_them: int
    rows: int
    suppressed: int
    highest_before: float
    highest_after: float

    @property
    def share(self) -> float:
        """The share of the people that was removed."""
        return (self.worst + self.with_them) / self.rows

    @property
    def released(self) -> int:
        """The number of people that are left."""
        return self.rows - self.suppressed - self.worst - self.with_them

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "worst": self.worst,
            "with_them": self.with_them,
            "share": self.share,
            "highest_before": self.highest_before,
            "highest_after": self.highest_after,
        }

    def line(self) -> tuple[str, str]:
        """Return what was done, for people."""
        return (
            "people at the highest risk",
            f"{self.worst:,} removed, and {self.with_them:,} of classes that failed without them ({self.share:.2%} of "
            f"{self.rows:,}); the highest privacy score was {self.highest_before:.4g}, now {self.highest_after:.4g}",
        )

    def facts(self) -> dict[str, Any]:
        """Return numbers for metadata."""
        return {"people removed at highest risk": self.worst, "people removed in all": self.worst + self.with_them}


def suppress_worst(
    table: FrequencyTable,
    *,
    score: Requirement,
    others: Sequence[Requirement],
    attributes: Sequence[str],
    quasi_identifiers: Sequence[str],
    max_suppression: float,
    suppressed: int = 0,
) -> tuple[FrequencyTable, Removal]:
    """Return the table without the people whose scores are highest, so that the requirement on the score is met.

    All people with the highest score go at once; if another requirement fails then, also the rest of their classes.
    Of the rows of the table and those `suppressed` before, at most the share `max_suppression` may be gone at the end;
    InfeasibleError otherwise. Deterministic. Cost: one measurement of the scores for each score that is removed.
    """
    rows = table.rows + suppressed
    allowed = most_suppressed(max_suppression, rows) - suppressed
    kept = np.ones(table.distinct, dtype=np.bool_)
    classes = _lines_of(table, quasi_identifiers)
    people = _lines_of(table, attributes)
    worst = with_them = 0
    first: float | None = None
    while True:
        left = _select(table, kept)
        finding = score.judge(left, attributes=list(attributes))
        found = finding.measurement
        if not isinstance(found, PrivacyScore):
            raise InfeasibleError(f"the people at the highest risk are not known: {finding.reason}")
        first = found.maximum if first is None else first
        if finding.passed:
            removal = Removal(
                worst=worst,
                with_them=with_them,
                rows=rows,
                suppressed=suppressed,
                highest_before=first,
                highest_after=found.maximum,
            )
            return left, removal
        scores = np.zeros(table.distinct)
        lines = {name: [table.dictionary(name)[code] for code in table.column_codes(name)[kept]] for name in attributes}
        scores[kept] = found.of(lines)
        gone = kept & (scores >= found.maximum - ERROR)
        worst += int(table.counts[gone].sum())
        kept &= ~np.isin(people, np.unique(people[gone]))
        if kept.any() and any(
            not other.judge(_select(table, kept), quasi_identifiers=list(quasi_identifiers)).passed for other in others
        ):
            remains = kept & np.isin(classes, np.unique(classes[gone]))
            with_them += int(table.counts[remains].sum())
            kept &= ~remains
        if worst + with_them > allowed or not kept.any():
            raise InfeasibleError(
                f"{score} is not met without {worst + with_them:,} of {rows:,} people at the highest risk, and "
                f"{max(allowed, 0):,} may go besides the {suppressed:,} suppressed rows (max_suppression); allow more, "
                "generalize further, or relax the limit"
            )


def _lines_of(table: FrequencyTable, columns: Sequence[str]) -> npt.NDArray[Any]:
    """Return a number for each distinct row that is the same for rows that agree in these columns."""
    codes = [table.column_codes(name).astype(np.int64) for name in columns]
    return pack(codes, [len(table.dictionary(name)) for name in columns])[0]


def _select(table: FrequencyTable, kept: Flags) -> FrequencyTable:
    return FrequencyTable.from_columns(
        table.columns,
        [table.column_codes(name)[kept] for name in table.columns],
        table.dictionaries,
        table.counts[kept],
    )
