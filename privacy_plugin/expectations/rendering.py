"""What Data Docs show of a privacy expectation: the requirement in words, the finding in words, a table and a chart.

Everything shown comes from the finding's plain data, which holds counts and column names, never a value of the table.
Column names reach the page through template parameters, which GX escapes; table cells and charts hold numbers only.
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
from privacy_plugin.requirements.requirement import ANSWERS, shown
from privacy_plugin.requirements.specification import is_specification

_TABLE_STYLE = {"body": {"classes": ["table-bordered", "table-sm", "mt-3"]}}
_FALLBACK = "--"


def requirement_words(definition: Metric, arguments: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Say what is required, as a template and its parameters.

    For example: k-anonymity over age, zip must be at least 5.
    """
    stated = {name: definition.options[name].default for name in ANSWERS if name in definition.options}
    stated |= {name: value for name, value in arguments.items() if value is not None}
    parameters = {"title": definition.title}
    words = "$title"
    options = [name for name in definition.options if name in stated]
    if options:
        words += " (" + ", ".join(_named(parameters, name, f"{name} {_said(stated[name])}") for name in options) + ")"
    if "sensitive" in stated:
        words += " of " + _named(parameters, "sensitive", _said(stated["sensitive"]))
    for role in ("quasi_identifiers", "attributes"):
        if role in stated:
            words += " over " + _listed(parameters, role, stated[role])
    for kind in KINDS:
        if kind in stated:
            words += f" must be {kind.replace('_', ' ')} " + _named(parameters, kind, _bound(stated[kind]))
    if "unit" in stated:
        words += ", counting distinct " + _named(parameters, "unit", _said(stated["unit"]))
    if "population" in stated:
        named = _named(parameters, "population", _said(stated["population"]))
        words += f", compared with the {definition.second_table} {named}"
    if "row_condition" in stated:  # what it says may be a value, but that it leaves rows out must be known
        words += ", looking only at the rows that meet the suite's condition"
    return words + ".", parameters


def words_block(
    template: str, parameters: Mapping[str, str], *, styling: Mapping[str, Any] | None = None
) -> RenderedStringTemplateContent:
    """Return words with parameters as a block of a page."""
    content = {"template": template, "params": dict(parameters), "styling": dict(styling or {})}
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=content)


def reason_block(finding: Mapping[str, Any]) -> RenderedStringTemplateContent:
    """Say what was found, in the words of the gate."""
    colour = "text-success" if finding.get("passed") is True else "text-danger"
    template = {"template": "$reason", "params": {"reason": finding["reason"]}, "tag": "p"}
    return RenderedStringTemplateContent(
        content_block_type="string_template", string_template={**template, "styling": {"classes": [colour, "mt-2"]}}
    )


def number_tables(finding: Mapping[str, Any]) -> list[RenderedTableContent]:
    """Return what was looked at and the worst classes, in numbers; nothing where nothing could be measured."""
    measurement = finding.get("measurement")
    if not measurement:
        return []
    numbers = [
        ["people", shown(measurement["rows"])],
        ["classes", shown(measurement["classes"])],
        ["people who do not meet the limit", _count(finding.get("people_affected"), passed=finding["passed"])],
        ["value", _value(measurement)],
        ["limit", _limit(finding["limit"])],
    ]
    tables = [_table(["Looked at", "Number"], numbers)]
    worst = Counter((shown(item["value"]), shown(item["people"])) for item in measurement["worst"])
    if worst:  # without their values, classes of equal numbers look the same: they share a line
        tables.append(_table(["Worst classes", "Value", "People"], [_alike(*line) for line in worst.items()]))
    return tables


def observed_block(finding: Mapping[str, Any]) -> RenderedContentBlockContainer | str:
    """Return the measured value with a chart of how it is spread over the people."""
    measurement = finding.get("measurement")
    if not measurement:
        return "not evaluated"
    parameters = {"title": finding["title"], "value": _value(measurement)}
    blocks: list[Any] = [words_block("$title: $value", parameters, styling={"classes": ["mb-2"]})]
    if measurement["histogram"]:
        blocks.append(chart_block(finding))
    return RenderedContentBlockContainer(content_blocks=blocks, content_block_type="content_block_container")


def chart_block(finding: Mapping[str, Any]) -> RenderedGraphContent:
    """Return the histogram as Vega-Lite: a JSON text, because GX writes the graph into a script as it is."""
    bars = [{"value": _tick(bar["from"]), "people": bar["people"]} for bar in finding["measurement"]["histogram"]]
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


def _named(parameters: dict[str, str], name: str, value: str) -> str:
    parameters[name] = value
    return f"${{{name}}}"


def _listed(parameters: dict[str, str], role: str, names: Any) -> str:
    if is_parameter(names):
        return _named(parameters, role, _said(names))
    return ", ".join(_named(parameters, f"{role}_{number}", str(name)) for number, name in enumerate(names))


def _said(value: Any) -> str:
    """Say a field's value; what may list values of a column, hierarchies and marginals, is only said to be given."""
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


def _bound(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list | tuple) else _said(value)


def _limit(limit: Mapping[str, Any]) -> str:
    ((kind, value),) = limit.items()
    return f"{kind.replace('_', ' ')} {_bound(value)}"


def _value(measurement: Mapping[str, Any]) -> str:
    exact, error = measurement["exact_value"], measurement["error"]
    fraction = f" ({exact})" if exact and "/" in exact else ""
    return shown(measurement["value"]) + fraction + (f" ± {error:.2g}" if error else "")


def _count(people: int | None, *, passed: bool) -> str:
    return shown(people) if people is not None else "0" if passed else _FALLBACK


def _alike(numbers: tuple[str, str], classes: int) -> list[str]:
    value, people = numbers
    return ["1 class", value, people] if classes == 1 else [f"{classes} classes", value, f"{people} each"]


def _tick(value: float) -> str:
    return f"{value:.4g}"


def _table(header: list[str], rows: list[list[str]]) -> RenderedTableContent:
    return RenderedTableContent(table=rows, header_row=header, content_block_type="table", styling=_TABLE_STYLE)
