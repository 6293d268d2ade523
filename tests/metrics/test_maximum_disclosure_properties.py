"""Maximum disclosure of any small table: all worlds, the formula, merging, order, and recursive diversity."""

import random
from fractions import Fraction
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.metrics.l_diversity import l_diversity
from privacy_plugin.metrics.maximum_disclosure.metric import Witness, maximum_disclosure
from tests.metrics.tables import COLUMNS, QUASI_IDENTIFIERS, merge_first_two_classes, rows, table_of
from tests.oracles import disclosure as oracle

few_rows = st.lists(st.tuples(st.sampled_from([30, None]), st.just("Bern"), st.sampled_from([None, "flu", "cold"])))
attackers = st.sampled_from(["implications", "negations"])


def buckets_of(given_rows):
    """The rows as the oracle takes them: a list of values a class, in the order of the classes."""
    table = table_of(given_rows)
    histograms = table.histograms(QUASI_IDENTIFIERS, "disease")
    codes = [
        histograms.values[start:stop].repeat(histograms.counts[start:stop]).tolist()
        for start, stop in pairwise(histograms.offsets)
    ]
    return [[f"{histograms.dictionary[code]}" for code in bucket] for bucket in codes]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(few_rows.filter(lambda some: 1 <= len(some) <= 6), st.integers(0, 3))
def test_the_value_and_every_class_are_those_of_all_worlds(given_rows, knowledge):
    buckets = buckets_of(given_rows)
    if len(oracle.worlds_of(buckets)) > 12:
        return
    asked = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": "disease", "knowledge": knowledge}
    found = maximum_disclosure(table_of(given_rows), **asked)
    assert found.value == oracle.general_maximum(buckets, knowledge)
    assert list(found.curve) == [oracle.general_maximum(buckets, facts) for facts in range(knowledge + 1)]
    expected = [float(oracle.general_maximum(buckets, knowledge, bucket)) for bucket in range(len(buckets))]
    assert found.spread.values.tolist() == pytest.approx(expected, abs=1e-13)
    negations = maximum_disclosure(table_of(given_rows), **asked, attacker="negations")
    assert negations.value == oracle.negation_maximum(buckets, knowledge)
    expected = [float(oracle.negation_maximum(buckets, knowledge, bucket)) for bucket in range(len(buckets))]
    assert negations.spread.values.tolist() == expected


@settings(deadline=None, derandomize=True)
@given(rows, st.integers(0, 5))
def test_the_value_is_the_formula_over_all_partitions(given_rows, knowledge):
    histograms = [[bucket.count(value) for value in set(bucket)] for bucket in buckets_of(given_rows)]
    found = maximum_disclosure(
        table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", knowledge=knowledge
    )
    assert list(found.curve) == oracle.partition_curve(histograms, knowledge)
    expected = [float(value) for value in oracle.partition_classes(histograms, knowledge)]
    assert found.spread.values.tolist() == pytest.approx(expected, abs=1e-13)
    assert found.witness.probability == found.value


@settings(deadline=None, derandomize=True)
@given(rows, st.integers(0, 4), attackers)
def test_given_the_witness_the_target_has_the_value(given_rows, knowledge, attacker):
    """What the witness says is asked again, by enumeration: it must give exactly the probability it promises."""
    frame = pd.DataFrame(given_rows, columns=COLUMNS)
    asked = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": "disease"}
    found = pp.maximum_disclosure(frame, **asked, knowledge=knowledge, attacker=attacker)
    witness: Witness = found.witness
    assert witness.probability == found.value
    assert len(witness.facts) <= knowledge
    posterior = pp.disclosure_of_given_knowledge(
        frame, **asked, implications=[([fact], [witness.target]) for fact in witness.facts], target=witness.target
    )
    assert posterior.value == witness.probability


@settings(deadline=None, derandomize=True)
@given(rows, st.integers(0, 4), attackers)
def test_merging_classes_never_raises_it(given_rows, knowledge, attacker):
    before, after = (
        maximum_disclosure(
            table_of(some),
            quasi_identifiers=QUASI_IDENTIFIERS,
            sensitive="disease",
            knowledge=knowledge,
            attacker=attacker,
        )
        for some in (given_rows, merge_first_two_classes(given_rows))
    )
    assert after.value <= before.value


@settings(deadline=None, derandomize=True)
@given(rows, st.integers(0, 4), attackers, st.randoms(use_true_random=False))
def test_order_of_rows_and_columns_does_not_matter(given_rows, knowledge, attacker, generator: random.Random):
    shuffled = generator.sample(given_rows, len(given_rows))
    options = {"sensitive": "disease", "knowledge": knowledge, "attacker": attacker}
    ours = maximum_disclosure(table_of(given_rows), quasi_identifiers=["age", "city"], **options)
    other = maximum_disclosure(table_of(shuffled), quasi_identifiers=["city", "age"], **options)
    assert (ours.curve, ours.witness.probability) == (other.curve, other.witness.probability)
    assert sorted(ours.spread.values) == sorted(other.spread.values)


@settings(deadline=None, derandomize=True)
@given(rows)
def test_curves_rise_and_implications_reach_more_than_negations(given_rows):
    found = maximum_disclosure(
        table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease", knowledge=6
    )
    stronger, weaker = found.details["curves"]["implications"], found.details["curves"]["negations"]
    assert all(first <= second for first, second in pairwise(stronger))
    assert all(first <= second for first, second in pairwise(weaker))
    assert all(less <= more for less, more in zip(weaker, stronger, strict=True))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(rows, st.sampled_from(["1/3", "1/2", 1, "3/2", 2, 3]), st.integers(2, 5))
def test_recursive_diversity_is_safety_against_negations(given_rows, c, l):  # noqa: E741
    """(c, l)-diversity holds exactly when the table is (c / (c + 1), l - 2)-safe against negations."""
    asked = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": "disease"}
    diverse = l_diversity(table_of(given_rows), **asked, variant="recursive", c=c).value >= l
    limit = Fraction(str(c)) / (Fraction(str(c)) + 1)
    required = pp.require("maximum_disclosure", knowledge=l - 2, attacker="negations", below=limit)
    assert required.judge(table_of(given_rows), **asked).passed == diverse
