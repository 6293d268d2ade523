"""Addresses of databases, as people write them."""

from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa


def database_url(address: str | sa.URL) -> sa.URL:
    """Read a SQLAlchemy URL; a PostgreSQL without a driver is psycopg's where that is installed, whatever SQLAlchemy.

    >>> database_url("sqlite:///file.db").database
    'file.db'
    """
    url = sa.make_url(address)
    if url.drivername == "postgresql" and find_spec("psycopg"):
        return url.set(drivername="postgresql+psycopg")
    return url


def file_of(url: sa.URL) -> str | None:
    """Return the file of a DuckDB or SQLite address; in memory, with a server or by another scheme there is none.

    >>> file_of(database_url("duckdb:///house.duckdb")), file_of(database_url("duckdb:///md:cloud"))
    ('house.duckdb', None)
    """
    named = url.database if url.get_backend_name() in ("duckdb", "sqlite") else None
    return named if named and ":" not in named.partition("/")[0] else None


def found_from(address: str, folder: Path) -> str:
    """Return an address whose file, if it is relative, is in a folder, wherever the process happens to run.

    DuckDB reads ~ as the home of the user, and so does this.

    >>> found_from("sqlite:///house.db", Path("/projects/clinic"))
    'sqlite:////projects/clinic/house.db'
    """
    try:
        url = sa.make_url(address)
        file = file_of(url)
    except (sa.exc.ArgumentError, ValueError, ImportError):  # told where it is used
        return address
    if file is None:
        return address
    plain = Path(file).expanduser() if url.get_backend_name() == "duckdb" else Path(file)
    return url.set(database=str(folder / plain)).render_as_string(hide_password=False)
