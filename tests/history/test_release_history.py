"""The history never forgets a release: kill at any point, two processes at once, purge, erase, another key."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.errors import HistoryError
from privacy_plugin.history import ReleaseHistory
from tests.engines import postgresql_database
from tests.history.releases import EIGHT, KEY, policy_of, release_of
from tests.processes import said, started

ACROSS = policy_of({"across_releases": {}})
FOUR, FIVE = release_of(["abcd"], EIGHT), release_of(["abcde"], EIGHT)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database that can hold a history."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'history.db'}"
        return
    engine = postgresql_database()
    yield engine.url.render_as_string(hide_password=False)
    engine.dispose()


def test_a_release_is_remembered_with_what_it_added(address: str) -> None:
    history = ReleaseHistory(address, key=KEY)
    assert ACROSS.judge(FOUR, history=history).passed
    first = history.record(FOUR, policy=ACROSS, partition="monday", certificate="certificate.json")
    assert (first.status, first.people, first.returning_people, first.classes) == ("committed", 4, 0, 1)
    assert (first.partition, first.certificate, first.policy_digest) == ("monday", "certificate.json", ACROSS.digest)
    opened = ReleaseHistory(address, create=False, key=KEY)
    assert not ACROSS.judge(FIVE, history=opened).passed
    assert ACROSS.judge(release_of(["abcd", "ef"], EIGHT), history=opened).passed
    second = opened.record(release_of(["abcd", "ef"], EIGHT), policy=ACROSS)
    assert (second.people, second.returning_people) == (6, 4)
    assert [release.number for release in opened.releases(dataset="visits")] == [first.number, second.number]
    assert opened.releases(dataset="others") == ()


RESERVE_AND_WAIT = """
    import sys
    import pandas
    import privacy_plugin as pp
    from tests.history.releases import EIGHT, KEY, policy_of, release_of
    history = pp.ReleaseHistory(sys.argv[1], create=False, key=KEY)
    with history.releasing(release_of(["abcd"], EIGHT), policy=policy_of()):
        print("reserved", flush=True)
        sys.stdin.readline()
