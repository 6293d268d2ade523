"""Repairs of the privacy score: records added to a table so that less follows from what an attacker may know.

Adding a record never raises the score of another person. Two kinds of records lower scores: the *witness* of the person
with the highest score, which has exactly the attributes from which something followed; and a *hole*, a set of
attributes that no person has completely while every part with one attribute less occurs (White 2021, theorems 6.4 to
6.6). The thesis' other option, extending existing people, often raises scores and is not offered.

An added record is false. All scores here are those of the original people: an average over all rows would also fall by
dilution. A class of one person and one false row is not a class of two people: judge everything but the score before
the repair, or let a policy repair (`method: greedy_repair`), whose gate counts people only. An added record has false
in the boolean attributes that are not its own, and a missing value in every other column. An attacker who knows of the
repair can recognize it by that; `decoys` draws these values for a policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ParameterError, SourceError, require_columns, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import Value
from privacy_plugin.metrics.measurement import plain
from privacy_plugin.metrics.privacy_score.relation import Attributes, is_boolean, relate
from privacy_plugin.metrics.privacy_score.result import average, matching_rows
from privacy_plugin.metrics.privacy_score.weights import GivenWeights
from privacy_plugin.sources import open_source

if TYPE_CHECKING:
    from privacy_plugin.anonymizers.repair.repair_loops import Repair

Floats = npt.NDArray[np.float64]
Measure = Literal["maximum", "average"]
Records = Sequence[Mapping[str, Value]]


class RepairOptions(TypedDict, total=False):
    """The options of a repair; each has a default, named in its comment."""

    likelihood: GivenWeights | None  # these three as in privacy_score
    danger: GivenWeights | None
    roles: Mapping[str, str] | None
    saturation: float  # 1
    wanted: float  # the score to reach: 0
    measure: Measure  # of the original people: "maximum"
    max_false_share: float  # of all rows after the repair: 0.5
    budget: int | None  # steps of the first search, beyond which TooLargeError is raised: no limit


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreRepair(Described):
    """The records to add, and the scores of the original people before and after.

    `before` and `after` have one score for each distinct row of the original table, `counts` the number of people with
    that row. `records` are the added ones, attribute columns only.
    """

    method: Literal["witnesses", "holes"]
    measure: Measure
    wanted: float
    reached: bool
    records: tuple[Mapping[str, Value], ...] = field(repr=False)
    before: Floats = field(repr=False)
    after: Floats = field(repr=False)
    counts: Integers = field(repr=False)
    table: FrequencyTable = field(repr=False)
    incomplete: int = 0
    """Added rows in which a value had to stay missing, by which an attacker may recognize them."""

    @property
    def false_rows(self) -> int:
        """The number of added records, all of them false."""
        return len(self.records)

    @property
    def false_share(self) -> float:
        """The share of false rows in the repaired table."""
        return self.false_rows / (self.table.rows + self.false_rows)

    @property
    def average_before(self) -> float:
        """The original people's average score before the repair."""
        return average(self.before, self.counts)

    @property
    def average_after(self) -> float:
        """The original people's average score after the repair; added records do not count."""
        return average(self.after, self.counts)

    @property
    def maximum_before(self) -> float:
        """The highest score before the repair."""
        return float(self.before.max())

    @property
    def maximum_after(self) -> float:
        """The original people's highest score after the repair."""
        return float(self.after.max())

    def change_of(self, frame: Any) -> tuple[Floats, Floats]:
        """Return the scores before and after, row by row of the original frame."""
        rows = matching_rows(self.table, frame)
        return self.before[rows], self.after[rows]

    def apply(self, frame: Any) -> Any:
        """Return the frame (pandas, polars, Arrow) with the records added at its end.

        Columns that are not attributes have a missing value there; a pandas frame gets a new index.
        """
        return with_records(frame, self.records)

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        return self.to_dict()

    def describe(self) -> Description:
        """Return the number of added rows and the scores of the original people, before and after."""
        return Description(
            title="Records added to lower the privacy score",
            rows=(
                ("added rows", f"{self.false_rows:,} ({self.false_share:.1%} of all), every one of them false"),
                ("highest score of a person", f"{self.maximum_before:.4g} before, {self.maximum_after:.4g} after"),
                ("average score of people", f"{self.average_before:.4g} before, {self.average_after:.4g} after"),
                ("added rows with a missing value", f"{self.incomplete:,}"),
            ),
            notes=(
                "an attacker who can tell an added row from a person, because its combination is impossible, learns as "
                "much as without it",
                "a second repair of the same people shows which rows were added: only the first is released",
            ),
            facts={
                "added rows": self.false_rows,
                "share of added rows": self.false_share,
                "highest score before": self.maximum_before,
                "highest score after": self.maximum_after,
                "average score before": self.average_before,
                "average score after": self.average_after,
            },
            released_rows=self.table.rows + self.false_rows,
        )

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; without `reveal` it holds no value of the table."""
        raw = {"records": [{name: plain(value) for name, value in record.items()} for record in self.records]}
        return {
            "method": self.method,
            "measure": self.measure,
            "wanted": self.wanted,
            "reached": self.reached,
            "rows": self.table.rows,
            "false_rows": self.false_rows,
            "false_share": self.false_share,
            "average": [self.average_before, self.average_after],
            "maximum": [self.maximum_before, self.maximum_after],
            "incomplete": self.incomplete,
            "people_improved": int(self.counts[self.after < self.before].sum()),
            **(raw if reveal else {}),
        }


def greedy_repair(data: Any, *, attributes: Sequence[str], **options: Unpack[RepairOptions]) -> ScoreRepair:
    """Lower the privacy score by adding the worst person's witness as a record, until the wanted score is reached.

    Any wanted score can be reached if `max_false_share` allows enough false rows: with the witness K as a record
    nothing follows from K any more, and no other score rises. The description of this module states what a false
    record has in other columns and what a repair cannot do; `RepairOptions` lists the options.

    >>> import pandas
    >>> visits = pandas.DataFrame({"zip": ["8001", "8001", "8002", "8002"], "disease": ["flu", "flu", "flu", "gout"]})
    >>> roles = {"zip": "quasi_identifier", "disease": "sensitive"}
    >>> repair = greedy_repair(visits, attributes=["zip", "disease"], roles=roles)
    >>> repair.maximum_before, repair.maximum_after, repair.false_rows
    (0.5, 0.0, 1)
    >>> repair.apply(visits).iloc[-1].to_dict()
    {'zip': '8001', 'disease': nan}
    """
    return repair_score(_grouped(data, attributes), method="witnesses", attributes=attributes, **options)


def fill_holes(
    data: Any, *, attributes: Sequence[str], max_size: int = 3, **options: Unpack[RepairOptions]
) -> ScoreRepair:
    """Lower the privacy score by filling topological holes of the table with added records.

    A hole M is a set of attributes that no person has completely, while every M without one attribute occurs. A record
    with exactly M scores 0, nothing follows from any part of M any more, and no other score rises (White 2021, theorems
    6.4 to 6.6). Of the holes with up to `max_size` attributes, the one that contains the worst person's witness and
    most other witnesses is filled first. The repair ends when the wanted score is reached, when no hole helps the worst
    person, or before more than `max_false_share` of the rows would be false. Options as in `greedy_repair`, which
    reaches lower scores with fewer records.

    >>> import pandas
    >>> pairs = pandas.DataFrame({"a": [True, True, False], "b": [True, False, True], "c": [False, True, True]})
    >>> pairs = pairs.assign(ill=True)
    >>> singles = pandas.DataFrame({"a": [True, False, False], "b": [False, True, False], "c": [False, False, True]})
    >>> people = pandas.concat([pairs, singles.assign(ill=False)], ignore_index=True)
    >>> repair = fill_holes(people, attributes=["a", "b", "c", "ill"], danger={"a": 0, "b": 0, "c": 0})
    >>> repair.maximum_before, repair.maximum_after, repair.apply(people).iloc[-1].to_dict()
    (0.5, 0.0, {'a': True, 'b': True, 'c': True, 'ill': False})
    """
    table = _grouped(data, attributes)
    return repair_score(table, method="holes", attributes=attributes, max_size=max_size, **options)


def repair_score(
    table: FrequencyTable,
    *,
    method: Literal["witnesses", "holes"],
    attributes: Sequence[str],
    max_size: int = 3,
    **options: Unpack[RepairOptions],
) -> ScoreRepair:
    """Add records until the original people's highest or average score is `wanted`, or too many rows would be false.

    If a column has missing values, an added record shares "missing" with the people who have it; that must be harmless,
    so give it danger 0. Cost: one exact search of all scores, then for each added record a search over the people whose
    witness it contains; holes of up to `max_size` attributes are listed first.
    """
    from privacy_plugin.anonymizers.repair.repair_loops import fill_holes, greedy_repair

    for name in options:
        if name not in RepairOptions.__annotations__:
            raise ParameterError(unknown_name("option of a repair", name, RepairOptions.__annotations__))
    table.require_rows()
    table.require_one_row_a_person("the privacy score")
    people = table.project(attributes)
    weights: dict[str, Any] = {name: options.get(name) for name in ("likelihood", "danger", "roles")}
    related = relate(people, attributes=list(attributes), **weights)
    measure = options.get("measure", "maximum")
    wanted = float(exact(options.get("wanted", 0), what="wanted"))
    given: dict[str, Any] = {
        "wanted": wanted,
        "measure": measure,
        "max_false_share": float(exact(options.get("max_false_share", 0.5), what="max_false_share")),
        "saturation": float(exact(options.get("saturation", 1), what="saturation")),
        "budget": options.get("budget"),
        "absent": _absent(related),
    }
    if method == "holes":
        found = fill_holes(related.relation, max_size=max_size, **given)
    else:
        found = greedy_repair(related.relation, **given)
    return _described(people, related, found, method, measure, wanted)


def _grouped(data: Any, attributes: Sequence[str]) -> FrequencyTable:
    source = open_source(data)
    require_columns(list(attributes), source.columns, role="attributes")
    return source.frequencies(list(attributes))


def _described(
    people: FrequencyTable,
    related: Attributes,
    found: "Repair",
    method: Literal["witnesses", "holes"],
    measure: Measure,
    wanted: float,
) -> ScoreRepair:
    empty: dict[str, Value] = {name: False if is_boolean(people.dictionary(name)) else None for name in people.columns}
    records = []
    for person in found.added:
        held = [related.listed[number] for number in person]
        records.append({**empty, **{attribute.column: attribute.value for attribute in held}})
    inverse = related.relation.inverse
    return ScoreRepair(
        method=method,
        measure=measure,
        wanted=wanted,
        reached=found.reached,
        records=tuple(records),
        before=found.before[inverse],
        after=found.after[inverse],
        counts=people.counts,
        table=people,
    )


def _absent(related: Attributes) -> list[int]:
    """Return the attributes "missing", which added records share; raise ParameterError if one is dangerous."""
    absent = [number for number, attribute in enumerate(related.listed) if attribute.value is None]
    columns = sorted({related.listed[number].column for number in absent if related.danger[number] > 0})
    if columns:
        raise ParameterError(
            f"column {', '.join(map(repr, columns))} has missing values that are dangerous to infer, and added records "
            "would share them; give them danger 0, as in danger={(column, None): 0}, or drop the column"
        )
    return absent


def with_records(frame: Any, records: Records) -> Any:
    """Return a new frame with the records at its end.

    >>> import pandas
    >>> with_records(pandas.DataFrame({"city": ["Bern"], "age": [30]}), [{"city": "Basel"}]).to_dict("list")
    {'city': ['Bern', 'Basel'], 'age': [30.0, nan]}
    """
    kind = type(frame).__module__.partition(".")[0]
    adding = {"pandas": _with_pandas, "polars": _with_polars, "pyarrow": _with_arrow}.get(kind)
    if adding is None or not hasattr(frame, "shape"):
        raise SourceError(
            f"records can be added to a pandas, polars or Arrow frame, not to {type(frame).__name__}; insert the "
            "repair's records with a statement of the engine"
        )
    names = list(frame.column_names if kind == "pyarrow" else frame.columns)
    for record in records:
        require_columns(list(record), names)
    if not records:
        return frame
    return adding(frame, {name: [record.get(name) for record in records] for name in names})


def _with_pandas(frame: Any, columns: Mapping[str, list[Any]]) -> Any:
    import pandas as pd

    added = {name: _as_in(frame[name], values) for name, values in columns.items()}
    return pd.concat([frame, pd.DataFrame(added)], ignore_index=True)


def _as_in(column: Any, values: list[Any]) -> Any:
    """Return values in a column's type, or in the nearest one that can hold a missing value."""
    import pandas as pd

    plain = pd.Series(values, dtype=object)
    if plain.isna().any() and column.dtype.kind in "iu" and not hasattr(column.dtype, "numpy_dtype"):
        return pd.to_numeric(plain).astype("float64")
    if plain.isna().any() and column.dtype == bool:
        return plain
    return plain.astype(column.dtype)


def _with_polars(frame: Any, columns: Mapping[str, list[Any]]) -> Any:
    return frame.vstack(type(frame)(columns, schema=frame.schema))


def _with_arrow(frame: Any, columns: Mapping[str, list[Any]]) -> Any:
    moments = {field.name for field in frame.schema if str(field.type).startswith("timestamp")}
    filled = {name: [_moment(v) for v in values] if name in moments else values for name, values in columns.items()}
    added = type(frame).from_pydict(filled, schema=frame.schema)
    return type(frame).from_batches([*frame.to_batches(), *added.to_batches()], schema=frame.schema)


def _moment(value: Any) -> Any:
    """Return a date as a timestamp: midnight is canonically a date, which Arrow refuses in a timestamp column."""
    is_date = isinstance(value, date) and not isinstance(value, datetime)
    return datetime.combine(value, time()) if is_date else value
