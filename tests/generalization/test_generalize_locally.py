"""Local generalization: what is released meets the requirements, loses no row, and covers the true values."""

import json
import random
import signal
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from tests.oracles.local_regions import label_loss, least_loss, lowest_label

CITY = {
    "Bern": ["BE", "*"],
    "Thun": ["BE", "*"],
    "Basel": ["BS", "*"],
    "Riehen": ["BS", "*"],
    "Zug": ["ZG", "*"],
}
AGE = {n: [f"{n // 2 * 2}+", f"{n // 4 * 4}++", "*"] for n in range(8)}
COLUMNS = ["city", "age"]


def hierarchies() -> dict[str, Any]:
    return {"city": TableHierarchy(CITY), "age": TableHierarchy(AGE)}  # type: ignore[arg-type]


ROW = st.tuples(st.sampled_from(list(CITY)), st.sampled_from(list(AGE)), st.sampled_from(["flu", "cold", "acne"]))
TABLES = st.lists(ROW, min_size=1, max_size=40)
K2 = pp.require("k_anonymity", at_least=2)
K3 = pp.require("k_anonymity", at_least=3)
REQUIREMENTS = [
    [K3],
    [K2, pp.require("l_diversity", at_least=2)],
    [pp.require("l_diversity", at_least=2, variant="entropy")],
    [pp.require("l_diversity", at_least=2, variant="recursive", c=2)],
    [K2, pp.require("t_closeness", at_most=0.3)],
    [pp.require("maximum_disclosure", below=0.9, knowledge=1)],
    [K2, pp.require("reidentification_risk", at_most=0.2, variant="average")],
]


def frame_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*COLUMNS, "disease"])


def plan_of(frame: pd.DataFrame, requirements: list[pp.Requirement], **given: Any) -> pp.LocalPlan:
    return pp.generalize_locally(
        frame, hierarchies=hierarchies(), requirements=requirements, sensitive="disease", **given
    )


def covers(column: str, written: str, value: Any) -> bool:
    return written == str(value) or written in {"city": CITY, "age": AGE}[column][value]  # type: ignore[index]


@settings(max_examples=60, deadline=None)
@given(rows=TABLES, requirements=st.sampled_from(REQUIREMENTS), mixing=st.randoms(use_true_random=False))
def test_what_is_released_meets_every_requirement_and_loses_no_row(
    rows: list[Any], requirements: list[pp.Requirement], mixing: Any
) -> None:
    frame = frame_of(rows)
    try:
        plan = plan_of(frame, requirements)
    except InfeasibleError:
        whole = frame.assign(city="*", age="*")
        assert not all(one.judge(whole, quasi_identifiers=COLUMNS, sensitive="disease").passed for one in requirements)
        return
    released = plan.apply(frame)
    assert len(released) == len(frame)
    assert released["disease"].tolist() == frame["disease"].tolist()
    for one in requirements:
        assert one.judge(released, quasi_identifiers=COLUMNS, sensitive="disease").passed
    for column in COLUMNS:
        assert all(covers(column, w, v) for w, v in zip(released[column], frame[column], strict=True))
    assert sum(region.rows for region in plan.regions) == len(frame)
    written = Counter(zip(released["city"], released["age"], strict=True))
    assert written == Counter({(r.labels["city"], r.labels["age"]): r.rows for r in plan.regions})
    mixed = list(rows)
    mixing.shuffle(mixed)
    again = plan_of(frame_of(mixed), requirements)
    assert again.to_dict() == plan.to_dict()


@settings(max_examples=60, deadline=None)
@given(rows=TABLES, k=st.integers(1, 4))
def test_the_loss_is_that_of_the_released_cells(rows: list[Any], k: int) -> None:
    frame = frame_of(rows)
    if k > len(rows):
        return
    plan = plan_of(frame, [pp.require("k_anonymity", at_least=k)])
    released = plan.apply(frame)
    lost = Fraction(0)
    for column, paths in (("city", CITY), ("age", AGE)):
        mine = Fraction(0)
        for written, value in zip(released[column], frame[column], strict=True):
            names = [str(value), *paths[value]]
            mine += label_loss(names.index(written), written, paths)
        assert plan.column_losses[column] == pytest.approx(float(mine / len(frame)))
        lost += mine
    assert plan.loss == pytest.approx(float(lost / (2 * len(frame))))


