"""The budget ledger: what randomized releases have spent of a dataset's privacy budget, and what is left.

A spend is reserved before the mechanism runs and committed afterwards, with the content fingerprint of the table it
made. A reservation counts as spent at once and for good, because a process that is killed in between may already have
shown its output. `ledger.composition` defines how amounts compose; running totals are written with every spend, so that
reserving takes the same time whatever was spent before. Write access to the ledger is the power to forge it:
protect it like the key that signs certificates.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.frequency.numbers import written
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.composition import ADDED_OR_REMOVED, SEQUENTIAL, SUBSTITUTED, Sums, Total
from privacy_plugin.ledger.names import require_new_name, similar_name
from privacy_plugin.ledger.tables import (
    CAPS,
    FINGERPRINTS,
    RELEASES,
    SPENDS,
    TOTALS,
    as_budget_error,
    insert_total,
    open_ledger,
    read_sums,
    written_sums,
)
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
    rho: Fraction
    rho_delta: Fraction
    private: bool | None = None
    account: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sums(self) -> Sums:
        """What the spend adds to the total of its dataset."""
        budget = self.budget
        return Sums(epsilon=budget.epsilon, delta=budget.delta, rho=self.rho, rho_delta=self.rho_delta)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the command line and reports."""
        return {
            "id": self.id,
            "dataset": self.dataset,
            "unit": self.unit,
            **self.budget.to_dict(),
            "rho": written(self.rho),
            "rho_delta": written(self.rho_delta),
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

    def set_cap(
        self, *, dataset: str, unit: str, epsilon: object, delta: object = 0, confirm_name: bool = False
    ) -> None:
        """Set the total that may be spent; a cap below what is already spent refuses every further spend.

        A new name that differs from an existing one only in case, spaces or Unicode form is refused, because a second
        name of the same dataset has a second budget; `confirm_name` says that it is another dataset.
        """
        amount = _written(Budget.of(epsilon, delta))
        where = (CAPS.c.dataset == _name(dataset)) & (CAPS.c.unit == _name(unit))
        with self._transaction("written") as connection:
            if connection.execute(sa.update(CAPS).where(where).values(**amount)).rowcount:
                return
            if self._engine.url.get_backend_name() == "postgresql":  # SQLite locks its file: one new name at a time
                connection.exec_driver_sql(f"LOCK TABLE {CAPS.name} IN SHARE ROW EXCLUSIVE MODE")
                if connection.execute(sa.update(CAPS).where(where).values(**amount)).rowcount:
                    return
            if not confirm_name:
                require_new_name(dataset, unit, _names(connection))
            connection.execute(sa.insert(CAPS).values(dataset=dataset, unit=unit, **amount))

    def cap(self, *, dataset: str, unit: str) -> Budget | None:
        """Return the total that may be spent, or None if no cap was set, so that nothing may be spent."""
        with self._transaction("read") as connection:
            return _locked_cap(connection, dataset, unit)

    def caps(self) -> tuple[tuple[str, str, Budget], ...]:
        """Return every (dataset, unit, cap)."""
        query = sa.select(CAPS).order_by(CAPS.c.dataset, CAPS.c.unit)
        with self._transaction("read") as connection:
            return tuple((row.dataset, row.unit, _budget_of(row)) for row in connection.execute(query))

    def total(self, *, dataset: str, unit: str) -> Total:
        """Return the sums of all spends; every reservation counts, committed or not."""
        with self._transaction("read") as connection:
            return _total(connection, dataset, unit)

    def units(self, dataset: str) -> tuple[str, ...]:
        """Return the privacy units by which a dataset was drawn from."""
        spent = (TOTALS.c.dataset == dataset) & (TOTALS.c.spends > 0)
        query = sa.select(TOTALS.c.unit).where(spent).distinct().order_by(TOTALS.c.unit)
        with self._transaction("read") as connection:
            return tuple(connection.execute(query).scalars())

    def counts(self, *, dataset: str, unit: str) -> tuple[int, int, int]:
        """Return how many spends there are, how many never reported their end, and how many are tests."""
        columns = (sa.func.coalesce(sa.func.sum(TOTALS.c[name]), 0) for name in ("spends", "reserved", "tests"))
        query = sa.select(*columns).where((TOTALS.c.dataset == dataset) & (TOTALS.c.unit == unit))
        with self._transaction("read") as connection:
            spends, reserved, tests = connection.execute(query).one()
        return int(spends), int(reserved), int(tests)

    def spent(self, *, dataset: str, unit: str) -> Budget:
        """Return what counts against the cap: the smaller bound of the total spend at the delta of the cap."""
        with self._transaction("read") as connection:
            return _spent(_total(connection, dataset, unit), _locked_cap(connection, dataset, unit))

    def remaining(self, *, dataset: str, unit: str) -> Budget:
        """Return the cap minus what counts against it.

        Where rhos are added, the next spend may cost less than its epsilon: `reserve` decides.
        """
        with self._transaction("read") as connection:
            cap = _required_cap(connection, dataset, unit)
            return cap - _spent(_total(connection, dataset, unit), cap)

    def require_whole_totals(self) -> None:
        """Raise BudgetError if a total is not the sum of its spends: the ledger was changed by hand."""
        kept: dict[tuple[str, str], Total] = {}
        for entry in self.entries():
            key = (entry.dataset, entry.unit)
            kept[key] = kept.get(key, Total()).after(entry.sums, entry.neighbours)
        for (dataset, unit), total in kept.items():
            if self.total(dataset=dataset, unit=unit).sums != total.sums:
                raise BudgetError(
                    f"the total of {dataset!r} per {unit} is not the sum of its spends: the ledger was changed by "
                    "hand. Restore it from a backup"
                )

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
        rho: object = None,
    ) -> Iterator[str]:
        """Reserve, run the block, commit; an error inside leaves the reservation spent."""
        amount: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, "rho": rho}
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
        rho: object = None,
    ) -> str:
        """Reserve an amount and return its number; raise BudgetError if the cap does not cover it.

        `rho`: the mechanism is rho-zero-concentrated for this unit, without a delta. A row lock lets at most one
        process at a time decide about a dataset. Takes the same time whatever was spent before.
        """
        if neighbours not in (SUBSTITUTED, ADDED_OR_REMOVED):
            raise ParameterError(f"neighbours must be {SUBSTITUTED!r} or {ADDED_OR_REMOVED!r}, not {neighbours!r}")
        wanted, number = Budget.of(epsilon, delta), secrets.token_hex(8)
        amount = Sums.of(wanted, rho)
        entry = {"id": number, "dataset": _name(dataset), "unit": _name(unit), "mechanism": _name(mechanism)}
        entry |= {"neighbours": neighbours, "rho": str(amount.rho), "rho_delta": str(amount.rho_delta)}
        with self._transaction("written") as connection:
            cap = _required_cap(connection, dataset, unit)
            before = _total(connection, dataset, unit)
            after = before.after(amount, neighbours)
            if not cap.covers(_spent(after, cap)):
                raise BudgetError(_refusal(entry, wanted, cap, before, after))
            connection.execute(
                sa.insert(SPENDS).values(**entry, status="reserved", reserved_at=_now(), **_written(wanted))
            )
            _write_total(connection, entry, after)
        return number

    def commit(self, number: str, release: Release | None = None) -> None:
        """Record that the mechanism of a reservation has ended, with the release it made."""
        with self._transaction("written") as connection:
            where = (SPENDS.c.id == number) & (SPENDS.c.status == "reserved")
            entry = connection.execute(sa.select(SPENDS).where(where).with_for_update()).one_or_none()
            changed = connection.execute(sa.update(SPENDS).where(where).values(status="committed", committed_at=_now()))
            if entry is None or changed.rowcount != 1:
                raise BudgetError("only a reserved spend can be committed; this one is committed already, or unknown")
            tested = release is not None and not release.private
            counted = {"reserved": TOTALS.c.reserved - 1, "tests": TOTALS.c.tests + int(tested)}
            connection.execute(sa.update(TOTALS).where(_same_total(entry._mapping)).values(**counted))
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


