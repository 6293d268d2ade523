"""The base of all privacy expectations: fields and GX metric follow from the metric's declaration."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation, render_suite_parameter_string
from great_expectations.expectations.model_field_types import ConditionParser
from great_expectations.expectations.row_conditions import RowConditionType
from great_expectations.render.components import LegacyDiagnosticRendererType, LegacyRendererType
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererValueType

from privacy_plugin.errors import ParameterError, PrivacyPluginError, require_column, require_columns, unknown_name
from privacy_plugin.expectations.batches import (
    describe_scope,
    find_population,
    parse_population,
    read_batch,
    register_batch_metric,
)
from privacy_plugin.expectations.fields import describe_field, is_parameter, require_parameter_shape
from privacy_plugin.expectations.rendering import (
    describe_requirement,
    number_tables,
    observed_block,
    reason_block,
    text_block,
)
from privacy_plugin.measuring.measure import Tables, role_columns
from privacy_plugin.metrics.registry import SECOND_TABLES, Metric, find_metric
from privacy_plugin.requirements.limits import KINDS, Limit
from privacy_plugin.requirements.requirement import Finding, Requirement, require
from privacy_plugin.requirements.specification import is_specification
from privacy_plugin.sources import open_source
from privacy_plugin.sources.population_join import open_snapshots

# Arguments of an expectation that are neither a limit nor an option of the metric.
_INPUTS = ("unit", "count", "population")


def metric_name(definition: Metric) -> str:
    """Return the name of a metric in GX."""
    return f"privacy_plugin.{definition.name}"


def build_requirement(definition: Metric, arguments: Mapping[str, Any]) -> Requirement:
    """Build the requirement of an expectation's arguments; raise as `pp.require` does."""
    defaults = {name: option.default for name, option in definition.options.items()}
    given = {name: value for name, value in arguments.items() if value is not None}
    chosen = {
        name: value
        for name, value in given.items()
        if name not in (*definition.roles, *_INPUTS) and not (name in defaults and value == defaults[name])
    }
    return require(definition.name, sensitive=given.get("sensitive"), **chosen)


