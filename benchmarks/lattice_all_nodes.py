"""Count the suppressed rows of every node of a lattice: one compiled walk, and one pandas grouping for each node.

Run from the project's root: python benchmarks/lattice_all_nodes.py [nodes]. The table is looked for in
PRIVACY_PLUGIN_DATA or ../shared/data. Times are processor seconds of one thread, without compilation. pandas is timed
on a random sample of nodes (60 by default) and extrapolated to all of them, as the output states.
"""

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from privacy_plugin.generalization.walk.counts import suppressed_counts

K = 5


def read_census() -> tuple[pd.DataFrame, dict[str, pd.DataFrame]] | None:
    folder = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data")) / "adult10"
    if not (folder / "adult10.csv").exists():
        return None
    rows = pd.read_csv(folder / "adult10.csv", sep=";", dtype=str)
    files = {column: folder / f"adult10_hierarchy_{column}.csv" for column in rows}
    hierarchies = {c: pd.read_csv(f, sep=";", header=None, dtype=str) for c, f in files.items() if f.exists()}
    return rows[list(hierarchies)], hierarchies


def count_by_walk(codes: np.ndarray, level_maps: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """The best of three runs, each from the rows' codes on."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        lines, counts = np.unique(codes, axis=0, return_counts=True)
        result = suppressed_counts(lines, counts, level_maps, k=K)
        best = min(best, time.process_time() - start)
    return result, best


def count_by_pandas(rows: pd.DataFrame, lookups: list[pd.DataFrame], node: tuple[int, ...]) -> int:
    """Map every column to its level and group: the plain way to ask about one node."""
    general = {c: rows[c].map(lookup[level]) for c, lookup, level in zip(rows, lookups, node, strict=True)}
    frame = pd.DataFrame(general)
    sizes = frame.groupby(list(frame), sort=False, observed=True).size()
    return int(sizes[sizes < K].sum())


def main() -> None:
    found = read_census()
    if found is None:
        print("skipped: adult10 not found; set PRIVACY_PLUGIN_DATA to the folder that holds adult10/")
        return
    rows, hierarchies = found
    sample = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    codes = np.column_stack([pd.Index(hierarchies[c][0]).get_indexer(rows[c]) for c in rows])
    level_maps = [np.array([pd.factorize(h[level])[0] for level in h]) for h in hierarchies.values()]
    suppressed_counts(codes[:10], np.ones(10, dtype=np.int64), level_maps, k=K)  # compiles, or loads what was compiled
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result, ours = count_by_walk(codes, level_maps)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    lookups = [hierarchy.set_index(0, drop=False) for hierarchy in hierarchies.values()]
    chosen = np.random.default_rng(0).choice(result.size, sample, replace=False)
    nodes = [tuple(int(level) for level in np.unravel_index(flat, result.shape)) for flat in chosen]
    count_by_pandas(rows, lookups, nodes[0])
    start = time.process_time()
    answers = [count_by_pandas(rows, lookups, node) for node in nodes]
    theirs = (time.process_time() - start) / sample * result.size
    if answers != [int(result[node]) for node in nodes]:
        raise SystemExit("the two sides disagree")

    print(f"{len(rows):,} rows, {len(level_maps)} attributes, {result.size:,} nodes, k = {K}; processor seconds")
    print(f"one compiled walk, all nodes       {ours:10.2f} s   (best of three, {(after - before) / 1024:.0f} MB more)")
    print(f"one pandas map + groupby a node    {theirs:10.0f} s   (extrapolated from {sample} random nodes)")
    print(f"ratio                              {theirs / ours:10,.0f} x   (the {sample} nodes agree)")


if __name__ == "__main__":
    main()
