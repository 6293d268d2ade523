"""Measure a metric on any data: group the needed columns in the engine, then measure the groups."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from privacy_plugin.errors import ColumnError, ParameterError, SourceError, require_column, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.added_rows import count_people as count_real_people
from privacy_plugin.frequency.added_rows import select_people
from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.people_table import require_count
from privacy_plugin.frequency.population import Population
from privacy_plugin.frequency.table import Dictionary
from privacy_plugin.frequency.values import Value
from privacy_plugin.history.in_use import history_in_use
from privacy_plugin.ledger.accounts import account_of
from privacy_plugin.measuring.people import WAYS_OUT, Counting, describe_one_row
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.metrics.presence.population_join import Hierarchies, one_meaning
from privacy_plugin.metrics.presence.population_marginals import marginals_of
from privacy_plugin.metrics.registry import SECOND_TABLES, Metric, find_metric
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.bundle import Bundle
from privacy_plugin.sources.class_profiles import has_one_value, is_large, profile_classes
from privacy_plugin.sources.population_join import join_groups
from privacy_plugin.sources.protocol import count_people

Progress = Callable[[float, int], None]

_FETCHED_ROWS = 100_000
"""The groups of a population of at most so many rows are compared here: to join them in a database takes more time."""

_REPORTED_TO: ContextVar[Progress | None] = ContextVar("reported_to", default=None)


@contextmanager
def reporting(progress: Progress) -> Iterator[None]:
    """Call `progress` for every measurement inside the context, also inside gates and requirements."""
    before = _REPORTED_TO.set(progress)
    try:
        yield
    finally:
        _REPORTED_TO.reset(before)


class Tables:
    """The frequency tables of one source, each grouped once; coarser ones are made from finer ones."""

    def __init__(self, source: Source) -> None:
        """Take an open source."""
        self.source = source
        self._grouped: dict[tuple[str, ...], FrequencyTable] = {}
        self._joined: dict[tuple[str, ...], tuple[Tables, Hierarchies, FrequencyTable, Population]] = {}
        self._profiles: dict[tuple[tuple[str, ...], str | None], ClassProfiles] = {}
        self._large: dict[frozenset[str], bool] = {}
        self._rows: int | None = None
        self._values: dict[str, Dictionary] = {}
        self._people: dict[str, int] = {}

    def count_rows(self) -> int:
        """Count the rows; from then on every grouping must account for all of them."""
        self._rows = self.source.row_count()
        return self._rows

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group by some columns, or project what has been grouped already."""
        require_columns(columns, self.source.columns)
        if unit is not None:  # numbers of distinct people do not add up: the engine groups each time
            return self._remembered(self.source.frequencies(columns, unit=unit))
        for known, table in self._grouped.items():
            if set(columns) <= set(known):
                return table.project(columns)
        table = self.source.frequencies(columns)
        self._require_all(table.rows)
        self._grouped[tuple(columns)] = table
        return self._remembered(table)

    def classes(self, quasi_identifiers: Sequence[str], sensitive: str | None = None) -> FrequencyTable:
        """Return what a class-wise metric needs: the groups, or of a large table the profiles of its classes."""
        columns = [*quasi_identifiers, *([] if sensitive is None else [sensitive])]
        require_columns(columns, self.source.columns)
        if any(set(columns) <= set(known) for known in self._grouped):
            return self.frequencies(columns)
        for (known, column), profiles in self._profiles.items():
            if known == tuple(quasi_identifiers) and sensitive in (None, column):
                return profiles.project(columns)
        if self._is_large(columns):
            found = profile_classes(self.source, quasi_identifiers, sensitive)
            if found is not None:
                self._require_all(found.rows)
                self._profiles[tuple(quasi_identifiers), sensitive] = found
                return found
        return self.frequencies(columns)

    def _is_large(self, columns: Sequence[str]) -> bool:
        wanted = frozenset(columns)
        if wanted not in self._large:
            fewer = any(large and known <= wanted for known, large in self._large.items())
            self._large[wanted] = fewer or is_large(self.source, columns, self._rows)
        return self._large[wanted]

    def count_people(self, unit: str) -> int:
        """Count the distinct values of the unit column, once."""
        if unit not in self._people:
            self._people[unit] = count_people(self.source, unit)
        return self._people[unit]

    def known_values(self, column: str) -> Dictionary | None:
        """Return all values of a column if a grouping has shown them already; the engine is not asked."""
        return self._values.get(column)

    def constant_values(self, column: str) -> Dictionary | None:
        """Return the values of a column that may have only one, also if its classes were counted by profiles."""
        profiled = column not in self._values and any(column in known for known, _ in self._profiles)
        if profiled and has_one_value(self.source, column):
            self._values[column] = self.source.frequencies([column]).dictionary(column)
        return self._values.get(column)

    def _remembered(self, table: FrequencyTable) -> FrequencyTable:
        self._values.update(zip(table.columns, table.dictionaries, strict=True))
        return table

    def compared(
        self,
        second: "Tables",
        columns: Sequence[str],
        wanted: Sequence[str] | None = None,
        *,
        whole: bool = False,
        hierarchies: Hierarchies | None = None,
        class_wise: bool = False,
    ) -> tuple[FrequencyTable, Population]:
        """Group by some columns, and a second table by the same (or `wanted`) ones, in one engine if shared.

        Of the second table the engine then hands over only what both share, unless the `whole` of it is needed.
        `hierarchies` say what generalized values of the first stand for in the second.
        """
        if whole or (wanted is not None and list(wanted) != list(columns)):
            return self.frequencies(columns), second.frequencies(columns if wanted is None else wanted)
        known, followed = self._joined.get(tuple(columns)), dict(hierarchies or {})
        profiled = known is not None and isinstance(known[2], ClassProfiles)
        if known is None or known[0] is not second or known[1] != followed or (profiled and not class_wise):
            known = second, followed, *self._join(second, columns, followed, class_wise)
            self._joined[tuple(columns)] = known
        return known[2:]

    def _join(
        self, population: "Tables", columns: Sequence[str], hierarchies: Hierarchies, class_wise: bool
    ) -> tuple[FrequencyTable, Population]:
        for each in (self, population):
            require_columns(columns, each.source.columns)
        if population._rows is not None and population._rows <= _FETCHED_ROWS:
            return self.frequencies(columns), population.frequencies(columns)
        meaning = functools.partial(one_meaning, hierarchies) if hierarchies else None
        found = None
        if class_wise and self._is_large(columns):
            found = join_groups(self.source, population.source, columns, meaning, profiled=True)
        if found is None:
            found = join_groups(self.source, population.source, columns, meaning)
        if found is None:
            return self.frequencies(columns), population.frequencies(columns)
        self._require_all(found.table.rows)
        population._require_all(found.population.rows)
        if isinstance(found.table, ClassProfiles):
            self._profiles[tuple(columns), None] = found.table
        else:
            self._grouped[tuple(columns)] = self._remembered(found.table)
        return found.table, replace(found.population, hierarchies=hierarchies)

    def _require_all(self, rows: int) -> None:
        if self._rows is not None and rows != self._rows:  # a driver that cuts results short
            raise SourceError(f"the groups hold {rows:,} rows, but the table has {self._rows:,}")


