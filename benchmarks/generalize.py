"""Time the optimal generalization of Adult, and compare it with pandas and with the search of ARX.

Run from the project's root: python benchmarks/generalize.py. Adult is looked for in PRIVACY_PLUGIN_DATA or
../shared/data. Times are processor seconds of this process, the best of a few runs; compiled code is loaded before.
The pandas side maps every column to its level and groups, for a sample of nodes, times the number of nodes. ARX is not
run here: the quoted times are those of its optimal search (which checks only part of the nodes), measured on another
machine with version 3.9.2, warm, so that ratios to them are orders of magnitude.
"""

import os
import time
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import privacy_plugin as pp
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization.generalize import loss_against_k
from privacy_plugin.generalization.losses import LOSSES

SAMPLED = 40
K5 = pp.require("k_anonymity", at_least=5)
QUOTED = {  # processor seconds of ARX's own search, measured on another machine
    "0% suppression, precision": 0.12,
    "5% suppression, precision": 1.85,
    "distinct l = 3": 0.77,
    "entropy l = 3": 1.51,
    "t = 0.2": 2.24,
    "delta-presence (0, 0.15)": 7.1,
    "delta-presence (0.05, 0.15)": 0.08,
}


def read_adult() -> tuple[pd.DataFrame, dict[str, Hierarchy]] | None:
    folder = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data")) / "adult"
    if not (folder / "adult_30162.csv").exists():
        print("skipped: adult_30162.csv not found; set PRIVACY_PLUGIN_DATA")
        return None
    frame = pd.read_csv(folder / "adult_30162.csv", sep=";")
    return frame, {name: pp.read_hierarchy(folder / f"adult_hierarchy_{name}.csv") for name in frame.columns}


def measure_seconds(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def count_by_pandas(frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], k: int) -> tuple[float, dict[Any, int]]:
    """Return the suppressed rows of a sample of nodes, and the time that all nodes would take."""
    maps = {
        name: [{v: h.generalize(v, n) for v in frame[name].unique()} for n in range(h.height + 1)]
        for name, h in hierarchies.items()
    }
    nodes = list(product(*(range(len(levels)) for levels in maps.values())))
    chosen = [nodes[i] for i in np.random.default_rng(0).choice(len(nodes), SAMPLED, replace=False)]
    start = time.process_time()
    found = {}
    for node in chosen:
        general = pd.DataFrame(
            {name: frame[name].map(maps[name][n]) for name, n in zip(maps, node, strict=True)}, copy=False
        )
        sizes = general.groupby(list(maps), sort=False).size()
        found[node] = int(sizes[sizes < k].sum())
    return (time.process_time() - start) / SAMPLED * len(nodes), found


def check_sample(frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], found: Mapping[Any, int]) -> None:
    """Assert that both sides count the same."""
    from privacy_plugin.generalization.lattice import lay_over
    from privacy_plugin.generalization.walk.counts import suppressed_counts
    from privacy_plugin.sources import frequency_table

    table = frequency_table(frame, list(hierarchies))
    maps = [laid.maps for laid in lay_over(table, hierarchies).values()]
    counts = suppressed_counts(table.codes, table.counts, maps, k=5)
    assert all(counts[node] == suppressed for node, suppressed in found.items())


def time_searches(frame: pd.DataFrame, hierarchies: dict[str, Hierarchy], slow: float) -> None:
    print(f"{'search, k = 5, grouping of the frame included':56s} {'time':>9s} {'ratio':>9s}  result")
    for share, loss in product((0.0, 0.05), LOSSES):
        spent, found = measure_seconds(lambda share=share, loss=loss: make_plan(frame, hierarchies, share, loss))
        words = f"{share:.0%} suppression, {loss}"
        print(
            f"{words:56s} {1000 * spent:6.0f} ms {slow / spent:7,.0f} x  "
            f"loss {found.loss:.6g}, {found.suppressed:,} suppressed, {found.nodes_visited:,} nodes visited, "
            f"{len(found.minimal_nodes):,} minimal{describe_arx_ratio(words, spent)}"
        )


def describe_arx_ratio(what: str, spent: float) -> str:
    return f"; ARX, quoted, {QUOTED[what]} s: {QUOTED[what] / spent:.1f} x" if what in QUOTED else ""


def make_plan(frame: pd.DataFrame, hierarchies: dict[str, Hierarchy], share: float, loss: str = "precision") -> pp.Plan:
    return pp.generalize(frame, hierarchies=hierarchies, requirements=[K5], max_suppression=share, loss=loss)


