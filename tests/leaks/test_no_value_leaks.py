"""Over forty failures at every entry point: no output contains a value of the table."""

import base64
import html
import json
import logging
import tempfile
import traceback
import warnings
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.certificates import TEST_KEY
from tests.leaks import database_failures, file_failures, frame_failures, policy_failures  # noqa: F401
from tests.leaks.entry_points import ENTRY_POINTS, Rooms
from tests.leaks.markers import AGE, DISEASE, NAME, ZIP, found_in
from tests.leaks.scenes import FAILURES, MARKS, Failure

CASES = [
    pytest.param(
        failure,
        entry_point,
        id=f"{entry_point}: {failure.name}",
        marks=[*failure.marks, *([MARKS[entry_point]] if entry_point in MARKS else [])],
    )
    for failure in FAILURES
    for entry_point in failure.entry_points
]


@pytest.mark.parametrize(("failure", "entry_point"), CASES)
def test_no_value_leaks(
    failure: Failure,
    entry_point: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Exceptions, output, events, results, pages, logs, warnings, files and what is left behind are searched."""
    rooms = Rooms(tmp_path)
    scene = failure.scene(rooms.given)  # engines start here, with temporary files of their own
    monkeypatch.setenv("TMPDIR", str(rooms.temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(rooms.temporary))
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    monkeypatch.delenv("PRIVACY_PLUGIN_TRACEBACK", raising=False)
    caplog.set_level(logging.DEBUG)
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        output = ENTRY_POINTS[entry_point](scene, rooms)
    assert output.failures
    assert failure.message in "\n".join(output.texts)
    searched: list[str | bytes] = [*output.texts, *capfd.readouterr(), *(str(each.message) for each in warned)]
    searched += [_logged(record) for record in caplog.records]
    searched += rooms.left_behind()
    assert [(form, _around(form, text)) for text in searched for form in found_in(text)] == []


def _logged(record: logging.LogRecord) -> str:
    error = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
    return f"{record.getMessage()} {record.args!r} {error}"


def _around(form: str, text: str | bytes) -> str:
    """Show where a leak was found."""
    whole = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    place = whole.lower().index(form.lower())
    return whole[max(0, place - 300) : place + 100]


@pytest.mark.parametrize(
    "leak",
    [
        f"could not convert {ZIP}",
        f"unknown value {ZIP.lower()}",
        f"KeyError: {NAME!r}",
        json.dumps({"worst": NAME}),
        f"<td>{html.escape(DISEASE)}</td>",
        f"https://reports/?zip={quote(NAME)}",
        f"age is {AGE:,}",
        f"age is {float(AGE):.4g}",
        NAME.encode().hex(),
        base64.b64encode(b"a row: " + DISEASE.encode()).decode(),
        DISEASE[:8],
        ZIP.encode() + b"\xff",
    ],
)
def test_the_search_would_find_a_leak(leak: str | bytes) -> None:
    assert found_in(leak)
    assert not found_in("k-anonymity is 1, at least 3 is required")
