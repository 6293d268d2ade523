"""m-invariance by its definition, its theorem over all worlds, and the trap of intersections."""

import random

import privacy_plugin as pp
from tests.history.releases import EIGHT, frame_of, history_of, policy_of, recorded, release_of, tiny_history
from tests.oracles.releases_over_time import invariance, possible_values


def measured(tables):
    *earlier, last = tables
    history, dataset = recorded(earlier)
    with pp.using_history(history):
        return pp.m_invariance(last, quasi_identifiers=["age"], sensitive="disease", unit="person", dataset=dataset)


def test_classes_that_intersect_in_two_values_are_not_invariant():
    assert measured([release_of(["abcd", "efgh"], EIGHT), release_of(["abef", "cdgh"], EIGHT)]).value == 0


def test_the_published_example_with_the_same_signatures_is_invariant():
    """Xiao and Tao 2007, tables 2 and 3 in spirit: people leave and join, everybody's set of values stays."""
    values = dict(zip("abcdef", ["flu", "cold", "gout", "flu", "cold", "gout"], strict=True))
    assert measured([release_of(["abc", "def"], values), release_of(["aec", "dbf"], values)]).value == 3
    assert measured([release_of(["abc"], values), release_of(["ab"], values)]).value == 0


def test_it_is_the_definition_and_leaves_nobody_certain():
    generator, met = random.Random(8), 0
    for _ in range(150):
        values, releases = tiny_history(generator)
        found = measured([frame_of(release, values) for release in releases]).value
        assert found == invariance(releases, values)
        if found >= 2:
            met += 1
            for possible in possible_values(releases, values).values():
                assert max(possible.values()) * found <= sum(possible.values())
    assert met > 5


def test_everybody_of_earlier_releases_counts():
    values = dict(zip("abcd", ["flu", "cold", "flu", "flu"], strict=True))
    kept = release_of(["ab"], values)
    assert measured([release_of(["ab", "cd"], values), kept]).value == 0
    assert measured([kept, kept]).value == 2


def test_a_policy_requires_it():
    policy = policy_of({"m_invariance": {"at_least": 2}})
    values = dict(zip("ab", ["flu", "cold"], strict=True))
    history = history_of([release_of(["ab"], values)], policy)
    assert policy.judge(release_of(["ab"], values), history=history).passed
    assert not policy.judge(release_of(["a", "b"], values), history=history).passed
