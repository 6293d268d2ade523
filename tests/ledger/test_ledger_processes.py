"""The ledger never overspends and never forgets, however many processes run at once and wherever they are killed."""

import signal
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import BudgetError
from privacy_plugin.ledger import BudgetLedger
from tests.engines import postgresql_database
from tests.processes import said, started

VISITS = {"dataset": "visits", "unit": "row"}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty ledger in every database that can hold one."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ledger.db'}"
        return
    engine = postgresql_database()
    # Defaults must weaken neither the lock nor what is kept: see how the ledger opens PostgreSQL.
    with engine.begin() as connection:
        name = engine.url.database
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    yield engine.url.render_as_string(hide_password=False)
    engine.dispose()


SPEND_TENTHS = """
    import sys
    from privacy_plugin.errors import BudgetError
    from privacy_plugin.ledger import BudgetLedger
    ledger = BudgetLedger(sys.argv[1], create=False)
    print("ready", flush=True)
    sys.stdin.readline()
    won = 0
    for _ in range(8):
        try:
            with ledger.spend(dataset="visits", unit="row", epsilon=0.1, mechanism="test"):
                won += 1
        except BudgetError:
            pass
    print(won, flush=True)
"""


def test_processes_that_run_at_once_do_not_overspend(address: str) -> None:
    ledger = BudgetLedger(address)
    ledger.set_cap(**VISITS, epsilon=1)
    runs = [started(SPEND_TENTHS, address) for _ in range(3)]
    for run in runs:
        said(run, "ready")
    for run in runs:  # all are open and wait: they begin together
        assert run.stdin is not None
        run.stdin.write("\n")
        run.stdin.flush()
    won = [int(run.communicate(timeout=120)[0]) for run in runs]
    assert sum(won) == 10
    assert ledger.spent(**VISITS).epsilon == 1
    assert [entry.status for entry in ledger.entries()] == ["committed"] * 10


WAIT_IN_THE_MIDDLE = """
    import sys, time
    from privacy_plugin.ledger import BudgetLedger
    with BudgetLedger(sys.argv[1]).spend(dataset="visits", unit="row", epsilon=0.6, mechanism="test"):
        print("reserved", flush=True)
        time.sleep(600)
"""


def test_a_process_killed_between_reserving_and_committing_loses_no_spend_and_no_lock(address: str) -> None:
    ledger = BudgetLedger(address)
    ledger.set_cap(**VISITS, epsilon=1)
    with started(WAIT_IN_THE_MIDDLE, address) as process:
        said(process, "reserved")
        process.send_signal(signal.SIGKILL)
    assert ledger.spent(**VISITS).epsilon == Fraction(6, 10)
    assert [entry.status for entry in ledger.entries()] == ["reserved"]
    with pytest.raises(BudgetError):
        ledger.reserve(**VISITS, epsilon=0.6, mechanism="test")
    ledger.commit(ledger.reserve(**VISITS, epsilon=0.4, mechanism="test"))


WAIT_IN_A_TRANSACTION = """
    import sys, time
    import sqlalchemy as sa
    from privacy_plugin.ledger import BudgetLedger
    ledger = BudgetLedger(sys.argv[1])

    @sa.event.listens_for(ledger._engine, "commit")
    def wait(connection):
        print("writing", flush=True)
        time.sleep(600)

    ledger.reserve(dataset="visits", unit="row", epsilon=0.6, mechanism="test")
"""


def test_a_process_killed_while_it_reserves_has_reserved_nothing_and_leaves_no_lock(address: str) -> None:
    """The entry is inserted and not yet committed by the database: the mechanism cannot have run."""
    ledger = BudgetLedger(address)
    ledger.set_cap(**VISITS, epsilon=1)
    with started(WAIT_IN_A_TRANSACTION, address) as process:
        said(process, "writing")
        process.send_signal(signal.SIGKILL)
    ledger.commit(ledger.reserve(**VISITS, epsilon=1, mechanism="test"))
    assert len(ledger.entries()) == 1


def test_a_reservation_is_durable_before_anything_is_drawn(address: str) -> None:
    """Whatever the server's default is: a crash must not bring spent budget back."""
    ledger = BudgetLedger(address)
    question = "PRAGMA synchronous" if "sqlite" in address else "SHOW synchronous_commit"
    with ledger._transaction("written") as connection:
        assert connection.exec_driver_sql(question).scalar_one() in (2, "on")


def test_two_first_caps_at_the_same_time_become_one(address: str) -> None:
    """The second waits until the first is written; it is an update then, and no error."""
    ledger, other = BudgetLedger(address), BudgetLedger(address)
    waiting: list[Thread] = []

    @sa.event.listens_for(ledger._engine, "before_cursor_execute")
    def _at_the_same_time(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO privacy_budget_caps") and not waiting:
            waiting.append(Thread(target=partial(other.set_cap, **VISITS, epsilon=2)))
            waiting[0].start()
            waiting[0].join(0.3)
            assert waiting[0].is_alive()

    ledger.set_cap(**VISITS, epsilon=1)
    waiting[0].join(60)
    assert [cap.epsilon for _, _, cap in ledger.caps()] == [2]


@pytest.mark.postgres
def test_a_role_with_hidden_rows_cannot_spend(postgresql: sa.Engine) -> None:
    ledger = BudgetLedger(postgresql.url)
    ledger.set_cap(**VISITS, epsilon=1)
    ledger.reserve(**VISITS, epsilon=1, mechanism="test")
    role = f"team_{postgresql.url.database}"
    statements = (
        f"CREATE ROLE {role} LOGIN",
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
        "ALTER TABLE privacy_budget_spends ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY own ON privacy_budget_spends USING (mechanism = current_user) WITH CHECK (true)",
        "ALTER TABLE privacy_budget_totals ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY own ON privacy_budget_totals USING (dataset = current_user) WITH CHECK (true)",
    )
    with postgresql.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    team = BudgetLedger(postgresql.url.set(username=role), create=False)
    with pytest.raises(BudgetError, match="SQLSTATE 42501"):
        team.reserve(**VISITS, epsilon=1, mechanism="test")
    with pytest.raises(BudgetError, match="SQLSTATE 42501"):
        team.entries()
    assert len(ledger.entries()) == 1
    team.close()
    ledger.close()
