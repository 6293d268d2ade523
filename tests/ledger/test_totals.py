"""Running totals: upgraded from earlier ledgers, equal to the sum of the spends, and closed to earlier programs."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import BudgetError
from privacy_plugin.ledger import BudgetLedger, Release
from privacy_plugin.ledger.names import reading
from tests.engines import postgresql_database

VISITS = {"dataset": "visits", "unit": "row"}
EARLIER = """
CREATE TABLE privacy_budget_caps (dataset VARCHAR(255) NOT NULL, unit VARCHAR(255) NOT NULL, epsilon TEXT NOT NULL,
  delta TEXT NOT NULL, PRIMARY KEY (dataset, unit));
CREATE TABLE privacy_budget_spends (id VARCHAR(32) NOT NULL, dataset VARCHAR(255) NOT NULL, unit VARCHAR(255) NOT NULL,
  epsilon TEXT NOT NULL, delta TEXT NOT NULL, mechanism VARCHAR(255) NOT NULL, neighbours VARCHAR(32) NOT NULL,
  status VARCHAR(16) NOT NULL, reserved_at VARCHAR(32) NOT NULL, committed_at VARCHAR(32), PRIMARY KEY (id));
CREATE INDEX ix_privacy_budget_spends_dataset ON privacy_budget_spends (dataset);
CREATE TABLE privacy_budget_releases (spend VARCHAR(32) NOT NULL, private BOOLEAN NOT NULL, account TEXT NOT NULL,
  PRIMARY KEY (spend));
CREATE TABLE privacy_budget_fingerprints (spend VARCHAR(32) NOT NULL, digest VARCHAR(64) NOT NULL,
  scheme VARCHAR(64) NOT NULL, PRIMARY KEY (spend, digest));
CREATE INDEX ix_privacy_budget_fingerprints_digest ON privacy_budget_fingerprints (digest);
INSERT INTO privacy_budget_caps VALUES ('visits', 'row', '4', '1/100');
INSERT INTO privacy_budget_releases VALUES ('b', false, '{}');
"""
SPEND = (
    "INSERT INTO privacy_budget_spends (id, dataset, unit, epsilon, delta, mechanism, neighbours, status, reserved_at) "
    "VALUES ('{}', 'visits', 'row', '{}', '{}', 'test', '{}', '{}', '2024-01-01')"
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """A ledger as earlier versions wrote it, with three spends."""
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    if request.param == "postgresql":
        engine = postgresql_database()
    with engine.begin() as connection:
        for statement in EARLIER.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
        for spend in (
            ("a", "1/2", "0", "substituted", "committed"),
            ("b", "1/3", "0", "substituted", "committed"),
            ("c", "1", "1/1000", "added or removed", "reserved"),
        ):
            connection.exec_driver_sql(SPEND.format(*spend))
    yield engine
    engine.dispose()


@pytest.mark.parametrize("create", [True, False])
def test_an_earlier_ledger_is_upgraded_without_losing_a_spend(earlier: sa.Engine, create: bool) -> None:
    ledger = BudgetLedger(earlier.url.render_as_string(hide_password=False), create=create)
    assert [entry.id for entry in ledger.entries()] == ["a", "b", "c"]
    assert ledger.total(**VISITS).sums.epsilon == Fraction(1, 2) + Fraction(1, 3) + 2
    assert 0 <= ledger.total(**VISITS).sums.rho - (Fraction(1, 8) + Fraction(1, 18) + 2) < Fraction(1, 10**10)
    assert ledger.counts(**VISITS) == (3, 1, 1)
    ledger.require_whole_totals()
    ledger.commit("c")
    ledger.reserve(**VISITS, epsilon=1, mechanism="test")
    with pytest.raises(BudgetError, match="two steps"):
        ledger.reserve(**VISITS, epsilon=1, mechanism="test")
    assert ledger.counts(**VISITS) == (4, 1, 1)
    ledger.close()


def test_a_program_that_keeps_no_totals_cannot_spend(earlier: sa.Engine) -> None:
    BudgetLedger(earlier.url.render_as_string(hide_password=False)).close()
    with pytest.raises(sa.exc.IntegrityError), earlier.begin() as connection:
        connection.exec_driver_sql(SPEND.format("d", "1", "0", "substituted", "reserved"))


def test_a_total_that_was_changed_by_hand_is_noticed(earlier: sa.Engine) -> None:
    ledger = BudgetLedger(earlier.url.render_as_string(hide_password=False))
    with earlier.begin() as connection:
        connection.exec_driver_sql("UPDATE privacy_budget_totals SET epsilon = '0'")
    with pytest.raises(BudgetError, match="changed by hand"):
        ledger.require_whole_totals()
    ledger.close()


def test_reserving_reads_a_fixed_number_of_rows() -> None:
    """No statement of a reservation asks for the spends."""
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(**VISITS, epsilon=10)
    statements: list[str] = []
    sa.event.listen(ledger._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    ledger.commit(ledger.reserve(**VISITS, epsilon=1, mechanism="test"), Release(private=False))
    assert not [text for text in statements if "FROM privacy_budget_spends" in text and "spends.id = " not in text]
    assert ledger.counts(**VISITS) == (1, 0, 1)


@pytest.mark.parametrize("name", ["Visits", "visits ", "vi sits", "\uff56isits", "visit\u200bs"])
def test_a_name_that_reads_like_another_is_refused_until_confirmed(name: str) -> None:
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(**VISITS, epsilon=1)
    with pytest.raises(BudgetError, match="differs from the dataset 'visits' only in case"):
        ledger.set_cap(dataset=name, unit="row", epsilon=1)
    with pytest.raises(BudgetError, match="'visits' has one"):
        ledger.reserve(dataset=name, unit="row", epsilon=1, mechanism="test")
    with pytest.raises(BudgetError, match="the unit 'Row'"):
        ledger.set_cap(dataset="visits", unit="Row", epsilon=1)
    ledger.set_cap(dataset=name, unit="row", epsilon=1, confirm_name=True)
    ledger.set_cap(dataset=name, unit="row", epsilon=2)  # it exists now
    assert len(ledger.caps()) == 2
    assert reading(name) == "visits"


def test_unicode_forms_of_one_name_read_the_same() -> None:
    assert reading("Zu\u0308rich") == reading("z\u00fcrich") == reading("Z\u00dcRICH")
    assert reading("visits_2024") != reading("visits_2025")
