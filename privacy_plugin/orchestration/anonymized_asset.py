"""An asset that anonymizes its upstream by the method of a policy, where the data is stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import dagster as dg

from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.anonymizers.base import Anonymized
from privacy_plugin.description import ColumnLevel
from privacy_plugin.locations import Location
from privacy_plugin.orchestration.asset_builder import AssetRun, MadeAsset, build_asset
from privacy_plugin.orchestration.catalog import catalog_metadata
from privacy_plugin.orchestration.deals import KeptDeal
from privacy_plugin.orchestration.resources import file_name, location_metadata, open_history, open_ledger
from privacy_plugin.orchestration.standard_arguments import AssetArguments
from privacy_plugin.orchestration.upstream import Asset, build_population
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import sql_table
from privacy_plugin.sources.bundle import bundle_targets


def build_anonymized_asset(
    *,
    name: Asset,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    target: str | None = None,
    population: Asset | None = None,
    population_table: str | None = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    partition_column: str | None = None,
    warehouse: str = "warehouse",
    certificates: str = "certificates",
    ledger: str = "ledger",
    history: str | None = None,
    **standard: Unpack[AssetArguments],
) -> dg.AssetsDefinition:
    """Build an asset that is its upstream, anonymized by the method of the policy.

    `generalize`: the least generalization that meets every requirement; the plan is saved in the folder of the
    `certificates` resource, and levels, loss and suppressed rows are metadata. `multidimensional_presence`: regions
    within the bounds of presence in the `population`; their number, loss and presence are metadata. A randomized
    method spends from the `ledger` resource (a `BudgetLedgerResource`); spent budget, unit and remaining budget are
    metadata. Every run of it spends again, and partitions of one dataset share one budget. With `releases: together`
    the regions and joint classes of earlier releases are read from the `history` resource (a
    `ReleaseHistoryResource`), or from the history that PRIVACY_PLUGIN_HISTORY names.

    With `table`, only frequency tables are read from the warehouse, and the `target` table (default: the asset's name)
    is replaced atomically. Without it, the IO manager loads a frame and stores the new frame. Identifier columns are
    dropped; a column without a role raises an error.
    """
    loaded = policy if isinstance(policy, Policy) else Policy.load(policy)
    method = loaded.anonymizer
    method.require_usable(partition_column)

    def make(run: AssetRun) -> MadeAsset:
        deal = _kept_deal(run, loaded, getattr(run.resources, certificates).deals_folder) if method.once else None
        if deal is not None and (facts := deal.facts()) is not None:
            return None, {**facts, "notes": f"the source is unchanged, so that the last {method.once} was kept"}
        with (
            open_ledger(run.resources, ledger if method.spends_budget else None) as budget_ledger,
            open_history(run.resources, history),
        ):
            result = anonymize(
                run.source,
                policy=loaded,
                target=run.target,
                population=run.population,
                constant=partition_column,
                ledger=budget_ledger,
                partition=run.partition,
            )
        saved: dict[str, Any] = {}
        if result.plan is not None:
            path = getattr(run.resources, certificates).plan_path(run.key, run.partition)
            result.plan.save(path)
            saved["plan"] = location_metadata(path)
        if deal is not None:
            deal.record({name: fact for name, fact in result.describe().facts.items() if isinstance(fact, int | float)})
        catalog = catalog_metadata(
            loaded, result.made, run, levels=result.describe().levels, lineage=not method.spends_budget
        )
        return result.made, {**anonymized_metadata(result), **catalog, **saved}

    return build_asset(
        make,
        activity="anonymizing",
        description=f"{loaded.dataset}, {method.done}.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        warehouse=warehouse,
        standard=standard,
        resources=[
            certificates,
            *([ledger] if method.spends_budget else []),
            *([] if history is None else [history]),
        ],
        population=build_population(population, population_table, warehouse),
        made_parts=method.tables,
    )


def _kept_deal(run: AssetRun, policy: Policy, folder: Location) -> KeptDeal | None:
    """Return the record of what the asset made; frames have none: an asset does not read what it stored last."""
    if run.target is None:
        return None
    bind, names = getattr(run.source, "bind", None), list(policy.rules.tables)
    targets = bundle_targets(run.target, names, database=bind is not None) if names else [run.target]
    tables = {
        name: target if bind is None else sql_table(bind, target)
        for name, target in zip(names or [policy.dataset], targets, strict=True)
    }
    return KeptDeal(folder / f"made-{file_name(run.key, run.partition)}.json", policy, run.source, tables)


def anonymized_metadata(result: Anonymized) -> dict[str, Any]:
    """Return the Dagster metadata of an anonymized table; Dagster plots numbers whose names stay the same."""
    described = result.describe()
    facts = {
        name: dg.MetadataValue.json(value) if isinstance(value, dict | list) else value
        for name, value in described.facts.items()
    }
    return {
        **facts,
        **({"levels": _levels_table(described.levels)} if described.levels else {}),
        **({"notes": "; ".join(described.notes)} if described.notes else {}),
        **({} if described.released_rows is None else {"dagster/row_count": described.released_rows}),
    }


def _levels_table(levels: Sequence[ColumnLevel]) -> dg.TableMetadataValue:
    """Return a table of the level of every column, with a description of its generalized values."""
    records = [
        dg.TableRecord({"column": one.column, "level": one.position, "its values became": one.meaning})
        for one in levels
    ]
    return dg.MetadataValue.table(records)
