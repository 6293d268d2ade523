"""The usability score: one number for how much of its original a release keeps, and the parts it is the mean of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, pack, tally
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement, plain
from privacy_plugin.metrics.presence.population_join import require_hierarchies
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.usability.column_change import column_distances, column_losses, wiped_out_columns
from privacy_plugin.metrics.usability.compared_tables import (
    ComparedTables,
    Coverage,
    Floats,
    Hierarchies,
    Side,
    compare_tables,
)
from privacy_plugin.metrics.usability.query_error import ROUNDING, query_errors

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


_ZERO = 1e-12  # a distance below differs from 0 by rounding


@dataclass(frozen=True, kw_only=True)
class Usability(Measurement):
    """The score and its parts; 1 is a table as useful as the original.

    `details` holds the distance of every column's distribution (`distances`), the `dependence` of every pair before and
    after, and the release's `discernibility` and `average_class_size`.
    """

    @property
    def columns(self) -> Mapping[str, Fraction]:
        """The loss metric of every column, from 0 (nothing lost) to 1."""
        return dict(self.details["columns"])

    @property
    def parts(self) -> Mapping[str, float]:
        """What the score is the mean of: detail, distribution, dependence and queries, each from 0 to 1.

        `details["weights"]` has their weights; a part in which there is nothing to lose is left out.
        """
        return dict(self.details["parts"])

    @property
    def query_error(self) -> float:
        """The median relative error of COUNT queries."""
        return float(self.details["query_error"])

    @property
    def wiped_out(self) -> tuple[str, ...]:
        """The columns that carry no information any more."""
        return tuple(self.details["wiped_out"])

    @property
    def suppressed_share(self) -> Fraction:
        """The share of rows that were dropped, or carry no information in any generalized column."""
        return Fraction(self.details["suppressed_share"])

    @property
    def comparison(self) -> Comparison:
        """The score next to its parts, and the loss of every column."""
        return Comparison(
            caption="What the release keeps of its original",
            values=(
                ComparedValue(name="usability", value=self.value, role="judged"),
                *(ComparedValue(name=name, value=share) for name, share in self.parts.items()),
            ),
            full=1.0,
            table_caption="What every column lost, from 0 to 1",
            table_heads=("column", "loss"),
            table_rows=tuple((name, float(loss)) for name, loss in self.columns.items()),
        )

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; it holds names of columns and numbers, and no value of either table."""
        named = {"columns": self.columns, "parts": self.parts, "query_error": self.query_error}
        return {**super().to_dict(reveal=reveal), **{name: plain(value) for name, value in named.items()}}


