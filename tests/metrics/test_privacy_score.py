"""The privacy score of tables against its definition, the thesis' examples, and what is true of its theorems."""

import doctest
from fractions import Fraction
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from tests.oracles import score_tables as oracle

steady = settings(deadline=None, derandomize=True, max_examples=60)

WEIGHTS = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)]
COLUMNS = ["smoker", "city", "age", "disease"]
HALF = Fraction(1, 2)


def letters(*people):
    """One boolean column per letter."""
    names = sorted(set("".join(people)))
    return pd.DataFrame([{name: name in person for name in names} for person in people])


def scores(frame, **options):
    return pp.privacy_score(frame, attributes=list(frame.columns), **options).of(frame).tolist()


rows = st.lists(
    st.fixed_dictionaries(
        {
            "smoker": st.sampled_from([True, False, None]),
            "city": st.sampled_from(["Bern", "Basel", None]),
            "age": st.sampled_from([30, 41]),
            "disease": st.sampled_from(["flu", "gout", "*"]),
        }
    ),
    min_size=1,
    max_size=9,
)
weights = st.fixed_dictionaries({}, optional={name: st.sampled_from(WEIGHTS) for name in COLUMNS})


@steady
@given(
    rows,
    weights,
    weights,
    st.sampled_from([Fraction(1), Fraction(5, 2), Fraction(1, 100)]),
    st.sampled_from([Fraction(1), Fraction(1), Fraction(3, 4), HALF]),
)
def test_scores_follow_the_definition(people, likelihood, danger, saturation, confidence):
    expected = oracle.table_scores(
        people,
        booleans=["smoker"],
        likelihood=lambda name: likelihood.get(name[0], Fraction(1)),
        danger=lambda name: danger.get(name[0], Fraction(1)),
        saturation=saturation,
        confidence=confidence,
    )
    frame = pd.DataFrame(people, dtype=object)
    found = pp.privacy_score(
        frame,
        attributes=COLUMNS,
        likelihood=likelihood,
        danger=danger,
        saturation=saturation,
        confidence=confidence,
    )
    if frame["smoker"].isna().all():
        return  # without a true or false nothing says that the column is a boolean
    assert found.of(frame).tolist() == pytest.approx([float(value) for value in expected], abs=1e-12)
    assert float(found.value) == pytest.approx(float(sum(expected) / len(people)), abs=1e-12)
    assert found.maximum == pytest.approx(float(max(expected)), abs=1e-12)
    assert found.threshold_count(0.5) == sum(value >= HALF for value in expected)
    assert found.threshold_share(0.5) == Fraction(sum(value >= HALF for value in expected), len(people))
    assert int(found.counts.sum()) == len(people)
    assert np.average(found.individuals, weights=found.counts) == pytest.approx(found.average)


@steady
@given(rows, st.sampled_from(["average", "maximum"]), st.sampled_from([Fraction(1), Fraction(1, 3)]))
def test_weights_of_zero_and_one_give_exact_fractions(people, statistic, saturation):
    roles = {"smoker": "sensitive", "city": "quasi_identifier", "age": "quasi_identifier"}
    danger = {"smoker": 1, "city": 0, "age": 0, "disease": 1}
    expected = oracle.table_scores(
        people,
        booleans=["smoker"],
        likelihood=lambda name: Fraction(name[0] != "smoker"),
        danger=lambda name: Fraction(danger[name[0]]),
        saturation=saturation,
    )
    frame = pd.DataFrame(people, dtype=object)
    if frame["smoker"].isna().all():
        return
    found = pp.privacy_score(frame, attributes=COLUMNS, roles=roles, statistic=statistic, saturation=saturation)
    assert found.exact
    assert found.value == (max(expected) if statistic == "maximum" else sum(expected) / len(people))


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        (("abcd", "abce", "abcf", "abde", "ab"), ["2/3", "2/3", "3/4", "2/3", "2/3"]),
        (("abcd", "abce", "abfg", "bcfg"), ["3/4", "3/4", "2/3", "2/3"]),
    ],
)
def test_the_worked_examples(people, expected):
    frame = letters(*people)
    found = pp.privacy_score(frame, attributes=list(frame.columns))
    exact = [Fraction(value) for value in expected]
    assert found.of(frame).tolist() == pytest.approx([float(value) for value in exact], abs=1e-12)
    assert found.value == sum(exact) / len(exact)
    assert found.threshold_count(0.75) == sum(value == Fraction(3, 4) for value in exact)


