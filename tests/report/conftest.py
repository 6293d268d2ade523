"""A real browser for the tests of pages."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines import unavailable

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        unavailable("no Chromium (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
        )
        yield started
        started.close()
