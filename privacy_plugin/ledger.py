"""The budget ledger: what randomized releases have spent of a dataset's privacy budget, and what is left.

A spend is reserved before the mechanism runs and committed after. A reservation counts as spent from the moment
it is made, and for good: a process that is killed between the two may have shown its output to somebody. Budgets
compose sequentially: epsilons and deltas add up, which is right for any sequence of mechanisms on the same data.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.frequency.numbers import exact, written

_METADATA = sa.MetaData()
_CAPS = sa.Table(
    "privacy_budget_caps",
    _METADATA,
    sa.Column("dataset", sa.String(255), primary_key=True),
    sa.Column("unit", sa.String(255), primary_key=True),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
)
_SPENDS = sa.Table(
    "privacy_budget_spends",
    _METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("dataset", sa.String(255), nullable=False, index=True),
    sa.Column("unit", sa.String(255), nullable=False),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    sa.Column("mechanism", sa.String(255), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reserved_at", sa.String(32), nullable=False),
    sa.Column("committed_at", sa.String(32)),
)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """An amount of privacy budget, exact."""

    epsilon: Fraction
    delta: Fraction

    def __add__(self, other: "Budget") -> "Budget":
        return Budget(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta)

    def __sub__(self, other: "Budget") -> "Budget":
        return Budget(epsilon=self.epsilon - other.epsilon, delta=self.delta - other.delta)

    def covers(self, other: "Budget") -> bool:
        """Tell whether another amount fits into this one, in both parts."""
        return other.epsilon <= self.epsilon and other.delta <= self.delta

    def __str__(self) -> str:
        return f"epsilon {written(self.epsilon)}, delta {written(self.delta)}"


@dataclass(frozen=True, kw_only=True)
class Spend:
    """One entry of the ledger: `reserved` means that the mechanism may have run and its end was never seen."""

    id: str
    dataset: str
    unit: str
    budget: Budget
    mechanism: str
    status: str
    reserved_at: str
    committed_at: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the command line and reports."""
        return {
            "id": self.id,
            "dataset": self.dataset,
            "unit": self.unit,
            "epsilon": written(self.budget.epsilon),
            "delta": written(self.budget.delta),
            "mechanism": self.mechanism,
            "status": self.status,
            "reserved_at": self.reserved_at,
            "committed_at": self.committed_at,
        }