def test_a_row_that_is_a_subset_of_another_is_scored():
    """The thesis' program drops it and prints 0.6875."""
    assert pp.privacy_score(letters("abcd", "abce", "abcf", "abde", "ab"), attributes=list("abcdef")).value == Fraction(
        41, 60
    )


def test_example_6_2_two_attributes_that_always_come_together():
    found = pp.privacy_score(letters("abc", "abd"), attributes=list("abcd"))
    assert [(found.witness(person).known, found.witness(person).inferred) for person in (0, 1)] == [
        ((), ("a", "b")),
        ((), ("a", "b")),
    ]
    third = letters("abc", "abd", "c", "d")  # now a and b follow only from each other
    assert scores(third) == pytest.approx([0.5, 0.5, 0, 0])


def test_example_2_33_a_2_anonymous_table_can_disclose_a_value():
    frame = pd.DataFrame(
        {"qi": ["ab", "ab", "c", "c"], "d": [True, True, False, False], "e": [True, False, True, False]}
    )
    assert pp.k_anonymity(frame, quasi_identifiers=["qi"]).value == 2
    roles = {"qi": "quasi_identifier", "d": "sensitive", "e": "sensitive"}
    found = pp.privacy_score(frame, attributes=["qi", "d", "e"], roles=roles)
    assert found.of(frame).tolist() == [0.5, 0.5, 0, 0]
    assert found.witness(int(np.argmax(found.individuals))).words() == (
        "An attacker who knows qi learns d: weight 0.5, true of 1 person."
    )


def test_example_5_1_two_anonymizing_it_raises_nothing():
    weights = {"likelihood": dict.fromkeys("AB", 1), "danger": dict.fromkeys("AB", 0)}
    before, after = letters("ACD", "BCE"), letters("ABCD", "ABCE")
    assert scores(before, **weights) == pytest.approx([2 / 3, 2 / 3])
    assert scores(after, **weights) == pytest.approx([0.5, 0.5])


def test_the_counterexample_to_theorems_5_2_and_5_3():
    """Giving one person a known and harmless attribute raises their score from 0 to 1/3."""
    weights = {"likelihood": {"q": 1, "v": 0.75}, "danger": {"q": 0, "v": 0.5}}
    before = pd.DataFrame({"q": [False, False, True], "v": [True, False, True]})
    after = pd.DataFrame({"q": [True, False, True], "v": [True, False, True]})
    assert scores(before, **weights) == pytest.approx([0, 0, 1 / 3], abs=1e-12)
    assert scores(after, **weights) == pytest.approx([1 / 3, 0, 1 / 3], abs=1e-12)
    assert pp.privacy_score(after, attributes=["q", "v"], **weights).value == Fraction(2, 9)


def test_the_two_anonymizing_counterexample():
    weights = {"danger": {"a": 0}}
    assert scores(letters("bc", "c", "a", "b"), **weights) == [0, 0, 0, 0]
    assert scores(letters("abc", "c", "a", "b"), **weights) == pytest.approx([0.5, 0, 0, 0])


def test_generalizing_a_column_with_likelihood_below_1_can_raise_a_score():
    """Erratum: with l < 1 even full-domain generalization can: 31 is better known than 30."""
    likelihood = {"age": {30: 0.1, 31: 1, 40: 1}, "disease": 0}
    rows = [(30, "flu"), (31, "flu"), (40, "gout")]
    raw = pd.DataFrame(rows, columns=["age", "disease"])
    leaves = pp.tree_hierarchy({"thirties": [30, 31], "forties": [40]})
    general = pd.DataFrame([("thirties", "flu"), ("thirties", "flu"), ("forties", "gout")], columns=["age", "disease"])
    options = {"danger": {"age": 0}, "likelihood": likelihood}
    before = pp.privacy_score(raw, attributes=["age", "disease"], **options)
    after = pp.privacy_score(general, attributes=["age", "disease"], generalized={"age": leaves}, **options)
    assert before.of(raw)[0] == pytest.approx(0.05)
    assert after.of(general)[0] == pytest.approx(0.5)


