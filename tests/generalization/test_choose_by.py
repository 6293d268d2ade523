"""`choose_by: quasi_identifiers`: an attacker who replays every world learns no more than the release shows."""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import InfeasibleError, ParameterError, PolicyError
from privacy_plugin.frequency.hierarchy import TableHierarchy

VALUES = ("H", "f", "c")
WORLDS = list(product(VALUES, repeat=5))
K2, L2 = pp.require("k_anonymity", at_least=2), pp.require("l_diversity", at_least=2)
Release = tuple[tuple[str, str], ...]


def released(method: Any, cities: list[str], world: tuple[str, ...], **given: Any) -> Release | None:
    """Return the released rows of a world as a recipient sees them, or None where the table is refused."""
    frame = pd.DataFrame({"city": cities, "disease": world})
    tree: Any = {"a": ["*"], "b": ["*"]}
    try:
        plan = method(
            frame, hierarchies={"city": TableHierarchy(tree)}, requirements=[K2, L2], sensitive="disease", **given
        )
        made = plan.apply(frame)
    except InfeasibleError:
        return None
    return tuple(sorted(zip(made["city"], made["disease"], strict=True)))


def shown(release: Release) -> Fraction:
    """The largest share of a value in a class: what the release shows without knowledge of the program."""
    classes: dict[str, list[str]] = defaultdict(list)
    for city, disease in release:
        classes[city].append(disease)
    return max(Fraction(c.count(v), len(c)) for c in classes.values() for v in set(c))


def posteriors(method: Any, cities: list[str], **given: Any) -> list[tuple[Fraction, Fraction]]:
    """Return, for every release, what an attacker concludes who replays all worlds, and what the release shows.

    The attacker knows everybody's city and the program; before the release all worlds are equally likely. People who
    were suppressed have no value in the release: a conclusion about them is not compared.
    """
    worlds = defaultdict(list)
    for world in WORLDS:
        release = released(method, cities, world, **given)
        if release is not None:
            worlds[release].append(world)
    found = []
    for release, possible in worlds.items():
        left_out = {city for city in set(cities) if city not in dict(release) and "*" not in dict(release)}
        people = [number for number, city in enumerate(cities) if city not in left_out]
        sure = max(Fraction(sum(w[p] == v for w in possible), len(possible)) for p in people for v in VALUES)
        found.append((sure, shown(release)))
    return found


@pytest.mark.parametrize("method", [pp.generalize, pp.generalize_locally])
@pytest.mark.parametrize("cities", [["a", "a", "b", "b", "b"], ["a", "b", "b", "b", "b"]])
def test_replaying_every_world_tells_what_the_release_shows(method: Any, cities: list[str]) -> None:
    found = posteriors(method, cities, choose_by="quasi_identifiers")
    assert found
    assert all(sure == measured for sure, measured in found)


@pytest.mark.parametrize("method", [pp.generalize, pp.generalize_locally])
def test_a_search_that_looks_at_values_tells_more(method: Any) -> None:
    """All `*` is released only if the two in a, or the three in b, share a value."""
    found = posteriors(method, ["a", "a", "b", "b", "b"])
    assert any(sure > measured for sure, measured in found)


def test_suppression_follows_from_class_sizes_alone() -> None:
    cities = ["a", "b", "b", "b", "b"]
    given: dict[str, Any] = {"choose_by": "quasi_identifiers", "max_suppression": 0.5}
    assert released(pp.generalize, cities, ("H", "H", "f", "c", "c"), **given) == (
        ("b", "H"),
        ("b", "c"),
        ("b", "c"),
        ("b", "f"),
    )
    assert released(pp.generalize, cities, ("f", "H", "H", "H", "H"), **given) is None


def test_what_would_look_at_more_is_refused() -> None:
    frame = pd.DataFrame({"city": ["a", "b"] * 4, "disease": ["H", "f"] * 4})
    tree: Any = {"a": ["*"], "b": ["*"]}
    given: dict[str, Any] = {"hierarchies": {"city": TableHierarchy(tree)}, "choose_by": "quasi_identifiers"}
    presence = pp.require("delta_presence", between=(0, 0.5))
    for method in (pp.generalize, pp.generalize_locally):
        with pytest.raises(ParameterError, match="membership"):
            method(frame, requirements=[K2, presence], population=frame, **given)
        with pytest.raises(ParameterError, match="class sizes"):
            method(frame, requirements=[L2], sensitive="disease", **given)
    with pytest.raises(ParameterError, match="predict"):
        pp.generalize_locally(frame, requirements=[K2], useful_for={"predict": "disease"}, **given)


