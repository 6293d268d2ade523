"""Marker values, and all events, logs and files of a run to search for them."""

from pathlib import Path

import pandas as pd
import pytest
from dagster._serdes import serialize_value

from tests.orchestration.pipeline import Pipeline, raw_rows

NAME, AGE, ZIP, DISEASE = "MARKERNAME", 2001987654, "ZQX", "MARKERDISEASE"
MARKERS = (NAME, str(AGE), ZIP, DISEASE)


def marked_rows() -> pd.DataFrame:
    rows = raw_rows(60)
    rows.loc[0] = [NAME, AGE, ZIP, DISEASE]
    return rows


def written_down(pipeline: Pipeline, caplog: pytest.LogCaptureFixture) -> str:
    """Return every event, log line and file of the gates, except the warehouse."""
    events = [
        serialize_value(record.event_log_entry)
        for run in pipeline.instance.get_runs()
        for record in pipeline.instance.get_records_for_run(run.run_id).records
    ]
    files = [
        path.read_bytes().decode("utf-8", "replace")
        for path in pipeline.folder.rglob("*")
        if path.is_file() and "values" not in path.parts
    ]
    assert len(events) > 20
    assert {Path(path).suffix for path in pipeline.folder.rglob("*") if path.is_file()} >= {".json", ".html"}
    return "\n".join([*events, *files, caplog.text, *(record.getMessage() for record in caplog.records)])
