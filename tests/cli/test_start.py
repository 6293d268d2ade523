"""Help, completion and bad usage answer at once: nothing that works with data is loaded for them."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "numba", "sqlalchemy", "pandas", "pyarrow", "duckdb", "yaml", "altair", "dagster")

# Runs a command line as an installed one does, and tells on its last line which libraries it loaded.
PROGRAM = f"""
import sys
from privacy_plugin.cli import main
try:
    main()
finally:
    print("loaded:", *(name for name in {HEAVY!r} if name in sys.modules))
"""


def loaded(*arguments: str) -> tuple[int, str, list[str]]:
    """Run a command line in a process of its own: its exit code, what it says, and what it loaded."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False)
    *said, last = done.stdout.splitlines()
    return done.returncode, "\n".join(said) + done.stderr, last.split()[1:]


@pytest.mark.parametrize("command", [(), ("init",), ("check",), ("anonymize",), ("report",), ("ledger",), ("demo",)])
def test_help_loads_nothing_that_works_with_data(command: tuple[str, ...]) -> None:
    code, said, libraries = loaded(*command, "--help")
    assert code == 0
    assert "Usage:" in said
    assert libraries == []


def test_neither_does_bad_usage() -> None:
    code, said, libraries = loaded("check", "--colour")
    assert code == 2
    assert "--colour" in said
    assert libraries == []


def test_the_libraries_of_work_are_seen_where_there_is_work() -> None:
    _, _, libraries = loaded("check", "absent.csv", "--policy", "absent.yaml")
    assert {"numpy", "yaml"} <= set(libraries)
