"""HTML that cannot be injected into."""

from hypothesis import given
from hypothesis import strategies as st

from privacy_plugin.frequency.hierarchy_builders import date_hierarchy, interval_hierarchy, tree_hierarchy
from privacy_plugin.report.change import level_words
from privacy_plugin.report.markup import Markup, element, table
from tests.report.pages import Page


@given(words=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30))
def test_text_comes_back_as_text(words: str) -> None:
    page = Page(element("p", words, title=words))
    assert [tag for tag, _ in page.tags] == ["p"]
    assert page.text == words
    assert page.named("p")[0]["title"] == words


def test_only_markup_is_taken_as_it_is() -> None:
    assert element("p", Markup("<i>x</i>"), None, 3, ["<", Markup("<br>")]) == "<p><i>x</i>3&lt;<br></p>"


def test_tables_name_their_rows() -> None:
    page = Page(table("what", ["a", "b"], [["first", "second"]]))
    assert [attributes["scope"] for attributes in page.named("th")] == ["col", "col", "row"]
    assert page.named("caption")


def test_levels_are_told_by_rule_and_never_by_value() -> None:
    assert level_words(interval_hierarchy(start=0, stop=100, widths=[5, 20]), 2) == "intervals of width 20"
    assert level_words(interval_hierarchy(boundaries=[[0, 5, 30]]), 1) == "2 intervals"
    assert level_words(date_hierarchy(), 1) == "the month"
    tree = tree_hierarchy({"lungs": ["flu", "cold"], "heart": ["angina"]})
    assert level_words(tree, 0) == "unchanged"
    assert level_words(tree, 1) == "2 groups of 3 listed values"
    assert level_words(tree, 2) == level_words(date_hierarchy(), 4) == "all removed: *"
