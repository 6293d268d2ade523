"""JSON Schemas: of the policy file, made from the declarations of metrics and methods, and of a printed verdict."""

import inspect
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from privacy_plugin.anonymizers.registry import ANONYMIZERS, DEFAULT
from privacy_plugin.frequency.people_table import COUNTS
from privacy_plugin.frequency.treatment import Treatment
from privacy_plugin.generalization.losses import LOSSES
from privacy_plugin.metrics.registry import ROLES as COLUMN_ROLES
from privacy_plugin.metrics.registry import Metric, metrics
from privacy_plugin.policy.packs import pack_names
from privacy_plugin.policy.presets import preset_names
from privacy_plugin.requirements.limits import fitting_kinds
from privacy_plugin.requirements.rules import ROLES
from privacy_plugin.requirements.specification import RULES

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_NUMBER: Schema = {"type": ["number", "string"], "description": 'A number, or a fraction as text: "1/11".'}
_TEXT: Schema = {"type": "string", "minLength": 1}
_HIERARCHY: Schema = {
    "description": "A file of lines value;level 1;level 2;..., or one rule with its parameters.",
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "properties": {rule: {} for rule in RULES},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        },
    ],
}


def policy_schema() -> Schema:
    """Return the JSON Schema of a policy: an editor completes keys, metrics and options by it.

    A policy that it accepts can still be refused when it is loaded: the schema knows one line at a time.
    """
    return {
        "$schema": DIALECT,
        "title": "privacy_plugin policy",
        "type": "object",
        "required": ["dataset", "columns"],
        "anyOf": [{"required": ["requirements"]}, {"required": ["packs"]}],
        "additionalProperties": False,
        "properties": _top_level(),
    }


