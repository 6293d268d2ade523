import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.anonymizers.bucketization.bucketize import _Deal
from privacy_plugin.errors import ColumnError, InfeasibleError, ParameterError, SourceError
from privacy_plugin.sources import SqlTable, sql_table
from privacy_plugin.sources.sql.files import FileSource
from tests.sources.databases import tables
from tests.sources.loading import DATABASES, ENGINES, LOADERS, Table

ASKED = {"quasi_identifiers": ["age", "city"], "sensitive": "disease", "knowledge": 1, "below": 0.6}
DISEASES = ["flu", "cold", "gout", None]
PEOPLE = [(30 + number // 7, ["Bern", "Basel", None][number % 3], DISEASES[number % 4]) for number in range(40)]
TABLE = Table(
    kinds={"age": "integer", "city": "text", "disease": "text"},
    values=dict(zip(["age", "city", "disease"], zip(*PEOPLE, strict=True), strict=True)),
)


TARGETS = {
    **dict.fromkeys(["sqlite", "duckdb", "postgresql", "mariadb"], ("published_people", "published_values")),
    **{ending: (f"people.{ending}", f"values.{ending}") for ending in ("csv", "parquet")},
}


def targets_of(engine, folder):
    """Where a database or a file puts the pair; None for frames."""
    names = TARGETS.get(engine)
    return names if names is None or engine not in ("csv", "parquet") else tuple(str(folder / name) for name in names)


def rows_of(data):
    """The rows of any data in their order, with None for what is missing."""
    if isinstance(data, SqlTable):
        with data.bind.connect() as connection:
            query = sa.select(sa.literal_column("*")).select_from(data.selectable)
            return [tuple(row) for row in connection.execute(query).all()]
    if isinstance(data, FileSource):
        path = str(data._place)
        data = duckdb.sql(f"SELECT * FROM '{path}'" if path.endswith(".parquet") else _csv(path))
    if type(data).__name__ == "DuckDBPyRelation":
        return data.fetchall()
    if hasattr(data, "toArrow"):
        data = data.toArrow()
    if isinstance(data, pl.DataFrame):
        return data.rows()
    if isinstance(data, pa.Table):
        return list(zip(*(column.to_pylist() for column in data.columns), strict=True))
    return [tuple(row) for row in data.astype(object).where(data.notna(), None).itertuples(index=False)]


def _csv(path):
    return f"SELECT * FROM read_csv('{path}', header = true, types = {{'bucket': 'BIGINT'}})"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_source_writes_a_pair_that_loses_only_the_link(engine, tmp_path: Path):
    data = LOADERS[engine](TABLE, tmp_path)
    result = pp.bucketize(data, **ASKED, targets=targets_of(engine, tmp_path), generator=np.random.default_rng(3))
    kinds = {"polars_lazy": pl.DataFrame, "csv": FileSource, "parquet": FileSource}
    assert isinstance(result.individuals, kinds.get(engine, type(data)))
    assert isinstance(result.values, kinds.get(engine, type(data)))
    people, values = rows_of(result.individuals), rows_of(result.values)
    alike = pp.bucketize(TABLE.arrow(), **ASKED, generator=np.random.default_rng(3))
    assert (people, values) == (rows_of(alike.individuals), rows_of(alike.values))
    assert Counter(row[:2] for row in people) == Counter(row[:2] for row in PEOPLE)
    assert Counter(value for _, value in values) == Counter(disease for _, _, disease in PEOPLE)
    assert Counter(row[-1] for row in people) == Counter(bucket for bucket, _ in values)
    assert [row[-1] for row in people] == sorted(row[-1] for row in people)
    assert [row[0] for row in values] == sorted(row[0] for row in values)
    measured = pp.maximum_disclosure(result.values, quasi_identifiers=["bucket"], sensitive="disease", knowledge=1)
    assert measured.value == result.disclosure == Fraction(1, 2)
    assert (result.rows, result.buckets, result.smallest, result.largest, result.shared_by) == (40, 13, 3, 4, 3.1)
    assert pp.require("maximum_disclosure", knowledge=1, below=0.6).limit.holds(result.measurement)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "csv", "parquet"])
