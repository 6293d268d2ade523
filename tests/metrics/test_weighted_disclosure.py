"""Weighted disclosure against all worlds, and what follows from its definition."""

from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.class_profiles import class_histograms
from privacy_plugin.metrics.maximum_disclosure.metric import maximum_disclosure
from privacy_plugin.metrics.maximum_disclosure.weighted_disclosure import known_denials, least_with_target
from tests.metrics.disclosure_tables import tables_with_few_worlds
from tests.oracles import disclosure as oracle

WEIGHTS = st.fixed_dictionaries(
    {value: st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]) for value in "abcd"}
)
ATTACKERS = st.sampled_from(["implications", "negations"])


def measured(table, weights, **options):
    rows = [(number, value) for number, bucket in enumerate(table) for value in bucket]
    held = {value for _, value in rows}
    return maximum_disclosure(
        FrequencyTable.from_rows(["q", "s"], rows),
        quasi_identifiers=["q"],
        sensitive="s",
        weights={value: weight for value, weight in weights.items() if value in held},
        **options,
    )


def follows(table, witness):
    """Return the probability of the target of a witness, over all worlds."""
    by_rank = {}
    for atom in (witness.target, *witness.facts):
        by_rank[atom.class_rank] = next(number for number in range(len(table)) if number == dict(atom.members)["q"])
    target = (by_rank[witness.target.class_rank], witness.target.person - 1, witness.target.value)
    facts = [(by_rank[fact.class_rank], fact.person - 1, fact.value) for fact in witness.facts]
    if witness.attacker == "implications":
        return oracle.posterior(table, [([fact], [target]) for fact in facts], target)
    allowed = (1 << len(oracle.worlds_of(table))) - 1
    atoms = oracle.atom_sets(table)
    for fact in facts:
        allowed &= ~atoms.get(fact, 0)
    return Fraction((allowed & atoms[target]).bit_count(), allowed.bit_count())


@settings(deadline=None, derandomize=True, max_examples=60)
@given(table=tables_with_few_worlds(12), weights=WEIGHTS, knowledge=st.integers(0, 3), attacker=ATTACKERS)
def test_equals_all_knowledge_of_basic_implications(table, weights, knowledge, attacker):
    found = measured(table, weights, knowledge=knowledge, attacker=attacker)
    for facts in range(knowledge + 1):
        assert found.curve[facts] == max(oracle.weighted_maximum(table, weights, facts, attacker))
    by_class = oracle.weighted_maximum(table, weights, knowledge, attacker)
    assert max(found.spread.values) == pytest.approx(float(max(by_class)), abs=1e-13)
    for value, exact in zip(found.spread.values, by_class, strict=True):
        assert float(exact) - 1e-13 <= value <= float(max(by_class)) + 1e-13
    assert found.exact
    assert found.witness.weight * found.witness.probability == found.value
    if found.value:
        assert follows(table, found.witness) == found.witness.probability


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    table=st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), min_size=1, max_size=2).filter(
        lambda table: len(oracle.worlds_of(table)) <= 500
    ),
    weights=WEIGHTS,
    knowledge=st.integers(0, 2),
)
def test_equals_all_knowledge_about_larger_classes(table, weights, knowledge):
    found = measured(table, weights, knowledge=knowledge)
    assert found.value == max(oracle.weighted_shared_maximum(table, weights, knowledge))
    if found.value:
        assert follows(table, found.witness) == found.witness.probability


@settings(deadline=None, derandomize=True, max_examples=80)
@given(table=tables_with_few_worlds(200), knowledge=st.integers(0, 4), attacker=ATTACKERS)
def test_weights_of_one_change_nothing(table, knowledge, attacker):
    weighed = measured(table, dict.fromkeys("abcd", 1), knowledge=knowledge, attacker=attacker)
    rows = [(number, value) for number, bucket in enumerate(table) for value in bucket]
    plain = pp.maximum_disclosure(
        pd.DataFrame(rows, columns=["q", "s"]),
        quasi_identifiers=["q"], sensitive="s", knowledge=knowledge, attacker=attacker,
    )  # fmt: skip
    assert weighed.curve == plain.curve
    for name, curve in plain.details["curves"].items():
        assert [float(value) for value in weighed.details["curves"][name]] == pytest.approx(curve)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(table=tables_with_few_worlds(500), weights=WEIGHTS, knowledge=st.integers(0, 4), attacker=ATTACKERS)