def verdict_schema() -> Schema:
    """Return the JSON Schema of what `check --json` prints: the verdict, or the error that prevented it."""
    text, texts, flag = {"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "boolean"}
    maybe_text, maybe_number = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
    fingerprint: Schema = {"type": ["object", "null"]}
    finding = {
        **dict.fromkeys(("requirement", "metric", "title", "reason"), text),
        "kind": {"enum": ["privacy", "audit", "utility"]},
        "limit": {"type": "object"},
        "status": {"enum": ["passed", "failed", "not_evaluated"]},
        "passed": flag,
        "value": {"type": ["number", "string", "null"]},
        "people_affected": maybe_number,
        "origin": maybe_text,
        "measurement": {"type": ["object", "null"]},
    }
    clause = dict.fromkeys(("pack", "clause", "says", "kind", "source", "status", "reason"), text)
    verdict = {
        "version": {"const": 1},
        "dataset": text,
        **dict.fromkeys(("partition", "valid_until", "certificate"), maybe_text),
        **dict.fromkeys(("passed", "evaluated"), flag),
        "policy_digest": text,
        "rows": maybe_number,
        "judged_at": text,
        **dict.fromkeys(("fingerprint", "people_fingerprint", "population_fingerprint"), fingerprint),
        "tables": {"type": "object", "additionalProperties": fingerprint},
        **dict.fromkeys(("problems", "notes"), texts),
        "findings": {"type": "array", "items": _exactly(finding)},
        "clauses": {"type": "array", "items": _exactly(clause)},
    }
    error = {"version": {"const": 1}, "passed": {"const": False}, "error": _exactly({"kind": text, "message": text})}
    return {"$schema": DIALECT, "title": "privacy_plugin verdict", "anyOf": [_exactly(verdict), _exactly(error)]}


def _exactly(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": sorted(properties),
        "additionalProperties": False,
    }


def _top_level() -> dict[str, Schema]:
    return {
        "version": {"const": 1},
        "dataset": {**_TEXT, "description": "The name of what is released again and again."},
        "columns": {
            "type": "object",
            "minProperties": 1,
            "description": "Every column of the table, with its role.",
            "additionalProperties": {"anyOf": [_role(), _column()]},
        },
        "requirements": {"type": "array", "items": {"anyOf": [_preset(), *map(_requirement, _sorted_metrics())]}},
        "population": {**_TEXT, "description": "The table or file of the population that requirements compare with."},
        "anonymize": _anonymize(),
        "packs": {"type": "array", "items": {"enum": list(pack_names())}},
        "declarations": {"type": "object", "additionalProperties": _TEXT},
        "valid_for": {"type": "string", "pattern": "^[0-9]{1,5} (hour|day|week)s?$"},
        "count": {"enum": list(COUNTS)},
        "rows_a_person": {"type": "integer", "minimum": 1},
        "people": {"type": "object", "description": "How the rows of a person become one row."},
    }


def _role() -> Schema:
    return {"enum": list(ROLES)}


def _column() -> Schema:
    treatments = ", ".join(inspect.signature(Treatment).parameters)
    return {
        "type": "object",
        "required": ["role"],
        "additionalProperties": False,
        "properties": {
            "role": _role(),
            "hierarchy": _HIERARCHY,
            "weight": {"type": "number", "exclusiveMinimum": 0},
            "keep": {
                "type": "object",
                "properties": {"at_most_level": {"type": "integer", "minimum": 0}},
                "required": ["at_most_level"],
                "additionalProperties": False,
            },
            "treatment": {"type": "object", "description": f"One or more of {treatments}."},
            "why": {"description": "The reason for the role, for the next reader."},
        },
    }


def _preset() -> Schema:
    return _one_key("preset", {"enum": list(preset_names())}, "Requirements of a guideline, by name.")


def _sorted_metrics() -> list[Metric]:
    return [metric for _, metric in sorted(metrics().items())]


def _requirement(metric: Metric) -> Schema:
    kinds = fitting_kinds(metric)
    pair: Schema = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
    named = {name: {"type": "array", "items": _TEXT} for name in ("attributes",) if name in metric.roles}
    named |= {name: _TEXT for name in ("sensitive",) if name in metric.roles}
    assert set(metric.roles) <= set(COLUMN_ROLES)
    required = [n for n, option in metric.options.items() if option.default is inspect.Parameter.empty]
    content: Schema = {
        "type": "object",
        "properties": {
            **{kind: pair if kind == "between" else _NUMBER for kind in kinds},
            **{name: _option(name, option) for name, option in metric.options.items()},
            **named,
        },
        "additionalProperties": False,
        "required": required,
    }
    if metric.implied is None:
        content["oneOf"] = [{"required": [kind]} for kind in kinds]
    else:
        content["type"] = ["object", "null"]
    return _one_key(metric.name, content, f"{metric.title}. {metric.shows}".strip())


def _anonymize() -> Schema:
    methods = []
    for name, method in ANONYMIZERS.items():
        wanted: Schema = {"const": name}
        options = {option: _option(option, value) for option, value in method.policy_options().items()}
        methods.append(
            {
                "type": "object",
                "description": (inspect.getdoc(method) or "").partition("\n")[0],
                "properties": {"method": wanted, **options},
                "additionalProperties": False,
                "required": [] if name == DEFAULT else ["method"],
            }
        )
    return {"description": f"How the table is made more private; the default method is {DEFAULT}.", "anyOf": methods}


def _option(name: str, option: inspect.Parameter) -> Schema:
    """Return what is known of an option: its values if they are few, its kind if it is a flag."""
    if name == "loss":
        return {"enum": sorted(LOSSES)}
    choices = _choices(option.annotation)
    if choices and _is_only_choice(option.annotation):
        return {"enum": choices}
    if isinstance(option.default, bool) and option.annotation is bool:
        return {"type": "boolean"}
    return {}


def _choices(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _is_only_choice(annotation: Any) -> bool:
    return get_origin(annotation) is Literal or all(
        get_origin(part) is Literal or part is type(None) for part in get_args(annotation)
    )


def _one_key(name: str, content: Mapping[str, Any], description: str) -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": {name: dict(content)},
        "required": [name],
        "additionalProperties": False,
    }
