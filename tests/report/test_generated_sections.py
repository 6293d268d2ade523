"""Generated tables and channels in the report: every number with its comparison, and no proof claimed."""

from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.report import render_report
from privacy_plugin.report.comparison import Bar, draw_bars
from tests.report.generated_tables import MADE, REAL, ROLES
from tests.report.pages import Page

CHANNEL = [["3/4", "1/4"], ["1/4", "3/4"]]
NOTHING_FOUND = "nothing was found, which does not prove privacy"


def page_of(*requirements: dict[str, Any], data: pd.DataFrame = MADE, population: Any = REAL) -> Page:
    given = {"dataset": "visits", "columns": ROLES, "requirements": list(requirements), "population": "original"}
    policy = pp.Policy.from_dict(given)
    return Page(render_report(policy=policy, verdicts=[("made", policy.judge(data, population=population))]))


def labels(page: Page) -> list[str]:
    return [str(tag["aria-label"]) for tag in page.named("svg") if "aria-label" in tag]


def test_every_share_has_its_comparison() -> None:
    page = page_of(
        {"repeated_records": {"at_most": 1}},
        {"unique_itemsets": {"at_most": 1}},
        {"itemset_difference": {"at_most": 2}},
        {"compression_difference": {"at_most": 9}},
        {"learned_accuracy": {"target": "ill", "at_least": 0}},
    )
    records, unique, kept, size, accuracy = labels(page)
    assert records.startswith("Repeated records and chance: generated rows that occur in the original 75.0%")
    assert "the same, if the columns were independent 50.0%" in records
    assert "of all, if the columns were independent" in unique
    assert "frequent in both: kept 8; in the original only: lost 2; made up: false 1" in kept
    assert "original, in the generated table's" in size
    assert "always naming the largest class 50.0%" in accuracy
    assert "zq" not in page.text
    assert NOTHING_FOUND in page.text
    assert "Compared with 'original': the original table that this one was made from." in page.text
    assert "people who meet the limit" not in page.text  # no chart has people


def test_a_failure_is_red_and_names_the_attacker_or_analyst() -> None:
    page = page_of({"repeated_records": {"at_most": 0.5}}, {"learned_accuracy": {"target": "ill", "above": 1}})
    assert NOTHING_FOUND not in page.text
    assert "An attacker" in page.text
    assert "An analyst" in page.text
    assert any(tag.get("fill") == "var(--chart-fails)" for tag in page.named("polygon"))


def test_a_gate_that_protects_is_not_called_an_audit() -> None:
    assert NOTHING_FOUND not in page_of({"k_anonymity": {"at_least": 1}}, {"repeated_records": {"at_most": 1}}).text


@pytest.mark.parametrize("prior", [None, ["1/2", "1/2"]])
def test_the_channel_and_what_the_pairs_show(prior: Any) -> None:
    shown = ["zqa", "zqb", "zqa", "zqb", "zqa", "zqb", "zqb", "zqa"]
    data = pd.DataFrame({"ill": ["zqa", "zqb"] * 40, "age": shown * 10})
    line = {"channel": CHANNEL, "attributes": ["ill", "age"], "at_most": 1.2, **({"prior": prior} if prior else {})}
    page = page_of({"epsilon_dependence": line}, data=data, population=None)
    bars, channel = labels(page)
    assert "declared, for any attacker 1.099; " in bars
    assert ("under the stated prior 0.6931" in bars) is bool(prior)
    assert "shown by the pairs, at least 0." in bars
    assert channel == "The declared channel: 2 original values by 2 released values."
    assert "It does not certify safety" in page.text
    assert "zq" not in page.text


def test_a_refuted_channel_and_a_large_one() -> None:
    wide = [[0.05] * 20] * 20
    data = pd.DataFrame({"ill": range(20), "age": [n % 20 for n in range(1, 21)]})
    line = {"channel": wide, "attributes": ["ill", "age"], "at_most": 1}
    assert "has 20 inputs and 20 outputs" in page_of({"epsilon_dependence": line}, data=data, population=None).text
    refuted = page_of({"epsilon_dependence": {**line, "channel": CHANNEL}}, data=data, population=None)
    assert "shown by the pairs, at least infinite" in labels(refuted)[0]
    assert "more than the declared epsilon" in refuted.text


def test_bars_stay_on_the_paper() -> None:
    bars = [Bar(name="<a>", value=float("inf"), written="infinite", tone="fails"), Bar(name="b", value=0, written="0")]
    drawn = Page(draw_bars(bars, caption="c", limit=3.0, limit_words="at most 3"))
    places = [float(point.split(",")[0]) for tag in drawn.named("polygon") for point in str(tag["points"]).split()]
    assert max(places) <= 440
    assert min(places) >= 0
    assert not drawn.named("a")
