"""HTML that cannot be injected into."""

from hypothesis import given
from hypothesis import strategies as st

from privacy_plugin.markup import Markup, element, table
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