def test_the_loss_is_near_the_least_of_all_divisions() -> None:
    """Compare with all divisions of small tables into regions: most plans are optimal, and none is better than that."""
    drawing = random.Random(5)
    gaps: list[float] = []
    while len(gaps) < 60:
        rows = [
            (drawing.choice(list(CITY)), drawing.choice(list(AGE)), drawing.choice(["flu", "cold", "acne"]))
            for _ in range(drawing.randint(5, 14))
        ]
        asked = [K2, pp.require("l_diversity", at_least=2)] if len(gaps) % 2 else [K2]
        if len({row[:2] for row in rows}) > 7:
            continue
        values = len(asked)
        best = least_loss(
            rows,
            [CITY, AGE],
            lambda inside, values=values: len(inside) >= 2 and len({row[2] for row in inside}) >= values,
        )
        if best is not None:
            gaps.append(plan_of(frame_of(rows), asked).loss - float(best))
    assert min(gaps) >= -1e-12
    assert sum(gap < 1e-9 for gap in gaps) >= 0.8 * len(gaps)
    assert sum(gaps) / len(gaps) <= 0.02


def test_label_oracle_takes_the_most_specific_label() -> None:
    assert lowest_label(["Bern", "Thun"], CITY) == (1, "BE")
    assert lowest_label(["Bern", "Zug"], CITY) == (2, "*")


def people(number: int = 40) -> pd.DataFrame:
    rows = [(list(CITY)[n % 5], n * 7 % 8, ["flu", "cold", "acne"][n % 3]) for n in range(number)]
    return frame_of(rows)


def test_the_plan_is_saved_loaded_and_applied_again(tmp_path: Path) -> None:
    frame = people()
    plan = plan_of(frame, [K3], weights={"age": 2.0}, uncovered="suppress", max_suppression=0.2)
    plan.save(tmp_path / "plan.json")
    assert not (tmp_path / "plan.json").stat().st_mode & 0o077  # it holds values of the table
    loaded = pp.load_plan(tmp_path / "plan.json")
    assert isinstance(loaded, pp.LocalPlan)
    assert loaded.to_dict() == plan.to_dict()
    pd.testing.assert_frame_equal(loaded.apply(frame), plan.apply(frame))
    assert loaded.summary() == plan.summary()
    assert loaded.describe() == plan.describe()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("labels", "nonsense"),
        ("rows", -1),
        ("loss", 2),
        ("found", {}),
        ("hierarchies", {}),
        ("requirements", []),
        ("format", 2),
        ("format", "1"),
        ("kind", "other"),
        ("sensitive", 3),
        ("notes", "text"),
        ("surplus", 1),
    ],
)
def test_a_file_that_is_not_a_plan_is_refused(place: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = plan_of(people(), [K3])
    path.write_text(json.dumps({**plan.to_dict(), place: value}))
    with pytest.raises(pp.PrivacyPluginError):
        pp.load_plan(path)


def test_a_plan_of_another_version_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    for plan in (
        plan_of(people(), [K3]),
        pp.generalize(people(), hierarchies=hierarchies(), requirements=[K3]),
    ):
        path.write_text(json.dumps({**plan.to_dict(), "format": 99}))
        with pytest.raises(ParameterError, match="format 99, and this release reads format 1; make a new plan"):
            pp.load_plan(path)


@pytest.mark.parametrize(
    ("part", "entry"),
    [("regions", [0, 0, -3]), ("regions", [99, 0, 1]), ("combinations", [0, 0, 999]), ("combinations", [0, "x", 0])],
)
def test_regions_that_contradict_each_other_are_refused(part: str, entry: list[Any], tmp_path: Path) -> None:
    content = plan_of(people(), [K3]).to_dict()
    content["found"][part][0] = entry
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ParameterError, match="contradict"):
        pp.load_plan(path)


