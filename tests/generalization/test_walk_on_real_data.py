"""The lattice walk on census rows, checked on random nodes against pandas."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privacy_plugin.generalization.class_counts import class_sizes
from privacy_plugin.generalization.walk.counts import failing_counts, suppressed_counts
from privacy_plugin.metrics.class_rules import ClassRule, Closeness, DistinctDiversity, Presence
from tests.generalization.lattice_tables import Codes

ROOT = Path(os.environ.get("PRIVACY_PLUGIN_DATA", Path(__file__).parent.parent.parent.parent / "shared" / "data"))


def census(folder: str, table: str) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """The rows, and for every column its hierarchy with a column a level; skips where the data is not there."""
    path = ROOT / folder / table
    if not path.is_file():
        pytest.skip(f"{folder}/{table} is not there; set PRIVACY_PLUGIN_DATA to the folder that holds {folder}/")
    rows = pd.read_csv(path, sep=";", dtype=str)
    files = {str(column): path.parent / f"{folder}_hierarchy_{column}.csv" for column in rows}
    hierarchies = {c: pd.read_csv(f, sep=";", header=None, dtype=str) for c, f in files.items() if f.is_file()}
    return rows, hierarchies


def coded(rows: pd.DataFrame, hierarchies: dict[str, pd.DataFrame]) -> tuple[Codes, list[Codes]]:
    codes, maps = [], []
    for column in rows:
        hierarchy = hierarchies[str(column)]
        codes.append(pd.Index(hierarchy[0]).get_indexer(pd.Index(rows[column])))
        maps.append(np.array([pd.factorize(hierarchy[level])[0] for level in hierarchy]))
    return np.column_stack(codes).astype(np.int64), maps


def generalized(rows: pd.DataFrame, hierarchies: dict[str, pd.DataFrame], node: tuple[int, ...]) -> pd.DataFrame:
    columns = {
        column: rows[column].map(hierarchies[str(column)].set_index(0, drop=False)[level])
        for column, level in zip(rows, node, strict=True)
    }
    return pd.DataFrame(columns)


def random_nodes(result: Codes, number: int) -> list[tuple[int, ...]]:
    chosen = np.random.default_rng(0).choice(result.size, number, replace=False)
    return [tuple(int(level) for level in np.unravel_index(flat, result.shape)) for flat in chosen]


def test_suppressed_rows_of_62208_nodes() -> None:
    rows, hierarchies = census("adult10", "adult10.csv")
    rows = rows[list(hierarchies)]
    codes, maps = coded(rows, hierarchies)
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    result = suppressed_counts(distinct, counts, maps, k=5)
    assert result.shape == (4, 3, 3, 3, 3, 2, 4, 3, 4, 2)
    for node in random_nodes(result, 40):
        frame = generalized(rows, hierarchies, node)
        sizes = frame.groupby(list(frame), sort=False).size()
        assert result[node] == sizes[sizes < 5].sum()
        mine = class_sizes(distinct, counts, maps, node)
        assert sorted(mine.tolist()) == sorted(sizes.tolist())


def test_diversity_and_closeness_of_occupations() -> None:
    rows, hierarchies = census("adult", "adult_30162.csv")
    quasi = rows.drop(columns="occupation")
    codes, maps = coded(quasi, hierarchies)
    values, names = pd.factorize(rows["occupation"])
    lines, counts = np.unique(np.column_stack([codes, values]), axis=0, return_counts=True)
    rules: list[ClassRule] = [DistinctDiversity(l=4), Closeness(t=Fraction(2, 5))]
    result = failing_counts(lines[:, :-1], counts, maps, k=5, rules=rules, sensitive=lines[:, -1])
    table = np.bincount(values, minlength=len(names))
    for node in random_nodes(result, 12):
        frame = generalized(quasi, hierarchies, node)
        classes = frame.groupby(list(frame), sort=False).ngroup().to_numpy()
        histograms = np.zeros((classes.max() + 1, len(names)), dtype=np.int64)
        np.add.at(histograms, (classes, values), 1)
        sizes = histograms.sum(axis=1)
        surplus = np.maximum(histograms * len(rows) - table * sizes[:, None], 0).sum(axis=1)
        close = 5 * surplus <= 2 * sizes * len(rows)
        passes = (sizes >= 5) & ((histograms > 0).sum(axis=1) >= 4) & close
        assert result[node] == sizes[~passes].sum()


def test_presence_in_a_tenth_of_the_population() -> None:
    rows, hierarchies = census("adult", "adult_30162.csv")
    codes, maps = coded(rows, hierarchies)
    member = np.zeros(len(rows), dtype=np.int64)
    member[np.random.default_rng(1).choice(len(rows), 3016, replace=False)] = 1
    lines, line_of, population = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    counts = np.zeros(len(lines), dtype=np.int64)
    np.add.at(counts, line_of.ravel(), member)
    rules = [Presence(low=Fraction(1, 20), high=Fraction(3, 20))]
    result = failing_counts(lines, counts, maps, rules=rules, population=population)
    for node in random_nodes(result, 12):
        frame = generalized(rows, hierarchies, node)
        found = frame.assign(member=member).groupby(list(frame), sort=False)["member"].agg(["sum", "size"])
        fails = (20 * found["sum"] < found["size"]) | (20 * found["sum"] > 3 * found["size"])
        assert result[node] == found["sum"][fails].sum()
