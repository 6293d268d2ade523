"""The search for repairs of the privacy score: people to add to a relation, by witnesses or by holes.

Adding a person never raises the score of another, because what follows from a set K can only shrink (confidence 1; not
true below). Two choices of the added person score 0 themselves, at once and for good:

- the witness K of a person: no attribute of K follows from the others, else K without it would weigh as much;
- a hole M (theorems 6.4-6.6): no person has all of M, and every M without one attribute occurs.

The thesis' other option, extending an existing person, often raises scores and is not offered. All scores reported here
are those of the original people: added zeros would only dilute an average.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.privacy_score.by_search import Table
from privacy_plugin.metrics.privacy_score.dowker_complex import minimal_non_faces
from privacy_plugin.metrics.privacy_score.reduction import Columns, search_columns
from privacy_plugin.metrics.privacy_score.relation import Codes, Flags, Integers, Relation, Weights
from privacy_plugin.metrics.privacy_score.result import ERROR
from privacy_plugin.metrics.privacy_score.scores import check_parameters, run_search, search_table

Measure = Literal["maximum", "average"]

__all__ = ["Repair", "fill_holes", "greedy_repair", "minimal_non_faces"]


@dataclass(frozen=True, kw_only=True)
class Repair:
    """The people to add, and the scores of each original person (a distinct row of the relation)."""

    added: tuple[tuple[int, ...], ...]  # the attributes of each added person
    before: Weights
    after: Weights
    reached: bool
    false_share: float  # added people among all


def greedy_repair(
    relation: Relation,
    *,
    wanted: float,
    measure: Measure = "maximum",
    max_false_share: float = 0.5,
    saturation: float = 1.0,
    budget: int | None = None,
    absent: Sequence[int] = (),
) -> Repair:
    """Add the worst person's witness as a record until the original people's maximum or average is low enough.

    Stops at a score of `wanted` (within 1e-12) or before the added people exceed `max_false_share` of all.
    `budget` limits the steps of the first search. `absent`: harmless attributes that an added person has in every
    column of which the witness has none, such as "the value is missing". Cost: one search, then for each added person
    a search for those whose witness lies inside it.

    >>> from privacy_plugin.metrics.privacy_score.relation import make_relation
    >>> people = make_relation(matrix=[[1, 1, 0], [0, 1, 1]], likelihood=[1, 1, 1], danger=[1, 1, 1])
    >>> repair = greedy_repair(people, wanted=0.0, max_false_share=0.9)
    >>> repair.added, repair.after.tolist()
    (((), (0,), (2,)), [0.0, 0.0])
    """
    state = _Repaired(relation, saturation, budget)

    def worst_witness() -> tuple[int, ...] | None:
        return state.witness(state.worst())

    return _repair(relation, state, worst_witness, wanted, measure, max_false_share, absent)


def fill_holes(
    relation: Relation,
    *,
    wanted: float,
    measure: Measure = "maximum",
    max_size: int = 3,
    max_false_share: float = 0.5,
    saturation: float = 1.0,
    budget: int | None = None,
    absent: Sequence[int] = (),
) -> Repair:
    """Fill the hole that contains the worst person's witness and most others', until the score is low enough.

    A hole M around K leaves nothing to infer from K (theorem 6.4), so only such holes lower a score. Stops as
    `greedy_repair` does, and when no hole of up to `max_size` attributes contains the worst person's witness.
    """
    state = _Repaired(relation, saturation, budget)
    holes = [tuple(hole) for hole in minimal_non_faces(relation, max_size=max_size)]

    def best_hole() -> tuple[int, ...] | None:
        witness = state.witness(state.worst())
        around = [hole for hole in holes if set(witness) < set(hole)]
        if not around:
            return None
        chosen = max(around, key=lambda hole: (int(state.inside(hole).sum()), [-attribute for attribute in hole]))
        holes.remove(chosen)
        return chosen

    return _repair(relation, state, best_hole, wanted, measure, max_false_share, absent)


def _repair(
    relation: Relation,
    state: "_Repaired",
    choose: Callable[[], tuple[int, ...] | None],
    wanted: float,
    measure: Measure,
    max_false_share: float,
    absent: Sequence[int],
) -> Repair:
    _check(wanted, measure, max_false_share)
    if relation.danger[list(absent)].any():
        raise ParameterError("an attribute in absent must have danger 0, because added people share it")
    people = int(relation.counts.sum())
    before = state.scores.copy()
    added: list[tuple[int, ...]] = []
    while state.measured(measure) > wanted + ERROR:
        if len(added) + 1 > max_false_share * (people + len(added) + 1):
            break
        person = choose()
        if person is None:
            break
        person = _completed(relation, person, absent)
        state.add(person)
        added.append(person)
    return Repair(
        added=tuple(added),
        before=before[state.columns.rows],
        after=state.scores[state.columns.rows],
        reached=state.measured(measure) <= wanted + ERROR,
        false_share=len(added) / (people + len(added)),
    )


def _completed(relation: Relation, person: tuple[int, ...], absent: Sequence[int]) -> tuple[int, ...]:
    """Return the person with the absent attribute of every column in which they have none."""

    def column(attribute: int) -> int:
        return int(np.searchsorted(relation.offsets, attribute, side="right"))

    taken = {column(attribute) for attribute in person}
    return tuple(sorted({*person, *(attribute for attribute in absent if column(attribute) not in taken)}))


class _Repaired:
    """The relation with all added people, and the original people's scores and witnesses."""

    def __init__(self, relation: Relation, saturation: float, budget: int | None) -> None:
        check_parameters(saturation=saturation, confidence=1.0, budget=budget)
        # Added people can separate attributes that had the same people before, so equal columns must not be merged.
        self.columns: Columns = search_columns(relation, merge=False)
        self.saturation = saturation
        self.table: Table = search_table(self.columns, confidence=1.0)
        found = run_search(self.table, saturation=saturation, confidence=1.0, budget=budget, record=True)
        if not found.complete:
            raise TooLargeError(
                f"the scores to repair need more than {budget} steps; raise the budget or use fewer columns"
            )
        self.scores: Weights = found.best
        self.known: Codes = found.known
        self.place = {int(attribute): index for index, attribute in enumerate(self.columns.origin)}

    def measured(self, measure: Measure) -> float:
        if measure == "maximum":
            return float(self.scores.max())
        return float(np.average(self.scores, weights=self.columns.counts))

    def worst(self) -> int:
        """Return the row of the highest score; of equal ones that of most people."""
        return int(np.lexsort((self.columns.counts, self.scores))[-1])

    def witness(self, row: int) -> tuple[int, ...]:
        known = self.known[row, 1 : 1 + self.known[row, 0]]
        return tuple(sorted(int(attribute) for attribute in self.columns.origin[known]))

    def inside(self, person: tuple[int, ...]) -> Flags:
        """Return the rows whose witness the person contains: only their scores can change."""
        holds = np.zeros(len(self.columns.origin), dtype=np.bool_)
        holds[[self.place[attribute] for attribute in person if attribute in self.place]] = True
        unused = np.arange(self.known.shape[1] - 1) >= self.known[:, :1]
        within: Flags = (holds[self.known[:, 1:]] | unused).all(axis=1) & (self.scores > 0)
        return within

    def add(self, person: tuple[int, ...]) -> None:
        affected = np.flatnonzero(self.inside(person))
        line = np.full((len(self.table.codes), 1), -1, dtype=np.int32)
        for attribute in person:
            if attribute in self.place:
                column, code = self._cell(self.place[attribute])
                line[column] = code
        self.table = self.table._replace(
            codes=np.concatenate([self.table.codes, line], axis=1),
            # An attribute that could not follow before still cannot; the others are an upper bound.
            inferable=np.concatenate([self.table.inferable, np.ones_like(line, dtype=np.uint8)], axis=1),
            counts=np.append(self.table.counts, np.int64(1)),
        )
        if len(affected) == 0:
            return
        found = run_search(self.table, saturation=self.saturation, confidence=1.0, rows=affected, record=True)
        self.scores[affected] = found.best[affected]
        self.known[affected] = found.known[affected]

    def _cell(self, attribute: int) -> tuple[int, int]:
        offsets: Integers = self.columns.offsets
        column = int(np.searchsorted(offsets, attribute, side="right")) - 1
        return column, attribute - int(offsets[column])


def _check(wanted: float, measure: Measure, max_false_share: float) -> None:
    if not 0 <= wanted <= 1:
        raise ParameterError(f"wanted must lie between 0 and 1, not {wanted}")
    if measure not in ("maximum", "average"):
        raise ParameterError(f"unknown measure {measure!r}; valid: maximum, average")
    if not 0 < max_false_share < 1:
        raise ParameterError(f"max_false_share must lie between 0 and 1, both excluded, not {max_false_share}")
