"""SFALM as the paper has it (algorithm 1), with its four optimizations as switches, for benchmarks/presence.py.

Nergiz and Clifton, CSD TR 08-016, sections 5 and 7. SD: counts beyond 4 deviations are given probability 0. PA:
where a node fails, all more specific ones are taken to fail. DM: of the classes only the dominant ones are checked.
DC: hypergeometric values at every b-th count only. Nodes are visited from the most general one down.
"""

import functools
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import group, pack, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels
from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.metrics import presence_paper as paper
from tests.metrics.presence_paper import minimum_dominant_subset, paper_confidence

Node = tuple[int, ...]

# Classes are asked one by one, as the paper stops at the first that fails: its table of logarithms is made only once.
paper._log_factorials = functools.cache(paper._log_factorials)


@dataclass(frozen=True, kw_only=True)
class Switches:
    """Which of the paper's optimizations are on; `ours` replaces the recursion by rigorous bounds."""

    sd: bool = True
    pa: bool = True
    dm: bool = True
    dc: int | None = 4
    ours: bool = False


@dataclass(kw_only=True)
class Outcome:
    """The cheapest node found, and what finding it took."""

    node: Node | None = None
    loss: float = 1.0
    seconds: float = 0.0
    visited: int = 0
    nodes: int = 0
    checked: int = 0
    classes: int = 0
    values: int = 0
    passing: list[Node] = field(default_factory=list)


class World:
    """A population, a research table drawn from it, and what both become at every node of the lattice."""

    def __init__(self, population: FrequencyTable, research: FrequencyTable, hierarchies: dict[str, Hierarchy]) -> None:
        self.columns = list(hierarchies)
        self.levels: list[Levels] = [h.levels(population.dictionary(c), column=c) for c, h in hierarchies.items()]
        self.population = population
        codes = {c: {v: n for n, v in enumerate(population.dictionary(c))} for c in self.columns}
        self.codes = np.column_stack(
            [np.array([codes[c][v] for v in research.dictionary(c)])[research.column_codes(c)] for c in self.columns]
        )
        self.counts = research.counts
        self.leaf_people = [
            sum_by(population.column_codes(c).astype(np.int64), population.counts, len(population.dictionary(c)))
            for c in self.columns
        ]
        self.others = population.rows - research.rows

    @property
    def nodes(self) -> list[Node]:
        """All nodes, the most general first."""
        every = itertools.product(*(range(level.height + 1) for level in self.levels))
        return sorted(every, key=lambda node: (-sum(node), node))

    def at(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """Return the marginals of every class among the others, and its rows in the research table."""
        columns = [self.levels[i].maps[level][self.codes[:, i]].astype(np.int64) for i, level in enumerate(node)]
        sizes = [len(self.levels[i].dictionaries[level]) for i, level in enumerate(node)]
        members, first = group(*pack(columns, sizes))
        outside = []
        for i, level in enumerate(node):
            people = sum_by(self.levels[i].maps[level].astype(np.int64), self.leaf_people[i], sizes[i])
            rows = sum_by(columns[i], self.counts, sizes[i])
            outside.append((people - rows)[columns[i][first]])
        return np.column_stack(outside), sum_by(members, self.counts, len(first))

    def loss(self, node: Node) -> float:
        """The loss metric: the mean over cells of (leaves - 1) / (all leaves - 1)."""
        total = 0.0
        for i, level in enumerate(node):
            maps = self.levels[i].maps
            leaves = np.bincount(maps[level])[maps[level][self.codes[:, i]]]
            total += float(((leaves - 1) * self.counts).sum()) / max(maps.shape[1] - 1, 1)
        return total / (float(self.counts.sum()) * len(node))


def sfalm(world: World, *, delta: tuple[Fraction, Fraction], confidence: Fraction, switches: Switches) -> Outcome:
    """Return the least loss among the nodes that reach the confidence."""
    start = time.process_time()
    outcome = Outcome(nodes=len(world.nodes))
    failed: list[Node] = []
    for node in world.nodes:
        if switches.pa and any(all(n <= f for n, f in zip(node, bad, strict=True)) for bad in failed):
            continue
        outcome.visited += 1
        if _reaches(world, node, delta, confidence, switches, outcome):
            outcome.passing.append(node)
            loss = world.loss(node)
            if outcome.node is None or loss < outcome.loss:
                outcome.node, outcome.loss = node, loss
        else:
            failed.append(node)
    outcome.seconds = time.process_time() - start
    return outcome


def _reaches(
    world: World,
    node: Node,
    delta: tuple[Fraction, Fraction],
    confidence: Fraction,
    switches: Switches,
    outcome: Outcome,
) -> bool:
    marginals, rows = world.at(node)
    outcome.classes += len(rows)
    asked = {"others": world.others, "delta_low": delta[0], "delta_high": delta[1]}
    if switches.ours:
        return _by_bounds(marginals, rows, confidence, asked, outcome)
    if switches.dm:
        kept = minimum_dominant_subset(marginals=marginals, research_count=rows, **asked)
        marginals, rows = marginals[kept], rows[kept]
    for line in range(len(rows)):  # the paper stops at the first class that fails
        outcome.checked += 1
        found, values = paper_confidence(
            marginals=marginals[line : line + 1],
            research_count=rows[line : line + 1],
            sigma_cut=4.0 if switches.sd else None,
            bucket_size=switches.dc,
            **asked,
        )
        outcome.values += int(values[0])
        if found[0] < confidence:
            return False
    return True


def _by_bounds(marginals: np.ndarray, rows: np.ndarray, confidence: Fraction, asked: dict, outcome: Outcome) -> bool:
    """Ask class by class, most threatened first, whether the lower end reaches the confidence."""
    order: Sequence[int] = np.argsort(marginals.astype(float).prod(axis=1) / rows, kind="stable").tolist()
    for start in range(0, len(order), 16):
        chosen = order[start : start + 16]
        outcome.checked += len(chosen)
        lower, _ = presence_confidence_bounds(
            marginals=marginals[chosen], research_count=rows[chosen], decide_at=confidence, **asked
        )
        if (lower < confidence).any():
            return False
    return True
