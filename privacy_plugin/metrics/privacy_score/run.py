"""Runs the depth-first search in slices: its memory, its budget, its progress."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacy_plugin.metrics.privacy_score import search as score_search
from privacy_plugin.metrics.privacy_score import words as score_words
from privacy_plugin.metrics.privacy_score.columns import Columns, inferable_cells
from privacy_plugin.metrics.privacy_score.relation import Codes, Integers, Weights
from privacy_plugin.metrics.privacy_score.state import DONE, FULL, NODES, RUNNING, STEPS, Table
from privacy_plugin.metrics.privacy_score.word_state import WordTable

Progress = Callable[[float, int], None]

_SLICE = 1 << 23


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a search found: `best` is reached by a K, `upper` cannot be exceeded; equal when complete."""

    best: Weights
    upper: Weights
    known: Codes  # a line a row: how many attributes its best K has, then the attributes
    complete: bool
    steps: int
    nodes: int


def search_table(columns: Columns, *, confidence: float) -> Table:
    """Lay the columns out for the search; done once, whatever is asked afterwards."""
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
    """Search for all rows, or some, until done or until `budget` steps (rows looked at in a column) are spent.

    Without `bounded`, the upper ends of an incomplete search mean nothing.
    `progress` is called between slices with the share of the first-level branches done and the steps so far.
    """
    search: Any = score_words if isinstance(table, WordTable) else score_search
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
