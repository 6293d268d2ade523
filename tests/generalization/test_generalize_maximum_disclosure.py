"""Generalization under maximum disclosure, against every node of small lattices."""

import operator
from fractions import Fraction
from functools import cache
from itertools import product

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.generalization.node_search import balanced_chain
from tests.generalized_people import AGES, CITIES, hierarchy_of
from tests.oracles import class_metrics, disclosure

HIERARCHIES = {"age": hierarchy_of(AGES), "city": hierarchy_of(CITIES)}
COLUMNS = ["age", "city", "disease"]

rows_of_people = st.lists(
    st.tuples(st.sampled_from(list(AGES)), st.sampled_from(list(CITIES)), st.sampled_from("abcd")),
    min_size=1,
    max_size=14,
)
knowledge_and_limit = st.sampled_from([(0, "3/5"), (1, "3/4"), (1, "9/10"), (2, "1"), (3, "99/100"), (0, "1/3")])


def histograms(classes):
    values = [[row[2] for row in members] for members in classes]
    return [sorted(held.count(value) for value in set(held)) for held in values]


@cache
def of_classes(counts, knowledge):
    return disclosure.partition_classes([list(held) for held in counts], knowledge)


def is_safe(rows, node, knowledge, limit):
    table = class_metrics.generalized(rows, [AGES, CITIES], node)
    classes = class_metrics.equivalence_classes(table, [0, 1])
    return disclosure.partition_curve(histograms(classes), knowledge)[-1] < limit


def negated(counts, knowledge):
    """What negations disclose of a class: its most frequent value among all that are not denied."""
    highest, *others = sorted(counts, reverse=True)
    return Fraction(highest, highest + sum(others[knowledge:]))


DISCLOSURES = {
    "implications": of_classes,
    "negations": lambda classes, knowledge: [negated(counts, knowledge) for counts in classes],
}
COMPARISONS = {"below": operator.lt, "at_most": operator.le}


def good_class(attacker, knowledge, within):
    """Whether no person of a class is disclosed beyond the limit, inside the table that the class is in."""

    def is_good(members, table):
        classes = class_metrics.equivalence_classes(table, [0, 1])
        counts = tuple(tuple(held) for held in histograms(classes))
        return within(DISCLOSURES[attacker](counts, knowledge)[classes.index(members)])

    return is_good


@settings(deadline=None, derandomize=True, max_examples=120)
@given(
    rows_of_people,
    knowledge_and_limit,
    st.sampled_from([0.0, 0.2, 0.5]),
    st.sampled_from(list(DISCLOSURES)),
    st.sampled_from(list(COMPARISONS)),
)
def test_the_loss_is_the_least_of_all_nodes_and_the_result_is_safe(rows, asked, share, attacker, kind):
    knowledge, limit = asked[0], Fraction(asked[1])
    frame = pd.DataFrame(rows, columns=COLUMNS)
    required = pp.require("maximum_disclosure", knowledge=knowledge, attacker=attacker, **{kind: limit})
    given_parts = {"hierarchies": HIERARCHIES, "requirements": [required], "max_suppression": share}
    good, alone = [
        good_class(each, knowledge, lambda value: COMPARISONS[kind](value, limit)) for each in (attacker, "negations")
    ]
    expected = class_metrics.least_loss(rows, [AGES, CITIES], good, Fraction(str(share)), alone)
    if expected is None:
        with pytest.raises(InfeasibleError):
            pp.generalize(frame, **given_parts, sensitive="disease")
        return
    plan = pp.generalize(frame, **given_parts, sensitive="disease")
    assert plan.loss == pytest.approx(float(expected), abs=1e-12)
    released = [tuple(row) for row in plan.apply(frame).itertuples(index=False)]
    assert len(released) == len(rows) - plan.suppressed
    left = tuple(tuple(held) for held in histograms(class_metrics.equivalence_classes(released, [0, 1])))
    assert COMPARISONS[kind](max(DISCLOSURES[attacker](left, knowledge)), limit)


def test_one_person_alone_is_suppressed_and_not_everybody_whom_they_expose():
    even = [(f"T{town}", f"d{number}") for town in range(10) for number in range(10)] * 10
    frame = pd.DataFrame([*even, ("T10", "d0")], columns=["town", "disease"])
    safe = pp.require("maximum_disclosure", knowledge=1, below=0.2)
    towns = {"town": pp.tree_hierarchy({"all": [f"T{town}" for town in range(11)]})}
    assert safe.judge(frame, quasi_identifiers=["town"], sensitive="disease").people_affected == 1_001
    found = {"hierarchies": towns, "requirements": [safe], "sensitive": "disease"}
    plan = pp.generalize(frame, **found, max_suppression=0.01)
    assert (dict(plan.levels), plan.suppressed) == ({"town": 0}, 1)
    assert len(plan.apply(frame)) == 1_000
    assert pp.generalize(frame, **found).levels == {"town": 1}  # nothing may be suppressed


