"""The columns a policy allows, as an expectation: what the gate asks before it measures anything."""

from collections.abc import Mapping
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.compatibility.pydantic import StrictStr
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.render.components import LegacyDiagnosticRendererType, LegacyRendererType
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererValueType

from privacy_plugin.errors import PrivacyPluginError, unknown_name
from privacy_plugin.expectations.batches import left_out, read_batch, register_batch_metric
from privacy_plugin.expectations.rendering import reason_block, words_block
from privacy_plugin.gate.verdict import label_problems
from privacy_plugin.requirements.rules import ROLES, Rules, structure_problems
from privacy_plugin.sources import open_source

COLUMNS_METRIC = "privacy_plugin.columns"

_WORDS = "Must have the columns $allowed and no other; none that identifies people."


def _columns(*, execution_engine: Any, metric_domain_kwargs: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """Return the names of the batch's columns and what is wrong beside them, or why they could not be read."""
    try:
        with read_batch(execution_engine, metric_domain_kwargs) as data:
            source = open_source(data)
            beside = list(label_problems(source))
        left = left_out(execution_engine, metric_domain_kwargs)
        return {"columns": list(source.columns), "beside": beside, "left_out": left}
    except PrivacyPluginError as problem:
        return {"problem": str(problem)}
    except Exception as problem:  # noqa: BLE001  a driver's text may quote the data
        return {"problem": f"the batch could not be read: {type(problem).__name__}"}


register_batch_metric(COLUMNS_METRIC, value_keys=(), provider=_columns)


class ExpectTableColumnsToMatchPolicy(BatchExpectation):
    """Expect the table to have every declared column, no undeclared one, and none that identifies people.

    `columns` gives the role of every column, as a policy does. GX's own comparison of column sets does not work on
    every engine and knows no roles.

    >>> ExpectTableColumnsToMatchPolicy(columns={"age": "quasi_identifier", "name": "identifier"}).columns["name"]
    'identifier'
    """

    columns: dict[StrictStr, StrictStr]

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id",)
    success_keys: ClassVar[tuple[str, ...]] = ("columns",)
    args_keys: ClassVar[tuple[str, ...]] = ("columns",)
    metric_dependencies: ClassVar[tuple[str, ...]] = (COLUMNS_METRIC,)

    @pydantic.validator("columns")
    def _known_roles(cls, columns: dict[str, str]) -> dict[str, str]:  # noqa: N805
        if not columns:
            raise ValueError("columns is empty; give the role of every column")
        for name, role in columns.items():
            if role not in ROLES:
                raise ValueError(f"column {name!r}: {unknown_name('role', role, ROLES)}")
        return columns

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        found = metrics[COLUMNS_METRIC]
        if "problem" in found:
            reason = f"the columns could not be read: {found['problem']}"
            details = {"status": "not_evaluated", "passed": False, "reason": reason}
            error = {"raised_exception": True, "exception_message": reason, "exception_traceback": ""}
            return {"success": False, "result": {"observed_value": None, "details": details}, "exception_info": error}
        rules = Rules(dataset="", roles=self.columns, requirements=(), digest="")
        problems = (*structure_problems(rules, found["columns"]), *found["beside"])
        details = {
            "status": "failed" if problems else "passed",
            "passed": not problems,
            "problems": list(problems),
            "reason": ("; ".join(problems) or "The columns are those the policy declares.") + found["left_out"],
        }
        recognized = any(name in self.columns for name in found["columns"])  # if not, names may be a first row's values
        observed = found["columns"] if recognized else None
        return {"success": not problems, "result": {"observed_value": observed, "details": details}}

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: Any) -> Any:
        allowed = _allowed(renderer_configuration.kwargs)
        renderer_configuration.add_param(name="allowed", param_type=RendererValueType.STRING, value=allowed)
        renderer_configuration.template_str = _WORDS
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[Any]:
        arguments = configuration.kwargs if configuration is not None else {}
        styling = (runtime_configuration or {}).get("styling")
        return [words_block(_WORDS, {"allowed": _allowed(arguments)}, styling=styling)]

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
        return words_block("$columns", {"columns": ", ".join(columns)}) if columns else "--"


def _allowed(arguments: Mapping[str, Any]) -> str:
    return ", ".join(sorted(name for name, role in arguments.get("columns", {}).items() if role != "identifier"))
