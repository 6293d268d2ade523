"""The bars of a chart: every person is counted, and the limit separates who meets it from who does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.report.histogram import bars_of
from privacy_plugin.requirements.requirement import require

sizes = st.lists(st.integers(1, 5000), min_size=1, max_size=60)
thousandths = st.lists(st.integers(0, 1000), min_size=1, max_size=60)


def spread(values: list[float]) -> Spread:
    return Spread(values=np.array(values, dtype=np.float64), people=np.arange(1, len(values) + 1))


@given(values=sizes, k=st.integers(1, 300))
@settings(deadline=None, derandomize=True)
def test_a_lower_limit_separates(values: list[float], k: int) -> None:
    bars = bars_of(spread(values), require("k_anonymity", at_least=k).limit)
    (cut,) = bars.limits
    people = np.arange(1, len(values) + 1)
    assert sum(bar.fails for bar in bars.bars) == people[np.array(values) < k].sum()
    assert sum(bar.meets for bar in bars.bars) == people[np.array(values) >= k].sum()
    assert not any(bar.meets for bar in bars.bars[:cut])
    assert not any(bar.fails for bar in bars.bars[cut:])


@given(values=thousandths, limit=st.sampled_from([0, 50, 90, 200, 500, 1000]))
@settings(deadline=None, derandomize=True)
def test_an_upper_limit_separates(values: list[int], limit: int) -> None:
    bars = bars_of(spread([value / 1000 for value in values]), require("t_closeness", at_most=limit / 1000).limit)
    (cut,) = bars.limits
    people = np.arange(1, len(values) + 1)
    assert sum(bar.fails for bar in bars.bars) == people[np.array(values) > limit].sum()
    assert sum(bar.meets for bar in bars.bars) == people[np.array(values) <= limit].sum()
    assert not any(bar.fails for bar in bars.bars[:cut])
    assert not any(bar.meets for bar in bars.bars[cut:])


def test_few_values_have_a_bar_each() -> None:
    bars = bars_of(spread([1, 2, 2, 7]), require("k_anonymity", at_least=2).limit)
    assert [(bar.label, bar.fails, bar.meets) for bar in bars.bars] == [("1", 1, 0), ("2", 0, 5), ("7", 0, 4)]
    assert bars.limits == (1,)


def test_many_values_share_bars_that_end_at_the_limit() -> None:
    bars = bars_of(spread(list(range(1, 101))), require("k_anonymity", at_least=11).limit)
    assert bars.edges == ("1", "2", "5", "11", "20", "50", "100", "200")
    assert bars.bars[2].label == "5 to 10"
    assert bars.limits == (3,)


def test_bars_start_no_lower_than_the_metric_can_be() -> None:
    effective = [1 + number / 2 for number in range(20)]
    limit = require("l_diversity", variant="entropy", at_least=3).limit
    assert bars_of(spread(effective), limit, smallest=1).edges[:3] == ("1", "2", "3")
    assert bars_of(spread([0.0, *effective]), limit, smallest=1).edges[0] == "0"  # a value that lies below is shown


def test_a_limit_below_all_values_stands_at_the_left() -> None:
    bars = bars_of(spread(list(range(11, 111))), require("k_anonymity", at_least=11).limit)
    assert bars.limits == (0,)
    assert bars.edges[0] == "11"


def test_a_limit_above_all_values_stands_at_the_right() -> None:
    bars = bars_of(spread(list(range(1, 50))), require("k_anonymity", at_least=1000).limit)
    assert bars.limits == (len(bars.bars),)
    assert bars.beyond == (True,)


def test_a_limit_outside_the_bars_differs_from_one_at_their_edge() -> None:
    assert bars_of(spread(list(range(5, 25))), require("k_anonymity", at_least=3).limit).beyond == (True,)
    assert bars_of(spread(list(range(5, 25))), require("k_anonymity", at_least=5).limit).beyond == (False,)


def test_who_meets_the_limit_by_a_rounding_stands_on_its_side() -> None:
    measured = np.array([1.0, 2 - 1e-15, *np.linspace(2.1, 9, 20)])
    limit = require("l_diversity", variant="entropy", at_least=2).limit
    failing = limit.failing(measured)
    bars = bars_of(Spread(values=measured, people=np.ones(22, dtype=np.int64)), limit)
    (cut,) = bars.limits
    assert sum(bar.meets for bar in bars.bars[:cut]) == 0
    assert sum(bar.fails for bar in bars.bars) == failing.sum()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_not_numbers_are_counted(value: float) -> None:
    bars = bars_of(spread([value, 2.0]), require("k_anonymity", at_least=2).limit)
    assert sum(bar.fails + bar.meets for bar in bars.bars) == 3
    only = bars_of(spread([value]), require("k_anonymity", at_least=2).limit)
    assert sum(bar.fails + bar.meets for bar in only.bars) == 1


def test_histograms_next_to_each_other_have_the_same_bars():
    limit, before, after = require("k_anonymity", at_least=11).limit, spread([1, 2, 3] * 9), spread(range(11, 400))
    one, other = bars_of(before, limit, others=[after]), bars_of(after, limit, others=[before])
    assert (one.edges, one.limits) == (other.edges, other.limits)
    assert [bar.label for bar in one.bars] == [bar.label for bar in other.bars]
    assert sum(bar.fails for bar in one.bars) == before.people.sum()
    assert sum(bar.meets for bar in other.bars) == after.people.sum()