def test_a_new_combination_goes_to_the_most_specific_region_that_covers_it() -> None:
    frame = frame_of([("Bern", 0, "flu"), ("Thun", 0, "cold"), ("Basel", 5, "flu"), ("Zug", 1, "cold")])
    plan = plan_of(frame, [K2])
    labels = [(region.labels["city"], region.labels["age"]) for region in plan.regions]
    assert sorted(labels) == [("*", "*"), ("BE", "0")]
    later = frame_of([("Bern", 0, "flu"), ("Thun", 0, "cold"), ("Riehen", 7, "flu"), ("Basel", 6, "flu")])
    assert plan.apply(later)[COLUMNS].values.tolist() == [["BE", "0"], ["BE", "0"], ["*", "*"], ["*", "*"]]


def test_rows_outside_all_regions_are_refused_or_suppressed() -> None:
    frame = frame_of([("Bern", 0, "flu"), ("Thun", 0, "cold")] * 3)
    later = frame_of([("Bern", 0, "flu"), ("Thun", 0, "cold"), ("Zug", 7, "acne"), ("Bern", 0, "flu")])
    with pytest.raises(InfeasibleError, match="1 of 4 rows are outside all regions"):
        plan_of(frame, [K2]).apply(later)
    released = plan_of(frame, [K2], uncovered="suppress", max_suppression=0.25).apply(
        frame_of([("Bern", 0, "flu"), ("Bern", 0, "cold"), ("Bern", 0, "cold"), ("Zug", 7, "acne")])
    )
    assert len(released) == 3
    with pytest.raises(InfeasibleError, match="suppression limit"):
        plan_of(frame, [K2], uncovered="suppress").apply(later)


def test_a_partition_whose_classes_are_too_small_is_refused() -> None:
    frame = people()
    plan = plan_of(frame, [K3])
    with pytest.raises(InfeasibleError, match="suppression limit"):
        plan.apply(frame.iloc[:7])


def test_observed_labels_cover_and_lose_no_more() -> None:
    frame = people()
    plan, named = plan_of(frame, [K3], labels="observed"), plan_of(frame, [K3])
    assert plan.loss <= named.loss
    assert any("observed" in note for note in plan.notes)
    assert not any("observed" in note for note in named.notes)
    released = plan.apply(frame)
    for written, value in zip(released["age"], frame["age"], strict=True):
        low, high = written.split("-") if "-" in written else (written, written)
        assert int(low) <= value <= int(high)
    for written, value in zip(released["city"], frame["city"], strict=True):
        assert value in written.strip("{}").split(", ")
    assert K3.judge(released, quasi_identifiers=COLUMNS).passed


def test_regions_chosen_by_quasi_identifiers_do_not_depend_on_sensitive_values() -> None:
    frame = people()
    l2 = pp.require("l_diversity", at_least=2)
    plan = plan_of(frame, [K3, l2], choose_by="quasi_identifiers")
    other = frame.assign(disease=frame["disease"].tolist()[::-1])
    again = plan_of(other, [K3, l2], choose_by="quasi_identifiers")
    assert [dict(r.labels) for r in plan.regions] == [dict(r.labels) for r in again.regions]
    with pytest.raises(InfeasibleError, match="only checked"):
        plan_of(frame, [K3, pp.require("t_closeness", at_most=0)], choose_by="quasi_identifiers")


def test_presence_does_not_go_with_choosing_by_quasi_identifiers() -> None:
    frame = people()
    with pytest.raises(ParameterError, match="delta_presence"):
        plan_of(
            frame,
            [K2, pp.require("delta_presence", between=(0, 0.5))],
            population=pd.concat([frame] * 3),
            choose_by="quasi_identifiers",
        )
    with pytest.raises(ParameterError, match="class sizes"):
        plan_of(frame, [pp.require("l_diversity", at_least=2)], choose_by="quasi_identifiers")


