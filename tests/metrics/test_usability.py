"""The usability score against its definition, and what must hold of it whatever the tables are."""

import json
import random
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError, PolicyError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.usability.column_change import root_labels, wiped_out_columns
from privacy_plugin.metrics.usability.compared_tables import covered_leaves
from tests.metrics.released_tables import (
    AGES,
    CITIES,
    COLUMNS,
    HIERARCHIES,
    LOST,
    coarser,
    meaning,
    pairs,
    table_of,
)
from tests.oracles import usability as oracle
from tests.sources.loading import ENGINES, LOADERS, Table


def usability_of(released, original, **options):
    given = {"columns": COLUMNS, "hierarchies": HIERARCHIES} | options
    return pp.usability(table_of(released), original=table_of(original), **given)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(pair=pairs())
def test_the_oracle_finds_the_same(pair):
    original, released = pair
    known = meaning(original)
    found = usability_of(released, original)
    for place, name in enumerate(COLUMNS):
        assert found.columns[name] == oracle.loss(original, released, place, **known, lost=LOST)
        apart = float(oracle.distance(original, released, place, **known))
        assert found.details["distances"][name] == pytest.approx(apart, abs=1e-12)
    values = oracle.dependence(original, released, **known)
    for line, (before, after) in zip(found.details["dependence"], values.values(), strict=True):
        assert (line["before"], line["after"]) == (pytest.approx(before, abs=1e-9), pytest.approx(after, abs=1e-9))
    assert found.query_error == pytest.approx(float(oracle.query_error(original, released, **known)), abs=1e-12)
    expected = oracle.usability(original, released, **known, lost=LOST)
    assert abs(found.value - expected) <= max(found.error, 1e-12)
    assert 0 <= found.value <= 1
    json.dumps(found.to_dict(), allow_nan=False)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(pair=pairs())
def test_the_original_itself_is_as_useful_as_the_original(pair):
    original, _ = pair
    found = usability_of(original, original)
    assert (found.value, found.query_error, found.exact) == (1, 0, True)
    assert set(found.columns.values()) == {0}
    assert pp.require("usability", at_least=1).limit.holds(found)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(pair=pairs())
def test_coarsening_never_lowers_the_loss_of_a_column(pair):
    original, released = pair
    assert usability_of(coarser(original), original).columns["city"] >= 0
    for level in range(CITIES.height):
        finer, rougher = (
            [(row[0], CITIES.generalize(row[1], each), row[2]) for row in original] for each in (level, level + 1)
        )
        before, after = (usability_of(made, original).columns for made in (finer, rougher))
        assert before["city"] <= after["city"]
        assert before["age"] == after["age"]
    fewer = usability_of(released[:1], original).columns
    assert all(loss >= Fraction(len(original) - 1, len(original)) for loss in fewer.values())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(pair=pairs())
def test_neither_the_order_of_rows_nor_of_columns_matters(pair):
    original, released = pair
    found = usability_of(released, original)
    shuffled = random.Random(5).sample(released, len(released))
    again = usability_of(shuffled, original[::-1], columns=["ill", "age", "city"])
    assert (again.value, again.query_error, again.parts) == (found.value, found.query_error, found.parts)
    assert again.columns == found.columns


def visits(rows=400):
    draw = random.Random(11)
    ages = [draw.choice([10, 19, 20, 25, 38, 45, 61, 77]) for _ in range(rows)]
    cities = [draw.choice(["Bern", "Bern", "Basel", "Kiel", "Ulm"]) for _ in range(rows)]
    return [(age, city, int(age > 30 and city != "Kiel")) for age, city in zip(ages, cities, strict=True)]


def test_a_table_of_stars_is_hardly_of_use():
    original = visits()
    found = usability_of([("*", "*", row[2]) for row in original], original)
    assert found.value < 0.3
    assert found.wiped_out == ("age", "city")
    assert found.suppressed_share == 1
    assert (found.columns["age"], found.columns["city"], found.columns["ill"]) == (1, 1, 0)
    assert found.parts["dependence"] == pytest.approx(0, abs=1e-9)
    assert "carries no information" in found.notes[0]
    nothing = usability_of([("*", "*", "*")] * len(original), original)
    assert nothing.value == pytest.approx(0, abs=1e-9)
    assert set(nothing.parts) == {"detail", "distribution", "dependence", "queries"}


