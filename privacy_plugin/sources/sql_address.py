"""Addresses of databases, as people write them."""

from importlib.util import find_spec

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
