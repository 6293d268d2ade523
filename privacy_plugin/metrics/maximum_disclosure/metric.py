"""Maximum disclosure: the highest probability of a sensitive value for an attacker with k facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import Classes, FrequencyTable, Histograms
from privacy_plugin.frequency.numbers import written
from privacy_plugin.frequency.values import label
from privacy_plugin.metrics.class_rules import (
    ClassCondition,
    ClassLimit,
    ClassRule,
    DistinctDiversity,
    RecursiveDiversity,
)
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread, class_members, plain, worst_classes
from privacy_plugin.metrics.privacy_score.weights import (
    OTHERWISE,
    ColumnWeights,
    read_weights,
    spread_worst_weights,
    written_weights,
)
from privacy_plugin.metrics.registry import metric

if TYPE_CHECKING:
    from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import Atom


Attacker = Literal["implications", "negations"]
ValueWeights = Mapping[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A person of a class has one of its values: people count from 1, values by frequency from 1."""

    class_rank: int
    people: int
    person: int
    value_rank: int
    value: Any = field(repr=False)
    members: Mapping[str, Any] = field(repr=False)

    def who(self, *, reveal: bool = False) -> str:
        """Name the person by number; `reveal` adds the quasi-identifiers of the class."""
        shown = ", ".join(f"{name} {_named(value)}" for name, value in self.members.items())
        return f"person {self.person} of class {self.class_rank}" + (f" ({shown})" if reveal and shown else "")

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; `reveal` adds the value and the quasi-identifiers."""
        raw = {"value": plain(self.value), "members": {name: plain(value) for name, value in self.members.items()}}
        return {
            "class": self.class_rank,
            "people": self.people,
            "person": self.person,
            "value_rank": self.value_rank,
            **(raw if reveal else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Knowledge that reaches the disclosure: the target, the facts, and the exact probability they give.

    Against implications every fact stands for "if `fact` then `target`", which for the target's own other values means
    that the person does not have them; against negations for "not `fact`". There may be fewer facts than the attacker
    could know, when fewer do the same.
    """

    attacker: Attacker
    sensitive: str
    target: Claim
    facts: tuple[Claim, ...]
    probability: Fraction
    weight: Fraction = Fraction(1)

    def words(self, *, reveal: bool = False) -> str:
        """Return the disclosure and its facts as sentences; without `reveal` they contain no value."""
        kind = self.attacker.removesuffix("s") if len(self.facts) == 1 else self.attacker
        known = f"these {len(self.facts)} {kind}" if len(self.facts) != 1 else f"this {kind}"
        size = f"{self.target.people:,} {'person' if self.target.people == 1 else 'people'}"
        sentence = (
            f"An attacker who knows {known if self.facts else 'nothing more'} names {self.sensitive} of "
            f"{self.target.who(reveal=reveal)}, a class of {size}, with probability {_odds(self.probability)}: "
            f"{_values([self.target], reveal=reveal)}"
        )
        sentence += f", weighed {written(self.weight)}" if self.weight != 1 else ""
        return f"{sentence}." + (f" Known: {'; '.join(self.sentences(reveal=reveal))}." if self.facts else "")

    def sentences(self, *, reveal: bool = False) -> list[str]:
        """Return the facts as sentences, one per person: "one of two values" is a fact for each value."""
        return [self._sentence(list(group), reveal) for _, group in groupby(self.facts, key=_person)]

    def _sentence(self, facts: list[Claim], reveal: bool) -> str:
        who, values = facts[0].who(reveal=reveal), _values(facts, reveal=reveal)
        if self.attacker == "negations" or _person(facts[0]) == _person(self.target):
            return f"{who} does not have {values}"
        reached = f"{self.target.who(reveal=reveal)} has {_values([self.target], reveal=reveal)}"
        return f"if {who} has {values}, then {reached}"

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; without `reveal` it holds no value of the table."""
        return {
            "attacker": self.attacker,
            "probability": plain(self.probability),
            "exact_probability": str(self.probability),
            "weight": written(self.weight),
            "target": self.target.to_dict(reveal=reveal),
            "facts": [fact.to_dict(reveal=reveal) for fact in self.facts],
            "words": self.words(reveal=reveal),
        }

    def __str__(self) -> str:
        return self.words()


def _person(claim: Claim) -> tuple[int, int]:
    return claim.class_rank, claim.person


def _values(claims: list[Claim], *, reveal: bool) -> str:
    """Describe the values of one person's claims by rank, neighbours by frequency together, or by value."""
    if reveal:
        return " or ".join(_named(claim.value) for claim in claims)
    ranks = sorted(claim.value_rank for claim in claims)
    runs = [[rank for _, rank in run] for _, run in groupby(enumerate(ranks), key=lambda one: one[1] - one[0])]
    return " or ".join(_ranked(run[0], run[-1]) for run in runs)


