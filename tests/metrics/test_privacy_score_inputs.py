"""What goes into the privacy score and comes out of it: columns, weights, bins, leaves, frames, intervals, secrets."""

import json
from fractions import Fraction
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, HierarchyError, ParameterError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.measuring import reporting
from privacy_plugin.metrics.score_leaves import leaves_held
from privacy_plugin.metrics.score_weights import read_weights, written_weights
from tests.oracles import score_tables as oracle

steady = settings(deadline=None, derandomize=True, max_examples=50)
ROLES = {"city": "quasi_identifier", "disease": "sensitive"}


@pytest.fixture
def visits():
    return pd.DataFrame({"city": ["Bern", "Bern", "Basel", "Basel"], "disease": ["flu", "flu", "flu", "gout"]})


def score(frame, **options):
    return pp.privacy_score(frame, attributes=list(frame.columns), **options)


def test_a_missing_boolean_is_not_held_and_any_other_missing_value_is_a_value():
    booleans = pd.DataFrame({"smoker": [True, True, False, None], "city": ["Bern", "Bern", "Basel", "Basel"]})
    with_false = booleans.assign(smoker=[True, True, False, False])
    assert score(booleans).of(booleans).tolist() == score(with_false).of(with_false).tolist()
    texts = pd.DataFrame({"smoker": ["yes", "yes", "no", None], "city": ["Bern", "Bern", "Basel", "Basel"]})
    found = score(texts)
    assert found.of(texts).tolist() == [0.5, 0.5, 0.5, 0.5]
    last = found.witness(int(np.flatnonzero(found.table.codes[:, 0] == 0)[0]))
    assert (last.known, last.known_attributes[0].value) == (("smoker",), None)


def test_a_boolean_column_is_one_attribute_where_somebody_says_true_or_false():
    everybody = pd.DataFrame({"ill": [True, True], "city": ["Bern", "Basel"]})
    assert score(everybody).value == Fraction(1, 2)
    assert score(everybody).details["attributes"] == 3
    nobody = everybody.assign(ill=False)
    assert score(nobody).value == 0
    unknown = pd.DataFrame({"ill": [None, None], "city": ["Bern", "Basel"]})
    assert score(unknown).value == Fraction(1, 2)  # nothing says it is a boolean: missing is a value all have
    mixed = pd.DataFrame({"ill": pd.Series([True, 1, "true"], dtype=object)})
    assert score(mixed).details["attributes"] == 3


@pytest.mark.parametrize(
    "danger",
    [
        {"disease": {"gout": 0.2, "otherwise": 0.5}, "city": 0},
        {("disease", "gout"): 0.2, "disease": 0.5, "city": 0},
        {("disease", "gout"): 0.2, ("disease", "flu"): 0.5, ("city", "Bern"): 0, ("city", "Basel"): 0},
        {"disease": {"gout": Fraction(1, 5), "flu": "1/2"}, "city": {"otherwise": 0}},
    ],
)
def test_weights_have_several_forms_that_mean_the_same(visits, danger):
    weights = {("disease", "gout"): Fraction(1, 5), ("disease", "flu"): Fraction(1, 2)}
    rows = visits.to_dict("records")
    expected = oracle.table_scores(rows, danger=lambda name: weights.get(name, Fraction(0)))
    found = score(visits, danger=danger)
    assert found.of(visits).tolist() == pytest.approx([float(value) for value in expected], abs=1e-12)
    assert max(expected) == Fraction(1, 3)
    again = score(visits, danger=json.loads(json.dumps(written_weights(danger))))
    assert again.value == found.value == sum(expected) / 4


@steady
@given(
    st.dictionaries(
        st.sampled_from([30, "30", True, None, "", "otherwise ", 4.5]), st.sampled_from([0, 0.25, 1]), max_size=5
    ).filter(lambda given: not {30, "30"} <= set(given) and not {None, ""} <= set(given)),
    st.sampled_from([None, 0.5]),
)
def test_written_weights_read_back(values, otherwise):
    given = {("age", value): weight for value, weight in values.items()} | ({} if otherwise is None else {"age": 0.5})
    plain = json.loads(json.dumps(written_weights(given)))
    column = [value for value in (30, True, None, 4.5, "otherwise ") if value in values] or ["none"]
    if "30" in values or "" in values:
        return  # as text these are values of their own; by text they are found below
    frame = pd.DataFrame({"age": pd.Series([*column, "more"], dtype=object), "x": range(len(column) + 1)})
    assert score(frame, danger=given).value == score(frame, danger=plain).value
    assert list(read_weights("danger", plain)) == (["age"] if given else [])


