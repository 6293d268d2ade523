"""Frequent itemsets kept, lost and made up, against naive enumeration."""

import json
import math
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from tests.metrics.generated_tables import COLUMNS, pairs, tables
from tests.oracles import generated as oracle


@settings(max_examples=60, deadline=None, derandomize=True)
@given(pair=pairs, share=st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1)]))
def test_counting_by_hand(pair, share):
    real, made = tables(*pair)
    ours, theirs = (oracle.frequent(rows, share) for rows in pair)
    if not ours:
        with pytest.raises(ParameterError, match="lower one"):
            pp.itemset_difference(made, attributes=COLUMNS, original=real, support=share)
        return
    found = pp.itemset_difference(made, attributes=COLUMNS, original=real, support=share)
    kept, lost, false = ours.keys() & theirs, ours.keys() - theirs.keys(), theirs.keys() - ours.keys()
    assert (found.kept, found.lost, found.false) == (len(kept), len(lost), len(false))
    for name, itemsets in (("nfd", ours), ("nfd_kept", kept), ("nfd_lost", lost)):
        apart = [oracle.difference(*pair, itemset) for itemset in itemsets]
        assert found.details[name] == (pytest.approx(float(sum(apart) / len(apart))) if apart else None)
    assert abs(found.value - found.nfd) <= found.error
    shares = {"lost": Fraction(len(lost), len(ours)), "false": Fraction(len(false), max(len(theirs), 1))}
    for variant, wanted in shares.items():
        again = pp.itemset_difference(made, attributes=COLUMNS, original=real, support=share, variant=variant)
        assert again.value == wanted
    json.dumps(found.to_dict(), allow_nan=False)


def test_an_itemset_the_original_does_not_have_is_infinitely_far():
    one, two = pd.DataFrame({"x": ["a", "a"]}), pd.DataFrame({"x": ["a", "b"]})
    found = pp.itemset_difference(two, attributes=["x"], original=one)
    assert found.details["nfd_false"] == math.inf
    assert found.to_dict()["details"]["nfd_false"] == "infinite"
    assert (found.nfd, found.details["nfd_lost"]) == (0.5, None)


def test_invalid_options_raise():
    for wrong in ({"support": 0}, {"support": 2}, {"support": -1}, {"support": "x"}, {"variant": "kept"}):
        with pytest.raises(ParameterError):
            pp.require("itemset_difference", at_most=0.1, **wrong)