@pytest.mark.parametrize(("attacker", "words"), [("implications", "1 of 12 evaluated"), ("negations", "examined")])
def test_with_suppression_nodes_where_too_many_fail_by_themselves_are_not_judged(attacker, words):
    rows = [(age, city, held) for age, held in zip((21, 25, 34, 51), "abcd", strict=True) for city in CITIES] * 2
    required = pp.require("maximum_disclosure", knowledge=2, attacker=attacker, below=0.6)
    given_parts = {"hierarchies": HIERARCHIES, "sensitive": "disease", "max_suppression": 0.2}
    plan = pp.generalize(pd.DataFrame(rows, columns=COLUMNS), requirements=[required], **given_parts)
    assert plan.levels == {"age": 3, "city": 0}
    assert "all 12 combinations of levels were examined" in plan.search
    assert words in plan.search


@settings(deadline=None, derandomize=True, max_examples=40)
@given(rows_of_people, knowledge_and_limit)
def test_the_minimal_nodes_are_all_safe_nodes_without_a_safe_one_below(rows, asked):
    knowledge, limit = asked[0], Fraction(asked[1])
    safe = {node for node in product(range(4), range(3)) if is_safe(rows, node, knowledge, limit)}
    minimal = {
        node for node in safe if not any(low != node and low[0] <= node[0] and low[1] <= node[1] for low in safe)
    }
    required = pp.require("maximum_disclosure", knowledge=knowledge, below=limit)
    given_parts = {"hierarchies": HIERARCHIES, "requirements": [required], "sensitive": "disease"}
    frame = pd.DataFrame(rows, columns=COLUMNS)
    if not safe:
        with pytest.raises(InfeasibleError):
            pp.generalize(frame, **given_parts)
        return
    plan = pp.generalize(frame, **given_parts)
    assert {(node["age"], node["city"]) for node in plan.minimal_nodes} == minimal
    assert (plan.levels["age"], plan.levels["city"]) in minimal


def test_a_chain_leads_from_the_most_specific_node_to_the_most_general_one():
    chain = balanced_chain((4, 3))
    assert chain == [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1), (3, 2)]
    assert balanced_chain((1, 1)) == [(0, 0)]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(rows_of_people, knowledge_and_limit)
def test_a_chain_is_searched_by_halves_for_its_lowest_safe_node(rows, asked):
    knowledge, limit = asked[0], Fraction(asked[1])
    safe = [node for node in balanced_chain((4, 3)) if is_safe(rows, node, knowledge, limit)]
    required = pp.require("maximum_disclosure", knowledge=knowledge, below=limit)
    given_parts = {"hierarchies": HIERARCHIES, "requirements": [required], "sensitive": "disease", "search": "chain"}
    frame = pd.DataFrame(rows, columns=COLUMNS)
    if not safe:
        with pytest.raises(InfeasibleError):
            pp.generalize(frame, **given_parts)
        return
    plan = pp.generalize(frame, **given_parts)
    assert (plan.levels["age"], plan.levels["city"]) == safe[0]
    assert plan.nodes_visited <= 4  # the top and two or three halvings, of twelve nodes
    assert (plan.exact, plan.minimal_nodes) == (False, ())
    assert "binary search over one chain of 6 of 12 generalizations" in plan.search
    best = pp.generalize(frame, **{**given_parts, "search": "best"})
    assert best.loss <= plan.loss
    assert required.judge(plan.apply(frame), quasi_identifiers=["age", "city"], sensitive="disease").passed


def test_a_chain_is_refused_where_passing_is_not_inherited():
    """With suppression a table that passes may merge into one that fails: halving could miss what is there."""
    frame = pd.DataFrame([(21, "Bern", "a"), (25, "Bern", "b"), (51, "Bern", "a")] * 4, columns=COLUMNS)
    disclosed = pp.require("maximum_disclosure", knowledge=0, below=0.9)
    given_parts = {"hierarchies": HIERARCHIES, "sensitive": "disease", "search": "chain"}
    with pytest.raises(ParameterError, match="maximum_disclosure; give max_suppression=0"):
        pp.generalize(frame, **given_parts, requirements=[disclosed], max_suppression=0.5)
    with pytest.raises(ParameterError, match="search must be one of best, chain"):
        pp.generalize(frame, **{**given_parts, "search": "quick"}, requirements=[disclosed])
    large = [pp.require("k_anonymity", at_least=5)]
    sized = pp.generalize(frame, **given_parts, requirements=large, max_suppression=0.4)
    assert (dict(sized.levels), sized.suppressed) == ({"age": 1, "city": 0}, 4)
