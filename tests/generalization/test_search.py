"""The one lattice search against every node judged row by row: all requirements, losses, limits and ways to search."""

import re
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.generalization import generalize as module_of_generalize
from privacy_plugin.generalization import lattice
from privacy_plugin.generalization import search as searches
from tests.generalized_people import AGES, CITIES, hierarchy_of
from tests.oracles import class_metrics, generalization, losses

SEXES = {"f": ("f", "*"), "m": ("m", "*")}
PATHS = [AGES, CITIES, SEXES]
COLUMNS = ["age", "city", "sex"]
HIERARCHIES = {name: hierarchy_of(paths) for name, paths in zip(COLUMNS, PATHS, strict=True)}
DISEASES = {"a": ("a", "ab", "*"), "b": ("b", "ab", "*"), "c": ("c", "c", "*")}
ROWS = st.lists(st.tuples(*(st.sampled_from(list(paths)) for paths in (*PATHS, DISEASES))), min_size=1, max_size=12)
SHARES = st.sampled_from([0.0, 0.0, 0.1, 0.29, 0.5, 1.0])


def frame_of(rows):
    return pd.DataFrame(rows, columns=[*COLUMNS, "disease"]).astype(object)


def counts_of(members):
    values = [row[-1] for row in members]
    return sorted((values.count(value) for value in set(values)), reverse=True)


def shares_of(members):
    values = [row[-1] for row in members]
    return {value: Fraction(values.count(value), len(values)) for value in set(values)}


def distance_by(distance):
    def distances(members, table):
        ground = (
            distance if distance is not None else class_metrics.ordered_distance(sorted({row[-1] for row in table}))
        )
        return class_metrics.earth_mover(shares_of(members), shares_of(table), ground)

    return distances


def denied(members, facts):
    """The probability of the most frequent value, the next ones denied."""
    counts = counts_of(members)
    return Fraction(counts[0], len(members) - sum(counts[1 : facts + 1]))


def has_more_entropy_than(counts, values):
    people = sum(counts)
    return people**people > values**people * prod(count**count for count in counts)


equal, ordered = distance_by(class_metrics.equal_distance), distance_by(None)
in_tree = distance_by(class_metrics.hierarchical_distance(DISEASES))
GROUND = TableHierarchy({value: path[1:] for value, path in DISEASES.items()})


def always(*_):
    return True


@dataclass(frozen=True)
class Wanted:
    """A requirement, and what it means for a class in a table and for what is left of the table."""

    requirement: pp.Requirement
    is_good: object = always
    is_enough: object = always


def wanted(metric, is_good=always, is_enough=always, **given):
    return Wanted(pp.require(metric, **given), is_good, is_enough)


REQUIREMENTS = {
    "k 2": wanted("k_anonymity", lambda members, _: len(members) >= 2, at_least=2),
    "k above 2": wanted("k_anonymity", lambda members, _: len(members) > 2, above=2),
    "risk": wanted("reidentification_risk", lambda members, _: 3 * len(members) >= 10, at_most=0.3),
    "risk below": wanted("reidentification_risk", lambda members, _: len(members) > 2, below=0.5),
    "distinct": wanted("l_diversity", lambda members, _: len(counts_of(members)) >= 2, at_least=2),
    "entropy": wanted(
        "l_diversity",
        lambda members, _: class_metrics.has_entropy_l(counts_of(members), Fraction(3, 2)),
        variant="entropy",
        at_least=1.5,
    ),
    "entropy above": wanted(
        "l_diversity", lambda members, _: has_more_entropy_than(counts_of(members), 2), variant="entropy", above=2
    ),
    "recursive": wanted(
        "l_diversity",
        lambda members, _: class_metrics.is_recursive_diverse(counts_of(members), Fraction(2), 2),
        variant="recursive",
        c=2,
        at_least=2,
    ),
    "t": wanted("t_closeness", lambda members, table: equal(members, table) <= Fraction(1, 3), at_most="1/3"),
    "t below": wanted("t_closeness", lambda members, table: equal(members, table) < Fraction(1, 3), below="1/3"),
    "t ordered": wanted(
        "t_closeness", lambda members, table: ordered(members, table) <= Fraction(1, 4), ground="ordered", at_most=0.25
    ),
    "t in a tree": wanted(
        "t_closeness", lambda members, table: in_tree(members, table) <= Fraction(1, 4), ground=GROUND, at_most=0.25
    ),
    "average risk": wanted(
        "reidentification_risk",
        is_enough=lambda left: class_metrics.average_risk(left, [0, 1, 2]) <= Fraction(2, 5),
        variant="average",
        at_most=0.4,
    ),
    "average risk below": wanted(
        "reidentification_risk",
        is_enough=lambda left: class_metrics.average_risk(left, [0, 1, 2]) < Fraction(1, 2),
        variant="average",
        below=0.5,
    ),
    "share at risk": wanted(
        "reidentification_risk",
        is_enough=lambda left: class_metrics.share_at_risk(left, [0, 1, 2], Fraction(1, 3)) <= Fraction(1, 2),
        variant="share_at_risk",
        threshold="1/3",
        at_most=0.5,
    ),
    "negations": wanted(
        "maximum_disclosure",
        lambda members, _: denied(members, 1) < Fraction(9, 10),
        knowledge=1,
        attacker="negations",
        below=0.9,
    ),
}

