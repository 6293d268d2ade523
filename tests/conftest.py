"""Engines that several rooms test with."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.engines import postgresql_database, spark_session


@pytest.fixture
def postgresql() -> Iterator[sa.Engine]:
    """An engine on a new, empty PostgreSQL database."""
    engine = postgresql_database()
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def spark() -> Any:
    """The local Spark session."""
    return spark_session()
