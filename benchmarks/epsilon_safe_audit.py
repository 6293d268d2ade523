"""Audit epsilon-safe lattice anonymization with many runs: the epsilon that is observed, and the one claimed.

    python benchmarks/epsilon_safe_audit.py [--runs 2000]

The tables and the broken variants are those of tests/anonymizers/test_epsilon_safe_audit.py; every line is right but
for a probability of 1e-4. The last column is the number of runs on each of the two neighbouring tables.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.anonymizers.epsilon_safe_audit import ALONE, EPSILON, NEARLY_K, K, audited

VARIANTS = [
    ("as stated, secure source, person alone", ALONE, {"generator": None}),
    ("as stated, secure source, k - 1 others", NEARLY_K, {"generator": None}),
    ("no sampling", NEARLY_K, {"beta": 1.0}),
    ("0.97 sampled instead of 0.5", NEARLY_K, {"beta": 0.97}),
    ("0.9 sampled instead of 0.5", NEARLY_K, {"beta": 0.9}),
    ("0.8 sampled instead of 0.5", NEARLY_K, {"beta": 0.8}),
    ("no suppression", ALONE, {"k": 1}),
    (f"sensitivity {K} times too small (k forgotten)", ALONE, {"epsilon": K * EPSILON}),
    ("sensitivity 50 times too small", ALONE, {"epsilon": 50 * EPSILON}),
    ("sensitivity 100 times too small", ALONE, {"epsilon": 100 * EPSILON}),
    ("sensitivity 200 times too small", ALONE, {"epsilon": 200 * EPSILON}),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    runs = parser.parse_args().runs
    for name, others, broken in VARIANTS:
        seen, claimed = audited(others, runs, **broken)
        outcome = "REFUTED" if seen > claimed else "stands"
        print(f"{name:48}: seen {seen:6.2f}, claimed {claimed:.2f}: {outcome}, {runs:,}", flush=True)


if __name__ == "__main__":
    main()
