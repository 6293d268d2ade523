"""Reads the itemset databases that other benchmarks run on; nothing to run here."""

import os
import zipfile
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np

Row = tuple[int, ...]


def find(name: str) -> Path | None:
    path = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data")) / "itemsets" / name
    if path.exists():
        return path
    print(f"skipped: {name} not found; set PRIVACY_PLUGIN_DATA")
    return None


def read_database(path: Path) -> list[Row]:
    """Krimp's text format: lines "length: items" after a header."""
    lines = (line.partition(":") for line in path.read_text().splitlines())
    return [tuple(sorted(map(int, rest.split()))) for head, _, rest in lines if head.isdigit()]


def groups_of(path: Path) -> list[list[int]]:
    """The header's groups of items that exclude each other; the class comes last."""
    (line,) = [text for text in path.read_text().splitlines() if text.startswith("cd:")]
    return [list(map(int, group.split())) for group in line[3:].split(",")]


def read_visits(path: Path) -> list[Row]:
    """The msnbc sequences as sets of page categories, 1 to 17; 18 for a visit without the frontpage, 1."""
    with zipfile.ZipFile(path) as files:
        lines = files.read("msnbc990928.seq").decode().splitlines()
    visits = ({int(page) for page in line.split()} for line in lines if line[:1].isdigit())
    return [tuple(sorted(visit if 1 in visit else visit | {18})) for visit in visits]


def read_numbers(path: Path) -> list[Row]:
    """The LUCS-KDD format: a row of items a line, numbered column by column."""
    return [tuple(sorted(map(int, line.split()))) for line in path.read_text().splitlines() if line.strip()]


def grouped(rows: list[Row]) -> dict[str, np.ndarray]:
    counts = Counter(rows)
    distinct = sorted(counts)
    return {
        "items": np.array([item for row in distinct for item in row], dtype=np.int64),
        "offsets": np.cumsum([0, *(len(row) for row in distinct)], dtype=np.int64),
        "counts": np.array([counts[row] for row in distinct], dtype=np.int64),
    }


def columns_of(rows: list[Row]) -> list[list[int]]:
    """Items of one column are numbered in sequence and exclude each other."""
    together = {pair for row in set(rows) for pair in combinations(row, 2)}
    groups: list[list[int]] = []
    for item in sorted({item for row in rows for item in row}):
        if groups and all((other, item) not in together for other in groups[-1]):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups
