from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from great_expectations.data_context.data_context.context_factory import project_manager

from tests.expectations.examples import ENGINES, batch_definition


@pytest.fixture(autouse=True)
def no_project() -> Iterator[None]:
    """Every test starts without a current project."""
    project_manager.set_project(None)
    yield
    project_manager.set_project(None)


@pytest.fixture(params=ENGINES)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Make batch definitions of rows in one of the engines."""
    return lambda rows=None: batch_definition(request.param, tmp_path, rows)
