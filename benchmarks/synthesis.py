"""Generated tables on adult: what they keep at which budget, for which privacy unit.

Run from the project's root: python benchmarks/synthesis.py; about a CPU minute. Drawn by opendp from the secure source,
so numbers vary from run to run; the seeded draws at the end do not. "without noise" is not a release: it shows what the
model itself loses.

How to compare it with the thesis (Dorrestijn 2018, tables 2 and 3: 20,231 kept, 1,289 lost, 346 false of 21,519 at a
claimed epsilon of 0.1): that cannot be had by its own mechanism. Randomizing cells with epsilon 0.1, the standard error
of a support among 48,842 rows is 0.045 for one item, 0.45 for a pair and 4.5 for a triple, and a row of 15 cells has
spent 1.5; fresh randomness for each of 26,573 itemsets would be 2,657 per row. The last lines show what is left of it.
Few repeated records (tables 5 and 6) show nothing by themselves: see what independent columns repeat.

Wanted: without noise 25,500 kept, NFD .03; epsilon 1 per row without the class given 24,800, .05, naive Bayes .825.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
from generated_tables import accuracy, adult, decoded, without_noise

import privacy_plugin as pp
from privacy_plugin.anonymizers.synthesis.literal_tree import literal_tree
from privacy_plugin.anonymizers.synthesis.reached_rows import ExactRows
from privacy_plugin.errors import TooLargeError

CLASS = "c14"
RUNS = [
    ("row", 1, None, None),
    ("row", 1, "pairs", None),
    ("row", 1, None, CLASS),
    ("row", 0.1, None, None),
    ("row", 0.1, None, CLASS),
    ("cell", 3, None, None),
    ("cell", 1, None, None),
    ("cell", 0.1, None, None),
    ("cell", 0.1, None, CLASS),
    ("cell", 3, "literal tree", None),
    ("cell", 1, "literal tree", None),
    ("cell", 0.1, "literal tree", None),
]
SEEDS = range(6)


def runs(data: pp.FrequencyTable) -> Iterator[tuple[str, Callable[[], pp.FrequencyTable]]]:
    """What is compared: a name, and how it is made."""
    yield "without noise, code tree", lambda: without_noise(data)
    yield "without noise, the thesis' own tree", lambda: decoded(data, lambda rows: literal_tree(ExactRows(coded=rows)))
    for unit, epsilon, model, given in RUNS:
        made = {"columns": data.columns, "epsilon": epsilon, "unit": unit, "model": model, "given": given}
        name = f"epsilon {epsilon} per {unit}, {'class given' if given else model or 'code tree'}"
        yield name, lambda made=made: pp.synthesize(data, **made).frequencies


def main() -> None:
    data = adult()
    if data is None:
        return
    own = accuracy(data, data, CLASS)
    print(f"original: {data.rows:,} rows, naive Bayes {own:.3f}; row budgets with delta 1e-6")
    print(
        f"{'made':<40} {'kept':>7} {'lost':>7} {'false':>8} {'NFD':>7} {'Bayes':>6} {'repeated':>9} "
        f"{'(indep.)':>9} {'CPU':>6}"
    )
    for name, make in runs(data):
        start = time.process_time()
        try:
            made = make()
        except TooLargeError as error:
            print(f"{name:<40} {error} ({time.process_time() - start:.1f}s)", flush=True)
            continue
        took = time.process_time() - start
        itemsets = pp.itemset_difference(made, attributes=data.columns, original=data)
        records = pp.repeated_records(made, attributes=data.columns, original=data)
        print(
            f"{name:<40} {itemsets.kept:>7,} {itemsets.lost:>7,} {itemsets.false:>8,} {itemsets.nfd:>7.3f} "
            f"{accuracy(made, data, CLASS):>6.3f} {float(records.repeated):>9.1%} {records.if_independent:>9.1%} "
            f"{took:>5.1f}s",
            flush=True,
        )
    seeded(data)


def seeded(data: pp.FrequencyTable) -> None:
    """Several draws at epsilon 1 per row that can be repeated: how much they differ."""
    found = []
    for seed in SEEDS:
        made = pp.synthesize(data, columns=data.columns, epsilon=1, generator=np.random.default_rng(seed)).frequencies
        itemsets = pp.itemset_difference(made, attributes=data.columns, original=data)
        found.append((itemsets.kept, itemsets.nfd, accuracy(made, data, CLASS)))
    kept, nfd, bayes = np.array(found, dtype=np.float64).T
    print(
        f"epsilon 1 per row, code tree, {len(found)} seeds: kept {kept.min():,.0f} to {kept.max():,.0f} (mean "
        f"{kept.mean():,.0f}), NFD {nfd.min():.3f} to {nfd.max():.3f}, Bayes {bayes.min():.4f} to {bayes.max():.4f} "
        f"(mean {bayes.mean():.4f})"
    )


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