class BudgetLedger:
    """A ledger in SQLite (one file, several processes) or PostgreSQL (a team).

    Budgets are kept by dataset and privacy unit (what one step of the neighbour relation changes: "row",
    "patient", "cell"): budgets of different units say nothing about each other.

    >>> ledger = BudgetLedger("sqlite://")
    >>> ledger.set_cap(dataset="visits", unit="row", epsilon=1, delta="1/1000000")
    >>> with ledger.spend(dataset="visits", unit="row", epsilon=0.7, mechanism="example"):
    ...     pass
    >>> str(ledger.remaining(dataset="visits", unit="row"))
    'epsilon 0.3, delta 1e-06'
    """

    def __init__(self, url: str | sa.URL = "sqlite:///privacy-ledger.db") -> None:
        """Open (and create, where it is missing) the ledger behind a SQLAlchemy URL."""
        self._engine = _open(url)
        _METADATA.create_all(self._engine)

    def set_cap(self, *, dataset: str, unit: str, epsilon: object, delta: object = 0) -> None:
        """Set what may be spent in all; it can be raised or lowered, and lowering below what is spent closes it."""
        cap = _budget(epsilon, delta)
        where = (_CAPS.c.dataset == _name(dataset)) & (_CAPS.c.unit == _name(unit))
        with self._engine.begin() as connection:
            changed = connection.execute(sa.update(_CAPS).where(where).values(**_written(cap)))
            if not changed.rowcount:
                connection.execute(sa.insert(_CAPS).values(dataset=dataset, unit=unit, **_written(cap)))

    def cap(self, *, dataset: str, unit: str) -> Budget | None:
        """Return what may be spent in all, or None where no cap was set (and so nothing may be spent)."""
        with self._engine.begin() as connection:
            return self._locked_cap(connection, dataset, unit)

    def spent(self, *, dataset: str, unit: str) -> Budget:
        """Return what is spent: every reservation counts, committed or not."""
        with self._engine.begin() as connection:
            return self._spent(connection, dataset, unit)

    def remaining(self, *, dataset: str, unit: str) -> Budget:
        """Return what may still be spent."""
        cap = self.cap(dataset=dataset, unit=unit)
        if cap is None:
            raise BudgetError(_no_cap(dataset, unit))
        return cap - self.spent(dataset=dataset, unit=unit)

    def entries(self, *, dataset: str | None = None) -> tuple[Spend, ...]:
        """Return every spend, oldest first."""
        query = sa.select(_SPENDS).order_by(_SPENDS.c.reserved_at, _SPENDS.c.id)
        if dataset is not None:
            query = query.where(_SPENDS.c.dataset == dataset)
        with self._engine.begin() as connection:
            return tuple(_spend_of(row) for row in connection.execute(query))

    @contextmanager
    def spend(self, *, dataset: str, unit: str, epsilon: object, delta: object = 0, mechanism: str) -> Iterator[str]:
        """Reserve, let the mechanism run, commit. Whatever happens inside, the reservation stays spent."""
        number = self.reserve(dataset=dataset, unit=unit, epsilon=epsilon, delta=delta, mechanism=mechanism)
        yield number
        self.commit(number)

    def reserve(self, *, dataset: str, unit: str, epsilon: object, delta: object = 0, mechanism: str) -> str:
        """Take an amount out of the budget, or refuse; at most one process at a time decides about a dataset."""
        wanted = _budget(epsilon, delta)
        with self._engine.begin() as connection:
            cap = self._locked_cap(connection, _name(dataset), _name(unit))
            if cap is None:
                raise BudgetError(_no_cap(dataset, unit))
            left = cap - self._spent(connection, dataset, unit)
            if not left.covers(wanted):
                raise BudgetError(f"{mechanism} needs {wanted}, but {dataset!r} has only {left} left a {unit}")
            number = secrets.token_hex(8)
            connection.execute(
                sa.insert(_SPENDS).values(
                    id=number,
                    dataset=dataset,
                    unit=unit,
                    mechanism=_name(mechanism),
                    status="reserved",
                    reserved_at=_now(),
                    **_written(wanted),
                )
            )
        return number

    def commit(self, number: str) -> None:
        """Record that the mechanism of a reservation has ended."""
        with self._engine.begin() as connection:
            where = (_SPENDS.c.id == number) & (_SPENDS.c.status == "reserved")
            changed = connection.execute(
                sa.update(_SPENDS).where(where).values(status="committed", committed_at=_now())
            )
            if changed.rowcount != 1:
                raise BudgetError("this spend is not reserved; it cannot be committed")

    def _locked_cap(self, connection: sa.Connection, dataset: str, unit: str) -> Budget | None:
        query = sa.select(_CAPS).where((_CAPS.c.dataset == dataset) & (_CAPS.c.unit == unit)).with_for_update()
        row = connection.execute(query).one_or_none()
        return None if row is None else Budget(epsilon=Fraction(row.epsilon), delta=Fraction(row.delta))

    def _spent(self, connection: sa.Connection, dataset: str, unit: str) -> Budget:
        query = sa.select(_SPENDS).where((_SPENDS.c.dataset == dataset) & (_SPENDS.c.unit == unit))
        amounts = [_spend_of(row).budget for row in connection.execute(query)]
        return sum(amounts, Budget(epsilon=Fraction(0), delta=Fraction(0)))


def _open(url: str | sa.URL) -> sa.Engine:
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "postgresql":
        return sa.create_engine(parsed, pool_pre_ping=True)
    if parsed.get_backend_name() != "sqlite":
        raise ParameterError("a ledger lives in SQLite or PostgreSQL, whose locks keep two runs from overspending")
    in_memory = parsed.database in (None, "", ":memory:")
    pool = {"poolclass": sa.StaticPool} if in_memory else {}
    engine = sa.create_engine(parsed, connect_args={"timeout": 60, "check_same_thread": False}, **pool)

    # The driver would open a transaction only at the first write: two runs could both read before either writes.
    @sa.event.listens_for(engine, "connect")
    def _leave_transactions_to_us(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")
    def _lock_before_reading(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _budget(epsilon: object, delta: object) -> Budget:
    amount = Budget(epsilon=exact(epsilon, what="epsilon"), delta=exact(delta, what="delta"))
    if amount.epsilon < 0 or not 0 <= amount.delta <= 1:
        raise ParameterError(f"epsilon must be at least 0 and delta between 0 and 1; given {amount}")
    return amount


def _written(amount: Budget) -> dict[str, str]:
    return {"epsilon": str(amount.epsilon), "delta": str(amount.delta)}


def _spend_of(row: Any) -> Spend:
    return Spend(
        id=row.id,
        dataset=row.dataset,
        unit=row.unit,
        budget=Budget(epsilon=Fraction(row.epsilon), delta=Fraction(row.delta)),
        mechanism=row.mechanism,
        status=row.status,
        reserved_at=row.reserved_at,
        committed_at=row.committed_at,
    )


def _name(text: str) -> str:
    if not isinstance(text, str) or not text or len(text) > 255:
        raise ParameterError("dataset, unit and mechanism must be names of 1 to 255 characters")
    return text


def _no_cap(dataset: str, unit: str) -> str:
    return f"no budget was set for {dataset!r} a {unit}; set a cap before anything is spent"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
