import math
import random
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.l_diversity import l_diversity
from tests.metrics.tables import COLUMNS, QUASI_IDENTIFIERS, merge_first_two_classes, rows, table_of
from tests.oracles import class_metrics as oracle

# Machanavajjhala et al. 2006, figure 2 (4-anonymous, but the third class gives its disease away) and figure 3.
FOUR_ANONYMOUS = [
    *[("130**", "<30", d) for d in ("heart", "heart", "viral", "viral")],
    *[("1485*", ">=40", d) for d in ("cancer", "heart", "viral", "viral")],
    *[("130**", "3*", "cancer")] * 4,
]
THREE_DIVERSE = [
    *[("1305*", "<=40", d) for d in ("heart", "viral", "cancer", "cancer")],
    *[("1485*", ">40", d) for d in ("cancer", "heart", "viral", "viral")],
    *[("1306*", "<=40", d) for d in ("heart", "viral", "cancer", "cancer")],
]


def l_of(given_rows, variant="distinct", c=None, columns=("zip", "age", "disease")):
    table = FrequencyTable.from_rows(columns, given_rows)
    return l_diversity(table, quasi_identifiers=columns[:-1], sensitive=columns[-1], variant=variant, c=c)


def of_counts(counts, variant, c=None):
    """One class whose sensitive values occur so often."""
    table = FrequencyTable.from_rows(["q", "s"], [("a", n) for n in range(len(counts))], counts=counts)
    return l_diversity(table, quasi_identifiers=["q"], sensitive="s", variant=variant, c=c)


def test_the_tables_of_the_paper():
    assert l_of(FOUR_ANONYMOUS).value == 1
    assert l_of(FOUR_ANONYMOUS, "entropy").value == 1
    assert l_of(THREE_DIVERSE).value == 3
    found = l_of(THREE_DIVERSE, "entropy")
    assert found.lowest <= 2 * math.sqrt(2) <= found.highest
    assert found.error < 1e-12
    assert (found.rows, found.classes, found.exact) == (12, 3, False)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1, 1, 1, 1], 4),
        ([1, 1, 1], 3),
        ([10**10] * 7, 7),
        ([4, 1, 1, 1, 1], 4),
        ([4 * 10**9, 10**9, 10**9, 10**9, 10**9], 4),
        ([5], 1),
        ([2, 2, 2, 2, 2], 5),
    ],
)
def test_entropy_is_exact_where_it_is_a_whole_number(counts, expected):
    found = of_counts(counts, "entropy")
    assert found.value == expected
    assert isinstance(found.value, int)
    assert found.exact
    assert pp.require("l_diversity", variant="entropy", at_least=expected).limit.holds(found)
    assert not pp.require("l_diversity", variant="entropy", above=expected).limit.holds(found)


def test_entropy_that_floating_point_rounds_up_to_a_whole_number_does_not_pass():
    counts = [10**9, 10**9, 10**9, 10**9 - 1]
    assert not oracle.has_entropy_l([1000, 1000, 1000, 999], Fraction(4))
    found = of_counts(counts, "entropy")
    assert not pp.require("l_diversity", variant="entropy", at_least=4).limit.holds(found)
    assert found.lowest < 4 <= found.highest


def test_a_class_just_below_a_whole_number_hides_behind_one_that_has_it():
    given_rows = [("a", n) for n in range(4)] + [("b", n) for n in range(4)]
    table = FrequencyTable.from_rows(["q", "s"], given_rows, counts=[1, 1, 1, 1, *[10**9] * 3, 10**9 - 1])
    found = l_diversity(table, quasi_identifiers=["q"], sensitive="s", variant="entropy")
    assert not pp.require("l_diversity", variant="entropy", at_least=4).limit.holds(found)


@pytest.mark.parametrize(
    ("counts", "c", "expected"),
    [
        ([3, 2, 1], 3, 2),  # 3 < 3 * 3, but not 3 < 3 * 1: a tie is not "less than"
        ([3, 2, 1], "31/10", 3),
        ([3, 3, 3], 1, 2),
        ([3, 3, 3], 2, 3),
        ([3, 3, 3], 0.5, 1),
        ([3, 3, 3], "1/3", 0),  # 3 < 9 / 3 is false: not even one
        ([5], 1, 0),
        ([5], 1.001, 1),
        ([1] * 10, 0.1, 0),  # 1 < 10 * 0.1 is false for one tenth, and true for the nearest binary fraction
    ],
)
def test_recursive_counts_ties_as_failures(counts, c, expected):
    fraction = Fraction(str(c))
    assert max((n for n in (1, 2, 3) if oracle.is_recursive_diverse(counts, fraction, n)), default=0) == expected
    assert of_counts(counts, "recursive", c).value == expected


def test_recursive_stays_exact_with_huge_counts():
    assert of_counts([3 * 10**17, 2 * 10**17, 10**17], "recursive", 3).value == 2
    assert of_counts([3 * 10**17, 2 * 10**17, 10**17 + 1], "recursive", 3).value == 3


def test_a_missing_sensitive_value_is_a_value():
    frame = pd.DataFrame({"q": [1, 1, 1], "s": ["a", None, float("nan")]}, dtype=object)
    assert pp.l_diversity(frame, quasi_identifiers=["q"], sensitive="s").value == 2