@pytest.mark.parametrize("method", ["generalize", "generalize_locally"])
def test_the_verdict_counts_the_classes_that_follow_from_values(method: str) -> None:
    frame = pd.DataFrame({"city": ["a"] * 3 + ["b"] * 5, "disease": list("HHHffccg")})
    content: dict[str, Any] = {
        "dataset": "visits",
        "columns": {"city": {"role": "quasi_identifier", "hierarchy": {"tree": ["a", "b"]}}, "disease": "sensitive"},
        "requirements": [{"k_anonymity": {"at_least": 2}}, {"l_diversity": {"at_least": 2, "variant": "distinct"}}],
        "anonymize": {"method": method},
    }
    policy = pp.Policy.from_dict(content)
    made = anonymize(frame, policy=policy)
    verdict = policy.judge(made.made, plan=made.plan)
    assert verdict.passed
    assert any("1 of 1 classes differ" in note for note in verdict.notes)
    assert any("looks at sensitive values" in note for note in policy.judge(made.made).notes)
    content["anonymize"] = {"method": method, "choose_by": "quasi_identifiers"}
    blind = pp.Policy.from_dict(content)
    assert not any("sensitive values" in note for note in blind.judge(made.made).notes)
    with pytest.raises(InfeasibleError, match="only checked"):
        anonymize(frame, policy=blind)


LADDER_CITIES = [*"aabbb", *"cc"]
TREE: Any = {city: [group, "*"] for city, group in zip("abc", "xxy", strict=True)}


def climbed(method: Any, world: tuple[str, ...], ladder: list[int] | None) -> Any:
    """Return the plan of a world over three cities; levels hold two, five and seven people."""
    frame = pd.DataFrame({"city": LADDER_CITIES, "disease": world})
    given: dict[str, Any] = {"hierarchies": {"city": TableHierarchy(TREE)}, "sensitive": "disease"}
    return method(frame, requirements=[K2, L2], choose_by="quasi_identifiers", k=ladder, **given)


@pytest.mark.parametrize("method", [pp.generalize, pp.generalize_locally])
def test_a_ladder_releases_the_first_size_that_passes_and_states_those_it_refused(method: Any, tmp_path: Path) -> None:
    passes, fails = tuple("HfHfcHc"), tuple("HHHfcHc")
    assert climbed(method, passes, [2, 7]).refused_sizes == ()
    with pytest.raises(InfeasibleError, match="only checked"):
        climbed(method, fails, None)
    plan = climbed(method, fails, [2, 3, 7])
    assert plan.refused_sizes in ((2,), (2, 3))
    made = plan.apply(pd.DataFrame({"city": LADDER_CITIES, "disease": fails}))
    least = 3 if plan.refused_sizes == (2,) else 7
    assert K2.judge(made, quasi_identifiers=["city"]).value >= least
    assert any("tried in turn: 2" in note and f"{least} released" in note for note in plan.notes)
    assert any("tried in turn" in note for note in plan.describe().notes)
    assert plan.summary()["refused_sizes"] == list(plan.refused_sizes)
    plan.save(tmp_path / "plan.json")
    loaded = pp.load_plan(tmp_path / "plan.json")
    assert (loaded.refused_sizes, loaded.notes) == (plan.refused_sizes, plan.notes)
    with pytest.raises(InfeasibleError, match="l_diversity"):
        climbed(method, tuple("HHHHHHH"), [2, 7])
    with pytest.raises(InfeasibleError, match=r"refused: 2 \(l_diversity failed\)\."):
        climbed(method, fails, [2, 20])


@pytest.mark.parametrize("method", [pp.generalize, pp.generalize_locally])
def test_classes_of_a_step_depend_on_nothing_but_the_step(method: Any) -> None:
    """Worlds that reach the same step of the ladder have the same classes, whatever their values."""
    classes: dict[int, set[tuple[str, ...]]] = defaultdict(set)
    refused = 0
    for world in product("Hf", repeat=7):
        try:
            plan = climbed(method, world, [2, 7])
        except InfeasibleError:
            refused += 1
            continue
        made = plan.apply(pd.DataFrame({"city": LADDER_CITIES, "disease": world}))
        classes[len(plan.refused_sizes)].add(tuple(made["city"]))
    assert {step: len(found) for step, found in classes.items()} == {0: 1, 1: 1}
    assert refused == 2  # all H, all f


