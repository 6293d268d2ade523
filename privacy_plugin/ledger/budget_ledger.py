"""The budget ledger: what randomized releases have spent of a dataset's privacy budget, and what is left.

A spend is reserved before the mechanism runs and committed after, with the content fingerprint of what it made. A
reservation counts as spent from the moment it is made, and for good: a process that is killed between the two may
have shown its output to somebody. How amounts compose is in `ledger.budget`. Whoever can write to the ledger
can make it say anything: keep it as you keep the key that signs certificates.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.ledger.budget import ADDED_OR_REMOVED, SUBSTITUTED, Amount, Budget, composed
from privacy_plugin.ledger.tables import CAPS, FINGERPRINTS, RELEASES, SPENDS, open_ledger, told_as_budget_error
from privacy_plugin.sources.protocol import Fingerprint


@dataclass(frozen=True, kw_only=True)
class Release:
    """What came of a spend.

    `fingerprints` (`privacy_plugin.sources.content`) identify the table, one for every form it was written in; none
    where what was made is no table.
    `private` is False when a test generator drew. `account` is plain data for people: neighbour relation, assumptions.
    """

    private: bool
    fingerprints: tuple[Fingerprint, ...] = ()
    account: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Spend:
    """One entry of the ledger: `reserved` means that the mechanism may have run and its end was never seen.

    `private` is None until something was released.
    """

    id: str
    dataset: str
    unit: str
    budget: Budget
    mechanism: str
    neighbours: str
    status: str
    reserved_at: str
    committed_at: str | None
    private: bool | None = None
    account: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the command line and reports."""
        return {
            "id": self.id,
            "dataset": self.dataset,
            "unit": self.unit,
            **self.budget.to_dict(),
            "mechanism": self.mechanism,
            "neighbours": self.neighbours,
            "status": self.status,
            "reserved_at": self.reserved_at,
            "committed_at": self.committed_at,
            "private": self.private,
            "account": dict(self.account),
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

    def __init__(self, url: str | sa.URL = "sqlite:///privacy-ledger.db", *, create: bool = True) -> None:
        """Open the ledger behind a SQLAlchemy URL; where it is missing it is made, or refused without `create`."""
        self._engine = open_ledger(url, create=create)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def require_apart(self, other: Any) -> None:
        """Refuse to keep books in the SQLite file that a release is written to: it is locked while it is written."""
        url = getattr(getattr(other, "engine", None), "url", None)
        files = [_file(place) for place in (self._engine.url, url) if place is not None]
        if len(files) == 2 and files[0] is not None and files[0] == files[1]:
            raise BudgetError("the ledger lies in the database file that is written to; give it a file of its own")

    def set_cap(self, *, dataset: str, unit: str, epsilon: object, delta: object = 0) -> None:
        """Set what may be spent in all; it can be raised or lowered, and lowering below what is spent closes it."""
        amount = _written(Budget.of(epsilon, delta))
        where = (CAPS.c.dataset == _name(dataset)) & (CAPS.c.unit == _name(unit))
        change = sa.update(CAPS).where(where).values(**amount)
        with told_as_budget_error("written"):
            try:
                with self._engine.begin() as connection:
                    if not connection.execute(change).rowcount:
                        connection.execute(sa.insert(CAPS).values(dataset=dataset, unit=unit, **amount))
            except sa.exc.IntegrityError:  # somebody else set the first cap at the same moment
                with self._engine.begin() as connection:
                    connection.execute(change)

    def cap(self, *, dataset: str, unit: str) -> Budget | None:
        """Return what may be spent in all, or None where no cap was set (and so nothing may be spent)."""
        with self._transaction("read") as connection:
            return _locked_cap(connection, dataset, unit)

    def caps(self) -> tuple[tuple[str, str, Budget], ...]:
        """Return every dataset and unit that has a cap, with it."""
        query = sa.select(CAPS).order_by(CAPS.c.dataset, CAPS.c.unit)
        with self._transaction("read") as connection:
            return tuple((row.dataset, row.unit, _budget_of(row)) for row in connection.execute(query))

    def spent(self, *, dataset: str, unit: str) -> Budget:
        """Return what is spent: every reservation counts, committed or not."""
        with self._transaction("read") as connection:
            return composed(_amounts(connection, dataset, unit))

    def remaining(self, *, dataset: str, unit: str) -> Budget:
        """Return what may still be spent."""
        with self._transaction("read") as connection:
            return _required_cap(connection, dataset, unit) - composed(_amounts(connection, dataset, unit))

    def entries(self, *, dataset: str | None = None, unit: str | None = None) -> tuple[Spend, ...]:
        """Return every spend, oldest first."""
        query = _ENTRIES.order_by(SPENDS.c.reserved_at, SPENDS.c.id)
        if dataset is not None:
            query = query.where(SPENDS.c.dataset == dataset)
        if unit is not None:
            query = query.where(SPENDS.c.unit == unit)
        with self._transaction("read") as connection:
            return tuple(_spend_of(row) for row in connection.execute(query))

    def releases_of(self, fingerprint: Fingerprint) -> tuple[Spend, ...]:
        """Return the committed spends that made exactly this table."""
        same = (FINGERPRINTS.c.digest == fingerprint.digest) & (FINGERPRINTS.c.scheme == fingerprint.scheme)
        query = _ENTRIES.where(SPENDS.c.id.in_(sa.select(FINGERPRINTS.c.spend).where(same)))
        with self._transaction("read") as connection:
            return tuple(_spend_of(row) for row in connection.execute(query.where(SPENDS.c.status == "committed")))

    def after(self, *, dataset: str, unit: str, budget: Budget, neighbours: str = SUBSTITUTED) -> Budget:
        """Return what would be spent if this came to what is spent already."""
        with self._transaction("read") as connection:
            return composed([*_amounts(connection, dataset, unit), (budget, neighbours)])

    @contextmanager
    def spend(
        self,
        *,
        dataset: str,
        unit: str,
        epsilon: object,
        delta: object = 0,
        mechanism: str,
        neighbours: str = SUBSTITUTED,
    ) -> Iterator[str]:
        """Reserve, let the mechanism run, commit. Whatever happens inside, the reservation stays spent."""
        amount: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours}
        number = self.reserve(dataset=dataset, unit=unit, mechanism=mechanism, **amount)
        yield number
        self.commit(number)

    def reserve(
        self,
        *,
        dataset: str,
        unit: str,
        epsilon: object,
        delta: object = 0,
        mechanism: str,
        neighbours: str = SUBSTITUTED,
    ) -> str:
        """Take an amount out of the budget, or refuse; at most one process at a time decides about a dataset."""
        if neighbours not in (SUBSTITUTED, ADDED_OR_REMOVED):
            raise ParameterError(f"neighbours differ in a row {SUBSTITUTED}, or {ADDED_OR_REMOVED}; not {neighbours!r}")
        wanted, number = Budget.of(epsilon, delta), secrets.token_hex(8)
        entry = {"id": number, "dataset": _name(dataset), "unit": _name(unit), "mechanism": _name(mechanism)}
        entry["neighbours"] = neighbours
        with self._transaction("written") as connection:
            cap = _required_cap(connection, dataset, unit)
            amounts = _amounts(connection, dataset, unit)
            if not cap.covers(composed([*amounts, (wanted, neighbours)])):
                raise BudgetError(_refusal(mechanism, dataset, unit, wanted, neighbours, cap, amounts))
            connection.execute(
                sa.insert(SPENDS).values(**entry, status="reserved", reserved_at=_now(), **_written(wanted))
            )
        return number

    def commit(self, number: str, release: Release | None = None) -> None:
        """Record that the mechanism of a reservation has ended, and what it made."""
        with self._transaction("written") as connection:
            where = (SPENDS.c.id == number) & (SPENDS.c.status == "reserved")
            changed = connection.execute(sa.update(SPENDS).where(where).values(status="committed", committed_at=_now()))
            if changed.rowcount != 1:
                raise BudgetError("this spend is not reserved; it cannot be committed")
            if release is None:
                return
            account = json.dumps(dict(release.account), default=str)
            connection.execute(sa.insert(RELEASES).values(spend=number, private=release.private, account=account))
            forms = {(made.digest, made.scheme) for made in release.fingerprints}
            for digest, scheme in sorted(forms):
                connection.execute(sa.insert(FINGERPRINTS).values(spend=number, digest=digest, scheme=scheme))

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sa.Connection]:
        with told_as_budget_error(doing), self._engine.begin() as connection:
            yield connection


