"""Attacks against counting by hand, and the command."""

import json
from collections import Counter
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.attacks.attack import attack
from privacy_plugin.cli.app import app

TREE = pp.tree_hierarchy({"north": ["a", "b"], "south": ["c", "d"]})
COVERED = {"north": "ab", "south": "cd", "*": "abcd", **{leaf: leaf for leaf in "abcd"}}

ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["x", "y"])), min_size=1, max_size=12)


def by_name(found):
    return {outcome.name: outcome for outcome in found}


@settings(max_examples=60, deadline=None)
@given(ROWS, st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_success_rates_equal_counting_by_hand(rows, levels):
    original = pd.DataFrame(rows, columns=["place", "illness"])
    recoded = [
        [place, "north" if place in "ab" else "south", "*"][level]
        for (place, _), level in zip(rows, levels, strict=False)
    ]
    released = original.assign(place=recoded)
    fitting = [[i for i, text in enumerate(recoded) if place in COVERED[text]] for place, _ in rows]
    found = by_name(
        attack(released, original=original, known=["place"], sensitive=["illness"], hierarchies={"place": TREE})
    )

    assert found["singling_out"].success == pytest.approx(sum(len(f) == 1 for f in fitting) / len(rows))
    assert found["linkage"].success == pytest.approx(float(sum(Fraction(1, len(f)) for f in fitting) / len(rows)))
    assert found["linkage"].baseline == pytest.approx(1 / len(rows))
    right = 0
    for (_, illness), rows_that_fit in zip(rows, fitting, strict=True):
        votes = Counter(rows[i][1] for i in rows_that_fit)
        right += min(sorted(votes), key=lambda value: -votes[value]) == illness
    assert found["inference"].success == pytest.approx(right / len(rows))


def test_membership_is_certain_where_every_covered_person_is_in_the_table():
    population = pd.DataFrame({"place": ["a"] * 2 + ["b"] * 2 + ["c"] * 4})
    original = pd.DataFrame({"place": ["a", "a", "b", "b"]})
    found = by_name(
        attack(
            original.assign(place="north"),
            original=original,
            known=["place"],
            hierarchies={"place": TREE},
            population=population,
        )
    )
    assert found["membership"].success == 1
    assert found["membership"].baseline == 0.5


def test_membership_refuses_a_population_that_lacks_people():
    original = pd.DataFrame({"place": ["a", "a"]})
    with pytest.raises(pp.PrivacyPluginError, match="does not contain every person"):
        attack(original, original=original, known=["place"], population=pd.DataFrame({"place": ["a", "b"]}))


def test_the_difference_of_two_safe_releases_discloses_the_person_who_came():
    first = pd.DataFrame({"place": ["north"] * 3, "illness": ["x", "x", "y"]})
    second = pd.concat([first, pd.DataFrame({"place": ["north"], "illness": ["y"]})])
    original = pd.DataFrame({"place": ["a", "a", "b", "b"], "illness": ["x", "x", "y", "y"]})
    arguments = {"original": original, "known": ["place"], "sensitive": ["illness"], "hierarchies": {"place": TREE}}
    found = by_name(attack(second, earlier=first, **arguments))
    assert (found["differencing"].success, found["differencing"].targets) == (1.0, 1)
    same = by_name(attack(first, earlier=first, **arguments))
    assert same["differencing"].targets == 0


def test_a_sample_of_people_has_an_interval_around_the_exact_rate():
    places = ["a", "b", "c", "d"] * 800 + ["a"] * 10
    original = pd.DataFrame({"place": places, "age": [n % 1000 for n in range(len(places))]})
    arguments = {"original": original, "known": ["place", "age"]}
    exact = by_name(attack(original, targets=10_000, **arguments))["linkage"]
    drawn = by_name(attack(original, targets=500, **arguments))["linkage"]
    assert exact.exact
    assert not drawn.exact
    assert drawn.targets == 500
    assert drawn.interval[0] <= exact.success <= drawn.interval[1]


def test_labels_that_nothing_explains_are_refused_without_showing_them():
    original = pd.DataFrame({"place": ["a", "b"]})
    with pytest.raises(pp.PrivacyPluginError) as refused:
        attack(pd.DataFrame({"place": ["secret", "a"]}), original=original, known=["place"])
    assert "secret" not in str(refused.value)


def test_the_command_prints_rates_and_no_value(tmp_path):
    original = pd.DataFrame({"place": ["aardvark", "bison", "bison"], "illness": ["flu", "gout", "gout"]})
    original.to_csv(tmp_path / "visits.csv", index=False)
    original.assign(place="*").to_csv(tmp_path / "released.csv", index=False)
    arguments = ["attack", str(tmp_path / "released.csv"), "--original", str(tmp_path / "visits.csv")]
    columns = ["--known", "place", "--sensitive", "illness"]
    shown = CliRunner().invoke(app, [*arguments, *columns])
    assert shown.exit_code == 0
    assert "linkage: 33.3%" in shown.output
    assert not {"aardvark", "bison", "gout"} & set(shown.output.replace(",", " ").split())
    document = json.loads(CliRunner().invoke(app, [*arguments, *columns, "--json"]).stdout)
    assert [line["attack"] for line in document["attacks"]] == ["singling_out", "linkage", "inference"]
    assert CliRunner().invoke(app, arguments).exit_code == 2
