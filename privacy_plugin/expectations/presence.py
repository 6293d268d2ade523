"""Who is in the table, as expectations."""

from typing import Any, ClassVar, Literal

from great_expectations.compatibility.pydantic import StrictFloat, StrictInt, StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Hierarchies, Number, Pair, Parameter, Population


class ExpectTableDeltaPresenceToBeBetween(PrivacyExpectation):
    """Expect the probability that a person of the population is in the table to lie between two bounds.

    The metric is `metrics.presence.delta_presence`; `hierarchies` maps generalized values to original ones.

    >>> ExpectTableDeltaPresenceToBeBetween(
    ...     quasi_identifiers=["age", "zip"], population="register", between=[0.01, 0.2]
    ... ).between
    [0.01, 0.2]
    """

    metric: ClassVar[str] = "delta_presence"

    quasi_identifiers: Columns
    population: Population
    hierarchies: Hierarchies = None
    unit: Column | None = None
    count: Count = None
    between: Pair = None


class ExpectTablePresenceConfidenceToBeAtLeast(PrivacyExpectation):
    """Expect delta-presence to hold with a confidence, if only attribute distributions of the population are known.

    The metric is `privacy_plugin.metrics.presence.presence_confidence`; `marginals` is {column: {value: count}} or
    {"file": "census.csv"} with the columns column, value and count; `joint` has distributions of several columns
    together, [{"columns": [...], "counts": [[value, ..., count], ...]}].

    >>> ExpectTablePresenceConfidenceToBeAtLeast(
    ...     quasi_identifiers=["age"], marginals={"age": {"30": 60, "41": 40}}, population_size=100,
    ...     delta=[0, 0.1], at_least=0.95
    ... ).coverage
    'reported'
    """

    metric: ClassVar[str] = "presence_confidence"

    quasi_identifiers: Columns
    marginals: dict[str, Any]
    population_size: StrictInt | Parameter
    delta: list[StrictInt | StrictFloat | StrictStr] | Parameter
    hierarchies: Hierarchies = None
    coverage: Literal["reported", "required"] | Parameter = "reported"
    joint: list[dict[str, Any]] | dict[str, Any] | None = None
    unit: Column | None = None
    count: Count = None
    at_least: Number = None
    above: Number = None
