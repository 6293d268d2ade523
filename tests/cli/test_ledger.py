"""The budget at the command line: the view, the cap, and the randomized methods of `anonymize`."""

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
import yaml

from privacy_plugin import using_ledger
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.policy.policy import ORIGINAL_NOT_JUDGED, Policy
from tests.cli.conftest import Run, document, words
from tests.randomized_policies import EPSILON_SAFE, RESPONSE, SYNTHESIZE, people, policy_dict

CAP = ["--dataset", "visits", "--set-cap", "2", "--delta", "0.01"]
DOMAINS = {"sex": ["f", "m"], "zip": ["100", "101", "102", "109"]}
DECLARED = {**SYNTHESIZE, "domains": DOMAINS}
MADE = ("version", "method", "left_out", "drawn", "spent", "remaining", "verdict", "kept")
WRITTEN = ("passed", "output", "plan_file", "report")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRIVACY_PLUGIN_LEDGER", f"sqlite:///{tmp_path / 'secretplace.db'}")
    monkeypatch.setenv("COLUMNS", "200")  # a narrow terminal breaks the lines of the table
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
    pd.DataFrame(people()).to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path


@pytest.fixture
def anonymize(place: Path, run: Run) -> Run:
    files = (place / "visits.csv", "--policy", place / "policy.yaml", "--output", place / "made.csv")
    return lambda *more: run("anonymize", *files, *more)


def test_from_a_cap_to_a_checked_release(place: Path, run: Run, anonymize: Run) -> None:
    assert run("ledger", *CAP).exit_code == 0
    made = anonymize("--report", str(place / "report.html"), "--json")
    assert made.exit_code == 0, made.output
    content = document(made)
    assert content["spent"] == {"epsilon": 1, "delta": 1e-6, "unit": "row", "mechanism": "synthesis by row"}
    assert content["remaining"]["epsilon"] == 1.60713468162  # at the delta of the cap the draw counts less than 1
    assert content["verdict"]["passed"] is True
    assert list(pd.read_csv(place / "made.csv").columns) == ["sex", "zip"]
    assert run("check", place / "made.csv", "--policy", place / "policy.yaml").exit_code == 0
    assert run("check", place / "visits.csv", "--policy", place / "policy.yaml", "--without-identifiers").exit_code == 2
    viewed = document(run("ledger", "--json"))
    assert viewed["budgets"] == [
        {
            "dataset": "visits",
            "unit": "row",
            "cap": {"epsilon": 2, "delta": 0.01},
            "spent": {"epsilon": 0.39286531838, "delta": 0.01},
            "composition": "zero-concentrated",
            "added": {"epsilon": 1, "delta": 1e-6},
            "remaining": {"epsilon": 1.60713468162, "delta": 0},
        }
    ]
    assert [(entry["status"], entry["private"]) for entry in viewed["entries"]] == [("committed", True)]
    viewed_by_people = run("ledger").output
    assert "synthesis by row" in viewed_by_people
    assert "committed" in viewed_by_people
    page = (place / "report.html").read_text()
    assert "epsilon 0.39286531838, delta 0.01 a row; composed over 1 spend" in page
    assert (
        "zero-concentrated composition is the smaller bound; added up, it is epsilon 1, delta 1e-06" in viewed_by_people
    )
    assert "the number of rows is public" in page
    assert "What is left" not in page  # no budget covers a comparison with the original
    for told_to_people in (viewed_by_people, made.output, page):
        assert "secretplace" not in told_to_people
        assert "MARKER" not in told_to_people
    assert not list(place.glob(".made*"))


