"""The Database Privacy Score: how much an attacker can infer about a person, and how harmful it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.metrics.measurement import Quantity, Spread, WorstClass
from privacy_plugin.metrics.privacy_score.by_definition import exact_scores
from privacy_plugin.metrics.privacy_score.relation import Attributes, read_bins, read_generalized, relate
from privacy_plugin.metrics.privacy_score.result import (
    ERROR,
    Floats,
    PrivacyScore,
    Settings,
    Statistic,
    average,
    reaching,
)
from privacy_plugin.metrics.privacy_score.weights import GivenWeights, read_roles, read_weights, written_weights
from privacy_plugin.metrics.registry import metric

if TYPE_CHECKING:
    from privacy_plugin.metrics.privacy_score.scores import Scores

_BY_THRESHOLD = ("threshold_count", "threshold_share")
_STATISTICS = ("average", "maximum", *_BY_THRESHOLD)
_WORST_SHOWN = 5
DEFAULT_BUDGET = 20_000_000_000  # steps, some minutes: a gate must end


def require_score_options(
    likelihood: GivenWeights | None = None,
    danger: GivenWeights | None = None,
    roles: Mapping[str, str] | None = None,
    confidence: float = 1.0,
    saturation: float = 1.0,
    statistic: Statistic = "average",
    threshold: float | None = None,
    bins: Mapping[str, Any] | None = None,
    generalized: Mapping[str, Hierarchy] | None = None,
    budget: int | None = None,
) -> None:
    """Raise if an option is invalid, before any data is read."""
    read_weights("likelihood", likelihood)
    read_weights("danger", danger)
    read_roles(roles)
    read_bins(bins)
    read_generalized(generalized, bins)
    if not 0 < exact(confidence, what="confidence") <= 1:
        raise ParameterError(f"confidence must be above 0 and at most 1, not {confidence!r}")
    if not exact(saturation, what="saturation") > 0:
        raise ParameterError(f"saturation must be above 0, not {saturation!r}")
    if statistic not in _STATISTICS:
        raise ParameterError(f"statistic must be {', '.join(_STATISTICS[:-1])} or {_STATISTICS[-1]}, not {statistic!r}")
    if (threshold is not None) != (statistic in _BY_THRESHOLD):
        raise ParameterError(f"threshold goes with statistic {' or '.join(_BY_THRESHOLD)}, and only with those")
    if threshold is not None and not 0 < exact(threshold, what="threshold") <= 1:
        raise ParameterError(f"threshold must be above 0 and at most 1, not {threshold!r}")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
        raise ParameterError(f"budget must be a whole number of steps of at least 1, not {budget!r}")


def _largest_limit(options: Mapping[str, Any]) -> float | None:
    statistic = options.get("statistic", "average")
    return None if statistic == "threshold_count" or not isinstance(statistic, str) else 1  # a runtime parameter


def _caution(options: Mapping[str, Any]) -> str:
    if options.get("statistic", "average") != "average":
        return ""
    return (
        "an average hides the people with the highest scores, whatever its limit is; limit the maximum, or the "
        "threshold_share or threshold_count of people above a score"
    )


@metric(
    title="privacy score",
    safer="lower",
    attacker="who knows some of {attributes} of a person infers what all people with the same values have in common; "
    "weighted by likelihood and danger, that is more than the limit {limit} allows",
    remedy="generalize or remove a column of the most revealing combinations, or add records that contradict them "
    "(greedy_repair)",
    paper="White 2021 (Database Privacy Score)",
    axis="privacy score",
    picture="score_distribution",
    shows="Likelihood times danger of what follows with certainty from any set of attributes that an attacker may know "
    "stays below the limit: on average, for everybody, or for all but a share of the people.",
    hides="What is merely likely (unless a confidence below 1 is asked for), what a single record among the average "
    "gives away, and whether the weights are right: they are a person's judgement.",
    counts_people="union",
    smallest=0,
    largest=_largest_limit,
    check=require_score_options,
    caution=_caution,
    writes={"likelihood": written_weights, "danger": written_weights},
)
def privacy_score(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    likelihood: GivenWeights | None = None,
    danger: GivenWeights | None = None,
    roles: Mapping[str, str] | None = None,
    confidence: float = 1.0,
    saturation: float = 1.0,
    statistic: Statistic = "average",
    threshold: float | None = None,
    bins: Mapping[str, Any] | None = None,
    generalized: Mapping[str, Hierarchy] | None = None,
    budget: int | None = None,
    progress: Callable[[float, int], None] | None = None,
    people: Integers | None = None,
) -> PrivacyScore:
    """Return how much an attacker can infer about the people of a table, from 0 (nothing) to 1.

    priv(i) = max over the sets K of i's attributes, the empty one included, of (product of l(x) over K) * D / (s + D),
    D = sum of d(x) over what all people with K also have; l: likelihood of being known, d: danger of being inferred,
    s: saturation. With `confidence` c < 1, x follows for i when i has x and a share of at least c of the people with K
    have it, and counts share * d(x); keep it at 0.9 or more, or base rates score. White 2021, chapter 3. `statistic`:
    the average over people, the maximum, or the number (`threshold_count`) or share (`threshold_share`) of people who
    score at least `threshold` (within 1e-12). An average hides the people with the highest scores: the reason says how
    many score more, and the notes of a verdict warn of it.

    Errata: a person whose attributes are a subset of another person's is scored too (the program of the thesis drops
    them); theorems 5.2 and 5.3 are false as stated. True is: generalizing a column for all people alike raises no score
    if its l is 1 and its d is 0 (confidence 1); other changes can, so the score is not declared monotone.

    `likelihood`, `danger`: {column: weight}, {(column, value): weight} or {column: {value: weight, "otherwise":
    weight}}, between 0 and 1. `roles`: {column: "quasi_identifier"} stands for l = 1, d = 0 (known, harmless),
    {column: "sensitive"} for l = 0, d = 1 (unknown, dangerous); weights override it, and without either both are 1,
    the worst. In a policy the roles are those of its columns. A boolean column is one attribute, held where true
    (false and missing: not held); any other has one attribute per value, and missing is a value. `bins`: {column:
    boundaries or hierarchy} groups numbers first; `generalized`: {column: hierarchy}: values of these columns hold
    every leaf below them, `*` all. With a `unit`, a person has the attributes of all their rows (a union, as in the
    relation of the thesis); without one, every row is a person.

    The value is an exact fraction where all weights are 0 or 1 or the table is tiny, otherwise right to 1e-12. Cost:
    one of two exact algorithms, at worst exponential in the attributes of a person (`details["sets_at_most"]`, known
    beforehand). Where the `budget` of steps (about 10 ns each, 20 billion unless given) ends first, scores are
    intervals, and a limit is held against the upper end. `progress(share, steps)` is called from time to time.
    `people`: how many people have each row of a repaired table, in which others were added; only they are scored.

    >>> rows = [(8001, "flu"), (8001, "flu"), (8002, "flu"), (8002, "gout")]
    >>> table = FrequencyTable.from_rows(["zip", "disease"], rows)
    >>> roles = {"zip": "quasi_identifier", "disease": "sensitive"}
    >>> found = privacy_score(table, attributes=["zip", "disease"], roles=roles)
    >>> found.value, found.individuals.tolist(), found.counts.tolist()
    (Fraction(1, 4), [0.5, 0.0, 0.0], [2, 1, 1])
    >>> found.witness(0).words()
    'An attacker who knows zip learns disease: weight 0.5, true of 2 people.'
    """
    from privacy_plugin.metrics.privacy_score.scores import estimate_work, score

    require_score_options(
        likelihood, danger, roles, confidence, saturation, statistic, threshold, bins, generalized, budget
    )
    table.require_rows()
    table.require_one_row_a_person("the privacy score")
    if people is not None and tuple(attributes) != table.columns:
        raise ParameterError("people belongs to the rows of the attributes; group the table by them first")
    rows = table.project(attributes)
    related = relate(
        rows,
        attributes=list(attributes),
        likelihood=likelihood,
        danger=danger,
        roles=roles,
        bins=bins,
        generalized=generalized,
    )
    settings = Settings(
        saturation=exact(saturation), confidence=exact(confidence), statistic=statistic, threshold=threshold,
        budget=DEFAULT_BUDGET if budget is None else budget,
    )  # fmt: skip
    sets = estimate_work(related.relation).sets
    found = score(related.relation, progress=progress, **settings.of_the_kernel)
    parameters = {
        "attributes": list(attributes),
        "roles": dict(roles) if roles else None,
        "likelihood": _stated(likelihood),
        "danger": _stated(danger),
        **settings.stated,
        "binned": sorted(bins or ()),
        "generalized": sorted(generalized or ()),
    }
    if people is not None:
        found, rows = _of_people(found, related, rows, people)
    return _result(rows, related, found, settings, parameters, sets)


def _of_people(
    found: "Scores", related: Attributes, rows: FrequencyTable, people: Integers
) -> tuple["Scores", FrequencyTable]:
    """Return scores and counts of people only: a row that no person has counts nobody and scores nothing."""
    if not people.sum():
        raise ParameterError("every row was added; there are no people to score")
    relation = related.relation
    held = sum_by(relation.inverse, people, len(relation.counts)) > 0
    scores = replace(found, lower=np.where(held, found.lower, 0.0), upper=np.where(held, found.upper, 0.0))
    return scores, replace(rows, counts=people)


def _result(
    people: FrequencyTable,
    related: Attributes,
    found: "Scores",
    settings: Settings,
    parameters: Mapping[str, Any],
    sets: float,
) -> PrivacyScore:
    lower, upper = found.lower[related.relation.inverse], found.upper[related.relation.inverse]
    value, interval = _judged(people, related, found, settings)
    return PrivacyScore(
        metric="privacy_score",
        value=value,
        error=float(max(interval[1] - value, value - interval[0])),
        interval=interval,
        parameters=parameters,
        rows=people.rows,
        classes=people.distinct,
        # Only a limit on the maximum is failed by single people; a limit on an average or a share is not.
        spread=Spread(values=upper, people=people.counts) if settings.statistic == "maximum" else None,
        worst=_worst(people, upper),
        details={
            "average": average(upper, people.counts),
            "maximum": float(upper.max()),
            "complete": found.exact,
            "algorithm": found.algorithm,
            "attributes": len(related.listed),
            "sets_at_most": sets,
        },
        reason=_hidden(people, upper) if settings.statistic == "average" else "",
        notes=related.notes if found.exact else (*related.notes, _cut_short(interval, found.nodes, sets)),
        individuals=upper,
        lower=lower,
        counts=people.counts,
        table=people,
        related=related,
        settings=settings,
    )


def _judged(
    people: FrequencyTable, related: Attributes, found: "Scores", settings: Settings
) -> tuple[Quantity, tuple[Quantity, Quantity]]:
    """Return the value of the statistic and the interval that contains it."""
    relation = related.relation
    counts = sum_by(relation.inverse, people.counts, len(relation.counts))
    if settings.statistic in _BY_THRESHOLD:
        fewest, most = (int(counts[reaching(end, settings.threshold)].sum()) for end in (found.lower, found.upper))
        if settings.statistic == "threshold_count":
            return most, (fewest, most)
        return Fraction(most, people.rows), (Fraction(fewest, people.rows), Fraction(most, people.rows))
    precise = None
    if found.exact:
        precise = exact_scores(related, found.lower, saturation=settings.saturation, confidence=settings.confidence)
    if precise is not None:
        value = precise.maximum(counts) if settings.statistic == "maximum" else precise.average(counts)
        return value, (value, value)
    low, high = (
        float(end.max()) if settings.statistic == "maximum" else average(end, counts)
        for end in (found.lower, found.upper)
    )
    return high, (max(low - ERROR, 0.0), high + ERROR)


def _hidden(people: FrequencyTable, scores: Floats) -> str:
    """Return what the average does not show: the highest score, and how many people score above the average."""
    mean, highest = average(scores, people.counts), float(scores.max())
    above = int(people.counts[scores > mean + ERROR].sum())
    if not above:
        return ""
    return (
        f"It is an average: {above:,} of {people.rows:,} people ({above / people.rows:.1%}) score more than that, "
        f"up to {highest:.4g}."
    )


def _cut_short(interval: tuple[Quantity, Quantity], visited: int, sets: float) -> str:
    return (
        f"the budget ended first, after {visited:,} sets of at most {sets:.2g}: the value lies between "
        f"{float(interval[0]):.4g} and {float(interval[1]):.4g}, and the upper end is compared with the limit"
    )


def _worst(people: FrequencyTable, scores: Floats) -> tuple[WorstClass, ...]:
    order = np.lexsort((people.counts, -scores))[:_WORST_SHOWN]
    return tuple(
        WorstClass(
            rank=rank,
            value=float(scores[row]),
            people=int(people.counts[row]),
            members=dict(zip(people.columns, people.values(int(row)), strict=True)),
        )
        for rank, row in enumerate(order, start=1)
    )


def _stated(given: GivenWeights | None) -> dict[str, Any] | None:
    """Return the weights by column, for the parameters of the result.

    Weights of single values are left out, because values belong to the table.
    """
    if given is None:
        return None
    return {
        name: "by value" if weights.own or weights.otherwise is None else written(weights.otherwise)
        for name, weights in read_weights("weights", given).items()
    }