def _total(connection: sa.Connection, dataset: str, unit: str) -> Total:
    query = sa.select(TOTALS).where((TOTALS.c.dataset == dataset) & (TOTALS.c.unit == unit))
    rows = {row.neighbours: row for row in connection.execute(query)}
    substituted, removed = rows.get(SUBSTITUTED), rows.get(ADDED_OR_REMOVED)
    return Total(
        substituted=read_sums(substituted) if substituted else Sums(),
        removed=read_sums(removed) if removed else Sums(),
        removed_twice=read_sums(removed, "twice_") if removed else Sums(),
        counts=(int(substituted.spends) if substituted else 0, int(removed.spends) if removed else 0),
    )


def _write_total(connection: sa.Connection, entry: Mapping[str, Any], total: Total) -> None:
    """Write the sums after a reservation; the lock on the cap keeps others from writing them."""
    key = {name: str(entry[name]) for name in ("dataset", "unit", "neighbours")}
    counts = {"spends": TOTALS.c.spends + 1, "reserved": TOTALS.c.reserved + 1}
    sums = written_sums(total, key["neighbours"])
    if not connection.execute(sa.update(TOTALS).where(_same_total(key)).values(**counts, **sums)).rowcount:
        only = replace(total, counts=(1, 0))
        insert_total(connection, key, only, reserved=1)


def _same_total(entry: Mapping[Any, Any]) -> sa.ColumnElement[bool]:
    return sa.and_(*(TOTALS.c[name] == entry[name] for name in ("dataset", "unit", "neighbours")))


def _names(connection: sa.Connection) -> list[tuple[str, str]]:
    return [(row.dataset, row.unit) for row in connection.execute(sa.select(CAPS.c.dataset, CAPS.c.unit))]


def _spent(total: Total, cap: Budget | None) -> Budget:
    return total.added if cap is None else total.within(cap.delta)[0]


def _required_cap(connection: sa.Connection, dataset: str, unit: str) -> Budget:
    cap = _locked_cap(connection, dataset, unit)
    if cap is None:
        near = similar_name(dataset, (known for known, _ in _names(connection)))
        hint = "" if near is None else f"; {near!r} has one, whose name differs only in case, spaces or Unicode form"
        raise BudgetError(
            f"no budget was set for {dataset!r} per {unit}; set one: privacy-plugin ledger --set-cap{hint}"
        )
    return cap


def _refusal(entry: Mapping[str, str], wanted: Budget, cap: Budget, before: Total, after: Total) -> str:
    left, (together, bound) = cap - _spent(before, cap), after.within(cap.delta)
    refusal = f"{entry['mechanism']} needs {wanted}, but {entry['dataset']!r} has only {left} left per {entry['unit']}"
    if bound != SEQUENTIAL:
        refusal = (
            f"{entry['mechanism']} needs {wanted}; with it {entry['dataset']!r} would have spent {together} per "
            f"{entry['unit']} by {bound} composition, more than its cap of {cap}"
        )
    if not after.mixed:
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
        rho=Fraction(row.rho),
        rho_delta=Fraction(row.rho_delta),
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
