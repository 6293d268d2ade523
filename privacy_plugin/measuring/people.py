"""Count people who have several rows: the classes and the values of a person, not those of a row.

`count: sequences` (the default): the class of a person is the set of the classes of their rows. Nobody is in two such
classes, so that a bound for every class is a bound for everybody, also against an attacker who knows the
quasi-identifiers of all rows of a person and can link them. `count: people`: a person counts once in every class; that
bounds an attacker who knows a single row of the person, and no other.

People are counted in the engine (COUNT(DISTINCT unit) GROUP BY ...). Only where a person is in several classes, or has
several values, the distinct (class, value, person) rows are fetched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.people_table import PeopleTable, SharedValues, link_people, several_classes, unite_people
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.metrics.registry import Metric
from privacy_plugin.metrics.value_sets import several_values

if TYPE_CHECKING:
    from privacy_plugin.measuring.measure import Tables

WAYS_OUT = (
    "make one row a person with people: in the policy, or count people with attribute_risk, l_diversity (distinct) or "
    "k_anonymity (count: sequences or people)"
)


def describe_one_row(metric: str) -> str:
    """Return the problem of a metric that cannot count people."""
    return f"{metric} is defined for one row per person and cannot count people by a unit column"


@dataclass(frozen=True, kw_only=True)
class Counting:
    """How people are counted: by which column, and whether the attacker knows one row or all rows of a person."""

    unit: str
    count: str

    def united_people(self, tables: "Tables", columns: Sequence[str]) -> FrequencyTable:
        """Return one row a person, with the values of all their rows."""
        by_values = tables.frequencies(columns, unit=self.unit)
        by_values.require_rows()
        if by_values.rows == tables.count_people(self.unit):
            return replace(by_values, unit=None)
        return unite_people(tables.source.frequencies([*columns, self.unit]))

    def people_table(
        self, metric: Metric, tables: "Tables", quasi_identifiers: Sequence[str], sensitive: str | None
    ) -> FrequencyTable:
        """Return a table with one row a person (`count: people`: one a person and class); raise if it has no meaning.

        The last column is the sensitive one, where there is one.
        """
        by_class = tables.frequencies(quasi_identifiers, unit=self.unit)
        by_class.require_rows()
        several = by_class.rows != tables.count_people(self.unit)
        if several and metric.counts_people == "one_class" and (self.count != "people" or sensitive is not None):
            self._refuse_several_classes(metric.name, tables, quasi_identifiers, "")
        sequences = several and self.count == "sequences"
        if not sequences and sensitive is None:
            counted = several and metric.counts_people == "sizes"  # averages over people in several classes raise
            return by_class if counted else replace(by_class, unit=None)
        named = [*quasi_identifiers, *([] if sensitive is None else [sensitive])]
        if not sequences:
            by_value = tables.frequencies(named, unit=self.unit)
            if by_value.rows == by_class.rows:
                return replace(by_value, unit=None)
            if metric.counts_people == "shares":
                return _shared_values(by_class, by_value)
        linked = tables.source.frequencies([*named, self.unit])
        table = link_people(linked, sequences=sequences, sensitive=sensitive is not None)
        any_number = metric.counts_people in ("sets", "shares")
        if isinstance(table, PeopleTable) and not any_number and table.people_with_several_values:
            raise ParameterError(several_values(metric.name, table.people_with_several_values, str(sensitive)))
        return table

    def population_table(self, others: "Tables", columns: Sequence[str]) -> FrequencyTable:
        """Count the people of the population; without the unit column each of its rows is a person."""
        if self.unit not in others.source.columns:
            return others.frequencies(columns)
        by_class = others.frequencies(columns, unit=self.unit)
        if by_class.rows != others.count_people(self.unit) and self.count != "people":
            self._refuse_several_classes("presence", others, columns, " of the population")
        return replace(by_class, unit=None)

    def _refuse_several_classes(
        self, metric: str, tables: "Tables", quasi_identifiers: Sequence[str], where: str
    ) -> None:
        people = several_classes(tables.source.frequencies([*quasi_identifiers, self.unit]))
        raise ParameterError(
            f"{metric} needs everybody in one class, but {people:,} people{where} have rows in several; make one row a "
            "person with people: in the policy, or use attribute_risk"
        )

    def describe(self, metric: Metric, measurement: Measurement) -> Measurement:
        """Add to a measurement how people were counted."""
        parameters: dict[str, Any] = {**measurement.parameters, "unit": self.unit, "count": self.count}
        if metric.counts_people == "union":
            note = f"people are counted by {self.unit!r}; a person has the attributes of all their rows"
            return replace(measurement, parameters=parameters, notes=(*measurement.notes, note))
        if self.count == "people":
            assumed = "An attacker is assumed to know one row of a person only (count: people)."
            note = f"people are counted by {self.unit!r}, once in every class that has a row of theirs"
            reason = f"{measurement.reason} {assumed}".lstrip()
            return replace(measurement, parameters=parameters, reason=reason, notes=(*measurement.notes, note))
        note = f"people are counted by {self.unit!r}; the class of a person is the set of the classes of their rows"
        return replace(measurement, parameters=parameters, notes=(*measurement.notes, note))


def _shared_values(by_class: FrequencyTable, by_value: FrequencyTable) -> SharedValues:
    """Put the people of every class and of every value of a class together: the classes are in the same order."""
    parts = {part.name: getattr(by_value, part.name) for part in fields(by_value)}
    table = SharedValues(**{**parts, "unit": None}, class_people=by_class.classes(by_class.columns).sizes)
    if not replace(table.project(by_class.columns), counts=by_class.counts).has_rows_of(by_class):
        raise SourceError("the table changed while people were counted; measure it again")
    return table
