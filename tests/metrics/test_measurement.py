"""The histogram of a measurement."""

import numpy as np

from privacy_plugin.metrics.measurement import Spread


def test_bars_begin_at_values_that_occur():
    """An edge between two values, or next to one by rounding, would count people in the wrong bar."""
    values = np.arange(1, 1001, 3, dtype=np.float64)
    bars = Spread(values=values, people=np.ones(len(values), dtype=np.int64)).histogram()
    edges = [bar["from"] for bar in bars]
    assert set(edges) <= set(values.tolist())
    assert (edges[0], edges[-1]) == (values[0], values[-1])
    assert sum(bar["people"] for bar in bars) == len(values)
    assert len(bars) <= 25
