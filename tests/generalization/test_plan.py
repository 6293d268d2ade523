import csv
import json
from fractions import Fraction

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.generalization.plan import LatticeNode, Plan, TradeOff
from privacy_plugin.sources import open_source

AGES = pp.interval_hierarchy(start=0, stop=100, widths=[10, 50])
ZIPS = pp.mask_hierarchy(length=4)
K2 = pp.require("k_anonymity", at_least=2)


def frame_of():
    return pd.DataFrame(
        {
            "age": [21, 25, 25, 34, 36, 80],
            "zip": ["8001", "8002", "8002", "3001", "3002", "4051"],
            "disease": ["flu", "cold", "flu", "flu", "cold", None],
            "note": [1.5, None, 2, 3, 4, 5],
        },
        index=[9, 9, 8, 7, 6, 5],
    )


def plan_of(**changes):
    given = {
        "levels": {"age": 1, "zip": 1},
        "hierarchies": {"age": AGES, "zip": ZIPS},
        "requirements": (K2,),
        "loss": 0.25,
        "loss_name": "precision",
        "suppressed": 1,
        "rows": 6,
        "max_suppression": 0.2,
    }
    return Plan(**{**given, **changes})


def test_a_plan_is_applied_to_every_row_and_drops_the_classes_that_fail():
    frame = frame_of()
    released = plan_of().apply(frame)
    assert released["age"].tolist() == ["[20, 30)"] * 3 + ["[30, 40)"] * 2
    assert released["zip"].tolist() == ["800*"] * 3 + ["300*"] * 2
    assert released["disease"].tolist() == ["flu", "cold", "flu", "flu", "cold"]
    assert released.index.tolist() == [9, 9, 8, 7, 6]
    assert list(released.columns) == list(frame.columns)
    pd.testing.assert_frame_equal(frame, frame_of())  # the given frame is not touched


def test_columns_can_be_left_out():
    released = plan_of().apply(frame_of(), keep=["zip", "age"])
    assert list(released.columns) == ["zip", "age"]
    with pytest.raises(ColumnError, match="'age' is recoded but not kept"):
        plan_of().apply(frame_of(), keep=["zip", "disease"])


def test_masked_rows_stay_as_a_class_that_has_to_meet_the_requirements_too():
    with pytest.raises(InfeasibleError, match="k-anonymity is 1"):
        plan_of().apply(frame_of(), suppression="mask")
    frame = pd.concat([frame_of(), frame_of().tail(1).assign(zip="9999")])
    released = plan_of(max_suppression=0.3).apply(frame, suppression="mask")
    assert len(released) == 7
    assert released["age"].tolist()[-2:] == ["*", "*"]
    assert released["zip"].tolist()[-2:] == ["*", "*"]
    assert K2.judge(released, quasi_identifiers=["age", "zip"]).passed


def test_masking_is_not_misled_by_a_missing_sensitive_value():
    diverse = pp.require("l_diversity", at_least=2, sensitive="disease")
    frame = pd.concat([frame_of(), frame_of().tail(1).assign(zip="9999")])
    plan = plan_of(requirements=(K2, diverse), max_suppression=0.3)
    assert diverse.judge(plan.apply(frame), quasi_identifiers=["age", "zip"]).passed
    with pytest.raises(InfeasibleError, match=r"l-diversity \(distinct, disease\) is 1"):
        plan.apply(frame, suppression="mask")


@pytest.mark.parametrize("suppression", ["delete", "", None, "Drop"])
def test_an_unknown_suppression_would_leave_the_rows_as_they_are(suppression):
    with pytest.raises(ParameterError, match="drop or mask"):
        plan_of().apply(frame_of(), suppression=suppression)


def test_values_no_hierarchy_covers_are_refused_and_not_named():
    frame = frame_of().assign(zip=["8001", "8002", "8002", "3001", "3002", "marker"])
    with pytest.raises(HierarchyError, match=r"column 'zip' does not cover 1 value") as caught:
        plan_of().apply(frame)
    assert "marker" not in str(caught.value)


def test_a_partition_that_would_lose_too_many_rows_is_refused():
    with pytest.raises(InfeasibleError, match=r"more than the suppression limit of 20.0%"):
        plan_of().apply(frame_of().assign(age=[1, 11, 21, 31, 41, 51]))
    with pytest.raises(ColumnError, match="zip"):
        plan_of().apply(frame_of().drop(columns="zip"))


