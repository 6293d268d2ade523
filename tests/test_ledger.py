"""The ledger never overspends and never forgets, however many run at once and wherever they are killed."""

import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.ledger import BudgetLedger

VISITS = {"dataset": "visits", "unit": "row"}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def spend(ledger: BudgetLedger, epsilon: object, delta: object = 0) -> None:
    with ledger.spend(**VISITS, epsilon=epsilon, delta=delta, mechanism="test"):
        pass


def test_amounts_add_up_exactly(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1, delta="1/1000000")
    for _ in range(10):
        spend(ledger, 0.1, "1/10000000")
    assert ledger.spent(**VISITS).epsilon == 1
    assert ledger.remaining(**VISITS).delta == 0
    with pytest.raises(BudgetError, match="has only epsilon 0"):
        spend(ledger, "1/1000000000000")


def test_delta_alone_can_exhaust_the_budget(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=10, delta=0)
    with pytest.raises(BudgetError):
        spend(ledger, 1, 1e-9)
    assert ledger.entries() == ()


def test_nothing_is_spent_without_a_cap_or_under_another_unit_or_dataset(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    for dataset, unit in (("visits", "cell"), ("others", "row")):
        with pytest.raises(BudgetError, match="no budget was set"):
            ledger.reserve(dataset=dataset, unit=unit, epsilon=0.1, mechanism="test")


def test_lowering_the_cap_below_what_is_spent_closes_it(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    spend(ledger, 0.5)
    ledger.set_cap(**VISITS, epsilon=0.4)
    with pytest.raises(BudgetError):
        spend(ledger, 0.01)


def test_a_mechanism_that_fails_stays_spent_as_reserved(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    with pytest.raises(ZeroDivisionError), ledger.spend(**VISITS, epsilon=0.3, mechanism="test"):
        raise ZeroDivisionError
    assert [entry.status for entry in ledger.entries()] == ["reserved"]
    assert ledger.spent(**VISITS).epsilon == Fraction(3, 10)


def test_a_spend_is_committed_once(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    number = ledger.reserve(**VISITS, epsilon=0.3, mechanism="test")
    ledger.commit(number)
    for wrong in (number, "unknown"):
        with pytest.raises(BudgetError):
            ledger.commit(wrong)
    assert [entry.to_dict()["status"] for entry in ledger.entries(dataset="visits")] == ["committed"]
    assert ledger.entries(dataset="others") == ()


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), True, "x", None])
def test_nonsense_amounts_are_refused(url: str, epsilon: object) -> None:
    with pytest.raises(ParameterError):
        BudgetLedger(url).set_cap(**VISITS, epsilon=epsilon)


@pytest.mark.parametrize("other", ["duckdb:///x.db", "mysql://x/y"])
def test_only_databases_with_known_locks_hold_a_ledger(other: str) -> None:
    with pytest.raises((ParameterError, ImportError)):
        BudgetLedger(other)


def race(url: str | sa.URL, *, workers: int, tries: int) -> int:
    """Let several connections reserve a tenth each at the same time; return how many got it."""
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)

    def worker(_: int) -> int:
        own = BudgetLedger(url)
        won = 0
        for _attempt in range(tries):
            try:
                spend(own, 0.1)
                won += 1
            except BudgetError:
                pass
        return won

    with ThreadPoolExecutor(workers) as pool:
        won = sum(pool.map(worker, range(workers)))
    assert ledger.spent(**VISITS).epsilon == Fraction(won, 10)
    return won


def test_concurrent_runs_do_not_overspend_in_sqlite(url: str) -> None:
    assert race(url, workers=6, tries=4) == 10


@pytest.mark.postgres
def test_concurrent_runs_do_not_overspend_in_postgresql(postgresql: sa.Engine) -> None:
    assert race(postgresql.url, workers=6, tries=4) == 10


SPEND_AND_WAIT = """
    import sys, time
    from privacy_plugin.ledger import BudgetLedger
    with BudgetLedger(sys.argv[1]).spend(dataset="visits", unit="row", epsilon=0.6, mechanism="test"):
        print("running", flush=True)
        time.sleep(60)
"""


def test_a_killed_process_loses_no_spend_and_no_lock(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    command = [sys.executable, "-c", textwrap.dedent(SPEND_AND_WAIT), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGKILL)
    assert ledger.spent(**VISITS).epsilon == Fraction(6, 10)
    with pytest.raises(BudgetError):
        spend(ledger, 0.6)
    spend(ledger, 0.4)
