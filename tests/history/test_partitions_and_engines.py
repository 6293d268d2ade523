"""Several partitions of a dataset are judged together, and the engines agree: each hands over its groups."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars
import pyarrow
import pytest
import sqlalchemy as sa

from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.history import ReleaseHistory
from privacy_plugin.history.in_use import using_history
from privacy_plugin.sources import open_source, sql_table
from tests.engines import mariadb_database, postgresql_database, spark_session
from tests.history.releases import EIGHT, KEY, history_of, policy_of, release_of, together_policy

ACROSS = policy_of({"across_releases": {}}, {"m_invariance": {"at_least": 2}})
FIRST, SECOND = release_of(["abcd", "efg"], EIGHT), release_of(["abc", "efgh"], EIGHT)


def _in_database(engine: sa.Engine, table: pd.DataFrame) -> Any:
    table.to_sql("visits", engine, index=False)
    return sql_table(engine, "visits")


MADE = {
    "polars": lambda table, folder: polars.from_pandas(table),
    "arrow": lambda table, folder: pyarrow.Table.from_pandas(table, preserve_index=False),
    "duckdb": lambda table, folder: duckdb.connect().from_df(table),
    "parquet": lambda table, folder: _parquet(table, folder),
    "sqlite": lambda table, folder: _in_database(sa.create_engine(f"sqlite:///{folder / 'clinic.db'}"), table),
    "postgresql": lambda table, folder: _in_database(postgresql_database(), table),
    "mariadb": lambda table, folder: _in_database(mariadb_database(), table),
    "spark": lambda table, folder: spark_session().createDataFrame(table),
}


def _parquet(table: pd.DataFrame, folder: Path) -> Path:
    table.to_parquet(folder / "visits.parquet")
    return folder / "visits.parquet"


ENGINES = [
    *("polars", "arrow", "duckdb", "parquet", "sqlite"),
    pytest.param("postgresql", marks=pytest.mark.postgres),
    pytest.param("mariadb", marks=pytest.mark.mariadb),
    pytest.param("spark", marks=pytest.mark.spark),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_record_and_judge_alike(engine: str, tmp_path: Path) -> None:
    data = MADE[engine](SECOND, tmp_path)
    history = history_of([FIRST], ACROSS)
    found, expected = (ACROSS.judge(each, history=history) for each in (data, SECOND))
    assert [finding.to_dict() for finding in found.findings] == [finding.to_dict() for finding in expected.findings]
    assert not found.passed
    history.record(data, policy=ACROSS)
    other = history_of([FIRST, SECOND], ACROSS)
    details = [each.judge(FIRST, history=h).findings[1].measurement for each, h in ((ACROSS, history), (ACROSS, other))]
    assert details[0].to_dict() == details[1].to_dict()


def test_the_engine_is_asked_for_groups_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that repeats every row a thousand times hands over as many groups as the table itself."""
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'clinic.db'}")
    unitless = policy_of({"differences": {}}, unit=False)
    rows = pd.concat([FIRST[["age", "disease"]]] * 1000, ignore_index=True)
    source = _in_database(engine, rows)
    seen: list[int] = []
    original = FrequencyTable.from_columns.__func__  # type: ignore[attr-defined]

    def counted(cls: Any, columns: Any, codes: Any, *rest: Any, **more: Any) -> Any:
        seen.append(len(codes[0]) if len(codes) else 0)
        return original(cls, columns, codes, *rest, **more)

    history = ReleaseHistory("sqlite://", key=KEY)
    history.record(source, policy=unitless)
    monkeypatch.setattr(FrequencyTable, "from_columns", classmethod(counted))
    assert unitless.judge(source, history=history).passed
    assert 0 < max(seen) <= len(FIRST)
    assert open_source(source).row_count() == len(rows)


def test_people_of_several_partitions_are_followed_through_all_of_them() -> None:
    policy = policy_of({"across_releases": {}})
    history = ReleaseHistory("sqlite://", key=KEY)
    history.record(release_of(["abcd"], EIGHT), policy=policy, partition="monday")
    history.record(release_of(["efgh"], EIGHT), policy=policy, partition="tuesday")
    assert policy.judge(release_of(["abcd"], EIGHT), history=history, partition="wednesday").passed
    assert policy.judge(release_of(["ab", "efgh"], EIGHT), history=history, partition="wednesday").passed
    alone = policy.judge(release_of(["abce", "fgh"], EIGHT), history=history, partition="wednesday")
    assert not alone.passed  # d stayed away from wednesday, and e is in another class than the rest of tuesday
    assert alone.findings[1].measurement.to_dict()["details"]["earlier_releases"] == 2


def test_partitions_without_a_unit_are_compared_with_all_releases() -> None:
    policy = policy_of({"differences": {}}, unit=False)
    history = ReleaseHistory("sqlite://", key=KEY)
    history.record(release_of(["abcd"], EIGHT)[["age", "disease"]], policy=policy, partition="monday")
    more = release_of(["abcde"], EIGHT)[["age", "disease"]]
    assert not policy.judge(more, history=history, partition="tuesday").passed


def test_every_partition_continues_its_own_plan() -> None:
    policy, history = together_policy(), ReleaseHistory("sqlite://", key=KEY)
    monday = pd.DataFrame({"person": list("abcd"), "age": [0, 0, 1, 1], "disease": list("fgfg")})
    tuesday = pd.DataFrame({"person": list("stuv"), "age": [0, 1, 2, 3], "disease": list("fgfg")})
    with using_history(history):
        plans = {}
        for partition, table in (("monday", monday), ("tuesday", tuesday)):
            made = anonymize(table, policy=policy, partition=partition)
            assert policy.judge(made.made, partition=partition).passed
            plan = json.dumps(made.plan.to_dict())
            history.reserve(made.made, policy=policy, partition=partition, plan=plan)
            plans[partition] = set(made.made["age"])
        assert plans["monday"] != plans["tuesday"]
        for partition, table in (("monday", monday), ("tuesday", tuesday)):
            assert set(anonymize(table, policy=policy, partition=partition).made["age"]) == plans[partition]
