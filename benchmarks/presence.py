"""Time delta-presence: a hundred million people, the paper's optimizations and ours on Adult, regions and levels.

Run from the project's root: python benchmarks/presence.py. Adult is looked for in PRIVACY_PLUGIN_DATA or
../shared/data. Times are processor seconds; compilation is not timed. The paper's side is presence_paper.py: figures 4
to 7 and table 5 of Nergiz and Clifton, CSD TR 08-016, in shape: their machine is not ours, and their draw of 1,957
people and the weights of their diabetes draw are not known, so both are drawn anew.
"""

import os
import time
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from presence_paper import Outcome, Switches, World, sfalm

import privacy_plugin as pp
from privacy_plugin.anonymizers.multidimensional_presence import RegionGeneralization
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.metrics.presence.delta_presence import delta_presence
from privacy_plugin.sources import open_source

COLUMNS = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex"]
PEOPLE = 1_957
CONFIDENCE = Fraction(8, 10)
OURS = Switches(ours=True, pa=False)
LEFT_OUT = {
    "~SD": Switches(sd=False),
    "~PA": Switches(pa=False),
    "~DM": Switches(dm=False),
    "~DC": Switches(dc=None),
    "ALL": Switches(),
    "ours, every node": OURS,
    "ours, with PA": Switches(ours=True),
}


def time_hundred_million() -> None:
    """Ten attributes, a hundred classes, three populations."""
    print("confidence from attribute distributions, 10 attributes, 100 classes")
    generator = np.random.default_rng(5)
    groups = (2, 2, 3, 2, 4, 2, 3, 2, 2, 3)
    rows = np.unique(np.column_stack([generator.integers(0, k, 4_000) for k in groups]), axis=0)
    rows = rows[generator.choice(len(rows), 100, replace=False)]
    columns = [f"a{i}" for i in range(len(groups))]
    table = pp.FrequencyTable.from_rows(columns, rows.tolist(), counts=[25] * 100)
    for size in (1_000_000, 100_000_000, 8_000_000_000):
        marginals = {}
        for name, k in zip(columns, groups, strict=True):
            shares = generator.dirichlet([20_000] * k)
            counts = np.floor(shares * size).astype(np.int64)
            counts[0] += size - int(counts.sum())
            marginals[name] = dict(enumerate(counts.tolist()))
        delta = (0, Fraction(25 * prod(groups), size))
        start = time.process_time()
        found = pp.presence_confidence(
            table, quasi_identifiers=columns, marginals=marginals, population_size=size, delta=delta
        )
        spent = time.process_time() - start
        between = int(((found.spread.values > 0.001) & (found.spread.values < 0.999)).sum())
        print(
            f"  {size:15,} people {spent:8.3f} s   lowest {float(found.value):.6f}, stated error {found.error:.1e}, "
            f"{between} classes neither certain nor hopeless"
        )


def adult() -> tuple[pd.DataFrame, dict[str, pp.Hierarchy]] | None:
    folder = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data")) / "adult"
    if not (folder / "adult_complete_45222.csv").exists():
        print("skipped: Adult not found; set PRIVACY_PLUGIN_DATA")
        return None
    everybody = pd.read_csv(folder / "adult_complete_45222.csv")[COLUMNS]
    return everybody, {name: pp.read_hierarchy(folder / f"adult_hierarchy_{name}.csv") for name in COLUMNS}


