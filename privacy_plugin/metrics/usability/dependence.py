"""How much of the dependence between pairs of columns a release keeps."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from privacy_plugin.frequency.grouping import Integers, pack, tally
from privacy_plugin.metrics.usability.compared_tables import ComparedTables, Side
from privacy_plugin.metrics.usability.coverage import Coverage, Floats

MOST_GROUPS = 100


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """Cramer's V of every pair of columns, in the original and in the release."""

    before: dict[tuple[str, str], float]
    after: dict[tuple[str, str], float]

    @property
    def difference(self) -> float:
        """The mean over pairs of |V before - V after|; 0 where there is no pair."""
        return sum(abs(self.before[pair] - self.after[pair]) for pair in self.before) / max(len(self.before), 1)

    @property
    def strength(self) -> float:
        """The mean over pairs of V before: the difference that a table of `*` would have; 0 where there is no pair."""
        return sum(self.before.values()) / max(len(self.before), 1)


def pairwise_dependence(compared: ComparedTables) -> Dependence:
    """Return Cramer's V of every pair of columns, before and after.

    V = sqrt(sum over cells of (p_ij - p_i p_j)^2 / (p_i p_j) / (min(r, c) - 1)), r and c the leaves that the original
    has. The rows of a pair of labels are spread evenly over the pairs of leaves that both cover. Of a column with more
    than 100 leaves neighbouring ones are taken together, in both tables alike.
    """
    names = compared.columns
    sides = [_grouped(side) for side in (compared.original, compared.released)]
    found: list[dict[tuple[str, str], float]] = [{}, {}]
    for one, other in combinations(range(len(names)), 2):
        joints = [_joint(side, columns, one, other) for side, columns in zip(_both(compared), sides, strict=True)]
        shape = [int((joints[0].sum(axis=axis) > 0).sum()) for axis in (0, 1)]
        for values, joint in zip(found, joints, strict=True):
            values[names[one], names[other]] = _cramers_v(joint, min(shape))
    return Dependence(before=found[0], after=found[1])


def _both(compared: ComparedTables) -> tuple[Side, Side]:
    return compared.original, compared.released


@dataclass(frozen=True, kw_only=True, eq=False)
class _Grouped:
    """A column whose labels are numbered by what they cover: the pattern of each label, the weights of each pattern.

    A pattern gives every group of leaves a weight; `entries` lists those above 0, of pattern p from `starts[p]` on.
    """

    patterns: Integers
    weights: Floats

    @cached_property
    def entries(self) -> tuple[Integers, Integers, Floats]:
        """Return where the entries of every pattern start, their groups and their weights."""
        pattern, groups = np.nonzero(self.weights)
        starts = np.concatenate([[0], np.cumsum(np.bincount(pattern, minlength=len(self.weights)))]).astype(np.int64)
        return starts, groups, self.weights[pattern, groups]


def _grouped(side: Side) -> list[_Grouped]:
    return [_patterns(coverage) for coverage in side.coverages]


def _patterns(coverage: Coverage) -> _Grouped:
    """Give every leaf, or run of neighbouring leaves, a pattern of its own, and every label that covers more."""
    groups = min(coverage.leaves, MOST_GROUPS)
    group_of = coverage.members * groups // coverage.leaves
    single = coverage.widths == 1
    wide = np.flatnonzero(~single)
    patterns = np.empty(len(coverage.widths), dtype=np.int64)
    patterns[single] = group_of[coverage.starts[:-1][single]]
    patterns[wide] = groups + np.arange(len(wide))
    weights = np.zeros((groups + len(wide), groups))
    weights[:groups] = np.eye(groups)
    for number, label in enumerate(wide.tolist(), start=groups):
        covered = group_of[coverage.starts[label] : coverage.starts[label + 1]]
        weights[number] = np.bincount(covered, minlength=groups) / len(covered)
    return _Grouped(patterns=patterns, weights=weights)


def _joint(side: Side, columns: list[_Grouped], one: int, other: int) -> Floats:
    """Return the rows of every pair of leaves, the rows of a pair of labels spread evenly."""
    codes = [columns[place].patterns[side.table.codes[:, place]] for place in (one, other)]
    packed, size = pack(codes, [len(columns[place].weights) for place in (one, other)])
    rows, counts = tally(packed, size, side.table.counts)
    first, second = columns[one].weights, columns[other]
    starts, groups, weights = second.entries
    patterns = codes[1][rows]
    many = np.diff(starts)[patterns]
    within = np.arange(int(many.sum()), dtype=np.int64) - np.repeat(np.cumsum(many) - many, many)
    entry = np.repeat(starts[patterns], many) + within
    width = second.weights.shape[1]
    places = np.repeat(codes[0][rows] * width, many) + groups[entry]
    spread = np.bincount(places, weights=np.repeat(counts, many) * weights[entry], minlength=len(first) * width)
    return np.asarray(first.T @ spread.astype(np.float64).reshape(len(first), width))


def _cramers_v(joint: Floats, smaller: int) -> float:
    if smaller < 2:
        return 0.0
    shares = joint / joint.sum()
    expected = shares.sum(axis=1)[:, None] * shares.sum(axis=0)[None, :]
    there = expected > 0
    square = float(((shares - expected)[there] ** 2 / expected[there]).sum())  # of squares: nothing cancels out
    return float(min(np.sqrt(square / (smaller - 1)), 1.0))
