"""Automation that waits for the gate."""

from typing import Any

import dagster as dg


def when_gate_passed() -> dg.AutomationCondition[Any]:
    """Release when something new came, and only once every blocking check of it has passed.

    Plain `eager()` would start a release whose checks failed, are older than the data or never ran. The release
    would refuse; with this condition it is not even tried.
    """
    return (dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()).with_label(
        "new data, and its privacy gate passed"
    )
