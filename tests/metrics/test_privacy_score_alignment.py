"""Scores aligned with the rows of a frame, for any kind, index and types."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privacy_plugin.errors import ParameterError, SourceError
from tests.metrics.score_frames import ROLES, VISITS, score


@pytest.mark.parametrize("index", [[3, 1, 0, 2], [7, 7, 7, 7], list("dcba")])
def test_scores_are_aligned_with_rows_for_any_index(index):
    found = score(VISITS, roles=ROLES)
    assert found.of(VISITS.set_axis(index)).tolist() == [0.5, 0.5, 0, 0]
    assert found.of(VISITS.set_axis(index)[::-1]).tolist() == [0, 0, 0.5, 0.5]
    assert found.of(VISITS.iloc[[3, 0, 0]]).tolist() == [0, 0.5, 0.5]
    assert found.of(VISITS.assign(more=1)[["disease", "more", "city"]]).tolist() == [0.5, 0.5, 0, 0]


def test_scores_are_aligned_with_frames_of_every_kind():
    found = score(VISITS, roles=ROLES)
    kinds = [pl.from_pandas(VISITS), pa.Table.from_pandas(VISITS), VISITS.to_dict("list"), VISITS.astype("category")]
    for kind in kinds:
        assert found.of(kind).tolist() == [0.5, 0.5, 0, 0]
    assert found.of(found.table).tolist() == found.individuals.tolist()
    with pytest.raises(SourceError):
        found.of(pl.from_pandas(VISITS).lazy())
    with pytest.raises(SourceError):
        found.of([1, 2])
    with pytest.raises(ParameterError, match="1 of 4 rows are not among"):
        found.of(VISITS.assign(city=["Bern", "Bern", "Basel", "Genf"]))
    with pytest.raises(ParameterError, match="2 of 4 rows"):
        found.of(VISITS.assign(city="Bern", disease=["flu", "flu", "gout", "gout"]))


def test_equal_values_of_other_types_are_found():
    frame = pd.DataFrame({"age": [30, None, 41], "day": pd.to_datetime(["2024-01-01", None, "2024-01-02"])})
    found = score(frame)
    other = pd.DataFrame({"age": pd.array([41, 30, None], dtype="Int64"), "day": ["2024-01-02", "2024-01-01", None]})
    with pytest.raises(ParameterError, match="2 of 3 rows"):
        found.of(other)  # text is not a date
    other["day"] = pd.to_datetime(other["day"])
    assert found.of(other).tolist() == found.of(frame)[[2, 0, 1]].tolist()
