"""The itemset databases of the literature: looked for outside the repository, skipped where they are not."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest


def itemset_file(name: str) -> Path:
    """Return the path of a database, or skip the test and say why."""
    root = Path(os.environ.get("PRIVACY_PLUGIN_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
    path = root / "itemsets" / f"{name}.db"
    if not path.is_file():
        pytest.skip(f"{name}.db is not there; set PRIVACY_PLUGIN_DATA to the folder that holds itemsets/")
    return path


def read_rows(path: Path) -> list[tuple[int, ...]]:
    """Read the rows of a database in Krimp's text format: lines "length: items" after a header."""
    lines = (line.partition(":") for line in path.read_text().splitlines())
    return [tuple(sorted(map(int, rest.split()))) for head, _, rest in lines if head.isdigit()]


def columns_of(path: Path) -> list[tuple[int, ...]]:
    """Read which items exclude each other: the header's groups."""
    (line,) = [text for text in path.read_text().splitlines() if text.startswith("cd:")]
    return [tuple(map(int, group.split())) for group in line[3:].split(",")]


def grouped(rows: list[tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return distinct rows with counts, as the miners take them."""
    distinct = sorted(set(rows))
    counts = dict.fromkeys(distinct, 0)
    for row in rows:
        counts[row] += 1
    return {
        "items": np.array([item for row in distinct for item in row], dtype=np.int64),
        "offsets": np.concatenate([[0], np.cumsum([len(row) for row in distinct])]).astype(np.int64),
        "counts": np.array([counts[row] for row in distinct], dtype=np.int64),
    }


def exclusive_groups(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Group items numbered column by column: the next item joins the group unless some row has both."""
    together = {pair for row in set(rows) for pair in combinations(row, 2)}
    groups: list[list[int]] = []
    for item in sorted({item for row in rows for item in row}):
        if groups and all((other, item) not in together for other in groups[-1]):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [tuple(group) for group in groups]