def measure(
    metric: Metric,
    data: Any,
    *,
    population: Any = None,
    unit: str | None = None,
    count: str | None = None,
    added: str | None = None,
    progress: Progress | None = None,
    **arguments: Any,
) -> Measurement:
    """Measure one metric on anything a source accepts (or on the `Tables` of one).

    With `unit`, people are counted as `count` says: by "sequences" (the default) or by "people", see
    `measuring.people`. With `added`, rows marked in that column are no people (`frequency.added_rows`); only a
    comparison with the original and the privacy score use them.

    `progress(share, steps)` is called from time to time by metrics that take long; others never call it. Without it,
    the function given to `reporting` is called.
    """
    options = {name: value for name, value in arguments.items() if name not in metric.roles}
    metric.require_options(options)
    if metric.reports_progress:
        options["progress"] = progress or _REPORTED_TO.get()
    roles = role_columns(metric, arguments)
    columns = [name for names in roles.values() for name in _listed(names)]
    if not metric.needs_ledger:
        require_columns(columns, columns, role=" and ".join(roles))
    if unit is not None and not metric.counts_people:
        raise ParameterError(f"{describe_one_row(metric.name)}; {WAYS_OUT}")
    if unit is None and count is not None:
        raise ParameterError("count says how the people of a unit column are counted; add unit")
    tables = data if isinstance(data, Tables) else Tables(open_source(data))
    if unit is not None:
        require_column(unit, tables.source.columns, role="unit")
        require_columns([*columns, unit], tables.source.columns, role="columns and unit")
        counting = Counting(unit=unit, count=require_count(count or "sequences"))
    if added is not None and (unit is not None or metric.needs_ledger or metric.needs_history):
        raise ParameterError(f"{metric.name} cannot be measured on a table with added rows")
    if metric.needs_history:
        return _measure_with_history(metric, tables, unit, roles, options)
    if metric.needs_ledger:  # a release is identified by all of its columns
        columns, options["account"] = list(tables.source.columns), account_of
    if not metric.needs_population:
        if population is not None:
            raise ParameterError(f"{metric.name} does not compare with a population; leave it out")
        if added is not None:
            return _measure_people(metric, tables.frequencies([*columns, added]), added, columns, {**roles, **options})
        if unit is None:
            class_wise = metric.class_wise and not metric.needs_ledger
            table = tables.classes(**roles) if class_wise else tables.frequencies(columns)
            return metric.measure(table, **roles, **options)
        if metric.counts_people == "union":
            table = counting.united_people(tables, columns)
        else:
            table = counting.people_table(metric, tables, roles["quasi_identifiers"], roles.get("sensitive"))
        return counting.describe(metric, metric.measure(table, **roles, **options))
    if population is None:
        raise ParameterError(
            f"{metric.name} needs {SECOND_TABLES[str(metric.second_table)]}: give it as population, in the policy or "
            "as an argument (--population, population_table)"
        )
    others = population if isinstance(population, Tables) else Tables(open_source(population))
    wanted = [name for role in metric.compared_roles for name in _listed(roles[role])]
    if unit is not None:
        given = {
            "population": counting.population_table(others, wanted),
            **roles,
            **options,
        }
        return counting.describe(metric, metric.measure(counting.people_table(metric, tables, columns, None), **given))
    whole = metric.second_table != "population"  # an original is needed whole
    table, compared = tables.compared(
        others, columns, wanted, whole=whole, hierarchies=options.get("hierarchies"), class_wise=metric.class_wise
    )
    return metric.measure(table, **{str(metric.second_table): compared}, **roles, **options)