def _ranked(first: int, last: int) -> str:
    if first == last:
        return f"the {'' if first == 1 else f'{_ordinal(first)} '}most frequent value of the class"
    ranks = f"{last}" if first == 1 else f"{_ordinal(first)} to {_ordinal(last)}"
    return f"any of the {ranks} most frequent values of the class"


def _named(value: Any) -> str:
    return "missing" if value is None else label(value)


def _odds(probability: Fraction) -> str:
    short = probability.denominator < 1_000
    return f"{float(probability):.4g}" + (f" ({probability})" if short and probability.denominator > 1 else "")


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


Floats = npt.NDArray[np.float64]
Curve = tuple[Quantity, ...]

MOST_FACTS = 1_000
_BANDS = 10  # of entropy
_ABSENT = (
    "{number} weighted value(s) do not occur in the table, suppressed or misspelled: values without a weight of their "
    "own were given the highest weight of those"
)
_MOST_COMPUTED = 100  # facts that do not disclose everything yet: the work grows with their square


@dataclass(frozen=True, kw_only=True)
class DisclosureMeasurement(Measurement):
    """Maximum disclosure, with the knowledge that reaches it and the curve for fewer facts."""

    witness: Witness

    @property
    def curve(self) -> Curve:
        """The maximum disclosure for 0, 1, ..., knowledge facts; the last entry is the value."""
        found: Curve = self.details["curves"][self.parameters["attacker"]]
        return found

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data for JSON, reports and metadata."""
        return {**super().to_dict(reveal=reveal), "witness": self.witness.to_dict(reveal=reveal)}


def require_attacker(knowledge: int, attacker: Attacker = "implications", weights: ValueWeights | None = None) -> None:
    """Raise if the attacker is unknown, the number of facts is invalid, or a weight is."""
    if isinstance(knowledge, bool) or not isinstance(knowledge, int) or not 0 <= knowledge <= MOST_FACTS:
        given = knowledge if isinstance(knowledge, int | float) else type(knowledge).__name__
        raise ParameterError(f"knowledge must be a whole number from 0 to {MOST_FACTS:,}, not {given}")
    if attacker not in ("implications", "negations"):
        raise ParameterError(f"attacker must be implications or negations, not {attacker!r}")
    _read_weights(weights, "sensitive")


def _read_weights(weights: ValueWeights | None, sensitive: str) -> ColumnWeights | None:
    """Return the weights of the values of a sensitive column, None without any."""
    if weights is None:
        return None
    if not isinstance(weights, Mapping) or not weights:
        raise ParameterError(
            f"weights must be a mapping of values to numbers from 0 to 1, with {OTHERWISE} for all others"
        )
    return read_weights("weights", {sensitive: weights})[sensitive]


def _written_weights(weights: ValueWeights | None) -> dict[str, Any] | None:
    """Return the weights as plain data that is read back the same."""
    if weights is None:
        return None
    plain = (written_weights({"sensitive": weights}) or {})["sensitive"]
    return plain if isinstance(plain, dict) else {OTHERWISE: plain}


def class_condition(limit: ClassLimit) -> ClassCondition | None:
    """Return the recursive diversity that every class needs against k negations.

    n(s0) / (n - n(s1) - ... - n(sk)) < b is recursive (b / (1 - b), k + 2)-diversity. Against implications a class
    depends on all others, but discloses no less than against negations: the condition is necessary. Without suppression
    tagging decides sooner than a count of all nodes.
    """
    if not limit.suppression or limit.options.get("weights") is not None:
        return None
    values = limit.options["knowledge"] + 2
    rule: ClassRule
    if limit.bound == 1:
        if not limit.strict:
            return None
        rule = DistinctDiversity(l=values, column=limit.column)
    else:
        c = limit.bound / (1 - limit.bound)
        if not limit.strict:  # between c and this lies no quotient of two numbers of rows
            c += Fraction(1, c.denominator * (limit.rows + 1))
        rule = RecursiveDiversity(c=c, l=values, column=limit.column)
    return ClassCondition(rule=rule, decisive=limit.options.get("attacker") == "negations")


@metric(
    title="maximum disclosure",
    symbols={"k": "knowledge", "c": "below"},
    safer="lower",
    attacker="who knows {quasi_identifiers} of everybody, and as many further facts as the requirement assumes, names "
    "{sensitive} of such a person with a probability that reaches {limit}",
    remedy="merge classes by generalizing a quasi-identifier further, suppress the most exposed classes, or publish "
    "the table in buckets",
    paper="Martin, Kifer, Machanavajjhala, Gehrke, Halpern 2007",
    axis="highest probability of naming {sensitive} in the class",
    picture="disclosure_curve",
    shows="An attacker who knows everybody's class, and as many further facts as stated, whichever those are, cannot "
    "name the sensitive value of any person with the limit's probability.",
    hides="What more facts, or facts of another kind, would give away; that is what the curve is for. Nor what the "
    "values mean: three kinds of cancer count as three values.",
    counts_people="one_class",
    monotone=True,
    class_wise=True,
    class_rule=class_condition,
    alone={"attacker": "negations"},
    smallest=0,
    largest=1,
    check=require_attacker,
    writes={"weights": _written_weights},
)
def maximum_disclosure(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    knowledge: int,
    attacker: Attacker = "implications",
    weights: ValueWeights | None = None,
) -> DisclosureMeasurement:
    """Return the highest probability with which an attacker can name one person's sensitive value.

    The attacker knows everybody's class and `knowledge` facts of their choice. `implications`: "if these people have
    these values, then one of those people has one of those"; the maximum is 1 / (1 + r), r the least of (n_j / n_j(s0))
    times the product of m_b(a_b) over target classes j and ways to spread knowledge + 1 atoms over the classes, one of
    them at least in j; m_b(a) is the least probability that a atoms of class b are all false. `negations`: "this
    person does not have this value"; the maximum over classes of n(s0) / (n - n(s1) - ... - n(sk)). Below c it is
    (c, k)-safety, which is strict: `below`. Recursive (c, l)-diversity is safety below c / (c + 1) against l - 2
    negations. `weights`: {value: weight, "otherwise": weight}, from 0 (harmless) to 1 (the default): the value is then
    the maximum of weight times probability over people and values, exact for every value (`weighted_disclosure` has the
    proof); at most 20 implications. A weighted value that does not occur may be misspelled: values without a weight of
    their own then have at least its weight, and a note says so. Martin et al. 2007, section 3, with these errata:
    Lemma 12 lost its reciprocal, MINIMIZE2 starts with the target not placed, formula (2) is clipped at 0 and names at
    most n people of a class.

    The value and the witness are exact fractions; if too many classes tie up to rounding to be compared, the value
    has an error bound and a note. The spread holds the same maximum for each class's own people, rounded up.
    `details["curves"]`: both attackers, for 0 to `knowledge` facts; `details["least_entropy"]`: of all classes, natural
    logarithm; `details["entropy_bands"]`: classes by entropy, and the highest value among them. A missing value is a
    value. Needs one row per person. Cost: a few passes over the distinct histograms, each of knowledge^2 log(knowledge)
    steps a class.

    >>> rows = [("m", d) for d in ("flu", "flu", "lung", "lung", "heart")]
    >>> table = FrequencyTable.from_rows(["sex", "disease"], rows)
    >>> found = maximum_disclosure(table, quasi_identifiers=["sex"], sensitive="disease", knowledge=1)
    >>> found.value, found.curve
    (Fraction(2, 3), (Fraction(2, 5), Fraction(2, 3)))
    >>> found.witness.sentences()
    ['person 1 of class 1 does not have the 2nd most frequent value of the class']
    >>> found.witness.sentences(reveal=True)
    ['person 1 of class 1 (sex m) does not have lung']
    """
    require_attacker(knowledge, attacker, weights)
    table.require_one_row_a_person("maximum disclosure")
    histograms = table.histograms(quasi_identifiers, sensitive)
    by_value = _read_weights(weights, sensitive)
    if by_value is None:
        absent, found = 0, (_implications if attacker == "implications" else _negations)(histograms, knowledge)
    else:
        weighed, absent = spread_worst_weights("weights", sensitive, histograms.dictionary, by_value, Fraction(1))
        found = _weighted(histograms, knowledge, attacker, tuple(weighed))
    classes = histograms.classes
    entropies = _entropies(histograms)
    return DisclosureMeasurement(
        metric="maximum_disclosure",
        value=found.curves[attacker][-1],
        parameters={
            "quasi_identifiers": list(quasi_identifiers),
            "sensitive": sensitive,
            "knowledge": knowledge,
            "attacker": attacker,
            **({} if weights is None else {"weights": "by value"}),
        },
        rows=table.rows,
        classes=classes.number,
        error=found.error,
        spread=Spread(values=np.minimum(found.values + found.rounding, 1.0), people=classes.people),
        worst=worst_classes(histograms.table, histograms.classes, found.values, lowest_first=False),
        details={
            "curves": found.curves,
            "least_entropy": float(entropies.min()),
            "entropy_bands": _bands(entropies, found.values, classes),
        },
        notes=(
            *(("too many classes tie for an exact comparison; the value has an error bound",) if found.error else ()),
            *((_ABSENT.format(number=absent),) if absent else ()),
        ),
        witness=Witness(
            attacker=attacker,
            sensitive=sensitive,
            target=_claim(histograms, found.values, found.target),
            facts=tuple(_claim(histograms, found.values, atom) for atom in found.facts),
            probability=found.probability,
            weight=found.weight,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The result for one attacker: curves, each class's value within `rounding`, worst knowledge."""

    curves: dict[str, Curve]
    values: Floats
    target: "Atom"
    facts: "tuple[Atom, ...]"
    probability: Fraction
    rounding: float = 0.0
    error: float = 0.0
    weight: Fraction = Fraction(1)


