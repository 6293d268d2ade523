from fractions import Fraction
from itertools import product

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.generalization import search as search_module
from privacy_plugin.generalization.generalize import loss_against_k
from tests.generalized_people import AGES as KNOWN_AGES
from tests.generalized_people import CITIES, hierarchy_of
from tests.oracles import class_metrics as oracle
from tests.oracles.generalization import minimal as oracle_minimal

HIERARCHIES = {"age": hierarchy_of(KNOWN_AGES), "city": hierarchy_of(CITIES)}
AGES = {**KNOWN_AGES, None: (None, None, None, "*")}
COLUMNS = ["age", "city", "disease"]

_rows = st.lists(
    st.tuples(st.sampled_from(list(AGES)), st.sampled_from(list(CITIES)), st.sampled_from("abc")),
    min_size=1,
    max_size=14,
)


def frame_of(rows):
    return pd.DataFrame(rows, columns=COLUMNS).astype(object)


def good_by(k=1, l=1, t=None):  # noqa: E741
    """What a class must be, by the definitions, inside the table it is in."""

    def is_good(members, table):
        if len(members) < k or len({row[2] for row in members}) < l:
            return False
        shares = [
            {v: Fraction([row[2] for row in some].count(v), len(some)) for v in {row[2] for row in some}}
            for some in (members, table)
        ]
        return t is None or oracle.earth_mover(*shares, oracle.equal_distance) <= t

    return is_good


@settings(deadline=None, derandomize=True, max_examples=120)
@given(
    _rows,
    st.sampled_from([{"k": 2}, {"k": 3}, {"k": 2, "l": 2}, {"l": 2}, {"k": 2, "t": Fraction(1, 4)}, {"k": 50}]),
    st.sampled_from([0.0, 0.1, 0.29, 0.5, 1.0]),
    st.sampled_from([0, 1, 200]),
    st.sampled_from([1, 64]),
)
def test_the_loss_is_the_least_of_all_nodes_and_the_result_meets_every_requirement(rows, wanted, share, small, few):
    """Lattices above `small` nodes are searched by class sizes first, up to `few` nodes; the result is the same."""
    requirements = [pp.require("k_anonymity", at_least=wanted.get("k", 1))]
    requirements += [pp.require("l_diversity", at_least=wanted["l"])] if "l" in wanted else []
    requirements += [pp.require("t_closeness", at_most=wanted["t"])] if "t" in wanted else []
    expected = oracle.least_loss(rows, [AGES, CITIES], good_by(**wanted), Fraction(str(share)))
    frame = frame_of(rows)
    given_parts = {"hierarchies": HIERARCHIES, "requirements": requirements, "max_suppression": share}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "PICTURED", small)
        patch.setattr(search_module, "_FEW_RULED", few)
        if expected is None:
            with pytest.raises(InfeasibleError):
                pp.generalize(frame, **given_parts, sensitive="disease")
            return
        plan = pp.generalize(frame, **given_parts, sensitive="disease")
    assert plan.loss == pytest.approx(float(expected), abs=1e-12)
    released = plan.apply(frame)
    assert len(released) == len(rows) - plan.suppressed
    for requirement in requirements:
        finding = requirement.judge(released, quasi_identifiers=["age", "city"], sensitive="disease")
        assert finding.passed, finding.reason
    left = [tuple(row) for row in released.astype(object).where(released.notna(), None).itertuples(index=False)]
    assert all(good_by(**wanted)(members, left) for members in oracle.equivalence_classes(left, [0, 1]))


def test_the_losses_count_suppressed_people_as_lost_completely():
    rows = [(21, "Bern", "a"), (25, "Bern", "b"), (34, "Bern", "a"), (51, "Basel", "b")]
    plan = pp.generalize(
        frame_of(rows),
        hierarchies=HIERARCHIES,
        requirements=[pp.require("k_anonymity", at_least=2)],
        max_suppression=0.25,
    )
    assert plan.levels == {"age": 2, "city": 0}
    assert (plan.suppressed, plan.rows, plan.suppressed_share) == (1, 4, 0.25)
    assert plan.loss == pytest.approx(0.75 * (2 / 3 + 0) / 2 + 0.25)


def test_a_table_that_is_good_as_it_is_stays_as_it_is():
    frame = frame_of([(21, "Bern", "a"), (21, "Bern", "b")])
    plan = pp.generalize(frame, hierarchies=HIERARCHIES, requirements=[pp.require("k_anonymity", at_least=2)])
    assert (plan.levels, plan.loss, plan.suppressed) == ({"age": 0, "city": 0}, 0, 0)
    pd.testing.assert_frame_equal(plan.apply(frame), frame, check_dtype=False)


