"""The confidence of delta-presence as an exact fraction, by the recursion of the paper."""

from fractions import Fraction
from math import comb

from privacy_plugin.errors import TooLargeError
from privacy_plugin.metrics.presence.outsiders import Question, question_of, validated_classes

WORK_LIMIT = 300_000
"""Most terms of the recursion, over all attributes of a class, that are added up."""


def exact_presence_confidence(
    *,
    marginals: object,
    research_count: object,
    others: int,
    delta_low: object,
    delta_high: object,
    limit: int = WORK_LIMIT,
) -> tuple[Fraction, ...]:
    """Return per class the probability that it is delta-present, when only attribute distributions are known.

    l^1 is a point mass at f_1; l^i_x = sum over y >= 0 of l^{i-1}_y C(y, x) C(U - y, f_i - x) / C(U, f_i);
    the confidence adds up l^n over the allowed x. Nergiz and Clifton, section 4.2; erratum: y = 0 belongs
    to the sum. One class is a row of marginals, many classes a matrix. `others` is U, the people outside
    the research table. TooLargeError beyond `limit` terms. Cost: O(attributes * smallest marginal**2) on
    long integers.

    >>> exact_presence_confidence(
    ...     marginals=[[3, 3, 3], [1, 1, 1]], research_count=[1, 1], others=4, delta_low=0.33, delta_high=1
    ... )
    (Fraction(15, 16), Fraction(1, 1))
    """
    classes = validated_classes(
        marginals=marginals,
        research_count=research_count,
        others=others,
        delta_low=delta_low,
        delta_high=delta_high,
    )
    questions = [question_of(classes, index) for index in range(classes.research.size)]
    solved = {question: _confidence(question, limit) for question in set(questions)}
    return tuple(solved[question] for question in questions)


def _confidence(question: Question, limit: int) -> Fraction:
    if question.certain is not None:
        return Fraction(int(question.certain))
    terms = (len(question.marginals) - 1) * (question.marginals[0] + 1) ** 2
    if terms > limit:
        raise TooLargeError(
            f"the exact confidence of a class takes up to {terms} terms, more than limit={limit}; "
            "raise limit or use presence_confidence_bounds, which states how exact it is"
        )
    ways = {question.marginals[0]: 1}
    total = 1
    for marked in question.marginals[1:]:
        ways = _next_stage(ways, marked, question.others)
        total *= comb(question.others, marked)
    return Fraction(sum(ways.get(x, 0) for x in range(question.first, question.most + 1) if x <= question.last), total)


def _next_stage(ways: dict[int, int], marked: int, others: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for drawn, count in ways.items():
        for x in range(max(0, drawn + marked - others), min(drawn, marked) + 1):
            found[x] = found.get(x, 0) + count * comb(drawn, x) * comb(others - drawn, marked - x)
    return found
