"""Loops that run in Python at first: the same results as the compiled ones, and no numba for a small table."""

import os
import subprocess
import sys

BOTH_WAYS = """
import random
import sys
from privacy_plugin import compiled
from privacy_plugin.metrics.maximum_disclosure import disclosure, exact_disclosure

def results(seed):
    rng = random.Random(seed)
    counts, offsets = [], [0]
    for _ in range(rng.randint(1, 40)):
        counts += [rng.choice((1, 1, 2, 3, 50, 10**12)) for _ in range(rng.choice((1, 2, 3, 6, 60)))]
        offsets.append(len(counts))
    table = {"offsets": offsets, "value_counts": counts, "knowledge": rng.randint(0, 6)}
    curve, error = disclosure.disclosure_curve(**table)
    values, _ = disclosure.class_disclosures(**table)
    tops, bottoms = disclosure.class_negations(**table)
    return (
        curve.tolist(), error, values.tolist(), tops.tolist(), bottoms.tolist(), disclosure.negation_curve(**table),
        exact_disclosure.exact_disclosure_curve(**table),
    )

compiled.INTERPRETED_STEPS = float("inf")
in_python = [results(seed) for seed in range(60)]
assert "numba" not in sys.modules
compiled.INTERPRETED_STEPS = 0
assert [results(seed) for seed in range(60)] == in_python
assert "numba" in sys.modules
"""

SMALL = """
import sys
import pandas as pd
import privacy_plugin as pp

people = pd.DataFrame({"age": [20 + n % 5 for n in range(500)], "illness": [f"i{n % 7}" for n in range(500)]})
requirement = pp.require("maximum_disclosure", knowledge=2, below=1)
assert requirement.judge(people, quasi_identifiers=["age"], sensitive="illness").passed
assert "numba" not in sys.modules
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_loops_in_python_equal_compiled_ones() -> None:
    run(BOTH_WAYS)


def test_a_small_gate_does_not_import_numba() -> None:
    assert "NUMBA_DISABLE_JIT" not in os.environ
    run(SMALL)
