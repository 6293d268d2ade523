"""What requirements ask of every class, and the claims that pruning rests on."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin import generalization
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.generalization.class_conditions import class_conditions, least_size
from privacy_plugin.generalization.walk.counts import failing_counts, suppressed_counts
from privacy_plugin.metrics import registry
from privacy_plugin.metrics.class_rules import (
    ClassCondition,
    ClassRule,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    Presence,
    RecursiveDiversity,
)
from privacy_plugin.requirements.requirement import with_hierarchies


@pytest.mark.parametrize(
    ("metric", "given", "size"),
    [
        ("k_anonymity", {"at_least": 5}, 5),
        ("k_anonymity", {"at_least": 4.2}, 5),
        ("k_anonymity", {"above": 5}, 6),
        ("k_anonymity", {"above": 4.2}, 5),
        ("reidentification_risk", {"at_most": 0.2}, 5),
        ("reidentification_risk", {"at_most": 0.09}, 12),
        ("reidentification_risk", {"at_most": "1/11"}, 11),
        ("reidentification_risk", {"below": 0.2}, 6),
        ("reidentification_risk", {"below": 0.19}, 6),
        ("reidentification_risk", {"at_most": 1}, 1),
        ("reidentification_risk", {"at_most": 0}, 2**53),
        ("reidentification_risk", {"variant": "average", "at_most": 0.2}, None),
        ("reidentification_risk", {"variant": "share_at_risk", "threshold": 0.2, "at_most": 0}, None),
        ("l_diversity", {"at_least": 2}, None),
    ],
)
def test_what_asks_for_class_sizes(metric, given, size):
    assert least_size(pp.require(metric, **given)) == size


DISEASES = ("cold", "flu", "gout")


def asked(*requirements, suppression=True, rows=100):
    return class_conditions(
        requirements, dictionaries={"disease": DISEASES}, sensitive="disease", suppression=suppression, rows=rows
    )


TREE = TableHierarchy({"cold": ("airways", "*"), "flu": ("airways", "*"), "gout": ("joints", "*")})
RULES = [
    ("l_diversity", {"at_least": 1.5}, DistinctDiversity(l=2), True),
    ("l_diversity", {"above": 2}, DistinctDiversity(l=3), True),
    ("l_diversity", {"variant": "entropy", "at_least": 1.5}, EntropyDiversity(l=Fraction(3, 2)), True),
    ("l_diversity", {"variant": "entropy", "above": 2}, EntropyDiversity(l=Fraction(2)), False),
    ("l_diversity", {"variant": "recursive", "c": 0.5, "at_least": 2}, RecursiveDiversity(c=Fraction(1, 2), l=2), True),
    ("t_closeness", {"at_most": 0.2}, Closeness(t=Fraction(1, 5)), False),
    ("t_closeness", {"ground": "ordered", "below": 0.2}, Closeness(t=Fraction(1, 5), ground="ordered"), False),
    ("delta_presence", {"between": (0, 0.5)}, Presence(low=Fraction(0), high=Fraction(1, 2)), True),
    ("maximum_disclosure", {"knowledge": 1, "below": 0.6}, RecursiveDiversity(c=Fraction(3, 2), l=3), False),
    ("maximum_disclosure", {"knowledge": 0, "below": 1}, DistinctDiversity(l=2), False),
    (
        "maximum_disclosure",
        {"knowledge": 1, "attacker": "negations", "below": 0.6},
        RecursiveDiversity(c=Fraction(3, 2), l=3),
        True,
    ),
    (
        "maximum_disclosure",
        {"knowledge": 1, "attacker": "negations", "at_most": 0.6},
        RecursiveDiversity(c=Fraction(3, 2) + Fraction(1, 202), l=3),
        True,
    ),
]


@pytest.mark.parametrize(("metric", "given", "rule", "local"), RULES)
def test_rules_and_whether_they_decide_with_suppression(metric, given, rule: ClassRule, local):
    found = asked(pp.require(metric, **given))
    assert found.rules == (rule,)
    assert found.decisive is local
    assert found.k == 1


def test_closeness_decides_where_nothing_is_suppressed():
    assert asked(pp.require("t_closeness", at_most=0.2), suppression=False).decisive
    assert not asked(pp.require("t_closeness", below=0.2), suppression=False).decisive


def test_the_root_of_a_ground_adds_no_distance():
    twice = TableHierarchy({value: (*TREE.path(value), "*") for value in TREE.values})  # a root written out
    for ground in (TREE, twice):
        (rule,) = asked(pp.require("t_closeness", ground=ground, at_most=0.2)).rules
        assert rule.ground.tolist() == [[0, 1, 2], [0, 0, 1]]
    unrooted = TableHierarchy({name: (TREE.generalize(name, 1),) for name in DISEASES})
    (rule,) = asked(pp.require("t_closeness", ground=unrooted, at_most=0.2)).rules
    assert rule.ground.tolist() == [[0, 1, 2], [0, 0, 1]]


def test_a_lower_bound_of_presence_forbids_suppression():
    assert asked(pp.require("delta_presence", between=(0, 0.5))).repairable
    found = asked(pp.require("delta_presence", between=(0.1, 0.5)), pp.require("k_anonymity", at_least=3))
    assert (found.repairable, found.needs_population, found.k) == (False, True, 3)


@given(st.integers(1, 30), st.integers(0, 30), st.fractions(0, 1, max_denominator=40).filter(lambda bound: bound < 1))
def test_a_class_that_just_reaches_a_disclosure_meets_at_most_and_not_below(most, rest, bound):
    """The most frequent value has probability most / (most + rest), the rest having values that are not denied."""
    for kind, holds in (("below", most < bound * (most + rest)), ("at_most", most <= bound * (most + rest))):
        (rule,) = asked(pp.require("maximum_disclosure", knowledge=0, **{kind: bound}), rows=most + rest).rules
        assert (most < rule.c * rest) == holds


def test_what_no_walk_knows_is_left_to_judging():
    disclosed = pp.require("maximum_disclosure", knowledge=1, below=0.9)
    found = asked(disclosed, pp.require("k_anonymity", at_least=3), suppression=False)
    assert (found.k, found.rules, found.decisive) == (3, (), False)
    for nothing in ({"at_most": 1}, {"below": 1 - Fraction(1, 2**62)}):
        assert asked(pp.require("maximum_disclosure", knowledge=1, **nothing)).rules == ()
    tiny = pp.require("t_closeness", at_most=f"1/{2**63}")
    assert asked(tiny).rules == ()  # compared exactly only up to 62 bits
    assert asked(pp.require("t_closeness", at_most=0.2), rows=2**31).rules == ()
    assert asked(pp.require("t_closeness", at_most=0.2), rows=2**30).rules != ()
    average = pp.require("reidentification_risk", variant="average", at_most=0.1)
    assert asked(average).averages == (average.limit,)
    assert asked(average).decisive


def test_a_metric_that_the_search_has_never_seen_is_counted_by_its_declared_rule(monkeypatch):
    """A search asks the declaration: the new metric decides all nodes by one count, and none is measured by itself."""
    monkeypatch.setattr(registry, "_METRICS", dict(registry.metrics()))

    def different_values(table, *, quasi_identifiers, sensitive):
        measured.append(table)
        return registry.find_metric("l_diversity").measure(
            table, quasi_identifiers=quasi_identifiers, sensitive=sensitive
        )

    def class_rule(limit):
        return ClassCondition(rule=DistinctDiversity(l=limit.least_whole, column=limit.column))

    words = {"title": "different values", "attacker": "a", "remedy": "r", "paper": "Doe 2026"}
    declare = registry.metric(**words, safer="higher", monotone=True, smallest=1, class_rule=class_rule)
    declare(different_values)
    measured = []
    rows = [(age, city, illness) for age, city in ((30, "a"), (31, "a"), (40, "b"), (41, "b")) for illness in "xy"]
    rows += [(50, "c", "x")] * 2
    frame = pd.DataFrame(rows, columns=["age", "city", "illness"])
    plan = pp.generalize(
        frame,
        hierarchies={
            "age": pp.interval_hierarchy(start=0, stop=100, widths=[10, 50]),
            "city": pp.mask_hierarchy(length=1),
        },
        requirements=[pp.require("different_values", at_least=2)],
        sensitive="illness",
        max_suppression=0.2,
    )
    assert dict(plan.levels) == {"age": 0, "city": 0}
    assert plan.suppressed == 2
    assert plan.search.startswith("all ")
    assert "evaluated" not in plan.search
    assert len(measured) <= 2  # the chosen node, and what remains of it


def test_no_code_of_the_search_compares_with_the_name_of_a_metric():
    room = Path(generalization.__file__).parent
    for name in registry.metrics():
        for path in room.rglob("*.py"):
            lines = [line for line in path.read_text(encoding="utf-8").splitlines() if f'"{name}"' in line]
            assert all("require(" in line for line in lines), f"{path.name} knows {name}"


def test_a_metric_that_asks_for_hierarchies_gets_them_once():
    mine, theirs = {"age": pp.mask_hierarchy(length=2)}, {"age": pp.mask_hierarchy(length=3)}
    presence = pp.require("delta_presence", between=(0, 1))
    assert with_hierarchies(presence, mine).options["hierarchies"] == mine
    assert with_hierarchies(with_hierarchies(presence, theirs), mine).options["hierarchies"] == theirs
    assert "hierarchies" not in with_hierarchies(pp.require("k_anonymity", at_least=2), mine).options


@st.composite
def tables(draw):
    maps = [np.array([range(4), [0, 0, 1, 1], [0] * 4]), np.array([range(3), [0, 0, 1]])]
    rows = draw(st.integers(1, 12))
    codes = np.array([[draw(st.integers(0, m.shape[1] - 1)) for m in maps] for _ in range(rows)])
    sensitive = np.array(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    return codes, np.ones(rows, dtype=np.int64), maps, sensitive


@settings(deadline=None, derandomize=True, max_examples=50)
@given(tables(), st.integers(1, 5))
def test_rows_in_small_or_uniform_classes_never_become_more_on_the_way_up(table, least):
    """The claim that pruning with suppression rests on: a row that fails at a node fails at every node below."""
    codes, counts, maps, sensitive = table
    distinct = [DistinctDiversity(l=min(least, 3))]
    for failing in (
        suppressed_counts(codes, counts, maps, k=least),
        failing_counts(codes, counts, maps, k=least, rules=distinct, sensitive=sensitive, sensitive_sizes=[3]),
    ):
        for axis in range(failing.ndim):
            assert (np.diff(failing, axis=axis) <= 0).all()


@settings(deadline=None, derandomize=True, max_examples=50)
@given(
    tables(),
    st.sampled_from(
        [
            EntropyDiversity(l=Fraction(3, 2)),
            RecursiveDiversity(c=Fraction(2), l=2),
            Closeness(t=Fraction(1, 3)),
            Closeness(t=Fraction(1, 4), ground="ordered"),
        ]
    ),
)
def test_without_suppression_what_passes_passes_on_the_way_up(table, rule):
    codes, counts, maps, sensitive = table
    failing = failing_counts(codes, counts, maps, rules=[rule], sensitive=sensitive, sensitive_sizes=[3])
    for axis in range(failing.ndim):
        assert (np.diff((failing == 0).astype(int), axis=axis) >= 0).all()


def test_with_suppression_entropy_may_fail_for_more_rows_on_the_way_up():
    """Why nothing is pruned there: (a, b) passes by itself, and fails once five times a joins it."""
    codes, sensitive = np.array([[0]] * 2 + [[1]] * 5), np.array([0, 1, 0, 0, 0, 0, 0])
    failing = failing_counts(
        codes,
        np.ones(7, dtype=np.int64),
        [np.array([[0, 1], [0, 0]])],
        rules=[EntropyDiversity(l=Fraction(9, 5))],
        sensitive=sensitive,
    )
    assert failing.tolist() == [5, 7]
