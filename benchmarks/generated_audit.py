"""What a generated table repeats of its original: the thesis' tables 5 to 8 on the databases at hand.

Run from the project's root: python benchmarks/generated_audit.py [database ...]; some minutes for all. Noise comes from
opendp's secure source, so the numbers vary a little from run to run; the thesis prints means of 100 runs at a claimed
epsilon of 0.1. docs/evaluation-generated-tables.md reads them.

Every generated table is compared with two that need no generator: the columns shuffled independently of each other,
which hold nothing about how values go together, and the rows shuffled, which are the original itself.
"""

import sys
import time
from functools import partial

import numpy as np
import pandas as pd
from generated_tables import adult, grouped_table, msnbc

import privacy_plugin as pp
from privacy_plugin.anonymizers.randomized_response import frame_of

# What the thesis prints: share of common records (5), support-one itemsets not reproduced (6), compression in percent
# with the original's code table (7: original, generated) and with the generated one's (8: generated, original).
THESIS = {
    "adult": (0.000369, 0.9981, (24.4, 24.9), (24.1, 24.7)),
    "led7": (0.00368, 0.9935, (38.6, 41.3), (38.2, 40.9)),
    "letrecog": (0.0, 0.99923, (35.7, 40.3), (35.1, 38.8)),
    "nursery": (0.000309, 0.9973, (47.2, 49.8), (46.5, 49.4)),
    "pendigits": (0.0, 0.9937, (42.3, 45.2), (41.3, 44.2)),
    "msnbc": (0.0324, 0.983, (32.5, 32.5), (32.5, 32.5)),
}
# Closed itemsets of at least this share of the rows are Krimp's candidates: one row where there is time for it.
CANDIDATES = {"adult": "1/1000", "led7": "1/3200", "letrecog": "1/20", "nursery": "1/12960", "pendigits": "1/50"}
BUDGETS = (("row", 1), ("row", 0.1), ("cell", 0.1))
LARGEST = 3


def load(name: str) -> pd.DataFrame | None:
    table = {"adult": adult, "msnbc": msnbc}.get(name, partial(grouped_table, name))()
    return None if table is None else frame_of(table).astype("Int64")


def generated(data: pd.DataFrame) -> dict[str, object]:
    shuffle = np.random.default_rng(0).permutation
    made: dict[str, object] = {
        "shuffled copy": data.iloc[shuffle(len(data))],
        "independent columns": pd.DataFrame({name: data[name].array[shuffle(len(data))] for name in data}),
    }
    for unit, epsilon in BUDGETS:
        release = pp.synthesize(data, columns=list(data), epsilon=epsilon, unit=unit)
        made[str(release.ledger)] = release.frequencies
    return made


def main() -> None:
    print("repeated: rows that occur in the original (if the columns were independent); of one person: rows equal to")
    print(f"a record that occurs once; not reproduced: support-one itemsets of up to {LARGEST} columns that the table")
    print("lacks (if independent); table 7: original, then generated, in the original's codes; table 8: the reverse\n")
    for name in sys.argv[1:] or THESIS:
        data = load(name)
        if data is None:
            continue
        common, absent, seventh, eighth = THESIS[name]
        print(
            f"{name}: {len(data):,} rows; the thesis at its claimed epsilon of 0.1: common {common:.2%}, not "
            f"reproduced {absent:.2%}, table 7 {seventh[0]} {seventh[1]}, table 8 {eighth[0]} {eighth[1]}"
        )
        for label, made in generated(data).items():
            start = time.process_time()
            found = pp.audit_generated(
                data,
                generated=made,
                columns=list(data),
                support="1/100" if name == "msnbc" else "1/10",
                largest=LARGEST,
                compression_support=CANDIDATES.get(name, "1/1000"),
            )
            records, rare, size = found.records, found.unique_itemsets, found.compression
            took = time.process_time() - start
            print(
                f"  {label:<44} repeated {float(records.repeated):>6.1%} ({records.if_independent:>5.1%}) "
                f"of one person {float(records.repeating_unique):>6.2%} "
                f"not reproduced {1 - float(rare.value):>6.1%} ({1 - rare.if_independent:>5.1%}) "
                f"table 7 {100 * size.original:>5.1f} {100 * size.generated_in_original_codes:>5.1f} "
                f"table 8 {100 * size.generated:>5.1f} {100 * size.original_in_generated_codes:>5.1f} {took:>6.1f}s"
            )


if __name__ == "__main__":
    main()
