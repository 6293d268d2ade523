"""A release in PostgreSQL whose connection drops at any statement is whole or was never made; so are two at once."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.gate.certificate import read_certificate
from privacy_plugin.history import ReleaseHistory
from tests.certificates import KEY
from tests.cli.conftest import POLICY, Run, people
from tests.cutting_proxy import Action, CuttingProxy, cutting_proxy

pytestmark = pytest.mark.postgres

OLD = [("whole",), ("old",)]
CUTS = [Action.CUT_BEFORE, Action.CUT_AFTER]


@pytest.fixture
def proxy(postgresql: sa.Engine) -> Iterator[CuttingProxy]:
    with cutting_proxy(postgresql.url) as opened:
        yield opened


@pytest.fixture
def house(postgresql: sa.Engine, folder: Path) -> sa.Engine:
    """A database with the raw table, and the public key in the folder."""
    people().to_sql("visits", postgresql, index=False)
    (folder / "k.pub").write_text(KEY.public.to_pem())
    return postgresql


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.name.lower())
def test_an_anonymization_cut_at_each_statement(
    house: sa.Engine, proxy: CuttingProxy, folder: Path, run: Run, cut: Action
) -> None:
    arguments = ("--table", "visits", "-p", folder / "policy.yaml", "-o", "made", "--force")
    new = _run_directly(house, run, "anonymize", arguments)
    for done in _cut_at_each(house, proxy, run, ("anonymize", *arguments), cut):
        assert _rows(house) in ([new] if done else [OLD, new])
    _run_directly(house, run, "anonymize", arguments)
    assert _rows(house) == new


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.name.lower())
def test_a_release_cut_at_each_statement(
    house: sa.Engine, proxy: CuttingProxy, folder: Path, run: Run, cut: Action
) -> None:
    """The table is the old one, or the new one with its certificate and its place in the history."""
    url = _address(house.url)
    history = ReleaseHistory(url)
    policy = ("-p", folder / "policy.yaml", "-c", folder / "c.json")
    assert run("anonymize", "--url", url, "--table", "visits", *policy[:2], "-o", "safe").exit_code == 0
    assert run("certify", "--url", url, "--table", "safe", *policy).exit_code == 0
    certificate = folder / f"made.{read_certificate(folder / 'c.json').release_name}.certificate.json"
    arguments = ("--table", "safe", *policy, "-o", "made", "--force")
    new = _run_directly(house, run, "release", (*arguments, "--history", url))
    verifying = ("verify", "--url", url, "--table", "made", "--public-key", folder / "k.pub")
    recorded = len(history.releases()) + 1  # the run that counts the statements
    given = ("release", *arguments, "--history", _address(proxy.url))
    for done in _cut_at_each(house, proxy, run, given, cut):
        found = _rows(house)
        assert found in ([new] if done else [OLD, new])
        if found == new:
            assert run(*verifying, "-c", certificate).exit_code == 0
        assert (len(history.releases()) > recorded) is (found == new)
        recorded = len(history.releases())
        certificate.unlink(missing_ok=True)  # so that the next one must come with its own
    _run_directly(house, run, "release", (*arguments, "--history", url))
    assert _rows(house) == new
    history.close()


def _cut_at_each(
    house: sa.Engine, proxy: CuttingProxy, run: Run, command: tuple[object, ...], cut: Action
) -> Iterator[bool]:
    """Run a command once for each of its statements, and yield whether it was done although that one was cut."""
    command = (command[0], "--url", _address(proxy.url), *command[1:])
    _put_old_table(house)
    assert run(*command).exit_code == 0
    count = proxy.statements
    assert count > 10
    refused = 0
    for number in range(1, count + 1):
        _put_old_table(house)
        proxy.watch(lambda given, number=number: cut if given == number else Action.FORWARD)  # type: ignore[misc]
        found = run(*command)  # a traceback or a value of the marked person fails there
        assert proxy.statements >= number
        assert found.exit_code in (0, 2), found.output
        refused += found.exit_code != 0
        _wait_for_the_server(house)
        assert _left_behind(house) == []
        yield found.exit_code == 0
    assert refused > count / 2


def _run_directly(house: sa.Engine, run: Run, name: str, arguments: tuple[object, ...]) -> list[tuple[Any, ...]]:
    """Run a command without the proxy, and return the rows that it made."""
    done = run(name, "--url", _address(house.url), *arguments)
    assert done.exit_code == 0, done.output
    assert _left_behind(house) == []
    return _rows(house)


@pytest.mark.slow
def test_two_releases_at_once_into_one_table(house: sa.Engine) -> None:
    """Two runs meet at each statement in turn: the table is the whole table of a run that succeeded."""
    frame = people()
    frame.assign(remark="other").to_sql("others", house, index=False)
    policy = pp.Policy.from_dict(POLICY)
    with cutting_proxy(house.url) as one, cutting_proxy(house.url) as two:
        both = {"visits": one, "others": two}
        engines = {name: sa.create_engine(proxy.url, poolclass=sa.NullPool) for name, proxy in both.items()}

        def make(name: str) -> PrivacyPluginError | None:
            try:
                anonymize(pp.sql_table(engines[name], name), policy=policy, target="made")
            except PrivacyPluginError as problem:
                return problem
            return None

        whole = {}
        for name in both:
            assert make(name) is None
            whole[name] = _rows(house)
        assert whole["visits"] != whole["others"]
        count = max(proxy.statements for proxy in both.values())
        met = 0
        with ThreadPoolExecutor(2) as threads:
            for number in range(1, count + 1):
                _put_old_table(house)
                meeting = threading.Barrier(2)
                for proxy in both.values():
                    proxy.watch(_meet_at(number, meeting))
                problems = dict(zip(both, threads.map(make, both), strict=True))
                winners = [name for name, problem in problems.items() if problem is None]
                assert winners, problems
                met += not meeting.broken
                assert _rows(house) in [whole[name] for name in winners]
                assert not any("zq" in str(problem) for problem in problems.values())
                _wait_for_the_server(house)
                assert _left_behind(house) == []
        assert met > count / 2


def _meet_at(number: int, meeting: threading.Barrier) -> Callable[[int], Action]:
    """Hold one statement until the other run is there too, or is known to wait for a lock of this one."""

    def decide(given: int) -> Action:
        if given == number:
            with suppress(threading.BrokenBarrierError):
                meeting.wait(timeout=0.3)
        return Action.FORWARD

    return decide


def _address(url: sa.URL) -> str:
    return url.render_as_string(hide_password=False)


def _put_old_table(house: sa.Engine) -> None:
    _wait_for_the_server(house)
    pd.DataFrame({"made": [row[0] for row in OLD]}).to_sql("made", house, index=False, if_exists="replace")


def _rows(house: sa.Engine) -> list[tuple[Any, ...]]:
    """Return the rows of the target; a release shuffles them, so in the order of their values."""
    with house.connect() as connection:
        rows = [tuple(row) for row in connection.exec_driver_sql("SELECT * FROM made")]
    return OLD if sorted(rows) == sorted(OLD) else sorted(rows, key=repr)


def _wait_for_the_server(house: sa.Engine) -> None:
    """Wait until the server has noticed that its clients are gone, and has rolled back what they began."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    for _ in range(600):
        with house.connect() as connection:
            if connection.exec_driver_sql(f"{others} AND pid <> pg_backend_pid()").scalar_one() == 0:
                return
        time.sleep(0.05)
    raise AssertionError("a session of the release never ended")


def _left_behind(house: sa.Engine) -> list[str]:
    """Return the tables that a run stages, in any schema, of any session."""
    query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ 'staging|privacy_plugin_[0-9a-f]{16}'"
    with house.connect() as connection:
        return list(connection.exec_driver_sql(query).scalars())
