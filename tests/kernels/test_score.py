"""The privacy score's two algorithms against the definition, against each other and against the thesis' theorems."""

import doctest
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin.kernels.score as score_module
from privacy_plugin.errors import EmptyTableError, ParameterError, TooLargeError
from privacy_plugin.kernels import score_holes, score_relation, score_repair, score_weight
from privacy_plugin.kernels.score import ERROR, estimate_work, score, witnesses
from privacy_plugin.kernels.score_columns import search_columns
from privacy_plugin.kernels.score_relation import Relation, make_relation, matrix_of_masks
from privacy_plugin.kernels.score_weight import exact_score, exact_weight
from tests.oracles import score as oracle

WEIGHTS = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
steady = settings(deadline=None, derandomize=True, max_examples=150)


@dataclass(frozen=True, kw_only=True)
class Case:
    people: list[frozenset[int]]
    counts: list[int]
    likelihood: list[Fraction]
    danger: list[Fraction]
    saturation: Fraction
    confidence: Fraction
    relation: Relation

    def oracle_scores(self) -> list[Fraction]:
        return oracle.scores(
            self.people,
            likelihood=self.likelihood,
            danger=self.danger,
            counts=self.counts,
            saturation=self.saturation,
            confidence=self.confidence,
        )

    @property
    def parameters(self) -> dict[str, float]:
        return {"saturation": float(self.saturation), "confidence": float(self.confidence)}


def relation_of(people, likelihood, danger, counts=None):
    matrix = [[attribute in person for attribute in range(len(likelihood))] for person in people]
    return make_relation(
        matrix=np.asarray(matrix, dtype=bool).reshape(len(people), len(likelihood)),
        likelihood=[float(weight) for weight in likelihood],
        danger=[float(weight) for weight in danger],
        counts=counts,
    )


@st.composite
def cases(draw, confidences=(Fraction(1),)):
    """Code columns and boolean columns side by side, with duplicates, contained and empty rows, and zero weights."""
    rows = draw(st.integers(1, 8))
    sizes = draw(st.lists(st.integers(1, 3), max_size=3))
    booleans = draw(st.integers(0 if sizes else 1, 4 if len(sizes) < 3 else 2))
    codes = [[draw(st.integers(-1, size - 1)) for size in sizes] for _ in range(rows)]
    matrix = [[draw(st.booleans()) for _ in range(booleans)] for _ in range(rows)]
    if draw(st.booleans()) and booleans > 1:  # attributes held by the same people
        matrix = [[*line[:-1], line[0]] for line in matrix]
    attributes = sum(sizes) + booleans
    flat = draw(st.booleans())
    weights = st.just(Fraction(1)) if flat else st.sampled_from(WEIGHTS)
    likelihood = draw(st.lists(weights, min_size=attributes, max_size=attributes))
    danger = draw(st.lists(weights, min_size=attributes, max_size=attributes))
    counts = draw(st.lists(st.integers(1, 4), min_size=rows, max_size=rows))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    people = [
        frozenset(int(starts[c]) + code for c, code in enumerate(line) if code >= 0)
        | {int(starts[-1]) + b for b, held in enumerate(matrix[row]) if held}
        for row, line in enumerate(codes)
    ]
    relation = make_relation(
        codes=np.asarray(codes, dtype=np.int64).reshape(rows, len(sizes)),
        cardinalities=sizes,
        matrix=np.asarray(matrix, dtype=bool).reshape(rows, booleans),
        likelihood=[float(weight) for weight in likelihood],
        danger=[float(weight) for weight in danger],
        counts=counts,
    )
    return Case(
        people=people,
        counts=counts,
        likelihood=likelihood,
        danger=danger,
        saturation=draw(st.sampled_from([Fraction(1), Fraction(1, 1000), Fraction(5, 2)])),
        confidence=draw(st.sampled_from(confidences)),
        relation=relation,
    )


PARTIAL = (Fraction(19, 20), Fraction(3, 4), Fraction(2, 3), Fraction(1, 2), Fraction(3, 10), Fraction(1, 100))


def close(found, exact):
    return np.allclose(found, [float(value) for value in exact], rtol=0, atol=ERROR)


@steady
@given(cases())
def test_both_algorithms_follow_the_definition(case):
    exact = case.oracle_scores()
    for algorithm in ("auto", "search", "lattice"):
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
@given(cases(confidences=(Fraction(1), *PARTIAL)), st.integers(1, 400))
def test_an_exhausted_budget_still_brackets_the_score(case, budget):
    found = score(case.relation, algorithm="search", budget=budget, **case.parameters)
    exact = np.array([float(value) for value in case.oracle_scores()])
    assert (found.lower[case.relation.inverse] <= exact + ERROR).all()
    assert (found.upper[case.relation.inverse] >= exact - ERROR).all()
    if found.exact:
        assert (found.lower == found.upper).all()


@steady
@given(cases(confidences=(Fraction(1), Fraction(3, 4))))
def test_the_exact_path_equals_the_oracle(case):
    exact = case.oracle_scores()
    for given_row, row in enumerate(case.relation.inverse):
        assert exact_score(case.relation, row=int(row), **case.parameters)[0] == exact[given_row]


