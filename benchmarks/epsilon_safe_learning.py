"""Learning from anonymized tables: Li 2019, tables 5.2, 5.4, 5.6 and 5.7, on Adult.

    python benchmarks/epsilon_safe_learning.py [--runs 10]

Logistic regression for income on the 15,060 test rows, trained on the 30,162 training rows: as they are, generalized
optimally (k = 75, at most 15% suppressed), published by epsilon-safe lattice anonymization (k = 75, beta = 0.7, eps' =
0.5), and by the functional mechanism with the same epsilon. Trained on generalized rows, the test rows are generalized
the same way. Draws of the lattice are seeded (so not private) to be repeatable; the functional mechanism's noise is
opendp's. IPUMS, the paper's second table, is not at hand. Times are processor seconds.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parent))

import functional_logistic as functional

import privacy_plugin as pp
from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import guarantee
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy

TARGET = "income"
NUMBERS = {"age": 90, "hours-per-week": 99}
TEN = [
    "age", "workclass", "education", "marital-status", "relationship",
    "race", "hours-per-week", "native-country", "occupation", "sex",
]  # fmt: skip
K, BETA, EPSILON, MOST_SUPPRESSED = 75, 0.7, 0.5, 0.15
PENALTY = {6: 2.0, 10: 1.0}


def adult() -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Hierarchy]] | None:
    folder = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data"))
    if not (folder / "adult" / "adult_complete_45222.csv").exists():
        print("skipped: adult_complete_45222.csv not found; set PRIVACY_PLUGIN_DATA")
        return None
    frame = pd.read_csv(folder / "adult" / "adult_complete_45222.csv", dtype=str)[[*TEN, TARGET]]
    hierarchies = {name: pp.read_hierarchy(folder / "adult10" / f"adult10_hierarchy_{name}.csv") for name in TEN}
    return frame[:30162], frame[30162:], hierarchies


def accuracy(train: pd.DataFrame, test: pd.DataFrame) -> tuple[float, int]:
    """Of a logistic regression on categories, and how many columns it saw."""
    if train[TARGET].nunique() < 2:
        return float((test[TARGET] == "<=50K").mean()), 0
    columns = pd.get_dummies(train.drop(columns=TARGET))
    seen = pd.get_dummies(test.drop(columns=TARGET)).reindex(columns=columns.columns, fill_value=False)
    model = LogisticRegression(max_iter=1000).fit(columns, train[TARGET])
    return float(model.score(seen, test[TARGET])), columns.shape[1]


def generalized(frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], levels: Mapping[str, int]) -> pd.DataFrame:
    columns = {}
    for name, level in levels.items():
        if name in hierarchies:
            path = {v: hierarchies[name].generalize(v, level) for v in frame[name].unique()}
            columns[name] = frame[name].map(path).astype(str)
    return pd.DataFrame({**columns, TARGET: frame[TARGET]})


def raw(train: pd.DataFrame, test: pd.DataFrame, attributes: list[str]) -> tuple[float, int, float]:
    """Numbers scaled, all else as categories."""
    start = time.process_time()
    categories = [name for name in attributes if name not in NUMBERS]
    columns = pd.get_dummies(train[categories], dtype=float)
    seen = pd.get_dummies(test[categories], dtype=float).reindex(columns=columns.columns, fill_value=0.0)
    for name in NUMBERS.keys() & attributes:
        numbers = train[name].astype(float)
        columns[name] = (numbers - numbers.mean()) / numbers.std()
        seen[name] = (test[name].astype(float) - numbers.mean()) / numbers.std()
    model = LogisticRegression(max_iter=1000).fit(columns, train[TARGET])
    return float(model.score(seen, test[TARGET])), columns.shape[1], time.process_time() - start


def optimal(train: pd.DataFrame, test: pd.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> tuple[float, int, float]:
    start = time.process_time()
    plan = pp.generalize(
        train, hierarchies=hierarchies, requirements=[pp.require("k_anonymity", at_least=K)],
        max_suppression=MOST_SUPPRESSED, loss="precision",
    )  # fmt: skip
    spent = time.process_time() - start
    released = plan.apply(train)
    released = released[(released[list(hierarchies)] != "*").any(axis=1)]
    found = accuracy(released[[*hierarchies, TARGET]].astype(str), generalized(test, hierarchies, plan.levels))
    print(f"   optimal levels {plan.levels}, suppressed {plan.suppressed:,}")
    return *found, spent


def epsilon_safe(
    train: pd.DataFrame, test: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], runs: int, **options: object
) -> tuple[float, float, float, float, float]:
    """Mean accuracy, its deviation, mean columns, mean published rows, seconds a run."""
    kept = {**hierarchies, TARGET: TableHierarchy(dict.fromkeys(("<=50K", ">50K"), ()))}
    found, start = [], time.process_time()
    tables = [
        pp.epsilon_safe_lattice(
            train, hierarchies=kept, k=K, beta=BETA, epsilon=EPSILON, penalty=PENALTY[len(hierarchies)],
            generator=np.random.default_rng(seed), **options,
        )
        for seed in range(runs)
    ]  # fmt: skip
    spent = (time.process_time() - start) / runs
    for result in tables:
        if len(result.table):
            found.append(
                (*accuracy(result.table.astype(str), generalized(test, hierarchies, result.levels)), len(result.table))
            )
    scores, columns, rows = (np.array(part, dtype=float) for part in zip(*found, strict=True))
    return scores.mean(), scores.std(), columns.mean(), rows.mean(), spent


def coded(frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> npt.NDArray[np.float64]:
    """Columns fixed by the hierarchies, not by the data; every row at most as long as 1."""
    parts = [np.ones((len(frame), 1))]
    for name in TEN:
        if name in NUMBERS:
            parts.append(np.clip(frame[name].astype(float).to_numpy() / NUMBERS[name], 0, 1)[:, None])
        else:
            domain = sorted(str(value) for value in hierarchies[name].values)  # type: ignore[attr-defined]
            parts.append((frame[name].to_numpy()[:, None] == np.array(domain)[None, :]).astype(float))
    return np.hstack(parts) / np.sqrt(len(parts))


def functional_mechanism(
    train: pd.DataFrame, test: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], runs: int
) -> None:
    features, seen = coded(train, hierarchies), coded(test, hierarchies)
    positive, truth = (frame[TARGET].to_numpy() == ">50K" for frame in (train, test))
    epsilon = guarantee(k=K, beta=BETA, epsilon=EPSILON).epsilon  # the same in all
    ways = {
        "no noise (not private)": None,
        "sensitivity as printed": functional.printed_sensitivity(features.shape[1]),
        "sensitivity that is enough": functional.sufficient_sensitivity(len(TEN) + 1),
    }
    for name, sensitivity in ways.items():
        start = time.process_time()
        scores = []
        for _ in range(runs if sensitivity else 1):
            weights = functional.fit(features, positive, epsilon=epsilon, sensitivity=sensitivity)
            scores.append(float(((seen @ weights > 0) == truth).mean()))
        spent = (time.process_time() - start) / len(scores)
        size = "" if sensitivity is None else f", {sensitivity:,.2f}"
        print(
            f"functional mechanism, {name}{size}: {np.mean(scores):.4f} +- {np.std(scores):.4f}, "
            f"{features.shape[1]} columns, {spent:.2f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    data = adult()
    if data is None:
        return
    train, test, hierarchies = data
    print(f"baseline, always <=50K: {(test[TARGET] == '<=50K').mean():.4f}   (printed 0.754)")
    for attributes, printed in ((TEN[:6], "0.819"), (TEN, "0.830")):
        score, columns, spent = raw(train, test, attributes)
        print(f"raw, {len(attributes)} attributes: {score:.4f}, {columns} columns, {spent:.2f} s   (printed {printed})")
    print("optimal: {:.4f}, {} columns, {:.2f} s   (printed 0.770)".format(*optimal(train, test, hierarchies)))
    six = {name: hierarchies[name] for name in TEN[:6]}
    for published, options, printed in (
        (six, {}, "0.752"),
        (hierarchies, {}, "0.7592"),
        (hierarchies, {"interpolation": "levels"}, "0.7576"),
    ):
        mean, deviation, width, rows, spent = epsilon_safe(train, test, published, runs, **options)
        how = f"{len(published)} attributes{', interpolated' if options else ''}"
        print(
            f"epsilon-safe, {how}: {mean:.4f} +- {deviation:.4f}, {width:.1f} columns, {rows:,.0f} rows, "
            f"{spent:.2f} s   (printed {printed})"
        )
    functional_mechanism(train, test, hierarchies, runs)
    print("   (printed 0.530)")


if __name__ == "__main__":
    main()
