"""Generalization under a limit on the privacy score: the least loss that meets it, found by trying every node."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.metrics.registry import find_metric

AGES = pp.interval_hierarchy(start=0, stop=80, widths=[10, 40])
ZIPS = pp.mask_hierarchy(length=2)
HIERARCHIES = {"age": AGES, "zip": ZIPS}
NAMES = ["age", "zip", "disease"]
ROLES = {"age": "quasi_identifier", "zip": "quasi_identifier", "disease": "sensitive"}


def people(seed):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": generator.integers(20, 60, 24),
            "zip": [str(generator.integers(10, 30)) for _ in range(24)],
            "disease": generator.choice(["flu", "gout", "cold"], 24),
        }
    )


def generalized(frame, node):
    return frame.assign(
        age=[AGES.generalize(age, node[0]) for age in frame.age],
        zip=[ZIPS.generalize(code, node[1]) for code in frame.zip],
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "asked",
    [
        {"roles": ROLES, "statistic": "maximum", "at_most": 0.0},
        {"roles": ROLES, "statistic": "average", "below": 0.15},
        {"roles": ROLES, "statistic": "threshold_share", "threshold": 0.5, "at_most": 0.25},
        {"likelihood": {"age": 0.5, "zip": 0.75, "disease": 0.1}, "danger": {"zip": 0.2}, "below": 0.35},
    ],
)
def test_the_plan_has_the_least_loss_of_all_nodes_that_meet_the_limit(seed, asked):
    frame = people(seed)
    requirement = pp.require("privacy_score", **asked)
    passing = [
        np.mean([node[0] / AGES.height, node[1] / ZIPS.height])
        for node in product(range(AGES.height + 1), range(ZIPS.height + 1))
        if requirement.judge(generalized(frame, node), attributes=NAMES).passed
    ]
    assert passing
    plan = pp.generalize(frame, hierarchies=HIERARCHIES, requirements=[requirement], attributes=NAMES)
    assert plan.loss == pytest.approx(min(passing))
    assert requirement.judge(plan.apply(frame), attributes=NAMES).passed


def test_the_score_is_not_called_monotone_because_it_is_not():
    """With l < 1 a coarser table can score higher: no attacker knows the exact age, all know the decade."""
    assert not find_metric("privacy_score").monotone
    frame = pd.DataFrame({"age": ["31", "32", "41"], "disease": ["flu", "flu", "gout"]})
    weights = {"likelihood": {"age": {"31": 0, "32": 0, "41": 1}, "disease": 0}, "danger": {"age": 0}}
    decades = frame.assign(age=["3*", "3*", "4*"])
    before = pp.privacy_score(frame, attributes=["age", "disease"], **weights)
    after = pp.privacy_score(decades, attributes=["age", "disease"], likelihood={"disease": 0}, danger={"age": 0})
    assert after.average > before.average
