"""Maximum disclosure of a million classes, its growth with the classes, and figures 5 and 6 of Martin et al. on Adult.

Run from the project's root: python benchmarks/disclosure.py. Adult is looked for in PRIVACY_PLUGIN_DATA or
../shared/data. Times are processor seconds of one thread. Compilation is not timed: each path runs once on a small
table first. The plain side is the paper's program, MINIMIZE1 and MINIMIZE2 (with its errata), in Python, as its
authors describe it: one pass over all buckets for one k, nothing shared between equal buckets.
"""

import math
import os
import time
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import privacy_plugin as pp
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization.lattice import generalize_table, lay_over
from privacy_plugin.metrics.maximum_disclosure.weighted_disclosure import known_denials

FACTS = 12
QUASI_IDENTIFIERS = ["age", "marital-status", "race", "sex"]


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def classes_of(rows: np.ndarray) -> FrequencyTable:
    """A table whose class i has rows[i, v] people with value v."""
    groups, values = np.nonzero(rows)
    numbers = tuple(range(len(rows)))
    return FrequencyTable(
        columns=("class", "value"),
        codes=np.column_stack([groups, values]).astype(np.int32),
        counts=rows[groups, values].astype(np.int64),
        dictionaries=(numbers, tuple(range(rows.shape[1]))),
    )


def measured(table: FrequencyTable, **options: object) -> object:
    return pp.maximum_disclosure(table, quasi_identifiers=["class"], sensitive="value", **options)


def plain_disclosure(histograms: list[list[int]], knowledge: int) -> float:
    """The paper's two programs, without compilation and without sharing."""
    rows = [(1.0, math.inf)] + [(math.inf, math.inf)] * (knowledge + 1)  # (target not placed, placed) by atoms used
    for counts in histograms:
        ordered = sorted(counts, reverse=True)
        size = sum(ordered)
        absences = [minimize_one(tuple(ordered), size, atoms) for atoms in range(knowledge + 2)]
        following = []
        for atoms in range(knowledge + 2):
            shares = range(atoms + 1)
            free = min(rows[atoms - share][0] * absences[share] for share in shares)
            placed = min(rows[atoms - share][1] * absences[share] for share in shares)
            aimed = [rows[atoms - share][0] * absences[share] * size / ordered[0] for share in shares if share]
            following.append((free, min([placed, *aimed])))
        rows = following
    return 1 / (1 + rows[-1][1])


def minimize_one(ordered: tuple[int, ...], size: int, atoms: int) -> float:
    taken = [sum(ordered[:number]) for number in range(atoms + 1)]

    @cache
    def least(person: int, cap: int, rest: int) -> float:
        if rest == 0:
            return 1.0
        if person == size:
            return math.inf
        best = math.inf
        for share in range(min(cap, rest), 0, -1):
            factor = max(0, size - person - taken[share]) / (size - person)
            further = least(person + 1, share, rest - share)
            if further < math.inf:
                best = min(best, factor * further)
        return best

    return least(0, atoms, atoms)


def warm_up() -> None:
    small = classes_of(np.array([[3, 2, 1], [2, 2, 2], [5, 1, 1]]))
    for attacker in ("implications", "negations"):
        measured(small, knowledge=2, attacker=attacker)
    measured(classes_of(np.random.default_rng(1).integers(20, 30, size=(2_000, 6))), knowledge=4)


def growth() -> None:
    print(f"maximum disclosure, {FACTS} facts, 14 values: value, curve, witness and every class's own value")
    print(f"{'classes':>12s} {'implications':>14s} {'negations':>12s}   us a class")
    generator = np.random.default_rng(0)
    for classes in (125_000, 250_000, 500_000, 1_000_000):
        table = classes_of(generator.integers(1, 40, size=(classes, 14), dtype=np.int8))
        spent = seconds(lambda table=table: measured(table, knowledge=FACTS))
        other = seconds(lambda table=table: measured(table, knowledge=FACTS, attacker="negations"))
        print(f"{classes:12,d} {spent:12.2f} s {other:10.2f} s   {1e6 * spent / classes:10.2f}")


def compare_with_paper() -> None:
    rows = np.random.default_rng(2).integers(1, 40, size=(400, 14))
    start = time.process_time()
    theirs = plain_disclosure(rows.tolist(), FACTS)
    plain = time.process_time() - start
    table = classes_of(np.random.default_rng(2).integers(1, 40, size=(100_000, 14)))
    ours = seconds(lambda: measured(table, knowledge=FACTS))
    same = measured(classes_of(rows), knowledge=FACTS)
    ratio = (plain / 400) / (ours / 100_000)
    print(f"\nthe paper's program in Python, 400 classes: {plain:.2f} s; ours, 100,000 classes: {ours:.2f} s")
    print(f"a class: {ratio:,.0f} x faster; the values differ by {abs(theirs - float(same.value)):.1e}")


def adult() -> pd.DataFrame | None:
    path = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data")) / "adult" / "adult_complete_45222.csv"
    if not path.exists():
        print(f"\nskipped figures 5 and 6: {path.name} not found; set PRIVACY_PLUGIN_DATA")
        return None
    return pd.read_csv(path)[[*QUASI_IDENTIFIERS, "occupation"]]


