"""The privacy score's algorithms against the definition and against each other."""

import doctest
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from privacy_plugin.anonymizers.repair import repair_loops
from privacy_plugin.errors import EmptyTableError, ParameterError, TooLargeError
from privacy_plugin.metrics.privacy_score import by_definition, dowker_complex, relation, scores
from privacy_plugin.metrics.privacy_score.by_definition import exact_score, exact_weight
from privacy_plugin.metrics.privacy_score.reduction import search_columns
from privacy_plugin.metrics.privacy_score.relation import make_relation
from privacy_plugin.metrics.privacy_score.result import ERROR
from privacy_plugin.metrics.privacy_score.scores import score, witnesses
from tests.metrics.score_cases import PARTIAL, cases, close, one_hot, people_of, relation_of, steady
from tests.oracles import score as oracle

ALGORITHMS = ("auto", "search", "words", "lattice")


@steady
@given(cases())
def test_every_algorithm_follows_the_definition(case):
    exact = case.oracle_scores()
    for algorithm in ALGORITHMS:
        found = score(case.relation, algorithm=algorithm, **case.parameters)
        assert found.exact
        assert close(found.lower[case.relation.inverse], exact), algorithm
        assert (found.lower == found.upper).all()


@steady
@given(cases(confidences=PARTIAL))
def test_partial_inference_follows_the_definition(case):
    found = score(case.relation, **case.parameters)
    assert found.exact
    assert close(found.lower[case.relation.inverse], case.oracle_scores())


@steady
@given(cases(confidences=(Fraction(1), *PARTIAL)))
def test_a_witness_reaches_the_score_and_no_subset_of_it_does(case):
    rows = list(range(len(case.relation.counts)))
    scores = score(case.relation, **case.parameters).lower
    for found in witnesses(case.relation, rows=rows, **case.parameters):
        assert found.exact
        assert found.weight == pytest.approx(scores[found.row], abs=ERROR)
        assert set(found.known) <= set(case.relation.held_by(found.row))
        person = case.people[case.relation.inverse.tolist().index(found.row)]
        known = frozenset(found.known)
        shares = {x: oracle.confidence_of(case.people, case.counts, known, x) for x in person - known}
        assert dict(zip(found.inferred, found.confidences, strict=True)) == {
            x: float(share) for x, share in shares.items() if share >= case.confidence
        }
        reached = exact_weight(case.relation, row=found.row, known=found.known, **case.parameters)
        assert float(reached) == pytest.approx(found.weight, abs=ERROR)
        for left_out in found.known:
            fewer = [attribute for attribute in found.known if attribute != left_out]
            less = exact_weight(case.relation, row=found.row, known=fewer, **case.parameters)
            assert float(less) < found.weight


@steady
@given(cases(confidences=(Fraction(1), Fraction(3, 4))))
def test_the_exact_path_equals_the_oracle(case):
    exact = case.oracle_scores()
    for given_row, row in enumerate(case.relation.inverse):
        assert exact_score(case.relation, row=int(row), **case.parameters)[0] == exact[given_row]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("abcd", "abce", "abcf", "abde", "ab"),
            [Fraction(2, 3), Fraction(2, 3), Fraction(3, 4), Fraction(2, 3), Fraction(2, 3)],
        ),
        (("abcd", "abce", "abfg", "bcfg"), [Fraction(3, 4), Fraction(3, 4), Fraction(2, 3), Fraction(2, 3)]),
    ],
)
def test_the_worked_examples(words, expected, algorithm):
    people = people_of(*words)
    relation = relation_of(people, [1] * 7, [1] * 7)
    found = score(relation, algorithm=algorithm).lower[relation.inverse]
    assert close(found, expected)
    if len(words) == 5:
        assert sum(expected) / 5 == Fraction(41, 60)
        assert found.mean() == pytest.approx(41 / 60, abs=ERROR)
        assert [exact_score(relation, row=int(row))[0] for row in relation.inverse] == expected


def test_attributes_of_every_person_follow_from_the_empty_set():
    relation = relation_of([{0, 1}, {0}], [Fraction(1, 2), 1], [1, 1])
    found = witnesses(relation, rows=[int(relation.inverse[1])])[0]
    assert (found.known, found.inferred, found.weight) == ((), (0,), 0.5)


def test_without_attributes_that_matter_every_score_is_zero():
    nothing = make_relation(matrix=np.zeros((3, 0), dtype=bool), likelihood=[], danger=[])
    harmless = relation_of([{0}, {1}, {0, 1}], [0, 0], [0, 0])
    for empty in (nothing, harmless):
        for algorithm in ALGORITHMS:
            assert score(empty, algorithm=algorithm).upper.tolist() == [0.0] * len(empty.counts)
        assert witnesses(empty, rows=[0])[0].known == ()
    assert score(harmless, confidence=0.5).upper.tolist() == [0.0] * 3


def test_rows_are_merged_and_their_counts_added():
    relation = relation_of([{0}, {1}, {0}], [1, 1], [1, 1], counts=[2, 3, 4])
    assert relation.counts[relation.inverse].tolist() == [6, 3, 6]
    # 6 of 9 have attribute 0: at 2/3 the base rate alone counts, 2/3 / (1 + 2/3)
    assert score(relation, confidence=2 / 3).lower[relation.inverse[0]] == pytest.approx(0.4, abs=ERROR)


def test_codes_and_matrix_describe_the_same_relation():
    matrix = [[True, True, False], [True, False, False], [False, True, True]]
    dense = make_relation(matrix=matrix, likelihood=[1] * 3, danger=[1] * 3)
    coded = make_relation(codes=np.where(matrix, 0, -1), likelihood=[1] * 3, danger=[1] * 3)
    assert score(dense).lower[dense.inverse].tolist() == score(coded).lower[coded.inverse].tolist()


def test_a_generalized_value_holds_its_leaves_and_is_searched_as_one_attribute():
    leaves = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    relation = make_relation(
        codes=[[0], [1], [0]],
        matrix=leaves,
        likelihood=[0, 0, 1, 1, 1, 1],
        danger=[1, 1, 0.5, 0.5, 0.5, 0.5],
    )
    columns = search_columns(relation)
    assert columns.codes.shape == (2, 3)
    people = [frozenset({0, 2, 3}), frozenset({1, 2, 3}), frozenset({0, 4, 5})]
    half = Fraction(1, 2)
    exact = oracle.scores(
        people, likelihood=[Fraction(0)] * 2 + [Fraction(1)] * 4, danger=[Fraction(1)] * 2 + [half] * 4
    )
    assert close(score(relation).lower[relation.inverse], exact)


def test_many_dangerous_attributes_need_more_than_one_word():
    generator = np.random.default_rng(5)
    rows, values = 60, 40
    codes = np.column_stack([generator.integers(0, 6, rows), generator.integers(0, 6, rows)])
    secrets = np.column_stack([generator.integers(0, values, rows) for _ in range(4)])
    sizes = [6, 6] + [values] * 4
    relation = make_relation(
        codes=np.column_stack([codes, secrets]),
        cardinalities=sizes,
        likelihood=np.r_[np.ones(12), np.zeros(4 * values)],
        danger=np.r_[np.zeros(12), generator.random(4 * values)],
    )
    lattice = score(relation, algorithm="lattice")
    for algorithm in ("search", "words"):
        assert np.allclose(lattice.lower, score(relation, algorithm=algorithm).lower, rtol=0, atol=ERROR)
    assert lattice.lower.max() > 0


@pytest.mark.parametrize(("density", "rows"), [(0.2, 300), (0.5, 300), (0.9, 30)])
def test_the_algorithms_agree_on_larger_random_relations(density, rows):
    generator = np.random.default_rng(int(100 * density))
    relation = make_relation(
        matrix=generator.random((rows, 15)) < density, likelihood=generator.random(15), danger=generator.random(15)
    )
    lattice = score(relation, algorithm="lattice")
    for algorithm in ("search", "words"):
        searched = score(relation, algorithm=algorithm)
        assert searched.exact
        assert np.allclose(lattice.lower, searched.lower, rtol=0, atol=ERROR)
    assert lattice.lower.max() > 0


def test_invalid_parameters_raise_before_any_work():
    relation = relation_of([{0}, {1}], [1, 1], [1, 1])
    for parameters in ({"saturation": 0}, {"confidence": 0}, {"confidence": 1.1}, {"budget": 0}):
        with pytest.raises(ParameterError):
            score(relation, **parameters)
    with pytest.raises(ParameterError):
        score(relation, algorithm="guess")
    for algorithm in ("lattice", "words"):
        with pytest.raises(ParameterError):
            score(relation, algorithm=algorithm, confidence=0.9)
    with pytest.raises(ParameterError):
        witnesses(relation, rows=[2])
    with pytest.raises(TooLargeError):
        score(one_hot(), algorithm="lattice")


def test_malformed_relations_raise():
    good = {"likelihood": [1, 1], "danger": [1, 1]}
    with pytest.raises(EmptyTableError):
        make_relation(matrix=np.zeros((0, 2), dtype=bool), **good)
    for bad in (
        {},
        {"matrix": [[1, 0, 1]]},
        {"matrix": [[1, 2]]},
        {"matrix": [1, 0]},
        {"codes": [[-2]], "cardinalities": [2]},
        {"codes": [[2]], "cardinalities": [2]},
        {"codes": [[0.5]], "cardinalities": [2]},
        {"matrix": [[1, 0]], "counts": [0]},
        {"matrix": [[1, 0]], "codes": [[0], [0]], "cardinalities": [0]},
    ):
        with pytest.raises(ParameterError):
            make_relation(**good, **bad)
    for name in ("likelihood", "danger"):
        for weight in (-0.1, 1.1, float("nan")):
            with pytest.raises(ParameterError):
                make_relation(matrix=[[1, 0]], **{**good, name: [1, weight]})


@pytest.mark.parametrize("module", [scores, relation, by_definition, repair_loops, dowker_complex])
def test_the_examples_in_the_documentation_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
