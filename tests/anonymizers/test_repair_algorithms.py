"""Repairs lower the original people's scores with people who score nothing; holes follow their definition."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.anonymizers.repair.repair_loops import fill_holes, greedy_repair, minimal_non_faces
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.privacy_score.relation import make_relation
from privacy_plugin.metrics.privacy_score.result import ERROR
from privacy_plugin.metrics.privacy_score.scores import score
from tests.oracles import score as oracle

steady = settings(deadline=None, derandomize=True, max_examples=100)
WEIGHTS = [0.0, 0.1, 0.5, 1.0]


@st.composite
def relations(draw):
    rows, attributes = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    people = draw(st.lists(st.frozensets(st.integers(0, attributes - 1)), min_size=rows, max_size=rows))
    weights = st.just(1.0) if draw(st.booleans()) else st.sampled_from(WEIGHTS)
    likelihood = draw(st.lists(weights, min_size=attributes, max_size=attributes))
    danger = draw(st.lists(weights, min_size=attributes, max_size=attributes))
    counts = draw(st.lists(st.integers(1, 3), min_size=rows, max_size=rows))
    return people, likelihood, danger, counts


def build(people, likelihood, danger, counts):
    matrix = np.array([[a in person for a in range(len(likelihood))] for person in people], dtype=bool)
    return make_relation(matrix=matrix, likelihood=likelihood, danger=danger, counts=counts)


def with_added(people, likelihood, danger, counts, added):
    extended = [*people, *(frozenset(person) for person in added)]
    return build(extended, likelihood, danger, [*counts, *([1] * len(added))])


def check_repair(case, repair, wanted, measure, largest_share):
    people, counts = case[0], case[3]
    relation = build(*case)
    before, after = repair.before[relation.inverse], repair.after[relation.inverse]
    assert np.allclose(before, score(relation).lower[relation.inverse], rtol=0, atol=ERROR)
    larger = with_added(*case, repair.added)
    rescored = score(larger).lower[larger.inverse]
    assert np.allclose(after, rescored[: len(people)], rtol=0, atol=ERROR)
    assert (rescored[len(people) :] <= ERROR).all()
    assert (after <= before + ERROR).all()
    total = sum(counts)
    assert repair.false_share == pytest.approx(len(repair.added) / (total + len(repair.added)))
    assert repair.false_share <= largest_share
    value = after.max() if measure == "maximum" else np.average(after, weights=counts)
    assert repair.reached == (value <= wanted + ERROR)


@steady
@given(relations(), st.sampled_from([0.0, 0.3, 0.6]), st.sampled_from(["maximum", "average"]))
def test_a_greedy_repair_reaches_any_score(case, wanted, measure):
    repair = greedy_repair(build(*case), wanted=wanted, measure=measure, max_false_share=0.99)
    check_repair(case, repair, wanted, measure, 0.99)
    assert repair.reached


@steady
@given(relations(), st.sampled_from([0.05, 0.3]))
def test_a_greedy_repair_stops_at_the_share_of_false_rows(case, share):
    repair = greedy_repair(build(*case), wanted=0.0, max_false_share=share)
    check_repair(case, repair, 0.0, "maximum", share)


@steady
@given(relations(), st.sampled_from(["maximum", "average"]))
def test_filling_holes_never_raises_a_score(case, measure):
    repair = fill_holes(build(*case), wanted=0.0, measure=measure, max_size=4, max_false_share=0.9)
    check_repair(case, repair, 0.0, measure, 0.9)
    people, attributes = case[0], len(case[1])
    holes = oracle.minimal_non_faces(people, attributes, 4)
    assert {frozenset(person) for person in repair.added} <= holes


def test_filling_a_hole_lowers_the_scores_of_its_witnesses():
    people = [{0, 1, 3}, {1, 2, 3}, {0, 2, 3}, {0}, {1}, {2}]  # 0, 1, 2 in pairs, each pair only with 3
    case = ([frozenset(person) for person in people], [1.0] * 4, [0.0, 0.0, 0.0, 1.0], [1] * 6)
    repair = fill_holes(build(*case), wanted=0.0)
    assert repair.added == ((0, 1, 2),)
    assert repair.reached
    assert repair.before.max() == 0.5


@steady
@given(relations(), st.integers(2, 5))
def test_holes_follow_their_definition(case, max_size):
    people, likelihood, _, _ = case
    found = minimal_non_faces(build(*case), max_size=max_size)
    held = {attribute for person in people for attribute in person}
    expected = {hole for hole in oracle.minimal_non_faces(people, len(likelihood), max_size) if hole <= held}
    assert {frozenset(hole) for hole in found} == expected
    assert len(found) == len(expected)
    assert found == sorted(found, key=lambda hole: (len(hole), hole))


def test_two_values_of_one_column_are_not_a_hole():
    relation = make_relation(codes=[[0, 0], [1, 1], [1, 0]], likelihood=[1] * 4, danger=[1] * 4)
    assert minimal_non_faces(relation, max_size=3) == [[0, 3]]


def test_more_people_than_one_machine_word_has_bits():
    generator = np.random.default_rng(4)
    people = [frozenset(np.flatnonzero(generator.random(9) < 0.25).tolist()) for _ in range(150)]
    relation = build(people, [1] * 9, [1] * 9, [1] * 150)
    expected = {hole for hole in oracle.minimal_non_faces(people, 9, 4) if len(hole) > 1}
    assert {frozenset(hole) for hole in minimal_non_faces(relation, max_size=4)} == expected
    assert expected


def test_the_holes_of_adult():
    root = Path(__file__).parents[2]
    folder = Path(os.environ.get("PRIVACY_PLUGIN_DATA", root.parent / "shared" / "data"))
    table = folder / "adult" / "adult_30162.csv"
    if not table.exists():
        pytest.skip("Adult not found; set PRIVACY_PLUGIN_DATA to the folder that holds adult/adult_30162.csv")
    frame = pd.read_csv(table, sep=";")
    codes = np.column_stack([pd.factorize(frame[column])[0] for column in frame])
    attributes = int((codes.max(axis=0) + 1).sum())
    relation = make_relation(codes=codes, likelihood=np.ones(attributes), danger=np.ones(attributes))
    sizes = [len(hole) for hole in minimal_non_faces(relation, max_size=3)]
    assert (sizes.count(2), sizes.count(3)) == (3248, 64906)


def test_the_list_of_holes_grows_up_to_its_limit():
    people = [frozenset({attribute}) for attribute in range(100)]
    relation = build(people, [1] * 100, [1] * 100, [1] * 100)
    assert len(minimal_non_faces(relation, max_size=2)) == 4950
    with pytest.raises(TooLargeError):
        minimal_non_faces(relation, max_size=2, limit=4949)


def test_wrong_parameters_are_refused():
    relation = build([frozenset({0, 1}), frozenset({1})], [1, 1], [1, 1], [1, 1])
    for parameters in ({"wanted": 1.5}, {"wanted": 0.1, "max_false_share": 1.0}, {"wanted": 0.1, "measure": "median"}):
        with pytest.raises(ParameterError):
            greedy_repair(relation, **parameters)
    with pytest.raises(ParameterError):
        minimal_non_faces(relation, max_size=1)
    with pytest.raises(TooLargeError):
        greedy_repair(relation, wanted=0.1, budget=1)


def test_added_people_have_the_absent_attribute_of_every_other_column():
    """Two columns whose first code means "missing": harmless, and shared by every added person."""
    codes = [[1, 1], [1, 1], [2, 1], [2, 0], [0, 2]]
    weights = {"likelihood": [1] * 6, "danger": [0, 1, 1, 0, 1, 1], "cardinalities": [3, 3]}
    relation = make_relation(codes=codes, **weights)
    repair = greedy_repair(relation, wanted=0.0, max_false_share=0.9, absent=[0, 3])
    assert repair.reached
    assert repair.added
    lines = [[attribute - start for attribute, start in zip(person, (0, 3), strict=True)] for person in repair.added]
    extended = make_relation(codes=codes + lines, **weights)
    rescored = score(extended).lower[extended.inverse][: len(codes)]
    assert np.allclose(rescored, repair.after[relation.inverse], rtol=0, atol=ERROR)
    with pytest.raises(ParameterError, match="must have danger 0"):
        greedy_repair(relation, wanted=0.0, absent=[0, 4])
