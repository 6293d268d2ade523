"""The fingerprint changes with the content, and with nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.sources import Fingerprint, open_source
from privacy_plugin.sources.fingerprint import RowHashes, _write_cell, _write_cells
from tests.oracles.frequencies import count_rows
from tests.sources.awkward import NAN, awkward_table
from tests.sources.loading import ENGINES, LOADERS, QUICK_ENGINES, Table

LOCAL = ("pandas", "polars", "polars_lazy", "arrow")


def fingerprint(engine: str, folder: Path, table: Table, columns: list[str] | None = None) -> Fingerprint:
    return open_source(LOADERS[engine](table, folder)).fingerprint(columns)


def changed(table: Table, name: str, row: int, value: Any) -> Table:
    values = {n: list(column) for n, column in table.values.items()}
    values[name][row] = value
    return Table(kinds=table.kinds, values=values)


def picked(table: Table, rows: list[int]) -> Table:
    return Table(kinds=table.kinds, values={n: [c[i] for i in rows] for n, c in table.values.items()})


BASE = Table(
    kinds={"b": "text", "a": "text", "f": "float", "i": "integer"},
    values={
        "b": ["x", "", None, "*", "x"],
        "a": ["y", "12:3", "N", "1:N", "y"],
        "f": [0.1, 0.30000000000000004, None, 1e300, 0.1],
        "i": [1, 2**53, None, -1, 1],
    },
)


@pytest.mark.parametrize("engine", ENGINES)
def test_content_and_nothing_else(engine: str, tmp_path: Path) -> None:
    original = fingerprint(engine, tmp_path, BASE)
    assert (original.rows, original.columns) == (5, ("a", "b", "f", "i"))
    assert len(bytes.fromhex(original.digest)) == 32
    reordered = Table(
        kinds={name: BASE.kinds[name] for name in ("i", "f", "a", "b")},
        values={name: BASE.values[name] for name in ("i", "f", "a", "b")},
    )
    assert fingerprint(engine, tmp_path, reordered) == original
    assert fingerprint(engine, tmp_path, picked(BASE, [4, 2, 0, 3, 1])) == original
    assert fingerprint(engine, tmp_path, reordered, ["b", "i"]) == fingerprint(engine, tmp_path, BASE, ["i", "b"])
    others = {
        "missing is not empty": changed(BASE, "b", 1, None),
        "missing is not suppressed": changed(BASE, "b", 2, "*"),
        "empty is not suppressed": changed(BASE, "b", 1, "*"),
        "case": changed(BASE, "b", 0, "X"),
        "trailing blank": changed(BASE, "b", 0, "x "),
        "last digit of a float": changed(BASE, "f", 1, 0.30000000000000010),
        "last digit of an integer": changed(BASE, "i", 1, 2**53 + 1),
        "a row less": picked(BASE, [0, 1, 2, 3]),
        "a row twice": picked(BASE, [0, 1, 2, 3, 4, 4]),
        "another row twice": picked(BASE, [0, 1, 2, 3, 3]),
        "cells swapped": changed(changed(BASE, "a", 0, "x"), "b", 0, "y"),
        "a border moved": changed(changed(BASE, "a", 0, "yx"), "b", 0, ""),
        "a column less": Table(
            kinds={n: k for n, k in BASE.kinds.items() if n != "f"},
            values={n: c for n, c in BASE.values.items() if n != "f"},
        ),
        "a column renamed": Table(
            kinds={n.replace("a", "c"): k for n, k in BASE.kinds.items()},
            values={n.replace("a", "c"): c for n, c in BASE.values.items()},
        ),
        "names swapped": Table(kinds=BASE.kinds, values={**BASE.values, "a": BASE.values["b"], "b": BASE.values["a"]}),
    }
    digests = {why: fingerprint(engine, tmp_path, table).digest for why, table in others.items()}
    assert original.digest not in digests.values()
    assert len(set(digests.values())) == len(digests)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_kind_of_value_counts(engine: str, tmp_path: Path) -> None:
    table = awkward_table(engine)
    original = fingerprint(engine, tmp_path, table)
    assert fingerprint(engine, tmp_path, picked(table, list(range(96, -1, -1)))) == original
    seen = {original.digest}
    for name, column in table.values.items():
        row = next(i for i, value in enumerate(column) if value is not None and value == value)
        seen.add(fingerprint(engine, tmp_path, changed(table, name, row, None)).digest)
    assert len(seen) == 1 + len(table.names)


cells = st.one_of(st.none(), st.text(alphabet="aN1:* \"',\n", max_size=3))
tables = st.lists(st.tuples(cells, cells), min_size=1, max_size=6)


@pytest.mark.parametrize("engine", [name for name in QUICK_ENGINES if name != "duckdb"])
@settings(
    deadline=None,
    max_examples=20,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=tables, second=tables, order=st.randoms(use_true_random=False))
def test_equal_exactly_when_the_rows_are(
    engine: str, tmp_path: Path, first: list[Any], second: list[Any], order: Any
) -> None:
    def of(rows: list[Any]) -> Fingerprint:
        table = Table(kinds={"p": "text", "q": "text"}, values={"p": [r[0] for r in rows], "q": [r[1] for r in rows]})
        return fingerprint(engine, tmp_path, table)

    shuffled = list(first)
    order.shuffle(shuffled)
    assert of(shuffled) == of(first)
    assume(count_rows(first) != count_rows(second))
    assert of(second) != of(first)


def test_local_frames_share_one_scheme(tmp_path: Path) -> None:
    table = awkward_table("pandas")
    found = {fingerprint(engine, tmp_path, table) for engine in LOCAL}
    assert len(found) == 1
    counted = FrequencyTable.from_rows(table.names, table.rows)
    assert open_source(counted).fingerprint() in found


def test_engines_do_not_pretend_to_agree(tmp_path: Path) -> None:
    assert fingerprint("sqlite", tmp_path, BASE).scheme != fingerprint("duckdb", tmp_path, BASE).scheme
    assert fingerprint("duckdb", tmp_path, BASE) == fingerprint("duckdb_relation", tmp_path, BASE)


def test_index_and_chunks_do_not_change_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"a": range(1000), "b": [f"v{i % 7}" for i in range(1000)]})
    original = open_source(frame).fingerprint()
    permuted = frame.sample(frac=1, random_state=3)
    assert open_source(permuted).fingerprint() == original
    assert open_source(frame.set_index(pd.Index([0] * 1000))).fingerprint() == original
    monkeypatch.setattr("privacy_plugin.sources.frames.local_source.CHUNK_ROWS", 64)
    assert open_source(permuted).fingerprint() == original
    assert open_source(permuted.iloc[1:]).fingerprint() != original


@pytest.mark.parametrize("value", ["", "é", 0, -5, 2**70, True, 0.5, 1e-7, 3.0, -0.0, NAN, float("inf"), None, b"x"])
def test_fast_cell_writers_equal_the_general_one(value: Any) -> None:
    assert _write_cells([value]) == [_write_cell(value)]


def test_zeros_and_missing_have_one_form() -> None:
    assert _write_cells([0.0, -0.0, 0, None, NAN]) == [_write_cell(0)] * 3 + [_write_cell(None)] * 2


def test_hashes_with_zero_bytes_are_kept_whole() -> None:
    """numpy strips zero bytes at the end of its strings; hashes that end in them must survive."""
    hashes = RowHashes()
    rows = 5000
    for number in range(rows):
        hashes.add(str(number).encode())
    assert len(hashes) == rows
    shuffled = RowHashes()
    for number in np.random.default_rng(1).permutation(rows).tolist():
        shuffled.add(str(number).encode())
    assert dict(shuffled.buckets()) == dict(hashes.buckets())
    assert all(len(name) == 3 and len(digest) == 64 for name, digest in hashes.buckets())
