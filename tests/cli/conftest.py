"""A folder with a table full of markers, a policy, and a way to run commands in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from privacy_plugin.cli.app import app
from tests.certificates import TEST_KEY

MARKERS = ("zqperson", "97131", "zqillness", "zqsecret")

POLICY: dict[str, Any] = {
    "dataset": "visits",
    "columns": {
        "person": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
        "illness": "sensitive",
        "remark": "insensitive",
    },
    "requirements": [{"k_anonymity": {"at_least": 5}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}],
    "anonymize": {"method": "generalize", "max_suppression": 0.1},
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sign with a test key, and read no URL from the environment."""
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    monkeypatch.delenv("PRIVACY_PLUGIN_URL", raising=False)
    monkeypatch.delenv("PRIVACY_PLUGIN_TRACEBACK", raising=False)


def people() -> pd.DataFrame:
    """Return eighty people and one person whose values are all markers."""
    frame = pd.DataFrame(
        {
            "person": [f"person{n}" for n in range(80)],
            "age": [str(20 + n % 3 * 20) for n in range(80)],
            "zip": [f"021{n % 4:02d}" for n in range(80)],
            "illness": [("flu", "cold", "cough")[n // 12 % 3] for n in range(80)],
            "remark": ["none"] * 80,
        }
    )
    frame.loc[80] = ["zqperson", "33", "97131", "zqillness", "zqsecret"]
    return frame


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with visits.csv and policy.yaml."""
    people().to_csv(tmp_path / "visits.csv", index=False)
    write_policy(tmp_path)
    return tmp_path


def write_policy(folder: Path, **changed: Any) -> Path:
    """Write the policy with some keys changed."""
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump({**POLICY, **changed}, sort_keys=False), encoding="utf-8")
    return path


Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run a command; its output must contain neither a traceback nor a marker."""

    def invoke(*arguments: object, reveals: bool = False) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        if not reveals:
            assert leaks(result.output) == []
        return result

    return invoke


def leaks(text: str) -> list[str]:
    """Return the markers in a text."""
    return [marker for marker in MARKERS if marker in text]


def words(result: Result) -> str:
    """Return the output of a command without frames and line breaks."""
    return " ".join(result.output.replace("│", " ").split())


def document(result: Result) -> dict[str, Any]:
    """Parse standard output as one JSON document."""
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed
