"""Open the inputs of a command: a file, or a table of a database, and the population and ledger of the policy."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privacy_plugin.cli.terminal import FILE_OPTIONS
from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.history.in_use import using_history
from privacy_plugin.ledger.in_use import using_ledger
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source
from privacy_plugin.sources.bundle import Bundle, bundle_targets
from privacy_plugin.sources.without_columns import WithoutColumns

if TYPE_CHECKING:
    import sqlalchemy as sa  # it loads slowly, and files do not need it


@dataclass(frozen=True, kw_only=True)
class Input:
    """An opened table, with its database if it has one.

    Reads go through `session` where one is set (one connection, one snapshot), else through `engine`.
    """

    source: Source
    name: str
    engine: "sa.Engine | None" = None
    session: "sa.Connection | None" = None

    def open_table(self, name: str) -> Source:
        """Open another table of the same database, or another file."""
        bind = self.session or self.engine
        if bind is None:
            return open_file(name, FILE_OPTIONS.get())
        from privacy_plugin.sources import sql_table

        return sql_table(bind, name)

    def has_table(self, name: str) -> bool:
        """Return whether the same database has this table, or this file exists."""
        if self.engine is None:
            from privacy_plugin.sources.sql.file_release import parse_place

            return parse_place(name).exists()
        try:
            return bool(self.open_table(name).columns)
        except SourceError:
            return False


def open_input(data: Path | None, url: str | None, table: str | None, *, parts: Collection[str] = ()) -> Input:
    """Open a file, or a table of a database; exactly one of the two.

    `parts` name the tables of a release that has several: each has its name as suffix of the file or table.
    """
    if data is not None and table is None:
        if parts:
            opened = [open_file(path, FILE_OPTIONS.get()) for path in bundle_targets(str(data), parts, database=False)]
            return Input(source=Bundle(dict(zip(parts, opened, strict=True))), name=data.stem)
        from privacy_plugin.sources.sql.files import file_table

        return Input(source=file_table(data, **FILE_OPTIONS.get()), name=data.stem)
    if data is None and url and table:
        from privacy_plugin.sources import sql_table

        engine = _create_engine(url)
        if parts:
            tables = (sql_table(engine, name) for name in bundle_targets(table, parts, database=True))
            return Input(source=Bundle(dict(zip(parts, tables, strict=True))), name=table, engine=engine)
        return Input(source=sql_table(engine, table), name=table, engine=engine)
    raise ParameterError("pass either a file, or --url together with --table")


def open_file(place: str, options: Mapping[str, str]) -> Source:
    """Open one of several input files, with those of the options (delimiter, encoding, sheet) that its format has."""
    from privacy_plugin.sources.sql.files import choose_options, file_table

    return file_table(place, **choose_options(place, options))


def open_population(policy: Policy, given: str | None, data: Input, *, policy_file: Path) -> Source | None:
    """Open the population, if the command or the policy names one."""
    name = population_name(policy, given, data, policy_file=policy_file)
    return None if name is None else data.open_table(name)


def open_compared(policy: Policy, given: str | None, data: Input, *, policy_file: Path) -> Source | None:
    """Open the second table for a release made from `data`: without a name, the original is the data itself."""
    named = open_population(policy, given, data, policy_file=policy_file)
    return data.source if named is None and policy.rules.compares_with_original else named


def population_name(policy: Policy, given: str | None, data: Input, *, policy_file: Path) -> str | None:
    """Return the given population, else the one that the policy names if a requirement needs it."""
    if given is not None:
        return given
    if not policy.rules.needs_population or policy.population is None:
        return None
    return policy.population if data.engine else str(policy_file.parent / policy.population)


def _create_engine(given: str) -> "sa.Engine":
    """Create an engine; error messages leave the URL out, because it may contain a password."""
    import sqlalchemy as sa

    from privacy_plugin.sources.sql.connections import find_database_file, parse_url

    try:
        url = parse_url(given)
        file = find_database_file(url)
        if file and not Path(file).exists():
            raise SourceError(f"the database file {file!r} does not exist; check --url")
        return sa.create_engine(url, hide_parameters=True)
    except (sa.exc.ArgumentError, ImportError, ValueError) as problem:
        raise SourceError(
            f"cannot use the URL ({type(problem).__name__}); pass a SQLAlchemy URL such as duckdb:///file.duckdb, "
            "sqlite:///file.db or postgresql+psycopg://host/database, and install its driver"
        ) from None


@contextmanager
def use_ledger(policy: Policy, address: str | None) -> Iterator[None]:
    """Use the ledger at this address if the policy needs one; without an address, judging reports what is missing."""
    with using_ledger(address) if policy.rules.needs_ledger and address else nullcontext():
        yield


def use_history(address: str | None) -> AbstractContextManager[Any]:
    """Use the history at this address; without one, a verdict says that other releases were not considered."""
    return using_history(address) if address else nullcontext()


def without_identifiers(source: Source, policy: Policy) -> Source:
    """Return the source without the identifier columns of the policy."""
    return WithoutColumns(source, policy.source_rules.columns("identifier"))