@steady
@given(cases(confidences=(Fraction(1), Fraction(3, 4))))
def test_a_longer_search_only_narrows_the_interval(case):
    narrow = score(case.relation, algorithm="search", budget=60, **case.parameters)
    wide = score(case.relation, algorithm="search", budget=20, **case.parameters)
    assert (narrow.lower >= wide.lower - ERROR).all()
    assert (narrow.upper <= wide.upper + ERROR).all()


LETTERS = "abcdefg"


def people_of(*words):
    return [frozenset(LETTERS.index(letter) for letter in word) for word in words]


@pytest.mark.parametrize("algorithm", ["auto", "search", "lattice"])
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


@steady
@given(cases(), st.data())
def test_a_person_inside_another_does_not_score_higher(case, data):
    """Proposition 3.12, without the thesis' assumption that no person lies inside another."""
    found = score(case.relation, **case.parameters).lower[case.relation.inverse]
    for one, small in enumerate(case.people):
        for other, large in enumerate(case.people):
            if small <= large:
                assert found[one] <= found[other] + ERROR


@steady
@given(cases(), st.data())
def test_adding_a_person_never_raises_anyone_elses_score(case, data):
    attributes = len(case.likelihood)
    person = data.draw(st.frozensets(st.integers(0, attributes - 1)))
    before = relation_of(case.people, case.likelihood, case.danger)
    after = relation_of([*case.people, person], case.likelihood, case.danger)
    saturation = float(case.saturation)
    old = score(before, saturation=saturation).lower[before.inverse]
    new = score(after, saturation=saturation).lower[after.inverse]
    assert (new[:-1] <= old + ERROR).all()


@steady
@given(cases())
def test_filling_a_hole_adds_a_person_who_scores_zero(case):
    """Theorems 6.4-6.6: every subset of M but one attribute is held by someone without M; a person with M is safe."""
    attributes = len(case.likelihood)
    for hole in oracle.minimal_non_faces(case.people, attributes, 3):
        before = relation_of(case.people, case.likelihood, case.danger)
        after = relation_of([*case.people, hole], case.likelihood, case.danger)
        old = score(before).lower[before.inverse]
        new = score(after).lower[after.inverse]
        assert new[-1] == 0
        assert (new[:-1] <= old + ERROR).all()


def test_the_counterexample_to_theorems_5_2_and_5_3():
    """Giving some people a harmless, known attribute can raise a score."""
    likelihood, danger = [1, Fraction(3, 4)], [0, Fraction(1, 2)]
    before = relation_of([{1}, set(), {0, 1}], likelihood, danger)
    after = relation_of([{0, 1}, set(), {0, 1}], likelihood, danger)
    assert close(score(before).lower[before.inverse], [Fraction(0), Fraction(0), Fraction(1, 3)])
    assert close(score(after).lower[after.inverse], [Fraction(1, 3), Fraction(0), Fraction(1, 3)])


def test_the_two_anonymizing_counterexample():
    likelihood, danger = [1, 1, 1], [0, 1, 1]
    before = relation_of([{1, 2}, {2}, {0}, {1}], likelihood, danger)
    after = relation_of([{0, 1, 2}, {2}, {0}, {1}], likelihood, danger)
    assert score(before).lower.tolist() == [0, 0, 0, 0]
    assert close(score(after).lower[after.inverse], [Fraction(1, 2), Fraction(0), Fraction(0), Fraction(0)])


