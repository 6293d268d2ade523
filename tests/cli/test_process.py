"""The command line as a process: lazy imports, encodings and signals."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import people, write_policy

HEAVY = ("numpy", "numba", "sqlalchemy", "pandas", "pyarrow", "duckdb", "yaml", "altair", "dagster")

# Runs a command line like the installed program, and prints the imported libraries on the last line.
PROGRAM = f"""
import sys
from privacy_plugin.cli import main
try:
    main()
finally:
    print("loaded:", *(name for name in {HEAVY!r} if name in sys.modules))
"""


def loaded(*arguments: str) -> tuple[int, str, list[str]]:
    """Run a command line in a new process; return its exit code, its output, and the imported libraries."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False)
    *output, last = done.stdout.splitlines()
    return done.returncode, "\n".join(output) + done.stderr, last.split()[1:]


@pytest.mark.parametrize("command", [(), ("init",), ("check",), ("anonymize",), ("report",), ("ledger",), ("demo",)])
def test_help_does_not_import_data_libraries(command: tuple[str, ...]) -> None:
    code, output, libraries = loaded(*command, "--help")
    assert code == 0
    assert "Usage:" in output
    assert libraries == []


def test_bad_usage_does_not_import_data_libraries() -> None:
    code, output, libraries = loaded("check", "--colour")
    assert code == 2
    assert "--colour" in output
    assert libraries == []


def test_a_check_imports_data_libraries() -> None:
    _, _, libraries = loaded("check", "absent.csv", "--policy", "absent.yaml")
    assert {"numpy", "yaml"} <= set(libraries)


def test_a_check_without_compiled_loops_does_not_import_numba(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "visits.csv", index=False)
    policy = write_policy(tmp_path)
    code, _, libraries = loaded("check", str(tmp_path / "visits.csv"), "-p", str(policy), "--without-identifiers")
    assert code == 1
    assert "numba" not in libraries


@pytest.mark.parametrize("json_too", [False, True])
def test_an_ascii_terminal_shows_the_reasons(tmp_path: Path, json_too: bool) -> None:
    people().rename(columns={"remark": "Größe"}).to_csv(tmp_path / "visits.csv", index=False)
    text = write_policy(tmp_path).read_text(encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(text.replace("remark", "Größe").replace("dataset: v", "dataset: ü"), "utf-8")
    arguments = ["check", "visits.csv", "-p", "policy.yaml", "--without-identifiers", *(["--json"] if json_too else [])]
    done = subprocess.run(
        [sys.executable, "-m", "privacy_plugin", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    if json_too:
        assert json.loads(done.stdout)["dataset"] == "üisits"
    else:
        assert "* k-anonymity is 1, at least 5 is required." in " ".join(done.stdout.replace("|", " ").split())


# Ctrl-C arrives while the libraries of the command line are being loaded.
INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
from privacy_plugin.cli import main
main()
"""


def test_an_interrupt_during_imports_shows_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_ignored_interrupts_stay_ignored() -> None:
    ignoring = INTERRUPTED.replace("signal.default_int_handler", "signal.SIG_IGN")
    done = subprocess.run([sys.executable, "-c", ignoring, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0


# What `timeout`, systemd and Kubernetes send arrives while the result waits to be judged.
ENDED = """
import os, signal
from privacy_plugin.policy.policy import Policy

Policy.judge = lambda *given, **options: os.kill(os.getpid(), signal.SIGTERM)
from privacy_plugin.cli import main
main()
"""


def test_sigterm_removes_staged_rows(folder: Path) -> None:
    command = ["anonymize", "visits.csv", "--policy", "policy.yaml", "--output", "release.csv"]
    ended = subprocess.run([sys.executable, "-c", ENDED, *command], cwd=folder, capture_output=True, check=False)
    assert ended.returncode == 128 + signal.SIGTERM
    assert sorted(path.name for path in folder.iterdir()) == ["policy.yaml", "visits.csv"]


# pyarrow imports pandas when it first hands over numbers, and forgets what a signal's handler raised meanwhile.
SWALLOWED = """
import contextlib, os, signal
from privacy_plugin.policy.policy import Policy

own = Policy.judge

def judge(*given, **options):
    with contextlib.suppress(SystemExit):
        os.kill(os.getpid(), signal.SIGTERM)
    return own(*given, **options)

Policy.judge = judge
from privacy_plugin.cli import main
main()
"""


def test_a_swallowed_sigterm_still_prevents_the_release(folder: Path) -> None:
    command = ["anonymize", "visits.csv", "--policy", "policy.yaml", "--output", "release.csv"]
    ended = subprocess.run([sys.executable, "-c", SWALLOWED, *command], cwd=folder, capture_output=True, check=False)
    assert ended.returncode == 128 + signal.SIGTERM
    assert sorted(path.name for path in folder.iterdir()) == ["policy.yaml", "visits.csv"]