def test_a_share_is_read_as_it_is_written():
    """0.29 * 100 is 28.999999999999996 in floating point; twenty-nine of a hundred are twenty-nine hundredths."""
    frame = pd.DataFrame({"age": [*range(29), *[50] * 71]})
    plan = pp.generalize(
        frame,
        hierarchies={"age": TableHierarchy(dict.fromkeys([*range(29), 50], ()))},
        requirements=[pp.require("k_anonymity", at_least=2)],
        max_suppression=0.29,
    )
    assert plan.suppressed == 29


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        (
            pp.require("k_anonymity", at_least=5),
            r"k_anonymity at least 5 needs 5 rows, and the table has 4",
        ),
        (pp.require("l_diversity", at_least=3), r"fail l_diversity at least 3"),
        (pp.require("reidentification_risk", variant="average", at_most=0.2), r"risk \(average\) is 0.25"),
    ],
)
def test_what_is_infeasible_says_what_fails_even_at_the_top(requirement, words):
    rows = [(21, "Bern", "a"), (25, "Bern", "b"), (34, "Bern", "a"), (51, "Basel", "b")]
    with pytest.raises(InfeasibleError, match=words) as caught:
        pp.generalize(
            frame_of(rows),
            hierarchies=HIERARCHIES,
            requirements=[pp.require("k_anonymity", at_least=2), requirement],
            sensitive="disease",
        )
    assert "not even the most general one" in str(caught.value)
    assert "k_anonymity at least 2" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"hierarchies": {}}, ParameterError, "hierarchies is empty"),
        ({"requirements": []}, ParameterError, "requirements is empty"),
        ({"max_suppression": -0.1}, ParameterError, "between 0 and 1"),
        ({"max_suppression": 5}, ParameterError, "between 0 and 1"),
        ({"max_suppression": float("nan")}, ParameterError, "between 0 and 1"),
        ({"max_suppression": True}, ParameterError, "max_suppression"),
        ({"max_suppression": "0.1"}, ParameterError, "max_suppression"),
        ({"loss": "precission"}, ParameterError, "loss"),
        ({"requirements": [pp.require("l_diversity", at_least=2)]}, ParameterError, "sensitive="),
        ({"sensitive": "deseases", "requirements": [pp.require("l_diversity", at_least=2)]}, ColumnError, "deseases"),
        ({"hierarchies": {**HIERARCHIES, "zip": pp.mask_hierarchy(length=2)}}, ColumnError, "zip"),
        ({"hierarchies": {"age": HIERARCHIES["city"]}}, HierarchyError, "does not cover 1 value"),
    ],
)
def test_what_makes_no_sense_is_refused(change, error, words):
    given_parts = {"hierarchies": HIERARCHIES, "requirements": [pp.require("k_anonymity", at_least=2)], **change}
    with pytest.raises(error, match=words):
        pp.generalize(frame_of([(21, "Bern", "a")] * 2), **given_parts)


def test_the_sensitive_column_cannot_be_a_quasi_identifier():
    with pytest.raises((ColumnError, ParameterError)):
        pp.generalize(
            frame_of([(21, "Bern", "a")] * 2),
            hierarchies=HIERARCHIES,
            requirements=[pp.require("l_diversity", at_least=1)],
            sensitive="city",
        )


def test_an_empty_table_has_no_plan():
    with pytest.raises(EmptyTableError):
        pp.generalize(frame_of([]), hierarchies=HIERARCHIES, requirements=[pp.require("k_anonymity", at_least=1)])


VISITS = pd.DataFrame(
    {
        "person": [1, 1, 1, 2, 3, 4, 5, 6],
        "zip": ["8001", "8001", "8001", "8001", "8002", "8003", "3001", "3002"],
    }
)
ZIPS = {"zip": pp.mask_hierarchy(length=4)}


def test_with_a_unit_people_are_counted_and_not_their_rows():
    k2 = pp.require("k_anonymity", at_least=2)
    k3 = pp.require("k_anonymity", at_least=3)
    assert pp.generalize(VISITS.head(4), hierarchies=ZIPS, requirements=[k3]).levels == {"zip": 0}
    with pytest.raises(InfeasibleError, match="needs 3 people, and the table has 2"):
        pp.generalize(VISITS.head(4), hierarchies=ZIPS, requirements=[k3], unit="person")
    plan = pp.generalize(VISITS, hierarchies=ZIPS, requirements=[k2], unit="person")
    assert (plan.levels, plan.rows, plan.unit) == ({"zip": 1}, 6, "person")
    plan = pp.generalize(VISITS, hierarchies=ZIPS, requirements=[k3], unit="person", max_suppression=0.34)
    assert (plan.levels, plan.suppressed) == ({"zip": 1}, 2)
    released = plan.apply(VISITS)
    assert len(released) == 6
    assert k3.judge(released, quasi_identifiers=["zip"], unit="person").passed


