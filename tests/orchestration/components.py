"""The gate as a component: its attributes, what runs of it and what Dagster shows of it."""

from typing import Any

import dagster as dg
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value

TYPE = "privacy_plugin.orchestration.PrivacyGateComponent"


def attributes(url: str, **changes: Any) -> dict[str, Any]:
    return {
        "policy": "policy.yaml",
        "source_table": "raw",
        "anonymized_table": "anonymized",
        "release_table": "release",
        "warehouse_url": url,
        "output_folder": "privacy",
        **changes,
    }


def run(defs: dg.Definitions, *assets: str) -> dg.ExecuteInProcessResult:
    job = dg.define_asset_job("everything", selection=list(assets))
    merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
    return merged.resolve_job_def("everything").execute_in_process(raise_on_error=False)


def shown_by_dagster(defs: dg.Definitions) -> str:
    """Return what Dagster's pages get to know of definitions."""
    return serialize_value(RepositorySnap.from_def(defs.get_repository_def()))
