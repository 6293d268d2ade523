"""What every column of a release lost, kept and holds no more: losses, distances, histograms without values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED, Value, label
from privacy_plugin.metrics.usability.compared_tables import ComparedTables, Coverage, Floats


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


def wiped_out_columns(
    table: FrequencyTable,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    original: FrequencyTable | None = None,
) -> tuple[str, ...]:
    """Return the columns that carry no information any more, in the order of the table.

    A column is wiped out where every row holds `*`, or the root of its hierarchy; and, where the original is known,
    where every row holds one value although the original has several.

    >>> released = FrequencyTable.from_rows(["age", "zip"], [("*", "8000"), ("*", "3000")])
    >>> wiped_out_columns(released)
    ('age',)
    """
    found = []
    for name in table.columns:
        before = () if original is None or name not in original.columns else original.dictionary(name)
        if is_wiped_out(table.dictionary(name), (hierarchies or {}).get(name)) or (
            len(table.dictionary(name)) == 1 and len(before) > 1
        ):
            found.append(name)
    return tuple(found)


def is_wiped_out(values: Sequence[Value], hierarchy: Hierarchy | None) -> bool:
    """Tell whether `*`, or the root of the hierarchy, is all that a column holds."""
    if len(values) != 1 or values[0] is None:
        return False
    return values[0] == SUPPRESSED or (hierarchy is not None and label(values[0]) in root_labels(hierarchy))


def root_labels(hierarchy: Hierarchy) -> frozenset[str]:
    """Return the labels that every value of a hierarchy has on some level: `*`, or other names of the root.

    A hierarchy of one value has `*` only: any other label of it is as specific as the value.
    """
    values: Sequence[Value] = getattr(hierarchy, "values", ())
    paths = [path for path in map(hierarchy.path, values) if path]
    if len(values) < 2 or not paths:
        return frozenset({SUPPRESSED})  # a hierarchy that follows a rule ends in it
    levels = [{label(value) for value in level} for level in zip(*paths, strict=True)]
    return frozenset({SUPPRESSED}).union(*(labels for labels in levels if len(labels) == 1))


MOST_BARS = 24


@dataclass(frozen=True, kw_only=True)
class ColumnChange:
    """One column of a release: shares of its cells, and the histograms of both tables over the same bars.

    `kept`, `coarsened` and `lost` add up to 1: cells that still name one value, those that name several, and those that
    name any value or are in a row that was dropped. `before` and `after` are shares of each table's own rows. The bars
    follow the values where these are `ordered` (numbers and dates), otherwise they fall with the original's counts, so
    that their order tells nothing about names. A bar holds up to `values_per_bar` neighbouring values.
    """

    column: str
    kept: float
    coarsened: float
    lost: float
    ordered: bool
    values_per_bar: int
    before: tuple[float, ...]
    after: tuple[float, ...]


def column_changes(compared: ComparedTables, *, bars: int = MOST_BARS) -> dict[str, ColumnChange]:
    """Return the change of every column; rows of a label are spread evenly over the leaves that it covers.

    >>> from privacy_plugin.frequency import FrequencyTable
    >>> from privacy_plugin.metrics.usability.compared_tables import compare_tables
    >>> real = FrequencyTable.from_rows(["ill"], [("flu",), ("flu",), ("flu",), ("cold",)])
    >>> made = FrequencyTable.from_rows(["ill"], [("flu",), ("flu",), ("*",), ("*",)])
    >>> change = column_changes(compare_tables(made, real, attributes=["ill"], hierarchies=None))["ill"]
    >>> change.kept, change.lost, change.before, change.after
    (0.5, 0.5, (0.75, 0.25), (0.75, 0.25))
    """
    return {name: _change(compared, position, bars) for position, name in enumerate(compared.columns)}


def _change(compared: ComparedTables, position: int, bars: int) -> ColumnChange:
    released, original = compared.released, compared.original
    coverage, domain = released.coverages[position], compared.domains[position]
    counts = released.label_counts(position)
    lost = coverage.lost | _covers_everything(coverage)
    kept = ~lost & (coverage.widths == 1)
    before, after = (
        side.coverages[position].spread(side.label_counts(position)) / side.table.rows for side in (original, released)
    )
    leaves = np.arange(coverage.leaves) if domain.ordered else np.argsort(-before, kind="stable")
    width = -(-coverage.leaves // bars)  # the same for all bars but the last, so that heights compare
    number = -(-coverage.leaves // width)
    bar_of = np.empty(coverage.leaves, dtype=np.int64)
    bar_of[leaves] = np.arange(coverage.leaves) // width
    return ColumnChange(
        column=compared.columns[position],
        kept=float(counts[kept].sum() / compared.rows),
        coarsened=float(counts[~kept & ~lost].sum() / compared.rows),
        lost=float((counts[lost].sum() + compared.dropped) / compared.rows),
        ordered=domain.ordered,
        values_per_bar=width,
        before=_bars(before, bar_of, number),
        after=_bars(after, bar_of, number),
    )


def _covers_everything(coverage: Coverage) -> npt.NDArray[np.bool_]:
    """Mark the labels that name all of several leaves: a root that is called otherwise than `*`."""
    return np.asarray((coverage.widths == coverage.leaves) & (coverage.leaves > 1), dtype=bool)


def _bars(shares: Floats, bar_of: Integers, number: int) -> tuple[float, ...]:
    return tuple(np.bincount(bar_of, weights=shares, minlength=number).tolist())
