"""Data contracts (ODCS 3.1) for tests."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.cli.conftest import POLICY


def rule(**implementation: Any) -> list[dict[str, Any]]:
    return [
        {"type": "library", "metric": "rowCount", "mustBeGreaterThan": 0},
        {"type": "custom", "engine": "privacy_plugin", "implementation": implementation},
    ]


def contract(*objects: dict[str, Any], **changed: Any) -> dict[str, Any]:
    head = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "1", "version": "1.0.0", "status": "active"}
    return {**head, "name": "clinic", "schema": list(objects), **changed}


def visits(quality: Any, **classifications: str) -> dict[str, Any]:
    """Return the object of the table of these tests, with the roles of its columns in rules of ours."""
    properties = []
    for name, role in POLICY["columns"].items():
        entry = {"name": name, "logicalType": "string"}
        entry |= {"classification": classifications[name]} if name in classifications else {}
        given = role if isinstance(role, dict) else {"role": role}
        properties.append({**entry, "quality": rule(**given)})
    return {"name": "visits", "physicalName": "visits", "properties": properties, "quality": quality}


def write(folder: Path, content: Any) -> Path:
    (folder / "contract.yaml").write_text(json.dumps(content, indent=1))  # YAML without aliases
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY, sort_keys=False))
    return folder / "contract.yaml"
