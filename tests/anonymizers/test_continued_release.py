"""Anonymizing against a history: no value is certain over several releases, whoever joins and leaves in between."""

import random
from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import InfeasibleError, PolicyError
from privacy_plugin.history import ReleaseHistory
from privacy_plugin.history.in_use import using_history
from privacy_plugin.history.recording import recording
from privacy_plugin.sources import open_source
from tests.history.releases import AGES, KEY, together_policy
from tests.oracles.releases_over_time import possible_values


def _release(table: pd.DataFrame, policy: pp.Policy, history: ReleaseHistory) -> tuple[pd.DataFrame, object]:
    """Anonymize, judge and record one release; returns it with its unit, and what was continued."""
    with using_history(history), recording(policy) as record:
        made = anonymize(table, policy=policy)
        verdict = policy.judge(made.made)
        assert verdict.passed, verdict.reasons
        with record.verifying(open_source(made.made)) as reserve:
            reserve(made.made, plan=made.plan)
    return made.made, made.continuation


def _tables(generator: random.Random) -> list[pd.DataFrame]:
    """Draw four days of a table of at most seven people, who join and leave."""
    people = "abcdefg"[: generator.randint(4, 7)]
    ages = {person: generator.randrange(4) for person in people}
    diseases = {person: generator.choice("fgh"[: generator.randint(2, 3)]) for person in people}
    days = []
    for _ in range(4):
        here = [person for person in people if generator.random() < 0.8] or [people[0]]
        days.append(pd.DataFrame([(p, ages[p], diseases[p]) for p in here], columns=["person", "age", "disease"]))
        moved = generator.choice(people)
        ages[moved] = generator.randrange(4)
    return days


@pytest.mark.parametrize("method", ["generalize", "generalize_locally"])
@pytest.mark.parametrize("seed", range(12))
def test_no_value_is_certain_over_four_releases_in_all_worlds(method: str, seed: int) -> None:
    policy, history = together_policy(method), ReleaseHistory("sqlite://", key=KEY)
    releases, values = [], {}
    for table in _tables(random.Random(seed)):
        values |= dict(zip(table["person"], table["disease"], strict=True))
        try:
            made, _ = _release(table, policy, history)
        except InfeasibleError:  # nobody can be released: nothing is published
            continue
        released = dict(zip(made["person"], made["age"].astype(str), strict=True))
        assert set(released) <= set(table["person"])
        releases.append(released)
    if not releases:
        return
    people = {person for release in releases for person in release}
    worlds = possible_values(releases, {person: values[person] for person in people})
    assert all(len(found) > 1 for found in worlds.values())


def test_the_tiny_histories_release_something_and_would_disclose_without_the_five_steps() -> None:
    """The property above is not empty: releases are made, and each day anonymized by itself discloses values."""
    alone = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {
                "person": "unit",
                "age": {"role": "quasi_identifier", "hierarchy": AGES},
                "disease": "sensitive",
            },
            "requirements": [{"k_anonymity": {"at_least": 2}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}],
            "anonymize": {"method": "generalize", "max_suppression": 1.0},
        }
    )
    certain = made = 0
    for seed in range(12):
        releases, values = [], {}
        for table in _tables(random.Random(seed)):
            values |= dict(zip(table["person"], table["disease"], strict=True))
            try:
                found = anonymize(table, policy=alone).made
            except InfeasibleError:
                continue
            releases.append(dict(zip(found["person"], found["age"].astype(str), strict=True)))
        made += len(releases)
        if releases:
            people = {person for release in releases for person in release}
            worlds = possible_values(releases, {person: values[person] for person in people})
            certain += sum(len(each) == 1 for each in worlds.values())
    assert made > 20
    assert certain > 5


def _people(names: str, ages: list[int], diseases: str) -> pd.DataFrame:
    return pd.DataFrame({"person": list(names), "age": ages, "disease": list(diseases)})


