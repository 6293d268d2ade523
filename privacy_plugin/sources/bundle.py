"""Bundles: tables that are judged, certified and published together or not at all, such as an Anatomy pair.

A bundle is a source: a question about columns is answered by the table that has all of them. No question joins two
tables, because a reader of the release cannot join their rows either.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from privacy_plugin.errors import ColumnError, SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.locations import parse_location
from privacy_plugin.sources.dispatch import open_source
from privacy_plugin.sources.population_join import open_joint_snapshot
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, Source, VerifyTables


class Bundle:
    """Several tables of one engine by their names in the release, such as people and values.

    >>> import pandas
    >>> people = pandas.DataFrame({"age": [30, 41], "bucket": [1, 1]})
    >>> values = pandas.DataFrame({"bucket": [1, 1], "disease": ["flu", "cold"]})
    >>> pair = Bundle({"people": people, "values": values})
    >>> pair.columns, pair.frequencies(["bucket", "disease"]).rows
    (('age', 'bucket', 'disease'), 2)
    """

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.given = dict(tables)  # Great Expectations takes frames, not their sources
        self.tables: dict[str, Source] = {name: open_source(data) for name, data in tables.items()}

    @property
    def first(self) -> Source:
        """The first table, which has a row for every person."""
        return next(iter(self.tables.values()))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all tables, each once."""
        return tuple(dict.fromkeys(name for source in self.tables.values() for name in source.columns))

    @property
    def engine(self) -> str:
        """The engine of the first table."""
        return self.first.engine

    @property
    def notes(self) -> tuple[str, ...]:
        """What the places of the tables keep besides their rows."""
        return tuple(note for source in self.tables.values() for note in getattr(source, "notes", ()))

    @property
    def bind(self) -> Any:
        """The engine or connection of the database, or None."""
        return getattr(self.first, "bind", None)

    @property
    def labelled(self) -> bool:
        """Whether a frame has an index with more than row numbers."""
        return any(getattr(source, "labelled", False) for source in self.tables.values())

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group the table that has all of these columns."""
        wanted = {*columns, *([] if unit is None else [unit])}
        for source in self.tables.values():
            if wanted <= set(source.columns):
                return source.frequencies(columns, unit=unit)
        raise ColumnError(
            f"no table of the release has all of the columns {', '.join(sorted(wanted))}; its tables are "
            f"{' and '.join(self.tables)}, and their rows cannot be joined"
        )

    def row_count(self) -> int:
        """Count the rows of the first table."""
        return self.first.row_count()

    def fingerprints(self, columns: Sequence[str] | None = None) -> dict[str, Fingerprint]:
        """Identify the content of every table."""
        return {
            name: source.fingerprint([c for c in source.columns if columns is None or c in columns])
            for name, source in self.tables.items()
        }

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content of all tables together: a hash of their names and fingerprints."""
        found = self.fingerprints(columns)
        content = json.dumps([[name, each.to_dict()] for name, each in sorted(found.items())], sort_keys=True)
        return Fingerprint(
            rows=next(iter(found.values())).rows,
            digest=hashlib.sha256(content.encode()).hexdigest(),
            scheme=f"bundle of {next(iter(found.values())).scheme}",
            columns=tuple(sorted({name for each in found.values() for name in each.columns})),
        )

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Open one snapshot of all tables; tables of one database share one transaction."""
        with ExitStack() as stack:
            opened = {}
            names = iter(self.tables.items())
            name, first = next(names)
            opened[name] = snapshot = stack.enter_context(first.snapshot())
            for name, source in names:
                opened[name] = stack.enter_context(open_joint_snapshot(source, first, snapshot))
            yield Bundle(opened)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Stage copies of all tables, call `verify` on the bundle of them, and only then replace all targets.

        A target gets the name of the table as suffix. Frames return a mapping of frames.
        """
        names, sources = list(self.tables), list(self.tables.values())
        kept = [[name for name in source.columns if name in columns] for source in sources]

        def verify_all(staged: Sequence[Source]) -> None:
            verify(Bundle(dict(zip(names, staged, strict=True))))

        together = getattr(type(self.first), "publish_together", None)
        if target is not None and together is not None:
            targets = bundle_targets(target, names, database=self.bind is not None)
            published = together(list(zip(sources, targets, kept, strict=True)), verify_all)
            return Bundle(dict(zip(names, published, strict=True)))
        if target is not None:
            raise SourceError(f"{self.engine} cannot publish several tables together")
        staged: list[Source] = []
        frames = [
            source.publish(None, columns=chosen, verify=staged.append)
            for source, chosen in zip(sources, kept, strict=True)
        ]
        verify_all(staged)
        return dict(zip(names, frames, strict=True))

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Raise: the tables of a bundle are made together, from one source."""
        raise _not_possible("recoded")

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> Any:
        """Raise: the tables of a bundle are made together, from one source."""
        raise _not_possible("written from rows")

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Raise: the tables of a bundle are made together, from one source."""
        raise _not_possible("distributed")


def suffixed(target: str, name: str, *, database: bool) -> str:
    """Return the target of one table of a bundle.

    >>> suffixed("clinic.visits", "people", database=True), suffixed("out/visits.csv", "people", database=False)
    ('"clinic"."visits_people"', 'out/visits_people.csv')
    """
    if not database:
        path = parse_location(target)
        packed = path.suffix if path.suffix.lower() in (".gz", ".zst") else ""
        plain = path.with_name(path.name.removesuffix(packed))
        return str(path.with_name(f"{plain.stem}_{name}{plain.suffix}{packed}"))
    from privacy_plugin.sources.sql.origin import split_name  # loads SQLAlchemy

    *schema, table = split_name(target)
    return ".".join('"' + part.replace('"', '""') + '"' for part in (*schema, f"{table}_{name}"))


def bundle_targets(target: str, names: Iterable[str], *, database: bool) -> list[str]:
    """Return the target of every table of a bundle."""
    return [suffixed(target, name, database=database) for name in names]


def _not_possible(done: str) -> SourceError:
    return SourceError(f"a bundle of tables cannot be {done}; give the table that it is made from")
