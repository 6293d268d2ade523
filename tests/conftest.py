"""Engines that several rooms test with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.engines import mariadb_database, postgresql_database, spark_session

EXPECTATIONS = Path(__file__).parent / "expectations"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Share workers out: by file, so that no two compile the same loops or make the same fixtures at the same time.

    Whatever imports Great Expectations or needs Spark is in one worker: to start either takes as long as its tests.
    """
    for item in items:
        hosted = EXPECTATIONS in item.path.parents or any(map(item.get_closest_marker, ("spark", "great_expectations")))
        item.add_marker(pytest.mark.xdist_group("hosts" if hosted else item.path.stem))


@pytest.fixture
def postgresql() -> Iterator[sa.Engine]:
    """An engine on a new, empty PostgreSQL database."""
    engine = postgresql_database()
    yield engine
    engine.dispose()


@pytest.fixture
def mariadb() -> Iterator[sa.Engine]:
    """An engine on a new, empty MariaDB database."""
    engine = mariadb_database()
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def spark() -> Any:
    """The local Spark session."""
    return spark_session()
