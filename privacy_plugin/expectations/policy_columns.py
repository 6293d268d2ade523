"""The columns of a policy as an expectation: what the gate checks before it measures anything."""

from collections.abc import Mapping
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.compatibility.pydantic import StrictStr
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.render.components import LegacyDiagnosticRendererType, LegacyRendererType
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererValueType

from privacy_plugin.errors import PrivacyPluginError, unknown_name
from privacy_plugin.expectations.batches import describe_scope, read_batch, register_batch_metric
from privacy_plugin.expectations.rendering import reason_block, text_block
from privacy_plugin.gate.verdict import label_problems
from privacy_plugin.requirements.rules import ROLES, Rules, structure_problems
from privacy_plugin.sources import open_source

COLUMNS_METRIC = "privacy_plugin.columns"

_TEMPLATE = "Must have exactly the columns $allowed, and no identifier column."


def _read_columns(*, execution_engine: Any, metric_domain_kwargs: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """Return the column names of a batch and the problems of its index, or why they could not be read."""
    try:
        with read_batch(execution_engine, metric_domain_kwargs) as data:
            source = open_source(data)
            index_problems = list(label_problems(source))
        scope = describe_scope(execution_engine, metric_domain_kwargs)
        return {"columns": list(source.columns), "index_problems": index_problems, "scope": scope}
    except PrivacyPluginError as problem:
        return {"problem": str(problem)}
    except Exception as problem:  # noqa: BLE001  a driver's message may quote the data
        return {"problem": f"cannot read the batch: {type(problem).__name__}"}


register_batch_metric(COLUMNS_METRIC, value_keys=(), provider=_read_columns)


class ExpectTableColumnsToMatchPolicy(BatchExpectation):
    """Expect the table to have every declared column, no undeclared column, and no identifier column.

    `columns` gives the role of every column, as a policy does. GX's own comparison of column sets ignores roles and
    does not work on every engine.

    >>> ExpectTableColumnsToMatchPolicy(columns={"age": "quasi_identifier", "name": "identifier"}).columns["name"]
    'identifier'
    """

    columns: dict[StrictStr, StrictStr]

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id",)
    success_keys: ClassVar[tuple[str, ...]] = ("columns",)
    args_keys: ClassVar[tuple[str, ...]] = ("columns",)
    metric_dependencies: ClassVar[tuple[str, ...]] = (COLUMNS_METRIC,)

    @pydantic.validator("columns")
    def _require_roles(cls, columns: dict[str, str]) -> dict[str, str]:  # noqa: N805
        if not columns:
            raise ValueError("columns is empty; give every column a role")
        for name, role in columns.items():
            if role not in ROLES:
                raise ValueError(f"column {name!r}: {unknown_name('role', role, ROLES)}")
        return columns

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        found = metrics[COLUMNS_METRIC]
        if "problem" in found:
            reason = f"cannot read the columns: {found['problem']}"
            details = {"status": "not_evaluated", "passed": False, "reason": reason}
            error = {"raised_exception": True, "exception_message": reason, "exception_traceback": ""}
            return {"success": False, "result": {"observed_value": None, "details": details}, "exception_info": error}
        rules = Rules(dataset="", roles=self.columns, requirements=(), digest="")
        problems = (*structure_problems(rules, found["columns"]), *found["index_problems"])
        details = {
            "status": "failed" if problems else "passed",
            "passed": not problems,
            "problems": list(problems),
            "reason": ("; ".join(problems) or "The columns are those of the policy.") + found["scope"],
        }
        recognized = any(name in self.columns for name in found["columns"])  # else the names may be values of a row
        observed = found["columns"] if recognized else None
        return {"success": not problems, "result": {"observed_value": observed, "details": details}}

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: Any) -> Any:
        allowed = _allowed_columns(renderer_configuration.kwargs)
        renderer_configuration.add_param(name="allowed", param_type=RendererValueType.STRING, value=allowed)
        renderer_configuration.template_str = _TEMPLATE
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[Any]:
        arguments = configuration.kwargs if configuration is not None else {}
        styling = (runtime_configuration or {}).get("styling")
        return [text_block(_TEMPLATE, {"allowed": _allowed_columns(arguments)}, styling=styling)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any]:
        details = (result.result or {}).get("details") if result is not None else None
        return [reason_block(details)] if details else []

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> Any:
        columns = (result.result or {}).get("observed_value") if result is not None else None
        return text_block("$columns", {"columns": ", ".join(columns)}) if columns else "--"


def _allowed_columns(arguments: Mapping[str, Any]) -> str:
    return ", ".join(sorted(name for name, role in arguments.get("columns", {}).items() if role != "identifier"))
