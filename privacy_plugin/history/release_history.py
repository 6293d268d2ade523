"""The release history: what was released of every dataset before, so that a gate can judge all releases together.

A release is reserved before its table is published and committed afterwards. A reservation counts as released at once,
because a process that is killed in between may have published; only a person who knows that it did not clears it. The
history is private like the source: it knows who was in which release, as keyed hashes. Write access to it is the power
to forge it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from privacy_plugin.errors import HistoryError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.history.joint_class_tree import JointClassTree, forget_release, merge_values
from privacy_plugin.history.key import decrypt, encrypt, history_key, keyed_hash, require_key
from privacy_plugin.history.people import People, hash_person, hash_values, read_people, read_rows
from privacy_plugin.history.standings import Standings, stand
from privacy_plugin.history.tables import (
    ABOUT,
    DEALS,
    ERASED,
    PEOPLE,
    PLANS,
    RELEASES,
    ROWS,
    WAITING,
    as_history_error,
    find_schema,
    is_same_database,
    open_history,
    searching,
)
from privacy_plugin.metrics.joint_classes import JointClasses
from privacy_plugin.sources import open_source
from privacy_plugin.sources.bundle import Bundle

_CHUNK = 5000


@dataclass(frozen=True, kw_only=True)
class RecordedRelease:
    """One release of a dataset; status `reserved` means that it began and did not report its end."""

    number: int
    dataset: str
    partition: str | None
    policy_digest: str
    certificate: str | None
    status: str
    reserved_at: str
    committed_at: str | None
    purged_at: str | None
    counted_by_unit: bool
    people: int
    returning_people: int
    classes: int
    several_rows: int
    content: str | None = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the command line and reports."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """People of a partition who wait for their first release, and since when the first of them does."""

    dataset: str
    partition: str | None
    people: int
    since: str


class ReleaseHistory:
    """A history in SQLite (one file, several processes) or PostgreSQL (a team).

    >>> import pandas
    >>> from privacy_plugin import Policy
    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"patient": "unit", "age": "quasi_identifier"},
    ...     "requirements": [{"k_anonymity": {"at_least": 2}}, {"across_releases": {}}],
    ... })
    >>> history = ReleaseHistory("sqlite://", key=b"an example of a key, not secret")
    >>> first = pandas.DataFrame({"patient": ["a", "b"], "age": ["30-39"] * 2})
    >>> policy.judge(first, history=history).passed
    True
    >>> history.record(first, policy=policy).people
    2
    >>> second = pandas.DataFrame({"patient": ["a", "b", "c"], "age": ["30-39"] * 3})
    >>> policy.judge(second, history=history).passed  # the difference is one person
    False
    """

    def __init__(
        self, url: str | sa.URL = "sqlite:///privacy-history.db", *, create: bool = True, key: bytes | None = None
    ) -> None:
        """Open the history at a SQLAlchemy URL; a missing one is created, or refused with create=False.

        The default key is `history_key()`; a history that was kept with another key is refused.
        """
        self._key = history_key() if key is None else require_key(key)
        self._engine = open_history(url, create=create)
        self._release: sa.Connection | None = None
        self._schema: str | None = None
        self._require_same_key()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def releases(self, *, dataset: str | None = None) -> tuple[RecordedRelease, ...]:
        """Return every release, oldest first; reserved and purged ones too."""
        with self._transaction("read") as connection:
            return _releases(connection, dataset)

    def state(self, dataset: str) -> str:
        """Return a mark that changes with every release, clearing and purge of a dataset."""
        with self._transaction("read") as connection:
            return _state(connection, dataset)

    def record(
        self, released: Any, *, policy: Any, partition: str | None = None, certificate: str | None = None
    ) -> RecordedRelease:
        """Record a release that was made: reserve and commit. A table with a unit is given with its unit column."""
        number = self.reserve(released, policy=policy, partition=partition, certificate=certificate)
        self.commit(number)
        return next(release for release in self.releases(dataset=policy.rules.dataset) if release.number == number)

    @contextmanager
    def within(self, bind: Any) -> Iterator[bool]:
        """Use the transaction of a release for the block, if its database holds the history; yield whether it does.

        Table and record are then committed together, or neither. Another transaction would wait for a lock that the
        release holds, in SQLite for ever.
        """
        joined = self._release is None and isinstance(bind, sa.Connection) and is_same_database(self._engine, bind)
        if not joined:
            yield self._release is not None
            return
        if self._schema is None:
            with as_history_error("read"):
                self._schema = find_schema(self._engine)
        self._release = bind
        try:
            yield True
        finally:
            self._release = None

    @contextmanager
    def releasing(self, released: Any, *, policy: Any, **about: Any) -> Iterator[int]:
        """Reserve, run the block that publishes, commit; after an error inside, the reservation stays."""
        number = self.reserve(released, policy=policy, **about)
        yield number
        self.commit(number)

    def reserve(
        self,
        released: Any,
        *,
        policy: Any,
        partition: str | None = None,
        certificate: str | None = None,
        after: str | None = None,
        plan: str | None = None,
    ) -> int:
        """Record a release that is about to be published, and return its number; it counts as released from now on.

        `after` is the `state` that the release was judged in: if the history has changed since, HistoryError is raised.
        Inside `within` a release of the same database, the record is committed together with its table. `plan`: the
        plan that made the table, as text; the next release continues with it.
        """
        rules = policy.rules
        quasi_identifiers, sensitive = list(rules.columns("quasi_identifier")), list(rules.columns("sensitive"))
        source = open_source(released)
        people, content = None, None
        if isinstance(source, Bundle) or policy.anonymizer.once:
            content = source.fingerprint(rules.released).digest
        if isinstance(source, Bundle):
            table = source.frequencies([*quasi_identifiers, *sensitive])
            if policy.anonymizer.continues:
                people = self._dealt_people(table, str(content), sensitive, rules.dataset)
        elif rules.form != "rows":  # made of rows, such as itemsets: no later release can be compared with it
            quasi_identifiers = sensitive = []
            table = source.frequencies(list(rules.released))
        elif rules.unit is not None:
            table = source.frequencies([rules.unit, *quasi_identifiers, *sensitive])
            people = self._read_people(table, rules.unit, quasi_identifiers, sensitive, rules.dataset)
        else:
            table = source.frequencies([*quasi_identifiers, *sensitive])
        table.require_rows()
        columns = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
        with self._transaction("written") as connection:
            if after is not None and _state(connection, rules.dataset) != after:
                raise HistoryError(
                    "another release of this dataset was recorded after this one was judged; judge again"
                )
            if policy.anonymizer.once:
                _require_first(connection, rules.dataset, partition, content, policy.anonymizer.once)
            entry = {
                "dataset": rules.dataset,
                "partition": partition,
                "policy_digest": rules.digest,
                "certificate": certificate,
                "status": "reserved" if self._release is None else "committed",
                "reserved_at": _now(),
                "committed_at": None if self._release is None else _now(),
                "counted_by_unit": people is not None,
                "people": table.rows if people is None else len(people.persons),
                "returning_people": 0,
                "classes": _count_classes(table, quasi_identifiers) if people is None else len(people.facts),
                "several_rows": 0 if people is None else people.several_rows,
                "columns": json.dumps(columns),
                "content": content,
            }
            inserted = connection.execute(sa.insert(RELEASES).values(**entry)).inserted_primary_key
            number = int(inserted[0]) if inserted else 0
            if plan is not None:
                connection.execute(sa.insert(PLANS).values(release=number, content=encrypt(self._key, plan)))
            if people is None and (quasi_identifiers or sensitive):
                rows = [
                    {"release": number, "row": row, "content": content, "people": count}
                    for row, (content, count) in enumerate(read_rows(table))
                ]
                _execute_many(connection, sa.insert(ROWS), rows)
            elif people is not None:
                returning = _move(connection, rules.dataset, number, people)
                change = sa.update(RELEASES).where(RELEASES.c.number == number).values(returning_people=returning)
                connection.execute(change)
        return number

    def commit(self, number: int, *, certificate: str | None = None) -> None:
        """Record that the release of a reservation was published."""
        changes: dict[str, Any] = {"status": "committed", "committed_at": _now()}
        changes |= {} if certificate is None else {"certificate": certificate}
        where = (RELEASES.c.number == number) & (RELEASES.c.status == "reserved")
        with self._transaction("written") as connection:
            if connection.execute(sa.update(RELEASES).where(where).values(**changes)).rowcount != 1:
                raise HistoryError("only a reserved release can be committed; this one is committed, purged or unknown")

    def clear(self, number: int) -> None:
        """Remove a reservation whose table was certainly not published; a committed release cannot be removed."""
        with self._transaction("written") as connection:
            found = connection.execute(sa.select(RELEASES).where(RELEASES.c.number == number)).one_or_none()
            if found is None or found.status != "reserved":
                raise HistoryError("only a reserved release can be cleared; this one is committed, purged or unknown")
            forget_release(connection, found.dataset, number)
            connection.execute(sa.delete(RELEASES).where(RELEASES.c.number == number))

    def purge(self, *, before: str | datetime, dataset: str | None = None) -> int:
        """Forget who and what was in the releases before a time; returns how many releases were purged.

        Their times, policies and certificates stay. A gate that needs what was purged is closed.
        """
        limit = _as_time(before)
        with self._transaction("written") as connection:
            found = [
                release
                for release in _releases(connection, dataset)
                if release.reserved_at < limit and release.purged_at is None
            ]
            for name in {release.dataset for release in found}:
                connection.execute(sa.delete(DEALS).where(DEALS.c.dataset == name))
            for release in found:
                forget_release(connection, release.dataset, release.number)
                changes = {"status": "purged", "purged_at": _now()}
                connection.execute(sa.update(RELEASES).where(RELEASES.c.number == release.number).values(**changes))
        return len(found)

    def erase(self, person: Any, *, dataset: str) -> bool:
        """Forget the classes and values of one person; returns whether the history knew them.

        Deals that were not released yet, which may have this person, are forgotten whole: deal again. A keyed hash
        stays in a list of erased people: if they appear in a later release, their gate is closed, because
        their joint class is not known any more. The counts of their old joint classes stay.
        """
        hashed = hash_person(self._key, dataset, person)
        with self._transaction("written") as connection:
            where = (PEOPLE.c.dataset == dataset) & (PEOPLE.c.person == hashed)
            known = connection.execute(sa.delete(PEOPLE).where(where)).rowcount == 1
            connection.execute(sa.delete(DEALS).where(DEALS.c.dataset == dataset))
            connection.execute(sa.delete(WAITING).where((WAITING.c.dataset == dataset) & (WAITING.c.person == hashed)))
            if known:
                connection.execute(sa.insert(ERASED).values(dataset=dataset, person=hashed))
        return known

    def count_returning(self, table: FrequencyTable, *, unit: str, dataset: str) -> int:
        """Return how many people of a table grouped by its unit are in an earlier release of the dataset."""
        hashed = {hash_person(self._key, dataset, person) for person in table.dictionary(unit)}
        with self._transaction("read") as connection:
            return len(_known(connection, dataset, hashed))

    def joint_classes(
        self,
        table: FrequencyTable,
        *,
        unit: str,
        quasi_identifiers: Sequence[str],
        sensitive: Sequence[str],
        dataset: str,
    ) -> JointClasses:
        """Return the joint classes as they would be after a release of this table (grouped as in `read_people`)."""
        people = self._read_people(table, unit, quasi_identifiers, sensitive, dataset)
        releases, tree, known, erased = self._load(people, dataset)
        if erased:
            raise HistoryError(
                f"{len(erased):,} people of this table were erased from the history, so that their earlier "
                "releases cannot be considered; leave them out of the table"
            )
        tree.move(people, known, release=0)
        return tree.result(people, releases=releases, returning=len(known))

    def standings(
        self,
        table: FrequencyTable,
        *,
        unit: str,
        quasi_identifiers: Sequence[str],
        sensitive: Sequence[str],
        dataset: str,
    ) -> Standings:
        """Return where the people of a table stand, one entry a line (grouped as in `read_people`)."""
        people = self._read_people(table, unit, quasi_identifiers, sensitive, dataset)
        releases, tree, known, erased = self._load(people, dataset)
        return stand(people, tree, known, erased=erased, releases=releases)

    def _load(
        self, people: People, dataset: str
    ) -> tuple[int, JointClassTree, dict[str, tuple[int, str]], frozenset[str]]:
        with self._transaction("read") as connection:
            earlier = _releases(connection, dataset)
            _require_complete(earlier, people)
            hashed = set(people.persons)
            erased = frozenset(row.person for row in _selected(connection, ERASED, dataset, hashed))
            tree = JointClassTree.load(connection, dataset)
            return len(earlier), tree, _known(connection, dataset, hashed), erased

    def last_plan(self, *, dataset: str, partition: str | None) -> str | None:
        """Return the plan that made the last release of a partition, as text; None if none was recorded."""
        own = RELEASES.c.partition.is_(None) if partition is None else RELEASES.c.partition == partition
        joined = RELEASES.join(PLANS, PLANS.c.release == RELEASES.c.number)
        query = sa.select(PLANS.c.content).select_from(joined).where((RELEASES.c.dataset == dataset) & own)
        with self._transaction("read") as connection:
            found = connection.execute(query.order_by(RELEASES.c.number.desc()).limit(1)).scalar()
        return None if found is None else decrypt(self._key, found)

    def remember_deal(
        self,
        table: FrequencyTable,
        *,
        unit: str,
        bucket: str,
        sensitive: str,
        dataset: str,
        partition: str | None,
        digest: str,
    ) -> None:
        """Remember who is in which bucket of a pair of tables, identified by its digest, which is not released yet.

        The table is grouped by unit, bucket and sensitive value. Earlier deals of the partition that were not released
        are forgotten.
        """
        people = self._read_people(table, unit, [bucket], [sensitive], dataset)
        held = {name: getattr(people, name) for name in ("persons", "classes", "values", "facts")}
        place = (DEALS.c.dataset == dataset) & (DEALS.c.partition == (partition or ""))
        released = sa.select(RELEASES.c.content).where(
            (RELEASES.c.dataset == dataset) & RELEASES.c.content.is_not(None)
        )
        entry = {"dataset": dataset, "partition": partition or "", "digest": digest}
        with self._transaction("written") as connection:
            gone = DEALS.c.digest.not_in(released) | (DEALS.c.digest == digest)
            connection.execute(sa.delete(DEALS).where(place & gone))
            connection.execute(sa.insert(DEALS).values(**entry, content=encrypt(self._key, json.dumps(held))))

    def joint_classes_of_deal(self, pair: Bundle, *, sensitive: Sequence[str], dataset: str) -> JointClasses:
        """Return the joint classes as they would be after a release of a pair of tables whose deal is remembered."""
        digest = pair.fingerprint().digest
        people = self._dealt_people(pair.frequencies(sensitive), digest, sensitive, dataset)
        releases, tree, known, erased = self._load(people, dataset)
        if erased:
            raise HistoryError(f"{len(erased):,} people of this deal were erased from the history; deal again")
        tree.move(people, known, release=0)
        return tree.result(people, releases=releases, returning=len(known))

    def _dealt_people(self, table: FrequencyTable, digest: str, sensitive: Sequence[str], dataset: str) -> People:
        query = sa.select(DEALS.c.content).where((DEALS.c.dataset == dataset) & (DEALS.c.digest == digest)).limit(1)
        with self._transaction("read") as connection:
            content = connection.execute(query).scalar()
        if content is None:
            raise HistoryError(
                "the history does not know who is in which bucket of these tables; deal them with releases: together "
                "and the same history"
            )
        held = json.loads(decrypt(self._key, content))
        names = {
            column: dict(
                zip(
                    hash_values(table, column, dataset=dataset, hash_key=self._key),
                    table.dictionary(column),
                    strict=True,
                )
            )
            for column in sensitive
        }
        return People(**held, names=names)

    def newcomers(self, persons: Sequence[Any], *, dataset: str) -> list[bool]:
        """Tell who of some people was in no release; an erased person was."""
        hashed = [hash_person(self._key, dataset, person) for person in persons]
        with self._transaction("read") as connection:
            found = {
                row.person for table in (PEOPLE, ERASED) for row in _selected(connection, table, dataset, set(hashed))
            }
        return [person not in found for person in hashed]

    def wait(self, persons: Iterable[Any], *, dataset: str, partition: str | None) -> str | None:
        """Record who waits for a first release, and return since when the first of them does.

        Who is not in the list any more waits no longer.
        """
        listed = sorted({hash_person(self._key, dataset, person) for person in persons})
        own = (WAITING.c.dataset == dataset) & (WAITING.c.partition == (partition or ""))
        with self._transaction("written") as connection:
            known = dict(connection.execute(sa.select(WAITING.c.person, WAITING.c.since).where(own)).tuples().all())
            connection.execute(sa.delete(WAITING).where(own))
            place = {"dataset": dataset, "partition": partition or ""}
            now = _now()
            rows = [{**place, "person": person, "since": known.get(person, now)} for person in listed]
            _execute_many(connection, sa.insert(WAITING), rows)
        return min((str(row["since"]) for row in rows), default=None)

    def waiting(self, *, dataset: str | None = None) -> tuple[Waiting, ...]:
        """Return how many people of every dataset and partition wait for a first release, and since when."""
        counted = (sa.func.count(), sa.func.min(WAITING.c.since))
        query = sa.select(WAITING.c.dataset, WAITING.c.partition, *counted)
        query = query.group_by(WAITING.c.dataset, WAITING.c.partition).order_by(WAITING.c.dataset, WAITING.c.partition)
        if dataset is not None:
            query = query.where(WAITING.c.dataset == dataset)
        with self._transaction("read") as connection:
            found = connection.execute(query).tuples().all()
        return tuple(Waiting(dataset=d, partition=p or None, people=n, since=since) for d, p, n, since in found)

    def earlier_tables(
        self, *, dataset: str, columns: Sequence[str]
    ) -> tuple[tuple[RecordedRelease, FrequencyTable], ...]:
        """Return the earlier releases of a dataset without unit, as tables of some columns."""
        with self._transaction("read") as connection:
            earlier = _releases(connection, dataset)
            if any(release.purged_at for release in earlier):
                raise HistoryError(_purged(earlier))
            if any(release.counted_by_unit for release in earlier):
                raise HistoryError(
                    "an earlier release of this dataset was recorded by its unit and cannot be compared row by row; "
                    "add the unit to the policy and require across_releases"
                )
            return tuple((release, _table_of(connection, release, columns)) for release in earlier)

    def _read_people(
        self, table: FrequencyTable, unit: str, quasi_identifiers: Sequence[str], sensitive: Sequence[str], dataset: str
    ) -> People:
        return read_people(
            table,
            unit=unit,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            dataset=dataset,
            hash_key=self._key,
        )

    def _require_same_key(self) -> None:
        """Raise if the history was kept with another key: nobody would be recognized, and every release look safe."""
        check = keyed_hash(self._key, "release history")
        with as_history_error("opened"):
            try:
                with self._engine.begin() as connection:
                    found = connection.execute(sa.select(ABOUT.c.content).where(ABOUT.c.name == "key")).scalar()
                    if found is None:
                        entries = [{"name": "key", "content": check}, {"name": "changes", "content": "0"}]
                        connection.execute(sa.insert(ABOUT), entries)
                        found = check
            except sa.exc.IntegrityError:  # another process created the history at the same moment
                with self._engine.begin() as connection:
                    found = connection.execute(sa.select(ABOUT.c.content).where(ABOUT.c.name == "key")).scalar()
        if found != check:
            raise HistoryError(
                "the history was kept with another key, with which people cannot be recognized; set "
                "PRIVACY_PLUGIN_HISTORY_KEY to the key it was created with"
            )

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sa.Connection]:
        """Open a transaction in which no other process changes the history, or join that of a release.

        Every change is counted: a release whose snapshot is older than the last change cannot lock the count.
        """
        with as_history_error(doing), self._connection() as connection:
            locked = connection.execute(sa.select(ABOUT).with_for_update()).all()
            changes = next((int(row.content) for row in locked if row.name == "changes"), None)
            if changes is None:
                raise HistoryError("the release history has an earlier format; create a new one")
            if doing == "written":
                change = sa.update(ABOUT).where(ABOUT.c.name == "changes").values(content=str(changes + 1))
                connection.execute(change)
            yield connection

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        if self._release is None:
            with self._engine.begin() as connection:
                yield connection
            return
        with searching(self._release, self._schema):
            yield self._release


def _releases(connection: sa.Connection, dataset: str | None) -> tuple[RecordedRelease, ...]:
    query = sa.select(RELEASES).order_by(RELEASES.c.number)
    if dataset is not None:
        query = query.where(RELEASES.c.dataset == dataset)
    found = [dict(row._mapping) for row in connection.execute(query)]
    return tuple(RecordedRelease(**{**row, "columns": json.loads(row["columns"])}) for row in found)


def _require_first(
    connection: sa.Connection, dataset: str, partition: str | None, content: str | None, once: str
) -> None:
    """Raise if another deal or repair of this partition was released: two of the same people disclose more."""
    own = RELEASES.c.partition.is_(None) if partition is None else RELEASES.c.partition == partition
    known = RELEASES.c.content.is_not(None) & (RELEASES.c.content != content)
    query = sa.select(sa.func.count()).where((RELEASES.c.dataset == dataset) & own & known)
    if connection.execute(query).scalar_one():
        raise HistoryError(
            f"another {once} of {dataset!r} was released already, and both together disclose more than either. "
            f"Release the first one again, or a dataset of other people under its own name"
        )


def _count_classes(table: FrequencyTable, quasi_identifiers: Sequence[str]) -> int:
    return table.project(quasi_identifiers).distinct if quasi_identifiers else 1


def _state(connection: sa.Connection, dataset: str) -> str:
    where = RELEASES.c.dataset == dataset
    query = sa.select(sa.func.count(), sa.func.max(RELEASES.c.number), sa.func.count(RELEASES.c.purged_at)).where(where)
    return ":".join(str(number or 0) for number in connection.execute(query).one())


def _require_complete(earlier: Sequence[RecordedRelease], people: People) -> None:
    """Raise if the history does not know everybody's class and value in every release."""
    if any(release.purged_at for release in earlier):
        raise HistoryError(_purged(earlier))
    rowwise = sum(not release.counted_by_unit for release in earlier)
    if rowwise:
        raise HistoryError(
            f"{rowwise} earlier releases of this dataset were recorded by a policy without a unit: whose rows they had "
            "is not known"
        )
    several = people.several_rows or sum(release.several_rows for release in earlier)
    if several:
        raise HistoryError(
            f"{several:,} people have several rows in one release; joint classes need one row per person. Aggregate "
            "the table first"
        )


