"""Every audit of a generated table in one call: the same numbers as the metrics one by one."""

import json

import pandas as pd
import pytest
from hypothesis import given, settings

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError
from tests.metrics.generated_tables import COLUMNS, pairs, tables


@settings(max_examples=15, deadline=None, derandomize=True)
@given(pair=pairs)
def test_the_metrics_one_by_one(pair):
    real, made = tables(*pair)
    found = pp.audit_generated(real, generated=made, columns=COLUMNS, support="1/20", target="y")
    compared = {"attributes": COLUMNS, "original": real}
    assert found.to_dict() == {
        "records": pp.repeated_records(made, **compared).to_dict(),
        "unique_itemsets": pp.unique_itemsets(made, **compared).to_dict(),
        "itemsets": pp.itemset_difference(made, **compared, support="1/20").to_dict(),
        "compression": pp.compression_difference(made, **compared).to_dict(),
        "accuracy": pp.learned_accuracy(made, **compared, target="y").to_dict(),
    }
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_shuffled_copy_is_recognized():
    data = pd.DataFrame({"x": range(20), "y": [0, 1] * 10})
    found = pp.audit_generated(data, generated=data.iloc[::-1], columns=["x", "y"])
    assert found.records.repeated == found.records.unique_repeated == found.unique_itemsets.value == 1
    assert found.itemsets.lost == found.itemsets.false == found.itemsets.nfd == found.compression.value == 0
    assert found.accuracy is None


def test_invalid_options_raise():
    data = pd.DataFrame({"x": ["a"]})
    for wrong in ({"support": 0}, {"support": 2}, {"largest": 0}, {"compression_support": 0}, {"target": ""}):
        with pytest.raises(ParameterError):
            pp.audit_generated(data, generated=data, columns=["x"], **wrong)
    with pytest.raises(ColumnError):
        pp.audit_generated(data, generated=data, columns=["y"])
    with pytest.raises(EmptyTableError):
        pp.audit_generated(data, generated=data.iloc[:0], columns=["x"])