@pytest.mark.parametrize(
    "method", [DECLARED, {**RESPONSE, "domains": DOMAINS}, EPSILON_SAFE], ids=lambda m: m["method"]
)
def test_neighbouring_tables_show_nothing_of_their_own_verdicts(
    place: Path, run: Run, anonymize: Run, method: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row decides whether the original meets k-anonymity; the report, the terminal and JSON must not show it."""
    budget = {"privacy_budget": {"at_most": 99, "delta": 0.5, "privacy_unit": "row"}}
    given = policy_dict(requirements=[budget, {"k_anonymity": {"at_least": 2}}], anonymize=method)
    (place / "policy.yaml").write_text(yaml.safe_dump(given))
    run("ledger", "--dataset", "visits", "--set-cap", "99", "--delta", "0.5")
    alone = {**people(), "zip": ["109", *people()["zip"][1:]]}
    exact, judge, judged = [], Policy.judge, []
    monkeypatch.setattr(Policy, "judge", lambda *a, **options: judged.append(a) or judge(*a, **options))
    for rows in (people(), alone):
        frame = pd.DataFrame(rows)
        frame.to_csv(place / "visits.csv", index=False)
        with using_ledger(BudgetLedger(os.environ["PRIVACY_PLUGIN_LEDGER"])):
            verdict = judge(Policy.load(place / "policy.yaml"), frame.drop(columns="name"))
        exact.append([finding.passed for finding in verdict.findings if finding.requirement.metric == "k_anonymity"])
        for shown in ((), ("--json",)):
            judged.clear()
            made = anonymize("--report", str(place / "report.html"), "--force", *shown)
            assert made.exit_code in (0, 1), made.output  # the draw decides whether it meets k-anonymity itself
            assert len(judged) == 1
            page = (place / "report.html").read_text()
            assert ORIGINAL_NOT_JUDGED in page
            assert ORIGINAL_NOT_JUDGED in words(made)
            assert "Verdicts in order" not in page
            for text in (page, made.output):
                assert "as it is" not in text
            if shown:
                assert set(document(made)) == {*MADE, *WRITTEN}
        again = place / "again.html"
        compared = run(
            *("report", place / "visits.csv", "-p", place / "policy.yaml", "-o", again, "--force"),
            *("--before", place / "visits.csv", "--without-identifiers"),
        )
        assert ORIGINAL_NOT_JUDGED in words(compared)
        assert "Verdicts in order" not in again.read_text()
    assert exact == [[True], [False]]


def test_a_spent_budget_stops_the_next_draw_and_leaves_the_release(place: Path, run: Run, anonymize: Run) -> None:
    run("ledger", *CAP)
    response = policy_dict(anonymize={**RESPONSE, "domains": DOMAINS})
    (place / "policy.yaml").write_text(yaml.safe_dump(response))
    assert anonymize().exit_code == 0
    assert anonymize("--force").exit_code == 0
    before = (place / "made.csv").read_bytes()
    third = anonymize("--force")
    assert third.exit_code == 2
    assert "could not pass privacy_budget" in words(third)
    assert (place / "made.csv").read_bytes() == before


def test_a_table_of_a_database_is_drawn_into_the_same_database(place: Path, run: Run) -> None:
    run("ledger", *CAP)
    (place / "policy.yaml").write_text(yaml.safe_dump(policy_dict(anonymize=EPSILON_SAFE)))
    url = f"duckdb:///{place / 'house.duckdb'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE visits AS SELECT * FROM read_csv('{place / 'visits.csv'}')")
    engine.dispose()
    common = ["--policy", place / "policy.yaml", "--url", url]
    # DuckDB read the zip codes as numbers, which the mask hierarchy takes all the same.
    made = run("anonymize", *common, "--table", "visits", "--output", "made")
    assert made.exit_code == 0, made.output
    assert run("check", *common, "--table", "made").exit_code == 0


def test_randomized_response_is_drawn_checked_and_described(place: Path, run: Run, anonymize: Run) -> None:
    run("ledger", *CAP)
    (place / "policy.yaml").write_text(yaml.safe_dump(policy_dict(anonymize=RESPONSE)))
    content = document(anonymize("--json"))
    assert content["spent"] == {"epsilon": 1, "delta": 0, "unit": "row", "mechanism": "randomized response"}
    assert set(content["drawn"]["keep"]) == {"sex", "zip"}
    assert len(pd.read_csv(place / "made.csv")) == len(people()["sex"])
    assert run("check", place / "made.csv", "--policy", place / "policy.yaml").exit_code == 0
    again = words(anonymize("--force"))
    assert "randomized response: spent epsilon 1, delta 0 a row" in again
    assert "protects one cell: tables that differ in one cell" in again


def test_a_plan_option_raises_before_budget_is_spent(place: Path, run: Run, anonymize: Run) -> None:
    run("ledger", *CAP)
    refused = anonymize("--plan", str(place / "plan.json"))
    assert refused.exit_code == 2
    assert "makes no plan" in words(refused)
    assert document(run("ledger", "--json"))["entries"] == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--set-cap", "1"], "--set-cap needs --dataset"),
        (["--dataset", "visits", "--set-cap", "much"], "must be a number"),
        (["--dataset", "visits", "--set-cap", "-1"], "at least 0"),
        ([], "no budget ledger at this address"),
        (["--ledger", "mysql://anna:secret@host/x"], "SQLite or PostgreSQL"),
    ],
)
def test_bad_usage_exits_with_2_and_creates_no_ledger(
    run: Run, place: Path, arguments: list[str], expected: str
) -> None:
    result = run("ledger", *arguments)
    assert result.exit_code == 2
    assert expected in words(result)
    assert not (place / "secretplace.db").exists()
    assert "secret" not in result.output
    assert "anna" not in result.output


def test_without_a_ledger_url_the_error_names_the_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVACY_PLUGIN_LEDGER")
    assert "PRIVACY_PLUGIN_LEDGER" in run("ledger").output


def test_the_reservation_of_a_killed_run_is_shown(place: Path, run: Run) -> None:
    run("ledger", *CAP)
    ledger = BudgetLedger(f"sqlite:///{place / 'secretplace.db'}")
    ledger.reserve(dataset="visits", unit="row", epsilon="1/3", mechanism="killed")
    assert "reserved" in run("ledger").output
    assert document(run("ledger", "--json"))["budgets"][0]["remaining"]["epsilon"] == "5/3"


def test_a_dataset_without_a_cap_is_unknown(run: Run) -> None:
    assert run("ledger", *CAP).exit_code == 0
    misspelt = run("ledger", "--dataset", "visit")
    assert misspelt.exit_code == 2
    assert "did you mean 'visits'?" in words(misspelt)


def test_a_cap_is_exactly_the_written_number(place: Path, run: Run) -> None:
    assert run("ledger", "--dataset", "visits", "--set-cap", "0.09999999999999999999").exit_code == 0
    cap = BudgetLedger(f"sqlite:///{place / 'secretplace.db'}").cap(dataset="visits", unit="row")
    assert cap is not None
    assert cap.epsilon == Fraction("0.09999999999999999999")
