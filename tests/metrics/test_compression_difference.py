"""Each table in the other's code table, against covering it set by set."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from tests.metrics.generated_tables import COLUMNS, pairs, tables
from tests.oracles import generated as oracle
from tests.oracles import krimp


def numbered(first, second):
    """Number items as the metric does, because ties are broken by number: column by column, the original's first."""
    columns = range(len(first[0]))
    seen = [[sorted({row[c] for row in rows} - {None}) for rows in (first, second)] for c in columns]
    return [(c, value) for c in columns for value in dict.fromkeys([*seen[c][0], *seen[c][1]])]


def coded(rows, items):
    """The code table that plain Krimp finds among the closed itemsets of a table, and how often each is used."""
    numbers = {item: number for number, item in enumerate(items)}
    listed = [tuple(sorted(numbers[item] for item in oracle.transaction(row))) for row in rows]
    held = {itemset: oracle.support(rows, itemset) for itemset in oracle.itemsets_of(rows, 3)}
    closed = [one for one in held if not any(one < other and held[one] == held[other] for other in held)]
    table, _ = krimp.krimp(listed, [tuple(sorted(numbers[item] for item in itemset)) for itemset in closed])
    usage = {frozenset(items[i] for i in code): used for code, used in krimp.cover(listed, table).items()}
    return [frozenset(items[i] for i in code) for code in table], usage


@settings(max_examples=25, deadline=None, derandomize=True)
@given(pair=pairs)
def test_covering_set_by_set(pair):
    real, made = tables(*pair)
    items = numbered(*pair)
    codes = [coded(rows, items) for rows in pair]
    own, other = (
        [oracle.bits_with_codes(rows, *codes[which], items) for rows, which in zip(pair, order, strict=True)]
        for order in ((0, 1), (1, 0))
    )
    found = pp.compression_difference(made, attributes=COLUMNS, original=real)
    grown = [math.inf if o < 1e-9 < b else b / o - 1 if o > 1e-9 else 0.0 for o, b in zip(own, other, strict=True)]
    assert [found.details["original_grows_by"], found.details["generated_grows_by"]] == pytest.approx(grown, abs=1e-9)
    assert found.value == max(*grown, 0) or found.value == pytest.approx(max(*grown, 0.0), abs=1e-9)


def test_codes_of_one_table_for_the_other_by_hand():
    """Original: (a, 1) three times, (b, 2) three times; generated: all four combinations, three times each."""
    real = pd.DataFrame({"x": ["a", "b"] * 3, "y": [1, 2] * 3})
    made = pd.DataFrame([(x, y) for x in "ab" for y in (1, 2)] * 3, columns=["x", "y"])
    found = pp.compression_difference(made, attributes=["x", "y"], original=real)
    # Original: two codes used 3 times, four items never; each once more: 4, 4, 1, 1, 1, 1 of 12.
    pair_bits, item_bits = math.log2(12 / 4), math.log2(12)
    in_original_codes = 6 * pair_bits + 6 * 2 * item_bits
    # Generated: Krimp keeps single items, each used 6 times: 7 of 28, two bits.
    own = 24 * 2
    assert found.details["generated_grows_by"] == pytest.approx(in_original_codes / own - 1)
    assert found.details["original_grows_by"] == pytest.approx(12 * 2 / (6 * pair_bits) - 1)


def test_equal_content_has_no_difference_in_any_order():
    data = pd.DataFrame({"x": list("aabbc") * 4, "y": [1, 1, 2, 2, 1] * 4})
    found = pp.compression_difference(data.sample(frac=1, random_state=1), attributes=["x", "y"], original=data)
    assert found.value == 0
    assert found.original == found.generated == found.generated_in_original_codes == found.original_in_generated_codes
    assert 0 < found.original <= 1.2


def test_rows_without_items_and_invalid_options_raise():
    nothing = pd.DataFrame({"x": pd.Series([None, None], dtype=object), "y": pd.Series([None, None], dtype=object)})
    with pytest.raises(ParameterError):
        pp.compression_difference(nothing, attributes=["x", "y"], original=nothing)
    for support in (0, 1.5, "many"):
        with pytest.raises(ParameterError):
            pp.require("compression_difference", support=support, at_most=0.1)
