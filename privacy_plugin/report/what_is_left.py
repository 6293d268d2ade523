"""The section "What is left": usefulness next to risk, with the histograms of both tables on the same axes."""

from privacy_plugin.anonymizers.base import AnonymizerResult
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.markup import Child, Markup, definitions, element, section, table
from privacy_plugin.metrics.usability.column_change import ColumnChange
from privacy_plugin.metrics.usability.score import Usability
from privacy_plugin.report.comparison import Bar, draw_bars
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.drawing import drawing, line, shape, words
from privacy_plugin.report.usefulness import Usefulness, most_costly

_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 428.0, 16.0, 116.0
_WIDTH, _HEIGHT = 440, 142
_MOST_NAMED = 3
_PARTS = {
    "detail": "detail of the labels",
    "distribution": "distribution of every column",
    "dependence": "dependence between pairs of columns",
    "queries": "answers to COUNT queries",
}


def what_is_left(content: ReportContent) -> Markup:
    """Show what the release keeps of its original; nothing where the report has no original to compare with."""
    found = content.usefulness
    if found is None:
        return Markup("")
    if found.measured is None:
        reason = f"Usefulness could not be measured: {found.problem}."
        return section("What is left", element("p", reason, class_="callout"), identifier="left")
    measured = found.measured
    names = [change.column for change in found.changes]
    return section(
        "What is left",
        element(
            "p",
            element("strong", f"Usability {float(measured.value):.2f}"),
            " on a scale from 0 (nothing left) to 1 (the original): the mean of the parts drawn here. It does not "
            "measure privacy.",
        ),
        element(
            "div",
            element("div", _parts(measured)),
            element("div", definitions([*_numbers(measured, names), *_more_numbers(found, content.plan)])),
            class_="columns",
        ),
        element("h3", "Column by column"),
        element(
            "div",
            element("div", element("h4", "Loss (loss metric)"), _losses(measured, names)),
            element("div", _cells(measured, found.changes)),
            class_="columns",
        )
        if names
        else None,
        _histograms(found.changes),
        identifier="left",
    )


def _parts(measured: Usability) -> Markup:
    score = float(measured.value)
    bars = [Bar(name="usability", value=score, written=f"{score:.2f}", tone="meets")]
    bars += [Bar(name=_PARTS[name], value=part, written=f"{part:.2f}") for name, part in measured.parts.items()]
    return draw_bars(bars, caption="What the release keeps of its original", full=1.0)


def _numbers(measured: Usability, names: list[str]) -> list[tuple[str, Child]]:
    costly = most_costly(measured, names)[:_MOST_NAMED]
    pairs = measured.details["dependence"]
    strength = [sum(pair[when] for pair in pairs) / len(pairs) for when in ("before", "after")] if pairs else None
    return [
        ("Lost most", ", ".join(f"{name} ({loss:.0%})" for name, loss in costly) or "no column lost anything"),
        ("Suppressed", f"{float(measured.suppressed_share):.1%} of the rows"),
        ("Query error", f"half of the COUNT queries are wrong by more than {measured.query_error:.1%} of their value"),
        (
            "Dependence",
            "there is one column only"
            if strength is None
            else f"mean Cramer's V of pairs of columns: {strength[0]:.3f} before, {strength[1]:.3f} after",
        ),
        ("Wiped out", ", ".join(measured.wiped_out) or "no column"),
    ]


def _more_numbers(found: Usefulness, plan: AnonymizerResult | None) -> list[tuple[str, Child]]:
    """Return class sizes, the accuracy of a model, and what it cost not to look at sensitive values."""
    assert found.measured is not None
    details = found.measured.details
    rows: list[tuple[str, Child]] = [
        (
            "Classes",
            f"{float(details['average_class_size']):,.1f} rows on average; discernibility "
            f"{int(details['discernibility']):,}",
        )
    ]
    if found.learned is not None:
        learned, target = found.learned, found.learned.parameters["target"]
        rows.append(
            (
                "Model",
                f"naive Bayes trained on the release predicts {target} for {float(learned.value):.1%} of the "
                f"original's rows; trained on the original {float(learned.trained_on_original):.1%}, always naming the "
                f"most frequent value {float(learned.largest_class):.1%}",
            )
        )
    if found.loss_by_looking is not None and isinstance(plan, Plan | LocalPlan):
        rows.append(
            (
                "Price of not looking",
                f"the classes follow from quasi-identifiers alone: the loss is {plan.loss:.4g}; with classes that may "
                f"follow from sensitive values it would be {found.loss_by_looking:.4g}. That number looked at them: "
                "keep this page as private as the table",
            )
        )
    return rows