AGES = pp.interval_hierarchy(start=0, stop=80, widths=[10, 20, 40])
CITIES = pp.tree_hierarchy({"west": {"lake": ["Nyon", "Vevey"], "hill": ["Bulle"]}, "east": {"lake ": ["Arbon"]}})


@steady
@given(
    st.lists(
        st.tuples(
            st.sampled_from([5, 12, 31, 58, 79]),
            st.sampled_from(["Nyon", "Vevey", "Bulle", "Arbon"]),
            st.booleans(),
            st.sampled_from(["flu", "gout", None]),
        ),
        min_size=1,
        max_size=9,
    ),
    st.integers(0, AGES.height),
    st.integers(0, CITIES.height),
    st.fixed_dictionaries({"smoker": st.sampled_from(WEIGHTS), "disease": st.sampled_from(WEIGHTS)}),
    st.fixed_dictionaries({"smoker": st.sampled_from(WEIGHTS), "disease": st.sampled_from(WEIGHTS)}),
    st.booleans(),
)
def test_generalizing_everybody_alike_never_raises_a_score(people, ages, cities, likelihood, danger, by_leaves):
    """What is true of theorem 5.3: l = 1 and d = 0 on what is generalized, whether values or their leaves are held."""
    names = ["age", "city", "smoker", "disease"]
    before = pd.DataFrame(people, columns=names)
    after = before.assign(
        age=[AGES.generalize(age, ages) for age in before.age],
        city=[CITIES.generalize(city, cities) for city in before.city],
    )
    options = {
        "roles": {"age": "quasi_identifier", "city": "quasi_identifier"},
        "likelihood": likelihood,
        "danger": danger,
    }
    leaves = {"generalized": {"age": AGES, "city": CITIES}} if by_leaves else {}
    old = pp.privacy_score(before, attributes=names, **options).of(before)
    new = pp.privacy_score(after, attributes=names, **options, **leaves).of(after)
    assert (new <= old + 1e-12).all()


@steady
@given(st.lists(st.frozensets(st.sampled_from("abcde")), min_size=1, max_size=8))
def test_a_person_whose_attributes_are_a_subset_scores_no_higher(people):
    frame = pd.DataFrame([{name: name in person for name in "abcde"} for person in people])
    found = scores(frame, likelihood={"a": 0.5, "b": 0.1}, danger={"c": 0.5})
    for one, small in enumerate(people):
        for other, large in enumerate(people):
            if small <= large:
                assert found[one] <= found[other] + 1e-12


@steady
@given(rows, st.integers(0, 2**30))
def test_the_order_of_rows_and_columns_does_not_matter(people, seed):
    frame = pd.DataFrame(people, dtype=object)
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(frame))
    shuffled = frame.iloc[order]
    names = [COLUMNS[place] for place in generator.permutation(4)]
    one = pp.privacy_score(frame, attributes=COLUMNS)
    other = pp.privacy_score(shuffled, attributes=names)
    assert one.value == other.value
    assert one.of(frame)[order].tolist() == pytest.approx(other.of(shuffled).tolist(), abs=1e-12)


@steady
@given(rows)
def test_with_roles_alone_the_score_counts_what_a_class_has_in_common(people):
    """A score of n / (1 + n) for n sensitive columns in which everybody with the same quasi-identifiers is alike."""
    frame = pd.DataFrame(people, dtype=object)
    roles = {"city": "quasi_identifier", "age": "quasi_identifier", "disease": "sensitive"}
    found = pp.privacy_score(frame, attributes=list(roles), roles=roles).of(frame)
    classes = frame.groupby(["city", "age"], dropna=False)["disease"].transform("nunique")
    assert found.tolist() == [0.5 if values == 1 else 0.0 for values in classes]


def test_partial_inference_needs_only_a_share_of_the_people():
    frame = pd.DataFrame({"city": ["Bern"] * 20, "disease": ["flu"] * 19 + ["gout"]})
    options = {"attributes": ["city", "disease"], "roles": {"city": "quasi_identifier", "disease": "sensitive"}}
    assert pp.privacy_score(frame, **options).maximum == 0
    found = pp.privacy_score(frame, confidence=0.95, statistic="maximum", **options)
    assert found.value == Fraction(19, 20) / (1 + Fraction(19, 20))
    assert found.witness(0).confidences == (0.95,)
    assert found.witness(1).inferred == ()
    assert pp.privacy_score(frame, confidence=0.96, **options).maximum == 0