def hierarchies() -> dict[str, Hierarchy]:
    """Those of section 4: six levels of age, three of marital status, two of race and sex."""
    married = ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"]
    alone = ["Never-married", "Divorced", "Separated", "Widowed"]
    races = ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]
    return {
        "age": pp.interval_hierarchy(start=0, stop=120, widths=[5, 10, 20, 40]),
        "marital-status": pp.tree_hierarchy({"married": married, "not married": alone}),
        "race": pp.tree_hierarchy(races),
        "sex": pp.tree_hierarchy(["Male", "Female"]),
    }


def figure_5(frame: pd.DataFrame) -> None:
    print("\nfigure 5: disclosure against the number of facts; Adult, only age, in intervals of 20")
    twenties = frame.assign(age=frame["age"] // 20)
    found = pp.maximum_disclosure(twenties, quasi_identifiers=["age"], sensitive="occupation", knowledge=FACTS)
    print(f"{'facts':>14s} " + " ".join(f"{number:6d}" for number in range(FACTS + 1)))
    for attacker, curve in found.details["curves"].items():
        print(f"{attacker:>14s} " + " ".join(f"{float(value):6.3f}" for value in curve))


def figure_6(frame: pd.DataFrame) -> None:
    """Of all generalizations whose most uneven class has the same entropy, the least disclosure."""
    table = pp.frequency_table(frame, [*QUASI_IDENTIFIERS, "occupation"])
    given = hierarchies()
    levels = lay_over(table, given)
    points: dict[float, list[float]] = {}
    start = time.process_time()
    nodes = list(product(*(range(level.height + 1) for level in levels.values())))
    for node in nodes:
        general = generalize_table(table, levels, dict(zip(given, node, strict=True)))
        found = pp.maximum_disclosure(
            general, quasi_identifiers=QUASI_IDENTIFIERS, sensitive="occupation", knowledge=FACTS
        )
        entropy = round(found.details["least_entropy"], 3)
        curve = [float(value) for value in found.curve]
        if entropy > 0:  # the paper leaves out tables in which a class has one value only
            points[entropy] = [min(pair) for pair in zip(points.get(entropy, curve), curve, strict=True)]
    spent = time.process_time() - start
    shown = (1, 3, 5, 7, 9, 11)
    print(
        f"\nfigure 6: least disclosure against the entropy of the most uneven class ({len(nodes)} nodes, {spent:.2f} s)"
    )
    print(f"{'entropy':>8s} " + " ".join(f"{f'k={k}':>6s}" for k in shown))
    for entropy in sorted(points):
        print(f"{entropy:8.3f} " + " ".join(f"{points[entropy][k]:6.3f}" for k in shown))


def safe_generalizations(frame: pd.DataFrame) -> None:
    print("\nsafe generalizations of Adult: the one of least loss, and the first one of a chain")
    for knowledge, below in ((1, 0.5), (3, 0.6), (5, 0.8)):
        required = [pp.require("maximum_disclosure", knowledge=knowledge, below=below)]
        asked = {"hierarchies": hierarchies(), "requirements": required, "sensitive": "occupation"}
        for search in ("best", "chain"):
            start = time.process_time()
            plan = pp.generalize(frame, **asked, search=search)
            spent = time.process_time() - start
            listed = f", {len(plan.minimal_nodes)} minimal ones" if plan.minimal_nodes else ""
            print(
                f"  {knowledge} facts, below {below}, {search:5s}: loss {plan.loss:.3f}, {plan.nodes_visited} judged, "
                f"{spent:.2f} s{listed}"
            )


def buckets(frame: pd.DataFrame) -> None:
    print("\nbucketization of Adult: buckets, and the people in an average person's bucket")
    for knowledge, below in ((3, 0.6), (3, 0.3), (5, 0.4)):
        asked = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": "occupation"}
        start = time.process_time()
        made = pp.bucketize(frame, **asked, knowledge=knowledge, below=below)
        spent = time.process_time() - start
        print(f"  {knowledge} facts, below {below}: {made.buckets:,} buckets of {made.shared_by:.1f}, {spent:.2f} s")


def weighted(frame: pd.DataFrame) -> None:
    print("\nweights on occupations, and a table of which one class changed: value, seconds, targets solved")
    coarse = frame.assign(age=(frame["age"].astype(int).clip(upper=76) - 17) // 20)
    changed = coarse[(coarse["age"] != 1) | (np.arange(len(coarse)) % 7 != 1)]
    asked = {"quasi_identifiers": ["age", "sex"], "sensitive": "occupation"}
    weights = {"Priv-house-serv": 1, "Tech-support": 0.9, "otherwise": 0.4}
    tables = {"weighted": (coarse, weights), "one class changed": (changed, weights), "without weights": (coarse, None)}
    for knowledge in (3, 6, 10):
        pp.maximum_disclosure(coarse[:2_000], **asked, knowledge=knowledge, weights={"otherwise": 1})
        known_denials.cache_clear()
        for name, (table, given) in tables.items():
            before, start = known_denials.cache_info().misses, time.process_time()
            found = pp.maximum_disclosure(table, **asked, knowledge=knowledge, weights=given)
            spent, solved = time.process_time() - start, known_denials.cache_info().misses - before
            counted = f"{solved} solved" if given else ""
            print(f"  {knowledge} facts, {name:18s} {float(found.value):.4f} {spent:.4f} s {counted}")


def main() -> None:
    warm_up()
    growth()
    compare_with_paper()
    frame = adult()
    if frame is not None:
        figure_5(frame)
        figure_6(frame)
        safe_generalizations(frame)
        buckets(frame)
        weighted(frame)


if __name__ == "__main__":
    main()