def test_levels_above_the_kept_one_are_not_used() -> None:
    frame = people()
    plan = plan_of(frame, [K2], keep={"city": 1})
    assert all(region.labels["city"] != "*" for region in plan.regions)
    with pytest.raises(InfeasibleError, match="with keep"):
        plan_of(frame, [pp.require("k_anonymity", at_least=30)], keep={"city": 1})


def test_a_weight_keeps_a_column_more_detailed() -> None:
    frame = people(80)
    plain, weighted = plan_of(frame, [K3]), plan_of(frame, [K3], weights={"city": 20, "age": 0.1})
    assert weighted.column_losses["city"] <= plain.column_losses["city"]


def test_requirements_that_one_class_of_everybody_fails_are_named_first() -> None:
    with pytest.raises(InfeasibleError, match="k_anonymity at least 41 needs 41 rows"):
        plan_of(people(), [pp.require("k_anonymity", at_least=41)])
    heard: list[str] = []
    for share in (0.0, 0.1):  # too few values in the whole table: leaving rows out does not help either
        with pytest.raises(InfeasibleError, match=r"not even the most general one, where .*l_diversity"):
            plan_of(people(), [K2, pp.require("l_diversity", at_least=4)], max_suppression=share, progress=heard.append)
    assert not heard  # nothing was searched


def test_an_uncovered_value_is_counted_and_not_named() -> None:
    frame = people()
    frame.loc[[1, 2], "city"] = "secret-city"
    with pytest.raises(HierarchyError, match=r"column 'city' does not cover 1 value\(s\) in 2 of 40 rows") as caught:
        plan_of(frame, [K2])
    assert "secret-city" not in str(caught.value)
    with pytest.raises(HierarchyError, match="secret-city"):
        plan_of(frame, [K2], reveal=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"labels": "own"}, "labels must be one of"),
        ({"choose_by": "sensitive"}, "choose_by must be one of"),
        ({"uncovered": "keep"}, "uncovered must be one of"),
        ({"weights": {"nobody": 1}}, "column in weights"),
        ({"weights": {"city": -1}}, "weight of column 'city'"),
        ({"weights": {"city": 0, "age": 0}}, "all 0"),
        ({"keep": {"city": 9}}, "highest level of column 'city'"),
        ({"keep": {"nobody": 1}}, "column in keep"),
        ({"max_suppression": 2}, "max_suppression"),
    ],
)
def test_senseless_arguments_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        plan_of(people(), [K2], **given)


def test_progress_rises_to_a_hundred_percent() -> None:
    messages: list[str] = []
    plan_of(people(), [K2], progress=messages.append)
    shares = [int(text.removeprefix("local generalization: ").removesuffix("%")) for text in messages]
    assert shares == sorted(shares)
    assert shares[-1] == 100


@pytest.mark.parametrize("after", [0.3, 2.5])
def test_an_interrupt_ends_the_search_within_a_second_of_processor_time(after: float) -> None:
    """The signal comes after so much processor time of a search that would take longer, in whatever phase that is."""
    drawing = random.Random(3)
    values = list(range(60))
    paths = {n: [f"{n // 4 * 4}+", f"{n // 12 * 12}++", "*"] for n in values}
    names = list("abcdef")
    frame = pd.DataFrame([[drawing.choice(values) for _ in names] for _ in range(40_000)], columns=names)
    k11 = pp.require("k_anonymity", at_least=11)
    given: dict[str, Any] = {"hierarchies": dict.fromkeys(names, TableHierarchy(paths)), "requirements": [k11]}  # type: ignore[arg-type]
    plan_of(people(), [K3])  # compiled code is loaded

    def stop(number: int, place: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, stop)
    try:
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, after)
        with pytest.raises(KeyboardInterrupt):
            pp.generalize_locally(frame, **given)
        assert time.process_time() - started - after < 1
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(ColumnError):
        plan_of(people().drop(columns="age"), [K2])


