import random
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.metrics.t_closeness import t_closeness
from tests.metrics.tables import QUASI_IDENTIFIERS, merge_first_two_classes, rows, table_of
from tests.oracles import class_metrics as oracle

# Li, Li, Venkatasubramanian 2007, tables 3 (salaries of the 3-diverse table) and 5 (close to the whole).
SALARIES_FAR = [
    *[("476**", p) for p in (3, 4, 5)],
    *[("4790*", p) for p in (6, 11, 8)],
    *[("476*", p) for p in (7, 9, 10)],
]
SALARIES_CLOSE = [("4767*", 3), ("4767*", 5), ("4767*", 9), ("4790*", 6), ("4790*", 11), ("4790*", 8)]
SALARIES_CLOSE += [("4760*", 4), ("4760*", 7), ("4760*", 10)]

# The same paper, figure 1.
DISEASES = {
    "respiratory": {
        "infection": ["flu", "pneumonia", "bronchitis"],
        "vascular": ["oedema", "embolism"],
    },
    "digestive": {"stomach": ["ulcer", "cancer", "gastritis"], "colon": ["colitis", "colon cancer"]},
}

TREE = {"chest": ["angina", "cold"], "other": ["flu", "gastritis", ""]}


def t_of(given_rows, ground, counts=None):
    table = FrequencyTable.from_rows(["q", "s"], given_rows, counts=counts)
    return t_closeness(table, quasi_identifiers=["q"], sensitive="s", ground=ground).value


def test_salaries_of_the_paper():
    ordered = oracle.ordered_distance(range(3, 12))
    whole = {n: Fraction(1, 9) for n in range(3, 12)}
    low, spread = ({n: Fraction(1, 3) for n in some} for some in ((3, 4, 5), (6, 8, 11)))
    assert oracle.earth_mover(low, whole, ordered) == Fraction(3, 8)  # the paper's 0.375
    assert oracle.earth_mover(spread, whole, ordered) == Fraction(1, 6)  # the paper's 0.167
    assert t_of(SALARIES_FAR, "ordered") == Fraction(3, 8)
    assert t_of(SALARIES_CLOSE, "ordered") == Fraction(1, 6)  # "0.167-closeness with respect to salary"


def test_diseases_of_the_paper_are_as_far_apart_as_their_common_ancestor():
    hierarchy = pp.tree_hierarchy(DISEASES)
    assert hierarchy.height == 3
    for other, distance in (("bronchitis", Fraction(1, 3)), ("embolism", Fraction(2, 3)), ("cancer", Fraction(1))):
        # a table of two people, each a class: half of the mass moves over the distance
        assert t_of([("a", "flu"), ("b", other)], hierarchy) == distance / 2


def test_equal_distance_is_half_the_total_variation():
    assert t_of([("a", 1), ("a", 1), ("b", 2), ("b", 1)], "equal") == Fraction(1, 4)
    assert t_of([("a", 1), ("a", 2), ("b", 1), ("b", 2)], "equal") == 0


def test_order_is_that_of_numbers_and_a_missing_value_comes_first():
    given_rows = [("a", 9), ("b", 10), ("b", 11)]
    assert t_of(given_rows, "ordered") == oracle.closeness(given_rows, [0], 1, oracle.ordered_distance([9, 10, 11]))
    with_missing = [("a", None), ("b", 1), ("b", 2)]
    assert t_of(with_missing, "ordered") == oracle.closeness(
        with_missing, [0], 1, oracle.ordered_distance([None, 1, 2])
    )


def test_numbers_that_are_text_have_the_order_of_numbers():
    """In a CSV file all is text: alphabetically, 10 would be the neighbour of 1."""
    numbers = [("a", 1), ("a", 2), ("a", 3), ("b", 9), ("b", 10), ("b", 11), ("a", None)]
    texts = [(q, None if number is None else str(number)) for q, number in numbers]
    assert t_of(texts, "ordered") == t_of(numbers, "ordered")
    mixed = [*numbers, ("a", Decimal("2.5")), ("b", "2.25"), ("b", "high"), ("a", False)]
    order = [None, False, 1, 2, "2.25", Decimal("2.5"), 3, 9, 10, 11, "high"]
    assert t_of(mixed, "ordered") == oracle.closeness(mixed, [0], 1, oracle.ordered_distance(order))


def test_an_order_of_words_is_noted():
    for value, noted in (("10", False), ("high", True)):
        table = FrequencyTable.from_rows(["q", "s"], [("a", "9"), ("b", value)])
        found = t_closeness(table, quasi_identifiers=["q"], sensitive="s", ground="ordered")
        assert ("alphabetical order" in found.reason) is noted
        assert not t_closeness(table, quasi_identifiers=["q"], sensitive="s").notes


def test_one_class_and_one_value_are_at_no_distance():
    hierarchy = TableHierarchy({"x": ()})
    for ground in ("equal", "ordered", hierarchy, pp.mask_hierarchy(length=4)):
        assert t_of([("a", "x"), ("b", "x")], ground) == 0


def test_a_hierarchy_without_a_common_top_gets_a_root():
    hierarchy = TableHierarchy({"a": ("1",), "b": ("1",), "c": ("2",)})
    paths = {"a": ("a", "1", "*"), "b": ("b", "1", "*"), "c": ("c", "2", "*")}
    given_rows = [("x", "a"), ("x", "b"), ("y", "c"), ("y", "a")]
    assert t_of(given_rows, hierarchy) == oracle.closeness(given_rows, [0], 1, oracle.hierarchical_distance(paths))