def _measure_people(
    metric: Metric, table: FrequencyTable, added: str, columns: Sequence[str], arguments: Mapping[str, Any]
) -> Measurement:
    """Measure the people of a repaired table; the privacy score also uses the added rows, and averages over people."""
    if not metric.uses_added_rows:
        return metric.measure(select_people(table, added, columns), **arguments)
    whole, people = count_real_people(table, added, columns)
    return metric.measure(whole, people=people, **arguments)


def _measure_with_history(
    metric: Metric, tables: Tables, unit: str | None, roles: Mapping[str, Any], options: Mapping[str, Any]
) -> Measurement:
    """Measure a table together with the earlier releases of its dataset."""
    dataset = options.get("dataset")
    if not dataset:
        raise ParameterError(f"{metric.name} needs dataset: the name under which releases are recorded")
    quasi_identifiers = list(roles["quasi_identifiers"])
    used = [getattr(requirement, "sensitive", None) for requirement in options.get("requirements") or ()]
    sensitive = list(
        dict.fromkeys(
            name
            for name in [roles.get("sensitive"), *used, *(options.get("sensitive_columns") or ())]
            if name is not None
        )
    )
    columns = [*quasi_identifiers, *sensitive]
    with history_in_use() as history:
        if not metric.follows_people:
            earlier = history.earlier_tables(dataset=dataset, columns=columns)
            found = tuple(table for _, table in earlier)
            return metric.measure(tables.frequencies(columns), earlier=found, **roles, **options)
        if isinstance(tables.source, Bundle):  # its tables do not say whose value is whose; the history does
            joint = history.joint_classes_of_deal(tables.source, sensitive=sensitive, dataset=dataset)
            return metric.measure(tables.frequencies(columns), joint_classes=joint, **roles, **options)
        if unit is None:
            raise ParameterError(f"{metric.name} follows people through releases; it needs a unit column")
        joint = history.joint_classes(
            tables.frequencies([unit, *columns]),
            unit=unit,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            dataset=dataset,
        )
    return metric.measure(tables.frequencies(columns), joint_classes=joint, **roles, **options)


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def role_columns(metric: Metric, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of every role of the metric, a name or a list; raise if one is missing."""
    roles: dict[str, Any] = {}
    for role in metric.roles:
        given = arguments.get(role)
        if given is None:
            raise ColumnError(f"{metric.name} needs {role}")
        if role == "sensitive":
            require_column(given, [given], role=role)
            roles[role] = given
        else:
            if isinstance(given, str | bytes) or not isinstance(given, Iterable):
                raise ColumnError(f"{role} must be a list of column names, got {type(given).__name__}")
            roles[role] = list(given)
    return roles


def public_function(name: str) -> Callable[..., Measurement]:
    """Return a metric as the public function: any data, the same options, a unit where it counts people."""
    metric = find_metric(name)
    own = inspect.signature(metric.measure)
    data = inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Any)
    unit = inspect.Parameter("unit", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=str | None)
    stated = [
        given.replace(name=metric.called.get(given.name, given.name))
        for given in list(own.parameters.values())[1:]
        if given.name not in ("account", "people", "joint_classes", "earlier")
    ]
    roles = {name: role for role, name in metric.called.items()}
    count = inspect.Parameter("count", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=str | None)
    parameters = [data, *stated, *([unit, count] if metric.counts_people else [])]

    @functools.wraps(metric.measure)
    def function(data: Any, **arguments: Any) -> Measurement:
        try:
            signature.bind(data, **arguments)
        except TypeError as problem:
            raise ParameterError(f"{name}: {problem}; it takes {', '.join(list(signature.parameters)[1:])}") from None
        arguments = {roles.get(name, name): value for name, value in arguments.items()}
        second = arguments.pop(metric.second_table, None) if metric.second_table else None
        return measure(metric, data, population=second, **arguments)

    signature = own.replace(parameters=parameters)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def population_marginals(population: Any, *, columns: Sequence[str]) -> dict[str, dict[Value, int]]:
    """Count how many people of a population have each value of each column.

    Every column is grouped on its own, in the population's engine.

    >>> import pandas
    >>> population_marginals(pandas.DataFrame({"age": [30, 30, 41]}), columns=["age"])
    {'age': {30: 2, 41: 1}}
    """
    source = open_source(population)
    require_columns(columns, source.columns)
    return {name: marginals_of(source.frequencies([name]))[name] for name in columns}
