"""Train on the generated table, test on the original, in exact arithmetic by the oracle."""

from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError, TooLargeError
from privacy_plugin.metrics import learned_accuracy as module
from tests.metrics import released_tables
from tests.metrics.generated_tables import COLUMNS, pairs, tables
from tests.oracles import generated as oracle
from tests.oracles import usability


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


@settings(max_examples=40, deadline=None, derandomize=True)
@given(pair=released_tables.pairs())
def test_a_generalized_label_counts_for_every_value_it_covers(pair):
    original, released = pair
    known = released_tables.meaning(original)
    columns = released_tables.COLUMNS
    for place, target in enumerate(columns):
        found = pp.learned_accuracy(
            released_tables.table_of(released),
            attributes=columns,
            original=released_tables.table_of(original),
            target=target,
            hierarchies=released_tables.HIERARCHIES,
        )
        assert found.value == Fraction(usability.predicted_right(original, released, place, **known), len(original))


def test_labels_without_hierarchies_are_refused_with_what_to_ask_instead():
    original = pd.DataFrame({"zip": ["8001", "8002"], "ill": [0, 1]})
    released = original.assign(zip="800*")
    with pytest.raises(ColumnError, match="usability or query_error"):
        pp.learned_accuracy(released, attributes=["zip", "ill"], original=original, target="ill")
    with pytest.raises(ColumnError, match="usability or query_error"):
        pp.itemset_difference(released, attributes=["zip", "ill"], original=original)
    partly, known = original.assign(zip=["8001", "800*"]), {"zip": pp.mask_hierarchy(length=4)}
    with pytest.raises(ColumnError, match=r"'zip': 1 row holds a generalized label.*usability or query_error"):
        pp.itemset_difference(partly, attributes=["zip", "ill"], original=original, hierarchies=known)
    same = pp.itemset_difference(original, attributes=["zip", "ill"], original=original, hierarchies=known)
    assert same.value == 0
    given = {"attributes": ["zip", "ill"], "original": original, "target": "ill"}
    zips = {"zip": pp.mask_hierarchy(length=4)}
    assert pp.learned_accuracy(released, **given, hierarchies=zips).value == 0
    with pytest.raises(ColumnError, match="nor a label of its hierarchy"):
        pp.learned_accuracy(original.assign(zip=["800*", "Bern"]), **given, hierarchies=zips)
    with pytest.raises(ParameterError, match="column: hierarchy"):
        pp.require("learned_accuracy", target="ill", at_least=0.5, hierarchies=3)


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


def test_invalid_options_raise(monkeypatch):
    data = pd.DataFrame({"x": ["a", "b"], "y": [1, 2]})
    with pytest.raises(ColumnError, match="did you mean 'y'"):
        pp.learned_accuracy(data, attributes=["x", "y"], original=data, target="yy")
    with pytest.raises(ColumnError, match="other than its target"):
        pp.learned_accuracy(data, attributes=["y"], original=data, target="y")
    for target in (None, "", 3):
        with pytest.raises(ParameterError, match="target"):
            pp.require("learned_accuracy", target=target, at_least=0.5)
    with pytest.raises(ParameterError, match="needs target"):
        pp.require("learned_accuracy", at_least=0.5)
    monkeypatch.setattr(module, "_MOST_SCORES", 3)
    with pytest.raises(TooLargeError):
        pp.learned_accuracy(data, attributes=["x", "y"], original=data, target="y")