def time_sensitive_searches(frame: pd.DataFrame, hierarchies: dict[str, Hierarchy]) -> None:
    others = {name: h for name, h in hierarchies.items() if name != "occupation"}
    kinds = {
        "distinct l = 3": pp.require("l_diversity", at_least=3),
        "entropy l = 3": pp.require("l_diversity", variant="entropy", at_least=3),
        "t = 0.2": pp.require("t_closeness", at_most=0.2),
    }
    for (name, requirement), share in product(kinds.items(), (0.0, 0.05)):
        given = {"hierarchies": others, "requirements": [K5, requirement], "sensitive": "occupation"}
        spent, found = measure_seconds(lambda s=share, g=given: pp.generalize(frame, **g, max_suppression=s), repeats=2)
        words = f"{share:.0%} suppression, k = 5 and {name}, 4,320 nodes"
        print(
            f"{words:56s} {1000 * spent:6.0f} ms {'':9s}  loss {found.loss:.6g}, {found.suppressed:,} suppressed"
            f"{describe_arx_ratio(name, spent) if share else ''}"
        )


def time_disclosure_searches(frame: pd.DataFrame, hierarchies: dict[str, Hierarchy]) -> None:
    """Bound the maximum disclosure of the occupation with 5% suppression; the last limit cannot be met."""
    others = {name: h for name, h in hierarchies.items() if name != "occupation"}
    for facts, below in ((1, 0.5), (3, 0.3), (3, 0.2)):
        asked = pp.require("maximum_disclosure", knowledge=facts, below=below)
        given = {"hierarchies": others, "requirements": [asked], "sensitive": "occupation", "max_suppression": 0.05}
        spent, found = measure_seconds(lambda g=given: _describe_plan(frame, **g), repeats=2)
        print(
            f"{f'5% suppression, {facts} facts below {below}, 4,320 nodes':56s} {1000 * spent:6.0f} ms {'':9s}  {found}"
        )


def _describe_plan(frame: pd.DataFrame, **given: Any) -> str:
    try:
        found = pp.generalize(frame, **given)
    except InfeasibleError:
        return "refused"
    return f"loss {found.loss:.6g}, {found.suppressed:,} suppressed; {found.search}"


def time_presence_searches(frame: pd.DataFrame, hierarchies: dict[str, Hierarchy]) -> None:
    """Publish every tenth row; who is among them is the secret."""
    some = frame.iloc[::10]
    for share, low in ((0.0, 0.05), (0.05, 0)):
        asked = pp.require("delta_presence", between=(low, 0.15))
        given = {"hierarchies": hierarchies, "requirements": [asked], "population": frame}
        spent, found = measure_seconds(lambda s=share, g=given: pp.generalize(some, **g, max_suppression=s), repeats=2)
        name = f"delta-presence ({low}, 0.15)"
        print(
            f"{f'{share:.0%} suppression, {name}, 12,960 nodes':56s} {1000 * spent:6.0f} ms {'':9s}  "
            f"loss {found.loss:.6g}, {found.suppressed:,} suppressed, {found.nodes_visited:,} nodes visited"
            f"{describe_arx_ratio(name, spent)}"
        )


def main() -> None:
    data = read_adult()
    if data is None:
        return
    frame, hierarchies = data
    loading, _ = measure_seconds(lambda: make_plan(frame, hierarchies, 0.05), repeats=1)
    print(f"the first search of a process, compiled code loaded (the first time ever: made) {loading:.2f} s")
    slow, sample = count_by_pandas(frame, hierarchies, 5)
    check_sample(frame, hierarchies, sample)
    print(f"one pandas map and grouping a node, 12,960 nodes: {slow:,.0f} s (from {SAMPLED} of them)\n")
    time_searches(frame, hierarchies, slow)
    time_sensitive_searches(frame, hierarchies)
    time_disclosure_searches(frame, hierarchies)
    time_presence_searches(frame, hierarchies)
    spent, curve = measure_seconds(
        lambda: loss_against_k(frame, hierarchies=hierarchies, max_suppression=0.05), repeats=1
    )
    points = ", ".join(f"{point.k}: {point.loss:.4f}" for point in curve if point.loss is not None)
    print(f"\nleast loss against k at 5%, one walk a k, {spent:.2f} s: {points}")


if __name__ == "__main__":
    main()
