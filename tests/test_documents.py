"""What the documents show is run as it stands there: policies, commands and Python."""

import re
import shlex
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.cli.app import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def policies() -> list[str]:
    return [text for document in DOCUMENTS for text in blocks(document, "yaml") if "dataset:" in text]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table and the policy that README speaks of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", "a key for tests only")
    for name in ("PRIVACY_PLUGIN_URL", "PRIVACY_PLUGIN_LEDGER"):
        monkeypatch.delenv(name, raising=False)
    draw = np.random.default_rng(7)
    people = {
        "patient_id": [f"P{number:04d}" for number in range(2_000)],
        "age": draw.integers(0, 100, 2_000),
        "zip": [f"{code:05d}" for code in draw.integers(2_100, 2_200, 2_000)],
        "diagnosis": draw.choice(["flu", "cold", "asthma", "cancer"], 2_000),
        "cost": draw.integers(10, 9_999, 2_000),
    }
    pd.DataFrame(people).to_csv("visits.csv", index=False)
    (tmp_path / "policy.yaml").write_text(blocks(ROOT / "README.md", "yaml")[0], encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("text", policies())
def test_policies_load(text: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
    assert pp.Policy.load(tmp_path / "policy.yaml").requirements


def test_there_are_policies_in_more_than_one_document() -> None:
    assert len(policies()) >= 2


def commands(document: Path) -> list[list[str]]:
    lines = re.findall(r"^    privacy-plugin (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def test_the_commands_of_the_readme(folder: Path) -> None:
    reviewed = (folder / "policy.yaml").read_text(encoding="utf-8")
    (folder / "policy.yaml").unlink()
    told = []
    for arguments in commands(ROOT / "README.md"):
        result = CliRunner().invoke(app, arguments)
        told.append((arguments[0], result.exit_code))
        if arguments[0] == "init":
            (folder / "policy.yaml").write_text(reviewed, encoding="utf-8")
    assert told == [("init", 0), ("check", 2), ("anonymize", 0), ("report", 0)]


def test_the_commands_of_randomized_releases(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = ROOT / "docs" / "randomized-releases.md"
    (folder / "policy.yaml").write_text(blocks(document, "yaml")[0], encoding="utf-8")
    monkeypatch.setenv("PRIVACY_PLUGIN_LEDGER", f"sqlite:///{folder / 'ledger.db'}")
    frame = pd.read_csv("visits.csv", dtype=str)
    frame = frame.assign(sex=["f", "m"] * 1_000, zip=["80011", "80012"] * 1_000)
    frame[["patient_id", "sex", "zip"]].to_csv("visits.csv", index=False)
    told = [(arguments[0], CliRunner().invoke(app, arguments).exit_code) for arguments in commands(document)]
    assert told == [("ledger", 0), ("anonymize", 0), ("check", 0), ("ledger", 0)]


def run(texts: list[str]) -> dict[str, Any]:
    """Run blocks one after the other in one module; return its names."""
    names: dict[str, Any] = {}
    for text in texts:
        exec(compile(text, "README.md", "exec"), names)
    return names


def test_the_python_of_the_readme(folder: Path) -> None:
    names = run(blocks(ROOT / "README.md", "python")[:1])
    assert not names["verdict"].passed
    assert names["policy"].judge(names["released"]).passed


def test_the_pipeline_of_the_readme(folder: Path) -> None:
    (pipeline,) = (text for text in blocks(ROOT / "README.md", "python") if "dagster" in text)
    with duckdb.connect("warehouse.duckdb") as connection:
        connection.execute("CREATE TABLE visits AS SELECT * FROM read_csv('visits.csv', all_varchar = true)")
    job = run([pipeline])["defs"].resolve_implicit_global_asset_job_def()
    assert job.execute_in_process().success
    with duckdb.connect("warehouse.duckdb") as connection:
        released = connection.execute("SELECT * FROM visits_release").df()
    assert pp.Policy.load("policy.yaml").judge(released).passed


def test_the_partitions_of_the_night(folder: Path) -> None:
    (pipeline,) = blocks(ROOT / "docs" / "operating.md", "python")
    with duckdb.connect("warehouse.duckdb") as connection:
        for clinic in ("north", "south"):
            connection.execute(f"CREATE TABLE visits_{clinic} AS FROM read_csv('visits.csv', all_varchar = true)")
        connection.execute("DELETE FROM visits_south WHERE diagnosis <> 'flu'")
    job = run([pipeline])["defs"].resolve_implicit_global_asset_job_def()
    assert job.execute_in_process(partition_key="north").success
    assert not job.execute_in_process(partition_key="south", raise_on_error=False).success
    with duckdb.connect("warehouse.duckdb") as connection:
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert {name for name in tables if "release" in name} == {"visits_release_north"}


@pytest.mark.great_expectations
def test_the_expectations_of_the_readme(folder: Path) -> None:
    first, *_, last = blocks(ROOT / "README.md", "python")
    names = run([first, last])
    assert names["batch"].validate(names["policy"].to_expectation_suite()).success