def select_limits(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits among an expectation's arguments."""
    return {name: value for name, value in arguments.items() if name in KINDS and value is not None}


def register_metric_provider(definition: Metric, *, value_keys: tuple[str, ...]) -> None:
    """Register a metric with GX, on every engine."""
    register_batch_metric(metric_name(definition), value_keys=value_keys, provider=_build_provider(definition))


def _build_provider(definition: Metric) -> Callable[..., dict[str, Any]]:
    def judge(
        *,
        execution_engine: Any,
        metric_domain_kwargs: Mapping[str, Any],
        metric_value_kwargs: Mapping[str, Any],
        **_: Any,
    ) -> dict[str, Any]:
        requirement = build_requirement(definition, metric_value_kwargs)
        finding = _judge_batch(requirement, execution_engine, metric_domain_kwargs, metric_value_kwargs)
        return finding.to_dict()

    return judge


def _judge_batch(
    requirement: Requirement, engine: Any, domain: Mapping[str, Any], arguments: Mapping[str, Any]
) -> Finding:
    """Judge where the batch is stored; errors become findings, because GX records messages, which may quote data."""
    roles = {name: arguments.get(name) for name in requirement.definition.roles}
    try:
        second = find_population(engine, arguments.get("population"))
        compared = None if second is None else open_source(second)
        with read_batch(engine, domain) as data, open_snapshots(open_source(data), compared) as (source, others):
            tables = Tables(source)
            tables.count_rows()
            population = None if others is None else Tables(others)
            found = requirement.judge(
                tables, unit=arguments.get("unit"), count=arguments.get("count"), population=population, **roles
            )
        return replace(found, reason=found.reason + describe_scope(engine, domain))
    except PrivacyPluginError as problem:
        reason = str(problem)
    except Exception as problem:  # noqa: BLE001  an error closes the gate
        reason = f"cannot read the batch: {type(problem).__name__}"
    return Finding(requirement=requirement, status="not_evaluated", reason=f"{requirement}: not evaluated: {reason}")


WITHHELD = "withheld"


class PrivacyExpectation(BatchExpectation):
    """A requirement as an expectation.

    A subclass names its `metric` and declares the fields: the metric's roles and options, `unit` and `count` where
    it counts people, `population` where it compares with one, and the limits that fit (`at_least` and `above` where
    higher is safer, `at_most` and `below` where lower is, or `between`), of which exactly one must be given. Values are
    never converted: 2.7 and "5" are rejected as numbers of people. Any field may be {"$PARAMETER": "name"}; the value
    at run time is checked by the same rules.
    """

    metric: ClassVar[str] = ""
    library_metadata: ClassVar[dict[str, Any]] = {}

    row_condition: RowConditionType = None
    condition_parser: ConditionParser | None = None

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition", "condition_parser")

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Derive keys and the GX metric from the fields and the metric's declaration."""
        super().__init_subclass__(**arguments)
        if cls.metric:
            cls.success_keys = tuple(name for name in cls.__fields__ if name not in PrivacyExpectation.__fields__)
            cls.args_keys = cls.success_keys
            definition = cls.definition()
            cls.library_metadata = {
                "maturity": "production",
                "tags": ["privacy_plugin", definition.kind, definition.name],
                "contributors": ["privacy_plugin"],
                "requirements": ["privacy-plugin"],
                "has_full_test_suite": True,
                "manually_reviewed_code": True,
            }
            for name in cls.success_keys:
                field = cls.__fields__[name].field_info
                field.description = field.description or describe_field(name)
            cls.metric_dependencies = (metric_name(cls.definition()),)
            register_metric_provider(cls.definition(), value_keys=cls.success_keys)

    @classmethod
    def is_abstract(cls) -> bool:
        """Keep this base class, which has no metric, out of GX's registry."""
        return not cls.metric

    @classmethod
    def definition(cls) -> Metric:
        """Return the metric's declaration."""
        return find_metric(cls.metric)

    @pydantic.root_validator(pre=True)
    def _validate_strictly(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        """Check raw values by the rules of requirements, before pydantic converts them."""
        try:
            return cls._check_fields(values)
        except PrivacyPluginError as problem:
            raise ValueError(str(problem)) from None

    @classmethod
    def _check_fields(cls, values: dict[str, Any]) -> dict[str, Any]:
        definition = cls.definition()
        for name in values:
            if name not in (*cls.__fields__, *KINDS, "unit", "count"):  # limits and units have their own messages below
                raise ParameterError(unknown_name(f"field of {cls.__name__}", name, cls.success_keys))
        given = {name: values[name] for name in cls.success_keys if values.get(name) is not None}
        deferred = {name: value for name, value in given.items() if is_parameter(value)}
        for name, value in deferred.items():
            require_parameter_shape(name, value)
        _require_roles(definition, given, deferred)
        if values.get("unit") is not None and not definition.counts_people:
            raise ParameterError(f"{definition.name} is defined for one row per person; remove unit")
        if definition.needs_population and "population" not in given:
            second = SECOND_TABLES[str(definition.second_table)]
            raise ParameterError(f"{definition.name} needs population: {second}")
        if "population" in given and "population" not in deferred:
            parse_population(given["population"])
        return {**values, **_check_limits(definition, {**given, **select_limits(values)}, deferred)}

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        """Return success if the finding passed; a finding that was not evaluated is an exception for GX."""
        finding = self._reject_none_parameters(metrics[metric_name(self.definition())])
        response = {
            "success": finding["status"] == "passed" and finding["passed"] is True,
            "result": {
                "observed_value": finding["value"],
                "details": finding,
                **self._explanations(runtime_configuration),
            },
        }
        if finding["status"] == "not_evaluated":
            response["exception_info"] = {
                "raised_exception": True,
                "exception_message": finding["reason"],
                "exception_traceback": "",
            }
        return response

    def _explanations(self, runtime_configuration: dict[str, Any] | None) -> dict[str, Any]:
        """Return what SUMMARY and COMPLETE say beyond BASIC: sentences of the declaration, no values of the table."""
        asked = self._get_result_format(runtime_configuration)
        form = str(asked.get("result_format", "BASIC") if isinstance(asked, dict) else asked)
        definition = self.definition()
        summary = {"shows": definition.shows, "hides": definition.hides}
        complete = {"attacker": definition.attacker, "remedy": definition.remedy, "paper": definition.paper}
        said = {"SUMMARY": summary, "COMPLETE": {**summary, **complete}}.get(form.rpartition(".")[2].upper())
        return {} if said is None else {"explanation": said}

    def _reject_none_parameters(self, finding: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a finding that is not evaluated if a runtime parameter is None.

        Without its unit, for example, rows would be counted and not people. Fields that were never set are ignored.
        """
        empty = [name for name in self.success_keys if name in self.__fields_set__ and getattr(self, name) is None]
        if not empty:
            return finding
        problem = f"the runtime parameter of {', '.join(empty)} is None; give a value"
        reason = f"{finding['requirement']}: not evaluated: {problem}"
        measured = dict.fromkeys(("value", "people_affected", "measurement"))
        return {**finding, **measured, "status": "not_evaluated", "passed": False, "reason": reason}

    def _build_evr(self, raw_response: Any, **arguments: Any) -> Any:
        """Remove hierarchies, marginals and row conditions from stored results: they contain values of the columns."""
        result: Any = super()._build_evr(raw_response, **arguments)
        kwargs = result.expectation_config.kwargs
        secret = {name: value for name, value in kwargs.items() if _contains_values(name, value)}
        kwargs.update({name: withhold(value) for name, value in secret.items()})
        if kwargs.get("row_condition") is not None:  # a form that GX can load but no engine can run
            digest = f"{WITHHELD} {withhold(kwargs['row_condition'])[WITHHELD]}"
            kwargs["row_condition"] = {"type": "pass_through", "pass_through_filter": digest}
        return result

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: Any) -> Any:
        template, parameters = describe_requirement(cls.definition(), renderer_configuration.kwargs)
        for name, value in parameters.items():
            renderer_configuration.add_param(name=name, param_type=RendererValueType.STRING, value=value)
        renderer_configuration.template_str = template
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    @render_suite_parameter_string
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[Any]:
        arguments = configuration.kwargs if configuration is not None else {}
        template, parameters = describe_requirement(cls.definition(), arguments)
        return [text_block(template, parameters, styling=(runtime_configuration or {}).get("styling"))]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any]:
        finding = extract_finding(result)
        if finding is None:
            inherited = super()._diagnostic_unexpected_statement_renderer
            return list(inherited(result=result)) if result is not None else []
        return [reason_block(finding)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any] | None:
        finding = extract_finding(result)
        return number_tables(finding) if finding else None

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> Any:
        finding = extract_finding(result)
        return observed_block(finding) if finding else "--"


def extract_finding(result: Any) -> Mapping[str, Any] | None:
    """Return the finding in a GX result; None with the format BOOLEAN_ONLY or if GX itself failed."""
    details = (result.result or {}).get("details") if result is not None else None
    return details if isinstance(details, Mapping) and "reason" in details else None


def _contains_values(name: str, value: Any) -> bool:
    if name in ("hierarchies", "marginals", "likelihood", "danger", "weights", "bins", "generalized"):
        return isinstance(value, Mapping) and not is_parameter(value) and WITHHELD not in value
    if name == "joint":
        return value is not None and not is_parameter(value) and not (isinstance(value, Mapping) and WITHHELD in value)
    return name != "population" and is_specification(value)


def withhold(specification: Any) -> dict[str, str]:
    """Return the digest of a hierarchy or condition in its place: it distinguishes two without showing values."""
    text = json.dumps(specification, sort_keys=True, default=str)
    return {WITHHELD: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"}


def _require_roles(definition: Metric, given: Mapping[str, Any], deferred: Mapping[str, Any]) -> None:
    """Raise if columns are missing, not strings, or named twice, as far as they are known before run time."""
    known = {role: given[role] for role in definition.roles if role in given and role not in deferred}
    if not any(role in deferred for role in definition.roles):
        known = role_columns(definition, known)
    columns: list[Any] = []
    for role, names in known.items():
        if role == "sensitive":
            require_column(names, [names], role=role)
            columns.append(names)
        else:
            require_columns(names, names, role=role)
            columns.extend(names)
    if columns:
        require_columns(columns, columns, role=" and ".join(known))


def _check_limits(definition: Metric, given: Mapping[str, Any], deferred: Mapping[str, Any]) -> dict[str, Any]:
    """Check limit and options; return the limit as plain data."""
    limits = select_limits(given)
    if not deferred and not _has_withheld(given):
        return build_requirement(definition, given).limit.given
    if not any(kind in deferred for kind in limits):
        return Limit.parse(definition, limits, given).given
    if len(limits) != 1:
        raise ParameterError(f"{definition.name} needs exactly one limit; got: {', '.join(limits)}")
    return {}


def _has_withheld(given: Mapping[str, Any]) -> bool:
    """Return whether values were withheld from a stored result: when loaded, only its limit can be checked."""
    return any(isinstance(value, Mapping) and WITHHELD in value for value in given.values())
