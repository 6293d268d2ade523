"""What `dg scaffold defs` writes for a new gate: a defs.yaml to fill in, and a policy to begin with."""

from typing import Any

from dagster.components.component_scaffolding import scaffold_component
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest

_ATTRIBUTES = {
    "policy": "policy.yaml",
    "source_table": "visits",
    "anonymized_table": "visits_anonymized",
    "release_table": "visits_release",
    "warehouse_url": "duckdb:///warehouse.duckdb",
    "output_folder": "privacy",
}

_POLICY = """\
# What the table must meet before it may be released. Give every column a role; the gate stays closed until then.
# `privacy-plugin init` proposes roles for a table you have.
version: 1
dataset: visits

columns:
  patient_id: identifier
  age:
    role: quasi_identifier
    hierarchy: {intervals: {start: 0, stop: 100, widths: [5, 10, 20]}}
  zip:
    role: quasi_identifier
    hierarchy: {mask: {length: 5}}
  diagnosis: sensitive

requirements:
  - k_anonymity: {at_least: 5}
  - l_diversity: {variant: distinct, at_least: 2}

anonymize:
  max_suppression: 0.05
"""


class PrivacyGateScaffolder(Scaffolder[Any]):
    """Writes a defs.yaml and a policy that belong together."""

    def scaffold(self, request: ScaffoldRequest[Any]) -> None:
        """Write both files; a policy that is already there stays."""
        scaffold_component(request, _ATTRIBUTES)
        policy = request.target_path / "policy.yaml"
        if not policy.exists():
            policy.write_text(_POLICY, encoding="utf-8")
