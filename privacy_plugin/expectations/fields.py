"""Types of the fields of expectations: values are never converted, and any field may be a runtime parameter."""

from typing import Any, Literal

from great_expectations.compatibility.pydantic import StrictFloat, StrictInt, StrictStr
from great_expectations.core.suite_parameters import is_suite_parameter

from privacy_plugin.errors import ParameterError

# What GX calls a SuiteParameterDict: {"$PARAMETER": "name"}
Parameter = dict[str, Any]

Column = StrictStr | Parameter
Columns = list[StrictStr] | Parameter

# Every limit is optional, because a metric takes one of two; the base class raises for none and for several.
Whole = StrictInt | Parameter | None
Number = StrictInt | StrictFloat | StrictStr | Parameter | None
Pair = list[StrictInt | StrictFloat | StrictStr] | Parameter | None

# "equal", "ordered", or a hierarchy as plain data: {"intervals": {...}}, {"file": "path.csv"}, ...
Ground = Literal["equal", "ordered"] | dict[str, Any]

# {column: hierarchy as plain data}
Hierarchies = dict[str, Any] | None

# How people with several rows are counted
Count = Literal["sequences", "people"] | Parameter | None

# The name of a table or file, or {"table": ...}, {"file": ...}, {"data_source": ..., "asset": ...}
Population = StrictStr | dict[str, Any]

PARAMETER = "$PARAMETER"


def is_parameter(given: Any) -> bool:
    """Return whether a field is a runtime parameter, {"$PARAMETER": "name"}."""
    return is_suite_parameter(given)


def require_parameter_shape(name: str, given: dict[str, Any]) -> None:
    """Raise for a runtime parameter without a name or with other keys, which GX would silently ignore."""
    wanted = given[PARAMETER]
    extra = [key for key in given if key not in (PARAMETER, f"{PARAMETER}.{wanted}")]
    if not isinstance(wanted, str) or not wanted or extra:
        raise ParameterError(f'{name} must be a value or {{"{PARAMETER}": "name of the parameter"}}')


DESCRIPTIONS = {
    "quasi_identifiers": "Columns that an attacker may know of a person.",
    "sensitive": "The column that an attacker wants to learn.",
    "attributes": "The columns that are compared or scored.",
    "unit": "The column that identifies people, where a person may have several rows.",
    "count": 'How people with several rows are counted: "sequences" (the default) or "people".',
    "population": "The second table: its name or file, {table: ...}, {file: ...}, or {data_source: ..., asset: ...}.",
    "hierarchies": "Hierarchies by column: which original values a generalized value stands for.",
    "at_least": "The smallest value that is accepted.",
    "above": "The value has to be greater than this.",
    "at_most": "The greatest value that is accepted.",
    "below": "The value has to be smaller than this.",
    "between": "The smallest and the greatest value that are accepted.",
    "requirements": "Requirements as plain data, as in a policy.",
    "dataset": "The name of the dataset in the history of releases, or in the budget ledger.",
    "sensitive_columns": "The columns that requirements over releases protect.",
    "knowledge": "How many facts an attacker may know.",
    "attacker": "The kind of facts that an attacker may know.",
    "variant": "Which definition of the metric is used.",
    "separator": "What separates the members, where a value of the sensitive column is a set.",
    "c": "The constant of recursive (c, l)-diversity.",
    "ground": 'The distance of values: "equal", "ordered", or a hierarchy.',
    "weights": "How much each sensitive value weighs.",
    "threshold": "The value from which a person counts as at risk.",
    "statistic": "Which number of all scores is compared with the limit.",
    "marginals": "The number of people of the population by column and value.",
    "joint": "The number of people of the population by the values of several columns together.",
    "population_size": "The number of people of the population.",
    "delta": "The smallest and greatest probability of presence, or the delta of a budget.",
    "budget": "The time limit of an exact computation, in steps.",
    "likelihood": "How likely an attacker knows a column or value.",
    "danger": "How much harm a column or value does when it is learned.",
    "roles": "Roles of columns, from which default weights follow.",
}


def describe_field(name: str) -> str | None:
    """Return the sentence about a field that editors and GX's JSON schema show; None where the example has to do."""
    return DESCRIPTIONS.get(name)
