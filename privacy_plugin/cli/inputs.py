"""Open what a command was given: a file, or a table of a database."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.ledger.in_use import using_ledger
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source, open_source, sql_table
from privacy_plugin.sources.sql.connections import find_database_file, parse_url
from privacy_plugin.sources.without_columns import WithoutColumns


@dataclass(frozen=True, kw_only=True)
class Input:
    """An opened table, and the database it lies in, if it does."""

    source: Source
    name: str
    engine: sa.Engine | None = None
    session: sa.Connection | None = None  # the one connection through which all is read, if there is one

    def beside(self, name: str) -> Source:
        """Open another table of the same database, or another file."""
        bind = self.session or self.engine
        return open_source(Path(name)) if bind is None else sql_table(bind, name)

    def exists(self, name: str) -> bool:
        """Tell whether there is such a table beside this one, or such a file."""
        if self.engine is None:
            return Path(name).exists()
        try:
            return bool(self.beside(name).columns)
        except SourceError:
            return False


def open_input(data: Path | None, url: str | None, table: str | None) -> Input:
    """Open a file, or a table of a database; exactly one of the two."""
    if data is not None and table is None:
        return Input(source=open_source(data), name=data.stem)
    if data is None and url and table:
        engine = _engine(url)
        return Input(source=sql_table(engine, table), name=table, engine=engine)
    raise ParameterError("give either a file, or --url and --table together")


def open_population(policy: Policy, given: str | None, data: Input, *, policy_file: Path) -> Source | None:
    """Open the population, if there is one."""
    name = population_name(policy, given, data, policy_file=policy_file)
    return None if name is None else data.beside(name)


def open_compared(policy: Policy, given: str | None, data: Input, *, policy_file: Path) -> Source | None:
    """Open the second table for what is made from `data`: without a name, an original is the data itself."""
    named = open_population(policy, given, data, policy_file=policy_file)
    return data.source if named is None and policy.rules.compares_with_original else named


def population_name(policy: Policy, given: str | None, data: Input, *, policy_file: Path) -> str | None:
    """Return the population that was given, or the one that the policy names where a requirement needs it."""
    if given is not None:
        return given
    if not policy.rules.compares or policy.population is None:
        return None
    return policy.population if data.engine else str(policy_file.parent / policy.population)


def _engine(given: str) -> sa.Engine:
    """Make an engine; a message never holds the URL, which may hold a password."""
    try:
        url = parse_url(given)
        file = find_database_file(url)
        if file and not Path(file).exists():
            raise SourceError(f"there is no database file {file!r}")
        return sa.create_engine(url, hide_parameters=True)
    except (sa.exc.ArgumentError, ImportError, ValueError) as problem:
        raise SourceError(
            f"the URL cannot be used ({type(problem).__name__}); give a SQLAlchemy URL such as duckdb:///file.duckdb, "
            "sqlite:///file.db or postgresql+psycopg://host/database, with its driver installed"
        ) from None


@contextmanager
def ledger_for(policy: Policy, address: str | None) -> Iterator[None]:
    """Let a policy that asks a ledger ask the one that was named; without a name, the requirement says what to do."""
    with using_ledger(address) if policy.rules.asks_ledger and address else nullcontext():
        yield


def without_identifiers(source: Source, policy: Policy) -> Source:
    """Show a source without the identifiers that its policy names."""
    return WithoutColumns(source, policy.rules.columns("identifier"))
