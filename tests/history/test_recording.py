"""No release is ever unrecorded: processes are killed at every point, with the history in the same database or not."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import HistoryError
from privacy_plugin.history import ReleaseHistory
from privacy_plugin.history.in_use import using_history
from privacy_plugin.history.recording import recording
from privacy_plugin.sources import Source, sql_table
from tests.engines import postgresql_database
from tests.history.releases import EIGHT, KEY, policy_of, release_of
from tests.processes import said, started

POLICY = policy_of({"across_releases": {}})
FOUR = release_of(["abcd"], EIGHT)

PUBLISH_AND_WAIT = """
    import sys
    import sqlalchemy as sa
    import privacy_plugin as pp
    from privacy_plugin.history.in_use import using_history
    from privacy_plugin.history.recording import recording
    from privacy_plugin.sources import sql_table
    from tests.history.releases import KEY, policy_of

    POLICY = policy_of({"across_releases": {}})

    address, database, pause = sys.argv[1:]
    source = sql_table(sa.create_engine(database), "visits")

    def wait(point):
        if point == pause:
            print(point, flush=True)
            sys.stdin.readline()

    def verify(staged):
        with record.verifying(staged) as reserve:
            wait("verifying")
            reserve(source_with_unit(staged))
            wait("reserved")

    def source_with_unit(staged):
        return sql_table(staged.bind, "visits")

    with using_history(pp.ReleaseHistory(address, create=False, key=KEY)):
        with recording(POLICY) as record:
            source.publish("released", columns=["age", "disease"], verify=verify)
            wait("published")
    print("done", flush=True)
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database with a table of people."""
    postgresql = request.param == "postgresql"
    engine = postgresql_database() if postgresql else sa.create_engine(f"sqlite:///{tmp_path / 'clinic.db'}")
    FOUR.to_sql("visits", engine, index=False)
    yield engine.url.render_as_string(hide_password=False)
    engine.dispose()


@pytest.mark.parametrize("together", [True, False], ids=["one database", "two databases"])
@pytest.mark.parametrize("pause", ["verifying", "reserved", "published"])
def test_whenever_a_release_is_killed_a_table_that_was_replaced_is_recorded(
    database: str, tmp_path: Path, together: bool, pause: str
) -> None:
    address = database if together else f"sqlite:///{tmp_path / 'history.db'}"
    history = ReleaseHistory(address, key=KEY)
    run = started(PUBLISH_AND_WAIT, address, database, pause)
    said(run, pause)
    run.send_signal(signal.SIGKILL)
    run.wait()
    published = sa.inspect(sa.create_engine(database)).has_table("released")
    states = [release.status for release in history.releases()]
    assert published is (pause == "published")
    if together:  # table and record appear in one transaction
        assert states == (["committed"] if published else [])
    else:
        assert states == ([] if pause == "verifying" else ["reserved"])
    assert not published or not POLICY.judge(release_of(["abcde"], EIGHT), history=history).passed


def _publish(history: ReleaseHistory, database: str, *, meanwhile: object = None, fail: bool = False) -> None:
    source = sql_table(sa.create_engine(database), "visits")

    def verify(staged: Source) -> None:
        with record.verifying(staged) as reserve:
            if meanwhile is not None:
                ReleaseHistory(str(meanwhile), key=KEY).record(FOUR, policy=POLICY)
            reserve(sql_table(staged.bind, "visits"))
        if fail:
            raise RuntimeError("the disk is full")

    with using_history(history), recording(POLICY) as record:
        source.publish("released", columns=["age", "disease"], verify=verify)


def test_a_release_that_fails_in_the_database_of_the_history_leaves_no_record(database: str) -> None:
    history = ReleaseHistory(database, key=KEY)
    with pytest.raises(RuntimeError):
        _publish(history, database, fail=True)
    assert history.releases() == ()
    _publish(history, database)
    assert [(each.status, each.people) for each in history.releases()] == [("committed", 4)]


@pytest.mark.postgres
def test_a_release_recorded_meanwhile_by_another_process_stops_this_one() -> None:
    engine = postgresql_database()
    FOUR.to_sql("visits", engine, index=False)
    address = engine.url.render_as_string(hide_password=False)
    history = ReleaseHistory(address, key=KEY)
    other = ReleaseHistory(address, key=KEY)
    source = sql_table(engine, "visits")

    def verify(staged: Source) -> None:
        other.record(FOUR, policy=POLICY)  # after the snapshot of this release, before it looks at the history
        with record.verifying(staged) as reserve:
            reserve(sql_table(staged.bind, "visits"))

    with pytest.raises(HistoryError), using_history(history), recording(POLICY) as record:
        source.publish("released", columns=["age", "disease"], verify=verify)
    assert len(history.releases()) == 1
    assert not sa.inspect(engine).has_table("released")


@pytest.mark.postgres
def test_a_history_in_a_private_schema_of_the_warehouse_shares_the_transaction() -> None:
    engine = postgresql_database()
    FOUR.to_sql("visits", engine, index=False)
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE SCHEMA "Private history"')
    private = engine.url.update_query_dict({"options": '-csearch_path="Private\\ history"'})
    history = ReleaseHistory(private, key=KEY)
    assert sa.inspect(engine).has_table("privacy_history", schema="Private history")
    _publish(history, engine.url.render_as_string(hide_password=False))
    assert [(each.status, each.people) for each in history.releases()] == [("committed", 4)]
    frame = pd.read_sql("SELECT * FROM released", engine)
    assert len(frame) == 4
