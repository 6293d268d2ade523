"""The curve of loss against k that a report computes: equal to the search, and only where it is affordable."""

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.generalization.generalize import KS, loss_against_k
from privacy_plugin.generalization.trade_off import affordable_trade_off, asked_size

FRAME = pd.DataFrame({"zip": [f"80{n % 7}{n % 3}" for n in range(300)], "ill": [str(n % 4) for n in range(300)]})
HIERARCHIES = {"zip": pp.mask_hierarchy(length=4)}
K7 = pp.require("k_anonymity", at_least=7)


def test_the_points_are_those_of_the_search():
    plan = pp.generalize(FRAME, hierarchies=HIERARCHIES, requirements=[K7], max_suppression=0.05)
    found = affordable_trade_off(plan, FRAME)
    assert found == loss_against_k(FRAME, hierarchies=HIERARCHIES, ks=sorted({*KS, 7}), max_suppression=0.05)
    assert next(point.loss for point in found if point.k == 7) == plan.loss


def test_other_requirements_stay():
    diverse = pp.require("l_diversity", at_least=3)
    plan = pp.generalize(FRAME, hierarchies=HIERARCHIES, requirements=[diverse], sensitive="ill")
    found = affordable_trade_off(plan, FRAME)
    given = {"requirements": [diverse], "sensitive": "ill", "ks": sorted({1, *KS})}
    assert found == loss_against_k(FRAME, hierarchies=HIERARCHIES, **given)
    assert found[0].loss == plan.loss


def test_the_nearest_k_are_computed_where_not_all_are_affordable():
    plan = pp.generalize(FRAME, hierarchies=HIERARCHIES, requirements=[K7])
    one = 21 * (1e-6 + 5 / 2e9)  # seconds for a point: 5 nodes, 21 distinct rows
    assert [point.k for point in affordable_trade_off(plan, FRAME, seconds=4.5 * one)] == [3, 5, 7, 10]
    assert affordable_trade_off(plan, FRAME, seconds=2.5 * one) == ()


def test_a_local_plan_is_compared_with_one_level_for_each_column():
    plan = pp.generalize_locally(FRAME, hierarchies=HIERARCHIES, requirements=[K7])
    found = {point.k: point.loss for point in affordable_trade_off(plan, FRAME)}
    full = pp.generalize(FRAME, hierarchies=HIERARCHIES, requirements=[K7], loss="loss_metric")
    assert found[7] == pytest.approx(full.loss)
    assert plan.loss <= found[7]


def test_sizes_next_to_the_plans_k_are_left_out():
    plan = pp.generalize(FRAME, hierarchies=HIERARCHIES, requirements=[pp.require("k_anonymity", at_least=11)])
    assert [point.k for point in affordable_trade_off(plan, FRAME)] == [2, 3, 5, 11, 20, 50, 100]


def test_the_largest_size_that_is_asked_for_counts():
    risk = pp.require("reidentification_risk", at_most="1/9")
    assert asked_size([K7, risk, pp.require("l_diversity", at_least=20)]) == 9
    assert asked_size([pp.require("l_diversity", at_least=20)]) == 1
