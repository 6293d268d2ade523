"""The miners against naive enumeration, and the counts of the literature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.itemsets.itemsets import closed_itemsets, frequent_itemsets
from tests.itemset_data import grouped, itemset_file, read_rows
from tests.oracles import itemsets as oracle

rows_of = st.lists(st.sets(st.integers(0, 6), max_size=6).map(lambda row: tuple(sorted(row))), min_size=1, max_size=14)


def as_dictionary(found):
    listed = found.sets()
    assert len(set(listed)) == len(listed)
    assert all(list(items) == sorted(set(items)) for items in listed)
    return {frozenset(items): held for items, held in zip(listed, found.support.tolist(), strict=True)}


@settings(max_examples=120, deadline=None, derandomize=True)
@given(rows=rows_of, support=st.integers(1, 5))
@pytest.mark.parametrize("merged", [True, False])
def test_naive_enumeration(rows, support, merged):
    data = grouped(rows)
    if not merged:
        data = {
            "items": np.array([item for row in rows for item in row], dtype=np.int64),
            "offsets": np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
            "counts": np.ones(len(rows), dtype=np.int64),
        }
    naive = [frozenset(row) for row in rows]
    ones = [1] * len(rows)
    assert as_dictionary(frequent_itemsets(**data, support=support)) == oracle.frequent(naive, ones, support)
    assert as_dictionary(closed_itemsets(**data, support=support)) == oracle.closed(naive, ones, support)


def test_many_rows_fill_several_words():
    generator = np.random.default_rng(4)
    rows = [tuple(np.flatnonzero(generator.random(6) < 0.6).tolist()) for _ in range(300)]
    data, naive = grouped(rows), [frozenset(row) for row in rows]
    apart = {
        "items": np.array([item for row in rows for item in row]),
        "offsets": np.concatenate([[0], np.cumsum([len(row) for row in rows])]),
        "counts": np.ones(300, dtype=np.int64),
    }
    wanted = oracle.frequent(naive, [1] * 300, 40)
    assert as_dictionary(frequent_itemsets(**data, support=40)) == wanted
    assert as_dictionary(frequent_itemsets(**apart, support=40)) == wanted
    assert as_dictionary(closed_itemsets(**apart, support=40)) == oracle.closed(naive, [1] * 300, 40)


def test_an_item_of_every_row_is_kept():
    data = grouped([(0, 1), (0, 2), (0,)])
    assert as_dictionary(closed_itemsets(**data, support=1))[frozenset({0})] == 3
    assert as_dictionary(frequent_itemsets(**data, support=3)) == {frozenset({0}): 3}


def test_limits_and_invalid_arguments():
    data = grouped([(0, 1, 2)])
    for mine in (frequent_itemsets, closed_itemsets):
        with pytest.raises(ParameterError):
            mine(**data, support=0)
        with pytest.raises(ParameterError):
            mine(**{**data, "offsets": data["offsets"][:-1]}, support=1)
    with pytest.raises(TooLargeError):
        frequent_itemsets(**data, support=1, most=6)
    assert len(frequent_itemsets(**data, support=1, most=7)) == 7
    assert len(closed_itemsets(**data, support=2)) == 0


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("led7", 411), ("letrecog", 9_172), ("nursery", 179), ("pendigits", 684), ("adult", 26_573)],
)
def test_frequent_itemsets_of_the_literature_at_a_tenth(name, wanted):
    rows = read_rows(itemset_file(name))
    support = -(-len(rows) // 10)
    found = frequent_itemsets(**grouped(rows), support=support)
    assert len(found) == wanted
    closed = closed_itemsets(**grouped(rows), support=support)
    assert set(closed.sets()) <= set(found.sets())
