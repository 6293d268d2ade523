"""A policy that asks for a useful release: judged against the table that was read, and noted first where it is not."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.cli.conftest import POLICY, Run, people, words, write_policy

USEFUL: list[Any] = [{"usability": {"at_least": 0.3}}, {"query_error": {"at_most": 1}}]
GONE = "column 'age' was generalized to `*` in every row: it carries no information"


def asking(folder: Path, *requirements: dict[str, Any]) -> Path:
    return write_policy(folder, requirements=[*POLICY["requirements"], *requirements])


def test_anonymize_compares_with_the_table_it_read(folder: Path, run: Run) -> None:
    policy = asking(folder, *USEFUL)
    arguments = ["anonymize", folder / "visits.csv", "-p", policy, "-o", folder / "release.csv", "--json"]
    result = run(*arguments, "--report", folder / "report.html")
    assert result.exit_code == 0, result.output
    usability = json.loads(result.stdout)["verdict"]["findings"][2]
    assert 0.3 <= usability["value"] < 1
    assert set(usability["measurement"]["columns"]) == {"age", "zip", "illness"}
    assert "What every column lost" in (folder / "report.html").read_text(encoding="utf-8")
    again = ["check", folder / "release.csv", "-p", policy, "--json"]
    shown = json.loads(run(*again, "--population", folder / "visits.csv").stdout)
    assert shown["findings"][2]["value"] == usability["value"]
    assert run(*again).exit_code == 2  # without its original nothing can be compared


def test_a_release_of_little_use_is_not_written(folder: Path, run: Run) -> None:
    policy = asking(folder, {"usability": {"at_least": 0.99}})
    result = run("anonymize", folder / "visits.csv", "-p", policy, "-o", folder / "release.csv")
    assert result.exit_code == 1
    assert "usability is 0." in words(result)
    assert not (folder / "release.csv").exists()


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_in_a_database(folder: Path, run: Run, database: str) -> None:
    url = f"{database}:///{folder / 'house.db'}"
    engine = sa.create_engine(url)
    people().to_sql("visits", engine, index=False)
    engine.dispose()
    policy = asking(folder, *USEFUL)
    result = run("anonymize", "-p", policy, "--url", url, "--table", "visits", "-o", "release", "--json")
    assert result.exit_code == 0, result.output
    check = run("check", "-p", policy, "--url", url, "--table", "release", "--population", "visits")
    assert check.exit_code == 0, check.output


def test_a_column_of_stars_is_noted_before_anything_else(folder: Path, run: Run) -> None:
    people().drop(columns="person").assign(age="*").to_csv(folder / "release.csv", index=False)
    result = run("check", folder / "release.csv", "-p", folder / "policy.yaml")
    shown = words(result)
    assert f"warning: {GONE}" in shown
    assert shown.index(GONE) < shown.index("k_anonymity at least 5")
    shown = json.loads(run("check", folder / "release.csv", "-p", folder / "policy.yaml", "--json").stdout)
    assert shown["notes"][0] == GONE
    result = run("report", folder / "release.csv", "-p", folder / "policy.yaml", "-o", folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.index("it carries no information") < page.index("<section")
