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
