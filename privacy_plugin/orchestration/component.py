"""The whole path as a `dg` component: a table, its anonymized form, its gate and its release, from a `defs.yaml`."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypedDict, cast

import dagster as dg
from dagster.components.component_scaffolding import scaffold_component
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest
from pydantic import Field

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.anonymized_asset import build_anonymized_asset
from privacy_plugin.orchestration.privacy_checks import build_privacy_checks
from privacy_plugin.orchestration.release_asset import build_release_asset, when_gate_passed
from privacy_plugin.orchestration.resources import (
    BudgetLedgerResource,
    CertificateStoreResource,
    ReleaseHistoryResource,
    WarehouseResource,
)
from privacy_plugin.orchestration.standard_arguments import AssetArguments, CheckArguments
from privacy_plugin.orchestration.upstream import table_key
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources.sql.connections import resolve_url

_WINDOWS = {
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}


class PartitionsModel(dg.Model, dg.Resolvable):
    """The partitions of a gate: static keys, or time windows."""

    type: Literal["static", "daily", "weekly", "monthly"] = Field(description="The kind of partitions")
    partition_keys: Sequence[str] | None = Field(default=None, description="static: the partition keys")
    start_date: str | None = Field(
        default=None, description="daily, weekly, monthly: the first day, such as 2024-01-31"
    )
    end_date: str | None = Field(
        default=None, description="daily, weekly, monthly: the partitions end before this day; default: they do not end"
    )
    timezone: str | None = Field(
        default=None, description="The time zone of the days, such as Europe/Berlin; default: UTC"
    )

    def definition(self) -> dg.PartitionsDefinition[Any]:
        """Return the partitions definition; raise if an attribute is missing or does not fit the type."""
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
            wrong = f"remove {', '.join(surplus)}" if surplus else f"add {name}"
            raise ParameterError(f"{self.type} partitions take {name}; {wrong}")


class RetryModel(dg.Model, dg.Resolvable):
    """How often Dagster tries a step again."""

    max_retries: int = Field(default=1, description="How often a failed step is tried again")
    delay: float | None = Field(default=None, description="Seconds before each retry")


class AssetAttributesModel(dg.Model, dg.Resolvable):
    """Standard arguments of Dagster for the assets that the component makes."""

    key_prefix: Sequence[str] | None = Field(default=None, description="Prefix of the keys of the made assets")
    tags: dict[str, str | int | float | bool] | None = Field(default=None, description="Tags of the assets")
    owners: Sequence[str] | None = Field(default=None, description="Owners: e-mail addresses, or team:name")
    kinds: Sequence[str] | None = Field(default=None, description="Kinds, at most three; default: privacy")
    metadata: dict[str, Any] | None = Field(default=None, description="Metadata of the assets")
    deps: Sequence[str] | None = Field(default=None, description="More assets that must be materialized first")
    code_version: str | int | float | None = Field(default=None, description="Version of the code")
    retry_policy: RetryModel | None = Field(default=None, description="Retries; also of the checks")
    pool: str | None = Field(default=None, description="Concurrency pool; also of the checks")

    def arguments(
        self, *, group_name: str | None, automation_condition: dg.AutomationCondition[Any] | None
    ) -> AssetArguments:
        """Return the arguments of the builders of assets."""
        given: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        given["tags"] = None if self.tags is None else {name: str(value) for name, value in self.tags.items()}
        given["code_version"] = None if self.code_version is None else str(self.code_version)
        given["kinds"] = None if self.kinds is None else set(self.kinds)
        given["deps"] = None if self.deps is None else [dg.AssetKey.from_user_string(dep) for dep in self.deps]
        given["retry_policy"] = self._retry_policy()
        given |= {"group_name": group_name, "automation_condition": automation_condition}
        return cast(AssetArguments, given)

    def check_arguments(self, automation_condition: dg.AutomationCondition[Any] | None) -> CheckArguments:
        """Return the arguments that checks take too."""
        return {
            "retry_policy": self._retry_policy(),
            "pool": self.pool,
            "automation_condition": automation_condition,
        }

    def _retry_policy(self) -> dg.RetryPolicy | None:
        given = self.retry_policy
        return None if given is None else dg.RetryPolicy(max_retries=given.max_retries, delay=given.delay)


_ATTRIBUTES = {
    "policy": "policy.yaml",
    "source_table": "visits",
    "anonymized_table": "visits_anonymized",
    "release_table": "visits_release",
    "warehouse_url": "duckdb:///warehouse.duckdb",
    "output_folder": "privacy",
}

_POLICY = """\
# The requirements of a release. Give every column a role; the gate stays closed until then.
# `privacy-plugin init` proposes roles for an existing table.
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
    """Writes a defs.yaml and its policy for `dg scaffold defs`."""

    def scaffold(self, request: ScaffoldRequest[Any]) -> None:
        """Write both files; an existing policy is kept."""
        scaffold_component(request, _ATTRIBUTES)
        policy = request.target_path / "policy.yaml"
        if not policy.exists():
            policy.write_text(_POLICY, encoding="utf-8")