def _purged(earlier: Sequence[RecordedRelease]) -> str:
    purged = [release for release in earlier if release.purged_at]
    return (
        f"{len(purged)} earlier releases of this dataset were purged from the history (the last on "
        f"{str(purged[-1].purged_at)[:10]}): what this release tells together with them cannot be judged"
    )


def _known(connection: sa.Connection, dataset: str, persons: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return the joint class and the values of those people whom the history knows."""
    rows = _selected(connection, PEOPLE, dataset, persons)
    return {row.person: (row.joint_class, row.hashes) for row in rows}


def _selected(connection: sa.Connection, table: sa.Table, dataset: str, persons: Iterable[str]) -> list[Any]:
    listed = sorted(persons)
    found: list[Any] = []
    for start in range(0, len(listed), _CHUNK):
        chosen = table.c.person.in_(listed[start : start + _CHUNK])
        found += connection.execute(sa.select(table).where((table.c.dataset == dataset) & chosen)).all()
    return found


def _move(connection: sa.Connection, dataset: str, number: int, people: People) -> int:
    """Move everybody of a release to their new joint class; returns how many were in an earlier release."""
    known = _known(connection, dataset, people.persons)
    tree = JointClassTree.load(connection, dataset)
    tree.move(people, known, release=number)
    tree.save(connection)
    moved, added = [], []
    for person, name, values in zip(people.persons, people.classes, people.values, strict=True):
        before = known.get(person, (0, "{}"))
        entry = {"joint_class": tree.child(before[0], name), "hashes": merge_values(before[1], values)}
        if person in known:
            moved.append({"p": person, "c": entry["joint_class"], "v": entry["hashes"]})
        else:
            added.append({"dataset": dataset, "person": person, **entry})
    chosen = (PEOPLE.c.dataset == dataset) & (PEOPLE.c.person == sa.bindparam("p"))
    change = sa.update(PEOPLE).where(chosen).values(joint_class=sa.bindparam("c"), hashes=sa.bindparam("v"))
    _execute_many(connection, change, moved)
    _execute_many(connection, sa.insert(PEOPLE), added)
    return len(known)


def _execute_many(connection: sa.Connection, statement: Any, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _CHUNK):
        connection.execute(statement, rows[start : start + _CHUNK])


def _table_of(connection: sa.Connection, release: RecordedRelease, columns: Sequence[str]) -> FrequencyTable:
    stored = [*release.columns["quasi_identifiers"], *release.columns["sensitive"]]
    missing = [name for name in columns if name not in stored]
    if missing:
        raise HistoryError(f"the release of {release.reserved_at[:10]} had no column {missing[0]!r}; compare by hand")
    query = sa.select(ROWS.c.content, ROWS.c.people).where(ROWS.c.release == release.number)
    totals: Counter[str] = Counter()
    for row in connection.execute(query):
        content = dict(zip(stored, json.loads(row.content), strict=True))
        totals[json.dumps([content[name] for name in columns])] += row.people
    return FrequencyTable.from_rows(columns, [json.loads(text) for text in totals], list(totals.values()))


def _as_time(given: str | datetime) -> str:
    try:
        moment = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    except (TypeError, ValueError):
        raise ParameterError("before must be a date or time such as 2026-01-31") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="microseconds")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