def test_merging_classes_never_raises_it(table, weights, knowledge, attacker):
    merged = [[value for bucket in table[:2] for value in bucket], *table[2:]]
    options = {"knowledge": knowledge, "attacker": attacker}
    assert measured(merged, weights, **options).value <= measured(table, weights, **options).value


@settings(deadline=None, derandomize=True, max_examples=100)
@given(counts=st.lists(st.integers(1, 3), min_size=1, max_size=4).map(lambda some: sorted(some, reverse=True)))
def test_the_least_absence_with_a_target_is_that_of_all_denials(counts):
    """Every set of atoms of one bucket with the target among them, over all its worlds."""
    bucket = [value for value, count in zip("abcd", counts, strict=False) for _ in range(count)]
    if len(oracle.worlds_of([bucket])) > 60:
        return
    atoms = oracle.atom_sets([bucket])
    everything = len(oracle.worlds_of([bucket]))
    for place, held in enumerate(counts):
        target = atoms[0, 0, "abcd"[place]]
        reached = {target}
        for found in least_with_target(counts, size=len(bucket), held=held, width=3):
            least = min(everything - denied.bit_count() for denied in reached)
            assert found.absence == Fraction(least, everything)
            reached = {denied | atom for denied in reached for atom in atoms.values()}


def test_class_profiles_give_the_same_value():
    rows = [(number, value) for number, bucket in enumerate(["aabc", "aabc", "bda"]) for value in bucket]
    weights = {"a": "1/5", "c": 1, "otherwise": "1/2"}
    profiles = class_histograms(
        ["q"], "s", profiles=pd.Series([0, 0, 0, 1, 1, 1]).to_numpy(), codes=pd.Series([0, 1, 2, 0, 1, 3]).to_numpy(),
        counts=pd.Series([2, 1, 1, 1, 1, 1]).to_numpy(), raw_values=list("abcd"), repeats=pd.Series([2, 1]).to_numpy(),
    )  # fmt: skip
    asked = {"quasi_identifiers": ["q"], "sensitive": "s", "weights": weights}
    for attacker in ("implications", "negations"):
        for knowledge in range(4):
            options = {**asked, "knowledge": knowledge, "attacker": attacker}
            whole = maximum_disclosure(FrequencyTable.from_rows(["q", "s"], rows), **options)
            counted = maximum_disclosure(profiles, **options)
            assert counted.value == whole.value
            assert counted.witness.words() == whole.witness.words()


INTERVALS = {"widths": [2, 4], "start": 20, "stop": 28}
WARD = pd.DataFrame({"sex": list("mmmmffff"), "disease": ["flu", "flu", "flu", "hiv", "flu", "flu", "cold", "cold"]})
ASKED = {"quasi_identifiers": ["sex"], "sensitive": "disease"}


def test_a_mild_value_may_be_likely_and_a_bad_one_may_not():
    unweighed = pp.require("maximum_disclosure", knowledge=0, below=0.5)
    assert not unweighed.judge(WARD, **ASKED).passed
    weighed = pp.require("maximum_disclosure", knowledge=0, weights={"hiv": 1, "otherwise": 0.2}, below=0.5)
    finding = weighed.judge(WARD, **ASKED)
    assert (finding.passed, finding.value) == (True, Fraction(1, 4))
    assert "hiv" not in finding.reason + str(weighed) + str(finding.to_dict())
    assert finding.measurement.witness.words().endswith(": the 2nd most frequent value of the class.")
    assert "weighed" not in finding.measurement.witness.words()
    mild = pp.maximum_disclosure(WARD, **ASKED, knowledge=0, weights={"hiv": 0, "otherwise": 0.2})
    assert mild.value == Fraction(3, 20)
    assert mild.witness.words().endswith("the most frequent value of the class, weighed 0.2.")


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"hiv": 2}, "between 0 and 1"),
        ({"hiv": "high"}, "number"),
        ({}, "a mapping"),
        ([1], "a mapping"),
    ],
)
def test_weights_that_cannot_be_meant_are_refused_without_a_value(weights, words):
    with pytest.raises(ParameterError, match=words) as refused:
        pp.maximum_disclosure(WARD, **ASKED, knowledge=1, weights=weights)
    assert "hiv" not in str(refused.value)


