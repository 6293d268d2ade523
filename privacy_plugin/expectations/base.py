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
    find_population,
    left_out,
    population_specification,
    read_batch,
    register_batch_metric,
)
from privacy_plugin.expectations.fields import is_parameter, require_parameter_shape
from privacy_plugin.expectations.rendering import (
    number_tables,
    observed_block,
    reason_block,
    requirement_words,
    words_block,
)
from privacy_plugin.measuring.measure import Tables, role_columns
from privacy_plugin.metrics.registry import SECOND_TABLES, Metric, find_metric
from privacy_plugin.requirements.limits import KINDS, Limit
from privacy_plugin.requirements.requirement import Finding, Requirement, require
from privacy_plugin.requirements.specification import is_specification
from privacy_plugin.sources import open_source
from privacy_plugin.sources.population_join import open_snapshots

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
        with read_batch(engine, domain) as data, open_snapshots(open_source(data), compared) as (source, others):
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


WITHHELD = "withheld"


class PrivacyExpectation(BatchExpectation):
    """A requirement as an expectation.

    A subclass names its `metric` and declares the fields: the metric's roles and options, `unit` where it counts
    people, `population` where it compares with one, and the limits that fit (`at_least` and `above` where higher is
    safer, `at_most` and `below` where lower is, or `between`), of which exactly one must be given. Nothing is
    converted: 2.7 is no number of people, "5" is no number. Any field may be {"$PARAMETER": "name"}; what is then
    given at run time is held to the same rules.
    """

    metric: ClassVar[str] = ""

    row_condition: RowConditionType = None
    condition_parser: ConditionParser | None = None

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition", "condition_parser")

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Derive keys and the GX metric from the fields and the declaration."""
        super().__init_subclass__(**arguments)
        if cls.metric:
            cls.success_keys = tuple(name for name in cls.__fields__ if name not in PrivacyExpectation.__fields__)
            cls.args_keys = cls.success_keys
            cls.metric_dependencies = (metric_name(cls.definition()),)
            register_judgement(cls.definition(), value_keys=cls.success_keys)

    @classmethod
    def is_abstract(cls) -> bool:
        """Keep the base itself out of GX's registry: without a metric there is nothing to expect."""
        return not cls.metric

    @classmethod
    def definition(cls) -> Metric:
        """The metric's declaration."""
        return find_metric(cls.metric)

    @pydantic.root_validator(pre=True)
    def _strictly(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        """Check raw values by the rules of requirements, before pydantic could convert any."""
        try:
            return cls._checked(values)
        except PrivacyPluginError as problem:
            raise ValueError(str(problem)) from None

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        definition = cls.definition()
        for name in values:
            if name not in (*cls.__fields__, *KINDS, "unit"):  # limits and units have better words below
                raise ParameterError(unknown_name(f"field of {cls.__name__}", name, cls.success_keys))
        given = {name: values[name] for name in cls.success_keys if values.get(name) is not None}
        waiting = {name: value for name, value in given.items() if is_parameter(value)}
        for name, value in waiting.items():
            require_parameter_shape(name, value)
        _require_roles(definition, given, waiting)
        if values.get("unit") is not None and not definition.counts_people:
            raise ParameterError(f"{definition.name} is defined for one row per person; it takes no unit column")
        if definition.needs_population and "population" not in given:
            second = SECOND_TABLES[str(definition.second_table)]
            raise ParameterError(f"{definition.name} needs population: {second}")
        if "population" in given and "population" not in waiting:
            population_specification(given["population"])
        return {**values, **_checked_limits(definition, {**given, **limits_of(values)}, waiting)}

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        """Pass only what the gate would pass; what could not be judged is an exception to GX, not a failure."""
        finding = self._unless_emptied(metrics[metric_name(self.definition())])
        answer = {
            "success": finding["status"] == "passed" and finding["passed"] is True,
            "result": {"observed_value": finding["value"], "details": finding},
        }
        if finding["status"] == "not_evaluated":
            answer["exception_info"] = {
                "raised_exception": True,
                "exception_message": finding["reason"],
                "exception_traceback": "",
            }
        return answer

    def _unless_emptied(self, finding: Mapping[str, Any]) -> Mapping[str, Any]:
        """Close where a parameter came as None at run time: without its unit, rows would be counted and not people.

        A field that was never set is not among those which GX hands over for a run.
        """
        emptied = [name for name in self.success_keys if name in self.__fields_set__ and getattr(self, name) is None]
        if not emptied:
            return finding
        given = f"the parameter for {', '.join(emptied)} was given as None at run time"
        reason = f"{finding['requirement']}: not evaluated: {given}"
        measured = dict.fromkeys(("value", "people_affected", "measurement"))
        return {**finding, **measured, "status": "not_evaluated", "passed": False, "reason": reason}

    def _build_evr(self, raw_response: Any, **arguments: Any) -> Any:
        """Keep hierarchies, marginals and row conditions out of stored results: they hold values of the columns."""
        result: Any = super()._build_evr(raw_response, **arguments)
        kwargs = result.expectation_config.kwargs
        rules = {name: value for name, value in kwargs.items() if _lists_values(name, value)}
        kwargs.update({name: withheld(value) for name, value in rules.items()})
        if kwargs.get("row_condition") is not None:  # in a form that GX can read back, and no engine can run
            words = f"{WITHHELD} {withheld(kwargs['row_condition'])[WITHHELD]}"
            kwargs["row_condition"] = {"type": "pass_through", "pass_through_filter": words}
        return result

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: Any) -> Any:
        template, parameters = requirement_words(cls.definition(), renderer_configuration.kwargs)
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
        template, parameters = requirement_words(cls.definition(), arguments)
        return [words_block(template, parameters, styling=(runtime_configuration or {}).get("styling"))]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any]:
        finding = finding_of(result)
        if finding is None:
            inherited = super()._diagnostic_unexpected_statement_renderer
            return list(inherited(result=result)) if result is not None else []
        return [reason_block(finding)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any] | None:
        finding = finding_of(result)
        return number_tables(finding) if finding else None

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> Any:
        finding = finding_of(result)
        return observed_block(finding) if finding else "--"