@pytest.mark.parametrize("values", [("otherwise",), (30, "30"), (None, ""), (True, "true")])
def test_weights_that_would_read_back_as_others_are_measured_but_not_written(values):
    """The danger of one value, written and read, would be that of another one, or of all."""
    danger = {("disease", value): 0 if value == values[0] else 1 for value in values}
    frame = pd.DataFrame({"disease": pd.Series([*values, "flu"], dtype=object), "city": range(len(values) + 1)})
    rows = frame.to_dict("records")
    expected = oracle.table_scores(rows, danger=lambda name: Fraction(danger.get(name, 1)))
    assert score(frame, danger=danger).of(frame).tolist() == pytest.approx([float(value) for value in expected])
    for refused in (danger, {**danger, "disease": 0}):
        with pytest.raises(ParameterError, match="'disease' by value cannot be written"):
            pp.require("privacy_score", at_most=0.3, danger=refused).to_dict()


def test_a_value_is_found_by_its_text_where_that_names_only_one():
    frame = pd.DataFrame({"age": [30, 41], "city": ["Bern", "Basel"]})
    assert score(frame, danger={"age": {"30": 0, "41": 0}}).value == score(frame, danger={"age": 0}).value
    twins = pd.DataFrame({"age": pd.Series([30, True, "true"], dtype=object), "x": [1, 2, 3]})
    assert score(twins, danger={"age": {"true": 0}}).rows == 3  # the text itself comes first
    with pytest.raises(ParameterError, match="two weights"):
        score(frame, danger={"age": {"30": 0, 30: 0}})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"danger": {"town": 1}}, ColumnError, "unknown column in danger 'town'"),
        ({"likelihood": {("town", "Bern"): 1}}, ColumnError, "unknown column in likelihood"),
        ({"roles": {"town": "sensitive"}}, ColumnError, "unknown column in roles"),
        ({"bins": {"town": [0, 1]}}, ColumnError, "unknown column in bins"),
        ({"danger": {("city", "Genf"): 1}}, ParameterError, "1 value.* that column 'city' does not have"),
        ({"danger": {"city": {"Genf": 1, "Nyon": 1}}}, ParameterError, "2 value"),
        ({"danger": {"city": 1.5}}, ParameterError, "between 0 and 1, not 1.5"),
        ({"danger": {"city": -0.1}}, ParameterError, "between 0 and 1"),
        ({"danger": {"city": float("nan")}}, ParameterError, "finite"),
        ({"danger": {"city": True}}, ParameterError, "number"),
        ({"danger": {"city": "high"}}, ParameterError, "number"),
        ({"danger": {1: 1}}, ParameterError, "a column or a pair"),
        ({"danger": {("city", "Bern", 1): 1}}, ParameterError, "a column or a pair"),
        ({"danger": 1}, ParameterError, "mapping of columns"),
        ({"danger": {"city": 1, ("city", "Bern"): 1, "disease": {"flu": 1, "otherwise": 2}}}, ParameterError, "not 2"),
        ({"roles": {"city": "identifier"}}, ParameterError, "unknown role"),
        ({"roles": ["city"]}, ParameterError, "mapping"),
        ({"confidence": 0}, ParameterError, "confidence"),
        ({"confidence": 1.01}, ParameterError, "confidence"),
        ({"saturation": 0}, ParameterError, "saturation"),
        ({"statistic": "median"}, ParameterError, "statistic"),
        ({"statistic": "threshold_share"}, ParameterError, "threshold goes with"),
        ({"threshold": 0.5}, ParameterError, "threshold goes with"),
        ({"statistic": "threshold_share", "threshold": 0}, ParameterError, "above 0"),
        ({"budget": 0}, ParameterError, "budget"),
        ({"budget": 2.5}, ParameterError, "budget"),
        ({"bins": {"city": "0, 10"}}, ParameterError, "boundaries"),
        ({"bins": {"city": [10, 0]}}, HierarchyError, "ascending"),
        ({"bins": {"city": [0, 10]}}, HierarchyError, "does not cover 2 value"),
        ({"generalized": {"city": "tree"}}, ParameterError, "a hierarchy"),
        ({"unit": "person"}, ParameterError, "unit"),
        ({"liklihood": {}}, ParameterError, "liklihood"),
    ],
)
def test_what_makes_no_sense_is_refused_without_naming_a_value(visits, options, error, words):
    with pytest.raises(error, match=words) as refused:
        score(visits, **options)
    assert not {"Genf", "Nyon", "Bern", "Basel", "flu"} & set(str(refused.value).replace("'", " ").split())