def test_the_next_partition_is_suppressed_by_its_own_classes():
    later = frame_of().assign(age=[21, 80, 80, 34, 36, 80], zip=["8001", "8002", "8002", "3001", "3002", "8003"])
    released = plan_of().apply(later)
    assert len(released) == 5
    assert K2.judge(released, quasi_identifiers=["age", "zip"]).value == 2


def test_a_suppressed_class_that_python_takes_for_another_is_not_forgotten():
    """True == 1 for Python: of two failing classes (True) and (1) a set would keep only one."""
    frame = pd.DataFrame({"flag": pd.Series([True, 1, 5, 5, 5, 5, 5, 5, 5, 5], dtype=object)})
    plan = plan_of(levels={"flag": 0}, hierarchies={"flag": pp.mask_hierarchy(length=4)})
    with pytest.raises(ColumnError, match="true and 1"):
        plan.apply(frame)


def test_a_plan_survives_being_saved_in_full(tmp_path):
    requirements = (
        pp.require("k_anonymity", at_least=2),
        pp.require("l_diversity", variant="recursive", c=Fraction(5, 7), at_least=1, sensitive="disease"),
        pp.require("t_closeness", ground={"tree": {"a": ["flu", "cold"], "b": [None]}}, at_most="2/3"),
        pp.require("reidentification_risk", variant="share_at_risk", threshold="1/3", at_most=0.9),
    )
    hierarchies = {
        "age": pp.interval_hierarchy(boundaries=[["0/1", "1/3", 50, 120.5], [0, 50]], open_ends=True),
        "zip": pp.tree_hierarchy({'süd; "x"': ["8001", "8002"], "nord": ["3001", "3002", "4051", None]}),
        "day": pp.date_hierarchy(levels=["month", "year"]),
    }
    plan = plan_of(
        levels={"age": 2, "zip": 1, "day": 0},
        hierarchies=hierarchies,
        requirements=requirements,
        loss=1 / 3,
        minimal_nodes=({"age": 1, "zip": 1, "day": 0}, {"age": 0, "zip": 2, "day": 1}),
        nodes_visited=7,
        sensitive="disease",
    )
    path = tmp_path / "plan.json"
    plan.save(path)
    again = pp.load_plan(path)
    assert again.to_dict() == plan.to_dict()
    for name in ("levels", "loss", "loss_name", "suppressed", "rows", "max_suppression", "minimal_nodes", "sensitive"):
        assert getattr(again, name) == getattr(plan, name)
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]
    days = pd.to_datetime(["2024-02-29"] * 6)
    frame = frame_of().assign(day=days)
    pd.testing.assert_frame_equal(again.apply(frame), plan.apply(frame))


def test_a_found_plan_survives_being_saved(tmp_path):
    plan = pp.generalize(frame_of(), hierarchies={"age": AGES, "zip": ZIPS}, requirements=[K2], max_suppression=0.2)
    plan.save(tmp_path / "plan.json")
    again = pp.load_plan(str(tmp_path / "plan.json"))
    assert again.to_dict() == plan.to_dict()
    pd.testing.assert_frame_equal(again.apply(frame_of()), plan.apply(frame_of()))
    assert again.recoding(open_source(frame_of())) == plan.recoding(open_source(frame_of()))


def stored(tmp_path, change):
    content = plan_of().to_dict()
    change(content)
    (tmp_path / "plan.json").write_text(json.dumps(content))
    return tmp_path / "plan.json"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(format=2),
        lambda c: c.pop("format"),
        lambda c: c.pop("levels"),
        lambda c: c.pop("requirements"),
        lambda c: c.update(requirements=[]),
        lambda c: c.update(requirements=[{"k_anonimity": {"at_least": 2}}]),
        lambda c: c.update(requirements=[{"k_anonymity": {}}]),
        lambda c: c.update(levels={}),
        lambda c: c.update(levels={"age": 1}),
        lambda c: c.update(levels={"age": 1, "zip": 9}),
        lambda c: c.update(levels={"age": 1, "zip": -1}),
        lambda c: c.update(levels={"age": 1, "zip": 1.0}),
        lambda c: c.update(levels={"age": 1, "zip": True}),
        lambda c: c.update(hierarchies={"age": {"mask": {"length": 2}}}),
        lambda c: c.update(max_suppression=7),
        lambda c: c.update(surprise=1),
    ],
)
def test_a_plan_that_was_damaged_is_not_loaded(tmp_path, change):
    with pytest.raises(ParameterError):
        pp.load_plan(stored(tmp_path, change))


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_file_that_is_not_a_plan_is_not_loaded(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ParameterError, match="plan"):
        pp.load_plan(tmp_path / "plan.json")
    with pytest.raises(ParameterError, match="No such file"):
        pp.load_plan(tmp_path / "missing.json")


