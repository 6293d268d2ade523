"""What paired original and released values say about the channel between them: epsilon is at least so much."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact

_MOST_CELLS = 250_000


@dataclass(frozen=True, kw_only=True)
class PairedColumns:
    """An audit of a channel. It bounds epsilon from below and never certifies anything.

    With probability `confidence`, the prior-free epsilon (nats, of one cell) is at least `value`. `mutual_information`
    (nats) is that of the pairs as counted, which is too high: of independent columns, by about (inputs - 1) *
    (outputs - 1) / (2 * rows).
    """

    value: float
    mutual_information: float
    confidence: float
    rows: int
    inputs: int
    outputs: int
    never_certifies: str = "an audit bounds epsilon from below; what the data did not show may still happen"
    assumes: str = "cells are randomized independently of each other, all by the same channel"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "value": self.value,
            "bound": "lower",
            "mutual_information": self.mutual_information,
            "unit": "cell",
            "confidence": self.confidence,
            "rows": self.rows,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "notes": [self.never_certifies, self.assumes],
        }


def paired_columns(table: FrequencyTable, *, original: str, released: str, confidence: Any = 0.95) -> PairedColumns:
    """Bound the epsilon-dependence of original and released values of the same rows from below.

    max over outputs s and inputs x, x' of ln(lower P(s | x) / upper P(s | x')), at least 0, with Clopper-Pearson
    bounds each of which fails with probability (1 - confidence) / (2 * inputs * outputs) (Bonferroni): all hold
    together with probability `confidence`. A missing value is a value of its own. A copy of the column is bounded
    by what so many rows can show, and not by infinity. Cost: 2 bounds for every pair of values.

    >>> rows = [("a", "a")] * 75 + [("a", "b")] * 25 + [("b", "b")] * 75 + [("b", "a")] * 25
    >>> table = FrequencyTable.from_rows(["truth", "shown"], rows)
    >>> 0.4 < paired_columns(table, original="truth", released="shown").value < 1.0986  # ln 3
    True
    """
    from privacy_plugin.metrics.dependence.binomial_bounds import clopper_pearson

    sure = exact(confidence, what="confidence")
    if not 0 < sure < 1:
        raise ParameterError("confidence must lie between 0 and 1, both excluded")
    if original == released:
        raise ColumnError("the original and the released column must be two different columns")
    table.require_one_row_a_person("an audit of paired columns")
    table.require_rows()
    pairs = table.project([original, released])
    inputs, outputs = pairs.cardinalities
    if inputs * outputs > _MOST_CELLS:
        raise TooLargeError(f"{inputs:,} x {outputs:,} values are more than {_MOST_CELLS:,} pairs to bound")
    seen = np.zeros((inputs, outputs), dtype=np.int64)
    seen[pairs.codes[:, 0], pairs.codes[:, 1]] = pairs.counts
    trials = np.repeat(seen.sum(axis=1), outputs)
    alpha = float((1 - sure) / (2 * inputs * outputs))
    low, high = (bound.reshape(inputs, outputs) for bound in clopper_pearson(seen.ravel(), trials, alpha=alpha))
    with np.errstate(divide="ignore"):
        apart = np.log(low.max(axis=0)) - np.log(high.min(axis=0))
    return PairedColumns(
        value=max(float(apart.max()) * (1 - 1e-12), 0.0),
        mutual_information=_mutual_information(seen),
        confidence=float(sure),
        rows=pairs.rows,
        inputs=inputs,
        outputs=outputs,
    )


def _mutual_information(seen: npt.NDArray[np.int64]) -> float:
    """Return the mutual information of a table of counts, in nats."""
    shares = seen / seen.sum()
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    held = seen > 0
    return max(float((shares[held] * np.log(shares[held] / apart[held])).sum()), 0.0)