def test_even_columns_are_of_no_use_without_their_values():
    """Stars show the same distribution as the original, but not which row has which value."""
    original = pd.DataFrame({"city": ["Bern", "Kiel"] * 20, "ill": [0, 0, 1, 1] * 10})
    nothing = pp.usability(original.assign(city="*", ill="*"), original=original, columns=["city", "ill"])
    assert (nothing.value, nothing.parts) == (0, {"detail": 0})
    skewed = pp.usability(original.assign(ill=1), original=original, columns=["city", "ill"])
    assert skewed.parts["distribution"] == 0
    assert skewed.details["weights"]["distribution"] == pytest.approx(0.25)
    assert (skewed.query_error, skewed.value) == (1, pytest.approx(4 / 9))
    assert skewed.wiped_out == ("ill",)


def test_missing_is_a_value_only_where_the_original_has_it():
    original = [(10, "Bern", 0), (20, "Kiel", 1), (None, "Kiel", 1)]
    assert usability_of(original, original).value == 1
    lost = usability_of([(10, None, 0), (20, "Kiel", 1), (None, "Kiel", 1)], original)
    assert (lost.columns["city"], lost.columns["age"]) == (Fraction(1, 3), 0)


def test_dropped_rows_lose_every_cell_and_false_rows_hide_none():
    original = visits(100)
    found = usability_of(original[:75], original)
    assert set(found.columns.values()) == {Fraction(1, 4)}
    assert found.suppressed_share == Fraction(1, 4)
    assert found.details["discernibility"] >= 25 * 100
    twice = usability_of(original + original[:50], original)
    assert set(twice.columns.values()) == {0}
    assert twice.value < 1


def test_the_sizes_of_classes_are_told():
    original = [(10, "Bern", 0), (10, "Bern", 1), (20, "Kiel", 1), (45, "Kiel", 1)]
    found = usability_of([(10, "Bern", 0), (10, "Bern", 1), (20, "Kiel", 1)], original)
    assert found.details["discernibility"] == 4 + 1 + 4
    assert found.details["average_class_size"] == 2
    assert found.classes == 2


def test_a_plan_loses_what_it_says():
    frame = pd.DataFrame(visits(), columns=COLUMNS)
    plan = pp.generalize(
        frame,
        hierarchies=HIERARCHIES,
        requirements=[pp.require("k_anonymity", at_least=15)],
        max_suppression=0.1,
        loss="loss_metric",
    )
    assert plan.suppressed > 0
    losses = pp.usability(plan.apply(frame), original=frame, columns=COLUMNS, hierarchies=HIERARCHIES).columns
    assert float(losses["age"] + losses["city"]) / 2 == pytest.approx(plan.loss)


@pytest.mark.parametrize("labels", ["hierarchy", "observed"])
def test_a_local_plan_loses_what_it_states_and_keeps_more(labels):
    frame = pd.DataFrame(visits(), columns=COLUMNS)
    asked = {"hierarchies": HIERARCHIES, "requirements": [pp.require("k_anonymity", at_least=15)]}
    local = pp.generalize_locally(frame, **asked, labels=labels)
    measured, everywhere = (
        pp.usability(plan.apply(frame), original=frame, columns=COLUMNS, hierarchies=HIERARCHIES)
        for plan in (local, pp.generalize(frame, **asked, loss="loss_metric"))
    )
    assert measured.value > everywhere.value
    assert measured.query_error < everywhere.query_error
    if labels == "hierarchy":
        assert float(measured.columns["age"] + measured.columns["city"]) / 2 == pytest.approx(local.loss)


def test_one_column_has_no_dependence_to_lose():
    table = FrequencyTable.from_rows(["city"], [("Bern",), ("Kiel",)])
    found = pp.usability(table, original=table, columns=["city"])
    assert (found.value, set(found.parts)) == (1, {"detail"})


