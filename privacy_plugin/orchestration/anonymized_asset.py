"""An asset that anonymizes its upstream as a policy asks, where the data lies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.anonymizers.base import Anonymized
from privacy_plugin.description import ColumnLevel
from privacy_plugin.orchestration.asset_builder import Made, Run, build_step
from privacy_plugin.orchestration.resources import ledger_of
from privacy_plugin.orchestration.upstream import Asset, population_of
from privacy_plugin.policy.policy import Policy


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
    group_name: str | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    warehouse: str = "warehouse",
    certificates: str = "certificates",
    ledger: str = "ledger",
) -> dg.AssetsDefinition:
    """Build an asset that is its upstream, anonymized by the method that the policy names.

    `generalize`: the least generalization that meets every requirement; the plan is saved in the folder of the
    `certificates` resource, and levels, loss and suppressed rows are metadata. `multidimensional_presence`: regions
    within the bounds of presence in the `population`; their number, loss and the presence reached are metadata. A
    randomized method draws from the `ledger` resource (a `BudgetLedgerResource`); what it spent, its unit and what
    remains are metadata. Every run of it spends anew, and partitions of one dataset spend from one budget.

    With `table` only groups are read from the warehouse, and the `target` table (default: the asset's name) is
    replaced when the new one is complete. Without, the IO manager hands a frame over and takes the new frame. Columns
    that identify people are left out, and a column without a role is refused.
    """
    rules = policy if isinstance(policy, Policy) else Policy.load(policy)
    method = rules.anonymizer
    method.require_usable(partition_column)

    def make(run: Run) -> Made:
        with ledger_of(run.resources, ledger if method.spends_budget else None) as books:
            result = anonymize(
                run.source,
                policy=rules,
                target=run.target,
                population=run.population,
                constant=partition_column,
                ledger=books,
            )
        saved: dict[str, Any] = {}
        if result.plan is not None:
            path = getattr(run.resources, certificates).plan_path(run.key, run.partition)
            result.plan.save(path)
            saved["plan"] = dg.MetadataValue.path(str(path))
        return result.made, {**anonymized_metadata(result), **saved}

    return build_step(
        make,
        doing="anonymizing",
        description=f"{rules.dataset}, {method.done}.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        group_name=group_name,
        automation_condition=automation_condition,
        warehouse=warehouse,
        resources=[certificates, *([ledger] if method.spends_budget else [])],
        population=population_of(population, population_table, warehouse),
    )


def anonymized_metadata(result: Anonymized) -> dict[str, Any]:
    """Return what Dagster shows of an anonymized table, under names that stay, so that numbers are plotted."""
    described = result.describe()
    facts = {
        name: dg.MetadataValue.json(value) if isinstance(value, dict | list) else value
        for name, value in described.facts.items()
    }
    return {
        **facts,
        **({"levels": _levels(described.levels)} if described.levels else {}),
        **({"notes": "; ".join(described.notes)} if described.notes else {}),
        **({} if described.released_rows is None else {"dagster/row_count": described.released_rows}),
    }


def _levels(levels: Sequence[ColumnLevel]) -> dg.TableMetadataValue:
    """Return the level of every column and what its values became; a number alone has no meaning."""
    records = [
        dg.TableRecord({"column": one.column, "level": one.position, "its values became": one.meaning})
        for one in levels
    ]
    return dg.MetadataValue.table(records)
