"""Levels in words: what a person reads of a generalization, at every door."""

from privacy_plugin.frequency.hierarchy_builders import date_hierarchy, interval_hierarchy, tree_hierarchy
from privacy_plugin.frequency.level_words import level_words


def test_levels_are_told_by_rule_and_never_by_value() -> None:
    assert level_words(interval_hierarchy(start=0, stop=100, widths=[5, 20]), 2) == "intervals of width 20"
    assert level_words(interval_hierarchy(boundaries=[[0, 5, 30]]), 1) == "2 intervals"
    assert level_words(date_hierarchy(), 1) == "the month"
    tree = tree_hierarchy({"lungs": ["flu", "cold"], "heart": ["angina"]})
    assert level_words(tree, 0) == "unchanged"
    assert level_words(tree, 1) == "2 groups of 3 listed values"
    assert level_words(tree, 2) == level_words(date_hierarchy(), 4) == "all removed: *"