def _implications(histograms: Histograms, knowledge: int) -> _Found:
    from privacy_plugin.metrics.maximum_disclosure.disclosure import (
        disclosure_curve,
        disclosure_error,
        disclosures_of,
        negations_of,
    )
    from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import solve
    from privacy_plugin.metrics.maximum_disclosure.histograms import distinct_histograms

    facts = _relevant_facts(histograms, knowledge)
    buckets: dict[str, Any] = {"offsets": histograms.offsets, "value_counts": histograms.counts}
    distinct = distinct_histograms(**buckets, width=facts + 1)
    curve: Curve
    curve, witness, plain = solve(distinct, value_counts=histograms.counts)
    rounding = disclosure_error(knowledge=facts)
    if not witness.is_maximum:
        curve = tuple(disclosure_curve(**buckets, knowledge=facts)[0].tolist())
    return _Found(
        curves={
            "implications": _continued(curve, knowledge),
            "negations": _continued(negations_of(distinct), knowledge),
        },
        values=disclosures_of(distinct, plain),
        target=witness.target,
        facts=witness.antecedents,
        probability=witness.disclosure,
        rounding=rounding,
        error=0.0 if witness.is_maximum else rounding,
    )


def _negations(histograms: Histograms, knowledge: int) -> _Found:
    from privacy_plugin.metrics.maximum_disclosure.disclosure import class_negations
    from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import Atom

    curve = _negation_curve(histograms, knowledge)
    tops, bottoms = class_negations(offsets=histograms.offsets, value_counts=histograms.counts, knowledge=knowledge)
    values = tops / bottoms
    candidates = np.flatnonzero(values == float(curve[-1])).tolist()  # both are rounded once, and alike
    worst = next(index for index in candidates if Fraction(int(tops[index]), int(bottoms[index])) == curve[-1])
    start, stop = histograms.offsets[worst], histograms.offsets[worst + 1]
    by_frequency = np.argsort(-histograms.counts[start:stop], kind="stable").tolist()
    return _Found(
        curves={"implications": _implication_curve(histograms, knowledge), "negations": curve},
        values=values,
        target=Atom(worst, 0, by_frequency[0]),
        facts=tuple(Atom(worst, 0, value) for value in by_frequency[1 : knowledge + 1]),
        probability=Fraction(int(tops[worst]), int(bottoms[worst])),
    )


