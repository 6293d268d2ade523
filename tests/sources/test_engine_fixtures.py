"""A missing engine is skipped with a reason, and fails where all engines must be there."""

import pytest

from tests.engines import REQUIRED, unavailable


def test_skipped_unless_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no server"):
        unavailable("no server")
    monkeypatch.setenv(REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match="no server"):
        unavailable("no server")