TOGETHER = [["k 2"], ["k above 2", "risk"], ["k 2", "distinct"], ["entropy"], ["k 2", "recursive"], ["k 2", "t"]]
TOGETHER += [["t ordered", "distinct"], ["t in a tree"], ["k 2", "t below"], ["entropy above"], ["risk below"]]
TOGETHER += [["average risk"], ["k 2", "average risk"], ["negations"], ["k 2", "distinct", "negations"]]
TOGETHER += [["k 2", "average risk below"], ["entropy", "average risk"], ["t", "average risk"]]
TOGETHER += [["share at risk"], ["k 2", "share at risk", "average risk"]]


def allowed(rows, names, share):
    asked = [REQUIREMENTS[name] for name in names]
    return generalization.allowed_nodes(
        rows,
        PATHS,
        is_good=lambda members, table: all(one.is_good(members, table) for one in asked),
        is_enough=lambda left: all(one.is_enough(left) for one in asked),
        most_suppressed=Fraction(str(share)),
    )


def searched(rows, names, share, **given):
    return pp.generalize(
        frame_of(rows),
        hierarchies=HIERARCHIES,
        requirements=[REQUIREMENTS[name].requirement for name in names],
        max_suppression=share,
        sensitive="disease",
        **given,
    )


def assert_optimal(rows, names, share, loss):
    """Search, compare with a look at every node, and return the plan."""
    expected = allowed(rows, names, share)
    best = generalization.best_node(rows, PATHS, expected, losses.LOSSES[loss])
    if best is None:
        with pytest.raises(InfeasibleError, match="not even the most general one"):
            searched(rows, names, share, loss=loss)
        return None
    plan = searched(rows, names, share, loss=loss)
    assert tuple(plan.levels.values()) == best
    assert plan.exact
    assert plan.suppressed == len(expected[best])
    assert plan.loss == pytest.approx(float(losses.LOSSES[loss](rows, PATHS, best, expected[best])), abs=1e-12)
    if "minimal nodes are not listed" not in plan.search:
        minimal = {tuple(node.values()) for node in plan.minimal_nodes}
        assert minimal == generalization.minimal(list(expected))
    for node in plan.lattice:
        assert node.feasible == (node.levels in expected)
    return plan


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
@settings(deadline=None, derandomize=True, max_examples=12)
@given(rows=ROWS, share=SHARES, loss=st.sampled_from(list(losses.LOSSES)))
def test_the_best_node_the_suppressed_rows_and_all_minimal_nodes(names, rows, share, loss):
    plan = assert_optimal(rows, names, share, loss)
    if plan is not None:
        assert len(plan.lattice) == 24


COMPILED, PRUNED = (lattice, "_FEW_VISITS", 0), (searches, "PICTURED", 0)
WAYS = [(COMPILED, ["k 2"]), (COMPILED, ["average risk"]), (COMPILED, ["k 2", "average risk"])]
WAYS += [(PRUNED, ["k 2"]), (PRUNED, ["k above 2", "risk"]), (PRUNED, ["k 2", "t"])]


@pytest.mark.parametrize(("way", "names"), WAYS, ids=[f"{way[1]} {names}" for way, names in WAYS])
def test_every_way_leads_to_the_same_node(way, names, monkeypatch):
    monkeypatch.setattr(*way)

    @settings(deadline=None, derandomize=True, max_examples=15)
    @given(rows=ROWS, share=SHARES, loss=st.sampled_from(list(losses.LOSSES)))
    def check(rows, share, loss):
        assert_optimal(rows, names, share, loss)

    check()


def test_the_plan_states_that_minimal_nodes_would_take_too_long_to_list(monkeypatch):
    monkeypatch.setattr(searches, "_FEW_JUDGED", 0)
    rows = [(21, "Bern", "f", "a"), (25, "Bern", "f", "b"), (34, "Biel", "f", "a"), (51, "Basel", "m", "b")]
    plan = searched(rows, ["k 2", "t"], 0.5)
    assert tuple(plan.levels.values()) == generalization.best_node(
        rows, PATHS, allowed(rows, ["k 2", "t"], 0.5), losses.precision
    )
    assert plan.minimal_nodes == ()
    assert "minimal nodes are not listed" in plan.search
    assert {node.feasible for node in plan.lattice} == {True, False, None}


