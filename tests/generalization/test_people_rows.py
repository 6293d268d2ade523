"""People whose rows differ are generalized by how they are counted, and suppressed whole."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.sources import open_source
from tests.oracles.people import classes_of, cover, largest_share, unlinked_risk
from tests.sources.loading import ENGINES, LOADERS, target_of, text_table

AGES = {"21": ("20s", "*"), "25": ("20s", "*"), "31": ("30s", "*"), "35": ("30s", "*")}
ZIPS = {"80": ("8*", "*"), "81": ("8*", "*"), "30": ("3*", "*"), "31": ("3*", "*")}
TREES = {"age": AGES, "zip": ZIPS}
HIERARCHIES = {
    name: pp.tree_hierarchy(
        {g: [v for v, path in tree.items() if path[0] == g] for g in sorted({p[0] for p in tree.values()})}
    )
    for name, tree in TREES.items()
}
COUNTS = ("sequences", "people")

Row = tuple[str, str, str, str]
ROWS = st.lists(
    st.tuples(
        st.sampled_from("ABCDE"), st.sampled_from(list(AGES)), st.sampled_from(list(ZIPS)), st.sampled_from("uvw")
    ),
    min_size=2,
    max_size=9,
)


def frame_of(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["person", "age", "zip", "s"])


def generalized(rows: list[Row], node: tuple[int, int]) -> list[tuple[str, str, str]]:
    """Return person, class and value of every row at a node, by the tables above alone."""
    trees = tuple(TREES.values())
    found = []
    for person, *at, s in rows:
        paths = [(value, *tree[value]) for tree, value in zip(trees, at, strict=True)]
        found.append((person, " ".join(path[level] for path, level in zip(paths, node, strict=True)), s))
    return found


def risk_of(rows: list[tuple[str, str, str]], count: str) -> Fraction:
    risks = [largest_share(rows, count)]
    if count == "sequences":
        risks += [unlinked_risk(rows, same_sequence=same) for same in (True, False)]
    return max(risks)


def meets(rows: list[tuple[str, str, str]], count: str, asked: dict[str, Any]) -> bool:
    smallest = min(map(len, classes_of(rows, count).values()))
    return (
        smallest >= asked.get("k_anonymity", 1)
        and risk_of(rows, count) <= asked.get("attribute_risk", 1)
        and cover(rows, count) >= asked.get("l_diversity", 1)
    )


def allowed(rows: list[Row], count: str, asked: dict[str, Any]) -> Iterator[tuple[int, int]]:
    return (node for node in product(range(3), range(3)) if meets(generalized(rows, node), count, asked))


def requirements(asked: dict[str, Any]) -> list[pp.Requirement]:
    limits = {"k_anonymity": "at_least", "l_diversity": "at_least", "attribute_risk": "at_most"}
    return [pp.require(name, **{limits[name]: limit}) for name, limit in asked.items()]


@settings(max_examples=60, deadline=None)
@given(
    ROWS,
    st.sampled_from(COUNTS),
    st.sampled_from([{"k_anonymity": 2}, {"l_diversity": 2}, {"k_anonymity": 2, "attribute_risk": 0.75}]),
)
def test_the_least_loss_of_all_nodes_that_meet_the_requirements(rows: list[Row], count: str, asked: dict) -> None:
    nodes = list(allowed(rows, count, asked))
    given_: dict[str, Any] = {"hierarchies": HIERARCHIES, "requirements": requirements(asked), "sensitive": "s"}
    if not nodes:
        with pytest.raises(InfeasibleError):
            pp.generalize(frame_of(rows), **given_, unit="person", count=count)
        return
    plan = pp.generalize(frame_of(rows), **given_, unit="person", count=count)
    assert sum(plan.levels.values()) == min(map(sum, nodes))  # both columns have the same height
    released = plan.apply(frame_of(rows))
    assert len(released) == len(rows)
    for one in given_["requirements"]:
        roles = {"quasi_identifiers": ["age", "zip"], "sensitive": "s", "unit": "person", "count": count}
        assert one.judge(released, **roles).passed


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(COUNTS), st.sampled_from([{"k_anonymity": 2}, {"k_anonymity": 2, "l_diversity": 2}]))
def test_people_are_suppressed_whole_and_what_is_left_passes(rows: list[Row], count: str, asked: dict) -> None:
    frame = frame_of(rows)
    try:
        plan = pp.generalize(
            frame,
            hierarchies=HIERARCHIES,
            requirements=requirements(asked),
            sensitive="s",
            unit="person",
            count=count,
            max_suppression=0.5,
        )
    except InfeasibleError:
        assert not list(allowed(rows, count, asked))
        return
    released = plan.apply(frame)
    people = set(released["person"])
    assert sorted(released["person"]) == sorted(person for person in frame["person"] if person in people)
    everybody = frame["person"].nunique()
    assert plan.rows == everybody
    assert plan.suppressed == everybody - len(people) <= everybody // 2
    node = tuple(plan.levels.values())
    assert meets([row for row in generalized(rows, node) if row[0] in people], count, asked)  # type: ignore[arg-type]


MOVED = text_table(
    person=["A", "A", "B", "B", "C", "C", "D", "E"],
    age=["21", "31", "25", "35", "21", "35", "31", "21"],
    zip=["80", "30", "80", "30", "80", "30", "81", "80"],
    s=["u", "v", "v", "u", "w", "w", "u", "v"],
)


@pytest.mark.parametrize("method", [pp.generalize, pp.generalize_locally], ids=lambda method: method.__name__)
@pytest.mark.parametrize("engine", ENGINES)
def test_whole_people_are_suppressed_alike_in_every_engine(engine: str, method: Any, tmp_path: Path) -> None:
    """A, B and C visit both areas in both decades of age; D and E have a sequence of their own."""
    data = LOADERS[engine](MOVED, tmp_path)
    plan = method(
        data,
        hierarchies=HIERARCHIES,
        requirements=[pp.require("k_anonymity", at_least=3)],
        unit="person",
        max_suppression=0.4,
    )
    assert (plan.suppressed, plan.rows) == (2, 5)
    plan.save(tmp_path / "plan.json")
    made = open_source(pp.load_plan(tmp_path / "plan.json").apply(data, target=target_of(engine, tmp_path)))
    found = made.frequencies(["person", "age", "zip"])
    assert [found.values(row) for row in range(found.distinct)] == [
        (person, age, area) for person in "ABC" for age, area in (("20s", "80"), ("30s", "30"))
    ]


@settings(max_examples=40, deadline=None)
@given(ROWS, st.sampled_from(COUNTS), st.sampled_from(["hierarchy", "observed"]))
def test_local_labels_keep_the_classes_of_people(rows: list[Row], count: str, labels: Any) -> None:
    frame = frame_of(rows)
    options: dict[str, Any] = {"hierarchies": HIERARCHIES, "sensitive": "s", "unit": "person", "count": count}
    options |= {"requirements": requirements({"k_anonymity": 2, "l_diversity": 2}), "max_suppression": 0.3}
    try:
        whole = pp.generalize(frame, **options, loss="loss_metric")
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            pp.generalize_locally(frame, **options, labels=labels)
        return
    plan = pp.generalize_locally(frame, **options, labels=labels)
    released = plan.apply(frame)
    if plan.search.startswith("rows of a person differ"):
        assert plan.loss <= whole.loss + 1e-9
    people = set(released["person"])
    assert sorted(released["person"]) == sorted(person for person in frame["person"] if person in people)
    assert plan.suppressed == frame["person"].nunique() - len(people)
    written = [(p, f"{age} {area}", s) for p, age, area, s in released.itertuples(index=False)]
    assert meets(written, count, {"k_anonymity": 2, "l_diversity": 2})


def test_what_cannot_be_applied_is_refused() -> None:
    frame = frame_of([("A", "21", "80", "u"), ("A", "31", "80", "u"), ("B", "21", "80", "v"), ("B", "31", "80", "u")])
    options: dict[str, Any] = {"hierarchies": HIERARCHIES, "requirements": [pp.require("k_anonymity", at_least=2)]}
    plan = pp.generalize(frame, **options, unit="person")
    assert plan.levels == {"age": 0, "zip": 0}
    with pytest.raises(ParameterError, match="suppressed whole"):
        plan.apply(frame, suppression="mask")
    with pytest.raises(ParameterError, match="keep the unit column 'person'"):
        plan.apply(frame, keep=["age", "zip"])
    with pytest.raises(ParameterError, match="count must be"):
        pp.generalize(frame, **options, unit="person", count="rows")


@pytest.mark.parametrize(("unknown", "people"), [("suppress", {"B"}), ("top", {"A", "B"})])
def test_values_that_no_hierarchy_covers_concern_whole_people(unknown: Any, people: set[str]) -> None:
    frame = frame_of([("A", "99", "80", "u"), ("A", "31", "80", "u"), ("B", "21", "80", "v"), ("B", "31", "80", "u")])
    options: dict[str, Any] = {"hierarchies": HIERARCHIES, "requirements": [pp.require("k_anonymity", at_least=1)]}
    with pytest.raises(HierarchyError, match="does not cover 1 value"):
        pp.generalize(frame, **options, unit="person")
    plan = pp.generalize(frame, **options, unit="person", unknown=unknown, max_suppression=0.5)
    assert (plan.suppressed, plan.rows, dict(plan.unknown_rows)) == (2 - len(people), 2, {"age": 1})
    assert plan.loss == (0.5 if unknown == "suppress" else 0.0)  # two of four rows are lost
    released = plan.apply(frame)
    assert set(released["person"]) == people
    assert ("*" in set(released["age"])) == (unknown == "top")


def test_choosing_by_quasi_identifiers_only_checks_the_rest() -> None:
    rows: list[Row] = [("A", "21", "80", "u"), ("A", "31", "80", "u"), ("B", "21", "80", "u"), ("B", "31", "80", "u")]
    asked = requirements({"k_anonymity": 2, "l_diversity": 2})
    options: dict[str, Any] = {"hierarchies": HIERARCHIES, "sensitive": "s", "unit": "person"}
    options["choose_by"] = "quasi_identifiers"
    with pytest.raises(InfeasibleError, match="only checked"):
        pp.generalize(frame_of(rows), requirements=asked, **options)
    other = frame_of(rows).assign(s=["u", "v", "w", "w"])
    plan = pp.generalize(other, requirements=asked, **options)
    assert len(plan.apply(other)) == 4
    with pytest.raises(InfeasibleError, match="only checked"):
        plan.apply(frame_of(rows))


def test_what_regions_of_people_cannot_do_is_refused() -> None:
    rows: list[Row] = [("A", "21", "80", "u"), ("A", "31", "80", "u"), ("B", "21", "80", "v"), ("B", "31", "80", "v")]
    options: dict[str, Any] = {"hierarchies": HIERARCHIES, "unit": "person", "sensitive": "s"}
    k2 = [pp.require("k_anonymity", at_least=2)]
    for wish in ({"keep": {"age": 1}}, {"choose_by": "quasi_identifiers"}):
        with pytest.raises(ParameterError, match="use method: generalize"):
            pp.generalize_locally(frame_of(rows), requirements=k2, **options, **wish)
    present = [pp.require("k_map", at_least=2)]
    with pytest.raises(ParameterError, match="use method: generalize"):
        pp.generalize_locally(frame_of(rows), requirements=present, population=frame_of(rows), **options)
    plan = pp.generalize_locally(frame_of(rows), requirements=k2, **options)
    stranger = frame_of([*rows, ("C", "35", "30", "u"), ("C", "21", "80", "u")])
    with pytest.raises(InfeasibleError, match="outside all regions"):
        plan.apply(stranger)
