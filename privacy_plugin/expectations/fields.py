"""What the fields of an expectation accept: nothing is converted, and any of them may be a runtime parameter."""

from typing import Any, Literal

from great_expectations.compatibility.pydantic import StrictFloat, StrictInt, StrictStr
from great_expectations.core.suite_parameters import is_suite_parameter

from privacy_plugin.errors import ParameterError

# What GX calls a SuiteParameterDict: {"$PARAMETER": "name"}
Parameter = dict[str, Any]

Column = StrictStr | Parameter
Columns = list[StrictStr] | Parameter

# Limits are optional one by one, because a metric takes one of two; the base refuses none and several.
Whole = StrictInt | Parameter | None
Number = StrictInt | StrictFloat | StrictStr | Parameter | None
Pair = list[StrictInt | StrictFloat | StrictStr] | Parameter | None

# "equal", "ordered", or a hierarchy as plain data: {"intervals": {...}}, {"file": "path.csv"}, ...
Ground = Literal["equal", "ordered"] | dict[str, Any]

# A hierarchy a column, each as plain data
Hierarchies = dict[str, Any] | None

# The name of a table or file, or {"table": ...}, {"file": ...}, {"data_source": ..., "asset": ...}
Population = StrictStr | dict[str, Any]

PARAMETER = "$PARAMETER"


def is_parameter(given: Any) -> bool:
    """Tell whether a field waits for a value that is given when the suite runs, {"$PARAMETER": "name"}."""
    return is_suite_parameter(given)


def require_parameter_shape(name: str, given: dict[str, Any]) -> None:
    """Refuse a runtime parameter without a name or with other things in it, which GX would silently ignore."""
    wanted = given[PARAMETER]
    extra = [key for key in given if key not in (PARAMETER, f"{PARAMETER}.{wanted}")]
    if not isinstance(wanted, str) or not wanted or extra:
        raise ParameterError(f'{name} must be a value or {{"{PARAMETER}": "name of the parameter"}}')
