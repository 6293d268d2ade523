"""Helpers for releases that must fail, and their certificate."""

import json
from pathlib import Path
from typing import Any

import dagster as dg

from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    released,
)

GATE = dg.AssetKey("judged")


def refuses(pipeline: Pipeline, *words: str) -> None:
    """Run only the release: it must fail for the given reasons and write nothing."""
    before = pipeline.read("release")
    result = pipeline.run("release")
    assert not result.success
    assert not released(result)
    assert pipeline.read("release") == before
    message = errors(result)
    assert "CertificateError" in message
    for word in words:
        assert word in message


def the_certificate(pipeline: Pipeline) -> Path:
    (path,) = pipeline.certificate_files()
    return path


def rewrite(path: Path, **content: Any) -> None:
    given = json.loads(path.read_text())
    given["content"].update(content)
    path.write_text(json.dumps(given))
