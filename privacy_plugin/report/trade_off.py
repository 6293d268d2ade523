"""The trade-off: the least loss for every k as a curve, with the release on the same axes."""

import math
from collections.abc import Sequence

from privacy_plugin.anonymizers.base import AnonymizerResult, LatticeResult
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan, TradeOff
from privacy_plugin.generalization.trade_off import asked_size
from privacy_plugin.markup import Child, Markup, element
from privacy_plugin.report.drawing import Point, dot, drawing, line, path, shape, words

_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 424.0, 20.0, 180.0
_LABEL_WIDTH = 20.0
_NO_TABLE = "it needs the table before anonymization"
_TOO_FEW = "fewer than two values of k can be reached by one level for each column"


def trade_off_figure(plan: AnonymizerResult | None, computed: Sequence[TradeOff] = ()) -> Markup | None:
    """Draw loss against k from the points of the plan, or from the computed ones; None where there are fewer than two.

    The dot of a full-domain plan is on the curve. A local plan is drawn as a diamond: its loss against the losses that
    one level for each column would have.
    """
    if not isinstance(plan, LatticeResult | LocalPlan):
        return None
    points = (plan.trade_off if isinstance(plan, LatticeResult) else ()) or tuple(computed)
    if sum(point.loss is not None for point in points) < 2:
        return None
    caption = "The least loss that every k would have cost, all else being equal; the highest risk is 1/k. "
    caption += (
        "Line: one level for each column. Diamond: this release, with labels for each region."
        if isinstance(plan, LocalPlan)
        else "Ring: this release."
    )
    return element("figure", _curve(plan, points), element("figcaption", caption, class_="key"))


def trade_off_left_out(plan: AnonymizerResult | None, computed: Sequence[TradeOff], problem: str) -> str | None:
    """Return the sentence that says why the curve of a plan is not drawn; None where it is, or the method has none."""
    if not isinstance(plan, Plan | LocalPlan) or trade_off_figure(plan, computed) is not None:
        return None
    known = bool(computed) or (isinstance(plan, Plan) and bool(plan.trade_off))
    return f"The curve of loss against k was left out: {problem or (_TOO_FEW if known else _NO_TABLE)}."


def _curve(plan: LatticeResult | LocalPlan, points: Sequence[TradeOff]) -> Markup:
    curve = [(point.k, point.loss) for point in points if point.loss is not None]
    lost = [point.k for point in points if point.loss is None]
    ks = [point.k for point in points]
    local = isinstance(plan, LocalPlan)
    asked = asked_size(plan.requirements)
    highest = _round_end(max([loss for _, loss in curve] + ([plan.loss] if local else [])) or 1.0)
    places = [(_at_k(k, ks), _at(loss / highest)) for k, loss in curve]
    marks: list[Child] = [
        [line((_LEFT, _at(share)), (_RIGHT, _at(share)), "var(--line)") for share in (0.0, 0.5, 1.0)],
        [words((_LEFT - 6, _at(share) + 4), f"{share * highest:.3g}", anchor="end") for share in (0.0, 0.5, 1.0)],
        [words((_at_k(k, ks), _BOTTOM + 16), str(k)) for k in ks if k == asked or not _hidden(k, asked, ks)],
        [words((_at_k(k, ks), _BOTTOM - 6), "none") for k in lost],
        words(((_LEFT + _RIGHT) / 2, _BOTTOM + 34), "k, the smallest class size"),
        words((_LEFT - 6, _TOP - 8), "loss", anchor="end"),
    ]
    if asked in ks:
        marks.append(line((_at_k(asked, ks), _TOP), (_at_k(asked, ks), _BOTTOM), "var(--text)", dashes="5 3"))
        marks.append(words((_at_k(asked, ks), _TOP - 6), f"k = {asked}", colour="var(--text)", bold=True))
    marks.append(path(places, "var(--chart-meets)"))
    marks.append([dot(place, "var(--chart-meets)", radius=3) for place in places])
    if asked in ks and (local or asked not in lost):
        marks.append(_chosen((_at_k(asked, ks), _at(plan.loss / highest)), local=local))
    listed = "; ".join(f"k {k}: {loss:.4g}" for k, loss in curve) + "".join(f"; k {k}: not possible" for k in lost)
    release = f" This release: k {asked}, loss {plan.loss:.4g}." if asked in ks else ""
    described = f"Line chart: least loss for every k. {listed}.{release}"
    return drawing(*marks, width=440, height=222, description=described)


def _hidden(k: int, asked: int, ks: Sequence[int]) -> bool:
    """Return whether the number k on the axis would lie over the one of the plan."""
    return asked in ks and abs(_at_k(k, ks) - _at_k(asked, ks)) < _LABEL_WIDTH


def _chosen(at: Point, *, local: bool) -> Markup:
    x, y = at
    if local:
        return shape([(x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6)], fill="var(--text)")
    ring = [(x + 6 * math.cos(turn * math.pi / 8), y + 6 * math.sin(turn * math.pi / 8)) for turn in range(16)]
    return shape(ring, stroke="var(--text)")


def _round_end(highest: float) -> float:
    """Return where an axis ends, so that its half is a round number too."""
    unit = 10.0 ** math.floor(math.log10(highest))
    return next(unit * factor for factor in (1, 2, 4, 6, 8, 10) if unit * factor >= highest)


def _at(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * min(share, 1.0)


def _at_k(k: int, ks: Sequence[int]) -> float:
    """Place k by its logarithm."""
    low, high = math.log(min(ks)), math.log(max(ks))
    return _LEFT + 14 + (_RIGHT - _LEFT - 28) * ((math.log(k) - low) / (high - low) if high > low else 0.5)
