"""Journalist risk against the definition: one over the people of the population that share a row's values."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.journalist_risk import journalist_risk
from tests.metrics.populations import COLUMNS, HIERARCHIES, PATHS, at_levels, drawn, table_of
from tests.oracles import population as oracle

levels = st.tuples(st.integers(0, 2), st.integers(0, 2))


def risk_of(table: Any, population: Any, **options: Any) -> Any:
    return journalist_risk(
        table_of(table), quasi_identifiers=COLUMNS, population=table_of(population), hierarchies=HIERARCHIES, **options
    ).value


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    both=drawn(), at=st.tuples(st.integers(0, 2), st.integers(0, 2)), threshold=st.fractions(0, 1, max_denominator=9)
)
def test_every_row_of_the_table(both: Any, at: tuple[int, int], threshold: Fraction) -> None:
    table, population = both
    general = at_levels(table, at)
    risks = [Fraction(1, people) for people in oracle.candidates(general, population, PATHS)]
    assert risk_of(general, population) == max(risks)
    share = risk_of(general, population, variant="share_at_risk", threshold=threshold)
    assert share == Fraction(sum(risk > threshold for risk in risks), len(risks))
    mean = sum(risks, Fraction(0)) / len(risks)
    lookups = [person for person in population if any(oracle.fits(person, row, PATHS) for row in general)]
    assert risk_of(general, population, variant="average") == max(mean, Fraction(len(set(general)), len(lookups)))


@settings(deadline=None, derandomize=True, max_examples=40)
@given(both=drawn())
def test_a_journalist_knows_less_than_a_prosecutor(both: Any) -> None:
    table, population = both
    prosecutor = pp.reidentification_risk(table_of(table), quasi_identifiers=COLUMNS).value
    assert risk_of(table, population) <= prosecutor
    assert risk_of(table, table) == prosecutor
    assert risk_of(at_levels(table, (1, 1)), population) <= risk_of(table, population)


def test_limits_are_exact() -> None:
    population = [(30, "Bern")] * 11 + [(41, "Bern")] * 40
    for limit, passed in (({"at_most": "1/11"}, True), ({"below": "1/11"}, False), ({"at_most": 0.09}, False)):
        finding = pp.require("journalist_risk", **limit).judge(
            table_of([(30, "Bern"), (41, "Bern")]), quasi_identifiers=COLUMNS, population=table_of(population)
        )
        assert finding.passed is passed
    assert finding.people_affected == 1


@pytest.mark.parametrize("wrong", [{"variant": "worst"}, {"threshold": 0.1}, {"variant": "share_at_risk"}])
def test_options_are_checked_before_data_is_read(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        pp.require("journalist_risk", at_most=0.1, **wrong)
