"""What every column of a release has lost: the loss metric, and the distance of its distribution."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy_plugin.metrics.usability.compared_tables import ComparedTables


def column_losses(compared: ComparedTables) -> dict[str, Fraction]:
    """Return the loss metric LM of every column, exactly.

    A cell whose label covers v of the column's A leaves loses (v - 1) / (A - 1); a cell that is `*`, or missing where
    the original has no missing value, loses 1, and so does every cell of a row that was dropped. The loss of a column
    is the mean over the rows of the larger table. Iyengar 2002; the leaves are those of `loss="loss_metric"`.
    """
    losses = {}
    for position, name in enumerate(compared.columns):
        coverage = compared.released.coverages[position]
        counts = compared.released.label_counts(position)
        lost = int(counts[coverage.lost].sum())
        kept = counts[~coverage.lost].astype(object) * (coverage.widths[~coverage.lost] - 1).astype(object)
        cells = Fraction(int(kept.sum()), max(coverage.leaves - 1, 1))
        losses[name] = (cells + lost + compared.dropped) / compared.rows
    return losses


@dataclass(frozen=True, kw_only=True)
class Distances:
    """The total variation distance of every column from the original, and what a table of `*` would have."""

    released: dict[str, float]
    stars: dict[str, float]


def column_distances(compared: ComparedTables) -> Distances:
    """Return the total variation distance of every column: half the sum over leaves of |share before - share after|.

    A label's rows are spread evenly over the leaves it covers. Shares are of each table's own rows, so that a
    suppression that hits all values alike changes nothing here.
    """
    found: list[dict[str, float]] = [{}, {}]
    for position, name in enumerate(compared.columns):
        before, after = (
            side.coverages[position].spread(side.label_counts(position)) / side.table.rows
            for side in (compared.original, compared.released)
        )
        for distances, shares in zip(found, (after, np.full(len(before), 1 / len(before))), strict=True):
            distances[name] = min(float(np.abs(before - shares).sum()) / 2, 1.0)
    return Distances(released=found[0], stars=found[1])
