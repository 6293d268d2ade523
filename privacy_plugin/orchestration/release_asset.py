"""An asset that is released only under a certificate for exactly the data it releases."""

from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.certificate import Certificate
from privacy_plugin.errors import CertificateError
from privacy_plugin.orchestration.certificates import CertificateStoreResource
from privacy_plugin.orchestration.step import Made, Run, build_step
from privacy_plugin.orchestration.upstream import Asset, asset_key
from privacy_plugin.policy import Policy
from privacy_plugin.sources import Source


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

    def make(run: Run) -> Made:
        resource: CertificateStoreResource = getattr(run.resources, certificates)
        store = resource.store(run.reads.key)
        covering: list[Certificate] = []

        def verify(staged: Source) -> None:
            covering.append(store.require(rules, staged, partition=run.partition))

        released = run.source.publish(run.target, columns=rules.rules.released, verify=verify)
        if not covering:
            raise CertificateError(f"a source of kind {run.source.engine!r} released without asking for a certificate")
        paper = resource.hand_over(covering[-1], run.key, run.partition)
        return released, _metadata(covering[-1], paper, resource, resource.report_path(run.reads.key, run.partition))

    return build_step(
        make,
        doing="releasing",
        description=f"{rules.dataset} as released: certified by the privacy gate of "
        f"{asset_key(asset).to_user_string()}.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        group_name=group_name,
        automation_condition=automation_condition,
        warehouse=warehouse,
        resources=[certificates],
    )


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
