"""The demo: a failed gate, a passed gate, a release, and what it prints."""

import io
import os
import shlex
import shutil
import signal
import sys
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path

import pytest
import sqlalchemy as sa
from rich.console import Console

from privacy_plugin.demo import hospital
from privacy_plugin.demo.run import run_demo
from privacy_plugin.gate.certificate import read_certificate
from tests.certificates import TEST_KEY

ROWS = 3_000


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    before = dict(os.environ)
    os.environ["PRIVACY_PLUGIN_KEY"] = TEST_KEY
    os.environ["PRIVACY_PLUGIN_OUTPUT"] = "somewhere else"
    try:
        output, errors = io.StringIO(), io.StringIO()
        with redirect_stderr(errors):
            code = run_demo(folder=folder, rows=ROWS, console=Console(file=output, width=100))
        assert errors.getvalue() == ""  # Dagster is not heard
        assert os.environ["PRIVACY_PLUGIN_OUTPUT"] == "somewhere else"
        assert "PRIVACY_PLUGIN_DEMO_ROWS" not in os.environ
    finally:
        os.environ.clear()
        os.environ.update(before)
    return code, output.getvalue(), folder


def test_the_demo_succeeds(demonstrated: tuple[int, str, Path]) -> None:
    code, output, _ = demonstrated
    assert code == 0
    assert output.index("FAILED: the gate is closed") < output.index("PASSED: the gate is open")


def test_the_demo_prints_the_reasons(demonstrated: tuple[int, str, Path]) -> None:
    words = " ".join(demonstrated[1].replace("│", " ").split())
    assert "at least 11 is required" in words
    assert "An attacker who knows age, sex, zip, occupation" in words
    assert "To fix it:" in words
    assert "maximum disclosure (knowledge=1, diagnosis) is 1, below 0.85 is required" in words
    assert "delta-presence is 0 to 1, between 0 and 0.8 is required" in words
    assert "privacy score (maximum, confidence=0.9) is 0.5, below 0.3 is required" in words
    assert "left out, because it would link values to people: length_of_stay, cost" in words
    assert "l-diversity (entropy, diagnosis) is" in words  # two requirements of one metric have different titles


def test_the_demo_prints_the_paths(demonstrated: tuple[int, str, Path]) -> None:
    _, output, folder = demonstrated
    assert f"before and after: {folder / 'report.html'}" in output
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Passed: the gate is open" in page
    assert "as it is" in page
    assert "What is left" in page
    for gate in ("visits_as_is", "visits_anonymized", "diagnoses_dealt"):
        place = folder / "reports" / f"{gate}.html"
        assert place.exists()
        assert f"report of {gate}: {place}\n" in output  # in one piece, however narrow the terminal is


def test_the_printed_dagster_command_runs(demonstrated: tuple[int, str, Path]) -> None:
    _, output, folder = demonstrated
    (line,) = (line for line in output.splitlines() if line.startswith("in the browser: "))
    env, *settings, program, dev, flag, module = shlex.split(line.removeprefix("in the browser: "))
    assert (env, dev, flag) == ("env", "dev", "-m")
    assert f"PRIVACY_PLUGIN_OUTPUT={folder}" in settings
    assert f"PRIVACY_PLUGIN_DEMO_ROWS={ROWS}" in settings
    assert shutil.which(program) == program
    assert find_spec(module) is not None


def test_only_the_anonymized_table_was_released(demonstrated: tuple[int, str, Path]) -> None:
    folder = demonstrated[2]
    engine = sa.create_engine(f"duckdb:///{folder / 'warehouse.duckdb'}")
    with engine.connect() as connection:
        tables = {row[0] for row in connection.exec_driver_sql("SHOW TABLES").fetchall()}
        columns = [row[0] for row in connection.exec_driver_sql("DESCRIBE visits_release").fetchall()]
    engine.dispose()
    assert "visits_release" in tables
    assert "visits_as_is_release" not in tables
    assert {"diagnoses_release_people", "diagnoses_release_values"} <= tables
    assert not {"patient_id", "admission_date"} & set(columns)


def test_the_release_has_a_certificate(demonstrated: tuple[int, str, Path]) -> None:
    certificates = list((demonstrated[2] / "releases").glob("*.certificate.json"))
    assert [read_certificate(path).passed for path in certificates] == [True, True]


def test_without_dagster_the_demo_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dagster", None)
    output = io.StringIO()
    assert run_demo(folder=tmp_path, rows=ROWS, console=Console(file=output, width=100)) == 2
    assert "privacy-plugin[dagster]" in output.getvalue()
    assert not list(tmp_path.iterdir())


def test_an_interrupt_stops_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hospital, "load_hospital", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    output = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        run_demo(folder=tmp_path, rows=ROWS, console=Console(file=output, width=100))
    assert "Done" not in output.getvalue()