def finding_of(result: Any) -> Mapping[str, Any] | None:
    """Return the finding in a result of GX; there is none in the format BOOLEAN_ONLY or where GX itself failed."""
    details = (result.result or {}).get("details") if result is not None else None
    return details if isinstance(details, Mapping) and "reason" in details else None


def _lists_values(name: str, value: Any) -> bool:
    if name in ("hierarchies", "marginals", "likelihood", "danger", "bins", "generalized"):
        return isinstance(value, Mapping) and not is_parameter(value) and WITHHELD not in value
    return name != "population" and is_specification(value)


def withheld(specification: Any) -> dict[str, str]:
    """Stand for a hierarchy or a condition by its digest: enough to tell two apart."""
    text = json.dumps(specification, sort_keys=True, default=str)
    return {WITHHELD: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"}


def _require_roles(definition: Metric, given: Mapping[str, Any], waiting: Mapping[str, Any]) -> None:
    """Refuse columns that are missing, no names, or named twice, as far as they are known by now."""
    known = {role: given[role] for role in definition.roles if role in given and role not in waiting}
    if not any(role in waiting for role in definition.roles):
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


def _checked_limits(definition: Metric, given: Mapping[str, Any], waiting: Mapping[str, Any]) -> dict[str, Any]:
    """Check limit and options; return the limit in its plain form."""
    limits = limits_of(given)
    if not waiting and not _withholds(given):
        return requirement_of(definition, given).limit.given
    if not any(kind in waiting for kind in limits):
        return Limit.parse(definition, limits).given
    if len(limits) != 1:
        raise ParameterError(f"{definition.name} needs exactly one limit; given: {', '.join(limits)}")
    return {}


def _withholds(given: Mapping[str, Any]) -> bool:
    """Recognize what a stored result withholds: only its limit can be checked when it is read back; it never runs."""
    return any(isinstance(value, Mapping) and WITHHELD in value for value in given.values())
