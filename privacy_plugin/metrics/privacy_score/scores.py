"""The Database Privacy Score of a relation: choice of the algorithm, budget, progress, witnesses.

priv(i) = max over the sets K of i's attributes, the empty one included, of
w(K) = product of l(x) over K * D / (saturation + D), D = sum of d(x) over what follows from K (White 2021, chapter 3;
people whose attributes are a subset of another person's are scored too, unlike in the program of the thesis).
With `confidence` below 1, x follows from K for i when i has x and a share c >= confidence of the people with K have
it, and counts c * d(x). Scores are float64 within `ERROR` of the exact value.

Three algorithms give the same scores: `by_definition` (every K, fractions), `by_lattice` (every K, one array) and
`by_search` (depth first with bounds; `by_words` is its variant for few people).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.privacy_score import by_search, by_words
from privacy_plugin.metrics.privacy_score.by_definition import inferences
from privacy_plugin.metrics.privacy_score.by_lattice import (
    LARGEST_LATTICE,
    lattice_scores,
    lattice_witness,
    usable_attributes,
)
from privacy_plugin.metrics.privacy_score.by_search import (
    CONFIDENCE_TOLERANCE,
    DONE,
    FULL,
    NODES,
    RUNNING,
    STEPS,
    Table,
)
from privacy_plugin.metrics.privacy_score.by_words import WordTable, word_table
from privacy_plugin.metrics.privacy_score.reduction import Columns, inferable_cells, search_columns
from privacy_plugin.metrics.privacy_score.relation import Codes, Integers, Relation, Weights

Algorithm = Literal["auto", "lattice", "search", "words"]
Progress = Callable[[float, int], None]

_LATTICE_OPERATIONS_A_STEP = 8  # measured: what the lattice does while the search looks at one row
_SMALL_LATTICE_STEPS = 1 << 17
_WITNESS_LATTICE = 18
_MOST_PEOPLE_IN_WORDS = 512  # measured: beyond, long words cost more than they save
_SLICE = 1 << 23  # steps between two reports of progress


@dataclass(frozen=True, kw_only=True)
class Scores:
    """A guaranteed interval for the score of each distinct row; a single value when exact."""

    lower: Weights
    upper: Weights
    exact: bool
    algorithm: Literal["lattice", "search", "words"]
    steps: int  # rows looked at in a column by the search
    nodes: int  # sets K visited by the search


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Known attributes of a person, what follows from them, and the weight of that."""

    row: int
    known: tuple[int, ...]
    inferred: tuple[int, ...]
    confidences: tuple[float, ...]  # aligned with `inferred`
    weight: float
    exact: bool  # False when the budget ran out: the score may be higher


@dataclass(frozen=True, kw_only=True)
class WorkEstimate:
    """The size of the problem, known before any exponential work."""

    usable_attributes: int
    largest_person: int  # most usable attributes of one person
    sets: float  # upper bound of the sets K that can be visited
    lattice_possible: bool


