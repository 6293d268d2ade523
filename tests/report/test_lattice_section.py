"""The lattice and the curve of loss against k, as the report draws them."""

from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.generalization.plan import LatticeNode, Plan, TradeOff
from privacy_plugin.report.changes import search_figures

K2 = pp.require("k_anonymity", at_least=2)
FRAME = pd.DataFrame({"age": ["21", "25", "34", "36"], 'zip "<b>"': ["8001", "8002", "8001", "secret-zip"]})
HIERARCHIES = {
    "age": TableHierarchy({age: (age[0] + "*", "*") for age in FRAME["age"]}),
    'zip "<b>"': TableHierarchy(dict.fromkeys(FRAME['zip "<b>"'], ("*",))),
}


def plan_of(**given) -> Plan:
    return pp.generalize(FRAME, **{"hierarchies": HIERARCHIES, "requirements": [K2], **given})


def drawn(plan: Plan) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(figure).find("svg") for figure in search_figures(plan)]


def test_every_node_is_drawn_as_what_it_is():
    plan = plan_of()
    lattice, curve = drawn(plan)
    assert lattice.get("aria-label") == (
        "Lattice of 6 combinations of levels: 2 are known to meet the policy, 1 of them minimal; "
        'chosen: age 1, zip "<b>" 1, loss 0.75.'
    )
    allowed = [mark.find("title").text for mark in lattice.iter("circle") if mark.find("title") is not None]
    refused = [mark.find("title").text for mark in lattice.iter("rect")]
    assert allowed == [
        'age 1, zip "<b>" 1: meets the policy, loss 0.75',
        'age 2, zip "<b>" 1: meets the policy, loss 1',
    ]
    assert len(refused) == 4
    assert 'age 0, zip "<b>" 0: does not meet the policy, loss 1' in refused  # every row would have to be suppressed
    assert 'age 2, zip "<b>" 0: does not meet the policy, loss 0.75' in refused  # two of four, the others half
    assert len(list(lattice.iter("line"))) == 7  # 4 steps of age, 3 of zip
    assert [mark.get("stroke-width") for mark in lattice.iter("circle") if mark.get("fill") == "none"] == ["2.5"]
    assert curve.get("aria-label").startswith(
        "Line chart: least loss for every k. k 2: 0.75; k 3: 1; k 5: not possible"
    )


def test_the_paler_a_node_the_more_is_lost():
    lattice, _ = drawn(plan_of())
    shades = {}
    for mark in (*lattice.iter("circle"), *lattice.iter("rect")):
        title = mark.find("title")
        if title is not None:
            shades[float(title.text.rpartition(" ")[2])] = float(mark.get("fill-opacity"))
    ordered = [shades[loss] for loss in sorted(shades)]
    assert ordered == sorted(ordered, reverse=True)
    assert (ordered[0], ordered[-1]) == (1.0, 0.2)


def test_unchecked_nodes_and_minimal_nodes_are_marked():
    nodes = tuple(LatticeNode(levels=(a, b), loss=a + b, feasible=[None, True][b]) for a in range(3) for b in range(2))
    minimal = ({"age": 0, 'zip "<b>"': 1},)
    plan = replace(plan_of(), lattice=nodes, minimal_nodes=minimal, trade_off=())
    (lattice,) = drawn(plan)
    assert sum(mark.get("stroke-dasharray") == "2 2" for mark in lattice.iter("circle")) == 3
    rings = [mark.get("stroke-width") for mark in lattice.iter("circle") if mark.get("fill") == "none"]
    assert sorted(rings, key=str) == ["2.5", None]
    assert "Dashed: not checked." in search_figures(plan)[0]
    assert "Dashed" not in search_figures(plan_of())[0]


@pytest.mark.parametrize("shape", [(1,), (200,), (2, 100), (14, 14), (3, 4, 4, 4), (2,) * 7])
def test_the_lattice_stays_inside_its_box_and_keeps_its_marks_apart(shape):
    nodes = tuple(LatticeNode(levels=node, loss=float(sum(node)), feasible=True) for node in np.ndindex(shape))
    levels = {f"c{i}": n - 1 for i, n in enumerate(shape)}
    hierarchies = {name: TableHierarchy({"v": ("*",) * level}) for name, level in levels.items()}
    plan = replace(plan_of(), levels=levels, hierarchies=hierarchies, lattice=nodes, minimal_nodes=(), trade_off=())
    (lattice,) = drawn(plan)
    _, _, width, height = (float(number) for number in lattice.get("viewBox").split())
    places = []
    for mark in lattice.iter("circle"):
        x, y, radius = (float(mark.get(name)) for name in ("cx", "cy", "r"))
        assert radius <= x <= width - radius
        assert radius <= y <= height - radius
        places += [(x, y, radius)] if mark.find("title") is not None else []
    assert len({(x, y) for x, y, _ in places}) == len(nodes)
    by_row = {}
    for x, y, radius in places:
        by_row.setdefault(y, []).append((x, radius))
    for row in by_row.values():
        row.sort()
        assert all(b[0] - a[0] >= 2 * a[1] - 0.2 for a, b in pairwise(row))


@pytest.mark.parametrize("ks", [(2, 5), (1, 2, 3, 5, 10, 20, 50, 100), (2, 100_000)])
def test_the_curve_stays_inside_its_box(ks):
    points = tuple(TradeOff(k=k, loss=None if k == 100 else 0.1 * n) for n, k in enumerate(ks, start=1))
    _, curve = drawn(replace(plan_of(), trade_off=points))
    _, _, width, height = (float(number) for number in curve.get("viewBox").split())
    for mark in curve.iter("circle"):
        assert 0 < float(mark.get("cx")) < width
        assert 0 < float(mark.get("cy")) < height
    heights = [float(mark.get("cy")) for mark in curve.iter("circle")]
    assert heights == sorted(heights, reverse=True)  # more loss is higher up
    assert len(heights) == sum(point.loss is not None for point in points)
    assert "k = 2" in [text.text for text in curve.iter("text")]


def test_a_curve_of_one_point_or_none_is_not_drawn():
    plan = plan_of()
    assert len(search_figures(replace(plan, trade_off=()))) == 1
    assert len(search_figures(replace(plan, trade_off=(TradeOff(k=2, loss=0.1), TradeOff(k=3, loss=None))))) == 1
    assert search_figures(replace(plan, trade_off=(), lattice=())) == []


def test_no_value_of_the_table_is_drawn_and_names_cannot_break_out():
    for figure in search_figures(plan_of()):
        assert "secret-zip" not in figure
        assert "<b>" not in figure


def described(plan) -> dict[str, str]:
    return dict(plan.describe().rows)


def test_a_loss_is_described_on_its_own_scale():
    assert described(plan_of())["loss (precision)"] == "0.75 on a scale from 0 (nothing lost) to 1 (nothing left)"
    classes = described(plan_of(loss="average_class_size"))["loss (average_class_size)"]
    assert classes.startswith("2 (rows for every published class)")
    sizes = described(plan_of(loss="discernibility"))["loss (discernibility)"]
    assert sizes.startswith("8 (the sizes of all rows' classes added up")


def test_a_plan_describes_how_certain_its_search_is():
    plan = plan_of()
    all_examined = "all 6 combinations of levels were examined; no plan that meets the policy loses less"
    assert described(plan)["searched"] == all_examined
    assert described(replace(plan, exact=False))["searched"].endswith("is not known to be the best")
    assert described(replace(plan, search="", nodes_visited=7))["searched"] == "7 combinations of levels"
