"""Disclosure of given knowledge against brute force over all worlds."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import Atom
from privacy_plugin.metrics.maximum_disclosure.given_knowledge import Implication, disclosure_of_given_knowledge
from tests.metrics.disclosure_tables import FIGURE_3, as_key, counted, csr, tables_with_few_worlds, values_of
from tests.oracles import disclosure as oracle


def test_one_named_implication_of_the_paper() -> None:
    flu_0, flu_1 = values_of(FIGURE_3[0]).index("flu"), values_of(FIGURE_3[1]).index("flu")
    hannah, charlie = Atom(1, 1, flu_1), Atom(0, 1, flu_0)
    rule = Implication(antecedents=(hannah,), consequents=(charlie,))
    found = disclosure_of_given_knowledge(**counted(FIGURE_3), implications=[rule])
    assert (found.target, found.disclosure) == (charlie, Fraction(10, 19))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(table=tables_with_few_worlds(40), data=st.data())
def test_given_knowledge_equals_brute_force(table: list[list[str]], data: st.DataObject) -> None:
    buckets = st.integers(0, len(table) - 1)
    atoms = buckets.flatmap(
        lambda bucket: st.builds(
            Atom,
            st.just(bucket),
            st.integers(0, len(table[bucket]) - 1),
            st.integers(0, len(values_of(table[bucket])) - 1),
            st.just(0),
        )
    )
    sides = st.lists(atoms, min_size=1, max_size=2).map(tuple)
    rules = data.draw(st.lists(st.builds(Implication, antecedents=sides, consequents=sides), max_size=3))
    keys = [
        (
            [as_key(table, atom) for atom in rule.antecedents],
            [as_key(table, atom) for atom in rule.consequents],
        )
        for rule in rules
    ]
    expected = oracle.disclosure_risk(table, keys)
    if expected is None:
        with pytest.raises(ParameterError, match="no table agrees"):
            disclosure_of_given_knowledge(**counted(table), implications=rules)
        return
    found = disclosure_of_given_knowledge(**counted(table), implications=rules)
    assert found.disclosure == expected
    asked = data.draw(atoms)
    one = disclosure_of_given_knowledge(**counted(table), implications=rules, target=asked)
    assert one.disclosure == oracle.posterior(table, keys, as_key(table, asked))


def test_given_knowledge_has_a_size_limit_and_checks_its_atoms() -> None:
    everyone = tuple(Atom(0, person, 0) for person in range(20))
    rule = Implication(antecedents=everyone, consequents=(Atom(0, 0, 1),))
    with pytest.raises(TooLargeError, match="20 people"):
        disclosure_of_given_knowledge(**csr([[10, 10]]), implications=[rule])
    outside = Implication(antecedents=(Atom(0, 2, 0),), consequents=(Atom(0, 0, 0),))
    with pytest.raises(ParameterError, match="person 2"):
        disclosure_of_given_knowledge(**csr([[1, 1]]), implications=[outside])
    empty = Implication(antecedents=(), consequents=(Atom(0, 0, 0),))
    with pytest.raises(ParameterError, match="empty side"):
        disclosure_of_given_knowledge(**csr([[1, 1]]), implications=[empty])


def test_a_value_the_bucket_does_not_hold_is_never_had() -> None:
    rule = Implication(antecedents=(Atom(0, 0, 9),), consequents=(Atom(0, 0, 0),))
    found = disclosure_of_given_knowledge(**csr([[2, 1]]), implications=[rule])
    assert found.disclosure == Fraction(2, 3)
