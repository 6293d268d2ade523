"""An asset that is released only under a certificate for exactly the data it releases."""

from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.certificate import Certificate
from privacy_plugin.errors import CertificateError
from privacy_plugin.orchestration.certificates import CertificateStoreResource
from privacy_plugin.orchestration.door import told_without_values
from privacy_plugin.orchestration.target import checked_target, materialized, placed
from privacy_plugin.orchestration.upstream import Asset, asset_key, partition_of, partitions_of, upstream
from privacy_plugin.policy import Policy
from privacy_plugin.sources import Source, open_source


def build_release_asset(
    *,
    name: Asset,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    target: str | None = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    partition_column: str | None = None,
    group_name: str | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    warehouse: str = "warehouse",
    certificates: str = "certificates",
) -> dg.AssetsDefinition:
    """Build the release of an asset whose gate `build_privacy_checks` built, with the same policy and partitions.

    The released columns are copied aside, the copy's fingerprint is held against the certificate of that gate, and
    only then the copy becomes the `target` table (default: the asset's name) or the frame for the IO manager.
    Dagster's blocking acts inside one run; this holds whatever was selected, in this run or the next. Raises
    CertificateError, with the target left as it was, when the gate never judged, refused, judged other data, another
    policy or partition, or when its certificate was changed.
    """
    rules = policy if isinstance(policy, Policy) else Policy.load(policy)
    key, partitions = asset_key(name), partitions_of(asset, partitions_def)
    reads = upstream(
        asset,
        argument="data",
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
    )
    written = checked_target(target, key=key, reads=reads, partitions=partitions)

    @dg.asset(
        key=key,
        deps=reads.deps,
        ins=reads.ins,
        required_resource_keys={certificates, *reads.resources},
        partitions_def=partitions,
        group_name=group_name,
        automation_condition=automation_condition,
        description=f"{rules.dataset} as released: certified by the privacy gate of {reads.key.to_user_string()}.",
        kinds={"privacy"},
    )
    def release(context: dg.AssetExecutionContext, **handed: Any) -> dg.MaterializeResult[Any]:
        partition = partition_of(context, partitions)
        with told_without_values("releasing"):
            resource: CertificateStoreResource = getattr(context.resources, certificates)
            store = resource.store(reads.key)
            covering: list[Certificate] = []

            def verify(staged: Source) -> None:
                covering.append(store.require(rules, staged, partition=partition))

            source = open_source(reads.data(context, handed, partition))
            place = placed(written, reads=reads, partition=partition)
            released = source.publish(place, columns=rules.rules.released, verify=verify)
            if not covering:
                raise CertificateError(f"a source of kind {source.engine!r} released without asking for a certificate")
            paper = resource.hand_over(covering[-1], key, partition)
        metadata = _metadata(covering[-1], paper, resource, resource.report_path(reads.key, partition))
        return materialized(released, reads=reads, metadata=metadata)

    return release


def _metadata(
    certificate: Certificate, paper: Path, resource: CertificateStoreResource, report: Path
) -> dict[str, Any]:
    content = certificate.content
    metadata: dict[str, Any] = {
        "certificate": dg.MetadataValue.path(str(paper)),
        "fingerprint": str(content["fingerprint"]["digest"]),
        "policy digest": str(content["policy_digest"]),
        "judged at": str(content["judged_at"]),
        "dagster/row_count": int(content["rows"]),
        "released columns": ", ".join(content["fingerprint"]["columns"]),
    }
    if report.exists():
        metadata["report"] = dg.MetadataValue.url(resource.report_link(report))
    return metadata
