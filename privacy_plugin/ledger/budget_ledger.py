"""The budget ledger: what randomized releases have spent of a dataset's privacy budget, and what is left.

A spend is reserved before the mechanism runs and committed afterwards, with the content fingerprint of the table it
made. A reservation counts as spent at once and for good, because a process that is killed in between may already have
shown its output. `ledger.budget` defines how amounts compose. Write access to the ledger is the power to forge it:
protect it like the key that signs certificates.
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
from privacy_plugin.ledger.tables import CAPS, FINGERPRINTS, RELEASES, SPENDS, as_budget_error, open_ledger
from privacy_plugin.sources.protocol import Fingerprint


@dataclass(frozen=True, kw_only=True)
class Release:
    """What a committed spend made.

    `fingerprints` (`privacy_plugin.sources.content`) identify the table, one for every form it was written in; there
    are none if the mechanism made no table. `private` is False if a test generator drew. `account` is plain data:
    neighbour relation and assumptions.
    """

    private: bool
    fingerprints: tuple[Fingerprint, ...] = ()
    account: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Spend:
    """One entry of the ledger; status `reserved` means that the mechanism may have run and did not report its end.

    `private` is None until the spend is committed with a release.
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
    "patient", "cell"); budgets of different units do not compose.

    >>> ledger = BudgetLedger("sqlite://")
    >>> ledger.set_cap(dataset="visits", unit="row", epsilon=1, delta="1/1000000")
    >>> with ledger.spend(dataset="visits", unit="row", epsilon=0.7, mechanism="example"):
    ...     pass
    >>> str(ledger.remaining(dataset="visits", unit="row"))
    'epsilon 0.3, delta 1e-06'
    """

    def __init__(self, url: str | sa.URL = "sqlite:///privacy-ledger.db", *, create: bool = True) -> None:
        """Open the ledger at a SQLAlchemy URL; a missing one is created, or refused with create=False."""
        self._engine = open_ledger(url, create=create)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def require_apart(self, other: Any) -> None:
        """Raise BudgetError if the release is written to the SQLite file of the ledger, which is locked meanwhile."""
        url = getattr(getattr(other, "engine", None), "url", None)
        files = [_file(place) for place in (self._engine.url, url) if place is not None]
        if len(files) == 2 and files[0] is not None and files[0] == files[1]:
            raise BudgetError(
                "the ledger is in the SQLite file that the release is written to; give the ledger a file of its own"
            )

    def set_cap(self, *, dataset: str, unit: str, epsilon: object, delta: object = 0) -> None:
        """Set the total that may be spent; a cap below what is already spent refuses every further spend."""
        amount = _written(Budget.of(epsilon, delta))
        where = (CAPS.c.dataset == _name(dataset)) & (CAPS.c.unit == _name(unit))
        change = sa.update(CAPS).where(where).values(**amount)
        with as_budget_error("written"):
            try:
                with self._engine.begin() as connection:
                    if not connection.execute(change).rowcount:
                        connection.execute(sa.insert(CAPS).values(dataset=dataset, unit=unit, **amount))
            except sa.exc.IntegrityError:  # another process set the first cap at the same moment
                with self._engine.begin() as connection:
                    connection.execute(change)

    def cap(self, *, dataset: str, unit: str) -> Budget | None:
        """Return the total that may be spent, or None if no cap was set, so that nothing may be spent."""
        with self._transaction("read") as connection:
            return _locked_cap(connection, dataset, unit)

    def caps(self) -> tuple[tuple[str, str, Budget], ...]:
        """Return every (dataset, unit, cap)."""
        query = sa.select(CAPS).order_by(CAPS.c.dataset, CAPS.c.unit)
        with self._transaction("read") as connection:
            return tuple((row.dataset, row.unit, _budget_of(row)) for row in connection.execute(query))

    def spent(self, *, dataset: str, unit: str) -> Budget:
        """Return the total spend; every reservation counts, committed or not."""
        with self._transaction("read") as connection:
            return composed(_amounts(connection, dataset, unit))

    def remaining(self, *, dataset: str, unit: str) -> Budget:
        """Return the cap minus the total spend."""
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
        """Return the total spend after one more spend of this budget."""
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
        """Reserve, run the block, commit; an error inside leaves the reservation spent."""
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
        """Reserve an amount and return its number; raise BudgetError if the cap does not cover it.

        A row lock lets at most one process at a time decide about a dataset.
        """
        if neighbours not in (SUBSTITUTED, ADDED_OR_REMOVED):
            raise ParameterError(f"neighbours must be {SUBSTITUTED!r} or {ADDED_OR_REMOVED!r}, not {neighbours!r}")
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
        """Record that the mechanism of a reservation has ended, with the release it made."""
        with self._transaction("written") as connection:
            where = (SPENDS.c.id == number) & (SPENDS.c.status == "reserved")
            changed = connection.execute(sa.update(SPENDS).where(where).values(status="committed", committed_at=_now()))
            if changed.rowcount != 1:
                raise BudgetError("only a reserved spend can be committed; this one is committed already, or unknown")
            if release is None:
                return
            account = json.dumps(dict(release.account), default=str)
            connection.execute(sa.insert(RELEASES).values(spend=number, private=release.private, account=account))
            forms = {(made.digest, made.scheme) for made in release.fingerprints}
            for digest, scheme in sorted(forms):
                connection.execute(sa.insert(FINGERPRINTS).values(spend=number, digest=digest, scheme=scheme))

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sa.Connection]:
        with as_budget_error(doing), self._engine.begin() as connection:
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
        raise BudgetError(f"no budget was set for {dataset!r} per {unit}; set one: privacy-plugin ledger --set-cap")
    return cap


def _refusal(
    mechanism: str, dataset: str, unit: str, wanted: Budget, neighbours: str, cap: Budget, amounts: list[Amount]
) -> str:
    refusal = f"{mechanism} needs {wanted}, but {dataset!r} has only {cap - composed(amounts)} left per {unit}"
    others = {known for _, known in amounts} - {neighbours}
    if not others:
        return refusal
    return f"{refusal}; together with spends for a row {SUBSTITUTED}, a row {ADDED_OR_REMOVED} counts as two steps"


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
