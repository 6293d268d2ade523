"""Buckets against a history: people keep theirs, newcomers are dealt among themselves."""

import random
from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import HistoryError, InfeasibleError, PolicyError
from privacy_plugin.history import ReleaseHistory
from privacy_plugin.history.in_use import using_history
from privacy_plugin.history.recording import recording
from privacy_plugin.sources.bundle import Bundle
from tests.history.releases import KEY
from tests.oracles.releases_over_time import possible_values


def _policy(*requirements: dict, **options: object) -> pp.Policy:
    return pp.Policy.from_dict(
        {
            "dataset": "ward",
            "columns": {"person": "unit", "age": "quasi_identifier", "disease": "sensitive"},
            "requirements": [
                {"maximum_disclosure": {"knowledge": 0, "below": 0.6}},
                *(requirements or ({"across_releases": {}},)),
            ],
            "anonymize": {"method": "bucketize", "knowledge": 0, "below": 0.6, "releases": "together", **options},
        }
    )


def _release(table: pd.DataFrame, policy: pp.Policy, history: ReleaseHistory) -> tuple[dict[str, pd.DataFrame], object]:
    with using_history(history), recording(policy) as record:
        made = anonymize(table, policy=policy)
        pair = Bundle(made.made)
        verdict = policy.judge(made.made)
        assert verdict.passed, verdict.reasons
        with record.verifying(pair) as reserve:
            reserve(pair)
    return made.made, made.continuation


def _members(pair: dict[str, pd.DataFrame]) -> dict[frozenset[int], list[str]]:
    """Return the people of every bucket (their age is who they are), with the values of the bucket."""
    people, values = pair["people"], pair["values"]
    return {
        frozenset(people["age"][people["bucket"] == number]): sorted(values["disease"][values["bucket"] == number])
        for number in people["bucket"].unique()
    }


def _tables(generator: random.Random) -> list[pd.DataFrame]:
    people = "abcdefg"[: generator.randint(4, 7)]
    diseases = {person: generator.choice("fgh") for person in people}
    days = []
    for _ in range(4):
        here = [person for person in people if generator.random() < 0.8] or [people[0]]
        rows = [(person, "abcdefg".index(person), diseases[person]) for person in here]
        days.append(pd.DataFrame(rows, columns=["person", "age", "disease"]))
    return days


@pytest.mark.parametrize("seed", range(15))
def test_no_value_is_certain_over_four_releases_in_all_worlds(seed: int) -> None:
    policy, history = _policy(), ReleaseHistory("sqlite://", key=KEY)
    releases, values = [], {}
    for table in _tables(random.Random(seed)):
        values |= dict(zip(table["age"], table["disease"], strict=True))
        try:
            pair, _ = _release(table, policy, history)
        except InfeasibleError:
            continue
        releases.append(dict(zip(pair["people"]["age"], pair["people"]["bucket"], strict=True)))
        for members, held in _members(pair).items():
            assert sorted(values[age] for age in members) == held
    if not releases:
        return
    worlds = possible_values(
        [{str(age): int(bucket) for age, bucket in release.items()} for release in releases],
        {str(age): values[age] for release in releases for age in release},
    )
    assert all(len(found) > 1 for found in worlds.values())


def _people(ages: range, diseases: str) -> pd.DataFrame:
    return pd.DataFrame({"person": [f"p{age}" for age in ages], "age": list(ages), "disease": list(diseases)})


