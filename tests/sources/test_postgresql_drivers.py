"""PostgreSQL through psycopg2, which many pipelines still have: the same groups as through psycopg."""

from collections.abc import Iterator
from datetime import date

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import sql_table
from privacy_plugin.sources.sql.connections import parse_url
from tests.sources.databases import run

pytestmark = pytest.mark.postgres


@pytest.fixture
def older(postgresql: sa.Engine) -> Iterator[sa.Engine]:
    """The same database through psycopg2."""
    engine = sa.create_engine(postgresql.url.set(drivername="postgresql+psycopg2"))
    yield engine
    engine.dispose()


def test_the_same_groups_and_fingerprints(postgresql: sa.Engine, older: sa.Engine) -> None:
    run(
        postgresql,
        "CREATE TABLE t (i int, f float8, n numeric, b bool, t text, u uuid, y bytea, j json, a int[], s interval, "
        "d date, m timestamp, z timestamptz, c time)",
        "INSERT INTO t SELECT i %% 3, i %% 2, i %% 4 + 0.50, i %% 2 = 0, 'é' || i %% 5, "
        "CAST(lpad((i %% 2)::text, 32, '0') AS uuid), decode(lpad(to_hex(i %% 3), 2, '0'), 'hex'), "
        "json_build_object('k', i %% 2), ARRAY[i %% 2], i %% 2 * interval '1 day', "
        "date '9999-12-31' - i %% 3, timestamp '0001-01-01' + i %% 2 * interval '1 microsecond', "
        "timestamptz '2024-10-27 00:30Z' + i %% 3 * interval '1 hour', time '23:59:59.5' "
        "FROM generate_series(1, 200) i",
        "INSERT INTO t DEFAULT VALUES",
    )
    one, other = sql_table(postgresql, "t"), sql_table(older, "t")
    assert one.fingerprint() == other.fingerprint()
    tables = [source.frequencies(source.columns) for source in (one, other)]
    assert tables[0].dictionaries == tables[1].dictionaries
    assert tables[0].codes.tolist() == tables[1].codes.tolist()
    assert tables[0].counts.tolist() == tables[1].counts.tolist()


@pytest.mark.parametrize(
    "value",
    [
        "date 'infinity'",
        "date '-infinity'",
        "date '0044-03-15 BC'",
        "date '10000-01-01'",
        "timestamp 'infinity'",
        "timestamptz '-infinity'",
        "timestamptz '10000-01-01Z'",
        "time '24:00'",
    ],
)
def test_times_that_psycopg2_would_merge_are_refused(postgresql: sa.Engine, older: sa.Engine, value: str) -> None:
    run(postgresql, f"CREATE TABLE t AS SELECT {value} AS d, 1 AS k")
    source = sql_table(older, "t")
    with pytest.raises(SourceError, match=r"years must be 1 to 9999.*'SELECT d::text") as caught:
        source.frequencies(["k", "d"])
    assert not any(quoted in str(caught.value) for quoted in ("44-03", "BC", "10000"))
    with pytest.raises(SourceError, match="years must be 1 to 9999"):
        source.recode(Recoding(keep=("d",), mappings={"d": {}}), target="r")


@pytest.mark.parametrize("style", ["ISO, MDY", "German", "SQL, DMY", "Postgres"])
def test_a_session_that_writes_dates_in_another_style(older: sa.Engine, style: str) -> None:
    run(older, "CREATE TABLE t AS SELECT date '2024-02-03' AS d UNION ALL SELECT date '2024-03-02'")
    with older.connect() as connection:
        connection.exec_driver_sql(f"SET DateStyle = '{style}'")
        if style.startswith("ISO"):
            assert sql_table(connection, "t").frequencies(["d"]).dictionary("d") == (date(2024, 2, 3), date(2024, 3, 2))
            return
        with pytest.raises(SourceError, match="years must be 1 to 9999"):
            sql_table(connection, "t").frequencies(["d"])


def test_an_address_without_a_driver_is_psycopg_s() -> None:
    """Whatever SQLAlchemy would choose: its versions differ."""
    assert parse_url("postgresql://h/d").drivername == "postgresql+psycopg"
    assert parse_url("postgresql+psycopg2://h/d").drivername == "postgresql+psycopg2"
