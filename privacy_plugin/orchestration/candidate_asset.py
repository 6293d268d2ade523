"""An asset that is its upstream without the identifier columns, otherwise unchanged."""

from pathlib import Path
from typing import Any, Unpack

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.orchestration.asset_builder import AssetRun, MadeAsset, build_asset
from privacy_plugin.orchestration.catalog import catalog_metadata
from privacy_plugin.orchestration.standard_arguments import AssetArguments
from privacy_plugin.orchestration.upstream import Asset
from privacy_plugin.policy.policy import Policy


def build_candidate_asset(
    *,
    name: Asset,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    target: str | None = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    partition_column: str | None = None,
    warehouse: str = "warehouse",
    **standard: Unpack[AssetArguments],
) -> dg.AssetsDefinition:
    """Build the table that a pipeline without privacy gate would release: without identifier columns.

    Undeclared columns stay, so that the gate after it reports them.
    """
    loaded = policy if isinstance(policy, Policy) else Policy.load(policy)
    if loaded.rules.form != "rows":
        raise ParameterError(
            f"{loaded.method} releases {loaded.rules.form}, not the rows of the source; use build_anonymized_asset"
        )
    identifiers = loaded.rules.columns("identifier")

    def make(run: AssetRun) -> MadeAsset:
        kept = tuple(column for column in run.source.columns if column not in identifiers)
        made = run.source.recode(Recoding(keep=kept, mappings={}), target=run.target)
        return made, catalog_metadata(loaded, made, run)

    return build_asset(
        make,
        activity="copying the table without its identifiers",
        description=f"{loaded.dataset} as it is, without its identifier columns.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        warehouse=warehouse,
        standard=standard,
    )
