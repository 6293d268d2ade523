"""Compare the privacy score with the thesis' algorithm, and time it on tables that one cannot finish.

Run from the project's root: python benchmarks/privacy_score.py [--long]; about a minute of processor time, and many
with --long. Adult is looked for in PRIVACY_PLUGIN_DATA or ../shared/data. Times are processor seconds of one thread.
Compilation is not timed: each path runs once on a small table first. The thesis' side is the compiled version of it in
privacy_score_thesis.py. Measured with --long: Adult's first 800 rows 21.2 s against 2.84 ms (7,448 x); random 500 x 16
376 s against 2.33 ms (161,532 x).
"""

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from privacy_score_thesis import thesis_scores

import privacy_plugin as pp
from privacy_plugin.anonymizers.repair.repair_loops import greedy_repair, minimal_non_faces
from privacy_plugin.metrics.privacy_score.relation import Relation, make_relation
from privacy_plugin.metrics.privacy_score.scores import estimate_work, score, witnesses

LEAST_RATIO = 1_000  # wherever the thesis' algorithm needs a second


def adult_frame(name: str, separator: str, drop: tuple[str, ...] = ()) -> pd.DataFrame | None:
    folder = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data"))
    if not (folder / "adult" / name).exists():
        print(f"skipped: {name} not found; set PRIVACY_PLUGIN_DATA")
        return None
    return pd.read_csv(folder / "adult" / name, sep=separator).drop(columns=list(drop))


def coded_columns(frame: pd.DataFrame | None) -> np.ndarray | None:
    if frame is None:
        return None
    return np.column_stack([pd.factorize(frame[column])[0] for column in frame])


def one_hot(codes: np.ndarray) -> np.ndarray:
    return np.concatenate([column[:, None] == np.unique(column) for column in codes.T], axis=1)


def coded(codes: np.ndarray) -> Relation:
    attributes = int((codes.max(axis=0) + 1).sum())
    return make_relation(codes=codes, likelihood=np.ones(attributes), danger=np.ones(attributes))


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def warm_up() -> None:
    generator = np.random.default_rng(0)
    small = make_relation(matrix=generator.random((30, 8)) < 0.5, likelihood=np.ones(8), danger=np.ones(8))
    for parameters in ({"algorithm": "lattice"}, {"algorithm": "search"}, {"confidence": 0.9}, {"budget": 5}):
        score(small, **parameters)
    score(small, algorithm="search", budget=5)
    witnesses(small, rows=[0])
    minimal_non_faces(small, max_size=3)
    thesis_scores(np.ones((2, 3), dtype=bool), np.ones(3), np.ones(3))


def compare_with_thesis(name: str, matrix: np.ndarray, relation: Callable[[], Relation]) -> None:
    weights = np.ones(matrix.shape[1])
    start = time.process_time()
    theirs = thesis_scores(matrix, weights, weights)
    slow = time.process_time() - start
    fast = seconds(lambda: score(relation()), repeats=5)
    people = relation()
    difference = float(np.abs(score(people).lower[people.inverse] - theirs).max())
    ratio = slow / fast
    bar = (
        "no bar below a second" if slow < 1 else f"bar {LEAST_RATIO:,} x: {'met' if ratio >= LEAST_RATIO else 'MISSED'}"
    )
    print(f"{name:34s} {slow:10.3f} s {1000 * fast:10.3f} ms {ratio:10,.0f} x   differ {difference:.1e}   {bar}")


def compare(adult: np.ndarray | None, *, long: bool) -> None:
    print(f"{'relation':34s} {'thesis':>12s} {'ours':>13s} {'ratio':>12s}")
    generator = np.random.default_rng(1)
    for rows, attributes in [(200, 10), (50, 19), (300, 14)]:
        compare_on_random_relations(generator, rows, attributes)
    if adult is not None:
        compare_on_adult(adult, (100, 200, 400, 800) if long else (100, 200, 400))
    if long:
        compare_on_random_relations(generator, 500, 16)


