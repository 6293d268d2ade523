"""Itemsets that one row of the original holds, against trying them all."""

from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics import unique_itemsets as module
from tests.metrics.generated_tables import COLUMNS, pairs, tables
from tests.oracles import generated as oracle


@settings(max_examples=60, deadline=None, derandomize=True)
@given(pair=pairs, largest=st.integers(1, 4))
def test_trying_every_itemset(pair, largest):
    real, made = tables(*pair)
    found = pp.unique_itemsets(made, attributes=COLUMNS, original=real, largest=largest)
    sizes = min(largest, 3)
    unique, reproduced, expected = oracle.unique_itemsets(*pair, sizes)
    assert (found.unique, found.reproduced) == (tuple(unique), tuple(reproduced))
    assert found.value == Fraction(sum(reproduced), max(sum(unique), 1))
    assert found.if_independent == pytest.approx(expected / max(sum(unique), 1))


def test_many_values_are_sorted_instead_of_counted(monkeypatch):
    generator = __import__("numpy").random.default_rng(1)
    real = pd.DataFrame(generator.integers(0, 9, (60, 4)), columns=list("abcd"))
    made = pd.DataFrame(generator.integers(0, 9, (60, 4)), columns=list("abcd"))
    dense = pp.unique_itemsets(made, attributes=list("abcd"), original=real, largest=4)
    monkeypatch.setattr(module, "_DENSE", 0)
    assert pp.unique_itemsets(made, attributes=list("abcd"), original=real, largest=4).details == dense.details


def test_a_copy_reproduces_everything_and_without_unique_itemsets_the_share_is_zero():
    data = pd.DataFrame({"x": range(20), "y": [0, 1] * 10})
    assert pp.unique_itemsets(data.iloc[::-1], attributes=["x", "y"], original=data).value == 1
    twice = pd.concat([data, data])
    found = pp.unique_itemsets(data, attributes=["x", "y"], original=twice)
    assert found.value == 0
    assert "held by exactly one row" in found.notes[0]


def test_too_much_work_raises_with_a_feasible_size(monkeypatch):
    data = pd.DataFrame({name: [0, 1, 2] for name in "abcdef"})
    monkeypatch.setattr(module, "_MOST_STEPS", 200)
    with pytest.raises(TooLargeError, match="choose largest=2"):
        pp.unique_itemsets(data, attributes=list("abcdef"), original=data)
    monkeypatch.setattr(module, "_MOST_STEPS", 20)
    with pytest.raises(TooLargeError, match="fewer columns"):
        pp.unique_itemsets(data, attributes=list("abcdef"), original=data)


def test_progress_is_reported():
    data = pd.DataFrame({f"c{n}": [0, 1, 2] for n in range(10)})
    reported: list[float] = []
    module.unique_itemsets(
        pp.frequency_table(data, list(data)),
        attributes=list(data),
        original=pp.frequency_table(data, list(data)),
        progress=lambda share, _: reported.append(share),
    )
    assert reported == sorted(reported)
    assert 0 < reported[0] <= reported[-1] <= 1


@pytest.mark.parametrize("largest", [0, -1, 1.5, True, "3"])
def test_a_size_is_a_number_of_columns(largest):
    with pytest.raises(ParameterError, match="largest"):
        pp.require("unique_itemsets", largest=largest, at_most=0.5)