def test_databases_and_files_without_targets_return_frames(engine, tmp_path: Path):
    result = pp.bucketize(LOADERS[engine](TABLE, tmp_path), **ASKED)
    assert isinstance(result.individuals, pd.DataFrame)
    assert isinstance(result.values, pd.DataFrame)
    assert len(result.individuals) == len(result.values) == 40
    assert result.private
    counts = pp.bucketize(pp.frequency_table(TABLE.arrow(), list(TABLE.kinds)), **ASKED)
    assert list(counts.values) == ["bucket", "disease"]


@pytest.mark.parametrize("engine", [*DATABASES, "csv", "parquet"])
def test_a_pair_is_replaced_as_a_pair_or_not_at_all(engine, tmp_path: Path, monkeypatch):
    """Whatever is wrong with one of the written tables, both old ones stay."""
    data = LOADERS[engine](TABLE, tmp_path)
    targets = targets_of(engine, tmp_path)
    if engine == "postgresql":
        targets = tuple(f"{name}_{data._origin.parts[-1]}" for name in targets)
    first = pp.bucketize(data, **ASKED, targets=targets)
    before = first.individuals.fingerprint(), first.values.fingerprint()
    files = sorted(tmp_path.iterdir())
    genuine = _Deal.tables

    def moved(deal, table):
        people, values = genuine(deal, table)
        return people, replace(values, lines=np.roll(values.lines, 1))

    def lost(deal, table):
        people, values = genuine(deal, table)
        return replace(people, lines=people.lines[:-1], numbers=people.numbers[:-1]), values

    def swapped(deal, table):
        people, values = genuine(deal, table)
        return replace(people, lines=(people.lines + 1) % people.table.distinct), values

    for wrong in (moved, lost, swapped):
        monkeypatch.setattr(_Deal, "tables", wrong)
        with pytest.raises(SourceError, match="no target was replaced"):
            pp.bucketize(data, **ASKED, targets=targets, generator=np.random.default_rng(1))
    monkeypatch.undo()
    with pytest.raises(InfeasibleError):
        pp.bucketize(data, **{**ASKED, "below": 0.2}, targets=targets)
    assert (first.individuals.fingerprint(), first.values.fingerprint()) == before
    assert sorted(tmp_path.iterdir()) == files
    if isinstance(data, SqlTable):
        assert not [name for name in tables(data) if "privacy_plugin" in name]
    again = pp.bucketize(data, **ASKED, targets=targets)
    assert (again.individuals.fingerprint(), again.values.fingerprint()) != before