"""


def test_a_release_that_was_killed_counts_until_a_person_clears_it(address: str) -> None:
    history = ReleaseHistory(address, key=KEY)
    run = started(RESERVE_AND_WAIT, address)
    said(run, "reserved")
    run.send_signal(signal.SIGKILL)
    run.wait()
    (left,) = history.releases()
    assert left.status == "reserved"
    assert not ACROSS.judge(FIVE, history=history).passed
    history.clear(left.number)
    assert history.releases() == ()
    assert ACROSS.judge(FIVE, history=history).passed
    number = history.record(FOUR, policy=ACROSS).number
    with pytest.raises(HistoryError, match="only a reserved release can be cleared"):
        history.clear(number)


def test_a_release_that_was_judged_before_another_one_is_refused() -> None:
    history = ReleaseHistory("sqlite://", key=KEY)
    judged_in = history.state("visits")
    history.record(FOUR, policy=ACROSS)
    with pytest.raises(HistoryError, match="judge again"):
        history.reserve(FIVE, policy=ACROSS, after=judged_in)
    assert len(history.releases()) == 1
    history.reserve(FOUR, policy=ACROSS, after=history.state("visits"))


def test_clearing_a_release_in_the_middle_gives_the_history_without_it() -> None:
    cleared, never = ReleaseHistory("sqlite://", key=KEY), ReleaseHistory("sqlite://", key=KEY)
    tables = [release_of(["abcd", "ef"], EIGHT), release_of(["abc", "def"], EIGHT), release_of(["ab", "cdgh"], EIGHT)]
    for history, chosen in ((cleared, (0, 1, 2)), (never, (0, 2))):
        for number in chosen:
            history.reserve(tables[number], policy=ACROSS)
    cleared.clear(2)
    last = release_of(["abcdefgh"], EIGHT)
    found = [
        ACROSS.judge(last, history=history).findings[1].measurement.to_dict()["details"] for history in (cleared, never)
    ]
    assert found[0] == found[1]
    with cleared._transaction("read") as one, never._transaction("read") as other:
        for table, columns in (("people", "person, hashes"), ("counts", "hashes, people")):
            query = sa.text(f"SELECT {columns} FROM privacy_history_{table} ORDER BY 1, 2")
            assert one.execute(query).all() == other.execute(query).all()


def test_a_gate_that_needs_what_was_purged_is_closed_with_that_reason(address: str) -> None:
    history = ReleaseHistory(address, key=KEY)
    history.record(FOUR, policy=ACROSS)
    assert history.purge(before="2000-01-01") == 0
    assert history.purge(before="2999-01-01") == 1
    (left,) = history.releases()
    assert left.status == "purged"
    assert left.purged_at
    assert left.policy_digest == ACROSS.digest
    verdict = ACROSS.judge(FOUR, history=history)
    assert not verdict.passed
    assert "purged" in verdict.reasons[0]
    with history._transaction("read") as connection:
        for table in ("people", "counts", "joint_classes", "rows"):
            assert connection.execute(sa.text(f"SELECT count(*) FROM privacy_history_{table}")).scalar() == 0


def test_an_erased_person_is_forgotten_and_not_taken_for_a_newcomer() -> None:
    history = ReleaseHistory("sqlite://", key=KEY)
    history.record(FOUR, policy=ACROSS)
    assert history.erase("a", dataset="visits") is True
    assert history.erase("nobody", dataset="visits") is False
    assert "erased" in ACROSS.judge(FOUR, history=history).reasons[0]
    values = EIGHT
    assert ACROSS.judge(release_of(["bcd", "ef"], values), history=history).passed is False  # the erased one is alone
    assert ACROSS.judge(release_of(["bc", "ef"], values), history=history).passed  # absent: the erased one and d


def test_the_files_hold_no_value_and_another_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    values = {person: f"rare disease of {person}" for person in EIGHT}
    table = release_of(["abcd"], values).assign(person=["Ada Lovelace", "Blaise Pascal", "Carl Gauss", "Diophantus"])
    ReleaseHistory(f"sqlite:///{path}", key=KEY).record(table, policy=ACROSS)
    content = path.read_bytes()
    assert b"Lovelace" not in content
    assert b"rare" not in content
    assert b"class 0" not in content
    with pytest.raises(HistoryError, match="another key"):
        ReleaseHistory(f"sqlite:///{path}", key=b"another key, just as long")
    with pytest.raises(HistoryError, match="create one"):
        ReleaseHistory(f"sqlite:///{tmp_path / 'none.db'}", create=False, key=KEY)


def test_a_number_and_its_text_are_the_same_person() -> None:
    history = ReleaseHistory("sqlite://", key=KEY)
    table = pd.DataFrame({"person": [1, 2], "age": [3, 3], "disease": ["f", "g"]})
    history.record(table, policy=ACROSS)
    assert history.record(table.assign(person=["1", "2"]), policy=ACROSS).returning_people == 2


def test_a_verdict_says_what_it_did_not_consider() -> None:
    policy = policy_of()
    assert "several releases of this dataset were not considered" in policy.judge(FOUR).notes[0]
    history = ReleaseHistory("sqlite://", key=KEY)
    assert policy.judge(FOUR, history=history).notes == ()
    history.record(FOUR, policy=policy)
    (note,) = policy.judge(FIVE, history=history).notes
    assert note.startswith("1 earlier releases of this dataset were not considered, and 4 of the 5 people")
    rowwise = policy_of(unit=False)
    other = ReleaseHistory("sqlite://", key=KEY)
    other.record(FOUR[["age", "disease"]], policy=rowwise)
    assert "require differences" in rowwise.judge(FOUR[["age", "disease"]], history=other).notes[0]
    assert "without a unit" in ACROSS.judge(FOUR, history=other).reasons[0]


def test_the_environment_names_the_history_and_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY_KEY", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY", f"sqlite:///{tmp_path / 'history.db'}")
    assert "create one" in ACROSS.judge(FOUR).reasons[0]
    pp.ReleaseHistory(f"sqlite:///{tmp_path / 'history.db'}").record(FOUR, policy=ACROSS)
    assert ACROSS.judge(FOUR).passed
    assert not ACROSS.judge(FIVE).passed
    monkeypatch.delenv("PRIVACY_PLUGIN_HISTORY_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    assert "another key" in ACROSS.judge(FOUR).reasons[0]