def test_many_leaves_are_compared_in_groups():
    original = pd.DataFrame({"id": range(3000), "half": [number // 1500 for number in range(3000)]})
    found = pp.usability(original, original=original, columns=["id", "half"])
    assert found.value == 1
    assert found.details["dependence"][0]["before"] == pytest.approx(1)
    shuffled = original.assign(half=[number % 2 for number in range(3000)])
    lost = pp.usability(shuffled, original=original, columns=["id", "half"])
    assert lost.details["dependence"][0]["after"] == pytest.approx(0, abs=1e-9)


def test_a_label_that_nothing_explains_is_an_error_without_its_value():
    original = [(10, "Bern", 0), (20, "Kiel", 1)]
    with pytest.raises(ColumnError, match=r"'city': 2 rows .* nor a label of its hierarchy") as problem:
        usability_of([(10, "Atlantis", 0), (20, "Atlantis", 1)], original)
    assert "Atlantis" not in str(problem.value)
    with pytest.raises(ColumnError, match=r"'city': 1 row .* no hierarchy explains") as problem:
        usability_of([(10, "south", 0), (20, "Kiel", 1)], original, hierarchies={"age": AGES})
    assert "south" not in str(problem.value)


def test_what_a_label_covers():
    ages, cities = [None, 10, 19, 45], ["Bern", "Basel", "Kiel"]
    assert covered_leaves("[0, 20)", AGES, ages) == (10, 19)
    assert covered_leaves("19", AGES, ages) == (19,)
    assert covered_leaves("*", AGES, ages) == (None, 10, 19, 45)
    assert covered_leaves(None, AGES, ages) == (None,)
    assert covered_leaves("south", CITIES, cities) == ("Basel", "Bern")
    assert covered_leaves("[20, 40)", AGES, ages) == ()
    assert covered_leaves("*", None, ["*", "a"]) == ("*",)
    assert covered_leaves("*", None, ["a", "b"]) == ("a", "b")


def test_labels_that_describe_what_occurs_in_a_class():
    ages, names = [None, -4, 2.5, 10, 19, 45], ["a", "b", "a, b", "20-34"]
    assert covered_leaves("10-20", None, ages) == (10, 19)
    assert covered_leaves("-4 to 10", None, ages) == (-4, 2.5, 10)
    assert covered_leaves("2.5-10 or missing", None, ages) == (None, 2.5, 10)
    assert covered_leaves("45 or missing", None, ages) == (None, 45)
    assert covered_leaves("{a, b}", None, ["a", "b", "c"]) == ("a", "b")
    assert covered_leaves("{a, b}", None, names) == ("a", "a, b", "b")
    assert covered_leaves("20-34", None, names) == ("20-34",)
    for unknown in ("{a, d}", "46-50", "1.2.3-4", "{}", "a or b", "d or missing"):
        assert covered_leaves(unknown, None, [None, "a", "b"]) == ()
        assert covered_leaves(unknown, None, ages) == ()


def test_wiped_out_columns():
    rooted = pp.tree_hierarchy({"south": ["Bern"], "north": ["Kiel"]}, root="anywhere")
    table = FrequencyTable.from_rows(["age", "city", "ill"], [("*", "anywhere", 1), ("*", "anywhere", 1)])
    assert wiped_out_columns(table) == ("age",)
    assert wiped_out_columns(table, hierarchies={"city": rooted}) == ("age", "city")
    before = FrequencyTable.from_rows(["age", "city", "ill"], [(1, "Bern", 1), (2, "Bern", 0)])
    assert wiped_out_columns(table, original=before) == ("age", "ill")
    assert (root_labels(AGES), root_labels(rooted)) == ({"*"}, {"*", "anywhere"})
    named = pp.tree_hierarchy({"anywhere": {"south": ["Bern"], "north": ["Kiel"]}})
    assert root_labels(named) == {"*", "anywhere"}
    assert root_labels(pp.tree_hierarchy(["only"], root="anywhere")) == {"*"}
    some = FrequencyTable.from_rows(["age"], [("*",), (3,)])
    assert wiped_out_columns(some) == ()


def test_nonsense_is_refused():
    table = table_of(visits(10))
    with pytest.raises(ParameterError, match="column: hierarchy"):
        pp.require("usability", at_least=0.5, hierarchies=3)
    with pytest.raises(ParameterError, match="must be at least 0 and at most 1"):
        pp.require("usability", at_least=1.5)
    with pytest.raises(ColumnError):
        pp.usability(table, original=table, columns=[])
    with pytest.raises(ParameterError, match="it takes columns, original, hierarchies"):
        pp.usability(table, original=table, attributes=COLUMNS)


def policy(*requirements, **others):
    return pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {
                "age": {"role": "quasi_identifier", "hierarchy": AGES.specification},
                "city": {"role": "quasi_identifier", "hierarchy": CITIES.specification},
                "ill": "sensitive",
            },
            "requirements": list(requirements),
            **others,
        }
    )


def test_a_policy_line_closes_the_gate_to_what_is_of_no_use():
    rules = policy(
        {"k_anonymity": {"at_least": 2}}, {"usability": {"at_least": 0.6}}, {"query_error": {"at_most": 0.1}}
    )
    original = pd.DataFrame(visits(), columns=COLUMNS)
    stars = original.assign(age="*", city="*")
    verdict = rules.judge(stars, population=original)
    assert [finding.status for finding in verdict.findings] == ["passed", "failed", "failed"]
    assert "Its parts: detail" in verdict.findings[1].reason
    assert verdict.notes[:2] == tuple(
        f"column {name!r} was generalized to `*` in every row: it carries no information" for name in ("age", "city")
    )
    plan = pp.generalize(original, hierarchies=HIERARCHIES, requirements=[pp.require("k_anonymity", at_least=2)])
    opened = rules.judge(plan.apply(original), population=original)
    assert opened.passed
    assert not any("carries no information" in note for note in opened.notes)
    closed = rules.judge(stars)
    assert not closed.evaluated
    assert "needs the original table" in closed.reasons[0]


def test_a_policy_may_name_the_columns_and_compares_with_one_second_table():
    rules = policy({"k_anonymity": {"at_least": 1}}, {"usability": {"at_least": 0.9, "attributes": ["city", "ill"]}})
    original = pd.DataFrame(visits(), columns=COLUMNS)
    finding = rules.judge(original.assign(age="*"), population=original).findings[1]
    assert finding.passed
    assert list(finding.measurement.columns) == ["city", "ill"]
    with pytest.raises(PolicyError, match="one policy compares with one second table"):
        policy({"usability": {"at_least": 0.5}}, {"k_map": {"at_least": 2}})
    with pytest.raises(PolicyError, match="about utility"):
        policy({"usability": {"at_least": 0.5}})


def test_people_with_several_rows_do_not_keep_rows_from_being_compared():
    rules = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"who": "unit", "city": "quasi_identifier"},
            "requirements": [{"k_anonymity": {"at_least": 1}}, {"usability": {"at_least": 1}}],
        }
    )
    rows = pd.DataFrame({"who": [1, 1, 2], "city": ["Bern", "Bern", "Kiel"]})
    assert rules.judge(rows, population=rows).passed
    assert "column 'city' was generalized" in rules.judge(rows.assign(city="*"), population=rows).notes[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_answer(engine, tmp_path):
    rows = visits(60)
    kinds = {"age": "text", "city": "text", "ill": "integer"}
    original = Table(
        kinds=kinds,
        values={
            name: [str(v) if kinds[name] == "text" else v for v in column]
            for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)
        },
    )
    labels = [
        (AGES.generalize(age, 1 + number % 2), CITIES.generalize(city, number % 2), ill)
        for number, (age, city, ill) in enumerate(rows[:55])
    ]
    released = Table(kinds=kinds, values=dict(zip(COLUMNS, map(list, zip(*labels, strict=True)), strict=True)))
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    made, real = LOADERS[engine](released, tmp_path / "one"), LOADERS[engine](original, tmp_path / "two")
    found = pp.usability(made, original=real, columns=COLUMNS, hierarchies=HIERARCHIES)
    expected = usability_of(labels, [(str(age), city, ill) for age, city, ill in rows])
    assert found.to_dict() == expected.to_dict()