def exported(folder):
    with (folder / "levels.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter=";"))


def test_what_a_plan_applies_is_exported_as_files_that_read_back(tmp_path):
    plan = plan_of(levels={"age": 1, "zip": 2})
    folder = plan.export(tmp_path / "mapping", data=frame_of())
    lines = exported(folder)
    assert [(line["column"], line["level"], line["of"]) for line in lines] == [("age", "1", "3"), ("zip", "2", "4")]
    for line in lines:
        again, given = pp.read_hierarchy(folder / line["file"]), plan.hierarchies[line["column"]]
        for value in frame_of()[line["column"]]:
            assert [again.generalize(value, n) for n in range(1, given.height + 1)] == [
                given.generalize(value, n) for n in range(1, given.height + 1)
            ]
    assert [item.name for item in tmp_path.iterdir()] == ["mapping"]


def test_listed_values_are_exported_without_data_and_names_make_no_paths(tmp_path):
    hierarchy = pp.tree_hierarchy({"a": ["x", "y"], "b": [None]})
    plan = plan_of(levels={'../s"; e': 1}, hierarchies={'../s"; e': hierarchy})
    (line,) = exported(plan.export(tmp_path / "mapping"))
    assert line["column"] == '../s"; e'
    assert (tmp_path / "mapping" / line["file"]).read_text().splitlines() == ["x;a;*", "y;a;*", ";b;*"]
    assert sorted(path.name for path in (tmp_path / "mapping").iterdir()) == ["01__s_e.csv", "levels.csv"]


def test_an_export_is_whole_or_not_there(tmp_path):
    with pytest.raises(ParameterError, match="'age' follows a rule and lists no values"):
        plan_of().export(tmp_path / "mapping")
    with pytest.raises(HierarchyError):
        plan_of().export(tmp_path / "mapping", data=frame_of().assign(zip="much too long"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").touch()
    with pytest.raises(ParameterError, match="not an empty folder"):
        plan_of().export(tmp_path / "full", data=frame_of())
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match=r"Not a directory|File exists"):
        plan_of().export(tmp_path / "file" / "mapping", data=frame_of())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full"]
    (tmp_path / "empty").mkdir()
    assert exported(plan_of().export(tmp_path / "empty", data=frame_of()))


def test_a_plan_keeps_how_it_was_found(tmp_path):
    plan = plan_of(
        unit="person",
        attributes=("age", "zip"),
        exact=False,
        search="in a hurry",
        lattice=(
            LatticeNode(levels=(0, 1), loss=0.5, feasible=None),
            LatticeNode(levels=(1, 1), loss=0.25, feasible=True),
        ),
        trade_off=(TradeOff(k=2, loss=0.25), TradeOff(k=9, loss=None)),
    )
    plan.save(tmp_path / "plan.json")
    again = pp.load_plan(tmp_path / "plan.json")
    for name in ("unit", "attributes", "exact", "search", "lattice", "trade_off"):
        assert getattr(again, name) == getattr(plan, name)


def test_a_plan_of_an_earlier_release_is_read(tmp_path):
    known = ("unit", "attributes", "exact", "search", "lattice", "trade_off")
    again = pp.load_plan(stored(tmp_path, lambda content: [content.pop(name) for name in known]))
    assert again.levels == plan_of().levels
    assert (again.unit, again.lattice, again.trade_off, again.exact) == (None, (), (), True)


def test_a_plan_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path):
    (tmp_path / "plan.json").mkdir()  # a folder stands where the file should go
    with pytest.raises(OSError, match=r"plan\.json"):
        plan_of().save(tmp_path / "plan.json")
    assert [item.name for item in tmp_path.iterdir()] == ["plan.json"]
