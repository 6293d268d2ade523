"""The report in a real browser that cannot reach any network."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from privacy_plugin.policy.policy import Policy
from privacy_plugin.report import measure_usefulness, write_report
from tests.report.browsing import opened
from tests.report.generated_tables import MADE, REAL, ROLES
from tests.report.pages import judged, people, policy

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rules = policy()
    before, after, plan, certificate = judged(rules)
    return write_report(
        tmp_path_factory.mktemp("report") / "report.html",
        policy=rules,
        verdicts=[("as it is", before), ("anonymized", after)],
        plan=plan,
        certificate=certificate,
    )


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a generated table, which has no people to draw."""
    given = {"dataset": "visits", "columns": ROLES, "requirements": [{"repeated_records": {"at_most": 0.5}}]}
    rules = Policy.from_dict(given)
    verdict = rules.judge(MADE, population=REAL)
    return write_report(tmp_path_factory.mktemp("audit") / "report.html", policy=rules, verdicts=[("made", verdict)])


def test_the_verdict_is_seen_without_any_network(browser: Any, report: Path) -> None:
    page, asked, complaints = opened(browser, report)
    assert asked == [report.as_uri()]
    assert complaints == []
    assert page.locator(".verdict").inner_text() == "Passed: the gate is open"
    assert page.locator(".banner").is_visible()


def test_charts_are_drawn(browser: Any, report: Path) -> None:
    page, _, _ = opened(browser, report)
    charts = page.locator("svg.chart")
    assert charts.count() == 7  # six spreads and the lattice of the plan
    for number in range(charts.count()):
        box = charts.nth(number).bounding_box()
        assert box["width"] > 200
        assert box["height"] > 80


def colours(page: Any) -> tuple[str, str, str]:
    script = "selector => getComputedStyle(document.querySelector(selector)).{}"
    return (
        page.evaluate(script.format("backgroundColor"), "section"),
        page.evaluate(script.format("color"), "body"),
        page.evaluate("() => getComputedStyle(document.querySelector('svg.chart [fill*=chart]')).fill"),
    )


def test_light_and_dark_have_their_own_colours(browser: Any, report: Path) -> None:
    light = colours(opened(browser, report, color_scheme="light")[0])
    dark = colours(opened(browser, report, color_scheme="dark")[0])
    assert light[0] == "rgb(255, 255, 255)"
    assert all(one != other for one, other in zip(light, dark, strict=True))


def test_paper_is_white_whatever_the_screen(browser: Any, report: Path) -> None:
    page, _, _ = opened(browser, report, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert colours(page)[:2] == ("rgb(255, 255, 255)", "rgb(24, 33, 46)")


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_sticks_out(browser: Any, report: Path, width: int) -> None:
    page, _, _ = opened(browser, report, viewport={"width": width, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1400])
def test_long_names_hide_no_verdict(browser: Any, tmp_path: Path, width: int) -> None:
    age, illness = "age_" * 40, "illness_" * 20
    rules = Policy.from_dict(
        {
            "dataset": "visits_" * 20,
            "columns": {age: "quasi_identifier", illness: "sensitive"},
            "requirements": [{"l_diversity": {"variant": "distinct", "at_least": 2}}],
        }
    )
    verdict = rules.judge(pd.DataFrame({age: [1, 1, 2, 2], illness: ["a", "b", "a", "b"]}))
    written = write_report(tmp_path / "report.html", policy=rules, verdicts=[("table", verdict)])
    page, _, _ = opened(browser, written, viewport={"width": width, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    chip = page.locator("td .chip").first.bounding_box()
    assert chip["x"] + chip["width"] <= width
    shapes = page.locator("svg.chart .mark-rect path").first.bounding_box()
    assert shapes["width"] > 100


@pytest.mark.parametrize("width", [360, 1400])
def test_an_audit_is_compared_with_chance(browser: Any, audited: Path, width: int) -> None:
    page, asked, complaints = opened(browser, audited, viewport={"width": width, "height": 800})
    assert (asked, complaints) == ([audited.as_uri()], [])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    chart = page.get_by_role("img", name="Repeated records and chance")
    assert chart.bounding_box()["height"] > 80
    assert chart.get_by_text("if the columns were independent").count() == 2


@pytest.mark.parametrize("width", [360, 1400])
def test_what_is_left_is_drawn_on_any_screen(browser: Any, tmp_path: Path, width: int) -> None:
    rules = policy()
    before, after, plan, _ = judged(rules)
    found = measure_usefulness(plan.apply(people(), keep=rules.rules.released), people(), policy=rules, plan=plan)
    verdicts = [("as it is", before), ("anonymized", after)]
    written = write_report(tmp_path / "report.html", policy=rules, verdicts=verdicts, plan=plan, usefulness=found)
    page, asked, complaints = opened(browser, written, viewport={"width": width, "height": 800})
    assert (asked, complaints) == ([written.as_uri()], [])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.get_by_role("heading", name="What is left").is_visible()
    histograms = page.get_by_role("img", name="Histogram of")
    assert histograms.count() == len(rules.quasi_identifiers)
    for number in range(histograms.count()):
        box = histograms.nth(number).bounding_box()
        assert box["width"] > 200
        assert box["x"] + box["width"] <= width


def test_headings_and_tables_are_named(browser: Any, report: Path) -> None:
    page, _, _ = opened(browser, report)
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("heading", name="What this does and does not show").is_visible()
    assert page.get_by_role("region", name="Every requirement of the policy and what was found").first.is_visible()
    assert page.get_by_role("img", name="Bar chart").count() == 6


def test_it_prints(browser: Any, report: Path) -> None:
    page, _, _ = opened(browser, report)
    assert page.pdf().startswith(b"%PDF")
