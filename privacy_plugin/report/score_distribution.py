"""How the privacy scores are spread over the people, with a mark at what the statistic looks at."""

import numpy as np

from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.report.drawing import drawing, line, shape, words
from privacy_plugin.report.markup import Child, Markup, element, table

_BINS = 20
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 428.0, 24.0, 180.0


def distribution(scores: Spread, *, mark: float, says: str, fails_from: float | None = None) -> Markup:
    """Draw people by score from 0 to 1; bars from `fails_from` on are those a threshold counts."""
    people = _counted(scores)
    most = max(people)
    description = f"Bar chart: people by privacy score from 0 to 1. {says}."
    bars = [_bar(number, count, most, fails_from) for number, count in enumerate(people) if count]
    rows: list[list[Child]] = [
        [f"{number / _BINS:.2f} to {(number + 1) / _BINS:.2f}", f"{count:,}"]
        for number, count in enumerate(people)
        if count
    ]
    return element(
        "figure",
        drawing(
            [_across(share, most) for share in (0.0, 0.5, 1.0)],
            bars,
            [words((_x(tick), _BOTTOM + 16), f"{tick:g}") for tick in (0.0, 0.25, 0.5, 0.75, 1.0)],
            words(((_LEFT + _RIGHT) / 2, _BOTTOM + 34), "privacy score"),
            _marked(mark, says),
            width=440,
            height=222,
            description=description,
        ),
        element(
            "details",
            element("summary", "The numbers"),
            table("People by privacy score", ["score", "people"], rows),
        ),
    )


def _counted(scores: Spread) -> list[int]:
    bins = np.clip((scores.values * _BINS + 1e-9).astype(np.int64), 0, _BINS - 1)
    people = np.zeros(_BINS, dtype=np.int64)
    np.add.at(people, bins, scores.people)
    return [int(count) for count in people]


def _x(score: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * score


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _across(share: float, most: int) -> list[Markup]:
    rule = line((_LEFT, _y(share)), (_RIGHT, _y(share)), "var(--line)")
    return [
        rule,
        words((_LEFT - 6, _y(share) + 4), f"{share * most:,g}" if most < 100 else f"{share * most:,.0f}", anchor="end"),
    ]


def _bar(number: int, count: int, most: int, fails_from: float | None) -> Markup:
    left, right = _x(number / _BINS) + 1, _x((number + 1) / _BINS) - 1
    top = _y(count / most)
    fails = fails_from is not None and (number + 1) / _BINS > fails_from + 1e-9
    colour = "var(--chart-fails)" if fails else "var(--chart-meets)"
    return shape([(left, _BOTTOM), (left, top), (right, top), (right, _BOTTOM)], fill=colour)


def _marked(mark: float, says: str) -> list[Markup]:
    """Write at the mark's line, on the side that has room."""
    at = _x(min(max(mark, 0.0), 1.0))
    room = mark <= 0.5
    rule = line((at, _TOP - 8), (at, _BOTTOM), "var(--text)", width=1.5, dashes="5 3")
    place = (at + 6 if room else at - 6, _TOP - 10)
    return [rule, words(place, says, anchor="start" if room else "end", colour="var(--text)", bold=True)]