def score(
    relation: Relation,
    *,
    saturation: float = 1.0,
    confidence: float = 1.0,
    algorithm: Algorithm = "auto",
    budget: int | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Score every distinct row, exactly or, when `budget` runs out, by a guaranteed interval.

    `budget` counts steps (one row looked at in one column, about 10 ns); without it the search runs to the end.
    "auto" searches depth first for at most the time the lattice would take, then takes the lattice; tables with
    more than 25 usable attributes and confidences below 1 are only searched. Up to 512 distinct people are searched
    in machine "words", several times faster with the same result. `progress(share, steps)` is called
    between slices of the search and at the end. Memory: 512 MB for the largest lattice; the search needs about
    30 bytes * rows * depth of the path.

    >>> from privacy_plugin.metrics.privacy_score.relation import make_relation
    >>> rows = [[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 0, 1], [1, 1, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0]]
    >>> people = make_relation(matrix=rows, likelihood=[1] * 6, danger=[1] * 6)
    >>> [round(float(value), 6) for value in score(people).lower[people.inverse]]
    [0.666667, 0.666667, 0.75, 0.666667, 0.666667]
    """
    check_parameters(saturation=saturation, confidence=confidence, budget=budget)
    if algorithm not in get_args(Algorithm):
        raise ParameterError(f"unknown algorithm {algorithm!r}; valid: {', '.join(get_args(Algorithm))}")
    confidence = _snapped(confidence)
    columns = search_columns(relation)
    usable = len(usable_attributes(columns))
    if algorithm in ("lattice", "words") and confidence < 1.0:
        raise ParameterError(f"{algorithm} answers confidence 1 only; {confidence} was given, use the search")
    if algorithm == "lattice":
        if usable > LARGEST_LATTICE:
            raise TooLargeError(f"{usable} usable attributes are too many for the lattice; at most {LARGEST_LATTICE}")
        return _by_lattice(columns, saturation, progress)
    lattice_steps = (usable << usable) // _LATTICE_OPERATIONS_A_STEP
    affordable = (
        algorithm == "auto" and _lattice_fits(usable, confidence) and (budget is None or lattice_steps <= budget)
    )
    # The search looks at every row in every column at least once.
    if affordable and lattice_steps <= max(_SMALL_LATTICE_STEPS, columns.codes.size):
        return _by_lattice(columns, saturation, progress)
    in_words = algorithm == "words" or (algorithm == "auto" and _words_pay(columns, confidence))
    found = run_search(
        word_table(columns) if in_words else search_table(columns, confidence=confidence),
        saturation=saturation,
        confidence=confidence,
        budget=lattice_steps if affordable else budget,
        progress=progress,
        bounded=not affordable,
    )
    if affordable and not found.complete:
        return _by_lattice(columns, saturation, progress)
    return Scores(
        lower=found.best[columns.rows],
        upper=found.upper[columns.rows],
        exact=found.complete,
        algorithm="words" if in_words else "search",
        steps=found.steps,
        nodes=found.nodes,
    )


def witnesses(
    relation: Relation,
    *,
    rows: Sequence[int],
    saturation: float = 1.0,
    confidence: float = 1.0,
    budget: int | None = None,
) -> list[Witness]:
    """Return for each given distinct row a K that reaches its score; no proper subset of that K does.

    Each is computed separately: over the lattice of the person's own attributes where these are few, else by a search
    in which only that row is active, within `budget` steps per row.
    """
    check_parameters(saturation=saturation, confidence=confidence, budget=budget)
    columns = search_columns(relation)
    confidence = _snapped(confidence)
    table = word_table(columns) if _words_pay(columns, confidence) else search_table(columns, confidence=confidence)
    found = []
    for row in rows:
        if not 0 <= row < len(relation.counts):
            raise ParameterError(f"row {row} does not exist; valid are 0 to {len(relation.counts) - 1}")
        place = int(columns.rows[row])
        complete = True
        if confidence >= 1.0 and (columns.codes[:, place] >= 0).sum() <= _WITNESS_LATTICE:
            weight, known = lattice_witness(columns, row=place, saturation=saturation)
        else:
            outcome = run_search(
                table,
                saturation=saturation,
                confidence=confidence,
                budget=budget,
                rows=np.array([place]),
                record=True,
            )
            weight = float(outcome.best[place])
            known = [int(attribute) for attribute in outcome.known[place, 1 : 1 + outcome.known[place, 0]]]
            complete = outcome.complete
        found.append(_described(relation, columns, row, known, weight, confidence, complete))
    return found


def estimate_work(relation: Relation, *, confidence: float = 1.0) -> WorkEstimate:
    """Bound the exponential work: at most min(2^m, sum of 2^(attributes of a person)) sets K."""
    check_parameters(saturation=1.0, confidence=confidence, budget=None)
    columns = search_columns(relation)
    usable = usable_attributes(columns)
    is_usable = np.zeros(len(columns.likelihood) + 1, dtype=np.int64)
    is_usable[usable] = 1
    sizes = np.zeros(len(columns.counts), dtype=np.int64)
    for column, start in enumerate(columns.offsets[:-1]):
        code = columns.codes[column]
        sizes += np.where(code >= 0, is_usable[start + np.maximum(code, 0)], 0)
    return WorkEstimate(
        usable_attributes=len(usable),
        largest_person=int(sizes.max(initial=0)),
        sets=float(min(np.exp2(float(len(usable))), np.exp2(sizes.astype(np.float64)).sum())),
        lattice_possible=_lattice_fits(len(usable), confidence),
    )


def check_parameters(*, saturation: float, confidence: float, budget: int | None) -> None:
    """Raise if no score is defined for the parameters."""
    if not (0 < saturation < float("inf")):
        raise ParameterError(f"saturation must be above 0 and finite; {saturation} was given")
    if not (0 < confidence <= 1):
        raise ParameterError(f"confidence must be above 0 and at most 1; {confidence} was given")
    if budget is not None and budget < 1:
        raise ParameterError(f"a budget must be at least 1 step; {budget} was given")


def _snapped(confidence: float) -> float:
    return 1.0 if confidence >= 1.0 - CONFIDENCE_TOLERANCE else float(confidence)


def _lattice_fits(usable: int, confidence: float) -> bool:
    return usable <= LARGEST_LATTICE and _snapped(confidence) == 1.0


def _words_pay(columns: Columns, confidence: float) -> bool:
    return confidence == 1.0 and columns.codes.shape[1] <= _MOST_PEOPLE_IN_WORDS


def _by_lattice(columns: Columns, saturation: float, progress: Progress | None) -> Scores:
    scores = lattice_scores(columns, saturation=saturation)[columns.rows]
    if progress is not None:
        progress(1.0, 0)
    return Scores(lower=scores, upper=scores, exact=True, algorithm="lattice", steps=0, nodes=0)


def _described(
    relation: Relation,
    columns: Columns,
    row: int,
    known: list[int],
    weight: float,
    confidence: float,
    exact: bool,
) -> Witness:
    attributes = tuple(sorted(int(columns.origin[attribute]) for attribute in known))
    # the search's own tolerance: a confidence of 5/6 arrives here as a float somewhat above it
    follow = inferences(relation, row=row, known=attributes, confidence=confidence - CONFIDENCE_TOLERANCE)
    return Witness(
        row=row,
        known=attributes,
        inferred=tuple(attribute for attribute, _ in follow),
        confidences=tuple(float(share) for _, share in follow),
        weight=weight,
        exact=exact,
    )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a search: `best` is reached by a K, `upper` cannot be exceeded; equal when complete."""

    best: Weights
    upper: Weights
    known: Codes  # one line per row: the size of its best K, then the attributes
    complete: bool
    steps: int
    nodes: int


def search_table(columns: Columns, *, confidence: float) -> Table:
    """Lay the columns out for the search; one table serves any number of searches."""
    inferred = columns.inferred
    useful = [bool(inferred[start:end].any()) for start, end in _spans(columns)]
    certain = confidence >= 1.0
    return Table(
        codes=columns.codes,
        offsets=columns.offsets,
        likelihood=columns.likelihood,
        own=columns.own,
        bonus=columns.bonus,
        inferred=inferred,
        useful=np.asarray(useful, dtype=np.uint8),
        # Below certainty an attribute can count although some rows contradict it.
        inferable=inferable_cells(columns) if certain else np.ones(columns.codes.shape, dtype=np.uint8),
        counts=columns.counts,
    )


def run_search(
    table: Table | WordTable,
    *,
    saturation: float,
    confidence: float,
    budget: int | None = None,
    progress: Progress | None = None,
    rows: Integers | None = None,
    record: bool = False,
    bounded: bool = True,
) -> Outcome:
    """Search for all rows, or some, until done or until `budget` steps are spent.

    A step is one row visited in one column. Without `bounded`, the upper ends of an incomplete search are undefined.
    `progress` is called between slices with the share of the first-level branches done and the steps so far.
    """
    search: Any = by_words if isinstance(table, WordTable) else by_search
    work: Any = table.fresh_work(rows=rows, record=record)
    search.enter_root(table, work, saturation, confidence)
    status = RUNNING
    while status != DONE:
        spent = int(work.registers[STEPS])
        if budget is not None and spent >= budget:
            break
        limit = spent + _SLICE if budget is None else min(spent + _SLICE, budget)
        status = search.advance(table, work, saturation, confidence, limit)
        if status == FULL:
            work = work.grown()
        elif progress is not None:
            progress(1.0 if status == DONE else work.share(), int(work.registers[STEPS]))
    np.maximum(work.upper, work.best, out=work.upper)
    if status != DONE and bounded:
        search.bound_rest(table, work, saturation)
    return Outcome(
        best=work.best,
        upper=work.upper,
        known=work.known,
        complete=status == DONE,
        steps=int(work.registers[STEPS]),
        nodes=int(work.registers[NODES]),
    )


def _spans(columns: Columns) -> list[tuple[int, int]]:
    return [(int(s), int(e)) for s, e in zip(columns.offsets[:-1], columns.offsets[1:], strict=True)]
