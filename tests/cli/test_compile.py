"""`compile`: a later process finds the compiled code, also where the package folder is not writable."""

import json
import os
import subprocess
import sys

import pytest


def seconds(folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    run = subprocess.run(
        [sys.executable, "-m", "privacy_plugin", "compile", "--json"], env=environment, capture_output=True, check=True
    )
    return json.loads(run.stdout)["seconds"]


@pytest.mark.slow
def test_the_second_process_does_not_compile_again(tmp_path):
    first = seconds(tmp_path)
    compiled = {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    second = seconds(tmp_path)
    assert compiled
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == compiled
    assert set(first) == set(second)
