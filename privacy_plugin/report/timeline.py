"""The timeline: earlier releases of the dataset, what each of them added, and who waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacy_plugin.errors import HistoryError
from privacy_plugin.history.in_use import find_history
from privacy_plugin.markup import Markup, element, section, table
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.drawing import drawing, shape, words

if TYPE_CHECKING:
    from privacy_plugin.history import RecordedRelease
    from privacy_plugin.history.release_history import Waiting

_MOST = 60  # releases in the picture and the table; older ones are counted
_WIDTH, _HEIGHT, _FOOT = 640.0, 120.0, 20.0


@dataclass(frozen=True, kw_only=True)
class _Past:
    releases: "Sequence[RecordedRelease]"
    waiting: "Sequence[Waiting]"


def timeline(content: ReportContent) -> Markup:
    """Show the releases that the history in use knows of this dataset; nothing without a history."""
    dataset = content.policy.dataset
    try:
        with find_history() as history:
            if history is None:
                return Markup("")
            past = _Past(releases=history.releases(dataset=dataset), waiting=history.waiting(dataset=dataset))
    except HistoryError as problem:
        return section("Releases so far", element("p", str(problem), class_="callout"), identifier="timeline")
    if not past.releases:
        empty = "The history knows no release of this dataset yet."
        return section("Releases so far", element("p", empty), identifier="timeline")
    shown = past.releases[-_MOST:]
    earlier = len(past.releases) - len(shown)
    return section(
        "Releases so far",
        element("p", f"{earlier:,} older releases are not shown.") if earlier else Markup(""),
        _picture(shown) if all(each.counted_by_unit for each in shown) and len(shown) > 1 else Markup(""),
        table(
            "What every release added",
            ["release", "when", "partition", "people or rows", "for the first time", "classes", "state"],
            [_row(each) for each in shown],
        ),
        [element("p", _waiting(each), class_="callout") for each in past.waiting],
        identifier="timeline",
    )


def _row(release: "RecordedRelease") -> list[str]:
    known = release.counted_by_unit and release.purged_at is None
    return [
        str(release.number),
        release.reserved_at[:16].replace("T", " "),
        release.partition or "-",
        f"{release.people:,}",
        f"{release.people - release.returning_people:,}" if known else "not known",
        f"{release.classes:,}",
        _STATES.get(release.status, release.status),
    ]


_STATES = {
    "reserved": "reserved: counts as released until a person clears it",
    "committed": "released",
    "purged": "released, forgotten since",
}


def _picture(releases: "Sequence[RecordedRelease]") -> Markup:
    """Draw a bar for every release: people who were in an earlier one, and above them those it added."""
    most = max(each.people for each in releases) or 1
    step = _WIDTH / len(releases)
    shapes = []
    for place, each in enumerate(releases):
        left, right = place * step + 0.1 * step, (place + 1) * step - 0.1 * step
        base, middle, top = (
            _HEIGHT - _FOOT - (_HEIGHT - _FOOT) * people / most for people in (0, each.returning_people, each.people)
        )
        shapes += [
            shape([(left, base), (right, base), (right, middle), (left, middle)], fill="var(--muted)", opacity=0.5),
            shape([(left, middle), (right, middle), (right, top), (left, top)], fill="var(--chart-meets)"),
        ]
    first, last = releases[0], releases[-1]
    shapes += [
        words((0, _HEIGHT - 4), first.reserved_at[:10], anchor="start"),
        words((_WIDTH, _HEIGHT - 4), last.reserved_at[:10], anchor="end"),
    ]
    added = sum(each.people - each.returning_people for each in releases)
    description = (
        f"{len(releases)} releases of up to {most:,} people; the upper part of a bar are people who were in no earlier "
        f"release, {added:,} in all"
    )
    return element(
        "figure",
        drawing(*shapes, width=_WIDTH, height=_HEIGHT, description=description),
        element("figcaption", description),
    )


def _waiting(waiting: "Waiting") -> str:
    where = f" of partition {waiting.partition}" if waiting.partition else ""
    since = waiting.since[:10]
    return (
        f"{waiting.people:,} people{where} wait for their first release, the first of them since {since}: too few "
        "others can enter a class with them."
    )
