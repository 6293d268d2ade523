"""An asset that anonymizes its upstream as a policy asks, where the data lies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.anonymizers.anonymize import Anonymized, anonymize
from privacy_plugin.anonymizers.multidimensional_presence import PresenceGeneralization
from privacy_plugin.anonymizers.randomized_methods import Draw
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.level_words import level_words
from privacy_plugin.generalization.plan import Plan
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
    drawn = isinstance(method, Draw)

    def make(run: Run) -> Made:
        with ledger_of(run.resources, ledger if drawn else None) as books:
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
        return result.made, {**anonymized_metadata(result, rules), **saved}

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
        resources=[certificates, *([ledger] if drawn else [])],
        population=population_of(population, population_table, warehouse),
    )


def anonymized_metadata(result: Anonymized, policy: Policy) -> dict[str, Any]:
    """Return what Dagster shows of an anonymized table: numbers under names that stay, so that it plots them."""
    left_out = {"method": result.method, "left out": ", ".join(result.left_out) or "no column"}
    if result.plan is not None:
        return {**_plan_metadata(result.plan), **left_out}
    if isinstance(result.found, PresenceGeneralization):
        return {**_region_metadata(result.found), **left_out}
    assert result.cost is not None  # what was not generalized was drawn, and has both
    assert result.remaining is not None
    spent = result.cost.budget
    told = result.drawn.to_dict()
    return {
        **left_out,
        "mechanism": result.cost.mechanism,
        "privacy unit": result.cost.unit,
        "epsilon": float(spent.epsilon),
        "delta": float(spent.delta),
        "remaining epsilon": float(result.remaining.epsilon),
        "remaining delta": float(result.remaining.delta),
        "dagster/row_count": result.drawn.frequencies.rows,
        "account": dg.MetadataValue.json(told.get("ledger", told)),
        **({"levels": _levels(told["levels"], policy.hierarchies)} if "levels" in told else {}),
        **{name: dg.MetadataValue.json(told[name]) for name in ("edges", "keep") if name in told},
        **({"notes": "; ".join(told["notes"])} if told.get("notes") else {}),
    }


def _plan_metadata(plan: Plan) -> dict[str, Any]:
    counted = "people" if plan.unit else "rows"
    return {
        "levels": _levels(plan.levels, plan.hierarchies),
        "loss": plan.loss,
        f"suppressed {counted}": plan.suppressed,
        "suppressed share": plan.suppressed_share,
        f"{counted} read": plan.rows,
        **({} if plan.unit else {"dagster/row_count": plan.rows - plan.suppressed}),
    }


def _levels(levels: Mapping[str, int], hierarchies: Mapping[str, Hierarchy]) -> dg.TableMetadataValue:
    """Return the level of every column, and in words what became of its values: a number alone tells nobody."""
    records = [
        dg.TableRecord(
            {
                "column": column,
                "level": f"{level} of {hierarchies[column].height}",
                "its values became": level_words(hierarchies[column], level),
            }
        )
        for column, level in levels.items()
    ]
    return dg.MetadataValue.table(records)


def _region_metadata(found: PresenceGeneralization) -> dict[str, Any]:
    told = found.to_dict()
    return {
        "regions": found.classes,
        "loss metric": found.loss_metric,
        "discernibility": found.discernibility,
        "least presence": told["minimum"],
        "largest presence": told["maximum"],
        "people of the population": told["population"],
        "rows read": told["rows"],
        "dagster/row_count": told["rows"],
    }