@pytest.mark.parametrize("counts", [[5, 0], [5, -1], [5, 1.5], [5], [5, 1, 1], [True, True]])
def test_an_absent_value_does_not_count_as_diversity(counts):
    with pytest.raises(ParameterError, match="count"):
        FrequencyTable.from_rows(["q", "s"], [("a", 1), ("a", 2)], counts=counts)


@pytest.mark.parametrize("index", [[0, 0, 0, 0], [3, 1, 2, 0], list("dcba")])
def test_the_index_is_ignored(index):
    frame = pd.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "z"]}, index=index)
    for variant in ("distinct", "entropy"):
        assert pp.l_diversity(frame, quasi_identifiers=["q"], sensitive="s", variant=variant).value == 2


@pytest.mark.parametrize(
    "given",
    [
        {"variant": "recursiv"},
        {"variant": "recursive"},
        {"variant": "distinct", "c": 2},
        {"variant": "recursive", "c": 0},
        {"variant": "recursive", "c": -1},
        {"variant": "recursive", "c": True},
        {"variant": "recursive", "c": "2"},
        {"variant": "recursive", "c": float("nan")},
        {"variant": ["distinct"]},
    ],
)
def test_invalid_options_raise_before_data_is_read(given):
    with pytest.raises(ParameterError):
        pp.l_diversity(object(), quasi_identifiers=["q"], sensitive="s", **given)
    with pytest.raises(ParameterError):
        pp.require("l_diversity", at_least=2, **given)


def test_the_sensitive_column_is_one_column_and_not_a_quasi_identifier():
    frame = pd.DataFrame({"q": [1, 1], "s": ["a", "b"]})
    for sensitive in ("q", ["s"], None, "t", 1):
        with pytest.raises(ColumnError):
            pp.l_diversity(frame, quasi_identifiers=["q"], sensitive=sensitive)


def test_several_rows_per_person_are_covered():
    frame = pd.DataFrame({"q": [1, 1], "s": ["a", "b"], "person": [1, 1]})
    assert pp.l_diversity(frame, quasi_identifiers=["q"], sensitive="s", unit="person").value == 1
    table = pp.frequency_table(frame, ["q", "s"], unit="person")
    with pytest.raises(ParameterError, match="one row per person"):
        l_diversity(table, quasi_identifiers=["q"], sensitive="s")


@settings(deadline=None, derandomize=True)
@given(rows)
def test_distinct_is_the_definition(given_rows):
    found = l_diversity(table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease")
    assert found.value == oracle.distinct_l(given_rows, [0, 1], 2)
    frame = pd.DataFrame(given_rows, columns=COLUMNS)
    assert pp.l_diversity(frame, quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease").value == found.value


@settings(deadline=None, derandomize=True)
@given(rows)
def test_entropy_brackets_the_truth_and_is_decided_right_at_whole_numbers(given_rows):
    found = l_diversity(
        table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", variant="entropy"
    )
    assert oracle.is_entropy_diverse(given_rows, [0, 1], 2, Fraction(found.lowest))
    assert not oracle.is_entropy_diverse(given_rows, [0, 1], 2, Fraction(found.highest) + Fraction(1, 10**9))
    for whole in range(1, 6):
        held = pp.require("l_diversity", variant="entropy", at_least=whole).limit.holds(found)
        assert held == oracle.is_entropy_diverse(given_rows, [0, 1], 2, Fraction(whole))


@settings(deadline=None, derandomize=True)
@given(rows, st.sampled_from(["1/3", "1/2", 1, "3/2", 2, 3]))
def test_recursive_is_the_definition(given_rows, c):
    found = l_diversity(
        table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", variant="recursive", c=c
    )
    assert found.value == oracle.recursive_l(given_rows, [0, 1], 2, Fraction(str(c)))


@settings(deadline=None, derandomize=True)
@given(rows, st.sampled_from([("distinct", None), ("entropy", None), ("recursive", 2)]), st.integers(2, 4))
def test_only_proportions_matter(given_rows, variant, times):
    name, c = variant
    once, often = (
        l_diversity(
            table_of(given_rows * n), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", variant=name, c=c
        )
        for n in (1, times)
    )
    assert often.value == pytest.approx(once.value, abs=1e-12)


@settings(deadline=None, derandomize=True)
@given(rows, st.randoms(use_true_random=False), st.sampled_from([("distinct", None), ("recursive", 2)]))
def test_order_of_rows_and_columns_does_not_matter(given_rows, generator: random.Random, variant):
    name, c = variant
    shuffled = generator.sample(given_rows, len(given_rows))
    ours = l_diversity(table_of(given_rows), quasi_identifiers=["age", "city"], sensitive="disease", variant=name, c=c)
    other = l_diversity(table_of(shuffled), quasi_identifiers=["city", "age"], sensitive="disease", variant=name, c=c)
    assert ours.value == other.value


@settings(deadline=None, derandomize=True)
@given(rows, st.sampled_from([("distinct", None), ("entropy", None), ("recursive", 2), ("recursive", "1/2")]))
def test_merging_classes_never_lowers_l(given_rows, variant):
    name, c = variant
    before, after = (
        l_diversity(table_of(some), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", variant=name, c=c)
        for some in (given_rows, merge_first_two_classes(given_rows))
    )
    assert after.highest >= before.lowest
