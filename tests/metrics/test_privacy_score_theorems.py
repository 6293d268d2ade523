"""What is true of the thesis' theorems, as properties; where they are false, the counterexamples."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from privacy_plugin.metrics.privacy_score.result import ERROR
from privacy_plugin.metrics.privacy_score.scores import score
from tests.metrics.score_cases import cases, close, relation_of, steady
from tests.oracles import score as oracle


@steady
@given(cases(), st.data())
def test_a_person_whose_attributes_are_a_subset_does_not_score_higher(case, data):
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
