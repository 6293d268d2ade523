"""Random classes and what is asked of them, and the truth by exact fractions."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from privacy_plugin.metrics.presence.by_moments import exact_mean
from privacy_plugin.metrics.presence.outsiders import Question
from tests.oracles import presence as oracle

shares = st.fractions(0, 1, max_denominator=20)
deltas = st.tuples(shares, shares).map(sorted)


@st.composite
def classes(draw: st.DrawFn, most_others: int, most_attributes: int = 4) -> tuple[list[int], int]:
    others = draw(st.integers(1, most_others))
    return draw(st.lists(st.integers(0, others), min_size=1, max_size=most_attributes)), others


@st.composite
def questions(draw: st.DrawFn, most_others: int) -> Question:
    """A class with a range of counts around what is likely."""
    marginals, others = draw(classes(most_others))
    around = Question(marginals=tuple(sorted(marginals)), others=others, first=0, last=0)
    middle = int(exact_mean(around))
    first = max(0, middle - draw(st.integers(0, 12)) + 4)
    return Question(
        marginals=around.marginals, others=others, first=first, last=first + draw(st.sampled_from([0, 3, 9, others]))
    )


def probability(question: Question) -> Fraction:
    found = oracle.distribution_by_recursion(list(question.marginals), question.others)
    return sum((chance for x, chance in found.items() if question.first <= x <= question.last), Fraction(0))


def assert_holds(bounds: tuple[Any, Any], truth: Fraction) -> None:
    assert Fraction(bounds[0]) <= truth <= Fraction(bounds[1])