def test_the_ways_are_taken_where_they_should_be(monkeypatch):
    rows = [(age, city, sex, "a") for age in AGES for city in CITIES for sex in SEXES] * 2
    assert searched(rows, ["k 2"], 0.0).search == "all 24 combinations of levels were examined"
    monkeypatch.setattr(searches, "PICTURED", 0)
    plan = searched(rows, ["k above 2"], 0.0)
    assert plan.search.startswith("6 levels and pairs of levels and ")
    assert plan.nodes_visited < 24
    assert searched(rows, ["k above 2"], 0.1).nodes_visited == 24
    assert "judged" not in searched(rows, ["average risk"], 0.1).search
    assert re.fullmatch(
        r"all 24 combinations of levels were examined; \d+ of 24 evaluated by every requirement decide the others",
        searched(rows, ["k 2", "share at risk"], 0.0).search,
    )
    plan = searched(rows, ["share at risk"], 0.1)
    assert plan.search == (
        f"no compiled rule applies; {plan.nodes_visited} of 24 evaluated by every requirement, by rising loss"
    )


def search_or_refusal(rows, names, share):
    try:
        return searched(rows, names, share), ""
    except pp.PrivacyPluginError as problem:
        return None, str(problem)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(rows=ROWS, share=SHARES, names=st.sampled_from(TOGETHER))
def test_a_descent_finds_an_allowed_node_and_says_that_it_may_not_be_the_best(rows, share, names):
    expected = allowed(rows, names, share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "_MOST_COUNTED", 0)
        patch.setattr(searches, "_MOST_PRUNED", 0)
        patch.setattr(
            "privacy_plugin.generalization.generalize._CHEAP_VISITS", 0
        )  # so large a lattice comes without the curve
        plan, refusal = search_or_refusal(rows, names, share)
    if plan is None:
        assert (3, 2, 1) not in expected
        assert ("would begin, fails: " in refusal and "rows" in refusal) or not expected
        return
    assert tuple(plan.levels.values()) in expected
    assert not plan.exact
    assert "there may be a better one" in plan.search
    assert plan.minimal_nodes == plan.lattice == ()


@settings(deadline=None, derandomize=True, max_examples=30)
@given(rows=ROWS, share=st.sampled_from([0.0, 0.1, 0.5]))
def test_a_search_that_would_take_too_long_ends_with_what_it_has(rows, share):
    expected = allowed(rows, ["share at risk"], share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "_MOST_VISITS", 0)
        patch.setattr(searches, "_JUDGED_AT_LEAST", 1)
        plan, refusal = search_or_refusal(rows, ["share at risk"], share)
    if plan is None:
        assert not expected or "would take too long" in refusal
        return
    assert tuple(plan.levels.values()) in expected
    assert plan.exact or "there may be a better one" in plan.search


def test_a_plan_lists_only_so_many_minimal_nodes_and_says_how_many_there_are(monkeypatch):
    rows = [(age, city, sex, "a") for age in AGES for city in CITIES for sex in SEXES]
    everything = searched(rows, ["k above 2"], 0.0).minimal_nodes
    assert len(everything) == 2
    monkeypatch.setattr(module_of_generalize, "MOST_MINIMAL", 1)
    plan = searched(rows, ["k above 2"], 0.0)
    assert plan.minimal_nodes == everything[:1]
    assert plan.search.endswith("; of 2 minimal ones the first 1 are listed")


def test_a_lattice_with_too_many_nodes_is_descended():
    """Fourteen columns of four levels: 268 million nodes."""
    levels = {str(n): (str(n // 2), str(n // 4), "*") for n in range(8)}
    frame = pd.DataFrame({f"c{i}": [str(n >> (i % 3)) for n in range(8)] * 2 for i in range(14)})
    plan = pp.generalize(
        frame,
        hierarchies=dict.fromkeys(frame.columns, TableHierarchy(levels)),
        requirements=[pp.require("k_anonymity", at_least=4)],
    )
    assert not plan.exact
    assert "the lattice has 268,435,456 nodes, too many to evaluate" in plan.search
    assert plan.nodes_visited < 10_000
    released = plan.apply(frame)
    assert pp.k_anonymity(released, quasi_identifiers=list(frame.columns)).value >= 4
    assert plan.levels == {f"c{i}": [1, 0, 0][i % 3] for i in range(14)}


def test_the_order_of_numbers_holds_where_they_are_text():
    """As text 10 comes before 9, and the classes that are nearest to the table would be others."""
    pay = [1, 2, 3, 9, 10, 11, 20, 100]
    frame = pd.DataFrame({"age": [21, 25, 34, 51] * 4, "sex": ["f", "f", "m", "m"] * 4, "pay": pay * 2})
    hierarchies = {name: HIERARCHIES[name] for name in ("age", "sex")}
    near = [pp.require("t_closeness", ground="ordered", at_most=limit) for limit in (0.1, 0.2, 0.25)]
    for requirement in near:
        for limit in (0.0, 0.5):
            plans = [
                pp.generalize(
                    frame.astype({"pay": kind}),
                    hierarchies=hierarchies,
                    requirements=[requirement],
                    max_suppression=limit,
                    sensitive="pay",
                )
                for kind in (int, str)
            ]
            assert plans[0].minimal_nodes == plans[1].minimal_nodes
            assert plans[0].lattice == plans[1].lattice
