"""Real dbt projects for tests, built by dbt-core with the adapters of DuckDB and PostgreSQL."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

POLICY: dict[str, Any] = {
    "dataset": "visits",
    "columns": {
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3}}},
        "disease": "sensitive",
    },
    "requirements": [{"k_anonymity": {"at_least": 3}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}],
    "anonymize": {"method": "generalize", "max_suppression": 0.1},
}
# 240 people; in `safe` every class of age and zip has people with all diseases, in `raw` most people are alone
ROWS = "SELECT n FROM (SELECT row_number() OVER () AS n FROM {{ ref('sizes') }} AS a, {{ ref('sizes') }} AS b) AS pairs"
SAFE = f"SELECT 30 + 10 * (n % 2) AS age, '10' || (n / 2 % 2) AS zip, 'd' || (n / 4 % 3) AS disease FROM ({ROWS}) AS x"
RAW = f"SELECT n % 80 AS age, CAST(100 + n % 7 AS VARCHAR) AS zip, 'd' || (n % 3) AS disease FROM ({ROWS}) AS x"
ROLES = {
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10]}}},
    "zip": "quasi_identifier",
    "disease": "sensitive",
}


def model(name: str, privacy: Any = None, columns: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the properties of a model; meta stands where dbt wants it since version 1.10."""
    named = [{"name": column, "config": {"meta": {"privacy": role}}} for column, role in (columns or {}).items()]
    meta = {} if privacy is None else {"config": {"meta": {"privacy": privacy}}}
    return {"name": name, "columns": named, **meta}


def write_project(folder: Path, output: dict[str, Any], models: list[dict[str, Any]], sql: dict[str, str]) -> Path:
    """Write a dbt project with a profile of one output, and the policy visits.yaml."""
    (folder / "models").mkdir(parents=True)
    (folder / "seeds").mkdir()
    (folder / "policies").mkdir()
    project = {"name": "clinic", "version": "1.0", "profile": "clinic", "flags": {"send_anonymous_usage_stats": False}}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(project))
    profile = {"clinic": {"target": "dev", "outputs": {"dev": {"threads": 1, "schema": "analytics", **output}}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    (folder / "seeds" / "sizes.csv").write_text("size\n" + "\n".join(str(n) for n in range(16)) + "\n")
    (folder / "models" / "schema.yml").write_text(yaml.safe_dump({"version": 2, "models": models}))
    for name, text in sql.items():
        (folder / "models" / f"{name}.sql").write_text("{{ config(materialized='table') }}\n" + text)
    (folder / "policies" / "visits.yaml").write_text(yaml.safe_dump(POLICY, sort_keys=False))
    return folder


def run_dbt(folder: Path, *arguments: str, **environment: str) -> Path:
    """Run a command of dbt; return the manifest that it wrote."""
    done = subprocess.run(
        [Path(sys.executable).with_name("dbt"), "--no-use-colors", *arguments, "--profiles-dir", "."],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return folder / "target" / "manifest.json"


def standard_project(folder: Path, output: dict[str, Any]) -> Path:
    """Write a project with a safe model, an unsafe one with column roles, a raw one to anonymize, and one without."""
    models = [
        model("safe_visits", {"policy": "policies/visits.yaml"}),
        model("unsafe_visits", {"requirements": POLICY["requirements"], "release": False}, ROLES),
        model("raw_visits", {"policy": "policies/visits.yaml", "anonymized": "generalized", "release": "released"}),
        model("without_policy"),
    ]
    sql = {"safe_visits": SAFE, "unsafe_visits": RAW, "raw_visits": RAW, "without_policy": RAW}
    return write_project(folder, output, models, sql)