_ENTRIES = sa.select(SPENDS, RELEASES.c.private, RELEASES.c.account).select_from(
    SPENDS.outerjoin(RELEASES, RELEASES.c.spend == SPENDS.c.id)
)


def _locked_cap(connection: sa.Connection, dataset: str, unit: str) -> Budget | None:
    query = sa.select(CAPS).where((CAPS.c.dataset == dataset) & (CAPS.c.unit == unit)).with_for_update()
    row = connection.execute(query).one_or_none()
    return None if row is None else _budget_of(row)


def _amounts(connection: sa.Connection, dataset: str, unit: str) -> list[Amount]:
    query = sa.select(SPENDS).where((SPENDS.c.dataset == dataset) & (SPENDS.c.unit == unit))
    return [(_budget_of(row), row.neighbours) for row in connection.execute(query)]


def _required_cap(connection: sa.Connection, dataset: str, unit: str) -> Budget:
    cap = _locked_cap(connection, dataset, unit)
    if cap is None:
        raise BudgetError(f"no budget was set for {dataset!r} a {unit}; set a cap before anything is spent")
    return cap


def _refusal(
    mechanism: str, dataset: str, unit: str, wanted: Budget, neighbours: str, cap: Budget, amounts: list[Amount]
) -> str:
    words = f"{mechanism} needs {wanted}, but {dataset!r} has only {cap - composed(amounts)} left a {unit}"
    others = {known for _, known in amounts} - {neighbours}
    return f"{words}; beside a row {SUBSTITUTED}, a row {ADDED_OR_REMOVED} counts as two steps" if others else words


def _budget_of(row: Any) -> Budget:
    return Budget(epsilon=Fraction(row.epsilon), delta=Fraction(row.delta))


def _written(amount: Budget) -> dict[str, str]:
    return {"epsilon": str(amount.epsilon), "delta": str(amount.delta)}


def _spend_of(row: Any) -> Spend:
    return Spend(
        id=row.id,
        dataset=row.dataset,
        unit=row.unit,
        budget=_budget_of(row),
        mechanism=row.mechanism,
        neighbours=row.neighbours,
        status=row.status,
        reserved_at=row.reserved_at,
        committed_at=row.committed_at,
        private=row.private,
        account=json.loads(row.account) if row.account else {},
    )


def _name(text: str) -> str:
    if not isinstance(text, str) or not text or len(text) > 255:
        raise ParameterError("dataset, unit and mechanism must be names of 1 to 255 characters")
    return text


def _file(url: sa.URL) -> Path | None:
    embedded = url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:")
    return Path(str(url.database)).resolve() if embedded else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
