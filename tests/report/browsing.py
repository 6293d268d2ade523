"""Open a page in a real browser that cannot reach any network."""

from pathlib import Path
from typing import Any


def opened(browser: Any, report: Path, **options: Any) -> tuple[Any, list[str], list[str]]:
    """Open the report offline, noting what it asks for and complains about."""
    page = browser.new_context(offline=True, **options).new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(report.as_uri())
    return page, asked, complaints