def test_people_keep_their_bucket_and_newcomers_are_dealt_among_themselves() -> None:
    policy, history = _policy(), ReleaseHistory("sqlite://", key=KEY)
    first = _people(range(6), "fghfgh")
    pair, state = _release(first, policy, history)
    dealt = _members(pair)
    assert (state.entered, state.earlier_releases) == (6, 0)

    one_more = pd.concat([first, _people(range(6, 7), "f")])
    pair, state = _release(one_more, policy, history)
    assert _members(pair) == dealt
    assert (state.entered, state.waiting) == (0, 1)
    assert history.waiting()[0].people == 1

    two_more = pd.concat([first, _people(range(6, 8), "fg")])
    pair, state = _release(two_more, policy, history)
    assert {members: held for members, held in _members(pair).items() if max(members) < 6} == dealt
    assert frozenset({6, 7}) in _members(pair)
    assert (state.entered, state.waiting) == (2, 0)

    lost = next(members for members in dealt if 0 in members)
    pair, state = _release(two_more[two_more["age"] != 0], policy, history)
    assert set(_members(pair)) == {*dealt, frozenset({6, 7})} - {lost}
    assert state.withdrawn == len(lost) - 1

    changed = two_more.assign(disease=["h", *two_more["disease"][1:]])
    pair, state = _release(changed, policy, history)
    assert lost not in _members(pair)
    assert (state.changed, state.withdrawn) == (1, len(lost) - 1)
    pair, _ = _release(two_more, policy, history)
    assert set(_members(pair)) == {*dealt, frozenset({6, 7})}
    assert [each.people for each in history.releases()][-1] == 8


def test_a_gate_does_not_believe_a_pair_whose_deal_the_history_does_not_know() -> None:
    policy, history = _policy(), ReleaseHistory("sqlite://", key=KEY)
    first = _people(range(6), "fghfgh")
    with using_history(history):
        made = anonymize(first, policy=policy).made
    assert policy.judge(made, history=history).passed
    other = ReleaseHistory("sqlite://", key=KEY)
    assert "who is in which bucket" in policy.judge(made, history=other).reasons[0]
    with pytest.raises(HistoryError, match="who is in which bucket"):
        other.record(Bundle(made), policy=policy)
    _release(first, policy, history)
    swapped = {**made, "people": made["people"].assign(bucket=made["people"]["bucket"].to_numpy()[::-1])}
    assert not policy.judge(swapped, history=history).passed


def test_a_second_deal_of_the_same_people_is_refused_by_the_history_alone() -> None:
    given = {
        "dataset": "ward",
        "columns": {"age": "quasi_identifier", "disease": "sensitive"},
        "requirements": [{"maximum_disclosure": {"knowledge": 0, "below": 0.6}}],
        "anonymize": {"method": "bucketize", "knowledge": 0, "below": 0.6},
    }
    policy, history = pp.Policy.from_dict(given), ReleaseHistory("sqlite://", key=KEY)
    table = _people(range(40), "fghk" * 10)[["age", "disease"]]
    first, second = (Bundle(anonymize(table, policy=policy).made) for _ in range(2))
    history.record(first, policy=policy)
    with pytest.raises(HistoryError, match="another deal"):
        history.record(second, policy=policy)
    history.record(first, policy=policy)
    history.record(second, policy=policy, partition="monday")
    assert len(history.releases()) == 3


def test_deals_are_kept_encrypted_and_forgotten_with_the_people(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    policy, history = _policy(), ReleaseHistory(f"sqlite:///{path}", key=KEY)
    first = _people(range(6), "fghfgh")
    pair, _ = _release(first, policy, history)
    assert b"persons" not in path.read_bytes()
    history.erase("p0", dataset="ward")
    assert not policy.judge(pair, history=history).passed
    made, state = _release(first, policy, history)
    assert 0 not in set(made["people"]["age"])
    assert state.erased == 1


def test_a_policy_that_cannot_continue_is_refused() -> None:
    with pytest.raises(PolicyError, match="dealing"):
        _policy(dealing="similar")
    with pytest.raises(PolicyError, match="across_releases"):
        _policy({"l_diversity": {"variant": "distinct", "at_least": 2}})
    with pytest.raises(PolicyError, match="releases: together"):
        pp.Policy.from_dict(
            {
                "dataset": "ward",
                "columns": {"person": "unit", "age": "quasi_identifier", "disease": "sensitive"},
                "requirements": [{"maximum_disclosure": {"knowledge": 0, "below": 0.6}}],
                "anonymize": {"method": "bucketize", "knowledge": 0, "below": 0.6},
            }
        )