def test_a_score_guides_the_search_by_people():
    score = pp.require("privacy_score", at_most=0, roles={"zip": "quasi_identifier", "sex": "sensitive"})
    sexes = VISITS.assign(sex=["f", "f", "f", "m", "m", "f", "f", "m"])
    options = {"hierarchies": ZIPS, "requirements": [score], "attributes": ["zip", "sex"]}
    by_people = pp.generalize(sexes, **options, unit="person")
    assert by_people.levels == pp.generalize(sexes.drop_duplicates(), **options).levels == {"zip": 1}
    assert by_people.rows == 6


def test_a_unit_that_does_not_exist_is_refused():
    with pytest.raises(ColumnError, match="unit"):
        pp.generalize(VISITS, hierarchies=ZIPS, requirements=[pp.require("k_anonymity", at_least=2)], unit="persons")


def test_a_class_size_above_the_number_of_rows_raises_before_the_search():
    with pytest.raises(InfeasibleError, match="k_anonymity at least 9 needs 9 rows, and the table has 8") as caught:
        pp.generalize(VISITS, hierarchies=ZIPS, requirements=[pp.require("k_anonymity", at_least=9)])
    assert "hierarchy" not in str(caught.value)


def test_a_hierarchy_is_to_be_extended_only_where_it_does_not_end_in_one_value():
    asked = {"requirements": [pp.require("l_diversity", at_least=3)], "sensitive": "illness"}
    frame = pd.DataFrame({"zip": ["1", "2"] * 3, "age": ["3", "4", None] * 2, "illness": ["flu", "cold"] * 3})
    whole = {"age": pp.tree_hierarchy(["3", "4"])}
    with pytest.raises(InfeasibleError) as caught:
        pp.generalize(frame, hierarchies={**whole, "zip": TableHierarchy({"1": ("one",), "2": ("two",)})}, **asked)
    assert "extend the hierarchy of zip to '*'" in str(caught.value)
    with pytest.raises(InfeasibleError) as caught:
        pp.generalize(frame, hierarchies={**whole, "zip": pp.tree_hierarchy(["1", "2"])}, **asked)
    assert "extend" not in str(caught.value)


def test_progress_is_reported_where_nodes_are_evaluated_one_by_one():
    sentences = []
    frame = pd.DataFrame({name: [str(n % 3) for n in range(9)] for name in "abcdef"})
    three = TableHierarchy({str(n): (f"<{n // 2}", "*") for n in range(3)})
    pp.generalize(
        frame,
        hierarchies=dict.fromkeys("abcdef", three),
        requirements=[pp.require("reidentification_risk", variant="share_at_risk", threshold="1/9", at_most=0)],
        max_suppression=0.2,
        progress=sentences.append,
    )
    assert sentences[0].startswith("counting all 729 generalizations")
    assert sentences[1] == "25 of 729 generalizations evaluated one by one"


def test_a_curve_of_loss_against_k_comes_with_a_small_lattice():
    frame = frame_of([(21, "Bern", "a"), (25, "Bern", "b"), (34, "Basel", "a"), (34, "Basel", "b")])
    k2 = pp.require("k_anonymity", at_least=2)
    plan = pp.generalize(frame, hierarchies=HIERARCHIES, requirements=[k2])
    curve = {point.k: point.loss for point in plan.trade_off}
    assert list(curve) == [2, 3, 5, 10, 20, 50, 100]
    assert curve[2] == plan.loss
    assert curve[3] > curve[2]
    assert curve[5] is None
    assert loss_against_k(frame, hierarchies=HIERARCHIES, ks=list(curve)) == plan.trade_off
    for loss in ("entropy", "loss_metric", "discernibility", "average_class_size"):
        given = {"hierarchies": HIERARCHIES, "max_suppression": 0.25, "loss": loss}
        found = loss_against_k(frame, ks=[2, 3], **given)
        expected = [
            pp.generalize(frame, requirements=[pp.require("k_anonymity", at_least=k)], **given).loss for k in (2, 3)
        ]
        assert [point.loss for point in found] == pytest.approx(expected)


def test_the_curve_keeps_the_other_requirements():
    frame = frame_of([(21, "Bern", "a"), (25, "Bern", "a"), (34, "Bern", "b"), (51, "Basel", "b")])
    diverse = pp.require("l_diversity", at_least=2)
    given = {"hierarchies": HIERARCHIES, "sensitive": "disease"}
    curve = loss_against_k(frame, requirements=[diverse], ks=[1, 2], **given)
    plan = pp.generalize(frame, requirements=[diverse], **given)
    assert [point.loss for point in curve] == [plan.loss, plan.loss]
    assert plan.trade_off == ()  # no requirement asks for a k