class _ResourceNames(TypedDict):
    warehouse: str
    certificates: str
    ledger: str
    history: str | None


@dg.scaffold_with(PrivacyGateScaffolder)
class PrivacyGateComponent(dg.Component, dg.Model, dg.Resolvable):
    """Anonymizes, judges and releases a table of a warehouse under a privacy policy.

    ```yaml
    type: privacy_plugin.orchestration.PrivacyGateComponent
    attributes:
      policy: policy.yaml
      source_table: hospital_visits
      anonymized_table: visits_anonymized
      release_table: visits_release
      warehouse_url: "{{ env.PRIVACY_PLUGIN_WAREHOUSE }}"
    ```

    With `partitions_def` every partition is anonymized, judged and released separately. `{partition}` in a table name
    stands for the partition key; if one source table contains all partitions, give its `partition_column`.

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
    release_table: str = Field(description="The table to write when the gate has passed")
    anonymized_table: str | None = Field(
        default=None,
        description="The table anonymized by the method of the policy; default: the source table itself is judged",
    )
    partitions_def: PartitionsModel | None = Field(
        default=None, description="The partitions, each with its own verdict, certificate and release"
    )
    partition_column: str | None = Field(
        default=None,
        description="The column of the source table that contains the partition key or a date; default: {partition} in "
        "the name of the source table stands for the key",
    )
    population_table: str | None = Field(
        default=None, description="The population table that requirements compare with"
    )
    warehouse_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL of the warehouse, file paths relative to the project; default: the resource "
        "`warehouse` of the project",
    )
    output_folder: str | None = Field(
        default=None,
        description="Folder for certificates and reports, relative to the project; default: the resource "
        "`certificates` of the project",
    )
    ledger_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL of the budget ledger, for a randomized method or a requirement on the privacy "
        "budget; default: the resource `ledger` of the project",
    )
    history_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL of the history of releases; default: the one that PRIVACY_PLUGIN_HISTORY names",
    )
    via: Literal["native", "great_expectations"] = Field(
        default="native", description="great_expectations: also run the policy as a Great Expectations checkpoint"
    )
    automatic: bool = Field(
        default=False, description="Anonymize, judge and release automatically when the source has new data"
    )
    group_name: str | None = Field(default=None, description="The group of the assets")
    asset_attributes: AssetAttributesModel | None = Field(
        default=None,
        description="Standard arguments of Dagster for the anonymized asset and the release: tags, owners, kinds, "
        "metadata, key_prefix, deps, code_version, retry_policy, pool",
    )
    observe_source: bool = Field(
        default=False,
        description="Also measure the source table as it is, with warnings that block nothing; needs an anonymized "
        "table",
    )

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Describe the component for `dg list components` and Dagster's pages."""
        return dg.ComponentTypeSpec(
            description="Anonymizes a table, judges it against a policy, and releases it only with a certificate.",
            tags=["privacy", "governance"],
            produces=["asset", "asset_check", "resource"],
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Build the assets, the gate, and the resources whose URLs or folders are given here."""
        policy = Policy.load(context.path / self.policy)
        prefix = re.sub(r"\W", "_", "_".join(table_key(self.release_table).path), flags=re.ASCII)
        names: _ResourceNames = {
            "warehouse": f"{prefix}_warehouse" if self.warehouse_url else "warehouse",
            "certificates": f"{prefix}_certificates" if self.output_folder else "certificates",
            "ledger": f"{prefix}_ledger" if self.ledger_url else "ledger",
            "history": f"{prefix}_history" if self.history_url else None,
        }
        resources: dict[str, Any] = {}
        root = context.project_root
        if self.warehouse_url:
            resources[names["warehouse"]] = _hide_url(WarehouseResource(url=resolve_url(self.warehouse_url, root)))
        if self.ledger_url:
            resources[names["ledger"]] = _hide_url(BudgetLedgerResource(url=resolve_url(self.ledger_url, root)))
        if self.history_url and names["history"]:
            resources[names["history"]] = _hide_url(ReleaseHistoryResource(url=resolve_url(self.history_url, root)))
        if self.output_folder:
            folder = str(root / self.output_folder)
            resources[names["certificates"]] = CertificateStoreResource(folder=folder)
        partitions = None if self.partitions_def is None else self.partitions_def.definition()
        attributes = self.asset_attributes or AssetAttributesModel()
        assets = self._build_anonymized(policy, names, partitions, attributes)
        judged = self.anonymized_table or self.source_table
        judged_key = assets[0].key if assets else table_key(judged)
        gate_partition_column = None if self.anonymized_table else self.partition_column
        # Runs of an anonymized asset include its checks. With a condition of their own Dagster would start the checks
        # in a second run, before the table exists, and leave them out of a retry.
        own_condition = dg.AutomationCondition.eager() if self.automatic and not assets else None
        gate = build_privacy_checks(
            asset=judged_key,
            policy=policy,
            table=judged,
            population_table=self.population_table,
            partitions_def=partitions,
            partition_column=gate_partition_column,
            via=self.via,
            **names,
            **attributes.check_arguments(own_condition),
        )
        release = build_release_asset(
            name=table_key(self.release_table),
            asset=judged_key,
            policy=policy,
            table=judged,
            target=self.release_table,
            population_table=self.population_table,
            partitions_def=partitions,
            partition_column=gate_partition_column,
            **names,
            **attributes.arguments(
                group_name=self.group_name, automation_condition=when_gate_passed() if self.automatic else None
            ),
        )
        checks = [gate, *self._build_observation(policy, names, partitions)]
        return dg.Definitions(assets=[*assets, release], asset_checks=checks, resources=resources)

    def _build_observation(
        self, policy: Policy, names: _ResourceNames, partitions: dg.PartitionsDefinition[Any] | None
    ) -> list[dg.AssetChecksDefinition]:
        if not self.observe_source:
            return []
        if self.anonymized_table is None:
            raise ParameterError("observe_source needs anonymized_table: without it, the gate judges the source")
        return [
            build_privacy_checks(
                asset=table_key(self.source_table),
                policy=policy,
                table=self.source_table,
                population_table=self.population_table,
                partitions_def=partitions,
                partition_column=self.partition_column,
                mode="observe",
                warehouse=names["warehouse"],
            )
        ]

    def _build_anonymized(
        self,
        policy: Policy,
        names: _ResourceNames,
        partitions: dg.PartitionsDefinition[Any] | None,
        attributes: AssetAttributesModel,
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
                **names,
                **attributes.arguments(
                    group_name=self.group_name,
                    automation_condition=dg.AutomationCondition.eager() if self.automatic else None,
                ),
            )
        ]


_Addressed = WarehouseResource | BudgetLedgerResource | ReleaseHistoryResource


def _hide_url(resource: _Addressed) -> dg.ResourceDefinition:
    """Wrap a resource so that Dagster does not show its URL, which may contain a password, as configuration."""

    @dg.resource(description=f"{type(resource).__name__} of a privacy gate")
    def hidden(_: dg.InitResourceContext) -> Iterator[_Addressed]:
        try:
            yield resource
        finally:
            if isinstance(resource, WarehouseResource):
                resource.dispose()

    return hidden
