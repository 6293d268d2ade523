"""Labels that mean different groups on different levels: refused wherever people are counted by them."""

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, ParameterError, PrivacyPluginError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.metrics.presence.delta_presence import delta_presence
from privacy_plugin.metrics.presence.presence_confidence import presence_confidence
from tests.metrics.presence_labels import LEAVES, Path, at_level, hierarchies
from tests.oracles import population as oracle

COLUMNS = ["one", "two"]

# The table's one row is of one person; nine others share its label on some other level only.
HIDDEN = [
    pytest.param({"a": ("x", "x", "*"), "b": ("y", "x", "*")}, "x", id="a label that grows"),
    pytest.param({"x": ("y", "*"), "b": ("x", "*")}, "x", id="an original value"),
    pytest.param({"a": ("*", "*"), "b": ("y", "*")}, "*", id="suppressed before the last level"),
    pytest.param({"*": ("*",), "b": ("*",)}, "*", id="suppressed in the population"),
]
MIXED = [("5", 5), (5, "5"), ("true", True), (True, "true")]


@pytest.mark.parametrize(("paths", "shown"), HIDDEN)
def test_one_person_does_not_hide_behind_others_of_the_same_label(paths: dict[str, Path], shown: str) -> None:
    ours, others = paths
    hierarchies = {"v": TableHierarchy(paths)}
    visits, register = pd.DataFrame({"v": [shown]}), pd.DataFrame({"v": [ours] + [others] * 9})
    compared: dict[str, Any] = {"quasi_identifiers": ["v"], "hierarchies": hierarchies}
    for metric in (pp.delta_presence, pp.k_map, pp.journalist_risk):
        with pytest.raises(HierarchyError, match="one label for different groups"):
            metric(visits, population=register, **compared)
    known: dict[str, Any] = {"marginals": {"v": {ours: 1, others: 9}}, "population_size": 10, "delta": (0, 0.5)}
    with pytest.raises(HierarchyError, match="one label for different groups"):
        pp.presence_confidence(visits, **known, **compared)
    finding = pp.require("delta_presence", between=(0, 0.5), hierarchies=hierarchies).judge(
        visits, quasi_identifiers=["v"], population=register
    )
    assert finding.status == "not_evaluated"


@pytest.mark.parametrize(("ours", "others"), MIXED)
def test_one_person_does_not_hide_behind_others_whose_value_has_the_same_text(ours: Any, others: Any) -> None:
    hierarchies = {"v": TableHierarchy({others: ("low", "*")})}
    visits, register = (pd.DataFrame({"v": pd.Series(v, dtype=object)}) for v in ([ours], [ours] + [others] * 9))
    compared: dict[str, Any] = {"population": register, "quasi_identifiers": ["v"]}
    assert pp.delta_presence(visits, **compared).maximum == 1
    for metric in (pp.delta_presence, pp.k_map, pp.journalist_risk):
        with pytest.raises(HierarchyError, match="one label for different groups"):
            metric(visits, **compared, hierarchies=hierarchies)
    general = visits.assign(v="low")
    assert pp.delta_presence(general, **compared, hierarchies=hierarchies).maximum == Fraction(1, 10)


def test_people_who_are_suppressed_in_the_marginals_are_not_everybody() -> None:
    visits = pd.DataFrame({"v": ["*"]})
    known: dict[str, Any] = {"quasi_identifiers": ["v"], "population_size": 10, "delta": (0, 0.5)}
    with pytest.raises(ParameterError, match="suppressed in the table, but of some people only"):
        pp.presence_confidence(visits, marginals={"v": {"*": 1, "b": 9}}, **known)
    assert pp.presence_confidence(visits, marginals={"v": {"*": 10}}, **known).value == 1
    assert pp.presence_confidence(visits, marginals={"v": {"*": 0, "b": 10}}, **known).value == 1


def test_a_label_that_stays_the_same_group_is_accepted() -> None:
    alike = TableHierarchy({"a": ("a", "u", "*"), "b": ("b", "u", "*"), "c": ("c", "c", "*")})
    register = pd.DataFrame({"v": ["a"] * 4 + ["b"] * 4 + ["c"] * 2})
    for shown, people in (("a", 4), ("u", 8), ("c", 2), ("*", 10)):
        found = pp.k_map(
            pd.DataFrame({"v": [shown]}), population=register, quasi_identifiers=["v"], hierarchies={"v": alike}
        )
        assert found.value == people


people = st.tuples(*[st.sampled_from([*LEAVES, None, "*"])] * 2)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(data=st.data(), given_paths=st.tuples(hierarchies(), hierarchies()))
def test_never_safer_than_the_table_and_the_population_generalized_alike(data: st.DataObject, given_paths: Any) -> None:
    """With any labels: an error, or the value of both tables on the table's levels."""
    population = data.draw(st.lists(people, min_size=1, max_size=10))
    inside = data.draw(st.lists(st.booleans(), min_size=len(population), max_size=len(population)))
    table = [person for person, chosen in zip(population, inside, strict=True) if chosen]
    assume(table)
    levels = [data.draw(st.integers(0, len(paths["a"]))) for paths in given_paths]

    def generalized(rows: Any) -> list[Any]:
        return [tuple(at_level(v, p, n) for v, p, n in zip(row, given_paths, levels, strict=True)) for row in rows]

    known = {name: TableHierarchy(paths) for name, paths in zip(COLUMNS, given_paths, strict=True)}
    shown = FrequencyTable.from_rows(COLUMNS, generalized(table))
    everybody = FrequencyTable.from_rows(COLUMNS, population)
    expected = oracle.presence(generalized(table), generalized(population))
    try:
        found = delta_presence(shown, quasi_identifiers=COLUMNS, population=everybody, hierarchies=known)
    except PrivacyPluginError:
        return
    assert (found.minimum, found.maximum) == (min(expected), max(expected))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(data=st.data(), paths=hierarchies())
def test_confidence_counts_the_people_of_the_tables_level_or_raises(data: st.DataObject, paths: Any) -> None:
    population = data.draw(st.lists(st.sampled_from(LEAVES), min_size=2, max_size=9))
    size, level = data.draw(st.integers(1, len(population) - 1)), data.draw(st.integers(0, len(paths["a"])))
    rows = [at_level(value, paths, level) for value in population]
    marginals = {"v": {leaf: population.count(leaf) for leaf in sorted({*population})}}
    try:
        found = presence_confidence(
            FrequencyTable.from_rows(["v"], [(row,) for row in rows[:size]]),
            quasi_identifiers=["v"],
            marginals=marginals,
            population_size=len(population),
            delta=(0, Fraction(1, 2)),
            hierarchies={"v": TableHierarchy(paths)},
        )
    except PrivacyPluginError:
        return
    shares = [Fraction(rows[:size].count(row), rows.count(row)) for row in rows[:size]]
    assert found.value == int(max(shares) <= Fraction(1, 2))  # with one attribute everything is known
