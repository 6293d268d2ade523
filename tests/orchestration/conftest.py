from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from tests.certificates import TEST_KEY
from tests.orchestration.pipeline import Pipeline


@pytest.fixture(autouse=True)
def signing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)


@pytest.fixture(params=["sqlite", "duckdb"])
def any_pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipeline]:
    yield from _pipeline(tmp_path, str(request.param))


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[Pipeline]:
    yield from _pipeline(tmp_path, "sqlite")


def _pipeline(folder: Path, dialect: str) -> Iterator[Pipeline]:
    with dg.DagsterInstance.ephemeral() as instance:
        url = f"{dialect}:///{folder / 'warehouse' / 'house.db'}"
        yield Pipeline(folder=folder / "records", url=url, instance=instance)
