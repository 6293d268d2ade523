"""What became of the cells of every column, and its distribution before and after, as numbers without values."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.metrics.usability.compared_tables import ComparedTables
from privacy_plugin.metrics.usability.coverage import Coverage, Floats

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
