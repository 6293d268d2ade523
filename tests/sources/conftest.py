"""Empty databases of their own."""

import pytest
import sqlalchemy as sa


@pytest.fixture
def sqlite() -> sa.Engine:
    return sa.create_engine("sqlite://")


@pytest.fixture
def duckdb() -> sa.Engine:
    return sa.create_engine("duckdb:///:memory:")
