"""The explorer in a real browser: points, keyboard, phone, and no value unless asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from privacy_plugin.cli.app import app
from tests.report.browsing import opened

POLICY = """
dataset: visits
columns:
  age: {role: quasi_identifier, hierarchy: {intervals: {start: 0, stop: 100, widths: [10, 20]}}}
  city: {role: quasi_identifier, hierarchy: {tree: {lowland: [Aarau, Basel], highland: [Chur, Davos]}}}
  illness: sensitive
requirements: [k_anonymity: {at_least: 5}, l_diversity: {variant: distinct, at_least: 2}]
"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": draw.integers(0, 100, 600),
            "city": draw.choice(["Aarau", "Basel", "Chur", "Davos"], 600),
            "illness": draw.choice(["influenza", "gout"], 600),
        }
    )
    frame.to_csv(folder / "visits.csv", index=False)
    (folder / "policy.yaml").write_text(POLICY)
    arguments = ["explore", str(folder / "visits.csv"), "--policy", str(folder / "policy.yaml"), "--output"]
    assert CliRunner().invoke(app, [*arguments, str(folder / "explore.html")]).exit_code == 0
    assert CliRunner().invoke(app, [*arguments, str(folder / "revealed.html"), "--reveal"]).exit_code == 0
    return folder / "explore.html"


def test_values_appear_only_when_asked_for(page_file: Path) -> None:
    assert "lowland" not in page_file.read_text()
    assert "influenza" not in page_file.read_text()
    assert "lowland" in (page_file.parent / "revealed.html").read_text()


@pytest.mark.browser
def test_a_click_gives_policy_lines_that_anonymize_the_table(browser: Any, page_file: Path) -> None:
    page, asked, complaints = opened(browser, page_file)
    assert complaints == []
    assert asked == [page_file.as_uri()]
    page.select_option("#family", "class size (k)")
    page.select_option("#limit", label="k at least 20")
    page.locator("#best button").nth(1).click()
    assert page.locator("#chosen tr").count() == 2
    lines = yaml.safe_load(page.locator("#lines").inner_text())
    assert lines["requirements"] == [{"k_anonymity": {"at_least": 20}}]
    policy = yaml.safe_load(POLICY) | lines
    for name, level in _held(page).items():
        policy["columns"][name]["keep"] = {"at_most_level": level}
    (page_file.parent / "chosen.yaml").write_text(yaml.safe_dump(policy))
    arguments = ["anonymize", str(page_file.parent / "visits.csv"), "--policy", str(page_file.parent / "chosen.yaml")]
    result = CliRunner().invoke(app, [*arguments, "--output", str(page_file.parent / "released.csv")])
    assert result.exit_code == 0, result.output


def _held(page: Any) -> dict[str, int]:
    rows = page.locator("#chosen tr")
    texts = [rows.nth(number).locator("td").all_inner_texts() for number in range(rows.count())]
    return {name: int(level) for name, level, _ in texts}


@pytest.mark.browser
def test_it_works_by_keyboard_and_columns_can_be_held(browser: Any, page_file: Path) -> None:
    page, _, _ = opened(browser, page_file)
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    age = page.locator("#columns input").first
    age.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert age.input_value() == "0"
    assert all("age 0" in text for text in page.locator("#best button").all_inner_texts())
    page.locator("#most").focus()
    page.keyboard.press("End")
    best = page.locator("#best button").first
    best.focus()
    page.keyboard.press("Enter")
    assert page.locator("#best button[aria-pressed=true]").count() == 1


@pytest.mark.browser
def test_a_phone_shows_it_without_scrolling_sideways(browser: Any, page_file: Path) -> None:
    page, _, complaints = opened(browser, page_file, viewport={"width": 380, "height": 780}, is_mobile=True)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
