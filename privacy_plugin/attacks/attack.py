"""Attack a release: how often an attacker succeeds, and how often without the release.

The attacker knows some columns of a person (the *target*) and looks for the rows of the release whose labels cover
what they know: the *candidates*. A release that passes its gate can be attacked too; the numbers show how much is left.
No attack opens a gate: a person who is not found here can be found by an attacker who knows more.

| attack | the attacker succeeds if | without the release |
| --- | --- | --- |
| singling out | exactly one row fits the target | one row fits a person made of independently drawn values |
| linkage | a row drawn from the candidates is the target's | a row drawn from the whole release is |
| inference | the most frequent value of the candidates is the target's | that of the whole release is |
| membership | they say correctly whether a person is in the table | they always say what is likelier |
| differencing | a value follows from the difference of two releases | the most frequent one of it is right |
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, ParameterError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import Value, label
from privacy_plugin.metrics.usability.compared_tables import Domain, domain_of
from privacy_plugin.sources import frequency_table

Floats = npt.NDArray[np.float64]

TARGETS = 2_000
_CELLS = 20_000_000  # of the matrix of classes and targets that is held at once
_NORMAL = 1.959964  # the quantile of a 95% interval


@dataclass(frozen=True, kw_only=True)
class Attack:
    """The outcome of one attack: its success rate with the release, and the baseline without it.

    `interval` is a 95% confidence interval (Wilson) of the rate among all people, were the targets drawn from them; if
    `exact`, everyone was attacked, and the rate of these people is known without error.
    """

    name: str
    column: str | None
    success: float
    baseline: float
    interval: tuple[float, float]
    targets: int
    exact: bool

    @property
    def title(self) -> str:
        """The name of the attack, with the column it is about."""
        return self.name.replace("_", " ") + (f" of {self.column}" if self.column else "")

    @property
    def advantage(self) -> float:
        """How much of the distance between the baseline and certainty the release gave away, from 0 to 1."""
        if self.baseline >= 1:
            return 0.0
        return max(0.0, (self.success - self.baseline) / (1 - self.baseline))

    @property
    def sentence(self) -> str:
        """The outcome for people."""
        low, high = self.interval
        of = f"{self.targets:,} {'people' if self.exact else 'people, drawn at random'}"
        return (
            f"{_OUTCOMES[self.name].format(column=self.column)} for {self.success:.1%} of {of} "
            f"(95% interval {low:.1%} to {high:.1%}); {_BASELINES[self.name]} {self.baseline:.1%}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without a value of either table."""
        return {
            "attack": self.name,
            "column": self.column,
            "success": self.success,
            "baseline": self.baseline,
            "advantage": self.advantage,
            "interval": list(self.interval),
            "targets": self.targets,
            "exact": self.exact,
            "sentence": self.sentence,
        }


_OUTCOMES = {
    "singling_out": "Exactly one released row fits what the attacker knows",
    "linkage": "A row drawn from those that fit is the right one",
    "inference": "The attacker guesses {column} correctly",
    "membership": "The attacker says correctly who is in the table",
    "differencing": "The difference of the two releases discloses {column}",
}
_BASELINES = {
    "singling_out": "for a person made of independently drawn values it would be",
    "linkage": "without knowledge it would be",
    "inference": "with the most frequent value of the release it would be",
    "membership": "by always saying what is likelier it would be",
    "differencing": "with the most frequent value of the difference it would be",
}


def attack(
    released: Any,
    *,
    original: Any,
    known: Sequence[str],
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    population: Any = None,
    earlier: Any = None,
    targets: int = TARGETS,
) -> tuple[Attack, ...]:
    """Attack a release with the knowledge of some columns of the original, one row a person.

    `hierarchies` say what the labels of the release stand for. With a `population`, whose people include those of the
    original, membership is attacked; with an `earlier` release, the difference of both. Of more than `targets` people
    that many are drawn at random, the same ones every time.

    >>> import pandas
    >>> visits = pandas.DataFrame({"age": [30, 30, 41, 52], "illness": ["flu", "flu", "gout", "flu"]})
    >>> for found in attack(visits, original=visits, known=["age"], sensitive=["illness"]):
    ...     print(found.title, found.success)
    singling out 0.5
    linkage 0.75
    inference of illness 1.0
    """
    if not known or isinstance(known, str):
        raise ColumnError("known must be a list of at least one column that the attacker knows")
    if isinstance(targets, bool) or not isinstance(targets, int) or targets < 1:
        raise ParameterError(f"targets must be a whole number of at least 1, got {targets!r}")
    columns = (*known, *sensitive)
    require_columns(columns, columns, role="known and sensitive")
    truth, release = frequency_table(original, columns), frequency_table(released, columns)
    for table in (truth, release):
        table.require_rows()
    search = _CandidateSearch(release, truth, known=known, hierarchies=hierarchies or {})
    chosen, counts = _drawn_targets(truth, targets)
    exact = truth.rows <= targets
    found = [*_identity_attacks(search, truth, chosen, counts, exact=exact)]
    found += [_inference(search, truth, chosen, counts, column, exact=exact) for column in sensitive]
    if population is not None:
        found.append(_membership(search, truth.project(known), frequency_table(population, known)))
    if earlier is not None:
        found += _differencing(release, frequency_table(earlier, columns), known, sensitive)
    return tuple(found)