def compare_on_random_relations(generator: np.random.Generator, rows: int, attributes: int) -> None:
    matrix, ones = generator.random((rows, attributes)) < 0.5, np.ones(attributes)
    name = f"random {rows} x {attributes}"
    compare_with_thesis(name, matrix, lambda: make_relation(matrix=matrix, likelihood=ones, danger=ones))


def compare_on_adult(adult: np.ndarray, sizes: tuple[int, ...]) -> None:
    for rows in sizes:
        first = np.column_stack([pd.factorize(column)[0] for column in adult[:rows].T])
        compare_with_thesis(f"Adult, first {rows} rows", one_hot(first), lambda first=first: coded(first))


def report(name: str, make: Callable[[], Relation], **parameters: float) -> Relation:
    start = time.process_time()
    relation = make()
    found = score(relation, **parameters)
    spent = time.process_time() - start
    low, high = (np.average(end, weights=relation.counts) for end in (found.lower, found.upper))
    ends = f"average {low:.6f}" if found.exact else f"average in [{low:.4f}, {high:.4f}]"
    sets = estimate_work(relation).sets
    print(f"{name:44s} {spent:8.3f} s  {found.algorithm:8s} {ends}  (at most {sets:.1e} sets, {found.nodes:,} visited)")
    return relation


def alone(adult: np.ndarray | None, complete: np.ndarray | None) -> None:
    print("\nwhat the thesis' algorithm cannot finish, relation building included")
    generator = np.random.default_rng(2)
    matrix = generator.random((80_000, 19)) < 0.5
    ones = np.ones(19)
    report("80,000 x 19 booleans", lambda: make_relation(matrix=matrix, likelihood=ones, danger=ones))
    if adult is not None:
        relation = report("Adult 30,162 x 9 columns", lambda: coded(adult))
        report("Adult 30,162 x 9 columns, confidence 0.9", lambda: coded(adult), confidence=0.9)
        report("Adult 30,162 x 9 columns, budget 3 million", lambda: coded(adult), budget=3_000_000)
        spent = seconds(lambda: witnesses(relation, rows=range(10)))
        print(f"ten witnesses: {spent:.3f} s")
        start = time.process_time()
        sizes = [len(hole) for hole in minimal_non_faces(relation, max_size=3)]
        print(f"holes: {sizes.count(2):,} of size 2, {sizes.count(3):,} of size 3, {time.process_time() - start:.3f} s")
        start = time.process_time()
        repair = greedy_repair(relation, wanted=0.0, max_false_share=0.005)
        print(f"greedy repair: {len(repair.added)} added people, {time.process_time() - start:.3f} s")
    if complete is not None:
        report("Adult 45,222 x 14 columns", lambda: coded(complete))
    print(f"\nlargest memory of the whole run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def within(name: str, frame: pd.DataFrame | None, bar: float) -> None:
    """Time the public function on a frame: grouping, relation, scores, statistics."""
    if frame is None:
        return
    start = time.process_time()
    found = pp.privacy_score(frame, attributes=list(frame.columns))
    spent = time.process_time() - start
    kept = "met" if spent < bar else "MISSED"
    print(f"{name:44s} {spent:8.3f} s  average {found.average:.6f}   bar {bar:g} s: {kept}")


def main() -> None:
    warm_up()
    frames = adult_frame("adult_30162.csv", ";"), adult_frame("adult_complete_45222.csv", ",", drop=("fnlwgt",))
    adult, complete = map(coded_columns, frames)
    alone(adult, complete)
    print("\nthe public function, on a pandas frame")
    booleans = pd.DataFrame(np.random.default_rng(2).random((80_000, 19)) < 0.5, columns=[f"a{n}" for n in range(19)])
    pp.privacy_score(booleans[:100], attributes=list(booleans))
    within("80,000 x 19 booleans", booleans, 0.5)
    within("Adult 30,162 x 9 columns", frames[0], 1.0)
    within("Adult 45,222 x 14 columns", frames[1], 15.0)
    print()
    compare(adult, long="--long" in sys.argv)


if __name__ == "__main__":
    main()
