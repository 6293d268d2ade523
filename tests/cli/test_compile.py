"""`compile`: a later process finds the compiled code, also where the package folder is not writable."""

import importlib
import json
import os
import subprocess
import sys

import pytest

from privacy_plugin.cli.compile import keep_bytecode


def seconds(folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    run = subprocess.run(
        [sys.executable, "-m", "privacy_plugin", "compile", "--json"], env=environment, capture_output=True, check=True
    )
    return json.loads(run.stdout)["seconds"]


def test_modules_without_bytecode_get_it(tmp_path, monkeypatch):
    """Also where PYTHONDONTWRITEBYTECODE keeps imports from writing it."""
    (tmp_path / "kept.py").write_text("ANSWER = 42\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    kept = importlib.import_module("kept")
    assert not list(tmp_path.rglob("*.pyc"))
    keep_bytecode([kept, sys])
    assert [path.name for path in tmp_path.rglob("*.pyc")] == [f"kept.{sys.implementation.cache_tag}.pyc"]


@pytest.mark.slow
def test_the_second_process_does_not_compile_again(tmp_path):
    first = seconds(tmp_path)
    compiled = {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    second = seconds(tmp_path)
    assert compiled
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == compiled
    assert set(first) == set(second)


COMPILED = """
import sys
from privacy_plugin.compiled import njit

@njit()
def twice(number):
    return 2 * number

assert twice(21) == 42
print(sum(twice.stats.cache_hits.values()), sum(twice.stats.cache_misses.values()))
"""

READ_ONLY = """
import os, sys, tempfile
from numba.core import caching

def refuse(self):
    raise PermissionError("read-only")

caching._CacheLocator.ensure_cache_path = refuse
sys.path.insert(0, os.getcwd())
import loops
"""


def run(folder, program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


def test_compiled_code_is_found_in_a_read_only_folder_and_another_processor_compiles_again(tmp_path):
    (tmp_path / "loops.py").write_text(COMPILED)
    assert run(tmp_path, READ_ONLY) == [0, 1]  # no folder at all: compiled for this process
    assert not list(tmp_path.rglob("*.nb*"))
    assert run(tmp_path, "import loops") == [0, 1]
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*.nb*")}
    assert before
    assert run(tmp_path, READ_ONLY) == [1, 0]
    assert run(tmp_path, READ_ONLY, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == [0, 1]
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*.nb*")} == before
