"""Helpers for releases that must fail, and their certificate."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.gate.certificate import read_certificate
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
    found = read_certificate(path)
    statement = {**found.statement, "predicate": {**found.content, **content}}
    path.write_text(replace(found, payload=json.dumps(statement).encode()).to_json())
