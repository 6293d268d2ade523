"""Confidence of delta-presence against every world that has the known attribute distributions."""

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.metrics.presence.presence_confidence import presence_confidence
from tests.oracles import population as oracle

GROUPS = {1: "low", 2: "low", 3: "high"}
HIERARCHY = TableHierarchy({value: (group, "*") for value, group in GROUPS.items()})
shares = st.fractions(0, 1, max_denominator=6)
deltas = st.tuples(shares, shares).map(sorted)


def shown_at(levels: tuple[int, ...]) -> Any:
    return lambda column, value: (value, GROUPS[value], "*")[levels[column]]


def confidence_of(rows: Any, **options: Any) -> Any:
    columns = [f"c{i}" for i in range(len(rows[0]))]
    table = FrequencyTable.from_rows(columns, rows)
    return presence_confidence(table, quasi_identifiers=columns, **options)


def named(marginals: list[Counter[Any]]) -> dict[str, dict[Any, int]]:
    return {f"c{i}": dict(counts) for i, counts in enumerate(marginals)}


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[Counter[int]], int]:
    """A small research table, the population's attribute distributions, and its size."""
    columns = draw(st.integers(1, 3))
    rows = st.tuples(*[st.sampled_from(list(GROUPS))] * columns)
    table = draw(st.lists(rows, min_size=1, max_size=3))
    others = draw(st.lists(rows, min_size=0, max_size=4))
    return table, [Counter(row[i] for row in (*table, *others)) for i in range(columns)], len(table) + len(others)


def test_worked_example_of_the_paper() -> None:
    """Section 4: U = 4, marginals (3, 3, 3) and (1, 1, 1) outside the table, delta (0.33, 1)."""
    rows = [(1, 1, 1), (2, 2, 2)]
    marginals = named([Counter({1: 2, 2: 4})] * 3)
    found = confidence_of(rows, marginals=marginals, population_size=6, delta=(0.33, 1))
    assert (found.value, found.error, found.exact) == (Fraction(15, 16), 0.0, True)
    assert sorted(found.spread.values.tolist()) == [pytest.approx(15 / 16, abs=1e-9), 1.0]
    assert confidence_of(rows[:1], marginals=marginals, population_size=6, delta=(0.33, 1)).value == 1
    assert found.details["uncovered_possible_tuples"] == 6  # two of the eight tuples are covered
    assert "6 possible combinations" in found.notes[0]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(situation=situations(), delta=deltas, data=st.data())
def test_every_world(situation: Any, delta: list[Fraction], data: st.DataObject) -> None:
    """The share of worlds in which the worst class is delta-present, at any generalization."""
    table, marginals, people = situation
    levels = tuple(data.draw(st.integers(0, 2)) for _ in marginals)
    group = shown_at(levels)
    published = [tuple(group(i, value) for i, value in enumerate(row)) for row in table]
    found = confidence_of(
        published,
        marginals=named(marginals),
        population_size=people,
        delta=delta,
        hierarchies={f"c{i}": HIERARCHY for i in range(len(marginals))},
    )
    assert found.value == oracle.confidence(table, marginals, people, *delta, group)
    assert found.details["uncovered_possible_tuples"] == oracle.uncovered_tuples(table, marginals, group)
    assert found.details["possible_tuples"] >= found.details["uncovered_possible_tuples"]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(situation=situations(), delta=deltas)
