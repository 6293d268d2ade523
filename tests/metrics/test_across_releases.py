"""Requirements on joint classes: the traps, and brute force over all worlds of tiny histories."""

import random

import pandas as pd
import pytest

import privacy_plugin as pp
from tests.history.releases import EIGHT, KEY, frame_of, history_of, policy_of, recorded, release_of, tiny_history
from tests.oracles.releases_over_time import joint_classes, possible_values

L2 = pp.require("l_diversity", at_least=2, sensitive="disease")
K2 = pp.require("k_anonymity", at_least=2)


def exposed(tables, requirements):
    """Return the value for the last table after the others were recorded."""
    *earlier, last = tables
    history, dataset = recorded(earlier)
    with pp.using_history(history):
        return pp.across_releases(
            last,
            quasi_identifiers=["age"],
            unit="person",
            dataset=dataset,
            requirements=requirements,
            sensitive_columns=["disease"],
        )


def test_eight_people_whose_classes_and_intersections_are_diverse_are_exposed():
    tables = [release_of(["abcd", "efgh"], EIGHT), release_of(["abef", "cdgh"], EIGHT)]
    assert exposed(tables[:1], [K2, L2]).value == 0
    assert exposed(tables, [K2]).value == 0  # every joint class has two people
    found = exposed(tables, [K2, L2])
    assert found.value == 2
    assert "left with too few possible values of disease" in found.reason
    certain = [
        person
        for person, values in possible_values(
            [
                {p: 0 if p in "abcd" else 1 for p in "abcdefgh"},
                {p: 0 if p in "abef" else 1 for p in "abcdefgh"},
            ],
            EIGHT,
        ).items()
        if len(values) == 1
    ]
    assert certain == ["a", "b"]


def test_four_releases_that_pass_in_pairs_single_out_the_last_person():
    values = dict(zip("uvwxyzp", "ABABABC", strict=True))
    x, y, z = "uv", "wx", "yz"
    tables = [release_of([group], values) for group in (y, x + y, y + z, x + y + z + "p")]
    assert [exposed(tables[: n + 1], [K2, L2]).value for n in range(4)] == [0, 0, 0, 1]


def test_what_passes_leaves_nobody_certain_in_all_worlds():
    generator, passed, failed = random.Random(5), 0, 0
    for _ in range(80):
        values, releases = tiny_history(generator)
        tables = [frame_of(release, values) for release in releases]
        found = exposed(tables, [K2, L2])
        groups = joint_classes(releases).values()
        alone = sum(len(group) for group in groups if len(group) < 2)
        uniform = sum(len(group) for group in groups if len({values[person] for person in group}) < 2)
        assert found.value == max(alone, uniform)
        if found.value == 0:
            passed += 1
            worlds = possible_values(releases, values)
            assert all(len(possible) > 1 for possible in worlds.values())
        else:
            failed += 1
    assert passed > 5
    assert failed > 30


def test_a_changed_value_is_refused_now_and_in_every_later_release():
    first = release_of(["abcd"], {"a": "H", "b": "f", "c": "H", "d": "f"})
    second = release_of(["abcd"], {"a": "f", "b": "f", "c": "H", "d": "f"})
    assert exposed([first, second], [K2]).value == 1
    assert exposed([first, second, second], [K2]).details["changed_values"] == 1
    assert exposed([first, second, release_of(["bcd"], EIGHT | {"b": "f", "c": "H", "d": "f"})], [K2]).value >= 1


def test_partitions_of_one_dataset_are_judged_together():
    policy = policy_of({"across_releases": {}})
    values = dict(zip("abcd", "HfHf", strict=True))
    history = history_of([], policy)
    history.record(release_of(["abc"], values), policy=policy, partition="january")
    assert policy.judge(release_of(["abc"], values), history=history, partition="february").passed
    assert not policy.judge(release_of(["abcd"], values), history=history, partition="february").passed


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "duckdb"])
def test_every_engine_recognizes_the_same_people(kind):
    policy = policy_of({"across_releases": {}})
    values = dict(zip("abcdef", "HfHfHf", strict=True))
    history = history_of([release_of(["abcd"], values)], policy)
    for people, opened in (("abcd", True), ("abcdef", True), ("abcde", False)):
        frame = release_of([people], values)
        assert policy.judge(_as(kind, frame), history=history).passed is opened


def _as(kind, frame):
    if kind == "polars":
        import polars

        return polars.from_pandas(frame)
    if kind == "arrow":
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False)
    if kind == "duckdb":
        import duckdb

        return duckdb.connect().from_df(frame)
    return frame


def test_it_needs_a_history_a_unit_and_requirements_about_classes():
    table = release_of(["abcd"], EIGHT)
    assert "no release history is in use" in policy_of({"across_releases": {}}).judge(table).reasons[0]
    with pytest.raises(pp.PrivacyPluginError, match="role unit"):
        policy_of({"across_releases": {}}, unit=False)
    with pytest.raises(pp.PrivacyPluginError, match="no limit to choose"):
        policy_of({"across_releases": {"at_most": 3}})
    with pytest.raises(pp.PrivacyPluginError, match="at least one requirement about classes"):
        exposed([table], [])
    register = pp.require("k_map", at_least=2)
    with pytest.raises(pp.PrivacyPluginError, match="second table"):
        pp.require("across_releases", requirements=[register])


def test_ordered_values_that_only_the_history_knows_are_not_compared():
    near = pp.require("t_closeness", at_most=0.9, ground="ordered", sensitive="disease")
    first = pd.DataFrame({"person": list("abcd"), "age": [1] * 4, "disease": [1, 2, 3, 4]})
    second = pd.DataFrame({"person": list("ab"), "age": [1] * 2, "disease": [1, 2]})
    assert exposed([first, first], [near]).value == 0
    with pytest.raises(pp.PrivacyPluginError, match="keyed hash only"):
        exposed([first, second], [near])


def test_several_rows_of_one_person_close_the_gate():
    policy = policy_of({"across_releases": {}})
    table = pd.DataFrame({"person": list("aabb"), "age": [1, 2, 1, 2], "disease": list("HfHf")})
    history = pp.ReleaseHistory("sqlite://", key=KEY)
    assert "one row per person" in policy.judge(table, history=history).reasons[0]
    assert history.record(table, policy=policy).several_rows == 2
    assert "one row per person" in policy.judge(release_of(["abcd"], EIGHT), history=history).reasons[0]
