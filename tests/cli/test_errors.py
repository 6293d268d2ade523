"""Bad usage and bad input: exit code 2, a sentence, no traceback, no secret."""

from pathlib import Path

import pandas as pd
import pytest

from privacy_plugin.cli import inputs
from tests.cli.conftest import Run, document, words, write_policy


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "visits.csv"],
        ["nothing"],
        ["anonymize", "visits.csv", "--policy", "policy.yaml"],
        ["report", "visits.csv", "--policy", "policy.yaml"],
        ["check", "visits.csv", "--policy", "policy.yaml", "--severity", "warn"],
        ["demo", "--rows", "3"],
    ],
)
def test_bad_usage_exits_with_2(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_exactly_one_input_is_required(folder: Path, run: Run) -> None:
    policy = folder / "policy.yaml"
    for arguments in (
        ["-p", policy],
        ["-p", policy, "--url", "sqlite://"],
        ["-p", policy, "--table", "visits"],
        [folder / "visits.csv", "-p", policy, "--url", "sqlite://", "--table", "visits"],
    ):
        result = run("check", *arguments)
        assert result.exit_code == 2
        assert "either a file, or --url together with --table" in words(result)


@pytest.mark.parametrize("name", ["absent.csv", "visits.xlsx"])
def test_an_unreadable_file_exits_with_2(folder: Path, run: Run, name: str) -> None:
    assert run("check", folder / name, "-p", folder / "policy.yaml").exit_code == 2


def test_a_malformed_file_exits_with_2(folder: Path, run: Run) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 zqsecret, but nothing of a file")
    result = run("check", folder / "broken.parquet", "-p", folder / "policy.yaml", "--json")
    assert result.exit_code == 2
    assert document(result)["passed"] is False


def test_an_invalid_policy_exits_with_2(folder: Path, run: Run) -> None:
    for text in ("", "- 1", "columns: [", "dataset: x\ncolumns: {age: quasi}\nrequirements: [{k_anonymity: {}}]"):
        (folder / "policy.yaml").write_text(text)
        result = run("check", folder / "visits.csv", "-p", folder / "policy.yaml", "--json")
        assert result.exit_code == 2
        assert document(result)["error"]["kind"] == "PolicyError"
    assert run("check", folder / "visits.csv", "-p", folder / "absent.yaml").exit_code == 2


@pytest.mark.parametrize(
    "requirement",
    [{"k_anonimity": {"at_least": 5}}, {"k_anonymity": {}}, {"k_anonymity": {"at_most": 5}}, {"preset": "k7"}],
)
def test_an_invalid_requirement_exits_with_2(folder: Path, run: Run, requirement: dict[str, object]) -> None:
    write_policy(folder, requirements=[requirement])
    assert run("check", folder / "visits.csv", "-p", folder / "policy.yaml").exit_code == 2


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:zqsecret@127.0.0.1:1/clinic",
        "postgresql+psycopg://user:zqsecret@127.0.0.1:1/clinic?connect_timeout=2",
        "postgresql://user:zqsecret@host:notaport/clinic",
        "nosuchdatabase://user:zqsecret@host/clinic",
        "zqsecret",
        "mysql+pymysql://user:zqsecret@host/clinic",
    ],
)
def test_passwords_are_never_shown(folder: Path, run: Run, url: str) -> None:
    result = run("check", "-p", folder / "policy.yaml", "--url", url, "--table", "visits", "--json")
    assert result.exit_code == 2
    assert "zqsecret" not in result.output


def test_a_missing_database_file_is_not_created(folder: Path, run: Run) -> None:
    for dialect in ("sqlite", "duckdb"):
        url = f"{dialect}:///{folder / 'absent.db'}"
        result = run("check", "-p", folder / "policy.yaml", "--url", url, "--table", "visits")
        assert result.exit_code == 2
        assert "does not exist; check --url" in words(result)
    assert not (folder / "absent.db").exists()


def test_an_unexpected_error_is_reduced_to_its_type(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise RuntimeError("zqsecret")

    monkeypatch.setattr(inputs, "open_input", stumble)
    result = run("check", folder / "visits.csv", "-p", folder / "policy.yaml", "--json")
    assert result.exit_code == 2
    assert "unexpected RuntimeError" in document(result)["error"]["message"]


def test_an_interrupt_has_its_own_exit_code(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, "open_input", stop)
    assert run("check", folder / "visits.csv", "-p", folder / "policy.yaml").exit_code == 130


@pytest.mark.parametrize("command", ["init", "check", "anonymize", "report", "demo"])
def test_help_contains_examples(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"privacy-plugin {command}" in words(result)


def test_uncovered_values_are_shown_only_with_reveal(folder: Path, run: Run) -> None:
    """Without --reveal only their number is shown."""
    visits = pd.read_csv(folder / "visits.csv", dtype=str)
    visits.loc[0, "age"] = "MARKERAGE"
    visits.to_csv(folder / "visits.csv", index=False)
    command = ["anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv"]
    for more, revealed in (([], False), (["--reveal"], True)):
        result = run(*command, *more)
        assert result.exit_code == 2
        assert "of column 'age'" in words(result)
        assert ("does not cover 1 value(s) in 1 of 81 rows" in words(result)) is not revealed
        assert ("MARKERAGE" in result.output) is revealed


def test_an_unwritable_output_is_named(folder: Path, run: Run) -> None:
    taken = folder / "taken"
    taken.write_text("a file, no folder")
    demo = run("demo", "--rows", "500", "--folder", taken)
    assert demo.exit_code == 2
    assert f"cannot read or write '{taken}" in words(demo)
    check = run("check", folder / "visits.csv", "-p", folder / "policy.yaml", "--certificate-folder", taken)
    assert check.exit_code == 2
    assert f"cannot write the certificate to '{taken}'" in words(check)