def test_nothing_to_look_at_is_refused(visits):
    with pytest.raises(EmptyTableError):
        score(visits[:0])
    with pytest.raises(ColumnError):
        pp.privacy_score(visits, attributes=[])
    with pytest.raises(ColumnError):
        pp.privacy_score(visits, attributes=["town"])


def test_numbers_are_binned_by_boundaries_or_by_the_first_level_of_a_hierarchy():
    frame = pd.DataFrame({"age": [17, 18, 40, None], "disease": ["flu", "flu", "gout", "gout"]})
    options = {"roles": {"age": "quasi_identifier", "disease": "sensitive"}}
    by_list = score(frame, bins={"age": [0, 30, 60]}, **options)
    by_hierarchy = score(frame, bins={"age": pp.interval_hierarchy(boundaries=[[0, 30, 60], [0, 60]])}, **options)
    named = frame.assign(age=["[0, 30)", "[0, 30)", "[30, 60)", None])
    assert by_list.value == by_hierarchy.value == score(named, **options).value == Fraction(1, 2)
    wide = score(frame, bins={"age": [0, 100]}, **options)
    assert wide.of(frame).tolist() == [0, 0, 0, 0.5]  # the missing age is a bin of its own
    weighed = score(frame, bins={"age": [0, 30, 60]}, likelihood={"age": {"[0, 30)": 0.5}}, **options)
    assert weighed.of(frame).tolist() == [0.25, 0.25, 0.5, 0.5]


def test_many_numbers_that_are_not_binned_are_said():
    frame = pd.DataFrame({"age": range(30), "x": [1] * 30})
    assert any("bins" in note for note in score(frame).notes)
    assert not score(frame, bins={"age": [0, 100]}).notes
    assert any("danger" in note for note in score(frame[["x"]], danger={"x": 0}).notes)


@pytest.mark.parametrize(
    ("tree", "values", "expected"),
    [
        (
            pp.tree_hierarchy({"west": ["Nyon", "Vevey"], "east": ["Arbon"]}),
            ["Nyon", "west", "*", "east"],
            {"Nyon": {"Nyon"}, "west": {"Nyon", "Vevey"}, "*": {"Nyon", "Vevey", "Arbon"}, "east": {"Arbon"}},
        ),
        (
            pp.interval_hierarchy(boundaries=[[0, 10, 20], [0, 20]], open_ends=True),
            [7, "[0, 10)", "[0, 20)", ">=20", "<0", None],
            {
                7: {7},
                "[0, 10)": {7, "[0, 10)"},
                "[0, 20)": {7, "[0, 10)", "[10, 20)"},
                ">=20": {">=20"},
                "<0": {"<0"},
                None: {None},
            },
        ),
        (
            pp.mask_hierarchy(length=4),
            ["8001", "80**", "81**", "*", None],
            {
                "8001": {"8001"},
                "80**": {"8001", "80**"},
                "81**": {"81**"},
                "*": {"8001", "80**", "81**", None},
                None: {None},
            },
        ),
        (pp.mask_hierarchy(length=2), ["*", None], {"*": {"*", None}, None: {None}}),
    ],
)
def test_a_generalized_value_holds_the_leaves_below_it(tree, values, expected):
    leaves, holds = leaves_held(tree, values, column="place")
    for value, line in zip(values, holds, strict=True):
        assert {leaf for leaf, held in zip(leaves, line, strict=True) if held} == expected[value]


def test_leaves_of_a_file_are_found_as_text_and_others_refused():
    tree = pp.tree_hierarchy({"young": ["17", "18"], "old": ["70"]})
    leaves, holds = leaves_held(tree, [17, "young"], column="age")
    assert (leaves, holds.tolist()) == (("17", "18"), [[True, False], [True, True]])
    with pytest.raises(HierarchyError, match=r"2 value.*'age'"):
        leaves_held(tree, [17, 19, "middle"], column="age")


