"""Bucketize any data: a table of people with their bucket, and a table of buckets with their values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.bucketize import Buckets, Dealing, bucketize_table, require_dealing, require_safety
from privacy_plugin.errors import ColumnError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, pack
from privacy_plugin.frequency.numbers import written
from privacy_plugin.frequency.values import canonical, key
from privacy_plugin.metrics.measurement import Measurement, plain
from privacy_plugin.sources import Source, open_source


@dataclass(frozen=True, kw_only=True)
class Bucketization:
    """The two tables to publish, and what was measured of them.

    `individuals` has the quasi-identifiers and the bucket of everybody, `values` a bucket and a sensitive value a row,
    in an order drawn from the operating system's secure source (`private` is False where a test generator was given).
    Both are ordered by bucket; buckets are numbered at random.
    """

    individuals: Any = field(repr=False)
    values: Any = field(repr=False)
    measurement: Measurement = field(repr=False)
    rows: int
    buckets: int
    smallest: int
    largest: int
    shared_by: float
    knowledge: int
    below: Fraction
    dealing: Dealing
    private: bool

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on."""
        replay = "" if self.dealing == "random" else ", who does not replay how people were dealt to buckets"
        return (
            "one row a person",
            "all ways to hand the values of the table to its people are equally likely to the attacker beforehand"
            + replay,
            "nothing but this pair is published: a second deal of the same people would intersect with it",
        )

    @property
    def disclosure(self) -> Any:
        """The maximum disclosure of the published pair, measured after the fact."""
        return self.measurement.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain data about the result, without its tables."""
        return {
            "rows": self.rows,
            "buckets": self.buckets,
            "smallest": self.smallest,
            "largest": self.largest,
            "shared_by": self.shared_by,
            "knowledge": self.knowledge,
            "below": written(self.below),
            "disclosure": plain(self.disclosure),
            "dealing": self.dealing,
            "private": self.private,
            "assumptions": list(self.assumptions),
        }


def bucketize(
    data: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    knowledge: int,
    below: float | Fraction | str,
    bucket: str = "bucket",
    dealing: Dealing = "random",
    generator: np.random.Generator | None = None,
) -> Bucketization:
    """Publish the quasi-identifiers as they are, and sensitive values only by bucket, (below, knowledge)-safely.

    An attacker who knows everybody's bucket and any `knowledge` implications names nobody's value with probability
    `below` or more (`maximum_disclosure`, measured again on the result). Buckets are as small as could be found
    (`shared_by`: the people in an average person's bucket). People are dealt to them at random: then the promise holds
    against somebody who knows this program, too. `dealing="similar"` puts people of similar quasi-identifiers together,
    which keeps more of how values follow from them; whoever replays such a deal may learn more than was promised.
    Raises InfeasibleError, before anything is divided, when even one bucket of everybody is not safe: then a value is
    held by too many. Anatomy: Xiao and Tao 2006; safety: Martin et al. 2007; what is promised, why, and what is not, is
    said in `privacy_plugin.anonymizers.bucketize`.

    Data of every source is read as groups. pandas, polars (also lazy) and Arrow frames give tables of their own kind
    and column types; everything else, databases and files too, gives pandas frames, which are not written back. Other
    columns are left out: they would tie values to people. A missing value is a value. Cost: some seconds a million
    people.

    >>> import pandas
    >>> ward = pandas.DataFrame({"age": range(30, 36), "disease": ["flu", "cold", "gout"] * 2})
    >>> result = bucketize(ward, quasi_identifiers=["age"], sensitive="disease", knowledge=0, below=0.4)
    >>> result.buckets, result.disclosure, list(result.individuals), list(result.values)
    (2, Fraction(1, 3), ['age', 'bucket'], ['bucket', 'disease'])
    """
    limit = require_safety(knowledge, below)
    require_dealing(dealing)
    columns = [*quasi_identifiers, sensitive]
    require_columns(quasi_identifiers, columns, role="quasi_identifiers")
    if bucket in columns:
        raise ColumnError(f"the column of bucket numbers cannot be named {bucket!r} too; give another name as bucket=")
    with open_source(data).snapshot() as source:
        require_columns(columns, source.columns)
        table = source.frequencies(columns)
        made = bucketize_table(
            table,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            knowledge=knowledge,
            below=limit,
            dealing=dealing,
            generator=generator,
        )
        individuals, values = _pair(source, made, bucket)
    sizes = made.sizes
    return Bucketization(
        individuals=individuals,
        values=values,
        measurement=made.measurement,
        rows=made.table.rows,
        buckets=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        shared_by=float((sizes.astype(np.float64) ** 2).sum() / sizes.sum()),
        knowledge=knowledge,
        below=limit,
        dealing=dealing,
        private=made.private,
    )


def _pair(source: Source, made: Buckets, bucket: str) -> tuple[Any, Any]:
    """Build both tables of the source's own kind where it is a frame in this process."""
    from privacy_plugin.sources.local_source import LocalSource

    *quasi_identifiers, sensitive = made.table.columns
    if not isinstance(source, LocalSource):
        return _pandas_pair(made, quasi_identifiers, sensitive, bucket)
    import narwhals.stable.v1 as nw

    frame = nw.from_native(source.rebuilt(made.table.columns, {}, None), eager_only=True)
    numbers = nw.new_series(bucket, made.buckets, nw.Int64, backend=nw.get_native_namespace(frame))
    classes = made.table.classes(quasi_identifiers).members[made.people]
    people = frame.select(quasi_identifiers)[_example_rows(source, made.table, quasi_identifiers)[classes].tolist()]
    codes = made.table.column_codes(sensitive)[made.values]
    values = frame.select(sensitive)[_example_rows(source, made.table, [sensitive])[codes].tolist()]
    return (
        nw.maybe_reset_index(people).with_columns(numbers).to_native(),
        nw.maybe_reset_index(values).with_columns(numbers).select(bucket, sensitive).to_native(),
    )


def _example_rows(source: Any, whole: FrequencyTable, columns: Sequence[str]) -> Integers:
    """Find a row of the frame for every combination of these columns: its values keep their types.

    Of values that mean the same (None and NaN, 39 and 39.0) all people get the same form, whatever else they have.
    """
    table = whole.project(columns)
    coded_rows = []
    for name in columns:
        coded = source.coded(name, 0, source.row_count())
        positions = {key(value): code for code, value in enumerate(table.dictionary(name))}
        # values that do not occur have no position
        known = np.array([positions.get(key(canonical(value)), 0) for value in coded.values], dtype=np.int64)
        coded_rows.append(known[coded.codes])
    packed, _ = pack(coded_rows, table.cardinalities)
    wanted, _ = pack(list(table.codes.T), table.cardinalities)
    first = np.unique(packed, return_index=True)[1]
    return first[np.searchsorted(packed[first], wanted)].astype(np.int64)


def _pandas_pair(made: Buckets, quasi_identifiers: Sequence[str], sensitive: str, bucket: str) -> tuple[Any, Any]:
    import pandas as pd

    def column(name: str, rows: Integers) -> Any:
        values = np.empty(len(made.table.dictionary(name)), dtype=object)
        values[:] = made.table.dictionary(name)
        return pd.Series(values[made.table.column_codes(name)[rows]]).infer_objects()

    individuals = {name: column(name, made.people) for name in quasi_identifiers} | {bucket: made.buckets}
    return pd.DataFrame(individuals), pd.DataFrame({bucket: made.buckets, sensitive: column(sensitive, made.values)})
