"""k-map against the definition: how many people of the population a row could belong to."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.k_map import k_map
from tests.metrics.populations import COLUMNS, HIERARCHIES, PATHS, at_levels, drawn, table_of
from tests.oracles import population as oracle


@settings(deadline=None, derandomize=True, max_examples=80)
@given(both=drawn(), at=st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_every_row_of_the_table(both: Any, at: tuple[int, int]) -> None:
    table, population = both
    general = at_levels(table, at)
    found = k_map(
        table_of(general), quasi_identifiers=COLUMNS, population=table_of(population), hierarchies=HIERARCHIES
    )
    expected = oracle.candidates(general, population, PATHS)
    assert found.value == min(expected)
    assert sorted(found.spread.values.repeat(found.spread.people)) == sorted(expected)
    alike = k_map(table_of(general), quasi_identifiers=COLUMNS, population=table_of(at_levels(population, at)))
    assert (alike.value, alike.exact) == (found.value, True)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(both=drawn())
def test_never_below_k_anonymity_and_equal_where_the_table_is_the_population(both: Any) -> None:
    table, population = both
    k = pp.k_anonymity(table_of(table), quasi_identifiers=COLUMNS).value
    assert pp.k_map(table_of(table), quasi_identifiers=COLUMNS, population=table_of(population)).value >= k
    assert pp.k_map(table_of(table), quasi_identifiers=COLUMNS, population=table_of(table)).value == k


def test_one_row_may_hide_among_many_people() -> None:
    register = pd.DataFrame({"age": [30] * 11 + [41] * 5, "city": "Bern"})
    for age, people in ((30, 11), (41, 5)):
        visits = pd.DataFrame({"age": [age], "city": "Bern"})
        found = pp.k_map(visits, quasi_identifiers=COLUMNS, population=register)
        assert (found.value, found.rows, found.details["population"]) == (people, 1, 16)
        finding = pp.require("k_map", at_least=11).judge(visits, quasi_identifiers=COLUMNS, population=register)
        assert finding.passed is (people == 11)


def test_a_row_outside_the_population_raises() -> None:
    with pytest.raises(ParameterError, match="1 of the table's 1 classes"):
        k_map(table_of([(41, "Bern")]), quasi_identifiers=COLUMNS, population=table_of([(30, "Bern")]))
