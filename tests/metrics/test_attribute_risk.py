"""Attribute risk and covers of people with several rows: worked examples, worlds, monotonicity."""

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.value_sets import smallest_cover
from tests.oracles.people import cover, largest_share, unlinked_risk

ROLES: dict[str, Any] = {"quasi_identifiers": ["q"], "sensitive": "s", "unit": "person"}


def visits(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["person", "q", "s"])


def risk(*rows: tuple[str, str, str], **options: Any) -> Any:
    return pp.attribute_risk(visits(*rows), **ROLES, **options).value


def diversity(*rows: tuple[str, str, str], **options: Any) -> Any:
    return pp.l_diversity(visits(*rows), **ROLES, **options).value


def test_a_value_that_everybody_has_is_certain_however_many_others_there_are() -> None:
    rows = [("A", "x", v) for v in ("flu", "acne", "gout", "cold", "mumps")] + [("B", "x", "flu"), ("C", "x", "flu")]
    assert diversity(*rows) == 1
    assert risk(*rows) == 1
    assert pp.l_diversity(visits(*rows), quasi_identifiers=["q"], sensitive="s").value == 5  # by rows it looks safe


def test_equal_rows_of_a_person_count_once() -> None:
    assert risk(*[("A", "x", "flu")] * 9, ("B", "x", "cold")) == Fraction(1, 2)


def test_people_in_two_classes_are_judged_by_all_their_rows() -> None:
    """One half in each class is three quarters together; by the sequence A is alone."""
    rows = [("A", "x", "flu"), ("B", "x", "cold"), ("A", "y", "gout"), ("C", "y", "flu")]
    assert unlinked_risk(rows, same_sequence=False) == Fraction(3, 4)
    assert risk(*rows) == 1
    one_row = pp.attribute_risk(visits(*rows), **ROLES, count="people")
    assert one_row.value == Fraction(1, 2)
    assert "one row of a person only" in one_row.reason
    assert pp.k_anonymity(visits(*rows), quasi_identifiers=["q"], unit="person").value == 1
    assert pp.k_anonymity(visits(*rows), quasi_identifiers=["q"], unit="person", count="people").value == 2


def test_rows_that_cannot_be_linked_are_dealt_anew() -> None:
    """Both are in both classes, and one of two has flu twice: half of the people, but three of four worlds."""
    rows = [("A", "x", "flu"), ("A", "y", "flu"), ("B", "x", "cold"), ("B", "y", "gout")]
    assert largest_share(rows, "sequences") == Fraction(1, 2)
    assert risk(*rows) == unlinked_risk(rows, same_sequence=True) == Fraction(3, 4)


def test_merging_classes_is_not_monotone_where_people_are_in_two() -> None:
    split = [("A", "x", "v"), ("B", "x", "w"), ("B", "y", "v"), ("C", "y", "w")]
    merged = [(person, "*", value) for person, _, value in split]
    assert risk(*split, count="people") == Fraction(1, 2)
    assert risk(*merged, count="people") == Fraction(2, 3)
    spread = [("A", "x", "a"), ("B", "x", "b"), ("A", "y", "b"), ("B", "y", "a")]
    assert diversity(*spread, count="people") == 2
    assert diversity(*[(person, "*", value) for person, _, value in spread], count="people") == 1


ROWS = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from("xy"), st.sampled_from("uvw")), min_size=1, max_size=8
)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_every_value_is_that_of_the_worlds(rows: list[tuple[str, str, str]]) -> None:
    linked, dealt = largest_share(rows, "sequences"), unlinked_risk(rows, same_sequence=True)
    assert risk(*rows) == max(linked, dealt, unlinked_risk(rows, same_sequence=False))
    assert risk(*rows, count="people") == largest_share(rows, "people")
    for count in ("sequences", "people"):
        assert diversity(*rows, count=count) == cover(rows, count)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABCDEF"), st.sampled_from("uvw")), min_size=1, max_size=12))
def test_merging_classes_is_monotone_where_nobody_is_in_two(rows: list[tuple[str, str]]) -> None:
    split = [(person, "x" if person < "D" else "y", value) for person, value in rows]
    merged = [(person, "*", value) for person, value in rows]
    assert risk(*merged) <= risk(*split)
    assert diversity(*merged) >= diversity(*split)


def test_members_of_a_set_are_judged() -> None:
    frame = pd.DataFrame({"q": ["x"] * 3, "s": ["cold|flu", "flu|gout", "acne|flu"]})
    roles: dict[str, Any] = {"quasi_identifiers": ["q"], "sensitive": "s"}
    assert pp.l_diversity(frame, **roles).value == 3
    assert pp.l_diversity(frame, **roles, separator="|").value == 1
    assert pp.attribute_risk(frame, **roles, separator="|").value == 1


def test_metrics_of_one_value_name_the_number_of_people() -> None:
    rows = visits(("A", "x", "u"), ("A", "x", "v"), ("B", "x", "u"))
    for metric, options in ((pp.t_closeness, {}), (pp.l_diversity, {"variant": "entropy"})):
        with pytest.raises(ParameterError, match=r"1 people have several values .* attribute_risk"):
            metric(rows, **ROLES, **options)
    with pytest.raises(ParameterError, match="1 people have several values"):
        pp.maximum_disclosure(rows, **ROLES, knowledge=1)
    moved = visits(("A", "x", "u"), ("A", "y", "u"), ("B", "x", "u"))
    with pytest.raises(ParameterError, match="one class, but 1 people have rows in several"):
        pp.maximum_disclosure(moved, **ROLES, knowledge=1)
    once = visits(("A", "x", "u"), ("A", "x", "u"), ("B", "x", "v"))
    by_people = once.drop_duplicates()
    for metric, options in (
        (pp.t_closeness, {}),
        (pp.l_diversity, {"variant": "entropy"}),
        (pp.maximum_disclosure, {"knowledge": 1}),
    ):
        plain = metric(by_people, quasi_identifiers=["q"], sensitive="s", **options).value
        assert metric(once, **ROLES, **options).value == plain


def test_presence_counts_people() -> None:
    table = visits(("A", "x", "u"), ("A", "x", "v"), ("B", "y", "u"))
    population = pd.DataFrame({"person": list("AABBCD"), "q": list("xxyyxy")})
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "population": population, "unit": "person"}
    assert pp.delta_presence(table, **asked).maximum == Fraction(1, 2)
    assert pp.k_map(table, **asked).value == 2
    assert pp.journalist_risk(table, **asked).value == Fraction(1, 2)
    asked["population"] = population.assign(q=list("xyyyxy"))
    with pytest.raises(ParameterError, match="1 people of the population have rows in several"):
        pp.delta_presence(table, **asked)


def test_a_cover_that_takes_too_long_is_a_lower_bound() -> None:
    sets = [{i, (i * 7 + 3) % 60, (i * 11 + 5) % 60} for i in range(60)]
    size, exactly = smallest_cover(sets)
    assert not exactly
    assert 1 < size <= 20