@metric(
    title="usability",
    safer="higher",
    kind="utility",
    attacker="finds less than {limit} of what the original shows about {attributes}",
    remedy="recode locally, give the columns that lost most a weight, or allow some rows to be suppressed",
    paper="White 2021, chapter 7, which asks for such a score",
    axis="share of what the original shows",
    shows="The release keeps this share of what its original shows beyond a table of `*`: detail, distributions, "
    "dependence between columns and answers to COUNT queries.",
    hides="Anything about privacy: the original scores best. Nor whether the columns that matter most were kept.",
    smallest=0,
    largest=1,
    check=require_hierarchies,
    called={"attributes": "columns"},
)
def usability(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    original: FrequencyTable,
    hierarchies: Hierarchies | None = None,
) -> Usability:
    """Return how useful a release is, from 0 (a table of `*`) to 1 (the original): the weighted mean of its parts.

    A part is 1 - d / d*, d a distance of the release from the original, from 0 to 1, and d* that of a table which holds
    nothing but `*`. Its weight is d*, what there is to lose: where the values of a column are about equally frequent,
    `*` shows its distribution as well. Where d is the larger one it takes the place of d*. The distances:

    - detail: mean over columns of the loss metric, the share of the domain that a label covers, less one leaf;
    - distribution: mean over columns of the total variation distance between the two distributions;
    - dependence: mean over pairs of columns of |Cramer's V before - after|;
    - queries: median relative error of COUNT queries over up to three columns, which is `query_error`; at most 1.

    A label stands for the leaves that become it on some level of the column's hierarchy, evenly; `*`, a missing value
    where the original has none, and a dropped row carry no information. A missing value of the original is a leaf. `*`
    in the original is one only where the column has no hierarchy. A label of several groups covers them all. The loss
    is an exact fraction; the rest is right to 1e-9, and the score of a table equal to the original is exactly 1. White
    2021, chapter 7, asks for such a score and defines none. Cost: that of `query_error`, and pairs of columns *
    distinct pairs of labels.

    >>> from privacy_plugin.frequency.hierarchy_builders import mask_hierarchy
    >>> real = FrequencyTable.from_rows(["zip", "ill"], [("81", 1), ("81", 1), ("82", 0), ("93", 0)])
    >>> made = FrequencyTable.from_rows(["zip", "ill"], [("8*", 1), ("8*", 1), ("8*", 0), ("*", 0)])
    >>> zips = {"zip": mask_hierarchy(length=2)}
    >>> found = usability(made, attributes=["zip", "ill"], original=real, hierarchies=zips)
    >>> round(found.value, 3), {name: str(loss) for name, loss in found.columns.items()}
    (0.474, {'zip': '5/8', 'ill': '0'})
    >>> usability(real, attributes=["zip", "ill"], original=real, hierarchies=zips).value
    1
    """
    compared = compare_tables(table, original, attributes=attributes, hierarchies=hierarchies)
    losses, distances = column_losses(compared), column_distances(compared)
    errors = query_errors(compared)
    query_error = float(np.median(errors.released))
    dependence = pairwise_dependence(compared)
    apart = {
        "detail": (float(sum(losses.values()) / len(losses)), 1.0),
        "distribution": (_mean(distances.released), _mean(distances.stars)),
        "dependence": (dependence.difference, dependence.strength),
        "queries": (min(query_error, 1.0), min(float(np.median(errors.stars)), 1.0)),
    }
    weights = {name: max(pair) for name, pair in apart.items() if max(pair) >= _ZERO}
    parts = {name: 1 - apart[name][0] / weight for name, weight in weights.items()}
    same = not any(losses.values()) and all(distance < _ZERO for distance, _ in apart.values())
    wiped = wiped_out_columns(compared.released.table, hierarchies=hierarchies, original=compared.original.table)
    return Usability(
        metric="usability",
        value=1 if same else sum(parts[name] * weight for name, weight in weights.items()) / sum(weights.values()),
        error=0.0 if same else ROUNDING,
        parameters={"attributes": list(attributes)},
        rows=table.rows,
        classes=len(_class_sizes(compared)),
        details={
            "parts": parts,
            "weights": weights,
            "columns": {name: losses[name] for name in attributes},
            "distances": {name: distances.released[name] for name in attributes},
            "query_error": query_error,
            "dependence_difference": dependence.difference,
            "dependence": [
                {"columns": list(pair), "before": before, "after": dependence.after[pair]}
                for pair, before in dependence.before.items()
            ],
            **_classes(compared),
            "wiped_out": [name for name in attributes if name in wiped],
            "suppressed_share": Fraction(compared.suppressed, compared.rows),
            "original_rows": original.rows,
        },
        reason=f"Its parts: {', '.join(f'{name} {share:.2f}' for name, share in parts.items())}.",
        notes=tuple(f"column {name!r} carries no information any more" for name in attributes if name in wiped),
    )


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


def _class_sizes(compared: ComparedTables) -> list[int]:
    sizes: list[int] = compared.released.table.classes(compared.generalized).sizes.tolist()
    return sizes


def _classes(compared: ComparedTables) -> dict[str, int | Fraction]:
    """Return the sum of squared class sizes, a dropped row costing the whole table, and the average class size."""
    sizes = _class_sizes(compared)
    return {
        "discernibility": sum(size * size for size in sizes) + compared.dropped * compared.original.table.rows,
        "average_class_size": Fraction(compared.original.table.rows, len(sizes)),
    }
