"""Exploration against grouping by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.generalization.exploration import explore

PLACE = pp.tree_hierarchy({"north": ["a", "b"], "south": ["c", "d"]})
AGE = pp.interval_hierarchy(start=0, stop=8, widths=[2, 4])
LEVELS = {
    "place": [lambda v: v, lambda v: "north" if v in "ab" else "south", lambda v: "*"],
    "age": [lambda v: v, lambda v: v // 2, lambda v: v // 4, lambda v: "*"],
}
PEOPLE = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 7), st.sampled_from("xyz")), min_size=1, max_size=25
)


def failing_rows(frame, node, family, limit):
    recoded = frame.assign(**{name: frame[name].map(LEVELS[name][level]) for name, level in node.items()})
    groups = recoded.groupby(list(node), sort=False)["illness"]
    if family.startswith("class size"):
        fails = groups.transform("size") < int(limit.split()[-1])
    elif family.startswith("values"):
        fails = groups.transform("nunique") < int(limit.split()[-1])
    else:
        most = groups.transform(lambda values: values.value_counts().iloc[0] / len(values))
        fails = most >= int(limit.split()[-1].rstrip("%")) / 100 - 1e-12
    return int(fails.sum())


@settings(max_examples=15, deadline=None)
@given(PEOPLE)
def test_every_node_and_limit_equals_grouping_by_hand(people):
    frame = pd.DataFrame(people, columns=["place", "age", "illness"])
    found = explore(frame, hierarchies={"place": PLACE, "age": AGE}, sensitive=["illness"])
    assert found.complete
    assert found.nodes == 12
    assert {tuple(node) for node in found.levels.tolist()} == set(itertools.product(range(3), range(4)))
    assert {limit.family for limit in found.limits} == {
        "class size (k)",
        "values of illness (l)",
        "disclosure of illness",
    }
    for limit in found.limits:
        for node, failing in zip(found.levels.tolist(), limit.failing, strict=True):
            levels = dict(zip(found.columns, node, strict=True))
            assert failing == failing_rows(frame, levels, limit.family, limit.limit), (limit.limit, levels)


def test_a_large_lattice_keeps_the_frontier_of_every_limit():
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"place": draw.choice(list("abcd"), 300), "age": draw.integers(0, 8, 300)})
    hierarchies = {"place": PLACE, "age": AGE}
    whole, part = explore(frame, hierarchies=hierarchies), explore(frame, hierarchies=hierarchies, shown=4)
    assert not part.complete
    for everything, kept in zip(whole.limits, part.limits, strict=True):
        for most in (0, 10, 60):
            least = [min(f.losses[limit.failing <= most]) for f, limit in ((whole, everything), (part, kept))]
            assert least[0] == pytest.approx(least[1])


def test_the_policy_is_one_of_the_limits():
    frame = pd.DataFrame({"place": list("aabbccdd"), "illness": list("xyxyxyxx")})
    asked = [
        pp.require("k_anonymity", at_least=3),
        pp.require("l_diversity", variant="distinct", at_least=2, sensitive="illness"),
    ]
    found = explore(frame, hierarchies={"place": PLACE}, requirements=asked, sensitive=["illness"])
    assert found.limits[0].family == "the policy"
    assert found.limits[0].failing.tolist() == [8, 0, 0]
    assert set(found.limits[0].line) == {"k_anonymity", "l_diversity"}