def _weighted(histograms: Histograms, knowledge: int, attacker: Attacker, weights: tuple[Fraction, ...]) -> _Found:
    from privacy_plugin.metrics.maximum_disclosure.disclosure import disclosure_error
    from privacy_plugin.metrics.maximum_disclosure.weighted_disclosure import (
        LARGEST_KNOWLEDGE,
        weighted_implications,
        weighted_negations,
    )

    facts = min(knowledge, _fewest_values(histograms))
    if attacker == "implications" and facts > LARGEST_KNOWLEDGE:
        raise TooLargeError(
            f"with weights, knowledge is computed up to {LARGEST_KNOWLEDGE} implications, not {knowledge}"
        )
    curves: dict[str, Curve] = {"implications": ()}
    negations = weighted_negations(histograms, weights, knowledge=knowledge)
    curves["negations"], found = negations.curve, negations
    if facts <= LARGEST_KNOWLEDGE:
        implications = weighted_implications(histograms, weights, facts=facts)
        # With as many facts as a class has values, everybody's value is disclosed: also the worst that occurs.
        worst = max(weights[value] for value in np.unique(histograms.values).tolist())
        curves["implications"] = implications.curve + (worst,) * (knowledge - facts)
        found = implications if attacker == "implications" else negations
    rounding = disclosure_error(knowledge=facts)
    return _Found(
        curves=curves,
        values=found.values,
        target=found.target,
        facts=found.facts,
        probability=found.probability,
        weight=found.weight,
        rounding=rounding,
        error=0.0 if found.is_maximum else rounding,
    )


