import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, InfeasibleError, ParameterError
from tests.sources.loading import LOADERS, QUICK_ENGINES, Table

ASKED = {"quasi_identifiers": ["age", "city"], "sensitive": "disease", "knowledge": 1, "below": 0.6}
DISEASES = ["flu", "cold", "gout", None]
PEOPLE = [(30 + number // 7, ["Bern", "Basel", None][number % 3], DISEASES[number % 4]) for number in range(40)]
TABLE = Table(
    kinds={"age": "integer", "city": "text", "disease": "text"},
    values=dict(zip(["age", "city", "disease"], zip(*PEOPLE, strict=True), strict=True)),
)


def rows_of(frame):
    """The rows of any frame, with None for what is missing."""
    if isinstance(frame, pl.DataFrame):
        return frame.rows()
    if isinstance(frame, pa.Table):
        return list(zip(*(column.to_pylist() for column in frame.columns), strict=True))
    return [tuple(row) for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False)]


@pytest.mark.parametrize("engine", QUICK_ENGINES)
def test_every_source_gives_a_pair_that_loses_nothing_but_the_tie(engine, tmp_path: Path):
    data = LOADERS[engine](TABLE, tmp_path)
    result = pp.bucketize(data, **ASKED)
    kinds = {"polars": pl.DataFrame, "polars_lazy": pl.DataFrame, "arrow": pa.Table}
    assert isinstance(result.individuals, kinds.get(engine, pd.DataFrame))
    assert isinstance(result.values, kinds.get(engine, pd.DataFrame))
    people, values = rows_of(result.individuals), rows_of(result.values)
    text = str if engine == "csv" else int
    assert Counter(row[:2] for row in people) == Counter((text(age), city) for age, city, _ in PEOPLE)
    assert Counter(value for _, value in values) == Counter(disease for _, _, disease in PEOPLE)
    assert Counter(row[-1] for row in people) == Counter(bucket for bucket, _ in values)
    measured = pp.maximum_disclosure(result.values, quasi_identifiers=["bucket"], sensitive="disease", knowledge=1)
    assert measured.value == result.disclosure == Fraction(1, 2)
    assert (result.rows, result.buckets, result.smallest, result.largest, result.shared_by) == (40, 13, 3, 4, 3.1)
    assert result.private
    assert pp.require("maximum_disclosure", knowledge=1, below=0.6).limit.holds(result.measurement)


def test_columns_keep_their_types():
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2024-01-01"] * 4),
            "city": pd.Categorical(["Bern", "Basel", "Bern", "Basel"]),
            "score": pd.array([1, 2, None, 2], dtype="Int64"),
            "disease": list("abab"),
        },
        index=[7, 7, 8, 9],
    )
    asked = {"quasi_identifiers": ["day", "city", "score"], "sensitive": "disease", "knowledge": 0, "below": 0.6}
    result = pp.bucketize(frame, **asked)
    assert dict(result.individuals.dtypes.drop("bucket")) == dict(frame.dtypes.drop("disease"))
    assert list(result.individuals.index) == [0, 1, 2, 3]
    typed = pl.DataFrame({"q": [1, 1, 2, 2], "s": ["a", "b", "a", "b"]}, schema={"q": pl.Int16, "s": pl.Categorical})
    small = pp.bucketize(typed, quasi_identifiers=["q"], sensitive="s", knowledge=0, below=0.6)
    assert small.individuals.schema == {"q": pl.Int16, "bucket": pl.Int64}
    assert small.values.schema["s"] == pl.Categorical


def test_forms_of_a_missing_value_do_not_tell_people_apart():
    frame = pd.DataFrame({"q": [None, float("nan")] * 4, "s": ["a", "b"] * 4}, dtype=object)
    result = pp.bucketize(frame, quasi_identifiers=["q"], sensitive="s", knowledge=0, below=0.6)
    assert len({repr(value) for value in result.individuals["q"]}) == 1


def test_other_columns_are_left_out():
    frame = pd.DataFrame({"name": list("wxyz"), "q": [1, 1, 2, 2], "s": list("abab")})
    result = pp.bucketize(frame, quasi_identifiers=["q"], sensitive="s", knowledge=0, below=0.6, bucket="group")
    assert list(result.individuals) == ["q", "group"]
    assert list(result.values) == ["group", "s"]


def test_the_rows_say_nothing_about_their_order_in_the_source():
    frame = pd.DataFrame({"q": [0] * 8, "s": list("aaaabbbb")})
    result = pp.bucketize(frame, quasi_identifiers=["q"], sensitive="s", knowledge=0, below=0.6)
    assert result.individuals["bucket"].is_monotonic_increasing
    assert result.values["bucket"].is_monotonic_increasing
    assert result.buckets == 4


def test_a_column_may_be_named_bucket_if_the_number_is_not():
    frame = pd.DataFrame({"bucket": [1, 2, 3, 4], "s": list("abab")})
    with pytest.raises(ColumnError, match="bucket="):
        pp.bucketize(frame, quasi_identifiers=["bucket"], sensitive="s", knowledge=0, below=0.6)
    result = pp.bucketize(frame, quasi_identifiers=["bucket"], sensitive="s", knowledge=0, below=0.6, bucket="n")
    assert list(result.individuals) == ["bucket", "n"]
    other = frame.rename(columns={"bucket": "q", "s": "bucket"})
    result = pp.bucketize(other, quasi_identifiers=["q"], sensitive="bucket", knowledge=0, below=0.6, bucket="n")
    assert result.disclosure == Fraction(1, 2)


def test_what_makes_no_sense_is_refused():
    frame = pd.DataFrame({"q": [1, 2, 3, 4], "s": list("aaab")})
    for change, error in (
        ({"sensitive": "q"}, ColumnError),
        ({"quasi_identifiers": []}, ColumnError),
        ({"quasi_identifiers": ["p"]}, ColumnError),
        ({"knowledge": "1"}, ParameterError),
        ({"below": 2}, ParameterError),
        ({"below": 0.5}, InfeasibleError),
    ):
        given = {"quasi_identifiers": ["q"], "sensitive": "s", "knowledge": 0, "below": 0.9, **change}
        with pytest.raises(error) as caught:
            pp.bucketize(frame, **given)
        assert "'a'" not in str(caught.value)


def test_what_is_told_about_it_names_no_value():
    result = pp.bucketize(TABLE.arrow(), **ASKED, generator=np.random.default_rng(1))
    told = result.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert (told["private"], told["below"], told["disclosure"]) == (False, 0.6, 0.5)
    for value in ("flu", "Bern", "gout"):
        assert value not in repr(result) + json.dumps(told)