@steady
@given(
    st.lists(
        st.tuples(st.sampled_from(["Nyon", "Vevey", "Arbon", "west", "*"]), st.sampled_from(["flu", "gout"])),
        min_size=1,
        max_size=8,
    )
)
def test_scores_by_leaves_follow_the_definition(rows):
    """Chapter 5 with everybody generalized differently."""
    below = {"west": ["Nyon", "Vevey"], "*": ["Nyon", "Vevey", "Arbon"]}
    people = [frozenset({("city", leaf) for leaf in below.get(c, [c])} | {("disease", d)}) for c, d in rows]
    expected = oracle.set_scores(
        people, likelihood=lambda name: Fraction(1), danger=lambda name: Fraction(1 if name[0] == "disease" else 0)
    )
    frame = pd.DataFrame(rows, columns=["city", "disease"])
    tree = pp.tree_hierarchy({"west": ["Nyon", "Vevey"], "east": ["Arbon"]})
    found = score(frame, generalized={"city": tree}, danger={"city": 0})
    assert found.of(frame).tolist() == pytest.approx([float(value) for value in expected], abs=1e-12)


@pytest.mark.parametrize("index", [[3, 1, 0, 2], [7, 7, 7, 7], list("dcba")])
def test_scores_are_aligned_with_rows_whatever_the_index(visits, index):
    found = score(visits, roles=ROLES)
    assert found.of(visits.set_axis(index)).tolist() == [0.5, 0.5, 0, 0]
    assert found.of(visits.set_axis(index)[::-1]).tolist() == [0, 0, 0.5, 0.5]
    assert found.of(visits.iloc[[3, 0, 0]]).tolist() == [0, 0.5, 0.5]
    assert found.of(visits.assign(more=1)[["disease", "more", "city"]]).tolist() == [0.5, 0.5, 0, 0]


def test_scores_are_aligned_with_frames_of_every_kind(visits):
    found = score(visits, roles=ROLES)
    kinds = [pl.from_pandas(visits), pa.Table.from_pandas(visits), visits.to_dict("list"), visits.astype("category")]
    for kind in kinds:
        assert found.of(kind).tolist() == [0.5, 0.5, 0, 0]
    assert found.of(found.table).tolist() == found.individuals.tolist()
    with pytest.raises(SourceError):
        found.of(pl.from_pandas(visits).lazy())
    with pytest.raises(SourceError):
        found.of([1, 2])
    with pytest.raises(ParameterError, match="1 of 4 rows are not among"):
        found.of(visits.assign(city=["Bern", "Bern", "Basel", "Genf"]))
    with pytest.raises(ParameterError, match="2 of 4 rows"):
        found.of(visits.assign(city="Bern", disease=["flu", "flu", "gout", "gout"]))


def test_equal_values_of_other_types_are_found():
    frame = pd.DataFrame({"age": [30, None, 41], "day": pd.to_datetime(["2024-01-01", None, "2024-01-02"])})
    found = score(frame)
    other = pd.DataFrame({"age": pd.array([41, 30, None], dtype="Int64"), "day": ["2024-01-02", "2024-01-01", None]})
    with pytest.raises(ParameterError, match="2 of 3 rows"):
        found.of(other)  # text is no date
    other["day"] = pd.to_datetime(other["day"])
    assert found.of(other).tolist() == found.of(frame)[[2, 0, 1]].tolist()


def wide(rows=60):
    generator = np.random.default_rng(3)
    return pd.DataFrame({f"c{size}": generator.integers(0, size, rows) for size in (2, 3, 5, 8, 30)})


@pytest.mark.parametrize("statistic", ["average", "maximum", "threshold_share"])
@pytest.mark.parametrize("budget", [1, 300])
def test_an_interval_is_judged_by_its_bad_end(statistic, budget):
    options = {
        "likelihood": {"c5": 0.4, "c30": 0.3, "c8": 0.2, "c3": 0.5, "c2": 0.1},
        "statistic": statistic,
        **({"threshold": 0.25} if statistic == "threshold_share" else {}),
    }
    exact, cut = score(wide(), **options), score(wide(), budget=budget, **options)
    assert exact.complete
    assert not cut.complete
    assert cut.lowest <= exact.value <= cut.highest
    assert cut.lowest < cut.highest
    assert cut.value >= exact.value
    assert (cut.lower <= exact.individuals + 1e-12).all()
    assert (cut.individuals >= exact.individuals - 1e-12).all()
    assert any("budget" in note for note in cut.notes)
    between = (Fraction(exact.highest) + Fraction(cut.highest)) / 2
    requirement = pp.require("privacy_score", below=between, **options)
    frame = wide()
    assert requirement.judge(frame, attributes=list(frame)).passed
    limited = pp.require("privacy_score", below=between, budget=budget, **options)
    assert not limited.judge(frame, attributes=list(frame)).passed


