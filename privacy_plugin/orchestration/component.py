"""The whole path as a `dg` component: a table, its anonymized form, its gate and its release, from a `defs.yaml`."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypedDict

import dagster as dg
from dagster.components.component_scaffolding import scaffold_component
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest
from pydantic import Field

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.anonymized_asset import build_anonymized_asset
from privacy_plugin.orchestration.privacy_checks import build_privacy_checks
from privacy_plugin.orchestration.release_asset import build_release_asset, when_gate_passed
from privacy_plugin.orchestration.resources import BudgetLedgerResource, CertificateStoreResource, WarehouseResource
from privacy_plugin.orchestration.upstream import table_key
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources.sql.connections import resolve_url

_WINDOWS = {
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}


class PartitionsModel(dg.Model, dg.Resolvable):
    """The partitions of a gate: some keys, or windows of time."""

    type: Literal["static", "daily", "weekly", "monthly"] = Field(description="What kind of partitions they are")
    partition_keys: Sequence[str] | None = Field(default=None, description="static: the key of every partition")
    start_date: str | None = Field(default=None, description="daily, weekly, monthly: the first day, as 2024-01-31")
    end_date: str | None = Field(default=None, description="The day before which the partitions end, if they do")
    timezone: str | None = Field(default=None, description="Where days begin, such as Europe/Berlin; left out, UTC")

    def definition(self) -> dg.PartitionsDefinition[Any]:
        """Return the partitions, or say which attribute they lack or have in vain."""
        windows = {"start_date": self.start_date, "end_date": self.end_date, "timezone": self.timezone}
        if self.type == "static":
            self._require("partition_keys", self.partition_keys, without=windows)
            return dg.StaticPartitionsDefinition(list(self.partition_keys or ()))
        self._require("start_date", self.start_date, without={"partition_keys": self.partition_keys})
        found: dg.PartitionsDefinition[Any] = _WINDOWS[self.type](**windows)
        return found

    def _require(self, name: str, value: Any, *, without: dict[str, Any]) -> None:
        surplus = [other for other, given in without.items() if given is not None]
        if not value or surplus:
            wrong = f"not {', '.join(surplus)}" if surplus else "which is missing"
            raise ParameterError(f"{self.type} partitions are given by {name}, {wrong}")


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


class _ResourceNames(TypedDict):
    warehouse: str
    certificates: str
    ledger: str


@dg.scaffold_with(PrivacyGateScaffolder)
class PrivacyGateComponent(dg.Component, dg.Model, dg.Resolvable):
    """Releases a table of a warehouse under a privacy policy, and only then.

    ```yaml
    type: privacy_plugin.orchestration.PrivacyGateComponent
    attributes:
      policy: policy.yaml
      source_table: hospital_visits
      anonymized_table: visits_anonymized
      release_table: visits_release
      warehouse_url: "{{ env.PRIVACY_PLUGIN_WAREHOUSE }}"
    ```

    With `partitions_def` every partition is anonymized, judged and released on its own. `{partition}` in a table's name
    stands for the key; where one source table holds all of them, `partition_column` tells them apart.

    ```yaml
      source_table: hospital_visits
      partition_column: admission_date
      anonymized_table: visits_anonymized_{partition}
      release_table: visits_release_{partition}
      partitions_def: {type: monthly, start_date: "2024-01-01"}
    ```
    """

    policy: str = Field(description="The policy file, relative to this defs.yaml")
    source_table: str = Field(description="The table to release, as table or schema.table")
    release_table: str = Field(description="The table that is written when the gate has passed")
    anonymized_table: str | None = Field(
        default=None, description="The table anonymized by the policy's method; left out, the source is judged"
    )
    partitions_def: PartitionsModel | None = Field(
        default=None, description="The partitions, each with a verdict, a certificate and a release of its own"
    )
    partition_column: str | None = Field(
        default=None,
        description="The column of the source table that says which partition a row is in, by key or by date; left "
        "out, {partition} in the name of the source table stands for the key",
    )
    population_table: str | None = Field(default=None, description="The table that requirements compare with")
    warehouse_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL, a file in it relative to the project; left out, the project's resource "
        "`warehouse` is used",
    )
    output_folder: str | None = Field(
        default=None,
        description="Folder of certificates and reports, relative to the project; left out, the project's resource "
        "`certificates` is used",
    )
    ledger_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL of the budget ledger, where the policy draws at random or asks for a privacy "
        "budget; left out, the project's resource `ledger` is used",
    )
    via: Literal["native", "great_expectations"] = Field(
        default="native", description="With great_expectations the policy also runs as a checkpoint"
    )
    automatic: bool = Field(default=False, description="Anonymize, judge and release whenever the source is new")
    group_name: str | None = Field(default=None, description="The group of the assets")

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Say what the component is, for `dg list components` and Dagster's pages."""
        return dg.ComponentTypeSpec(
            description="Anonymizes a table, judges it by a privacy policy, and releases it only under a certificate.",
            tags=["privacy", "governance"],
            produces=["asset", "asset_check", "resource"],
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Build the assets, the gate and, where they are given here, the resources."""
        policy = Policy.load(context.path / self.policy)
        own = re.sub(r"\W", "_", "_".join(table_key(self.release_table).path), flags=re.ASCII)
        names: _ResourceNames = {
            "warehouse": f"{own}_warehouse" if self.warehouse_url else "warehouse",
            "certificates": f"{own}_certificates" if self.output_folder else "certificates",
            "ledger": f"{own}_ledger" if self.ledger_url else "ledger",
        }
        resources: dict[str, Any] = {}
        root = context.project_root
        if self.warehouse_url:
            resources[names["warehouse"]] = _hidden(WarehouseResource(url=resolve_url(self.warehouse_url, root)))
        if self.ledger_url:
            resources[names["ledger"]] = _hidden(BudgetLedgerResource(url=resolve_url(self.ledger_url, root)))
        if self.output_folder:
            folder = str(root / self.output_folder)
            resources[names["certificates"]] = CertificateStoreResource(folder=folder)
        partitions = None if self.partitions_def is None else self.partitions_def.definition()
        assets = self._anonymized(policy, names, partitions)
        judged = self.anonymized_table or self.source_table
        told_apart_by = None if self.anonymized_table else self.partition_column
        gate = build_privacy_checks(
            asset=table_key(judged),
            policy=policy,
            table=judged,
            population_table=self.population_table,
            partitions_def=partitions,
            partition_column=told_apart_by,
            via=self.via,
            # An anonymized asset brings its checks along. With a condition of their own Dagster would start them apart
            # and at the same time, before the table is there, and leave them out when such a run is tried again.
            automation_condition=dg.AutomationCondition.eager() if self.automatic and not assets else None,
            **names,
        )
        release = build_release_asset(
            name=table_key(self.release_table),
            asset=table_key(judged),
            policy=policy,
            table=judged,
            target=self.release_table,
            population_table=self.population_table,
            partitions_def=partitions,
            partition_column=told_apart_by,
            group_name=self.group_name,
            automation_condition=when_gate_passed() if self.automatic else None,
            **names,
        )
        return dg.Definitions(assets=[*assets, release], asset_checks=[gate], resources=resources)

    def _anonymized(
        self, policy: Policy, names: _ResourceNames, partitions: dg.PartitionsDefinition[Any] | None
    ) -> list[dg.AssetsDefinition]:
        if self.anonymized_table is None:
            return []
        return [
            build_anonymized_asset(
                name=table_key(self.anonymized_table),
                asset=table_key(self.source_table),
                policy=policy,
                table=self.source_table,
                target=self.anonymized_table,
                population_table=self.population_table,
                partitions_def=partitions,
                partition_column=self.partition_column,
                group_name=self.group_name,
                automation_condition=dg.AutomationCondition.eager() if self.automatic else None,
                **names,
            )
        ]


def _hidden(resource: WarehouseResource | BudgetLedgerResource) -> dg.ResourceDefinition:
    """Wrap a resource so that its URL, which may hold a password, is no configuration that Dagster shows."""

    @dg.resource(description=f"{type(resource).__name__} of a privacy gate")
    def hidden(_: dg.InitResourceContext) -> Iterator[WarehouseResource | BudgetLedgerResource]:
        try:
            yield resource
        finally:
            if isinstance(resource, WarehouseResource):
                resource.dispose()

    return hidden