@steady
@given(cases(), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_recoding_everybody_alike_never_raises_a_score(case, recoding):
    """What is true of theorem 5.3: full-domain generalization of known and harmless attributes (l = 1, d = 0)."""
    attributes = len(case.likelihood)
    quasi = min(3, attributes)
    likelihood = [Fraction(1)] * quasi + case.likelihood[quasi:]
    danger = [Fraction(0)] * quasi + case.danger[quasi:]
    group = [min(value, quasi - 1) for value in recoding[:quasi]]

    def recode(person):
        groups = {group[attribute] for attribute in person if attribute < quasi}
        widened = {attribute for attribute in range(quasi) if group[attribute] in groups}
        return frozenset(widened | {attribute for attribute in person if attribute >= quasi})

    before = relation_of(case.people, likelihood, danger)
    after = relation_of([recode(person) for person in case.people], likelihood, danger)
    assert (score(after).lower[after.inverse] <= score(before).lower[before.inverse] + ERROR).all()


def test_what_everybody_has_follows_from_nothing():
    relation = relation_of([{0, 1}, {0}], [Fraction(1, 2), 1], [1, 1])
    found = witnesses(relation, rows=[int(relation.inverse[1])])[0]
    assert (found.known, found.inferred, found.weight) == ((), (0,), 0.5)


def test_without_attributes_that_matter_nobody_is_at_risk():
    nothing = make_relation(matrix=np.zeros((3, 0), dtype=bool), likelihood=[], danger=[])
    harmless = relation_of([{0}, {1}, {0, 1}], [0, 0], [0, 0])
    for relation in (nothing, harmless):
        for algorithm in ("auto", "search", "lattice"):
            assert score(relation, algorithm=algorithm).upper.tolist() == [0.0] * len(relation.counts)
        assert witnesses(relation, rows=[0])[0].known == ()
    assert score(harmless, confidence=0.5).upper.tolist() == [0.0] * 3


def test_rows_are_merged_and_their_counts_added():
    relation = relation_of([{0}, {1}, {0}], [1, 1], [1, 1], counts=[2, 3, 4])
    assert relation.counts[relation.inverse].tolist() == [6, 3, 6]
    # 6 of 9 have attribute 0: at 2/3 the base rate alone counts, 2/3 / (1 + 2/3)
    assert score(relation, confidence=2 / 3).lower[relation.inverse[0]] == pytest.approx(0.4, abs=ERROR)


def test_masks_codes_and_matrix_describe_the_same_relation():
    matrix = matrix_of_masks([0b011, 0b001, 0b110], attributes=3)
    assert matrix.tolist() == [[True, True, False], [True, False, False], [False, True, True]]
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
    searched = score(relation, algorithm="search")
    assert np.allclose(lattice.lower, searched.lower, rtol=0, atol=ERROR)
    assert lattice.lower.max() > 0


@pytest.mark.parametrize(("density", "rows"), [(0.2, 300), (0.5, 300), (0.9, 30)])
def test_the_algorithms_agree_on_larger_random_relations(density, rows):
    generator = np.random.default_rng(int(100 * density))
    relation = make_relation(
        matrix=generator.random((rows, 15)) < density, likelihood=generator.random(15), danger=generator.random(15)
    )
    lattice = score(relation, algorithm="lattice")
    searched = score(relation, algorithm="search")
    assert searched.exact
    assert np.allclose(lattice.lower, searched.lower, rtol=0, atol=ERROR)
    assert lattice.lower.max() > 0


def one_hot(rows=400):
    generator = np.random.default_rng(3)
    codes = np.column_stack([generator.integers(0, size, rows) for size in (2, 3, 5, 8, 30)])
    return make_relation(
        codes=codes, cardinalities=[2, 3, 5, 8, 30], likelihood=generator.random(48), danger=generator.random(48)
    )


def test_the_search_grows_its_stack_and_reports_progress():
    relation = make_relation(
        matrix=np.random.default_rng(2).random((60, 40)) < 0.97, likelihood=[0.9] * 40, danger=[1] * 40
    )
    seen = []
    found = score(
        relation, algorithm="search", budget=40_000_000, progress=lambda share, steps: seen.append((share, steps))
    )
    assert seen
    assert [steps for _, steps in seen] == sorted(steps for _, steps in seen)
    assert all(0 <= share <= 1 for share, _ in seen)
    assert (found.lower <= found.upper).all()


def test_a_budget_turns_a_long_search_into_an_interval():
    relation = one_hot()
    exact = score(relation)
    assert exact.exact
    assert exact.algorithm == "search"
    cut = score(relation, budget=exact.steps // 4)
    assert not cut.exact
    assert (cut.lower <= exact.lower + ERROR).all()
    assert (cut.upper >= exact.lower - ERROR).all()
    assert (cut.upper > cut.lower).any()


@pytest.mark.parametrize("confidence", [1.0, 0.8])
def test_wherever_the_budget_ends_the_interval_holds(confidence):
    relation = one_hot(60)
    exact = score(relation, confidence=confidence)
    assert exact.exact
    for budget in range(1, exact.steps, max(1, exact.steps // 200)):
        cut = score(relation, confidence=confidence, budget=budget)
        assert (cut.lower <= exact.lower + ERROR).all()
        assert (cut.upper >= exact.lower - ERROR).all()


def test_the_estimate_bounds_the_visited_sets():
    relation = one_hot()
    estimate = estimate_work(relation)
    assert estimate.usable_attributes == 48
    assert not estimate.lattice_possible
    assert estimate.largest_person == 5
    assert score(relation).nodes <= estimate.sets
    assert score(relation, confidence=0.9).nodes <= estimate.sets


def test_wrong_parameters_are_refused_before_any_work():
    relation = relation_of([{0}, {1}], [1, 1], [1, 1])
    for parameters in ({"saturation": 0}, {"confidence": 0}, {"confidence": 1.1}, {"budget": 0}):
        with pytest.raises(ParameterError):
            score(relation, **parameters)
    with pytest.raises(ParameterError):
        score(relation, algorithm="guess")
    with pytest.raises(ParameterError):
        score(relation, algorithm="lattice", confidence=0.9)
    with pytest.raises(ParameterError):
        witnesses(relation, rows=[2])
    with pytest.raises(TooLargeError):
        score(one_hot(), algorithm="lattice")


def test_malformed_relations_are_refused():
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
    with pytest.raises(ParameterError):
        matrix_of_masks([4], attributes=2)


@pytest.mark.parametrize("module", [score_module, score_relation, score_weight, score_repair, score_holes])
def test_the_examples_in_the_documentation_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