def _losses(measured: Usability, names: list[str]) -> Markup:
    losses = {name: float(measured.columns[name]) for name in names}
    bars = [
        Bar(name=name, value=loss, written=f"{loss:.1%}", tone="fails" if name in measured.wiped_out else "meets")
        for name, loss in losses.items()
    ]
    return draw_bars(bars, caption="Loss of every quasi-identifier (loss metric)", full=1.0)


def _cells(measured: Usability, changes: tuple[ColumnChange, ...]) -> Markup:
    distances = measured.details["distances"]
    rows: list[list[Child]] = [
        [
            element("code", change.column),
            f"{change.kept:.1%}",
            f"{change.coarsened:.1%}",
            f"{change.lost:.1%}",
            f"{distances[change.column]:.3f}",
        ]
        for change in changes
    ]
    heads = ["column", "kept", "coarsened", "wiped out or suppressed", "distance of distributions"]
    return table("Cells of every quasi-identifier, and total variation distance from the original", heads, rows)


def _histograms(changes: tuple[ColumnChange, ...]) -> list[Markup]:
    if not changes:
        return []
    key = element(
        "p",
        element("span", class_="swatch before"),
        " before ",
        element("span", class_="swatch meets"),
        " after. Bars are values without their names: numbers and dates in their order, other columns from frequent to "
        "rare. The rows of a general label are spread evenly over the values it covers.",
        class_="key",
    )
    return [key, element("div", [element("div", _histogram(change)) for change in changes], class_="columns")]


def _histogram(change: ColumnChange) -> Markup:
    """Draw both distributions on one axis: the original as wide pale bars, the release as narrow ones before them."""
    highest = max(*change.before, *change.after, 1e-9)
    step = (_RIGHT - _LEFT) / len(change.before)
    wide, narrow = min(step * 0.86, 40.0), min(step * 0.46, 22.0)
    bars = [
        _bar(_LEFT + step * (number + 0.5), width, share / highest, colour, opacity)
        for shares, width, colour, opacity in (
            (change.before, wide, "var(--muted)", 0.4),
            (change.after, narrow, "var(--chart-meets)", 1.0),
        )
        for number, share in enumerate(shares)
    ]
    group = "one value" if change.values_per_bar == 1 else f"up to {change.values_per_bar:,} neighbouring values"
    order = "values in their order" if change.ordered else "values from frequent to rare"
    described = (
        f"Histogram of {change.column} before and after, {len(change.before)} bars of {group}, {order}. Cells kept "
        f"{change.kept:.1%}, coarsened {change.coarsened:.1%}, wiped out or suppressed {change.lost:.1%}."
    )
    picture = drawing(
        [line((_LEFT, _at(share)), (_RIGHT, _at(share)), "var(--line)") for share in (0.0, 0.5, 1.0)],
        [words((_LEFT - 6, _at(share) + 4), f"{share * highest:.0%}", anchor="end") for share in (0.0, 1.0)],
        bars,
        words(((_LEFT + _RIGHT) / 2, _BOTTOM + 18), f"{order}; a bar is {group}"),
        width=_WIDTH,
        height=_HEIGHT,
        description=described,
    )
    return element("figure", element("h4", element("code", change.column)), picture)


def _bar(middle: float, width: float, share: float, colour: str, opacity: float) -> Markup:
    left, right, top = middle - width / 2, middle + width / 2, _at(share)
    return shape([(left, _BOTTOM), (left, top), (right, top), (right, _BOTTOM)], fill=colour, opacity=opacity)


def _at(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share
