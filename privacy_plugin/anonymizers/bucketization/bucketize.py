"""Bucketize any data: publish people with their bucket, and buckets with their sensitive values."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.base import Anonymized, Anonymizer, Request
from privacy_plugin.anonymizers.bucketization.buckets import (
    Buckets,
    Dealing,
    bucketize_table,
    keep_buckets,
    require_dealing,
    require_safety,
)
from privacy_plugin.anonymizers.continued_release import (
    RELEASES,
    keep_and_deal,
    lines_of,
    require_continuing,
    with_column,
)
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ColumnError, ParameterError, PolicyError, SourceError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import shown, written
from privacy_plugin.frequency.values import key, label
from privacy_plugin.generalization.generalize import generalize as generalize_levels
from privacy_plugin.generalization.generalize_locally import generalize_locally
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.history.in_use import history_in_use
from privacy_plugin.metrics.across_releases import class_wise
from privacy_plugin.metrics.maximum_disclosure.metric import maximum_disclosure
from privacy_plugin.metrics.measurement import Measurement, plain
from privacy_plugin.requirements.requirement import Requirement, require, with_hierarchies
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.bundle import Bundle, bundle_targets
from privacy_plugin.sources.numbered_rows import NumberedRows

PEOPLE, VALUES, BUCKET = "people", "values", "bucket"


@dataclass(frozen=True, kw_only=True)
class Bucketization(Described):
    """The two tables to publish and their measured disclosure.

    `individuals` has the quasi-identifiers and the bucket of every person, `values` one bucket and sensitive value per
    row, in an order drawn from the operating system's secure source (`private` is False where a test generator was
    given). Both are ordered by bucket (generalized people by what they show); buckets are numbered at random.
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
    together: bool = False
    """Whether the pair continues earlier ones: people who were dealt keep their bucket."""
    loss: float | None = None
    """The loss metric of the people's quasi-identifiers; None where they are not generalized."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The conditions under which the measured disclosure is the attacker's probability."""
        replay = "" if self.dealing == "random" else ", who does not replay the dealing"
        return (
            "one row per person",
            "all ways to assign the values of the table to its people are equally likely to the attacker beforehand"
            + replay,
            "all releases are recorded in the history, in which people keep their bucket"
            if self.together
            else "only this pair is published: a second dealing of the same people would intersect with it",
            *(["the number of neighbours was chosen without looking at the values"] if self.neighbours else []),
        )

    @property
    def disclosure(self) -> Any:
        """The maximum disclosure, measured on the published pair."""
        return self.measurement.value

    def summary(self) -> dict[str, Any]:
        """Return plain data about the result, without its tables."""
        return self.to_dict()

    def describe(self) -> Description:
        """Return the number and sizes of the buckets, the disclosure, and the assumptions."""
        return Description(
            title="People and sensitive values, apart, in buckets",
            rows=(
                ("buckets", f"{self.buckets:,} of {self.smallest:,} to {self.largest:,} people"),
                ("a person shares a bucket with", f"{self.shared_by - 1:,.1f} others on average"),
                (
                    "maximum disclosure",
                    f"{float(self.disclosure):.4g} with {self.knowledge} facts; below {shown(self.below)} was wanted",
                ),
                ("dealing", self.dealing if self.neighbours is None else f"{self.dealing}, among neighbours"),
                *(
                    []
                    if self.loss is None
                    else [("quasi-identifiers", f"generalized; a cell loses {self.loss:.4g} on average, of 1")]
                ),
            ),
            notes=tuple(f"assumed: {assumption}" for assumption in self.assumptions),
            facts={
                "buckets": self.buckets,
                "smallest bucket": self.smallest,
                "people a bucket": self.shared_by,
                "maximum disclosure": float(self.disclosure),
            },
            released_rows=self.rows,
        )

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
            **({} if self.loss is None else {"loss": self.loss}),
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
    generalize: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    requirements: Sequence[Requirement] = (),
    population: Any = None,
    targets: Sequence[str] | None = None,
    generator: np.random.Generator | None = None,
) -> Bucketization:
    """Publish quasi-identifiers unchanged and sensitive values only by bucket, so that the pair is (c, k)-safe.

    An attacker who knows everyone's bucket and any `knowledge` implications cannot name a person's value with
    probability `below` or more (`maximum_disclosure`, measured again on the result). Buckets are as small as could be
    found (`shared_by`: the mean bucket size over people). With the default dealing `random` the promise also holds
    against an attacker who knows this program. With `neighbours`, people are dealt within groups of about that size
    with similar quasi-identifiers: more of the dependence between quasi-identifiers and values is kept, and the promise
    holds; choose the number without trying which one works. `dealing="similar"` keeps most of the dependence, but an
    attacker who replays the dealing may learn more than promised. Anatomy: Xiao and Tao 2006; safety: Martin et al.
    2007; the promise, its proof and its limits: `privacy_plugin.anonymizers.bucketization.buckets`. Raises
    InfeasibleError, before anything is divided, if even one bucket of all people is not safe: a value is too frequent.

    With `generalize`, the people's quasi-identifiers are published as labels of their `hierarchies` (text), so that the
    table of people meets `requirements` on identity, such as k_anonymity, or on presence in a `population`: an attacker
    who does not know everyone's bucket then recognizes nobody (Martin et al. 2007, section 5, recommend it). Labels
    follow from the quasi-identifiers alone, so the promise about values holds as before, against attackers who know
    every quasi-identifier too. Every class gets labels of its own, or, compared with a population, every column one
    level. Both are measured on the staged tables.

    Both tables are made in the engine of the source. Frames (pandas, polars, also lazy, Arrow, DuckDB, Spark) return
    frames of their kind and column types. Databases and files write the two `targets`, the table of people and the
    table of values, and return pandas frames without them. Both are staged, read and measured before they replace the
    targets together; a failure leaves older tables in place (a machine that stops between two files can leave one of
    each). Only groups of equal rows are read from the engine, and a few integers per person are written to it. Rows are
    ordered by bucket, people of a bucket by quasi-identifiers, values of a bucket at random.

    Other columns are left out, because they would link values to people. A missing value is a value. Cost: some seconds
    per million people, and up to a minute more where a database inserts single rows; memory grows with the people.

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
        raise ColumnError(f"the table has a column {bucket!r} already; name the bucket column with bucket=")
    source = open_source(data)  # no query before this: the first query of a connection begins its transaction
    deal = _Deal(
        labels=_Labels.asked(generalize, hierarchies, requirements, population, quasi_identifiers),
        bucket=bucket,
        quasi_identifiers=tuple(quasi_identifiers),
        sensitive=sensitive,
        knowledge=knowledge,
        below=limit,
        dealing=dealing,
        neighbours=neighbours,
        generator=generator,
    )
    individuals, values = source.distribute(columns, deal.tables, targets=_both(targets), verify=deal.verify)
    return deal.result(individuals, values)


class BucketizeMethod(Anonymizer):
    """An Anatomy pair: the table of people and the table of values, judged with the bucket as the class."""

    name = "bucketize"
    function = bucketize
    supplied = (
        *("data", "quasi_identifiers", "sensitive", "bucket", "targets", "generator"),
        *("hierarchies", "requirements", "population"),
    )
    makes = "buckets"
    doing = "dealing people to buckets"
    done = "dealt to buckets: people with their bucket, and buckets with their values"
    form = "a pair of tables"
    made_once = "deal"
    keeps_people = True

    @classmethod
    def policy_options(cls) -> dict[str, inspect.Parameter]:
        """Return the options of the dealing, and whether a release continues the earlier ones."""
        return {**super().policy_options(), "releases": RELEASES}

    @property
    def sensitive(self) -> str:
        """The sensitive column."""
        return self.rules.columns("sensitive")[0]

    @property
    def generalizes(self) -> bool:
        """Whether the people's quasi-identifiers are generalized."""
        return bool(self.options.get("generalize"))

    @property
    def identity(self) -> tuple[str, ...]:
        """The quasi-identifiers, by which the table of people is judged where they are generalized."""
        return self.rules.columns("quasi_identifier") if self.generalizes else ()

    @property
    def identifying(self) -> tuple[Requirement, ...]:
        """The requirements on who can be recognized or known to be present."""
        return tuple(one for one in self.rules.requirements if _is_about_identity(one))

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of people and of values."""
        return {
            PEOPLE: (*self.rules.columns("quasi_identifier"), BUCKET),
            VALUES: (BUCKET, *self.rules.columns("sensitive")),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Columns that are left out, and what the promise assumes."""
        left_out = self.rules.columns("insensitive")
        notes = [f"left out, because it would link values to people: {', '.join(left_out)}"] if left_out else []
        if not self.generalizes:
            notes.append("everybody in the table of people can be recognized; only their sensitive value is protected")
        if self.options.get("dealing") == "similar":
            notes.append("an attacker who replays the dealing may learn more than the maximum disclosure")
        return tuple(notes)

    def released_roles(self) -> Mapping[str, str]:
        """Return the bucket as what an attacker knows: it is the class in which sensitive values are judged."""
        people = dict.fromkeys(self.rules.columns("quasi_identifier"), "insensitive")
        return {**people, BUCKET: "quasi_identifier", **dict.fromkeys(self.rules.columns("sensitive"), "sensitive")}

    def require_policy(self) -> None:
        """Refuse a policy that a pair cannot meet, with the reason."""
        sensitive = self.rules.columns("sensitive")
        if len(sensitive) != 1:
            raise PolicyError(
                f"bucketize releases one sensitive column, and the policy has {len(sensitive)}; declare the others "
                "identifier, which leaves them out, or write a policy for each"
            )
        if BUCKET in self.rules.roles:
            raise PolicyError(f"bucketize adds a column {BUCKET!r}, and the policy has one already; rename it")
        if self.continues:
            require_continuing(self.rules)
            if self.options.get("dealing") == "similar" or self.options.get("neighbours"):
                raise PolicyError(
                    "releases: together deals newcomers at random among themselves; leave out dealing and neighbours"
                )
            if self.generalizes:
                raise PolicyError(
                    "generalize: true makes labels anew for every release, and labels of two releases intersect; it "
                    "does not go with releases: together"
                )
        elif self.rules.unit is not None:
            raise PolicyError(
                f"bucketize needs one row per person; it cannot count people by {self.rules.unit!r}. With releases: "
                "together the unit says who is who from release to release"
            )
        for requirement in self.rules.requirements:
            followed = self.continues and requirement.definition.follows_people
            if not followed and (reason := _unmeetable(requirement, generalizes=self.generalizes)) is not None:
                raise PolicyError(f"bucketize cannot meet {requirement}: {reason}")
        if self.generalizes:
            self._require_generalizable()
        try:
            require_safety(self.options["knowledge"], self.options["below"])
            require_dealing(self.options.get("dealing", "random"), self.options.get("neighbours"))
        except ParameterError as problem:
            raise PolicyError(f"anonymize: {problem}") from None

    def _require_generalizable(self) -> None:
        lacking = [name for name in self.rules.columns("quasi_identifier") if name not in self.hierarchies]
        if lacking:
            raise PolicyError(f"generalize: true needs a hierarchy of {', '.join(map(repr, lacking))} in the policy")
        if not self.identifying:
            raise PolicyError(
                "generalize: true needs a requirement on the table of people, such as k_anonymity: {at_least: 5}"
            )
        if len(self.identifying) == len(self.rules.requirements):
            raise PolicyError(
                "bucketize protects sensitive values; add a requirement about them, such as maximum_disclosure, or "
                "use method: generalize_locally"
            )

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse the sensitive column as the partition column: its value would be known of everyone."""
        self.require_policy()
        if constant == self.sensitive:
            raise PolicyError(f"{constant!r} is the partition column; it cannot be the sensitive column too")

    def run(self, source: Source, request: Request) -> Anonymized:
        """Deal all people, and write both tables together."""
        quasi_identifiers = self.rules.columns("quasi_identifier")
        database = getattr(source, "bind", None) is not None
        targets = None if request.target is None else bundle_targets(request.target, self.tables, database=database)
        request.report("dealing")
        if self.continues:
            return self._run_together(source, request, targets)
        result = bucketize(
            source,
            quasi_identifiers=quasi_identifiers,
            sensitive=self.sensitive,
            targets=targets,
            generator=request.generator,
            hierarchies={name: self.hierarchies[name] for name in self.identity},
            requirements=self.identifying if self.generalizes else (),
            population=request.population if self.rules.needs_population else None,
            **{name: value for name, value in self.options.items() if name != "releases"},
        )
        used = (*quasi_identifiers, self.sensitive)
        return Anonymized(
            made={PEOPLE: result.individuals, VALUES: result.values},
            method=self.name,
            makes=self.makes,
            left_out=tuple(name for name in source.columns if name not in used),
            result=result,
        )

    def _run_together(self, source: Source, request: Request, targets: Sequence[str] | None) -> Anonymized:
        """Publish the buckets of earlier releases whose people are all here, and deal newcomers among themselves."""
        unit, quasi_identifiers = str(self.rules.unit), self.rules.columns("quasi_identifier")
        knowledge, below = self.options["knowledge"], require_safety(self.options["knowledge"], self.options["below"])
        limit = require("maximum_disclosure", sensitive=self.sensitive, knowledge=knowledge, below=below)
        columns = [unit, *quasi_identifiers, self.sensitive]
        table = source.frequencies(columns)
        with history_in_use() as history:
            buckets, continuation = keep_and_deal(
                table,
                history,
                unit=unit,
                sensitive=self.sensitive,
                requirements=(limit, *class_wise(self.rules.requirements)),
                deal=partial(
                    bucketize_table,
                    quasi_identifiers=quasi_identifiers,
                    sensitive=self.sensitive,
                    knowledge=knowledge,
                    below=below,
                ),
                dataset=self.rules.dataset,
                partition=request.partition,
            )
            deal = _Deal(
                bucket=BUCKET,
                quasi_identifiers=quasi_identifiers,
                sensitive=self.sensitive,
                knowledge=knowledge,
                below=below,
                dealing="random",
                neighbours=None,
                generator=None,
            )
            taken = buckets != 0
            kept = keep_buckets(
                table,
                quasi_identifiers=quasi_identifiers,
                sensitive=self.sensitive,
                buckets=buckets,
                knowledge=knowledge,
            )
            owners = with_column(lines_of(table, taken), BUCKET, buckets[taken]).project([unit, BUCKET, self.sensitive])

            def make(read: FrequencyTable) -> Sequence[NumberedRows | FrequencyTable]:
                if not read.has_rows_of(table):
                    raise SourceError("the table changed while people were dealt; nothing was written. Run it again")
                return deal.number(kept)

            def verify(pair: Sequence[Source]) -> None:
                deal.verify(pair)
                digest = Bundle(dict(zip(self.tables, pair, strict=True))).fingerprint().digest
                with history.within(getattr(pair[0], "bind", None)):
                    history.remember_deal(
                        owners,
                        unit=unit,
                        bucket=BUCKET,
                        sensitive=self.sensitive,
                        dataset=self.rules.dataset,
                        partition=request.partition,
                        digest=digest,
                    )

            individuals, values = source.distribute(columns, make, targets=targets, verify=verify)
        result = deal.result(individuals, values)
        return Anonymized(
            made={PEOPLE: individuals, VALUES: values},
            method=self.name,
            makes=self.makes,
            left_out=tuple(name for name in source.columns if name not in (*quasi_identifiers, self.sensitive)),
            result=replace(result, together=True),
            continuation=continuation,
        )


def _is_about_identity(requirement: Requirement) -> bool:
    """Return whether a requirement is about the quasi-identifiers alone: recognizing people, or their presence."""
    definition = requirement.definition
    about = definition.kind == "privacy" and definition.roles == ("quasi_identifiers",)
    return about and definition.second_table in (None, "population") and not definition.needs_history


def _unmeetable(requirement: Requirement, *, generalizes: bool) -> str | None:
    """Return why no pair can meet a requirement, or None if it is about sensitive values, or labels can meet it."""
    definition = requirement.definition
    if definition.needs_ledger:
        return "dealing spends no privacy budget"
    if generalizes and _is_about_identity(requirement):
        return None
    if definition.second_table is not None:
        return "it compares whole rows with another table, and the pair has no rows with all columns"
    if definition.roles != ("quasi_identifiers", "sensitive"):
        return (
            "the table of people has everyone's quasi-identifiers unchanged, so that everyone in it can be recognized; "
            "require what an attacker may learn about sensitive values, such as maximum_disclosure, or generalize: true"
        )
    return None


@dataclass(kw_only=True, eq=False)
class _Deal:
    """The parameters, and, once the source has been read, the buckets made from it."""

    bucket: str
    quasi_identifiers: tuple[str, ...]
    sensitive: str
    knowledge: int
    below: Fraction
    dealing: Dealing
    neighbours: int | None
    generator: np.random.Generator | None
    labels: "_Labels | None" = None
    made: Buckets = field(init=False)
    rows: tuple[NumberedRows | FrequencyTable, NumberedRows] = field(init=False)
    loss: float | None = None

    def tables(self, table: FrequencyTable) -> Sequence[NumberedRows | FrequencyTable]:
        """Deal all people to buckets, and return the rows of both tables."""
        made = bucketize_table(
            table,
            quasi_identifiers=self.quasi_identifiers,
            sensitive=self.sensitive,
            knowledge=self.knowledge,
            below=self.below,
            dealing=self.dealing,
            neighbours=self.neighbours,
            generator=self.generator,
        )
        return self.number(made)

    def number(self, made: Buckets) -> Sequence[NumberedRows | FrequencyTable]:
        """Return the rows of both tables for people in buckets."""
        self.made = made
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
        if self.labels is None:
            self.rows = people, values
        else:
            labelled, self.loss = self.labels.people(people.table, people.lines, self.bucket, made.buckets)
            self.rows = labelled, values
        return self.rows

    def result(self, individuals: Any, values: Any) -> Bucketization:
        """Describe the buckets, with the tables that were written."""
        sizes = self.made.sizes
        return Bucketization(
            individuals=individuals,
            values=values,
            measurement=self.made.measurement,
            rows=int(sizes.sum()),
            buckets=len(sizes),
            smallest=int(sizes.min()),
            largest=int(sizes.max()),
            shared_by=float((sizes.astype(np.float64) ** 2).sum() / sizes.sum()),
            knowledge=self.knowledge,
            below=self.below,
            dealing=self.dealing,
            neighbours=self.neighbours,
            private=self.made.private,
            loss=self.loss,
        )

    def verify(self, pair: Sequence[Source]) -> None:
        """Raise SourceError unless the staged tables hold exactly the dealt rows, with a disclosure below the limit."""
        tables = [source.frequencies(rows.columns) for source, rows in zip(pair, self.rows, strict=True)]
        found = maximum_disclosure(
            tables[1], quasi_identifiers=[self.bucket], sensitive=self.sensitive, knowledge=self.knowledge
        )
        expected = [rows if isinstance(rows, FrequencyTable) else rows.frequencies() for rows in self.rows]
        dealt = all(_holds(table, rows) for table, rows in zip(tables, expected, strict=True))
        if self.labels is not None:
            self.labels.require_met(tables[0], self.quasi_identifiers)
        if not dealt or not found.highest < self.below:
            raise SourceError("the staged tables do not hold the dealt rows; no target was replaced")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Labels:
    """What the table of people has to meet, and the hierarchies whose labels it is published with."""

    hierarchies: Mapping[str, Hierarchy]
    requirements: tuple[Requirement, ...]
    population: FrequencyTable | None

    @classmethod
    def asked(
        cls,
        generalize: bool,
        hierarchies: Mapping[str, Hierarchy] | None,
        requirements: Sequence[Requirement],
        population: Any,
        quasi_identifiers: Sequence[str],
    ) -> "_Labels | None":
        """Check the parameters, and read the population before a transaction is open; None without `generalize`."""
        if not generalize:
            if requirements:
                raise ParameterError("requirements on the table of people need generalize=True")
            return None
        if set(hierarchies or {}) != set(quasi_identifiers):
            raise ParameterError("generalize=True needs hierarchies: one of every quasi-identifier")
        if not requirements or not all(map(_is_about_identity, requirements)):
            raise ParameterError(
                "generalize=True needs requirements on identity or presence alone, such as "
                "require('k_anonymity', at_least=5)"
            )
        hierarchies = {name: (hierarchies or {})[name] for name in quasi_identifiers}
        compared = any(requirement.definition.needs_population for requirement in requirements)
        if compared and population is None:
            raise ParameterError("a requirement compares with the population; give it as population")
        return cls(
            hierarchies=hierarchies,
            requirements=tuple(with_hierarchies(requirement, hierarchies) for requirement in requirements),
            population=open_source(population).frequencies(list(hierarchies)) if compared else None,
        )

    def people(
        self, table: FrequencyTable, lines: Integers, bucket: str, buckets: Integers
    ) -> tuple[FrequencyTable, float]:
        """Return the rows to publish, person i being distinct row `lines[i]` in `buckets[i]`, and their loss.

        They are in the order of what they show, which tells nothing about the original values.
        """
        asked: dict[str, Any] = {
            "hierarchies": self.hierarchies,
            "requirements": self.requirements,
            "population": self.population,
        }
        found: Plan | LocalPlan
        if self.population is None:
            found = generalize_locally(table, **asked)
        else:  # labels of one level do not overlap, so that they alone tell who of the population they stand for
            found = generalize_levels(table, loss="loss_metric", **asked)
        recoding = found.recoding(open_source(table), population=self.population)
        combined = {tuple(map(key, old)): new for old, new in recoding.combined}
        mappings = {name: {key(old): new for old, new in each.items()} for name, each in recoding.mappings.items()}
        texts = []
        for row in range(table.distinct):
            old = table.values(row)
            new = (
                combined[tuple(map(key, old))]
                if combined
                else tuple(
                    mappings.get(name, {}).get(key(value), value)
                    for name, value in zip(table.columns, old, strict=True)
                )
            )
            texts.append(tuple(None if value is None else label(value) for value in new))
        published = [(int(number), *texts[line]) for number, line in zip(buckets, lines, strict=True)]
        rows = FrequencyTable.from_rows([bucket, *table.columns], published)
        return rows.project([*table.columns, bucket]), found.loss

    def require_met(self, people: FrequencyTable, quasi_identifiers: Sequence[str]) -> None:
        """Raise SourceError unless the staged table of people meets every requirement."""
        for requirement in self.requirements:
            finding = requirement.judge(people, quasi_identifiers=quasi_identifiers, population=self.population)
            if not finding.passed:
                raise SourceError(f"the staged table of people fails: {finding.reason} No target was replaced")


def _both(targets: Sequence[str] | None) -> Sequence[str] | None:
    """Raise ParameterError unless there are two targets, or none."""
    if targets is None:
        return None
    if isinstance(targets, str) or len(targets) != 2 or not all(isinstance(target, str) for target in targets):
        raise ParameterError("targets must be two names: of the table of people and of the table of values")
    return tuple(targets)


def _holds(written: FrequencyTable, expected: FrequencyTable) -> bool:
    """Return whether a written table has the expected rows; a file may have turned every value into text."""
    if written.has_rows_of(expected):
        return True
    if not all(value is None or isinstance(value, str) for values in written.dictionaries for value in values):
        return False
    texts = [[None if value is None else label(value) for value in values] for values in expected.dictionaries]
    written_as_text = FrequencyTable.from_columns(expected.columns, list(expected.codes.T), texts, expected.counts)
    if written.has_rows_of(written_as_text):
        return True
    plain = all(value is None or type(value) in (str, int) for values in expected.dictionaries for value in values)
    # A file writes dates and fractions in its own form: then only the counts of equal rows can be compared.
    return not plain and np.array_equal(np.sort(written.counts), np.sort(expected.counts))
