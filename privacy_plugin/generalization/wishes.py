"""What a release is to be useful for, as weights of the columns' losses in the search.

`{"count": [age, region]}`: the named quasi-identifiers count ten times as much as the others. `{"predict": income}`:
a column counts from one to ten times, in proportion to its dependence on the predicted column (Cramer's V with the
correction of Bergsma 2013, so that a column of many values gains nothing by chance).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.numbers import as_number, rank_values
from privacy_plugin.frequency.values import Value
from privacy_plugin.sources import Source

FAVOUR = 10.0  # weight of the columns that matter most; the others weigh 1
_GROUPS = 20  # of numbers, by quantiles
PURPOSES = ("predict", "count")


def read_purpose(given: Any, columns: Sequence[str], *, what: str = "useful_for") -> dict[str, Any]:
    """Return a checked `{"predict": column}` or `{"count": [column, ...]}`."""
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in PURPOSES:
        raise ParameterError(f"{what} must be {{predict: column}} or {{count: [column, ...]}}")
    ((purpose, named),) = given.items()
    wanted = [named] if purpose == "predict" else named
    if not isinstance(wanted, list | tuple) or not wanted:
        raise ParameterError(f"{what} must be {{predict: column}} or {{count: [column, ...]}}")
    for name in wanted:
        if name not in columns:
            raise ParameterError(unknown_name(f"column in {what}", str(name), columns))
    return {"predict": str(named)} if purpose == "predict" else {"count": [str(name) for name in wanted]}


def purpose_weights(source: Source, purpose: Mapping[str, Any], columns: Sequence[str]) -> dict[str, float]:
    """Return a weight from 1 to 10 for every quasi-identifier; cost: one grouping of two columns for each."""
    if "count" in purpose:
        named = set(purpose["count"])
        if named.isdisjoint(columns):
            raise ParameterError("useful_for counts by columns that are released unchanged; name a quasi-identifier")
        return {name: FAVOUR if name in named else 1.0 for name in columns}
    target = purpose["predict"]
    found = {n: 1.0 if n == target else dependence(source.frequencies([n, target]), n, target) for n in columns}
    most = max((value for name, value in found.items() if name != target), default=0.0)
    return {
        name: FAVOUR if name == target else 1.0 + (FAVOUR - 1.0) * (value / most if most else 0.0)
        for name, value in found.items()
    }


def dependence(table: FrequencyTable, one: str, other: str) -> float:
    """Return the corrected Cramer's V of two columns, from 0 to 1; numbers are taken in groups of equal size."""
    first, second = _groups(table, one), _groups(table, other)
    rows, width = table.rows, int(second.max()) + 1
    cells, places = np.unique(first * width + second, return_inverse=True)
    counts = sum_by(places.astype(np.int64), table.counts, len(cells)).astype(np.float64)
    by_first = np.bincount(first, weights=table.counts)
    by_second = np.bincount(second, weights=table.counts)
    square = float((counts**2 / (by_first[cells // width] * by_second[cells % width])).sum()) - 1.0
    high, wide = int((by_first > 0).sum()), int((by_second > 0).sum())
    if rows < 2 or high < 2 or wide < 2:
        return 0.0
    corrected = max(0.0, square - (high - 1) * (wide - 1) / (rows - 1))
    room = min(high - (high - 1) ** 2 / (rows - 1), wide - (wide - 1) ** 2 / (rows - 1)) - 1
    return float(min(np.sqrt(corrected / room), 1.0)) if room > 0 else 0.0


def _groups(table: FrequencyTable, column: str) -> Integers:
    """Return the group of every line: quantiles of a column of numbers, otherwise the value itself."""
    codes, values = table.column_codes(column).astype(np.int64), table.dictionary(column)
    if len(values) <= _GROUPS or not all(value is None or _is_number(value) for value in values):
        return codes
    counts = sum_by(codes, table.counts, len(values))
    order = np.argsort(rank_values(values), kind="stable")
    before = np.empty(len(values), dtype=np.int64)
    before[order] = np.cumsum(counts[order]) - counts[order]
    groups = before * _GROUPS // max(int(counts.sum()), 1)
    missing = np.array([value is None for value in values], dtype=bool)
    return np.where(missing, _GROUPS, groups)[codes]


def _is_number(value: Value) -> bool:
    return as_number(value) is not None


def describe_wishes(losses: Mapping[str, float], without: Mapping[str, float]) -> str:
    """Say what wishes gained and cost, column by column, compared with the plan without them."""
    gained = [name for name in losses if losses[name] < without[name] - _NOTABLE]
    paid = [name for name in losses if losses[name] > without[name] + _NOTABLE]

    def listed(names: Sequence[str]) -> str:
        return ", ".join(f"{name} loses {losses[name]:.3g} instead of {without[name]:.3g}" for name in names) or "none"

    mean, before = (float(np.mean(list(one.values()))) for one in (losses, without))
    return f"gained: {listed(gained)}; cost: {listed(paid)}; the mean loss is {mean:.3g} instead of {before:.3g}"


_NOTABLE = 5e-4
