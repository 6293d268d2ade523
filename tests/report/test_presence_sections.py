"""Presence in the report: a histogram over the population, the confidence curve, and no value of either table."""

from typing import Any

import numpy as np
import pandas as pd

import privacy_plugin as pp
from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.report import render_report
from privacy_plugin.report.curves import confidence_chart, confident_shares
from tests.report.pages import Page

REGISTER = pd.DataFrame({"age": ["zq20", "zq30", "zq40"] * 20, "city": ["zqa", "zqb"] * 30})
VISITS = REGISTER.iloc[:12]


def page_of(*requirements: dict[str, Any]) -> Page:
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": "quasi_identifier", "city": "quasi_identifier"},
            "requirements": list(requirements),
        }
    )
    verdict = policy.judge(VISITS, population=REGISTER)
    return Page(render_report(policy=policy, verdicts=[("as it is", verdict)]))


def test_both_ends_and_the_people_of_the_population() -> None:
    page = page_of({"delta_presence": {"between": [0.1, 0.5]}}, {"k_map": {"at_least": 11}})
    assert "delta-presence" in page.text
    assert "60 people in 6 classes" in page.text
    labels = [str(tag["aria-label"]) for tag in page.named("svg") if "aria-label" in tag]
    assert any("people by probability of being in the table" in label for label in labels)
    assert any("people of the population that fit the row" in label for label in labels)
    assert "zq" not in page.text


def test_the_banner_and_the_table_speak_of_the_people_that_were_looked_at() -> None:
    page = page_of({"delta_presence": {"between": [0.1, 0.19]}})
    assert "none of 60 people is protected" in page.text
    assert "0.2; between" in page.text
    wide = page_of({"delta_presence": {"between": [0.21, 0.5]}}, {"journalist_risk": {"at_most": 0.01}})
    assert "none of 60 people is protected" in wide.text


def test_the_curve_and_what_is_not_covered() -> None:
    marginals = pp.population_marginals(REGISTER, columns=["age", "city"])
    line = {"marginals": marginals, "population_size": 60, "delta": [0.05, 0.25], "at_least": 0.9}
    page = page_of({"presence_confidence": line})
    assert "distribution of every column is known" in page.text
    assert "0 of 6" in page.text
    labels = [str(tag["aria-label"]) for tag in page.named("svg") if "aria-label" in tag]
    assert any(label.startswith("Falling curve") and "at least 0.9" in label for label in labels)
    assert "zq" not in page.text


def test_the_curve_falls_by_the_people_of_each_class() -> None:
    spread = Spread(values=np.array([1.0, 0.5, 0.5, 0.9]), people=np.array([4, 1, 2, 3]))
    points = confident_shares(spread)
    assert points == [(0.5, 1.0), (0.9, 0.7), (1.0, 0.4)]
    drawn = confidence_chart(points, limit=0.9, label="at least 0.9", description="x < y")
    assert 'aria-label="x &lt; y"' in drawn
    heights = [float(point.split(",")[1]) for point in drawn.split('points="')[1].split('"')[0].split()]
    assert heights == sorted(heights)  # downwards on the page
    assert len(set(heights)) == 4