def test_never_optimistic_and_exact_up_to_the_stated_error(situation: Any, delta: list[Fraction]) -> None:
    """Without the exact path: the lower end is below the truth, the upper end above it, close together."""
    table, marginals, people = situation
    given: dict[str, Any] = {"marginals": named(marginals), "population_size": people, "delta": delta}
    exact = confidence_of(table, **given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacy_plugin.metrics.presence.presence_confidence._EXACT_UP_TO", -1)
        found = confidence_of(table, **given)
    assert found.lowest <= exact.value <= found.highest
    assert found.error < 1e-9


def test_a_hundred_million_people() -> None:
    rows = [(n % 4, n % 3, n % 2, n % 5) for n in range(200)]
    size = 100_000_000
    marginals = {f"c{i}": dict.fromkeys(range(k), size // k) for i, k in enumerate((4, 3, 2, 5))}
    marginals["c1"][0] += size - 3 * (size // 3)
    found = confidence_of(rows, marginals=marginals, population_size=size, delta=(0, 1e-5))
    assert 0 < found.error < 1e-9 or found.value == 1
    assert found.value <= 1
    tight = confidence_of(rows, marginals=marginals, population_size=size, delta=(0, Fraction(4, size // 120)))
    assert 0 < tight.value < 1
    assert tight.lowest <= tight.highest < 1


def test_coverage_can_be_required() -> None:
    rows, marginals = [(1, 1), (2, 2)], named([Counter({1: 2, 2: 2})] * 2)
    given: dict[str, Any] = {"marginals": marginals, "population_size": 4}
    reported = confidence_of(rows, delta=(0.2, 1), **given)
    required = confidence_of(rows, delta=(0.2, 1), coverage="required", **given)
    assert (reported.value, required.value) == (1, 0)
    assert reported.details == required.details
    assert reported.details["uncovered_possible_tuples"] == 2
    assert reported.details["expected_people_uncovered"] == pytest.approx(1)
    assert confidence_of(rows, delta=(0, 1), coverage="required", **given).value == 1
    assert confidence_of(rows, delta=(0, 0.9), **given).notes == ()
    assert "holds for any table" in confidence_of(rows, delta=(0, 1), **given).notes[0]
    covered = confidence_of([(1, 1)] * 2 + [(2, 2)] * 2, delta=(0.2, 1), coverage="required", **given)
    assert (covered.value, covered.details["uncovered_possible_tuples"]) == (1, 0)  # the table is the population


def test_a_generalized_value_has_the_people_of_its_leaves() -> None:
    given: dict[str, Any] = {"population_size": 30, "delta": (0, 0.1), "hierarchies": {"c0": HIERARCHY}}
    by_leaf = confidence_of([("low",)], marginals={"c0": {1: 4, 2: 6, 3: 20}}, **given)
    at_once = confidence_of([("low",)], marginals={"c0": {"low": 10, 3: 20}}, **given)
    everybody = confidence_of([("*",)], marginals={"c0": {1: 4, 2: 6, 3: 20}}, **given)
    assert (by_leaf.value, at_once.value, everybody.value) == (1, 1, 1)
    assert confidence_of([("low",)], marginals={"c0": {1: 4, 2: 5, 3: 21}}, **given).value == 0


def test_values_are_found_by_their_text_because_files_have_text_only() -> None:
    marginals = {"c0": {"1": 4, "3": 6}, "c1": {"true": 5, "False": 5}}
    rows = [(1, True), (3, False)]
    same = {"c0": {1: 4, 3: 6}, "c1": {True: 5, False: 5}}
    given: dict[str, Any] = {"population_size": 10, "delta": (0, 0.5)}
    assert confidence_of(rows, marginals=marginals, **given).value == confidence_of(rows, marginals=same, **given).value
    with pytest.raises(ColumnError, match="look like another value"):
        confidence_of([(1,), ("1",)], marginals={"c0": {1: 4, 3: 6}}, **given)


@pytest.mark.parametrize("twice", [{1: 90, "1": 10}, {None: 90, "": 10}, {True: 90, "True": 10}])
def test_a_value_listed_twice_raises_before_it_is_written(twice: dict[Any, int]) -> None:
    # A policy's suite and a saved plan write values as text, and would keep one of the two counts.
    given: dict[str, Any] = {"population_size": 200, "delta": (0, 0.1)}
    with pytest.raises(ParameterError, match="same text"):
        pp.require("presence_confidence", marginals={"c0": {**twice, 2: 100}}, at_least=0.5, **given)
    rows = [(value,) for value, count in {**twice, 2: 100}.items() for _ in range(count)]
    with pytest.raises(ParameterError, match="same text"):
        confidence_of([(2,)], marginals=FrequencyTable.from_rows(["c0"], rows), **given)


@pytest.mark.parametrize("size", [0, -1, 2**53, 2**70, 10.0, True])
def test_a_population_too_large_for_exact_counts_raises_before_data_is_read(size: Any) -> None:
    with pytest.raises(ParameterError, match="population_size must be a whole number"):
        pp.require("presence_confidence", marginals={"c0": {1: 1}}, population_size=size, delta=(0, 0.1), at_least=0.5)


@pytest.mark.parametrize(
    ("rows", "marginals", "words"),
    [
        ([(1,)] * 3, {"c0": {1: 2, 2: 8}}, "1 of 1 values of column 'c0' have more rows"),
        ([(97131,)], {"c0": {1: 10}}, "1 of 1 values of column 'c0' have more rows"),
        ([(1,), (2,), (2,)], {"c0": {1: 9, 2: 1}}, "1 of 2 values"),
        ([(1,), (1,), (2,)], {"c0": {1: 9, 2: 2}}, "more than population_size"),
        ([("low",), (1,)], {"c0": {1: 5, 2: 5}}, "side by side"),
        ([("low",)], {"c0": {1: 2, 2: 3}}, "do not list everybody"),
        ([(1,)], {"c1": {1: 10}}, "column in marginals"),
        ([(1,)] * 11, {"c0": {1: 10}}, "below the 11 rows"),
        ([(1,)], {}, "marginals must be"),
        ([(1,)], {"c0": {1: 2.5}}, "whole numbers"),
        ([(1,)], {"c0": 3}, "value: count"),
    ],
)
def test_knowledge_that_contradicts_the_table_is_an_error(rows: Any, marginals: Any, words: str) -> None:
    with pytest.raises(pp.PrivacyPluginError, match=words) as raised:
        confidence_of(rows, marginals=marginals, population_size=10, delta=(0, 0.5), hierarchies={"c0": HIERARCHY})
    assert "97131" not in str(raised.value)


def test_marginals_that_list_only_the_tables_values_do() -> None:
    found = confidence_of([(1, 1)], marginals={"c0": {1: 4}, "c1": {1: 4}}, population_size=5, delta=(0.33, 1))
    whole = {"c0": {1: 4, 2: 1}, "c1": {1: 4, 2: 1}}
    assert found.value == confidence_of([(1, 1)], marginals=whole, population_size=5, delta=(0.33, 1)).value
    assert found.details["uncovered_possible_tuples"] is None
    assert "unknown number" in found.notes[0]


def test_marginals_from_a_table_or_frame() -> None:
    register = pd.DataFrame({"age": [30, 30, 30, 41, 41, None], "city": list("aabbab"), "who": range(6)})
    visits = register.iloc[[0, 3]]
    given: dict[str, Any] = {"quasi_identifiers": ["age", "city"], "population_size": 6, "delta": (0, 0.5)}
    marginals = pp.population_marginals(register, columns=["age", "city"])
    assert marginals == {"age": {None: 1, 30: 3, 41: 2}, "city": {"a": 3, "b": 3}}
    by_dict = pp.presence_confidence(visits, marginals=marginals, **given)
    by_table = pp.presence_confidence(visits, marginals=pp.frequency_table(register, ["age", "city"]), **given)
    assert by_dict.value == by_table.value
    assert 0 < by_dict.value < 1
    with pytest.raises(ParameterError, match="population_size"):
        pp.presence_confidence(
            visits, marginals=pp.frequency_table(register, ["age"]), **{**given, "population_size": 7}
        )


def test_a_requirement_shows_no_value_and_is_read_back_the_same(tmp_path: Any) -> None:
    marginals = {"age": {"zq30": 60, "zq41": 40}}
    asked: dict[str, Any] = {"population_size": 100, "delta": (0, "1/3"), "at_least": 0.9}
    requirement = pp.require("presence_confidence", marginals=marginals, **asked)
    assert "zq" not in str(requirement)
    written = json.loads(json.dumps(requirement.to_dict()))
    assert pp.require("presence_confidence", **written["presence_confidence"]).to_dict() == requirement.to_dict()
    table = pd.DataFrame({"age": ["zq30"]})
    finding = requirement.judge(table, quasi_identifiers=["age"])
    assert finding.passed
    assert "zq" not in json.dumps(finding.to_dict())
    (tmp_path / "census.csv").write_text("age;zq30;60\nage;zq41;40\n")
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": "quasi_identifier"},
            "requirements": [{"presence_confidence": {"marginals": {"file": "census.csv"}, **asked}}],
        },
        folder=tmp_path,
    )
    assert policy.requirements[0].to_dict() == requirement.to_dict()
    assert policy.judge(table).passed
    known = pp.frequency_table(pd.DataFrame({"age": ["zq30"] * 6}), ["age"])
    by_table = pp.require("presence_confidence", marginals=known, population_size=6, delta=(0, 1), at_least=0.5)
    assert "zq" not in str(by_table)


@pytest.mark.parametrize("text", ["", "age;30", "age;30;x", "age;30;1\nage;30;2"])
def test_marginal_files_are_checked(tmp_path: Any, text: str) -> None:
    (tmp_path / "census.csv").write_text(text)
    with pytest.raises(ParameterError, match="census"):
        pp.require(
            "presence_confidence",
            marginals={"file": str(tmp_path / "census.csv")},
            population_size=3,
            delta=(0, 1),
            at_least=0.5,
        )


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": (0.5, 0.1)},
        {"delta": 0.5},
        {"delta": (0, 2)},
        {"population_size": 0},
        {"coverage": "maybe"},
        {"marginals": None},
    ],
)
def test_options_are_checked_before_data_is_read(wrong: Any) -> None:
    good: dict[str, Any] = {"marginals": {"age": {1: 1}}, "population_size": 3, "delta": (0, 1), "at_least": 0.5}
    pp.require("presence_confidence", **good)
    with pytest.raises(ParameterError):
        pp.require("presence_confidence", **{**good, **wrong})


def test_bounds_from_acceptable_harm() -> None:
    """Section 6: |T| = 0.04 |P|, a prior of 7% diabetes, at most 1% surer and 2% less sure."""
    low, high = pp.presence_bounds(prior=0.07, gain=0.01, drop=0.02, population_size=10_000, research_size=400)
    assert (round(low, 4), round(high, 4)) == (0.0194, 0.0503)
