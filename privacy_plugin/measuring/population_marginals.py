"""What is known of a population by attribute, of any data."""

from collections.abc import Sequence
from typing import Any

from privacy_plugin.errors import require_columns
from privacy_plugin.frequency.values import Value
from privacy_plugin.metrics.presence.population_marginals import marginals_of
from privacy_plugin.sources import open_source


def population_marginals(population: Any, *, columns: Sequence[str]) -> dict[str, dict[Value, int]]:
    """Reduce a population to how many of its people have each value of each column, for `presence_confidence`.

    Every column is grouped on its own, in the population's engine.

    >>> import pandas
    >>> population_marginals(pandas.DataFrame({"age": [30, 30, 41]}), columns=["age"])
    {'age': {30: 2, 41: 1}}
    """
    source = open_source(population)
    require_columns(columns, source.columns)
    return {name: marginals_of(source.frequencies([name]))[name] for name in columns}