@pytest.mark.parametrize("method", ["generalize", "generalize_locally"])
def test_newcomers_wait_until_they_are_enough_and_leavers_take_their_joint_class_along(method: str) -> None:
    policy, history = together_policy(method), ReleaseHistory("sqlite://", key=KEY)
    first = _people("abcdef", [0, 0, 0, 2, 2, 2], "fghfgh")
    made, state = _release(first, policy, history)
    assert sorted(made["person"]) == list("abcdef")
    assert (state.entered, state.waiting) == (6, 0)

    made, state = _release(pd.concat([first, _people("x", [0], "f")]), policy, history)
    assert sorted(made["person"]) == list("abcdef")
    assert (state.entered, state.waiting) == (0, 1)
    ((waiting,)) = history.waiting()
    assert (waiting.people, waiting.since) == (1, state.waiting_since)

    both = pd.concat([first, _people("xy", [0, 0], "fg")])
    made, state = _release(both, policy, history)
    assert (len(made), state.entered, state.waiting) == (8, 2, 0)
    assert history.waiting() == ()

    left = both[both["person"] != "a"]  # b and c would expose a, and a alone is a joint class
    made, state = _release(left, policy, history)
    assert sorted(made["person"]) == ["d", "e", "f", "x", "y"]
    assert (state.withdrawn, state.withdrawn_joint_classes) == (2, 1)

    two_left = both[~both["person"].isin(["x", "y"])]  # a whole joint class left
    made, state = _release(two_left, policy, history)
    assert sorted(made["person"]) == list("abcdef")


def test_regions_are_not_cut_anew_and_people_whom_none_covers_get_regions_of_their_own() -> None:
    policy, history = together_policy(), ReleaseHistory("sqlite://", key=KEY)
    made, _ = _release(_people("abcd", [0, 0, 1, 1], "fgfg"), policy, history)
    assert len(set(made["age"])) == 2
    more = _people("abcdstuv", [0, 0, 1, 1, 0, 0, 3, 3], "fgfgfgfg")
    made, state = _release(more, policy, history)
    assert state.entered == 4
    assert state.new_regions == 1
    labels = dict(zip(made["person"], made["age"], strict=True))
    assert labels["a"] == labels["s"]
    assert labels["u"] == labels["v"]
    assert len({labels[person] for person in "acu"}) == 3
    again, state = _release(more, policy, history)
    assert dict(zip(again["person"], again["age"], strict=True)) == labels
    assert state.new_regions == 0


def test_a_changed_value_is_not_released_and_an_erased_person_never_again() -> None:
    policy, history = together_policy(), ReleaseHistory("sqlite://", key=KEY)
    first = _people("abcdef", [0, 0, 0, 2, 2, 2], "fghfgh")
    _release(first, policy, history)
    made, state = _release(_people("abcdef", [0, 0, 0, 2, 2, 2], "ggffgh"), policy, history)
    assert sorted(made["person"]) == ["d", "e", "f"]
    assert (state.changed, state.withdrawn) == (2, 1)
    history.erase("d", dataset="visits")
    made, state = _release(first, policy, history)
    assert "d" not in set(made["person"])
    assert state.erased == 1


def test_plans_are_kept_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    history = ReleaseHistory(f"sqlite:///{path}", key=KEY)
    _release(_people("abcdef", [0, 0, 0, 2, 2, 2], "fghfgh"), together_policy(), history)
    content = path.read_bytes()
    assert b"regions" not in content
    assert b"hierarchies" not in content
    assert history.last_plan(dataset="visits", partition=None) is not None
    assert history.last_plan(dataset="visits", partition="monday") is None
    history.purge(before="2999-01-01")
    assert history.last_plan(dataset="visits", partition=None) is None


def test_a_policy_that_cannot_follow_people_is_refused() -> None:
    columns = {"age": {"role": "quasi_identifier", "hierarchy": AGES}, "disease": "sensitive"}
    given = {
        "dataset": "visits",
        "columns": columns,
        "requirements": [{"k_anonymity": {"at_least": 2}}],
        "anonymize": {"releases": "together"},
    }
    with pytest.raises(PolicyError, match="unit"):
        pp.Policy.from_dict(given)
    with pytest.raises(PolicyError, match="across_releases"):
        pp.Policy.from_dict({**given, "columns": {"person": "unit", **columns}})
    with pytest.raises(PolicyError, match="choose_by"):
        together_policy("generalize_locally", choose_by="quasi_identifiers")
    with pytest.raises(PolicyError, match="releases"):
        together_policy(releases="sometimes")