def _implication_curve(histograms: Histograms, knowledge: int) -> Curve:
    """Return the other attacker's curve in floating point; empty where it would take too long."""
    from privacy_plugin.metrics.maximum_disclosure.disclosure import disclosure_curve

    facts = min(knowledge, _fewest_values(histograms))
    if facts > _MOST_COMPUTED:
        return ()
    curve, _ = disclosure_curve(offsets=histograms.offsets, value_counts=histograms.counts, knowledge=facts)
    return _continued(tuple(curve.tolist()), knowledge)


def _negation_curve(histograms: Histograms, knowledge: int) -> Curve:
    from privacy_plugin.metrics.maximum_disclosure.disclosure import negation_curve

    facts = min(knowledge, _fewest_values(histograms))
    curve = negation_curve(offsets=histograms.offsets, value_counts=histograms.counts, knowledge=facts)
    return _continued(curve, knowledge)


def _relevant_facts(histograms: Histograms, knowledge: int) -> int:
    """Return how many facts can matter.

    With all values of a class but the target's denied, the value is disclosed. With one more fact, that holds for every
    person in the table, of any class.
    """
    facts = min(knowledge, _fewest_values(histograms))
    if facts > _MOST_COMPUTED:
        raise TooLargeError(
            f"every class has more than {_MOST_COMPUTED} values; knowledge is computed up to {_MOST_COMPUTED} facts "
            f"there, not {knowledge}"
        )
    return facts


def _fewest_values(histograms: Histograms) -> int:
    return int(np.diff(histograms.offsets).min())


def _continued(curve: Curve, knowledge: int) -> Curve:
    """Extend a curve by 1: further facts change nothing once a value is disclosed."""
    return curve + (Fraction(1),) * (knowledge + 1 - len(curve))


def _entropies(histograms: Histograms) -> Floats:
    """Return the entropy of the sensitive values of every class."""
    counts, sizes = histograms.counts.astype(np.float64), histograms.classes.sizes.astype(np.float64)
    weighted = np.add.reduceat(counts * np.log(counts), histograms.offsets[:-1])
    return np.maximum(np.log(sizes) - weighted / sizes, 0.0)


def _bands(entropies: Floats, values: Floats, classes: Classes) -> list[dict[str, float]]:
    """Count classes and people, with the highest disclosure, in equally wide bands of entropy."""
    edges = np.linspace(0.0, max(float(entropies.max()), 1.0), _BANDS + 1)
    band = np.clip(np.searchsorted(edges, entropies, side="right") - 1, 0, _BANDS - 1)
    repeats = np.ones(len(classes), dtype=np.int64) if classes.repeats is None else classes.repeats
    found = []
    for number in np.unique(band).tolist():
        inside = band == number
        found.append(
            {
                "from": float(edges[number]),
                "to": float(edges[number + 1]),
                "classes": int(repeats[inside].sum()),
                "people": int(classes.people[inside].sum()),
                "highest": float(values[inside].max()),
            }
        )
    return found


def _claim(histograms: Histograms, values: Floats, atom: "Atom") -> Claim:
    """Describe an atom by numbers: its class by the rank in `worst`, its value by the rank in the class."""
    sizes, own, people = histograms.classes.sizes, atom.bucket, histograms.classes.sizes[atom.bucket]
    level = values == values[own]
    before = (values > values[own]) | (level & (sizes < people))
    before[:own] |= level[:own] & (sizes[:own] == people)
    counts = histograms.counts[histograms.offsets[own] : histograms.offsets[own + 1]]
    held = counts[atom.value]
    repeats = histograms.classes.repeats
    return Claim(
        class_rank=int(before.sum() if repeats is None else repeats[before].sum()) + 1 + atom.copy,
        people=int(people),
        person=atom.person + 1,
        value_rank=int((counts > held).sum() + (counts[: atom.value] == held).sum()) + 1,
        value=histograms.dictionary[histograms.values[histograms.offsets[own] + atom.value]],
        members=class_members(histograms.table, histograms.classes, own),
    )
