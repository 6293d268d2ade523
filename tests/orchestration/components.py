"""Helpers for component tests: attributes, runs, and what Dagster shows."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
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


def run(defs: dg.Definitions, *assets: str, **arguments: Any) -> dg.ExecuteInProcessResult:
    job = dg.define_asset_job("everything", selection=list(assets))
    merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
    return merged.resolve_job_def("everything").execute_in_process(raise_on_error=False, **arguments)


def shown_by_dagster(defs: dg.Definitions) -> str:
    """Return the definitions as Dagster's pages receive them."""
    return serialize_value(RepositorySnap.from_def(defs.get_repository_def()))


def project(folder: Path, given: dict[str, Any], policy: dict[str, Any]) -> Path:
    """Write a `dg` project with one gate."""
    gate = folder / "src" / "house" / "defs" / "gate"
    gate.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "house"\nversion = "0"\n'
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "house"\n'
    )
    (gate.parent.parent / "__init__.py").touch()
    (gate.parent / "__init__.py").touch()
    (gate.parent.parent / "definitions.py").write_text(
        "from pathlib import Path\nimport dagster as dg\n\n\n@dg.definitions\ndef defs():\n"
        "    found = dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
        "    return dg.Definitions.merge(found, dg.Definitions(executor=dg.in_process_executor))\n"
    )
    (gate / "policy.yaml").write_text(yaml.safe_dump(policy))
    (gate / "defs.yaml").write_text(yaml.safe_dump({"type": TYPE, "attributes": given}))
    return folder


def dg_command(folder: Path, *arguments: str, succeeds: bool = True) -> str:
    """Run `dg` in a project and return its output; after a failure, also its log."""
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(scripts.parent),
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), *sys.path]),
    }
    done = subprocess.run(
        [str(scripts / "dg"), *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode == 0) is succeeds, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout if succeeds else done.stdout + done.stderr