def test_a_root_that_is_written_out_does_not_bring_values_nearer():
    branches = {"lungs": ["flu"], "joints": ["gout"]}
    table = FrequencyTable.from_rows(["q", "s"], [(1, "flu"), (2, "gout")])
    twice = TableHierarchy({"flu": ("lungs", "*", "*"), "gout": ("joints", "*", "*")})
    named = TableHierarchy({"flu": ("lungs", "any", "any"), "gout": ("joints", "any", "any")})
    above = TableHierarchy({"flu": ("lungs", "any", "*"), "gout": ("joints", "any", "*")})
    for ground in (pp.tree_hierarchy(branches), pp.tree_hierarchy({"*": branches}), twice, named, above):
        measured = t_closeness(table, quasi_identifiers=["q"], sensitive="s", ground=ground)
        assert measured.value == Fraction(1, 2)


def test_a_value_outside_the_hierarchy_raises_without_being_quoted():
    with pytest.raises(HierarchyError) as caught:
        t_of([("a", "flu"), ("b", "marker")], pp.tree_hierarchy(DISEASES))
    assert "marker" not in str(caught.value)
    assert "'s'" in str(caught.value)


@pytest.mark.parametrize("ground", ["order", None, 1, {"tree": 1}, ["equal"]])
def test_an_unknown_ground_raises_before_data_is_read(ground):
    with pytest.raises(ParameterError):
        pp.t_closeness(object(), quasi_identifiers=["q"], sensitive="s", ground=ground)
    with pytest.raises(ParameterError):
        pp.require("t_closeness", at_most=0.2, ground=ground)


@pytest.mark.parametrize("index", [[0, 0, 0, 0], [3, 1, 2, 0]])
def test_the_index_is_ignored(index):
    frame = pd.DataFrame({"q": ["a", "a", "b", "b"], "s": [1, 2, 3, 4]}, index=index)
    for ground, expected in (("equal", Fraction(1, 2)), ("ordered", Fraction(1, 3))):
        assert pp.t_closeness(frame, quasi_identifiers=["q"], sensitive="s", ground=ground).value == expected


def test_several_rows_per_person_raise():
    frame = pd.DataFrame({"q": [1, 1], "s": ["a", "b"], "person": [1, 1]})
    with pytest.raises(ParameterError, match="1 people have several values"):
        pp.t_closeness(frame, quasi_identifiers=["q"], sensitive="s", unit="person")


_numbered = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, 1, 2, 5, 7, 11])), min_size=1, max_size=20
)


@settings(deadline=None, derandomize=True)
@given(_numbered)
def test_equal_and_ordered_are_the_least_work_of_the_linear_program(given_rows):
    values = sorted({row[1] for row in given_rows}, key=lambda v: (v is not None, v or 0))
    assert t_of(given_rows, "equal") == oracle.closeness(given_rows, [0], 1, oracle.equal_distance)
    assert t_of(given_rows, "ordered") == oracle.closeness(given_rows, [0], 1, oracle.ordered_distance(values))


@settings(deadline=None, derandomize=True)
@given(rows)
def test_hierarchical_is_the_least_work_of_the_linear_program(given_rows):
    hierarchy = pp.tree_hierarchy(TREE)
    paths = {None: ("", "other", "*"), **{v: (v, g, "*") for g, values in TREE.items() for v in values}}
    found = t_closeness(
        table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", ground=hierarchy
    )
    assert found.value == oracle.closeness(given_rows, [0, 1], 2, oracle.hierarchical_distance(paths))


@settings(deadline=None, derandomize=True)
@given(_numbered, st.sampled_from([10**9, 10**9 + 7, 10**10, 3 * 10**15]))
def test_huge_tables_are_as_exact_as_small_ones(given_rows, times):
    """Products of people and people leave 64 bits; only proportions matter, so the answer is known."""
    counts = [times] * len(given_rows)
    for ground in ("equal", "ordered", pp.mask_hierarchy(length=2)):
        assert t_of(given_rows, ground, counts=counts) == t_of(given_rows, ground)


@settings(deadline=None, derandomize=True)
@given(_numbered, st.lists(st.integers(1, 10**10), min_size=20, max_size=20))
def test_huge_uneven_counts_agree_with_the_linear_program(given_rows, counts):
    distinct = sorted(set(given_rows), key=str)[:6]
    weights = counts[: len(distinct)]
    values = sorted({row[1] for row in distinct}, key=lambda v: (v is not None, v or 0))
    people = sum(weights)
    whole = {v: Fraction(sum(w for (_, s), w in zip(distinct, weights, strict=True) if s == v), people) for v in values}
    work = []
    for name in {q for q, _ in distinct}:
        members = {s: w for (q, s), w in zip(distinct, weights, strict=True) if q == name}
        share = {s: Fraction(w, sum(members.values())) for s, w in members.items()}
        work.append(oracle.earth_mover(share, whole, oracle.ordered_distance(values)))
    assert t_of(distinct, "ordered", counts=weights) == max(work)


@settings(deadline=None, derandomize=True)
@given(rows, st.randoms(use_true_random=False), st.sampled_from(["equal", "ordered"]))
def test_order_of_rows_and_columns_does_not_matter(given_rows, generator: random.Random, ground):
    shuffled = generator.sample(given_rows, len(given_rows))
    ours = t_closeness(table_of(given_rows), quasi_identifiers=["age", "city"], sensitive="disease", ground=ground)
    other = t_closeness(table_of(shuffled), quasi_identifiers=["city", "age"], sensitive="disease", ground=ground)
    assert ours.value == other.value


@settings(deadline=None, derandomize=True)
@given(rows, st.sampled_from(["equal", "ordered", "tree"]))
def test_merging_classes_never_raises_t(given_rows, ground):
    chosen = pp.tree_hierarchy(TREE) if ground == "tree" else ground
    before, after = (
        t_closeness(table_of(some), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", ground=chosen).value
        for some in (given_rows, merge_first_two_classes(given_rows))
    )
    assert after <= before
