"""A released frame has the judged columns and nothing else."""

import pickle
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.numbered_rows import NumberedRows

MARKER = "MARKER-OF-A-PERSON"


def with_names_around() -> pd.DataFrame:
    """Return a frame with names in its index, its attributes and the title of its columns, one of an absent person."""
    zips = pd.Categorical(["8001", "8002", MARKER])
    frame = pd.DataFrame({"zip": zips, "sex": ["f", "m", "f"]}, index=[MARKER, "b", "c"])
    frame.index.name = frame.columns.name = MARKER
    frame.attrs["source"] = MARKER
    return frame.iloc[:2]


def in_arrow() -> pa.Table:
    zips = pa.array(["8001", "8002", MARKER]).dictionary_encode()
    sexes = pa.array(["f", "m", MARKER]).cast(pa.string_view())
    return pa.table({"zip": zips, "sex": sexes}).replace_schema_metadata({"source": MARKER}).slice(0, 2)


def in_polars() -> pl.DataFrame:
    zips = pl.Series(["8001", "8002", MARKER], dtype=pl.Categorical)
    return pl.DataFrame({"zip": zips, "sex": ["f", "m", MARKER]}).head(2)


class WithSource(pd.DataFrame):
    """A subclass of DataFrame, as geographic frames are: what it keeps follows every copy."""

    _metadata: ClassVar[list[str]] = ["source"]

    @property
    def _constructor(self) -> Any:
        return WithSource


def of_its_own_class() -> pd.DataFrame:
    frame = WithSource({"zip": ["8001", "8002"], "sex": ["f", "m"]})
    frame.source = MARKER
    return frame


@pytest.mark.parametrize("made", [with_names_around, in_arrow, in_polars, of_its_own_class])
def test_index_and_attributes_are_not_released(made: Any) -> None:
    seen: list[Source] = []
    released = open_source(made()).publish(None, columns=["zip", "sex"], verify=seen.append)
    assert MARKER.encode() not in pickle.dumps(released)
    assert open_source(released).fingerprint() == seen[0].fingerprint() == open_source(made()).fingerprint()


@pytest.mark.parametrize("made", [with_names_around, in_arrow])
def test_removed_rows_leave_no_category(made: Any) -> None:
    """The index of a pandas frame stays with its rows until it is released."""
    rows = Recoding(
        keep=("zip", "sex"),
        mappings={"sex": {"f": "f", "m": "m"}},
        suppressed=frozenset({("f",)}),
        suppressed_columns=("sex",),
        suppression="drop",
    )
    left = open_source(made()).recode(rows)
    content = pickle.dumps(
        left.reset_index(drop=True).rename_axis(columns=None) if isinstance(left, pd.DataFrame) else left
    )
    assert open_source(left).row_count() == 1
    assert (b"8001" in content, b"8002" in content, MARKER.encode() in content) == (False, True, False)


@pytest.mark.parametrize("writing", ["publish", "distribute", "write_rows"])
@pytest.mark.parametrize("labels", [[75601, 75602, 75603], [2, 0, 1], [7, 7, 7]])
def test_a_released_frame_has_a_new_index(writing: str, labels: list[int]) -> None:
    """Unnamed integers look like a row number to the gate, but may be keys of people."""
    frame = pd.DataFrame({"zip": ["8001", "8002", "8001"]}, index=labels)
    source, table = open_source(frame), open_source(frame).frequencies(["zip"])
    rows = NumberedRows(
        table=table, lines=np.array([0, 1, 0]), number="n", numbers=np.array([1, 2, 3]), columns=("zip", "n")
    )
    released: pd.DataFrame = {
        "publish": lambda: source.publish(None, columns=["zip"], verify=lambda copy: None),
        "distribute": lambda: source.distribute(["zip"], lambda _: [rows], targets=None, verify=lambda copies: None)[0],
        "write_rows": lambda: source.write_rows(table, target=None, verify=lambda copy: None),
    }[writing]()
    assert isinstance(released.index, pd.RangeIndex)
    assert (released.index.start, released.index.step, len(released)) == (0, 1, 3)
