"""Which frequent itemsets a generated table keeps, and what of the original turns up again: table 3, figures 1 and 2.

Run from the project's root: python benchmarks/generated_figures.py [database ...]; some minutes for all. Noise comes
from opendp's secure source, so the numbers vary from run to run; the thesis prints means of 100 runs at a claimed
epsilon of 0.1. docs/evaluation-generated-tables.md reads them.

Figure 1 is the empirical distribution of the support, in the original, of the records that both tables have; figure 2
that of the length of itemsets of support one that the generated table has. The thesis does not say how it draws those
"random itemsets": here a row, a length and columns are drawn uniformly, and an itemset is kept if it has support one.
"""

import sys

import numpy as np
import pandas as pd
from generated_audit import generated, load

import privacy_plugin as pp

# What the thesis prints: frequent itemsets kept, lost (FN) and false (FP) of table 2, and their NFD (table 3).
THESIS = {
    "adult": ((20231.3, 1288.9, 346.4), (0.093, 0.121, 0.105)),
    "led7": ((316.3, 95.8, 156.7), (0.193, 0.306, 0.203)),
    "letrecog": ((3898.5, 5253.8, 542.1), (0.250, 0.283, 0.118)),
    "nursery": ((156.0, 23.1, 28.8), (0.049, 0.129, 0.094)),
    "pendigits": ((270.9, 414.1, 110.6), (0.169, 0.204, 0.130)),
}
SUPPORTS = (1, 2, 5, 10, 100)
DRAWS = 2_000
SEED = 1


def coded(data: pd.DataFrame, other: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return both tables with the same whole number for the same value of a column; missing values are -1."""
    pairs = []
    for name in data:
        together = pd.concat([data[name], other[name]], ignore_index=True).astype("object")
        codes, _ = pd.factorize(together.where(together.notna(), None), use_na_sentinel=True)
        pairs.append(codes)
    both = np.column_stack(pairs)
    return both[: len(data)], both[len(data) :]


def frame_of(made: object, columns: list[str]) -> pd.DataFrame:
    if isinstance(made, pd.DataFrame):
        return made
    rows = [made.values(row) for row in range(made.distinct) for _ in range(int(made.counts[row]))]
    return pd.DataFrame(rows, columns=list(made.columns))[columns]


def supports_of_common(original: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Return, for every row of the original that the generated table has too, how often the original has it."""
    _, first, counts = np.unique(np.vstack([original, made]), axis=0, return_inverse=True, return_counts=True)
    first = first.reshape(-1)
    mine = np.bincount(first[: len(original)], minlength=len(counts))
    common = np.isin(first[: len(original)], first[len(original) :])
    return mine[first[: len(original)]][common]


def random_itemsets(original: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return drawn itemsets that exactly one row holds: the row, and the columns."""
    draw = np.random.default_rng(SEED)
    found = []
    for _ in range(DRAWS):
        row, size = int(draw.integers(len(original))), int(draw.integers(1, original.shape[1] + 1))
        columns = np.sort(draw.choice(original.shape[1], size=size, replace=False))
        columns = columns[original[row, columns] >= 0]
        if len(columns) and holders(original, original[row], columns) == 1:
            found.append((row, columns))
    return found


def holders(table: np.ndarray, row: np.ndarray, columns: np.ndarray) -> int:
    left = np.arange(len(table))
    for column in columns:
        left = left[table[left, column] == row[column]]
    return len(left)


def quarter_lengths(lengths: list[int]) -> str:
    if not lengths:
        return "none"
    return " ".join(f"{int(np.quantile(lengths, share, method='inverted_cdf'))}" for share in (0.25, 0.5, 0.75, 1.0))


def main() -> None:
    print("kept / lost (FN) / false (FP): frequent itemsets, support 10%, and the NFD of each; figure 1: share of the")
    print(
        f"common records whose support in the original is at most {', '.join(map(str, SUPPORTS))}; figure 2: itemsets"
    )
    print("of support one: share that occurs, and quartiles of their lengths (of all that were drawn)\n")
    for name in sys.argv[1:] or THESIS:
        data = load(name)
        if data is None:
            continue
        counts, nfd = THESIS[name]
        print(f"{name}, {len(data):,} rows; thesis: {counts}, NFD {nfd}")
        columns = list(data)
        drawn: list[tuple[int, np.ndarray]] | None = None
        for label, made in generated(data).items():
            found = pp.itemset_difference(made, original=data, attributes=columns, support="1/10")
            three = "/".join(
                "-" if found.details[f"nfd_{part}"] is None else f"{float(found.details[f'nfd_{part}']):.3f}"
                for part in ("kept", "lost", "false")
            )
            original, other = coded(data, frame_of(made, columns))
            supports = supports_of_common(original, other)
            curve = " ".join(f"{np.mean(supports <= most):.2f}" if len(supports) else "-" for most in SUPPORTS)
            drawn = random_itemsets(original) if drawn is None else drawn
            lengths = [len(where) for row, where in drawn if holders(other, original[row], where)]
            share = len(lengths) / len(drawn) if drawn else 0.0
            print(
                f"  {label:<42} {found.kept:,} / {found.lost:,} / {found.false:,}, NFD {three}; figure 1: {curve} of "
                f"{len(supports):,}; figure 2: {share:.1%} of {len(drawn):,}, lengths {quarter_lengths(lengths)} "
                f"({quarter_lengths([len(where) for _, where in drawn])})",
                flush=True,
            )


if __name__ == "__main__":
    main()