def test_attributes_of_every_person_follow_from_the_empty_set():
    found = pp.privacy_score(pd.DataFrame({"city": ["Bern", "Bern"], "age": [1, 2]}), attributes=["city", "age"])
    assert found.value == Fraction(1, 2)
    assert found.witness(0).known == ()
    assert found.witness(0).words() == "Any attacker learns city: weight 0.5, true of 1 person."


@steady
@given(rows, st.integers(0, 8), st.sampled_from([1.0, 0.75]))
def test_a_witness_reaches_the_score(people, person, confidence):
    frame = pd.DataFrame(people, dtype=object)
    found = pp.privacy_score(frame, attributes=COLUMNS, likelihood={"city": 0.5}, confidence=confidence)
    person = min(person, len(found.counts) - 1)
    witness = found.witness(person)
    assert float(witness.weight) == pytest.approx(found.individuals[person], abs=1e-12)
    assert witness.people == found.counts[person]
    row = dict(zip(found.table.columns, found.table.values(person), strict=True))
    for attribute in (*witness.known_attributes, *witness.inferred_attributes):
        assert row[attribute.column] == attribute.value


def test_a_witness_of_a_confidence_without_exact_float_has_its_inferences():
    frame = pd.DataFrame({"ill": ["flu"] * 5 + ["gout"]})
    found = pp.privacy_score(frame, attributes=["ill"], confidence="5/6")
    assert found.witness(0).words() == "Any attacker learns ill: weight 0.4545, true of 5 people."


@pytest.mark.parametrize(
    "module", ["metrics.privacy_score.metric", "metrics.privacy_score.relation", "metrics.privacy_score.weights"]
)
def test_the_examples_in_the_documentation_run(module):
    outcome = doctest.testmod(import_module(f"privacy_plugin.{module}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@steady
@given(
    st.lists(
        st.tuples(st.sampled_from("ABCD"), st.sampled_from("xy"), st.sampled_from("uvw"), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_people_have_the_attributes_of_all_their_rows(rows):
    frame = pd.DataFrame(rows, columns=["person", "city", "disease", "smoker"])
    roles = {"city": "quasi_identifier", "disease": "sensitive"}
    asked = {"attributes": ["city", "disease", "smoker"], "roles": roles, "unit": "person"}
    people = {}
    for person, *values in rows:
        row = dict(zip(["city", "disease", "smoker"], values, strict=True))
        people[person] = people.get(person, frozenset()) | oracle.held(row, ["smoker"])
    weighed = {
        "likelihood": lambda name: Fraction(name[0] != "disease"),
        "danger": lambda name: Fraction(name[0] != "city"),
    }
    expected = oracle.set_scores(list(people.values()), **weighed)
    found = pp.privacy_score(frame, **asked)
    assert found.value == sum(expected, Fraction(0)) / len(expected)
    assert found.rows == len(people)
    assert pp.privacy_score(frame, **asked, statistic="maximum").value == max(expected)
    assert sorted(np.repeat(found.individuals, found.counts).tolist()) == sorted(map(float, expected))


def test_bins_and_hierarchies_of_people_with_several_values():
    frame = pd.DataFrame({"person": [1, 1, 2, 3], "age": [31, 58, 35, 52], "disease": ["flu", "flu", "flu", "gout"]})
    asked = {"attributes": ["age", "disease"], "roles": {"age": "quasi_identifier", "disease": "sensitive"}}
    binned = pp.privacy_score(frame, **asked, bins={"age": [0, 40, 80]}, unit="person")
    ages = pp.interval_hierarchy(boundaries=[[0, 40, 80]])
    written = frame.assign(age=["[0, 40)", "[40, 80)", "[0, 40)", "[40, 80)"])
    held = pp.privacy_score(written, **asked, generalized={"age": ages}, unit="person")
    assert sorted(binned.individuals) == sorted(held.individuals) == [0.0, 0.5, 0.5]
    with pytest.raises(pp.PrivacyPluginError, match="belongs to a person and not to a row"):
        binned.of(frame)
