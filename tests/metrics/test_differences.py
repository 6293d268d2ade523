"""Differences of two releases without a unit, on the finest common coarsening of their classes."""

from collections import Counter

import pandas as pd
import pytest

import privacy_plugin as pp
from tests.history.releases import history_of, policy_of

K2 = pp.require("k_anonymity", at_least=2)
L2 = pp.require("l_diversity", at_least=2, sensitive="disease")
AGES = pp.interval_hierarchy(start=0, stop=80, widths=[10, 20])


def table_of(*groups):
    rows = [(age, value) for age, values in groups for value in values]
    return pd.DataFrame(rows, columns=["age", "disease"])


def failing(old, new, requirements=(K2,), **options):
    history = history_of([old], policy_of(unit=False))
    with pp.using_history(history):
        return pp.differences(
            new,
            quasi_identifiers=["age"],
            dataset="visits",
            requirements=list(requirements),
            sensitive_columns=["disease"],
            **options,
        )


def test_one_person_more_or_less_is_found_and_two_with_different_values_are_not():
    base = table_of(("30-39", "fgk"))
    assert failing(base, table_of(("30-39", "fgkH"))).value == 1
    assert failing(base, table_of(("30-39", "fg"))).value == 1
    assert failing(base, base).value == 0
    assert failing(base, table_of(("30-39", "fgkHf")), [K2, L2]).value == 0
    assert failing(base, table_of(("30-39", "fgkHH")), [K2, L2]).value == 2


def test_another_level_is_compared_on_the_common_coarsening():
    old = table_of(("[20, 40)", "fgkff"))
    new = table_of(("[20, 30)", "fgk"), ("[30, 40)", "ffH"))
    assert failing(old, new, hierarchies={"age": AGES}).value == 1
    same = table_of(("[20, 30)", "fgk"), ("[30, 40)", "ff"))
    assert failing(old, same, hierarchies={"age": AGES}).value == 0
    assert failing(old, table_of((25, "fgk"), (35, "ffH")), hierarchies={"age": AGES}).value == 1
    with pytest.raises(pp.PrivacyPluginError, match="does not explain"):
        failing(old, table_of(("twenties", "fgk")), hierarchies={"age": AGES})


def test_a_suppressed_row_does_not_hide_differences_of_single_classes():
    classes = [(f"[{age}, {age + 10})", "fg") for age in (10, 20, 30, 40)]
    old = table_of(*classes, ("*", "fg"))
    new = table_of(*((age, values + "H") for age, values in classes), ("*", "fg"))
    assert failing(old, new, hierarchies={"age": AGES}).value == 4


@pytest.mark.parametrize(
    ("hierarchy", "coarse", "fine", "other"),
    [
        (pp.mask_hierarchy(length=3), "12*", ("123", "124"), "133"),
        (pp.date_hierarchy(), "2024", ("2024-01", "2024-07"), "2023-01"),
        (pp.tree_hierarchy({"north": ["a", "b"], "south": ["c"]}), "north", ("a", "b"), "c"),
    ],
)
def test_every_kind_of_hierarchy_explains_its_labels(hierarchy, coarse, fine, other):
    old = table_of((coarse, "fgkf"), (other, "fg"))
    kept = table_of((fine[0], "fg"), (fine[1], "kf"), (other, "fg"))
    assert failing(old, kept, hierarchies={"age": hierarchy}).value == 0
    more = table_of((fine[0], "fgH"), (fine[1], "kf"), (other, "fg"))
    assert failing(old, more, hierarchies={"age": hierarchy}).value == 1


def test_the_definition_on_equal_labels_by_brute_force():
    import random

    generator = random.Random(3)
    for _ in range(25):
        old, new = (
            Counter({(age, value): generator.randrange(4) for age in "xy" for value in "fg"}) + Counter({("x", "f"): 1})
            for _ in range(2)
        )
        wanted = 0
        for difference in (new - old, old - new):
            sizes = Counter()
            for (age, _), count in difference.items():
                sizes[age] += count
            wanted = max(wanted, sum(size for size in sizes.values() if size < 2))
        tables = [table_of(*((age, value * n) for (age, value), n in each.items())) for each in (old, new)]
        assert failing(*tables).value == wanted


def test_three_releases_are_not_bounded_and_the_verdict_says_so():
    policy = policy_of({"differences": {}}, unit=False)
    x, y, z = "AB", "AB", "AB"
    history = history_of([], policy)
    for group in (y, x + y, y + z, x + y + z + "P"):
        verdict = policy.judge(table_of(("*", group)), history=history)
        assert verdict.passed
        history.record(table_of(("*", group)), policy=policy)
    found = next(finding for finding in verdict.findings if finding.requirement.metric == "differences")
    assert any("three or more releases" in note for note in found.measurement.notes)


def test_a_policy_with_a_unit_or_without_classes_refuses_it():
    with pytest.raises(pp.PrivacyPluginError, match="across_releases"):
        policy_of({"differences": {}})
    with pytest.raises(pp.PrivacyPluginError, match="not about single classes"):
        policy_of({"t_closeness": {"at_most": 0.5}}, {"differences": {}}, unit=False)
