"""`check`: the exit codes, the words, the JSON, the certificate."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from privacy_plugin.gate.certificate import read_certificate
from tests.cli.conftest import MARKERS, POLICY, Run, document, leaks, people, words, write_policy


def released(folder: Path, frame: pd.DataFrame) -> Path:
    path = folder / "candidate.csv"
    frame.drop(columns="person").to_csv(path, index=False)
    return path


def test_a_table_that_meets_the_policy_exits_with_0(folder: Path, run: Run) -> None:
    path = released(folder, people().iloc[:80])
    result = run("check", path, "--policy", folder / "policy.yaml")
    assert result.exit_code == 0
    assert "PASSED: the gate is open" in result.output


def test_a_table_that_fails_the_policy_exits_with_1_and_names_the_remedy(folder: Path, run: Run) -> None:
    result = run("check", released(folder, people()), "--policy", folder / "policy.yaml")
    assert result.exit_code == 1
    assert "FAILED: the gate is closed" in result.output
    assert "1 of 81 people (1.2%) do not meet it" in words(result)
    assert "An attacker who knows age, zip of such a person" in words(result)
    assert "To fix it:" in words(result)
    assert "privacy-plugin anonymize" in words(result)


def test_anonymize_is_not_suggested_without_hierarchies(folder: Path, run: Run) -> None:
    """Without hierarchies nothing can be generalized."""
    write_policy(folder, columns={**POLICY["columns"], "zip": "quasi_identifier"})
    result = run("check", released(folder, people()), "--policy", folder / "policy.yaml")
    assert result.exit_code == 1
    assert "privacy-plugin anonymize" not in words(result)


def test_anonymize_is_suggested_where_people_are_counted(folder: Path, run: Run) -> None:
    columns = {**POLICY["columns"], "person": "unit"}
    write_policy(folder, columns=columns)
    result = run("check", folder / "visits.csv", "-p", folder / "policy.yaml")
    assert result.exit_code == 1
    assert "privacy-plugin anonymize" in words(result)
    write_policy(folder, columns=columns, requirements=[{"k_anonymity": {"at_least": 5}}])
    assert "privacy-plugin anonymize" in words(run("check", folder / "visits.csv", "-p", folder / "policy.yaml"))


def test_notes_of_passed_metrics_are_printed(folder: Path, run: Run) -> None:
    """The order of text values is alphabetical, which may not be intended."""
    write_policy(folder, requirements=[{"t_closeness": {"ground": "ordered", "at_most": 1}}])
    result = run("check", released(folder, people()), "-p", folder / "policy.yaml")
    assert result.exit_code == 0
    assert "taken in alphabetical order" in words(result)


def test_values_are_shown_only_with_reveal(folder: Path, run: Run) -> None:
    result = run("check", released(folder, people()), "-p", folder / "policy.yaml", "--reveal", reveals=True)
    assert result.exit_code == 1
    assert "97131" in leaks(result.output)


def test_identifier_columns_exit_with_2_and_a_hint(folder: Path, run: Run) -> None:
    result = run("check", folder / "visits.csv", "-p", folder / "policy.yaml")
    assert result.exit_code == 2
    assert "NOT EVALUATED: the gate is closed" in result.output
    assert "identifier column 'person' is still in the table" in words(result)
    assert "--without-identifiers" in words(result)


def test_report_gives_the_same_hint_about_identifiers(folder: Path, run: Run, tmp_path: Path) -> None:
    asked = ["report", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", tmp_path / "report.html"]
    assert "--without-identifiers" in words(run(*asked))
    assert "--without-identifiers" not in words(run(*asked, "--without-identifiers", "--force"))


@pytest.mark.parametrize("command", ["check", "report", "anonymize", "init"])
def test_an_unreachable_server_is_reported_once(command: str, folder: Path, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://me:MARKER-PASSWORD@127.0.0.1:1/clinic"
    output = [] if command == "check" else ["-o", tmp_path / "made.html"]
    policy = [] if command == "init" else ["-p", folder / "policy.yaml"]
    result = run(command, *policy, "--url", url, "--table", "visits", *output)
    assert result.exit_code == 2
    assert words(result).count("cannot connect to postgresql at 127.0.0.1:1, database 'clinic'") == 1
    assert "is it running, and are the user and password right?" in words(result)
    assert "failed" not in words(result)
    assert "MARKER-PASSWORD" not in result.output


def test_without_identifiers_judges_the_other_columns(folder: Path, run: Run) -> None:
    result = run("check", folder / "visits.csv", "-p", folder / "policy.yaml", "--without-identifiers", "--json")
    assert result.exit_code == 1
    assert document(result)["rows"] == 81


def test_the_hint_is_not_repeated_with_without_identifiers(folder: Path, run: Run) -> None:
    path = folder / "empty.csv"
    people().iloc[:0].to_csv(path, index=False)
    result = run("check", path, "-p", folder / "policy.yaml", "--without-identifiers")
    assert result.exit_code == 2
    assert "--without-identifiers" not in words(result)


def test_an_undeclared_column_keeps_the_gate_closed(folder: Path, run: Run) -> None:
    path = released(folder, people().assign(extra="x"))
    result = run("check", path, "-p", folder / "policy.yaml")
    assert result.exit_code == 2
    assert "column 'extra' has no role in the policy" in words(result)


def test_an_empty_table_keeps_the_gate_closed(folder: Path, run: Run) -> None:
    result = run("check", released(folder, people().iloc[:0]), "-p", folder / "policy.yaml", "--json")
    assert result.exit_code == 2
    assert document(result)["passed"] is False


def test_a_failed_and_a_not_evaluated_requirement_exit_with_1(folder: Path, run: Run) -> None:
    roles = {"person": "unit", "age": "quasi_identifier", "zip": "quasi_identifier", "illness": "sensitive"}
    asked = [{"k_anonymity": {"at_least": 5}}, {"k_map": {"at_least": 5}}]  # there is no population
    write_policy(folder, columns={**roles, "remark": "insensitive"}, requirements=asked)
    result = run("check", folder / "visits.csv", "-p", folder / "policy.yaml", "--json")
    assert [finding["status"] for finding in document(result)["findings"]] == ["failed", "not_evaluated"]
    assert result.exit_code == 1
    write_policy(folder, columns={**roles, "remark": "insensitive"}, requirements=[{"k_anonymity": {"at_least": 1}}])
    assert run("check", folder / "visits.csv", "-p", folder / "policy.yaml").exit_code == 0


def test_json_is_the_only_standard_output(folder: Path, run: Run) -> None:
    result = run("check", released(folder, people()), "-p", folder / "policy.yaml", "--json")
    found = document(result)
    assert result.exit_code == 1
    assert found["passed"] is False
    assert found["findings"][0]["value"] == 1
    assert found["findings"][0]["people_affected"] == 1
    assert "FAILED" in result.stderr


def test_json_contains_values_only_with_reveal(folder: Path, run: Run) -> None:
    path = released(folder, people())
    hidden = run("check", path, "-p", folder / "policy.yaml", "--json")
    assert "members" not in hidden.stdout
    shown = run("check", path, "-p", folder / "policy.yaml", "--json", "--reveal", reveals=True)
    assert document(shown)["findings"][0]["measurement"]["worst"][0]["members"]["zip"] == "97131"


def test_passed_and_failed_verdicts_are_recorded(folder: Path, run: Run) -> None:
    certificates = folder / "certificates"
    arguments = ("-p", folder / "policy.yaml", "--certificate-folder", certificates, "--json")
    refused = run("check", released(folder, people()), *arguments)
    certificate = Path(document(refused)["certificate"])
    assert read_certificate(certificate).passed is False
    assert leaks(read_certificate(certificate).payload.decode()) == []
    passed = run("check", released(folder, people().iloc[:80]), *arguments)
    assert document(passed)["certificate"] == str(certificate)
    assert read_certificate(certificate).passed


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_check_a_database_table(folder: Path, run: Run, dialect: str) -> None:
    url = f"{dialect}:///{folder / 'clinic.db'}"
    engine = sa.create_engine(url)
    frame = people().drop(columns="person")
    with engine.begin() as connection:
        if dialect == "duckdb":
            connection.connection.driver_connection.register("given", frame)
            connection.exec_driver_sql("CREATE TABLE visits AS SELECT * FROM given")
        else:
            frame.to_sql("visits", connection, index=False)
    engine.dispose()
    result = run("check", "-p", folder / "policy.yaml", "--url", url, "--table", "visits", "--json")
    assert result.exit_code == 1
    assert document(result)["findings"][0]["value"] == 1
    missing = run("check", "-p", folder / "policy.yaml", "--url", url, "--table", "nothing")
    assert missing.exit_code == 2


def test_run_as_a_module(folder: Path) -> None:
    path = released(folder, people())
    command = [sys.executable, "-m", "privacy_plugin", "check", str(path), "--policy", str(folder / "policy.yaml")]
    failed = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stdout.startswith("{")
    assert not leaks(failed.stdout + failed.stderr)
    broken = subprocess.run([*command[:4], str(folder / "absent.csv"), *command[5:]], capture_output=True, text=True)
    assert broken.returncode == 2
    assert "Traceback" not in broken.stderr
    assert "does not exist" in broken.stderr
    assert broken.stdout == ""


def test_markers_are_in_the_table() -> None:
    assert all(people().isin([marker]).any().any() for marker in MARKERS)
