"""Data Docs of a privacy expectation: the requirement, the reason of the finding, a table and a chart.

Everything comes from the finding's plain data, which contains counts and column names, never a value of the table.
Column names reach the page through template parameters, which GX escapes; table cells and charts contain only numbers.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from great_expectations.render.components import (
    RenderedContentBlockContainer,
    RenderedGraphContent,
    RenderedStringTemplateContent,
    RenderedTableContent,
)

from privacy_plugin.expectations.fields import PARAMETER, is_parameter
from privacy_plugin.metrics.registry import Metric
from privacy_plugin.requirements.limits import KINDS
from privacy_plugin.requirements.requirement import SELECTORS, format_value
from privacy_plugin.requirements.specification import is_specification

_TABLE_STYLE = {"body": {"classes": ["table-bordered", "table-sm", "mt-3"]}}
_FALLBACK = "--"


def describe_requirement(definition: Metric, arguments: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return a sentence about the requirement as a template and its parameters.

    For example: k-anonymity over age, zip must be at least 5.
    """
    given = {name: definition.options[name].default for name in SELECTORS if name in definition.options}
    given |= {name: value for name, value in arguments.items() if value is not None}
    parameters = {"title": definition.title}
    sentence = "$title"
    options = [name for name in definition.options if name in given]
    if options:
        stated = (_add_parameter(parameters, name, f"{name} {_format_field(given[name])}") for name in options)
        sentence += f" ({', '.join(stated)})"
    if "sensitive" in given:
        sentence += " of " + _add_parameter(parameters, "sensitive", _format_field(given["sensitive"]))
    for role in ("quasi_identifiers", "attributes"):
        if role in given:
            sentence += " over " + _add_list(parameters, role, given[role])
    for kind in KINDS:
        if kind in given:
            bound = _add_parameter(parameters, kind, _format_bound(given[kind]))
            sentence += f" must be {kind.replace('_', ' ')} {bound}"
    if "unit" in given:
        sentence += ", counting distinct " + _add_parameter(parameters, "unit", _format_field(given["unit"]))
    if "count" in given:
        sentence += " by " + _add_parameter(parameters, "count", _format_field(given["count"]))
    if "population" in given:
        named = _add_parameter(parameters, "population", _format_field(given["population"]))
        sentence += f", compared with the {definition.second_table} {named}"
    if "row_condition" in given:  # its text may contain values, so that only its existence is shown
        sentence += ", for the rows that meet the row condition"
    return sentence + ".", parameters


def text_block(
    template: str, parameters: Mapping[str, str], *, styling: Mapping[str, Any] | None = None
) -> RenderedStringTemplateContent:
    """Return a template with its parameters as a content block."""
    content = {"template": template, "params": dict(parameters), "styling": dict(styling or {})}
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=content)


def reason_block(finding: Mapping[str, Any]) -> RenderedStringTemplateContent:
    """Return the reason of the finding as a content block."""
    colour = "text-success" if finding.get("passed") is True else "text-danger"
    template = {"template": "$reason", "params": {"reason": finding["reason"]}, "tag": "p"}
    return RenderedStringTemplateContent(
        content_block_type="string_template", string_template={**template, "styling": {"classes": [colour, "mt-2"]}}
    )


def number_tables(finding: Mapping[str, Any]) -> list[RenderedTableContent]:
    """Return tables of the measurement and of the worst classes; empty if the requirement was not evaluated."""
    measurement = finding.get("measurement")
    if not measurement:
        return []
    numbers = [
        ["people", format_value(measurement["rows"])],
        ["classes", format_value(measurement["classes"])],
        ["people who do not meet the limit", _format_count(finding.get("people_affected"), passed=finding["passed"])],
        ["value", _format_measured(measurement)],
        ["limit", _format_limit(finding["limit"])],
    ]
    tables = [_table(["Measured", "Number"], numbers)]
    worst = Counter((format_value(item["value"]), format_value(item["people"])) for item in measurement["worst"])
    if worst:  # classes with equal numbers share a row, because their values are not shown
        tables.append(_table(["Worst classes", "Value", "People"], [_worst_row(*line) for line in worst.items()]))
    return tables


def observed_block(finding: Mapping[str, Any]) -> RenderedContentBlockContainer | str:
    """Return the measured value with a histogram over the people."""
    measurement = finding.get("measurement")
    if not measurement:
        return "not evaluated"
    parameters = {"title": finding["title"], "value": _format_measured(measurement)}
    blocks: list[Any] = [text_block("$title: $value", parameters, styling={"classes": ["mb-2"]})]
    if measurement["histogram"]:
        blocks.append(chart_block(finding))
    return RenderedContentBlockContainer(content_blocks=blocks, content_block_type="content_block_container")


def chart_block(finding: Mapping[str, Any]) -> RenderedGraphContent:
    """Return the histogram as Vega-Lite JSON text, because GX writes the graph into a script unchanged."""
    bars = [
        {"value": _format_tick(bar["from"]), "people": bar["people"]} for bar in finding["measurement"]["histogram"]
    ]
    axis = {"field": "value", "type": "ordinal", "sort": None, "title": finding["title"]}
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": f"people by their {finding['title']}",
        "width": 260,
        "height": 120,
        "data": {"values": bars},
        "mark": "bar",
        "encoding": {"x": axis, "y": {"field": "people", "type": "quantitative", "title": "people"}},
    }
    return RenderedGraphContent(graph=json.dumps(chart).replace("<", "\\u003c"), content_block_type="graph")


def _add_parameter(parameters: dict[str, str], name: str, value: str) -> str:
    parameters[name] = value
    return f"${{{name}}}"


def _add_list(parameters: dict[str, str], role: str, names: Any) -> str:
    if is_parameter(names):
        return _add_parameter(parameters, role, _format_field(names))
    return ", ".join(_add_parameter(parameters, f"{role}_{number}", str(name)) for number, name in enumerate(names))


def _format_field(value: Any) -> str:
    """Format the value of a field; hierarchies and marginals, which contain values, are only named as given."""
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple) for item in value):
        return "given"
    if is_parameter(value):
        return f"given at run time as {value[PARAMETER]}"
    if isinstance(value, Mapping):
        is_place = set(value) <= {"table", "file", "data_source", "asset"} and all(
            isinstance(v, str) for v in value.values()
        )
        if is_place:
            return " ".join(map(str, value.values()))
        return "by a hierarchy" if is_specification(value) else "given"
    return str(value)


def _format_bound(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list | tuple) else _format_field(value)


def _format_limit(limit: Mapping[str, Any]) -> str:
    ((kind, value),) = limit.items()
    return f"{kind.replace('_', ' ')} {_format_bound(value)}"


def _format_measured(measurement: Mapping[str, Any]) -> str:
    exact, error = measurement["exact_value"], measurement["error"]
    fraction = f" ({exact})" if exact and "/" in exact else ""
    return format_value(measurement["value"]) + fraction + (f" ± {error:.2g}" if error else "")


def _format_count(people: int | None, *, passed: bool) -> str:
    return format_value(people) if people is not None else "0" if passed else _FALLBACK


def _worst_row(numbers: tuple[str, str], classes: int) -> list[str]:
    value, people = numbers
    return ["1 class", value, people] if classes == 1 else [f"{classes} classes", value, f"{people} each"]


def _format_tick(value: float) -> str:
    return f"{value:.4g}"


def _table(header: list[str], rows: list[list[str]]) -> RenderedTableContent:
    return RenderedTableContent(table=rows, header_row=header, content_block_type="table", styling=_TABLE_STYLE)
