"""Train on the generated table, test on the original, in exact arithmetic by the oracle."""

from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError, TooLargeError
from privacy_plugin.metrics import learned_accuracy as module
from tests.metrics.generated_tables import COLUMNS, pairs, tables
from tests.oracles import generated as oracle


@settings(max_examples=60, deadline=None, derandomize=True)
@given(pair=pairs)
def test_the_oracle_predicts_the_same(pair):
    real, made = tables(*pair)
    for place, target in enumerate(COLUMNS):
        found = pp.learned_accuracy(made, attributes=COLUMNS, original=real, target=target)
        many = len(pair[0])
        assert found.value == Fraction(oracle.predicted_right(pair[1], pair[0], place), many)
        assert found.trained_on_original == Fraction(oracle.predicted_right(pair[0], pair[0], place), many)
        values = [row[place] for row in pair[0]]
        assert found.largest_class == Fraction(max(values.count(value) for value in values), many)


def test_a_tie_is_a_wrong_answer():
    data = pd.DataFrame({"x": ["a", "a"], "y": [0, 1]})
    assert pp.learned_accuracy(data, attributes=["x", "y"], original=data, target="y").value == 0


def test_one_class_is_always_right():
    data = pd.DataFrame({"x": ["a", "b"], "y": [1, 1]})
    assert pp.learned_accuracy(data, attributes=["x", "y"], original=data, target="y").value == 1


def test_neither_order_of_rows_nor_of_columns_matters():
    data = pd.DataFrame({"x": list("aabbc") * 8, "y": [0, 1] * 20, "z": [0, 0, 1, 1, 1] * 8})
    found = [
        pp.learned_accuracy(made, attributes=names, original=data, target="z").value
        for made in (data, data.sample(frac=1, random_state=2))
        for names in (["x", "y", "z"], ["z", "y", "x"])
    ]
    assert len(set(found)) == 1


def test_nonsense_is_refused(monkeypatch):
    data = pd.DataFrame({"x": ["a", "b"], "y": [1, 2]})
    with pytest.raises(ColumnError, match="did you mean 'y'"):
        pp.learned_accuracy(data, attributes=["x", "y"], original=data, target="yy")
    with pytest.raises(ColumnError, match="beside its target"):
        pp.learned_accuracy(data, attributes=["y"], original=data, target="y")
    for target in (None, "", 3):
        with pytest.raises(ParameterError, match="target"):
            pp.require("learned_accuracy", target=target, at_least=0.5)
    with pytest.raises(ParameterError, match="needs target"):
        pp.require("learned_accuracy", at_least=0.5)
    monkeypatch.setattr(module, "_MOST_SCORES", 3)
    with pytest.raises(TooLargeError):
        pp.learned_accuracy(data, attributes=["x", "y"], original=data, target="y")
