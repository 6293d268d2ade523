"""A second opinion: the policy as a Great Expectations checkpoint; it may object, it never certifies."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import dagster as dg

from privacy_plugin.orchestration.check_names import GREAT_EXPECTATIONS
from privacy_plugin.policy.policy import Policy


def second_opinion(
    asset: dg.AssetKey,
    policy: Policy,
    read: Callable[[], Any],
    *,
    population_table: str | None,
    asking: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> dg.AssetCheckResult:
    """Run the policy as a checkpoint on the table `read` names; whatever goes wrong is an objection.

    Importing Great Expectations costs seconds and hundreds of megabytes, so it happens here, in the step that
    asked for it. `asking` opens the ledger that an expectation asks.
    """
    try:
        from privacy_plugin.expectations.checkpoint import validate

        population = {"table": population_table} if population_table else None
        with asking():
            outcome = validate(policy, read(), population=population)
        reasons = "; ".join(outcome.reasons)
        declared, evaluated, passed = outcome.declared, outcome.evaluated, outcome.success
    except Exception as problem:  # noqa: BLE001  its text may quote the data
        declared, evaluated, passed = len(policy.requirements), 0, False
        reasons = f"it could not run: {type(problem).__name__}"
    agreed = f"The Great Expectations checkpoint evaluated all {declared} expectations, and all were met."
    objected = (
        f"The Great Expectations checkpoint objects ({evaluated} of {declared} expectations evaluated): {reasons}"
    )
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=GREAT_EXPECTATIONS,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=agreed if passed else objected,
        metadata={"expectations declared": declared, "expectations evaluated": evaluated},
    )