class _CandidateSearch:
    """Finds the classes of a release whose labels cover what an attacker knows of a person."""

    def __init__(
        self,
        release: FrequencyTable,
        truth: FrequencyTable,
        *,
        known: Sequence[str],
        hierarchies: Mapping[str, Hierarchy],
    ) -> None:
        self.release = release
        self.known = tuple(known)
        self.domains = [domain_of(name, truth.dictionary(name), hierarchies.get(name)) for name in known]
        self._labels = [release.column_codes(name) for name in known]
        self._covers = [
            _inverse(domain, release.dictionary(name), release, name)
            for domain, name in zip(self.domains, known, strict=True)
        ]

    def leaves(self, table: FrequencyTable) -> Integers:
        """Return the leaf of every known column of every distinct row; -1 where the original has no such value."""
        found = []
        for domain, name in zip(self.domains, self.known, strict=True):
            places = {label_of(leaf): number for number, leaf in enumerate(domain.leaves)}
            numbers = np.array([places.get(label_of(value), -1) for value in table.dictionary(name)], dtype=np.int64)
            found.append(numbers[table.column_codes(name)])
        return np.stack(found, axis=1)

    def blocks(self, people: Integers) -> Iterator[tuple[slice, npt.NDArray[np.bool_]]]:
        """Yield parts of the people with a matrix: which distinct row of the release covers which person."""
        step = max(1, _CELLS // max(1, self.release.distinct))
        for start in range(0, len(people), step):
            part = slice(start, min(start + step, len(people)))
            fits = np.ones((self.release.distinct, part.stop - part.start), dtype=bool)
            for position, (starts, labels) in enumerate(self._covers):
                count = len(self.release.dictionary(self.known[position]))
                covers = np.zeros((count, part.stop - part.start), dtype=bool)
                for number, leaf in enumerate(people[part, position]):
                    if leaf >= 0:
                        covers[labels[starts[leaf] : starts[leaf + 1]], number] = True
                fits &= covers[self._labels[position]]
            yield part, fits


def label_of(value: Value) -> str | None:
    """Return the text of a value: a number and its text are the same knowledge."""
    return None if value is None else label(value)


def _inverse(domain: Domain, values: Sequence[Value], release: FrequencyTable, name: str) -> tuple[Integers, Integers]:
    """Return for every leaf of a column the labels that cover it: `labels[starts[leaf] : starts[leaf + 1]]`."""
    codes = release.column_codes(name)
    rows = np.bincount(codes, weights=release.counts, minlength=len(values)).astype(np.int64)
    coverage = domain.coverage(values, rows)
    labels = np.repeat(np.arange(len(values), dtype=np.int64), coverage.widths)
    order = np.argsort(coverage.members, kind="stable")
    starts = np.searchsorted(coverage.members[order], np.arange(len(domain.leaves) + 1))
    return starts, labels[order]


def _drawn_targets(truth: FrequencyTable, targets: int) -> tuple[Integers, Integers]:
    """Return distinct rows of the original and how many people of each are attacked: all, or a random sample."""
    if truth.rows <= targets:
        return np.arange(truth.distinct), truth.counts
    drawn = np.random.default_rng(0).multivariate_hypergeometric(truth.counts, targets, method="marginals")
    chosen = np.flatnonzero(drawn)
    return chosen, drawn[chosen]


def _identity_attacks(
    search: _CandidateSearch, truth: FrequencyTable, chosen: Integers, counts: Integers, *, exact: bool
) -> Iterator[Attack]:
    """Singling out and linkage: how many released rows fit a person."""
    rows = search.release.counts.astype(np.float64)

    def candidates(people: Integers) -> Floats:
        found = np.zeros(len(people))
        for part, fits in search.blocks(people):
            found[part] = rows @ fits
        return found

    fitting = candidates(search.leaves(truth)[chosen])
    drawn = candidates(_invented_people(search, truth, int(counts.sum())))
    yield _attack("singling_out", fitting == 1, counts, baseline=float((drawn == 1).mean()), exact=exact)
    linked = np.divide(1.0, fitting, out=np.zeros_like(fitting), where=fitting > 0)
    yield _attack("linkage", linked, counts, baseline=1 / search.release.rows, exact=exact)


def _invented_people(search: _CandidateSearch, truth: FrequencyTable, number: int) -> Integers:
    """Draw every known column by itself from the original: plausible people who are rarely in the table."""
    generator = np.random.default_rng(1)
    leaves = search.leaves(truth)
    shares = truth.counts / truth.rows
    return np.stack([generator.choice(column, size=number, p=shares) for column in leaves.T], axis=1)


def _inference(
    search: _CandidateSearch, truth: FrequencyTable, chosen: Integers, counts: Integers, column: str, *, exact: bool
) -> Attack:
    """Guess the most frequent value of the candidates; of several, the first by name."""
    release = search.release
    values = [label_of(value) for value in release.dictionary(column)]
    by_value = np.zeros((len(values), release.distinct))
    by_value[release.column_codes(column), np.arange(release.distinct)] = release.counts
    secrets = [label_of(value) for value in truth.dictionary(column)]
    right = np.zeros(len(chosen))
    true = truth.column_codes(column)[chosen]
    for part, fits in search.blocks(search.leaves(truth)[chosen]):
        histogram = by_value @ fits
        guesses = histogram.argmax(axis=0)
        some = histogram.max(axis=0) > 0
        right[part] = [
            known and values[guess] == secrets[own] for known, guess, own in zip(some, guesses, true[part], strict=True)
        ]
    majority = values[int(by_value.sum(axis=1).argmax())]
    baseline = float(sum(counts[[secrets[own] == majority for own in true]]) / counts.sum())
    return _attack("inference", right, counts, baseline=baseline, exact=exact, column=column)


def _membership(search: _CandidateSearch, members: FrequencyTable, population: FrequencyTable) -> Attack:
    """Say "in the table" of everyone for whom it is more likely than not, every covered person being equally likely.

    A row of the release is one of the people of the population whom its labels cover; a person's probability is the sum
    over the rows that cover them.
    """
    population.require_rows()
    people = search.leaves(population)
    covered = np.zeros(search.release.distinct)
    for part, fits in search.blocks(people):
        covered += fits @ population.counts[part].astype(np.float64)
    weight = np.divide(search.release.counts, covered, out=np.zeros(search.release.distinct), where=covered > 0)
    inside = _counts_in(members, population)
    if (inside > population.counts).any() or int(inside.sum()) != members.rows:
        raise ColumnError("the population does not contain every person of the original; give the whole population")
    right = np.zeros(len(people))
    for part, fits in search.blocks(people):
        said = weight @ fits > 0.5
        right[part] = np.where(said, inside[part], population.counts[part] - inside[part]) / population.counts[part]
    prior = members.rows / population.rows
    return _attack("membership", right, population.counts, baseline=max(prior, 1 - prior), exact=True)


def _counts_in(members: FrequencyTable, population: FrequencyTable) -> Integers:
    """Return for every distinct row of the population how many rows of the original are equal to it."""
    ordered = members.project(population.columns)
    own = {_texts(ordered, row): int(count) for row, count in enumerate(ordered.counts)}
    return np.array([own.get(_texts(population, row), 0) for row in range(population.distinct)], dtype=np.int64)


def _texts(table: FrequencyTable, row: int) -> tuple[str | None, ...]:
    return tuple(map(label_of, table.values(row)))


def _differencing(
    release: FrequencyTable, earlier: FrequencyTable, known: Sequence[str], sensitive: Sequence[str]
) -> Iterator[Attack]:
    """Subtract an earlier release: a class that gained or lost rows of one value only discloses it."""
    if not sensitive:
        raise ColumnError("differencing needs a sensitive column: the difference discloses its values")
    for column in sensitive:
        change: dict[tuple[str | None, ...], dict[str | None, int]] = {}
        for sign, table in ((1, release), (-1, earlier)):
            part = table.project((*known, column))
            for row, count in enumerate(part.counts):
                *group, value = _texts(part, row)
                values = change.setdefault(tuple(group), {})
                values[value] = values.get(value, 0) + sign * int(count)
        disclosed = total = 0
        frequent: dict[str | None, int] = {}
        for values in change.values():
            for sign in (1, -1):
                moved = {value: sign * count for value, count in values.items() if sign * count > 0}
                total += sum(moved.values())
                disclosed += sum(moved.values()) if len(moved) == 1 else 0
                for value, count in moved.items():
                    frequent[value] = frequent.get(value, 0) + count
        if not total:
            yield Attack(
                name="differencing",
                column=column,
                success=0.0,
                baseline=0.0,
                interval=(0.0, 0.0),
                targets=0,
                exact=True,
            )
            continue
        yield _attack(
            "differencing",
            np.array([disclosed / total]),
            np.array([total]),
            baseline=max(frequent.values()) / total,
            exact=True,
            column=column,
        )


def _attack(
    name: str,
    success: npt.NDArray[Any],
    counts: Integers,
    *,
    baseline: float,
    exact: bool,
    column: str | None = None,
) -> Attack:
    number = int(counts.sum())
    rate = float(success @ counts) / number
    return Attack(
        name=name,
        column=column,
        success=rate,
        baseline=baseline,
        interval=wilson_interval(rate, number),
        targets=number,
        exact=exact,
    )


def wilson_interval(rate: float, number: int) -> tuple[float, float]:
    """Return the 95% Wilson interval of a rate observed on a number of independent targets.

    >>> low, high = wilson_interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    square = _NORMAL**2
    middle = (rate + square / (2 * number)) / (1 + square / number)
    half = _NORMAL / (1 + square / number) * math.sqrt(rate * (1 - rate) / number + square / (4 * number**2))
    return max(0.0, middle - half), min(1.0, middle + half)
