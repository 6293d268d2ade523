"""Descriptions of hierarchy levels."""

from privacy_plugin.frequency.hierarchy_builders import date_hierarchy, interval_hierarchy, tree_hierarchy


def test_levels_are_described_by_their_rule() -> None:
    assert interval_hierarchy(start=0, stop=100, widths=[5, 20]).describe_level(2) == "intervals of width 20"
    assert interval_hierarchy(boundaries=[[0, 5, 30]]).describe_level(1) == "2 intervals"
    assert date_hierarchy().describe_level(1) == "the month"
    tree = tree_hierarchy({"lungs": ["flu", "cold"], "heart": ["angina"]})
    assert tree.describe_level(0) == "unchanged"
    assert tree.describe_level(1) == "2 groups of 3 listed values"
    assert tree.describe_level(2) == date_hierarchy().describe_level(4) == "all removed: *"