def draws(everybody: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """A random draw, and one biased towards age, race and sex like the paper's diabetes table."""
    age = np.select([everybody["age"] < 45, everybody["age"] < 65], [0.02, 0.09], 0.19)
    weight = age * np.where(everybody["race"] == "White", 1.0, 1.6) * np.where(everybody["sex"] == "Male", 1.05, 1.0)
    return {
        "random": everybody.sample(PEOPLE, random_state=1),
        "diabetes": everybody.sample(PEOPLE, random_state=1, weights=weight),
    }


def world_of(
    everybody: pd.DataFrame, table: pd.DataFrame, hierarchies: dict[str, pp.Hierarchy], attributes: int
) -> World:
    names = COLUMNS[:attributes]
    return World(
        pp.frequency_table(everybody, names),
        pp.frequency_table(table, names),
        {name: hierarchies[name] for name in names},
    )


def line(name: str, found: Outcome) -> None:
    loss = "none" if found.node is None else f"{found.loss:.4f}"
    print(
        f"    {name:17s} {found.seconds:8.3f} s  LM {loss}  {found.visited:5,} of {found.nodes:,} nodes, "
        f"{found.checked:6,} classes checked, {found.values:12,} hypergeometric values"
    )


def run(world: World, high: Fraction, switches: Switches, confidence: Fraction = CONFIDENCE) -> Outcome:
    return sfalm(world, delta=(Fraction(0), high), confidence=confidence, switches=switches)


def figure_4(worlds: dict[str, World]) -> None:
    print("\nfigure 4: SFALM with all but one optimization, 4 attributes, confidence 0.8, delta (0, d)")
    for label, world in worlds.items():
        for high in (Fraction(1, 20), Fraction(1, 10), Fraction(2, 5)):
            print(f"  {label}, d = {float(high):g}")
            found = {name: run(world, high, switches) for name, switches in LEFT_OUT.items()}
            for name, outcome in found.items():
                line(name, outcome)


def exactly(world: World) -> None:
    print("\nthe same, nothing cut and nothing discretized: the recursion itself and ours (random, d = 0.1, PA)")
    recursion = run(world, Fraction(1, 10), Switches(sd=False, dm=False, dc=None))
    ours = run(world, Fraction(1, 10), Switches(ours=True))
    line("the recursion", recursion)
    line("ours", ours)
    print(f"    ratio {recursion.seconds / ours.seconds:,.0f} x, the same node: {recursion.node == ours.node}")


def figure_5(worlds: dict[str, World]) -> None:
    print("\nfigure 5: 7 attributes, confidence 0.8, delta (0, d), SD and PA always on")
    choices = {"~DM ~DC": Switches(dm=False, dc=None), "~DM": Switches(dm=False), "~DC": Switches(dc=None)}
    for label, world in worlds.items():
        for high in (Fraction(1, 20), Fraction(1, 10), Fraction(2, 5)):
            print(f"  {label}, d = {float(high):g}")
            for name, switches in {**choices, "ALL": Switches(), "ours, with PA": Switches(ours=True)}.items():
                line(name, run(world, high, switches))


def figure_6(worlds: dict[str, World]) -> None:
    print("\nfigure 6: what is pruned, 7 attributes, delta (0, 0.1)")
    for label, world in worlds.items():
        together = run(world, Fraction(1, 10), Switches())
        all_classes = run(world, Fraction(1, 10), Switches(dm=False))
        print(
            f"  {label:9s} PA leaves out {1 - together.visited / together.nodes:.1%} of the nodes, "
            f"DM {1 - together.checked / all_classes.checked:.1%} of the classes that are checked"
        )


def pruned_by_deviations(world: World) -> None:
    everything, cut = (run(world, Fraction(1, 10), Switches(sd=sd, dc=None)) for sd in (False, True))
    print(f"  4 attributes: SD leaves out {1 - cut.values / everything.values:.1%} of the hypergeometric values")


def figure_7(world: World) -> None:
    print("\nfigure 7: the price of confidence, 7 attributes, random draw, delta (0, 0.1)")
    for confidence in (Fraction(1, 2), Fraction(8, 10), Fraction(9, 10), Fraction(98, 100), Fraction(999, 1000)):
        paper = run(world, Fraction(1, 10), Switches(), confidence)
        ours = run(world, Fraction(1, 10), Switches(ours=True), confidence)
        print(
            f"  confidence {float(confidence):5g}   ALL {paper.seconds:7.3f} s, LM {paper.loss:.4f}   "
            f"ours, with PA {ours.seconds:7.3f} s, LM {ours.loss:.4f}"
        )


def is_confidence_inherited(world: World) -> None:
    print("\nis PA right? all nodes judged by our bounds, 4 attributes, random draw, delta (0, d), confidence 0.8")
    for high in (Fraction(1, 20), Fraction(1, 10), Fraction(2, 5)):
        every, pruned = run(world, high, OURS), run(world, high, Switches(ours=True))
        print(
            f"  d = {float(high):4g}   {len(every.passing)} nodes reach it, {len(pruned.passing)} with PA; "
            f"the same best: {every.node == pruned.node}"
        )


def table_5(world: World) -> None:
    print("\ntable 5: bucket sizes of DC, 4 attributes, diabetes draw, delta (0, 0.1), compared with no DC")
    without = run(world, Fraction(1, 10), Switches(dc=None))
    for size in (2, 4, 6, 8, 10):
        found = run(world, Fraction(1, 10), Switches(dc=size))
        print(
            f"  b = {size:2d}   time x {found.seconds / without.seconds:.2f}   values x "
            f"{found.values / without.values:.2f}   LM + {found.loss - without.loss:.3f}"
        )
    for name, switches in (("with PA", Switches(ours=True)), ("every node", OURS)):
        ours = run(world, Fraction(1, 10), switches)
        gained = f"time x {ours.seconds / without.seconds:.2f}   LM + {ours.loss - without.loss:.3f}"
        print(f"  ours, {name:10s} {gained}, rigorous bounds, nothing discretized")


def on_values_of(
    everybody: pd.DataFrame, hierarchies: dict[str, pp.Hierarchy], names: list[str]
) -> dict[str, pp.Hierarchy]:
    """Hierarchies whose leaves are the population's values, so that every method counts the same leaves."""
    found: dict[str, pp.Hierarchy] = {}
    for name in names:
        paths = {value: hierarchies[name].path_of(value) for value in sorted(set(everybody[name].tolist()))}
        found[name] = TableHierarchy({value: path for value, path in paths.items() if path is not None})
    return found


def compare_regions_with_levels(
    everybody: pd.DataFrame, table: pd.DataFrame, hierarchies: dict[str, pp.Hierarchy], world: World
) -> None:
    print(
        "\nMPALM (regions) and SPALM (levels) with the population; SFALM (levels) and regions with distributions only"
    )
    print("loss metric, counted from the same leaves: the values of the population")
    names = list(world.columns)
    chosen = on_values_of(everybody, hierarchies, names)
    marginals = pp.population_marginals(everybody, columns=names)
    warm = [pp.require("delta_presence", between=(0, 1))]
    pp.generalize(table, hierarchies=chosen, requirements=warm, population=everybody)  # loads what was compiled
    for delta in ((0, 0.1), (0, 0.2), (0, 0.4), (0, 0.5), (0.01, 0.2)):
        presence = pp.require("delta_presence", between=delta)
        known: dict[str, Any] = {"marginals": marginals, "population_size": len(everybody), "delta": delta}
        confident = pp.require("presence_confidence", at_least=CONFIDENCE, **known)
        print(f"  delta {delta}")
        for name, method in (
            (
                "MPALM",
                lambda d=delta: pp.multidimensional_presence(table, population=everybody, hierarchies=chosen, delta=d),
            ),
            ("SPALM", lambda r=presence: levels_of(table, chosen, r, everybody)),
            (
                "regions by confidence",
                lambda k=known: pp.multidimensional_presence(table, hierarchies=chosen, confidence=CONFIDENCE, **k),
            ),
            ("SFALM", lambda r=confident: levels_of(table, chosen, r, None)),
        ):
            start = time.process_time()
            try:
                made = method()
            except InfeasibleError:
                print(f"    {name:22s} none")
                continue
            spent = time.process_time() - start
            if isinstance(made, RegionGeneralization):
                print(
                    f"    {name:22s} LM {made.loss_metric:.4f}   {spent:.2f} s, {made.classes:,} classes,"
                    f" DM {made.discernibility:,}"
                )
                continue
            node = tuple(made.levels[column] for column in names)
            assert abs(world.loss(node) - made.loss) < 1e-9, "the same leaves"
            print(f"    {name:22s} LM {made.loss:.4f}   {spent:.2f} s")
    print("  (levels and regions by confidence judge the classes of the table; the others everybody, above a low of 0)")


def levels_of(
    table: pd.DataFrame, hierarchies: dict[str, pp.Hierarchy], requirement: pp.Requirement, population: Any
) -> pp.Plan:
    return pp.generalize(
        table, hierarchies=hierarchies, requirements=[requirement], population=population, loss="loss_metric"
    )


def compare_joins() -> None:
    """Join a research table and a register of a million people in one DuckDB: there, and in this process."""
    print("\na register of 1,000,000 people in DuckDB, 6 columns: groups joined there and joined here")
    connection = duckdb.connect()
    columns = [f"a{i}" for i in range(6)]
    cells = ", ".join(f"CAST(hash(i, {n}) % {size} AS INTEGER) AS a{n}" for n, size in enumerate((50, 40, 20, 9, 5, 2)))
    connection.execute(f"CREATE TABLE register AS SELECT {cells} FROM range(1000000) AS t(i)")
    connection.execute("CREATE TABLE visits AS SELECT * FROM register USING SAMPLE 20000 ROWS (reservoir, 1)")
    visits, register = connection.table("visits"), connection.table("register")
    connection.execute("SET threads = 1")
    joined_twice(visits, register, columns, {})
    print("  the same, of a table in which two of the columns are generalized, five values to one")
    trees = {f"a{n}": TableHierarchy({v: (f"g{v // 5}",) for v in range(size)}) for n, size in ((0, 50), (1, 40))}
    cells = ", ".join(f"'g' || (a{n} // 5) AS a{n}" if n < 2 else f"a{n}" for n in range(6))
    joined_twice(visits.project(cells), register, columns, trees)


def joined_twice(visits: Any, register: Any, columns: list[str], hierarchies: dict[str, Hierarchy]) -> None:
    """Join in the engine and here; of a generalized register, the values of its columns come back too."""
    spent = {}
    for name in ("there", "here"):
        start = time.process_time()
        tables = Tables(open_source(visits)), Tables(open_source(register))
        groups = tables[0].compared(tables[1], columns, whole=name == "here", hierarchies=hierarchies)
        found = delta_presence(groups[0], quasi_identifiers=columns, population=groups[1], hierarchies=hierarchies)
        spent[name] = time.process_time() - start
        came = groups[1].groups.distinct + 1 if name == "there" else groups[1].distinct
        print(f"  joined {name:5s} {spent[name]:7.2f} s, {came:9,} lines came back, maximum {float(found.maximum):.4g}")
    print(f"  ratio {spent['here'] / spent['there']:.1f} x")


def compare_with_arx() -> None:
    """Time the search that ARX was timed with on another machine: 3,016 of 30,162 rows of Adult, nine attributes."""
    folder = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data")) / "adult"
    everybody = pd.read_csv(folder / "adult_30162.csv", sep=None, engine="python", dtype=str)
    hierarchies = {name: pp.read_hierarchy(folder / f"adult_hierarchy_{name}.csv") for name in everybody}
    table = pp.frequency_table(everybody.sample(3_016, random_state=1), list(everybody))
    population = pp.frequency_table(everybody, list(everybody))
    asked = {"hierarchies": hierarchies, "population": population}
    limit = [pp.require("delta_presence", between=(0.05, 0.15))]
    print("\noptimal levels, delta (0.05, 0.15), 3,016 of 30,162 rows, 9 attributes, 12,960 nodes; best of five")
    for name, share in (("no suppression, pruned", 0.0), ("suppression allowed", 0.05)):
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            plan = pp.generalize(table, requirements=limit, max_suppression=share, **asked)
            best = min(best, time.process_time() - start)
        print(f"  {name:24s} {best:7.3f} s   {plan.search}")
    print("  (the search of ARX 3.9.2, quoted from another machine: 0.05 to 0.08 s without suppression)")


def main() -> None:
    pp.presence_confidence(  # compiles, or loads what was compiled
        pp.FrequencyTable.from_rows(["a"], [(1,)]),
        quasi_identifiers=["a"],
        marginals={"a": {1: 400, 2: 5_000}},
        population_size=5_400,
        delta=(0, 0.5),
    )
    time_hundred_million()
    given = adult()
    if given is None:
        return
    everybody, hierarchies = given
    tables = draws(everybody)
    worlds = {name: world_of(everybody, table, hierarchies, 4) for name, table in tables.items()}
    run(worlds["random"], Fraction(9, 10), Switches())
    wide = {name: world_of(everybody, table, hierarchies, 7) for name, table in tables.items()}
    figure_4(worlds)
    exactly(worlds["random"])
    figure_5(wide)
    figure_6(wide)
    pruned_by_deviations(worlds["random"])
    figure_7(wide["random"])
    table_5(worlds["diabetes"])
    is_confidence_inherited(worlds["random"])
    compare_joins()
    compare_with_arx()
    compare_regions_with_levels(everybody, tables["random"], hierarchies, worlds["random"])


if __name__ == "__main__":
    main()
