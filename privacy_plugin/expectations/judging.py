"""The metric behind every privacy expectation: judge one requirement where the batch lies, and return plain data."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.expectations.batches import left_out
from privacy_plugin.expectations.engines import read_batch, register_batch_metric
from privacy_plugin.expectations.population import find_population
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.metrics.registry import Metric
from privacy_plugin.requirements.limits import KINDS
from privacy_plugin.requirements.requirement import Finding, Requirement, require
from privacy_plugin.sources import open_source
from privacy_plugin.sources.joining import snapshots

# The arguments of an expectation that belong neither to the limit nor to the metric's options.
_SURROUNDINGS = ("unit", "population")


def metric_name(definition: Metric) -> str:
    """Return the name under which GX knows a metric of ours."""
    return f"privacy_plugin.{definition.name}"


def requirement_of(definition: Metric, arguments: Mapping[str, Any]) -> Requirement:
    """Build the requirement that an expectation's arguments state, refusing whatever `pp.require` refuses."""
    defaults = {name: option.default for name, option in definition.options.items()}
    stated = {name: value for name, value in arguments.items() if value is not None}
    chosen = {
        name: value
        for name, value in stated.items()
        if name not in (*definition.roles, *_SURROUNDINGS) and not (name in defaults and value == defaults[name])
    }
    return require(definition.name, sensitive=stated.get("sensitive"), **chosen)


def limits_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits among an expectation's arguments."""
    return {name: value for name, value in arguments.items() if name in KINDS and value is not None}


def register_judgement(definition: Metric, *, value_keys: tuple[str, ...]) -> None:
    """Make a metric of the registry known to GX, on every engine."""
    register_batch_metric(metric_name(definition), value_keys=value_keys, provider=_judgement(definition))


def _judgement(definition: Metric) -> Callable[..., dict[str, Any]]:
    def judge(
        *,
        execution_engine: Any,
        metric_domain_kwargs: Mapping[str, Any],
        metric_value_kwargs: Mapping[str, Any],
        **_: Any,
    ) -> dict[str, Any]:
        requirement = requirement_of(definition, metric_value_kwargs)
        finding = _judged(requirement, execution_engine, metric_domain_kwargs, metric_value_kwargs)
        return finding.to_dict()

    return judge


def _judged(requirement: Requirement, engine: Any, domain: Mapping[str, Any], arguments: Mapping[str, Any]) -> Finding:
    """Judge inside the engine; GX would record the text of an exception, which may quote the data."""
    roles = {name: arguments.get(name) for name in requirement.definition.roles}
    try:
        second = find_population(engine, arguments.get("population"))
        compared = None if second is None else open_source(second)
        with read_batch(engine, domain) as data, snapshots(open_source(data), compared) as (source, others):
            tables = Tables(source)
            tables.count_rows()
            population = None if others is None else Tables(others)
            found = requirement.judge(tables, unit=arguments.get("unit"), population=population, **roles)
        return replace(found, reason=found.reason + left_out(engine, domain))
    except PrivacyPluginError as problem:
        reason = str(problem)
    except Exception as problem:  # noqa: BLE001  a gate that errs is shut
        reason = f"the batch could not be read: {type(problem).__name__}"
    return Finding(requirement=requirement, status="not_evaluated", reason=f"{requirement}: not evaluated: {reason}")