EVERYBODY = [(21, "Bern"), (21, "Bern"), (25, "Biel"), (25, "Biel"), (34, "Bern"), (34, "Basel"), (51, "Basel")]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    st.sets(st.sampled_from(range(7)), min_size=1).map(lambda chosen: [(*EVERYBODY[n], "a") for n in chosen]),
    st.sampled_from([(0, "1/2"), (0, "2/3"), ("1/4", "3/4"), ("1/7", 1)]),
    st.sampled_from([0.0, 0.4]),
)
def test_presence_is_compared_with_the_population_at_the_same_levels(rows, limits, share):
    low, high = (Fraction(limit) for limit in limits)
    population = pd.DataFrame(EVERYBODY, columns=["age", "city"]).astype(object)
    given_parts = {
        "hierarchies": HIERARCHIES,
        "requirements": [pp.require("delta_presence", between=limits)],
        "max_suppression": share,
        "population": population,
    }
    allowed = {}
    for node in product(range(4), range(3)):
        table = [(AGES[age][node[0]], CITIES[city][node[1]]) for age, city, _ in rows]
        there = [(AGES[age][node[0]], CITIES[city][node[1]]) for age, city in EVERYBODY]
        gone = sum(1 for row in table if not low <= Fraction(table.count(row), there.count(row)) <= high)
        if low and (gone or set(there) - set(table)):  # who is suppressed is surely not in the table
            continue
        if gone < len(rows) and Fraction(gone, len(rows)) <= Fraction(str(share)):
            loss = Fraction(gone, len(rows)) + Fraction(len(rows) - gone, len(rows)) * Fraction(
                2 * node[0] + 3 * node[1], 12
            )
            allowed[node] = (loss, sum(node), node)
    if not allowed:
        with pytest.raises(InfeasibleError, match="not even the most general one"):
            pp.generalize(frame_of(rows), **given_parts)
        return
    plan = pp.generalize(frame_of(rows), **given_parts)
    assert tuple(plan.levels.values()) == min(allowed.values())[2]
    assert {tuple(node.values()) for node in plan.minimal_nodes} == oracle_minimal(list(allowed))
    released = plan.apply(frame_of(rows), population=population)
    found = pp.delta_presence(
        released, population=population, quasi_identifiers=["age", "city"], hierarchies=HIERARCHIES
    )
    assert low <= found.minimum
    assert found.maximum <= high


def test_a_population_that_is_missing_or_lacks_people_raises_before_the_search():
    rows = [(21, "Bern", "a"), (51, "Basel", "a")]
    given_parts = {"hierarchies": HIERARCHIES, "requirements": [pp.require("delta_presence", between=(0, 1))]}
    with pytest.raises(ParameterError, match="give it with population="):
        pp.generalize(frame_of(rows), **given_parts)
    population = pd.DataFrame(EVERYBODY, columns=["age", "city"]).astype(object)
    with pytest.raises(ParameterError, match="everybody in the table must be in the population"):
        pp.generalize(frame_of(rows), **given_parts, population=population.head(6))
    stranger = pd.concat([population, pd.DataFrame({"age": [99], "city": ["Bern"]})]).astype(object)
    with pytest.raises(HierarchyError, match=r"1 value.* of column 'age of the population'"):
        pp.generalize(frame_of(rows), **given_parts, population=stranger)
    plan = pp.generalize(frame_of(rows), **given_parts, population=population)
    with pytest.raises(ParameterError, match="population"):
        plan.apply(frame_of(rows))


@pytest.mark.parametrize("max_suppression", [0, 0.1])
def test_of_equal_losses_the_columns_that_come_first_stay_finer(max_suppression):
    """Either column may go to '*'; the order of the hierarchies decides which, on every run."""
    data = pd.DataFrame([(a, b) for a in "xy" for b in "pq"] * 2, columns=["first", "second"])
    hierarchies = {name: pp.mask_hierarchy(length=1) for name in data.columns}
    for names in (["first", "second"], ["second", "first"]):
        ordered = {name: hierarchies[name] for name in names}
        requirements = [pp.require("k_anonymity", at_least=3)]
        plan = pp.generalize(data, hierarchies=ordered, requirements=requirements, max_suppression=max_suppression)
        assert plan.levels == {names[0]: 0, names[1]: 1}


def test_a_curve_over_a_large_lattice_ends_where_no_generalization_is_large_enough():
    frame = pd.DataFrame({f"c{number}": ["aaaa"] * 4 for number in range(10)})
    found = loss_against_k(
        frame,
        hierarchies={name: pp.mask_hierarchy(length=4) for name in frame},
        ks=[2, 5],
        max_suppression=0.25,
        requirements=[pp.require("reidentification_risk", variant="average", below=0.5)],
    )
    assert [(point.k, point.loss) for point in found] == [(2, 0.0), (5, None)]
