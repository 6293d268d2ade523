"""What the report says about a metric beyond its number; a metric may declare it in a file `about_<metric>.py`."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from privacy_plugin.metrics.registry import find_metric
from privacy_plugin.report.markup import Markup
from privacy_plugin.requirements.requirement import Finding


@dataclass(frozen=True, kw_only=True)
class About:
    """How to speak of a metric in the report.

    `axis` names the value of a class from the measurement's parameters; `shows` and `hides` say what a passed
    requirement means and what it does not; `section` adds whatever else the metric has to show of a finding.
    """

    axis: Callable[[Mapping[str, Any]], str]
    shows: str
    hides: str
    section: Callable[[Finding], Markup | None] | None = None


_DECLARED: dict[str, About] = {}


def report_section(
    metric: str,
    *,
    axis: str | Callable[[Mapping[str, Any]], str],
    shows: str,
    hides: str,
    section: Callable[[Finding], Markup | None] | None = None,
) -> None:
    """Declare what the report says about a metric; `axis` may name parameters, as in "values of {sensitive}"."""
    named = axis.format_map if isinstance(axis, str) else axis
    _DECLARED[metric] = About(axis=named, shows=shows, hides=hides, section=section)


def about(metric: str) -> About:
    """Return what was declared, or what follows from the metric's own declaration."""
    _load()
    if metric in _DECLARED:
        return _DECLARED[metric]
    known = find_metric(metric)
    return About(
        axis=lambda _: known.title,
        shows=f"The table meets the limit on {known.title} as defined by {known.paper}.",
        hides="The definition says nothing of attackers who know more than it assumes.",
    )


@cache
def _load() -> None:
    package = importlib.import_module("privacy_plugin.report")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("about_"):
            importlib.import_module(f"privacy_plugin.report.{module.name}")
