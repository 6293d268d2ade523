"""Synthetic tables from a tree of noisy two-way tables, with an account of what they cost.

"row" (the default): the tables are counted exactly and noise is added; a whole row is protected. "cell": every cell is
randomized first and everything else is computed from the randomized cells; a cell is protected, and a row by the sum
over its columns. Dorrestijn 2018 generates databases the second way; at his epsilon of 0.1 a cell, pairs of columns
are lost in the noise for tables of 50,000 rows, whatever is computed from them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.accounting import Part, ReleaseLedger, rho_within
from privacy_plugin.anonymizers.coded_rows import CodedRows
from privacy_plugin.anonymizers.noise import choose, noisy_counts
from privacy_plugin.anonymizers.randomized_response import RandomizedCells, frame_of, other_probability, randomize_cells
from privacy_plugin.anonymizers.tree_model import (
    Floats,
    Integers,
    TreeModel,
    directed,
    fitted,
    independence_distance,
    nearest_counts,
    sample,
)
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact

# Shares of the budget: tables of one column, choice of the tree, tables of two columns.
_ONES, _TREE, _PAIRS = 0.1, 0.1, 0.8
_HISTOGRAM = math.sqrt(2)  # L2 of a histogram when one row is substituted; L1, and so the score of an edge, is 2
_SCORE = 2.0


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """A synthetic table, the tree it was drawn from, and its privacy account."""

    frequencies: FrequencyTable = field(repr=False)
    edges: tuple[tuple[str, str], ...]
    given: str | None
    ledger: ReleaseLedger

    @cached_property
    def table(self) -> Any:
        """The synthetic rows as a pandas frame."""
        return frame_of(self.frequencies)

    def to_dict(self) -> dict[str, Any]:
        """Return the tree and the account as plain data."""
        return {"edges": [list(edge) for edge in self.edges], "given": self.given, "ledger": self.ledger.to_dict()}


def synthesize_rows(
    table: FrequencyTable,
    *,
    epsilon: Any,
    delta: Any = 1e-6,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
) -> Synthesis:
    """Draw a synthetic table with (epsilon, delta)-differential privacy for one row.

    Neighbours differ by the substitution of one row; the number of rows is public. Zero-concentrated accounting:
    noisy tables of every column (discrete Gaussian, L2 sensitivity sqrt 2), the edges of a tree one after the other
    (exponential mechanism; the score of a pair is the L1 distance of its counts from independence of the noisy
    columns, sensitivity 2), noisy tables of the chosen pairs. `given` names a column, chosen without looking at the
    data, that every table is crossed with. What is drawn from these tables costs nothing more. A missing value is a
    value. Cost: one count of every pair of columns.
    """
    rho = rho_within(float(exact(epsilon, what="epsilon")), float(exact(delta, what="delta")))
    rows = CodedRows.of(table, given=given, domains=domains)
    columns, steps = rows.columns, max(rows.columns - 1, 0)
    share = rho / (_ONES + _TREE + _PAIRS if steps else _ONES)
    one_rho = share * _ONES / (columns + (given is not None))
    edge_rho, pair_rho = (share * _TREE / steps, share * _PAIRS / steps) if steps else (0.0, 0.0)

    def noisy(counts: Integers, part: float) -> Integers:
        return noisy_counts(counts, sensitivity=_HISTOGRAM, rho=part, generator=generator)

    exact_planes = rows.planes()  # without a given column, the number of rows, which is public
    planes = nearest_counts(exact_planes if given is None else noisy(exact_planes, one_rho), rows.rows)
    ones = {c: nearest_planes(noisy(rows.ones(c), one_rho), planes) for c in range(columns)}
    spend = math.sqrt(8 * edge_rho)
    edges = _tree(
        columns,
        lambda a, b: independence_distance(rows.pairs(a, b).astype(np.float64), planes, ones[a], ones[b]),
        lambda scores: choose(scores, sensitivity=_SCORE, epsilon=spend, generator=generator),
    )
    estimate = {edge: noisy(rows.pairs(*edge), pair_rho).astype(np.float64) for edge in edges}
    parts = _central_parts(columns + (given is not None), steps, one_rho, edge_rho, pair_rho)
    ledger = ReleaseLedger(
        unit="row",
        neighbours="tables of the same number of rows that differ in one row",
        parts=parts,
        epsilon=float(exact(epsilon)),
        epsilon_row=float(exact(epsilon)),
        delta=float(exact(delta)),
        assumptions=_assumptions(rows, given),
        private=generator is None,
    )
    return _drawn(rows, planes, ones, edges, estimate, ledger, generator)


def synthesize_cells(
    table: FrequencyTable,
    *,
    epsilon: Any,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
) -> Synthesis:
    """Randomize every cell once (epsilon is that of a cell), and draw a synthetic table from what that tells.

    Counts are estimated without bias from the randomized cells, the tree is the one of largest distance from
    independence, and all of it is post-processing. Dorrestijn 2018, section 3, with the unit stated: the epsilons of
    a row's cells add up.
    """
    cells = randomize_cells(table, epsilon=epsilon, domains=domains, generator=generator)
    rows = CodedRows.of(cells.frequencies, given=given, domains=cells.domains)
    inverse = _inverses(cells, rows)
    planes = nearest_counts(inverse(rows.planes(), ()), rows.rows)
    ones = {c: nearest_planes(inverse(rows.ones(c), (c,)), planes) for c in range(rows.columns)}
    estimate: dict[tuple[int, int], Floats] = {}

    def score(a: int, b: int) -> float:
        estimate[(a, b)] = inverse(rows.pairs(a, b), (a, b))
        return independence_distance(nearest_planes(estimate[(a, b)], planes), planes, ones[a], ones[b])

    edges = _tree(rows.columns, score, lambda scores: int(np.argmax(scores)))
    return _drawn(rows, planes, ones, edges, {e: estimate[e] for e in edges}, cells.ledger, generator)


def nearest_planes(noisy: Integers | Floats, planes: Floats) -> Floats:
    """Make every plane of a noisy table non-negative with the sum that the plane has."""
    return np.stack([nearest_counts(part, float(total)) for part, total in zip(noisy, planes, strict=True)])


def _tree(
    columns: int, score: Callable[[int, int], float], pick: Callable[[Floats], int]
) -> tuple[tuple[int, int], ...]:
    """Join columns pair by pair: each time one of the pairs that connect two parts is picked by its score."""
    part = list(range(columns))
    candidates = [(a, b) for a in range(columns) for b in range(a + 1, columns)]
    scores = {edge: score(*edge) for edge in candidates}
    chosen: list[tuple[int, int]] = []
    while len(chosen) < columns - 1:
        candidates = [(a, b) for a, b in candidates if part[a] != part[b]]
        a, b = candidates[pick(np.array([scores[edge] for edge in candidates]))]
        chosen.append((a, b))
        part = [part[a] if known == part[b] else known for known in part]
    return tuple(chosen)


def _drawn(
    rows: CodedRows,
    planes: Floats,
    ones: Mapping[int, Floats],
    edges: tuple[tuple[int, int], ...],
    estimate: Mapping[tuple[int, int], Floats],
    ledger: ReleaseLedger,
    generator: np.random.Generator | None,
) -> Synthesis:
    pairs: dict[tuple[int, int], Floats] = {}
    for a, b in edges:
        table = fitted(nearest_planes(estimate[(a, b)], planes), ones[a], ones[b])
        pairs[(a, b)], pairs[(b, a)] = table, table.transpose(0, 2, 1)
    model = TreeModel(planes=planes, root=0, ones=ones, edges=directed(edges, 0), pairs=pairs)
    drawn, codes = sample(model, rows.rows, generator if generator is not None else np.random.default_rng())
    names = rows.names
    return Synthesis(
        frequencies=rows.decoded(drawn, codes),
        edges=tuple((names[a], names[b]) for a, b in model.edges),
        given=rows.given,
        ledger=ledger,
    )


def _inverses(cells: RandomizedCells, rows: CodedRows) -> Callable[[Integers, tuple[int, ...]], Floats]:
    """Return the function that takes counts of randomized cells to unbiased estimates, axis by axis."""

    def inverse(counts: Integers, columns: tuple[int, ...]) -> Floats:
        found = counts.astype(np.float64)
        named = [rows.given, *(rows.names[column] for column in columns)]
        for axis, name in enumerate(named):
            if name is None or len(cells.domains[name]) < 2:
                continue
            p = float(cells.keep[name])
            q = float(other_probability(cells.keep[name], len(cells.domains[name])))
            found = (found - q * found.sum(axis=axis, keepdims=True)) / (p - q)
        return found

    return inverse


def _central_parts(ones: int, steps: int, one_rho: float, edge_rho: float, pair_rho: float) -> tuple[Part, ...]:
    gaussian, substituted = "discrete Gaussian noise", "L2 sqrt 2: one row is substituted"
    found = [Part(name="tables of one column", mechanism=gaussian, sensitivity=substituted, rho=one_rho, times=ones)]
    if steps:
        found += [
            Part(
                name="edges of the tree",
                mechanism="exponential mechanism",
                sensitivity="2 in the score: L1 of the pair's counts",
                rho=edge_rho,
                times=steps,
            ),
            Part(name="tables of two columns", mechanism=gaussian, sensitivity=substituted, rho=pair_rho, times=steps),
        ]
    return tuple(found)


def _assumptions(rows: CodedRows, given: str | None) -> tuple[str, ...]:
    found = ["the number of rows is public"]
    if rows.undeclared:
        names = ", ".join(rows.undeclared)
        found.append(f"the values that occur in each column are public (no domain was declared for {names})")
    if given is not None:
        found.append(f"column {given!r} was chosen as the given one without looking at the data")
    return tuple(found)


def require_mode(unit: str) -> None:
    """Refuse a privacy unit that is none."""
    if unit not in ("row", "cell"):
        raise ParameterError(f"unit must be row or cell, not {unit!r}")