def test_population_counts_by_membership_and_not_by_label() -> None:
    """Classes F with two rows and * with both M: by label the two M are two of six, in truth two of two."""
    sexes = {"sex": TableHierarchy({"F": ["*"], "M": ["*"]})}
    table = pd.DataFrame({"sex": ["F", "F", "M", "M"]})
    everybody = pd.DataFrame({"sex": ["F"] * 4 + ["M"] * 2})
    presence = [pp.require("delta_presence", between=(0, 0.9))]
    plan = pp.generalize_locally(table, hierarchies=sexes, requirements=presence, population=everybody)
    assert plan.apply(table, population=everybody)["sex"].tolist() == ["*"] * 4


def test_people_of_the_population_without_rows_make_room() -> None:
    frame = people(20)
    everybody = pd.concat([frame, people(60)])[COLUMNS]
    requirements = [pp.require("delta_presence", between=(0, 0.5)), pp.require("k_map", at_least=4)]
    plan = plan_of(frame, requirements, population=everybody)
    assert len(plan.apply(frame, population=everybody)) == 20
    with pytest.raises(ParameterError, match="population"):
        plan.apply(frame)


def test_a_lower_bound_of_presence_gives_everybody_of_the_population_a_region() -> None:
    frame = people(20)
    everybody = pd.concat([frame, people(60)])[COLUMNS]
    plan = plan_of(frame, [pp.require("delta_presence", between=(0.05, 0.6))], population=everybody)
    assert plan.loss < 1
    assert len(plan.apply(frame, population=everybody)) == 20


def test_a_requirement_on_the_whole_table_makes_classes_larger() -> None:
    frame = people(60)
    average = pp.require("reidentification_risk", at_most=0.1, variant="average")
    plan = plan_of(frame, [K2, average])
    assert average.judge(plan.apply(frame), quasi_identifiers=COLUMNS).passed
    assert len(plan.regions) <= 6
    assert len(plan_of(frame, [K2]).regions) > 6


@pytest.mark.parametrize("most", [0.1, 0.13, 0.2])
def test_a_requirement_on_the_whole_table_takes_the_class_size_of_least_loss(most: float) -> None:
    frame, average = people(60), pp.require("reidentification_risk", at_most=most, variant="average")
    plan = plan_of(frame, [K2, average])
    size = int(plan.search.rpartition("classes of at least ")[2].split()[0])

    def alone(k: int) -> tuple[bool, float]:
        found = plan_of(frame, [pp.require("k_anonymity", at_least=k)])
        return average.judge(found.apply(frame), quasi_identifiers=COLUMNS).passed, found.loss

    passing = [loss for passed, loss in map(alone, range(2, 13)) if passed]
    assert plan.loss == alone(size)[1] == min(passing)


def test_where_no_search_for_classes_helps_one_level_for_all_is_tried() -> None:
    """Nine of eleven have H: every class with them fails, so their own class has to be left out."""
    frame = pd.DataFrame([("a", "H")] * 9 + [("b", "f"), ("b", "c")], columns=["city", "disease"])
    entropy = pp.require("l_diversity", at_least=2, variant="entropy")
    given: dict[str, Any] = {
        "hierarchies": {"city": TableHierarchy({"a": ["*"], "b": ["*"]})},  # type: ignore[arg-type]
        "requirements": [entropy],
        "sensitive": "disease",
    }
    plan = pp.generalize_locally(frame, max_suppression=0.85, **given)
    assert plan.search.startswith("one level for each column, because no search for classes met every requirement")
    assert (plan.suppressed, len(plan.regions)) == (9, 1)
    released = plan.apply(frame)
    assert sorted(released["disease"]) == ["c", "f"]
    assert entropy.judge(released, quasi_identifiers=["city"], sensitive="disease").passed
    with pytest.raises(InfeasibleError):
        pp.generalize_locally(frame, max_suppression=0.8, **given)
    assert pp.generalize_locally(frame, max_suppression=0.85, keep={"city": 0}, **given).suppressed == 9