def test_a_misspelled_value_never_makes_its_true_spelling_milder():
    misspelled = pp.maximum_disclosure(WARD, **ASKED, knowledge=1, weights={"hvi": 1, "cold": 0.1, "otherwise": 0.2})
    meant = pp.maximum_disclosure(WARD, **ASKED, knowledge=1, weights={"hiv": 1, "cold": 0.1, "otherwise": 0.2})
    worst = pp.maximum_disclosure(WARD, **ASKED, knowledge=1, weights={"cold": 0.1})
    assert misspelled.value == worst.value >= meant.value
    assert any("1 weighted value(s) do not occur" in note for note in misspelled.notes)
    assert not meant.notes
    milder = pp.maximum_disclosure(WARD, **ASKED, knowledge=1, weights={"hvi": 0, "otherwise": 0.2})
    assert milder.value == pp.maximum_disclosure(WARD, **ASKED, knowledge=1, weights={"otherwise": 0.2}).value


def test_more_implications_than_can_be_enumerated_are_refused():
    rows = pd.DataFrame({"sex": ["m"] * 60, "disease": [f"d{i % 30}" for i in range(60)]})
    with pytest.raises(TooLargeError, match="20 implications"):
        pp.maximum_disclosure(rows, **ASKED, knowledge=21, weights={"d1": 0.5})
    assert pp.maximum_disclosure(rows, **ASKED, knowledge=21, attacker="negations", weights={"d1": 0.5}).value > 0


@pytest.mark.parametrize("method", ["generalize", "generalize_locally"])
def test_a_policy_with_weights_is_searched_judged_and_written(method):
    frame = pd.DataFrame(
        {
            "age": [20 + i % 8 for i in range(64)],
            "disease": [["flu", "flu", "flu", "cold", "hiv", "gout"][(i * i + i // 8) % 6] for i in range(64)],
        }
    )
    policy = pp.Policy.from_dict(
        {
            "dataset": "ward",
            "columns": {
                "age": {
                    "role": "quasi_identifier",
                    "hierarchy": {"intervals": INTERVALS},
                },
                "disease": "sensitive",
            },
            "requirements": [
                {"maximum_disclosure": {"knowledge": 1, "weights": {"hiv": 1, "otherwise": 0.3}, "below": 0.6}}
            ],
            "anonymize": {"method": method, "max_suppression": 0.2},
        }
    )
    released = anonymize(frame, policy=policy).made
    verdict = policy.judge(released)
    assert verdict.passed, verdict.reasons
    weights = policy.requirements[0].to_dict()["maximum_disclosure"]["weights"]
    assert pp.require("maximum_disclosure", knowledge=1, weights=weights, below=0.6) is not None
    assert verdict.findings[0].value < Fraction(3, 5)
    assert policy.requirements[0].judge(frame, quasi_identifiers=["age"], sensitive="disease").status == "failed"


def test_weights_by_text_are_those_by_value():
    numbers = pd.DataFrame({"sex": list("mmmf"), "disease": [1, 1, 2, 2]})
    by_value = pp.maximum_disclosure(numbers, **ASKED, knowledge=0, weights={1: 0.5})
    by_text = pp.maximum_disclosure(numbers, **ASKED, knowledge=0, weights={"1": 0.5})
    assert by_value.value == by_text.value == 1


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    buckets=st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=2, max_size=6),
    removed=st.integers(1, 3),
    added=st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), max_size=3),
    weights=WEIGHTS,
    knowledge=st.integers(0, 4),
)
def test_a_table_of_which_some_classes_changed_is_judged_as_if_it_were_new(buckets, removed, added, weights, knowledge):
    """Only new classes are solved; everything else is remembered, and the result is that of solving all of them."""
    changed = [*buckets[removed:], *added] or buckets
    known_denials.cache_clear()
    measured(buckets, weights, knowledge=knowledge)
    solved = known_denials.cache_info().misses
    again = measured(changed, weights, knowledge=knowledge)
    new = known_denials.cache_info().misses - solved
    known_denials.cache_clear()
    anew = measured(changed, weights, knowledge=knowledge)
    assert again.to_dict() == anew.to_dict()
    assert new <= known_denials.cache_info().misses