@pytest.mark.parametrize(
    ("ladder", "words"),
    [([], "list"), (5, "list"), ([1, 5], "at least 2"), ([5, 5], "rise"), ([10, 5], "rise"), ([2, 5], "ask for 3")],
)
def test_a_ladder_that_is_not_one_is_refused(ladder: Any, words: str) -> None:
    frame = pd.DataFrame({"city": ["a"] * 9, "disease": list("Hfc") * 3})
    given: dict[str, Any] = {"hierarchies": {"city": TableHierarchy(TREE)}, "sensitive": "disease"}
    asked = [pp.require("k_anonymity", at_least=3), L2]
    for method in (pp.generalize, pp.generalize_locally):
        with pytest.raises(ParameterError, match=words):
            method(frame, requirements=asked, choose_by="quasi_identifiers", k=ladder, **given)
        with pytest.raises(ParameterError, match="choose_by='quasi_identifiers' only"):
            method(frame, requirements=asked, k=[3, 5], **given)


def test_a_hierarchy_learned_from_another_column_is_refused() -> None:
    frame = pd.DataFrame({"city": ["a", "b"] * 4, "disease": ["H", "f"] * 4})
    learned = TableHierarchy({"a": ["*"], "b": ["*"]}, learned_from="disease")
    given: dict[str, Any] = {"hierarchies": {"city": learned}, "requirements": [K2]}
    for method in (pp.generalize, pp.generalize_locally):
        method(frame, **given)
        with pytest.raises(ParameterError, match="learned from 'disease'"):
            method(frame, choose_by="quasi_identifiers", **given)


def blind_policy(**anonymize: Any) -> dict[str, Any]:
    return {
        "dataset": "visits",
        "columns": {
            "city": {"role": "quasi_identifier", "hierarchy": {"tree": {"x": ["a", "b"], "y": ["c"]}}},
            "disease": "sensitive",
        },
        "requirements": [{"k_anonymity": {"at_least": 2}}, {"l_diversity": {"at_least": 2, "variant": "distinct"}}],
        "anonymize": {"method": "generalize_locally", "choose_by": "quasi_identifiers", **anonymize},
    }


def test_a_policy_that_would_look_at_more_is_refused_when_it_is_loaded() -> None:
    pp.Policy.from_dict(blind_policy(k=[2, 7]))
    with pytest.raises(PolicyError, match="predict"):
        pp.Policy.from_dict(blind_policy(useful_for={"predict": "disease"}))
    with pytest.raises(PolicyError, match="rise"):
        pp.Policy.from_dict(blind_policy(k=[7, 2]))
    with pytest.raises(PolicyError, match="list of class sizes"):
        pp.Policy.from_dict(blind_policy(k=7))
    with pytest.raises(PolicyError, match="only"):
        pp.Policy.from_dict({**blind_policy(), "anonymize": {"method": "generalize", "k": [2, 7]}})
    learned = blind_policy()
    learned["columns"]["city"]["hierarchy"] = {"learned": {"from": "disease", "tree": ["a", "b", "c"]}}
    with pytest.raises(PolicyError, match="learned from"):
        pp.Policy.from_dict(learned)
    presence = blind_policy()
    presence["requirements"].append({"delta_presence": {"between": [0, 0.5]}})
    with pytest.raises(PolicyError, match="membership"):
        pp.Policy.from_dict(presence)


def test_the_verdict_states_the_sizes_that_were_refused() -> None:
    frame = pd.DataFrame({"city": LADDER_CITIES, "disease": list("HHHfcHc")})
    policy = pp.Policy.from_dict(blind_policy(k=[2, 7]))
    made = anonymize(frame, policy=policy)
    verdict = policy.judge(made.made, plan=made.plan)
    assert verdict.passed
    assert any("2 refused, 7 released" in note for note in verdict.notes)


def test_the_verdict_states_what_observed_labels_tell() -> None:
    content = {**blind_policy(), "anonymize": {"method": "generalize_locally", "labels": "observed"}}
    policy = pp.Policy.from_dict(content)
    made = anonymize(pd.DataFrame({"city": LADDER_CITIES, "disease": list("HfHfcHc")}), policy=policy)
    for verdict in (policy.judge(made.made, plan=made.plan), policy.judge(made.made)):
        assert any("each one tells which values occur in its class" in note for note in verdict.notes)


def test_a_ladder_counts_people_whose_rows_differ() -> None:
    """The third person has been in a and in b: the class sizes of the ladder are people, and the second size passes."""
    rows = [(city, "H" if city != "c" else "f", number) for number, city in enumerate("aabbbcc")]
    frame = pd.DataFrame([*rows, ("a", "H", 2)], columns=["city", "disease", "person"])
    given: dict[str, Any] = {"hierarchies": {"city": TableHierarchy(TREE)}, "sensitive": "disease", "unit": "person"}
    plan = pp.generalize(frame, requirements=[K2, L2], choose_by="quasi_identifiers", k=[2, 7], **given)
    assert (plan.refused_sizes, plan.levels) == ((2,), {"city": 2})