def test_without_a_budget_there_is_one_all_the_same(monkeypatch):
    frame = wide()
    assert score(frame).parameters["budget"] > 10**9
    monkeypatch.setattr(import_module("privacy_plugin.metrics.privacy_score"), "DEFAULT_BUDGET", 300)
    cut = score(frame)
    assert not cut.complete
    assert cut.parameters["budget"] == 300
    assert any(f"of at most {cut.details['sets_at_most']:.2g}" in note for note in cut.notes)
    assert all(combination.weight > 0 for combination in cut.combinations)


def test_a_limit_at_the_very_value_is_met_exactly(visits):
    for limit, passed in (({"at_most": 0.5}, True), ({"below": 0.5}, False), ({"below": 0.51}, True)):
        finding = pp.require("privacy_score", statistic="maximum", roles=ROLES, **limit).judge(
            visits, attributes=["city", "disease"]
        )
        assert finding.passed is passed
    finding = pp.require("privacy_score", statistic="maximum", roles=ROLES, below=0.5).judge(
        visits, attributes=["city", "disease"]
    )
    assert finding.people_affected == 2
    share = pp.require("privacy_score", statistic="threshold_share", threshold=0.5, roles=ROLES, at_most=0.5)
    finding = share.judge(visits, attributes=["city", "disease"])
    assert (finding.passed, finding.value, finding.people_affected) == (True, Fraction(1, 2), None)


def test_floats_state_their_error():
    found = score(wide(), likelihood={"c2": 0.3}, danger={"c5": 0.7})
    assert isinstance(found.value, float)
    assert not found.exact
    assert 0 < found.error < 2e-12
    assert found.lowest < found.value < found.highest


def test_nothing_of_the_table_is_told_unless_asked():
    frame = pd.DataFrame(
        {"city": ["marker-a", "marker-b", "marker-b"], "disease": ["marker-c", "marker-d", "marker-d"]}
    )
    found = score(frame, danger={("disease", "marker-c"): 0.5, "city": {"marker-a": 0.1}})
    witness = found.witness(0)
    for text in (repr(found), json.dumps(found.to_dict()), repr(witness), str(witness), json.dumps(witness.to_dict())):
        assert "marker" not in text
    assert "marker-a" in json.dumps(found.to_dict(reveal=True))
    assert "marker" in witness.words(reveal=True)
    assert "marker" in json.dumps(witness.to_dict(reveal=True))
    assert "marker" not in repr(found.combinations)
    assert found.to_dict()["parameters"]["danger"] == {"disease": "by value", "city": "by value"}
    requirement = pp.require("privacy_score", below=0.1, danger={("disease", "marker-c"): 0.5})
    assert "marker" not in str(requirement)
    assert "marker" not in json.dumps(requirement.judge(frame, attributes=["city", "disease"]).to_dict())


def test_combinations_name_columns_worst_first(visits):
    found = score(visits, roles=ROLES)
    assert [(one.known, one.inferred, one.weight, one.people) for one in found.combinations] == [
        (("city",), ("disease",), 0.5, 2)
    ]


def test_progress_is_told():
    seen = []
    pp.privacy_score(wide(), attributes=list(wide()), progress=lambda share, steps: seen.append((share, steps)))
    assert seen[-1][0] == 1
    heard = []
    with reporting(lambda share, steps: heard.append((share, steps))):
        pp.require("privacy_score", below=0.5).judge(wide(), attributes=list(wide()))
    assert heard == seen
    pp.privacy_score(wide(), attributes=list(wide()))
    assert heard == seen


def test_a_person_who_is_not_there_has_no_witness(visits):
    found = score(visits)
    for person in (-1, len(found.counts), 0.5, "0"):
        with pytest.raises(ParameterError, match="no person"):
            found.witness(person)


def test_people_are_counted_not_distinct_rows():
    table = FrequencyTable.from_rows(
        ["city", "disease"], [("Bern", "flu"), ("Basel", "flu"), ("Basel", "gout")], [8, 1, 1]
    )
    found = pp.privacy_score(table, attributes=["city", "disease"], roles=ROLES)
    assert (found.value, found.threshold_count(0.5), found.rows) == (Fraction(2, 5), 8, 10)
