"""The audit of a generated table, against counting by hand."""

import json
import math
from fractions import Fraction
from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError

COLUMNS = ["x", "y", "z"]
rows_of = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 1), st.sampled_from([True, None])),
    min_size=1,
    max_size=12,
)


def naive_itemsets(rows, share):
    sets = [frozenset((c, v) for c, v in zip(COLUMNS, row, strict=True) if v is not None) for row in rows]
    items = sorted(set().union(*sets), key=str)
    every = [frozenset(chosen) for size in range(1, 4) for chosen in combinations(items, size)]
    held = {chosen: Fraction(sum(row >= chosen for row in sets), len(sets)) for chosen in every}
    return {chosen: support for chosen, support in held.items() if support >= share}, sets


@settings(max_examples=60, deadline=None, derandomize=True)
@given(first=rows_of, second=rows_of, share=st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1)]))
def test_counting_by_hand(first, second, share):
    tables = [pp.FrequencyTable.from_rows(COLUMNS, rows) for rows in (first, second)]
    found = pp.audit_generated(tables[0], generated=tables[1], columns=COLUMNS, support=share)
    (ours, _), (theirs, their_sets) = naive_itemsets(first, share), naive_itemsets(second, share)
    itemsets, records = found.itemsets, found.records
    assert (itemsets.kept, itemsets.lost, itemsets.false) == (
        len(ours.keys() & theirs),
        len(ours.keys() - theirs.keys()),
        len(theirs.keys() - ours.keys()),
    )
    apart = [abs(s - Fraction(sum(r >= i for r in their_sets), len(second))) / s for i, s in ours.items()]
    assert itemsets.nfd == (pytest.approx(float(sum(apart) / len(apart))) if apart else None)
    unique = {row for row in first if first.count(row) == 1}
    assert records.repeated == Fraction(sum(row in first for row in second), len(second))
    assert records.repeating_unique == Fraction(sum(row in unique for row in second), len(second))
    assert records.unique_repeated == (Fraction(len(unique & set(second)), len(unique)) if unique else 0)
    shares = [math.prod(sum(r[c] == row[c] for r in first) / len(first) for c in range(3)) for row in set(first)]
    assert records.if_independent == pytest.approx(sum(shares))
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_shuffled_copy_is_seen_for_what_it_is():
    data = pd.DataFrame({"x": range(20), "y": [0, 1] * 10})
    found = pp.audit_generated(data, generated=data.iloc[::-1], columns=["x", "y"])
    assert found.records.repeated == found.records.unique_repeated == 1
    assert found.itemsets.lost == found.itemsets.false == 0
    assert found.itemsets.nfd == 0


def test_an_itemset_the_original_does_not_have_is_infinitely_far():
    one, two = pd.DataFrame({"x": ["a"]}), pd.DataFrame({"x": ["b"]})
    found = pp.audit_generated(one, generated=two, columns=["x"]).itemsets
    assert found.nfd_false == math.inf
    assert found.to_dict()["nfd_false"] == "infinite"
    assert (found.nfd_lost, found.nfd_kept) == (1, None)


def test_nonsense_is_refused():
    data = pd.DataFrame({"x": ["a"]})
    for support in (0, 2, -1):
        with pytest.raises(ParameterError):
            pp.audit_generated(data, generated=data, columns=["x"], support=support)
    with pytest.raises(ColumnError):
        pp.audit_generated(data, generated=data, columns=["y"])
    with pytest.raises(EmptyTableError):
        pp.audit_generated(data, generated=data.iloc[:0], columns=["x"])
