"""Bucketize any data: a table of people with their bucket, and a table of buckets with their values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.bucketization.buckets import (
    Buckets,
    Dealing,
    bucketize_table,
    require_dealing,
    require_safety,
)
from privacy_plugin.errors import ColumnError, ParameterError, SourceError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import written
from privacy_plugin.frequency.values import key, label
from privacy_plugin.metrics.maximum_disclosure.metric import maximum_disclosure
from privacy_plugin.metrics.measurement import Measurement, plain
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.numbered import NumberedRows


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
    neighbours: int | None
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
            *(["the number of neighbours was chosen without looking at the values"] if self.neighbours else []),
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
            "neighbours": self.neighbours,
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
    neighbours: int | None = None,
    targets: Sequence[str] | None = None,
    generator: np.random.Generator | None = None,
) -> Bucketization:
    """Publish the quasi-identifiers as they are, and sensitive values only by bucket, (below, knowledge)-safely.

    An attacker who knows everybody's bucket and any `knowledge` implications names nobody's value with probability
    `below` or more (`maximum_disclosure`, measured again on the result). Buckets are as small as could be found
    (`shared_by`: the people in an average person's bucket). People are dealt to them at random: then the promise holds
    against somebody who knows this program, too. With `neighbours`, only about so many people of similar
    quasi-identifiers are dealt among themselves, which keeps more of how values follow from them, and the promise too;
    choose the number without trying which one works. `dealing="similar"` keeps most of it, but whoever replays such a
    deal may learn more than was promised.
    Raises InfeasibleError, before anything is divided, when even one bucket of everybody is not safe: then a value is
    held by too many. Anatomy: Xiao and Tao 2006; safety: Martin et al. 2007; what is promised, why, and what is not, is
    said in `privacy_plugin.anonymizers.bucketization.buckets`.

    Both tables are made in the engine of the source. Frames (pandas, polars, also lazy, Arrow, DuckDB, Spark) give
    frames of their kind and column types; databases and files write `targets`, the names or paths of the table of
    people and of that of values, and give pandas frames where none are named. Both are written aside, read and measured
    there, and only then put in place, together; whatever fails leaves older tables where they were (a machine that
    stops between two files can leave one of each). Groups of equal rows come out of the engine, and a few whole numbers
    a person go back in; no row does. Rows lie by bucket, people of a bucket by quasi-identifiers, values of a bucket in
    a random order.

    Other columns are left out: they would tie values to people. A missing value is a value. Cost: some seconds a
    million people, and up to a minute more where a database takes single rows; memory grows with the people.

    >>> import pandas
    >>> ward = pandas.DataFrame({"age": range(30, 36), "disease": ["flu", "cold", "gout"] * 2})
    >>> result = bucketize(ward, quasi_identifiers=["age"], sensitive="disease", knowledge=0, below=0.4)
    >>> result.buckets, result.disclosure, list(result.individuals), list(result.values)
    (2, Fraction(1, 3), ['age', 'bucket'], ['bucket', 'disease'])
    """
    limit = require_safety(knowledge, below)
    require_dealing(dealing, neighbours)
    columns = [*quasi_identifiers, sensitive]
    require_columns(quasi_identifiers, columns, role="quasi_identifiers")
    if bucket in columns:
        raise ColumnError(f"the column of bucket numbers cannot be named {bucket!r} too; give another name as bucket=")
    deal = _Deal(
        bucket=bucket,
        quasi_identifiers=tuple(quasi_identifiers),
        sensitive=sensitive,
        knowledge=knowledge,
        below=limit,
        dealing=dealing,
        neighbours=neighbours,
        generator=generator,
    )
    source = open_source(data)  # not asked anything before: a connection's first question begins its transaction
    individuals, values = source.distribute(columns, deal.tables, targets=_both(targets), verify=deal.verify)
    made = deal.made
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
        neighbours=neighbours,
        private=made.private,
    )


@dataclass(kw_only=True, eq=False)
class _Deal:
    """What is asked, and, once the source has been read, what was made of it."""

    bucket: str
    quasi_identifiers: tuple[str, ...]
    sensitive: str
    knowledge: int
    below: Fraction
    dealing: Dealing
    neighbours: int | None
    generator: np.random.Generator | None
    made: Buckets = field(init=False)
    rows: tuple[NumberedRows, NumberedRows] = field(init=False)

    def tables(self, table: FrequencyTable) -> Sequence[NumberedRows]:
        """Deal everybody to a bucket, and say which rows both tables have."""
        self.made = made = bucketize_table(
            table,
            quasi_identifiers=self.quasi_identifiers,
            sensitive=self.sensitive,
            knowledge=self.knowledge,
            below=self.below,
            dealing=self.dealing,
            neighbours=self.neighbours,
            generator=self.generator,
        )
        people = NumberedRows(
            table=made.table.project(self.quasi_identifiers),
            lines=made.table.classes(self.quasi_identifiers).members[made.people],
            number=self.bucket,
            numbers=made.buckets,
            columns=(*self.quasi_identifiers, self.bucket),
        )
        values = NumberedRows(
            table=made.table.project([self.sensitive]),
            lines=made.table.column_codes(self.sensitive)[made.values].astype(np.int64),
            number=self.bucket,
            numbers=made.buckets,
            columns=(self.bucket, self.sensitive),
        )
        self.rows = people, values
        return self.rows

    def verify(self, pair: Sequence[Source]) -> None:
        """Look at what was written: exactly the rows that were dealt, and below the limit."""
        tables = [source.frequencies(rows.columns) for source, rows in zip(pair, self.rows, strict=True)]
        found = maximum_disclosure(
            tables[1], quasi_identifiers=[self.bucket], sensitive=self.sensitive, knowledge=self.knowledge
        )
        dealt = all(_holds(table, rows.frequencies()) for table, rows in zip(tables, self.rows, strict=True))
        if not dealt or not found.highest < self.below:
            raise SourceError("what was written is not what was dealt; nothing was put in place")


def _both(targets: Sequence[str] | None) -> Sequence[str] | None:
    """Refuse anything but two targets, or none."""
    if targets is None:
        return None
    if isinstance(targets, str) or len(targets) != 2 or not all(isinstance(target, str) for target in targets):
        raise ParameterError("targets must be two names: of the table of people and of the table of values")
    return tuple(targets)


def _same(one: FrequencyTable, other: FrequencyTable) -> bool:
    """Tell whether two tables have equal rows; both are sorted and hold only what occurs."""
    keys = [[[key(value) for value in dictionary] for dictionary in table.dictionaries] for table in (one, other)]
    return keys[0] == keys[1] and np.array_equal(one.codes, other.codes) and np.array_equal(one.counts, other.counts)


def _holds(written: FrequencyTable, expected: FrequencyTable) -> bool:
    """Tell whether a written table has the rows it should; a file may have made a text of every value."""
    if _same(written, expected):
        return True
    if not all(value is None or isinstance(value, str) for values in written.dictionaries for value in values):
        return False
    texts = [[None if value is None else label(value) for value in values] for values in expected.dictionaries]
    if _same(written, FrequencyTable.from_columns(expected.columns, list(expected.codes.T), texts, expected.counts)):
        return True
    plain = all(value is None or type(value) in (str, int) for values in expected.dictionaries for value in values)
    # a file writes a date or a fraction in its own way: then only how many rows are equal can be compared
    return not plain and np.array_equal(np.sort(written.counts), np.sort(expected.counts))
