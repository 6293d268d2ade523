"""Findings: for each requirement what was found, what an attacker could do, what would fix it, and the pictures."""

from collections.abc import Callable, Mapping, Sequence

from privacy_plugin.markup import Child, Markup, definitions, element, section, table
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.report.banner import asked, chip
from privacy_plugin.report.comparison import channel, compare_values
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.curves import confidence_curve, disclosure_curve
from privacy_plugin.report.histogram import Bars, bars_of, people_chart
from privacy_plugin.report.scores import score_distribution
from privacy_plugin.requirements.requirement import (
    Finding,
    Requirement,
    describe_attack,
    describe_people,
    describe_sample,
    format_measured,
)

# Special pictures that a metric may declare by name, drawn from what its measurement offers.
PICTURES: Mapping[str, Callable[[Finding], Markup | None]] = {
    "channel": channel,
    "confidence_curve": confidence_curve,
    "disclosure_curve": disclosure_curve,
    "score_distribution": score_distribution,
}


def findings(content: ReportContent) -> Markup:
    """Show every requirement with what each verdict found."""
    cards = []
    for number, requirement in enumerate(content.policy.requirements):
        found = [(label, finding) for label, finding in content.findings(number) if finding is not None]
        if found:
            cards.append(_card(requirement, found, several=len(content.verdicts) > 1))
    if not cards:
        return Markup("")
    measured = [finding.measurement for _, verdict in content.verdicts for finding in verdict.findings]
    drawn = any(measurement is not None and measurement.spread is not None for measurement in measured)
    return section("Findings", _key() if drawn else None, cards, identifier="findings")


def _key() -> Markup:
    """Explain the colours of the bars that are people."""
    return element(
        "p",
        element("span", class_="swatch meets"),
        " people who meet the limit ",
        element("span", class_="swatch fails"),
        " people who do not",
        class_="key",
    )


def _card(requirement: Requirement, found: list[tuple[str, Finding]], *, several: bool) -> Markup:
    definition = requirement.definition
    source = requirement.origin or definition.paper
    return element(
        "article",
        element("h3", definition.title, " ", element("span", asked(requirement), class_="asked")),
        element("p", f"Source: {source}", class_="note"),
        element(
            "div",
            [_one(label, finding, [finding for _, finding in found], several=several) for label, finding in found],
            class_="columns" if several else "columns single",
        ),
    )


def _one(label: str, finding: Finding, all_found: Sequence[Finding], *, several: bool) -> Markup:
    measurement = finding.measurement
    words = element(
        "div",
        element("h4", label, " ", chip(finding.status)) if several else element("p", chip(finding.status)),
        _explained(finding, measurement) if measurement else element("p", finding.reason),
        _pictures(finding) if measurement else None,
    )
    return element("div", words, _chart(finding, all_found) if measurement else None)


def _pictures(finding: Finding) -> list[Markup | None]:
    """Show what the measurement offers besides its value: facts, a comparison, and the metric's own picture."""
    measurement, picture = finding.measurement, finding.requirement.definition.picture
    assert measurement is not None  # the caller looked
    comparison = measurement.comparison
    return [
        element("div", definitions(measurement.facts)) if measurement.facts else None,
        element("div", compare_values(finding, comparison)) if comparison else None,
        PICTURES[picture](finding) if picture else None,
    ]


def _explained(finding: Finding, measurement: Measurement) -> Markup:
    """State what was found; the attack and the remedy only where the requirement failed."""
    classes = describe_sample(finding.requirement.definition, measurement)
    exact = f", right to ±{measurement.error:.1g}" if measurement.error else ""
    pairs: list[tuple[str, Child]] = [
        ("Found", f"{format_measured(measurement, finding.limit)}{exact}; {finding.limit} is required ({classes})")
    ]
    pairs += [("Why", measurement.reason)] if measurement.reason else []
    if not finding.passed:
        affected = finding.people_affected
        if affected is not None:
            share = f"{affected / measurement.rows:.1%}"
            pairs.append(("Affected", f"{affected:,} of {describe_people(measurement)} ({share})"))
        pairs.append((finding.requirement.definition.whom, describe_attack(finding.requirement, measurement)))
        pairs.append(("To fix it", finding.requirement.definition.remedy))
    pairs += [("Note", note) for note in measurement.notes]
    return definitions(pairs)


def _chart(finding: Finding, all_found: Sequence[Finding]) -> Markup | None:
    """Draw people by value, on axes shared by all verdicts: before and after are there to be compared."""
    measurement = finding.measurement
    if measurement is None or measurement.spread is None or not len(measurement.spread.values):
        return None
    smallest = finding.requirement.definition.smallest
    spreads = [each.measurement.spread for each in all_found if each.measurement and each.measurement.spread]
    drawn = [bars_of(spread, finding.limit, smallest=smallest, others=spreads) for spread in spreads]
    bars = bars_of(measurement.spread, finding.limit, smallest=smallest, others=spreads)
    axis = finding.requirement.definition.axis_of(measurement.parameters)
    chart = people_chart(
        bars,
        axis=axis,
        limit=str(finding.limit),
        highest=max(each.highest for each in drawn),
        description=_described(bars, axis, finding),
    )
    return element("figure", chart, _numbers(bars, axis))


def _described(bars: Bars, axis: str, finding: Finding) -> str:
    meets, fails = sum(bar.meets for bar in bars.bars), sum(bar.fails for bar in bars.bars)
    return f"Bar chart: people by {axis}. The limit is {finding.limit}: {meets:,} people meet it, {fails:,} do not."


def _numbers(bars: Bars, axis: str) -> Markup:
    rows = [[bar.label, f"{bar.meets:,}", f"{bar.fails:,}"] for bar in bars.bars if bar.meets or bar.fails]
    heads = [axis, "people who meet it", "people who do not"]
    return element("details", element("summary", "The numbers"), table("The numbers behind the chart", heads, rows))
