"""Hold plain downstream assets too: refuse to load or use an asset whose gate is closed, unjudged or out of date."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.errors import CertificateError, ParameterError
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.orchestration.error_redaction import redact_errors
from privacy_plugin.orchestration.resources import CertificateStoreResource, WarehouseResource
from privacy_plugin.orchestration.standard_arguments import READS_UNJUDGED
from privacy_plugin.orchestration.upstream import Asset, asset_key
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import open_source
from privacy_plugin.sources.bundle import Bundle, bundle_targets


def require_open_gate(
    context: dg.AssetExecutionContext,
    *,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    data: Any = None,
    partition: str | None = None,
    certificates: str | CertificateStoreResource = "certificates",
    warehouse: str | WarehouseResource = "warehouse",
) -> None:
    """Raise CertificateError unless the gate of an asset has passed, in this run or any earlier one.

    Call it first in an asset that has the judged asset only in `deps`: Dagster's blocking checks act inside one run, so
    that a later run of the downstream asset alone would not be stopped. With `table` (a table of the warehouse) or
    `data` (what a source accepts), also raises if the released columns are not exactly those rows that the gate judged.
    Without either, raises if Dagster has recorded a materialization of the asset after the verdict; it does not notice
    changes that Dagster did not make.

    `partition` defaults to the partition of the run. `certificates` and `warehouse` are resources, or the names of
    resources that the asset requires.
    """
    loaded = policy if isinstance(policy, Policy) else Policy.load(policy)
    key = asset_key(asset)
    with redact_errors("verifying the gate"):
        if table is not None and data is not None:
            raise ParameterError("give the table or the data, not both")
        if partition is None and context.has_partition_key:
            partition = str(context.partition_key)
        store = _resource(context, certificates)
        if table is not None:
            house = _resource(context, warehouse)
            parts = loaded.rules.tables
            names = bundle_targets(table, parts, database=True) if parts else (table,)
            tables = [house.table(name, partition=partition) for name in names]
            data = Bundle(dict(zip(parts, tables, strict=True))) if parts else tables[0]
        certificate = store.store(key).require_open(loaded, partition=partition)  # read once: no other is used below
        if data is not None:
            _require_judged_data(certificate, key, loaded, data)
        else:
            _require_judged_after_materialization(context.instance, certificate, key, partition)


def build_gated_io_manager(
    *, inner: str, policies: Mapping[str, Policy | str | Path], certificates: str = "certificates"
) -> dg.IOManagerDefinition:
    """Build an IO manager that refuses to load an asset whose gate is closed, unjudged or judged other data.

    `inner` is the name of the resource that stores and loads; `policies` has the policy of every gated asset, by its
    key (`visits` or `clinic/visits`). Assets without a policy load as before. The loaded value must have exactly the
    released rows that the gate judged, in whatever run. Checks of this package load an asset before it is judged;
    releases verify the certificate themselves.
    """
    loaded = {
        dg.AssetKey.from_user_string(name): given if isinstance(given, Policy) else Policy.load(given)
        for name, given in policies.items()
    }

    @dg.io_manager(required_resource_keys={inner, certificates})
    def gated(context: dg.InitResourceContext) -> GatedIOManager:
        return GatedIOManager(
            getattr(context.resources, inner), policies=loaded, certificates=getattr(context.resources, certificates)
        )

    return gated


class GatedIOManager(dg.IOManager):
    """Loads gated assets only if their latest verdict passed and covers the loaded rows."""

    def __init__(
        self,
        inner: dg.IOManager,
        *,
        policies: Mapping[dg.AssetKey, Policy],
        certificates: CertificateStoreResource,
    ) -> None:
        self._inner = inner
        self._policies = policies
        self._certificates = certificates

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Store a value as the inner IO manager does."""
        self._inner.handle_output(context, obj)

    def load_input(self, context: dg.InputContext) -> Any:
        """Load a value; raise CertificateError if its gate does not cover it."""
        policy = self._policies.get(context.asset_key) if context.has_asset_key else None
        if policy is None or context.op_def.tags.get(READS_UNJUDGED) == "true":
            return self._inner.load_input(context)
        key = context.asset_key
        partitions: list[str | None] = [*context.asset_partition_keys] if context.has_asset_partitions else [None]
        with redact_errors("verifying the gate"):
            store = self._certificates.store(key)
            found = {partition: store.require_open(policy, partition=partition) for partition in partitions}
        value = self._inner.load_input(context)
        with redact_errors("verifying the gate"):
            several = len(partitions) > 1
            if several and (not isinstance(value, Mapping) or set(value) != set(partitions)):
                raise CertificateError(
                    f"the IO manager loaded {len(partitions)} partitions of {key.to_user_string()!r} as one value, "
                    "which no certificate covers; load one partition"
                )
            for partition, certificate in found.items():
                _require_judged_data(certificate, key, policy, value[partition] if several else value)
        return value


def _resource(context: dg.AssetExecutionContext, given: Any) -> Any:
    return getattr(context.resources, given) if isinstance(given, str) else given


def _require_judged_data(certificate: Certificate, key: dg.AssetKey, policy: Policy, data: Any) -> None:
    """Raise unless the released columns of the data have the fingerprint of the certificate, and no column is new."""
    if policy.rules.tables and isinstance(data, Mapping):
        data = Bundle(dict(data))
    source = open_source(data)
    more = sorted(set(source.columns) - set(policy.rules.judged))
    if more:
        raise CertificateError(
            f"{key.to_user_string()!r} has columns that its gate did not judge: {', '.join(more)}; judge it again"
        )
    if source.fingerprint(policy.rules.released).to_dict() != certificate.content.get("fingerprint"):
        raise CertificateError(
            f"the data of {key.to_user_string()!r} changed after its privacy checks; run the checks again"
        )


def _require_judged_after_materialization(
    instance: dg.DagsterInstance, certificate: Certificate, key: dg.AssetKey, partition: str | None
) -> None:
    """Raise if Dagster materialized the asset after the verdict; both times are compared in whole seconds."""
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=None if partition is None else [partition])
    latest = instance.fetch_materializations(wanted, limit=1).records
    judged_at = datetime.fromisoformat(str(certificate.content["judged_at"])).timestamp()
    if latest and int(latest[0].timestamp) > judged_at:
        raise CertificateError(
            f"{key.to_user_string()!r} was materialized after its privacy checks; run the checks again"
        )
