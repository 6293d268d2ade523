"""HTML elements; text is escaped unless it was built here, so that names cannot inject markup."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

_VOID = frozenset({"meta", "br", "col", "hr"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = str | int | Iterable["Child"] | None


def element(name: str, /, *children: Child, **attributes: str | None) -> Markup:
    """Build an element; text children are escaped, `class_` and `aria_label` become `class` and `aria-label`.

    >>> element("p", "1 < 2 ", element("b", "true"), class_="sum")
    '<p class="sum">1 &lt; 2 <b>true</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{text(children)}</{name}>")


def text(child: Child) -> Markup:
    """Turn children into HTML, escaping what is not HTML already."""
    if child is None:
        return Markup("")
    if isinstance(child, Markup):
        return child
    if isinstance(child, str | int):
        return Markup(escape(str(child)))
    return Markup("".join(text(item) for item in child))


def section(heading: str, *children: Child, identifier: str) -> Markup:
    """Build a section with its heading, which names it for screen readers."""
    return element(
        "section",
        element("h2", heading, id=identifier),
        *children,
        aria_labelledby=identifier,
    )


def definitions(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Build a list of terms and what they are."""
    return element("dl", [element("div", element("dt", term), element("dd", what)) for term, what in pairs])


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[Child]]) -> Markup:
    """Build a table whose first column names the row; it scrolls by itself where the page is narrow."""
    body = []
    for row in rows:
        first, *rest = row
        body.append(element("tr", element("th", first, scope="row"), [element("td", cell) for cell in rest]))
    head = element("tr", [element("th", name, scope="col") for name in heads])
    content = element("table", element("caption", caption), element("thead", head), element("tbody", body))
    return element("div", content, class_="scroll", role="region", tabindex="0", aria_label=caption)


def notebook_table(title: str, heads: Iterable[str], rows: Iterable[Iterable[Child]], notes: Iterable[str] = ()) -> str:
    """Build what a notebook shows of a result: a title, a table and notes."""
    body = element("tbody", [element("tr", [element("td", cell) for cell in row]) for row in rows])
    shown = element("table", element("thead", element("tr", [element("th", head) for head in heads])), body)
    return element("div", element("p", element("b", title)), shown, [element("p", note) for note in notes])
