"""Generated tables on adult: what they keep at which budget, for which privacy unit.

Run from the project's root: python benchmarks/synthesis.py; about half a minute. Drawn by opendp from the secure
source, so numbers vary a little from run to run.

How to read it beside the thesis (Dorrestijn 2018, tables 2 and 3: 20,231 kept, 1,289 lost, 346 false of 21,519 at a
claimed epsilon of 0.1): that cannot be had by its own mechanism. Randomizing cells with epsilon 0.1, the standard error
of a support among 48,842 rows is 0.045 for one item, 0.45 for a pair and 4.5 for a triple, and a row of 15 cells has
spent 1.5; fresh randomness for each of 26,573 itemsets would be 2,657 a row. The last line shows what is left of it.
Few repeated records (tables 5 and 6) show nothing by themselves: see what independent columns repeat.
"""

import time

import numpy as np
import pandas as pd
from itemset_files import columns_of, find, read_numbers

import privacy_plugin as pp

CLASS = "c14"
RUNS = [
    ("row", 1_000, CLASS),
    ("row", 1, CLASS),
    ("row", 1, None),
    ("row", 0.1, CLASS),
    ("cell", 1, CLASS),
    ("cell", 0.1, CLASS),
]


def adult() -> pd.DataFrame | None:
    path = find("adult.D97.N48842.C2.num")
    if path is None:
        return None
    rows = read_numbers(path)
    owner = {item: f"c{number}" for number, items in enumerate(columns_of(rows)) for item in items}
    return pd.DataFrame([{owner[item]: item for item in row} for row in rows]).astype("Int64").sort_index(axis=1)


def naive_bayes(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Share of the test rows whose class is predicted by a naive Bayes classifier of the training rows."""
    classes = sorted(test[CLASS].unique())
    scores = np.zeros((len(test), len(classes)))
    for number, kind in enumerate(classes):
        own = train[train[CLASS] == kind]
        scores[:, number] = np.log(len(own) + 1)
        for column in test.columns.drop(CLASS):
            values = test[column].astype("object").where(test[column].notna(), -1)
            held = own[column].astype("object").where(own[column].notna(), -1).value_counts()
            scores[:, number] += np.log((values.map(held).fillna(0).astype(float) + 1) / (len(own) + len(held)))
    return float((np.array(classes)[scores.argmax(axis=1)] == test[CLASS].to_numpy()).mean())


def main() -> None:
    data = adult()
    if data is None:
        return
    columns = list(data.columns)
    print(f"original: {len(data):,} rows, naive Bayes {naive_bayes(data, data):.3f}")
    print(
        f"{'budget':<46} {'kept':>7} {'lost':>7} {'false':>8} {'NFD':>7} {'Bayes':>6} {'repeated':>9} "
        f"{'(indep.)':>9} {'wall':>6}"
    )
    for unit, epsilon, given in RUNS:
        start = time.perf_counter()
        made = pp.synthesize(data, columns=columns, epsilon=epsilon, unit=unit, given=given)
        took = time.perf_counter() - start
        found = pp.audit_generated(data, generated=made.frequencies, columns=columns)
        name = f"{made.ledger}{'' if given else ', no given column'}"
        print(
            f"{name:<46} {found.itemsets.kept:>7,} {found.itemsets.lost:>7,} {found.itemsets.false:>8,} "
            f"{found.itemsets.nfd:>7.3f} {naive_bayes(made.table.astype('Int64'), data):>6.3f} "
            f"{float(found.records.repeated):>9.1%} {found.records.if_independent:>9.1%} {took:>5.1f}s"
        )


if __name__ == "__main__":
    main()
