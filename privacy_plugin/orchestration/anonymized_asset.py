"""An asset that generalizes its upstream as a policy asks, where the data lies."""

from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.errors import PolicyError
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization import generalize
from privacy_plugin.orchestration.door import told_without_values
from privacy_plugin.orchestration.target import checked_target, materialized, placed
from privacy_plugin.orchestration.upstream import (
    Asset,
    Upstream,
    asset_key,
    partition_of,
    partitions_of,
    population_of,
    upstream,
)
from privacy_plugin.plan import Plan
from privacy_plugin.policy import Policy
from privacy_plugin.sources import open_source


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
) -> dg.AssetsDefinition:
    """Build an asset with the least generalization of its upstream that meets every requirement of the policy.

    With `table` the work is done in the warehouse: only groups are read, and the `target` table (default: the
    asset's name) is replaced when the new one is complete. Without, the IO manager hands a frame over and takes the
    generalized frame. Columns that identify people, and columns without a role, are left out. The plan is saved in
    the folder of the `certificates` resource; levels, loss and suppressed rows are metadata.
    """
    rules = policy if isinstance(policy, Policy) else Policy.load(policy)
    hierarchies = _hierarchies(rules, partition_column)
    key, partitions = asset_key(name), partitions_of(asset, partitions_def)
    reads = upstream(
        asset,
        argument="data",
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
    )
    others = population_of(population, population_table, warehouse)
    written = checked_target(target, key=key, reads=reads, partitions=partitions)

    @dg.asset(
        key=key,
        deps=[*reads.deps, *(others.deps if others else ())],
        ins={**reads.ins, **(others.ins if others else {})},
        required_resource_keys={certificates, *reads.resources, *(others.resources if others else ())},
        partitions_def=partitions,
        group_name=group_name,
        automation_condition=automation_condition,
        description=f"{rules.dataset}, generalized until it meets its privacy policy.",
        kinds={"privacy"},
    )
    def anonymized(context: dg.AssetExecutionContext, **handed: Any) -> dg.MaterializeResult[Any]:
        partition = partition_of(context, partitions)
        with told_without_values("anonymizing"):
            source = open_source(reads.data(context, handed, partition))
            compared = _population_argument(rules, others, context, handed)
            plan = generalize(
                source,
                hierarchies=hierarchies,
                requirements=rules.requirements,
                **rules.anonymize,
                attributes=(*rules.quasi_identifiers, *rules.sensitive),
                unit=rules.rules.unit,
                **compared,
            )
            kept = tuple(column for column in source.columns if _is_kept(rules, column))
            left_out = [column for column in source.columns if column not in kept]
            target = placed(written, reads=reads, partition=partition)
            made = plan.apply(source, target=target, keep=kept, **compared)
            path = getattr(context.resources, certificates).plan_path(key, partition)
            plan.save(path)
        metadata = _metadata(plan, path, left_out)
        return materialized(made, reads=reads, metadata=metadata)

    return anonymized


def _hierarchies(policy: Policy, partition_column: str | None) -> dict[str, Hierarchy]:
    """Return the hierarchies; a partition's column is one value throughout, and must stay what it is."""
    lacking = [c for c in policy.quasi_identifiers if c not in policy.hierarchies and c != partition_column]
    if lacking:
        raise PolicyError(f"to generalize, {', '.join(map(repr, lacking))} of {policy.dataset!r} needs a hierarchy")
    if partition_column in policy.hierarchies:
        raise PolicyError(f"{partition_column!r} says which partition a row is in; it cannot be generalized too")
    return dict(policy.hierarchies)


def _is_kept(policy: Policy, column: str) -> bool:
    return policy.roles.get(column, "identifier") != "identifier"


def _population_argument(policy: Policy, others: Upstream | None, context: Any, handed: Any) -> dict[str, Any]:
    needed = any(requirement.definition.needs_population for requirement in policy.requirements)
    return {"population": others.data(context, handed, None)} if needed and others else {}


def _metadata(plan: Plan, path: Path, left_out: list[str]) -> dict[str, Any]:
    levels = [
        dg.TableRecord({"column": column, "level": level, "of": plan.hierarchies[column].height})
        for column, level in plan.levels.items()
    ]
    counted = "people" if plan.unit else "rows"
    return {
        "levels": dg.MetadataValue.table(levels),
        "loss": plan.loss,
        f"suppressed {counted}": plan.suppressed,
        "suppressed share": plan.suppressed_share,
        f"{counted} read": plan.rows,
        **({} if plan.unit else {"dagster/row_count": plan.rows - plan.suppressed}),
        "left out": ", ".join(left_out) or "no column",
        "plan": dg.MetadataValue.path(str(path)),
    }
