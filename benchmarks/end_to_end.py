"""Compare `anonymize` from a file to a released file with DuckDB doing only the recoding and the sort.

Run from the project's root: python benchmarks/end_to_end.py [rows ...] (1000000 without arguments). Both sides are
whole processes that read the same generated file (five quasi-identifiers, three other columns, a record number that is
left out) and write one of the same format. Ours also searches the lattice, judges the result, identifies it by its
fingerprint and verifies what was released. DuckDB is given the labels of every value, joins them, sorts by all columns
and writes. Numbers are processor seconds of all threads, with the start of the process, the best of two runs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

POLICY = """
dataset: visits
columns:
  record: identifier
  age: {role: quasi_identifier, hierarchy: {intervals: {start: 0, stop: 100, widths: [5, 10, 20]}}}
  sex: {role: quasi_identifier, hierarchy: {tree: {any: [m, f]}}}
  zip: {role: quasi_identifier, hierarchy: {mask: {length: 5}}}
  education: {role: quasi_identifier, hierarchy: {tree: {low: [e0, e1, e2, e3, e4],
    mid: [e5, e6, e7, e8, e9, e10], high: [e11, e12, e13, e14, e15]}}}
  marital: {role: quasi_identifier, hierarchy: {tree: {a: [m0, m1, m2], b: [m3, m4, m5, m6]}}}
  diagnosis: sensitive
  occupation: insensitive
  cost: insensitive
requirements:
  - k_anonymity: {at_least: 5}
anonymize: {method: METHOD, max_suppression: 0.05}
"""
ROWS = """
SELECT i AS record, 17 + CAST(floor(73 * r1 * r1) AS INT) AS age, ['m', 'f'][1 + CAST(floor(r2 * 2) AS INT)] AS sex,
  lpad(CAST(CAST(floor(r3 * r3 * 1000) AS INT) * 10 + 1000 AS VARCHAR), 5, '0') AS zip,
  'e' || CAST(floor(r4 * 16) AS INT) AS education, 'm' || CAST(floor(r5 * r5 * 7) AS INT) AS marital,
  'o' || CAST(floor(r6 * 14) AS INT) AS occupation, 'd' || CAST(floor(r7 * r7 * 20) AS INT) AS diagnosis,
  round(r8 * 10000, 2) AS cost
FROM (SELECT range AS i, random() r1, random() r2, random() r3, random() r4, random() r5, random() r6, random() r7,
  random() r8 FROM range({rows}))
"""
# The labels of the plan that `generalize` finds: ages in fives, three digits of the zip code masked.
RECODE = """
import sys
import duckdb
source, target = sys.argv[1:]
reader = "all_varchar = true" if source.endswith(".csv") else ""
read = f"read_csv('{source}', {reader})" if reader else f"read_parquet('{source}')"
connection = duckdb.connect()
connection.execute(
    "CREATE TABLE ages AS SELECT CAST(range AS VARCHAR) AS old, "
    "'[' || range // 5 * 5 || ', ' || (range // 5 * 5 + 5) || ')' AS new FROM range(100)"
)
connection.execute("CREATE TABLE zips AS SELECT lpad(CAST(range AS VARCHAR), 5, '0') AS old, "
    "lpad(CAST(range // 1000 AS VARCHAR), 2, '0') || '***' AS new FROM range(0, 20000, 10)")
connection.execute(
    f"COPY (SELECT a.new AS age, sex, z.new AS zip, education, marital, diagnosis, occupation, cost FROM {read} s "
    "JOIN ages a ON a.old = CAST(s.age AS VARCHAR) JOIN zips z ON z.old = s.zip ORDER BY ALL) "
    f"TO '{target}'"
)
"""
SUFFIXES = {".parquet": {1_000_000: 4, 10_000_000: 3}, ".csv": {1_000_000: 5}}


def measure_seconds(command: list[str], repeats: int = 2) -> float:
    """Return the processor seconds of a process and its threads."""
    best = float("inf")
    for _ in range(repeats):
        before = os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        spent = after.children_user - before.children_user + after.children_system - before.children_system
        best = min(best, spent)
    return best


def main(sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in sizes:
            for suffix, targets in SUFFIXES.items():
                source, target = folder / f"visits{suffix}", folder / f"released{suffix}"
                duckdb.execute(f"SELECT setseed(0.5); COPY ({ROWS.format(rows=rows)}) TO '{source}'")
                alone = measure_seconds([sys.executable, "-c", RECODE, str(source), str(target)])
                wanted = f"target {targets[rows]}" if rows in targets else "no target"
                print(f"{rows:,} rows, {suffix}: DuckDB's recoding and sort {alone:.2f} s")
                for method in ("generalize", "generalize_locally"):
                    policy = folder / "policy.yaml"
                    policy.write_text(POLICY.replace("METHOD", method), encoding="utf-8")
                    own = [sys.executable, "-m", "privacy_plugin", "anonymize", str(source), "--policy", str(policy)]
                    ours = measure_seconds([*own, "--output", str(target), "--force"])
                    print(f"  {method}: {ours:.2f} s, {ours / alone:.1f} times DuckDB ({wanted})")


if __name__ == "__main__":
    main([int(rows) for rows in sys.argv[1:]] or [1_000_000])