def test_people_are_counted_by_the_unit() -> None:
    frame = pd.concat([people(), people()], ignore_index=True).assign(person=[*range(40), *range(40)])
    plan = pp.generalize_locally(frame, hierarchies=hierarchies(), requirements=[K3], unit="person")
    assert plan.rows == 40
    released = plan.apply(frame)
    assert released.groupby(COLUMNS)["person"].nunique().min() >= 3


def test_useful_for_counts_keeps_the_counted_columns_and_says_what_that_cost() -> None:
    frame = people(80)
    plan = plan_of(frame, [K3], useful_for={"count": ["city"]})
    assert plan.weights == {"city": 10.0, "age": 1.0}
    without = plan_of(frame, [K3])
    assert plan.losses_without_wishes == without.column_losses
    assert plan.column_losses["city"] <= without.column_losses["city"]
    described = dict(plan.describe().rows)
    assert described["useful for"] == "counting by city"
    assert f"instead of {without.loss:.3g}" in described["wishes"]
    assert "wishes" not in dict(without.describe().rows)


def test_useful_for_prediction_weighs_columns_by_what_they_tell(tmp_path: Path) -> None:
    frame = people(200)
    frame["result"] = ["yes" if city in ("Bern", "Thun") else "no" for city in frame["city"]]
    plan = plan_of(frame, [K3], useful_for={"predict": "result"})
    assert plan.weights["city"] == 10.0
    assert plan.weights["age"] < 3
    assert "looked at sensitive values" in plan.notes[0]
    plan.save(tmp_path / "plan.json")
    again = pp.load_plan(tmp_path / "plan.json")
    assert isinstance(again, pp.LocalPlan)
    assert (again.useful_for, again.losses_without_wishes) == (plan.useful_for, plan.losses_without_wishes)
    for wrong in ({"learn": "result"}, {"predict": "nobody"}, {"count": []}, {"count": ["disease"]}, "result"):
        with pytest.raises(ParameterError, match="useful_for"):
            plan_of(frame, [K3], useful_for=wrong)
    with pytest.raises(ParameterError, match="useful_for"):
        plan_of(frame, [K3], useful_for={"predict": "result"}, choose_by="quasi_identifiers")


def test_the_plan_counts_the_classes_that_follow_from_sensitive_values() -> None:
    """Children of three and five are pooled only because the three share a value."""
    city = {"a": ["*"], "b": ["*"]}
    rows = [("a", "H")] * 3 + [("b", value) for value in ("f", "f", "c", "c", "g")]
    frame = pd.DataFrame(rows, columns=["city", "disease"])
    requirements = [K2, pp.require("l_diversity", at_least=2)]
    given: dict[str, Any] = {"hierarchies": {"city": TableHierarchy(city)}, "sensitive": "disease"}  # type: ignore[arg-type]
    plan = pp.generalize_locally(frame, requirements=requirements, **given)
    assert "1 of 1 classes differ" in plan.notes[0]
    mixed = frame.assign(disease=["H", "f", "c", "f", "f", "c", "c", "g"])
    assert "0 of 2 classes differ" in pp.generalize_locally(mixed, requirements=requirements, **given).notes[0]
    assert not pp.generalize_locally(frame, requirements=[K2], **given).notes


def test_a_plan_chosen_by_quasi_identifiers_is_refused_where_values_fail_and_suppresses_nothing_for_them() -> None:
    city = {"a": ["*"], "b": ["*"]}
    frame = pd.DataFrame({"city": ["a"] * 4 + ["b"] * 4, "disease": ["H", "f"] * 4})
    plan = pp.generalize_locally(
        frame,
        hierarchies={"city": TableHierarchy(city)},  # type: ignore[arg-type]
        requirements=[K2, pp.require("l_diversity", at_least=2)],
        sensitive="disease",
        max_suppression=0.5,
        choose_by="quasi_identifiers",
    )
    assert len(plan.apply(frame)) == 8
    later = frame.assign(disease=["H", "H", "H", "H", "H", "f", "H", "f"])
    with pytest.raises(InfeasibleError, match="only checked"):
        plan.apply(later)