def test_a_target_that_is_a_folder_leaves_the_other_target_unchanged(tmp_path: Path):
    data = LOADERS["parquet"](TABLE, tmp_path)
    (tmp_path / "values.csv").mkdir()
    (tmp_path / "people.csv").write_text("old")
    for people in ("people.csv", "new.csv"):
        with pytest.raises(ParameterError, match="is a folder"):
            pp.bucketize(data, **ASKED, targets=(str(tmp_path / people), str(tmp_path / "values.csv")))
    assert (tmp_path / "people.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([data.name, "people.csv", "values.csv"])


@pytest.mark.parametrize("engine", [param for param in DATABASES if param.id != "mariadb"])
def test_a_connection_decides_whether_the_pair_stays(engine, tmp_path: Path):
    """In a transaction of the caller's nothing is committed; without one the pair is, also of a query."""
    data = LOADERS[engine](TABLE, tmp_path)
    name = data._origin.parts[-1]
    bind = data.bind.execution_options(isolation_level="REPEATABLE READ") if engine == "postgresql" else data.bind
    targets = (f"mine_{name}", f"held_{name}")
    with bind.connect() as connection:
        connection.execute(sa.text("SELECT 1")).all()
        inside = pp.bucketize(sql_table(connection, name), **ASKED, targets=targets)
        assert inside.values.row_count() == 40
        connection.rollback()
    assert not {*targets} & {*tables(data)}
    with bind.connect() as connection:
        pp.bucketize(sql_table(connection, sa.text(f"SELECT * FROM {name}")), **ASKED, targets=targets)
    assert [sql_table(data.bind, target).row_count() for target in targets] == [40, 40]


@pytest.mark.parametrize("engine", [*DATABASES, "csv", "pandas"])
def test_invalid_targets_are_refused(engine, tmp_path: Path):
    data = LOADERS[engine](TABLE, tmp_path)
    one, other = targets_of(engine, tmp_path) or ("one", "other")
    source = str(data) if engine == "csv" else getattr(data, "name", None)
    wrong = [(one,), one, (one, other, other), (one, None), (one, one)]
    wrong += [(one, source)] if source else [(one, other)]
    wrong += [("fresh", '"public".fresh')] if engine == "postgresql" else []
    wrong += [("fresh", "main.FRESH")] if engine in ("sqlite", "duckdb") else []
    for targets in wrong:
        with pytest.raises(ParameterError):
            pp.bucketize(data, **ASKED, targets=targets)


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


def test_all_forms_of_a_missing_value_are_equal():
    frame = pd.DataFrame({"q": [None, float("nan")] * 4, "s": ["a", "b"] * 4}, dtype=object)
    result = pp.bucketize(frame, quasi_identifiers=["q"], sensitive="s", knowledge=0, below=0.6)
    assert len({repr(value) for value in result.individuals["q"]}) == 1


def test_a_gate_can_judge_the_table_of_values_alone():
    """A table of values that was made elsewhere can have a policy of its own."""
    columns = {"bucket": "quasi_identifier", "disease": "sensitive"}
    line = {"maximum_disclosure": {"knowledge": 1, "below": 0.6}}
    given = {"dataset": "visits_values", "columns": columns, "requirements": [line]}
    policy = pp.Policy.from_dict(given)
    pair = pp.bucketize(LOADERS["pandas"](TABLE, Path()), **ASKED)
    verdict = policy.judge(pair.values)
    assert verdict.passed
    assert verdict.findings[0].value == pair.disclosure
    one = pair.values.assign(disease=["flu"] * 20 + ["cold"] * 20)
    assert not policy.judge(one).passed


def test_other_columns_are_left_out():
    frame = pd.DataFrame({"name": list("wxyz"), "q": [1, 1, 2, 2], "s": list("abab")})
    result = pp.bucketize(frame, quasi_identifiers=["q"], sensitive="s", knowledge=0, below=0.6, bucket="group")
    assert list(result.individuals) == ["q", "group"]
    assert list(result.values) == ["group", "s"]


def test_the_rows_reveal_nothing_about_their_order_in_the_source():
    frame = pd.DataFrame({"q": [0] * 8, "s": list("aaaabbbb")})
    result = pp.bucketize(frame, quasi_identifiers=["q"], sensitive="s", knowledge=0, below=0.6)
    assert result.individuals["bucket"].is_monotonic_increasing
    assert result.values["bucket"].is_monotonic_increasing
    assert result.buckets == 4


def test_a_column_may_be_named_bucket_if_the_bucket_column_has_another_name():
    frame = pd.DataFrame({"bucket": [1, 2, 3, 4], "s": list("abab")})
    with pytest.raises(ColumnError, match="bucket="):
        pp.bucketize(frame, quasi_identifiers=["bucket"], sensitive="s", knowledge=0, below=0.6)
    result = pp.bucketize(frame, quasi_identifiers=["bucket"], sensitive="s", knowledge=0, below=0.6, bucket="n")
    assert list(result.individuals) == ["bucket", "n"]
    other = frame.rename(columns={"bucket": "q", "s": "bucket"})
    result = pp.bucketize(other, quasi_identifiers=["q"], sensitive="bucket", knowledge=0, below=0.6, bucket="n")
    assert result.disclosure == Fraction(1, 2)


def test_invalid_parameters_are_refused():
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


def test_to_dict_contains_no_value():
    result = pp.bucketize(TABLE.arrow(), **ASKED, generator=np.random.default_rng(1))
    content = result.to_dict()
    assert json.loads(json.dumps(content)) == content
    assert (content["private"], content["below"], content["disclosure"]) == (False, 0.6, 0.5)
    for value in ("flu", "Bern", "gout"):
        assert value not in repr(result) + json.dumps(content)
