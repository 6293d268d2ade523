"""Tables 1 to 4 and theorem 7 of Dorrestijn 2018, "Provable Privacy for Database Generation", and ours.

Run from the project's root: python benchmarks/dependence.py; about a CPU minute. One draw each (the thesis averages
100), from the secure source, so numbers vary from run to run. uscensus is not here. The audits of tables 5 to 8 have a
benchmark of their own.

The thesis states epsilon 0.1 without a unit. Randomizing cells, as it does, 0.1 per cell is 0.8 to 1.7 per row here;
"per row" protects a whole row with delta 1e-6. docs/evaluation-dependence.md reads the numbers.
"""

import time

from generated_tables import accuracy, adult, grouped_table, msnbc, without_noise

import privacy_plugin as pp
from privacy_plugin.anonymizers.coded_rows import CodedRows, RowItems
from privacy_plugin.metrics.itemsets.itemsets import closed_itemsets, frequent_itemsets
from privacy_plugin.metrics.itemsets.krimp import krimp

# Records, items, Krimp %; frequent, kept, false negatives, false positives; NFD of the kept; naive Bayes of the
# original and of the generated table.
THESIS = {
    "adult": (48_842, 97, 24.4, 21_519, 20_231, 1_289, 346, 0.093, 80.2, 79.9),
    "led7": (3_200, 24, 38.6, 411, 316, 96, 157, 0.193, 75.4, 74.1),
    "letrecog": (20_000, 102, 35.7, 9_172, 3_899, 5_254, 542, 0.250, 75.4, 62.2),
    "nursery": (12_960, 32, 47.2, 179, 156, 23, 29, 0.049, 92.2, 89.7),
    "pendigits": (10_992, 86, 42.3, 684, 271, 414, 111, 0.169, 84.2, 81.5),
    "msnbc": (989_818, 18, 32.5, 99, 97, 2, 1, 0.0142, 97.2, 97.2),
}
SUPPORT = {"msnbc": "1/100"}
# Least support of Krimp's closed candidates; 1 where they are few enough for a benchmark.
CANDIDATES = {"letrecog": 1_500, "pendigits": 200}
BUDGETS = [("row", 1), ("row", 0.1), ("cell", 1), ("cell", 0.1)]


def tables() -> dict[str, pp.FrequencyTable]:
    found = {"adult": adult(), "msnbc": msnbc()}
    found |= {name: grouped_table(name) for name in THESIS if name not in found}
    return {name: found[name] for name in THESIS if found[name] is not None}


def first_table(data: dict[str, pp.FrequencyTable]) -> None:
    print("table 1: records, items, frequent itemsets at 10% (msnbc 1%), Krimp with closed candidates")
    print(
        f"{'database':<10} {'records':>8} {'items':>6} {'frequent':>9} {'thesis':>7} {'Krimp %':>8} {'thesis':>7} "
        f"{'CPU':>6}"
    )
    for name, table in data.items():
        items = RowItems(rows=CodedRows.of(table, given=None, domains=None))
        records, _, ratio, frequent = THESIS[name][:4]
        least = -(-table.rows // (100 if name in SUPPORT else 10))
        found = len(frequent_itemsets(**items.transactions, support=least))
        start = time.process_time()
        support = CANDIDATES.get(name, 1)
        codes = krimp(**items.transactions, candidates=closed_itemsets(**items.transactions, support=support))
        took = time.process_time() - start
        assert table.rows == records
        note = f" (candidates of support {support})" if support > 1 else ""
        print(
            f"{name:<10} {table.rows:>8,} {sum(map(len, items.values)):>6} {found:>9,} {frequent:>7,} "
            f"{100 * codes.ratio:>8.2f} {ratio:>7} {took:>5.1f}s{note}",
            flush=True,
        )


def generated(table: pp.FrequencyTable) -> dict[str, tuple[str, pp.FrequencyTable]]:
    """Tables by what was spent, with the epsilon of a whole row."""
    found = {"without noise": ("-", without_noise(table))}
    for unit, epsilon in BUDGETS:
        made = pp.synthesize(table, columns=table.columns, epsilon=epsilon, unit=unit)
        found[f"{epsilon} per {unit}"] = (f"{made.ledger.epsilon_row:.3g}", made.frequencies)
    return found


def other_tables(data: dict[str, pp.FrequencyTable]) -> None:
    print("\ntables 2 to 4: itemsets kept, lost, made up; NFD of the kept; naive Bayes, tested on the original")
    print(
        f"{'database':<10} {'epsilon':<14} {'per row':>8} {'kept':>7} {'lost':>7} {'false':>8} {'NFD':>7} "
        f"{'Bayes %':>8}"
    )
    for name, table in data.items():
        _, _, _, _, kept, lost, false, nfd, own, made_up = THESIS[name]
        target = table.columns[-1]
        print(f"{name:<10} {'thesis: 0.1':<14} {'?':>8} {kept:>7,} {lost:>7,} {false:>8,} {nfd:>7.3f} {made_up:>8}")
        for budget, (row, made) in generated(table).items():
            found = pp.itemset_difference(
                made, attributes=table.columns, original=table, support=SUPPORT.get(name, "1/10")
            )
            nfd = found.details["nfd_kept"]
            print(
                f"{'':<10} {budget:<14} {row:>8} {found.kept:>7,} {found.lost:>7,} {found.false:>8,} "
                f"{'-' if nfd is None else f'{nfd:.3f}':>7} {100 * accuracy(made, table, target):>8.1f}",
                flush=True,
            )
        print(f"{'':<10} {'original':<47} naive Bayes {100 * accuracy(table, table, target):.1f} (thesis {own})")


def itemset_draws(table: pp.FrequencyTable) -> None:
    print("\ntheorem 7: itemsets drawn from all that adult's schema allows, threshold 10%")
    items = RowItems(rows=CodedRows.of(table, given=None, domains=None))
    least = -(-table.rows // 10)
    frequent = {
        frozenset(items.named(items.places(found)).items())
        for found in frequent_itemsets(**items.transactions, support=least).sets()
    }
    for number, epsilon in ((20, 1), (3, 0.005)):
        start = time.process_time()
        drawn = pp.private_itemsets(table, columns=table.columns, number=number, support="1/10", epsilon=epsilon)
        took = time.process_time() - start
        kept = sum(frozenset(itemset.items()) in frequent for itemset in drawn.itemsets)
        print(
            f"{number} draws, epsilon {epsilon} together: {kept} frequent, {took:.1f}s CPU; of {drawn.universe:,} "
            f"itemsets; one draw says something from epsilon {drawn.informative_epsilon():.4f} on if one is frequent, "
            f"{drawn.informative_epsilon(frequent=20_000):.4f} if 20,000 are"
        )


def main() -> None:
    data = tables()
    first_table(data)
    other_tables(data)
    if "adult" in data:
        itemset_draws(data["adult"])


if __name__ == "__main__":
    main()
