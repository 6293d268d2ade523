"""Losses against sums over rows and cells."""

from dataclasses import dataclass
from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.generalization.class_counts import GroupedCounts
from privacy_plugin.generalization.losses import LOSSES, SHARES, make_loss
from tests.oracles import losses as oracle

quick = settings(deadline=None, max_examples=40, derandomize=True)

# one column has values that no row needs to have, one does not end in a single value, one has nothing above its values
PATHS = [
    {
        age: (age, decade, "*")
        for age, decade in zip((21, 25, 34, 36, 51), ("20s", "20s", "30s", "30s", "50s"), strict=True)
    },
    {"Bern": ("Bern", "west"), "Biel": ("Biel", "west"), "Chur": ("Chur", "east")},
    {"f": ("f",), "m": ("m",)},
]
COLUMNS = ["age", "city", "sex"]
HIERARCHIES = {
    name: TableHierarchy({value: path[1:] for value, path in paths.items()})
    for name, paths in zip(COLUMNS, PATHS, strict=True)
}
NODES = list(product(*(range(len(next(iter(paths.values())))) for paths in PATHS)))
ROWS = st.lists(st.tuples(*(st.sampled_from(list(paths)) for paths in PATHS)), min_size=1, max_size=12)


@dataclass
class Case:
    rows: list[tuple[object, ...]]

    def __post_init__(self) -> None:
        self.table = FrequencyTable.from_rows(COLUMNS, self.rows)
        self.levels = {name: HIERARCHIES[name].levels(self.table.dictionary(name)) for name in COLUMNS}
        self.lines = [self.table.values(line) for line in range(self.table.distinct)]

    def loss(self, name):
        return make_loss(name, self.table, self.levels, HIERARCHIES)

    def counted(self, k):
        return GroupedCounts(self.table.codes, self.table.counts, [laid.maps for laid in self.levels.values()], k=k)

    def small(self, node, k):
        """The rows in classes of fewer than k."""
        general = [tuple(PATHS[i][row[i]][level] for i, level in enumerate(node)) for row in self.rows]
        return {number for number, row in enumerate(general) if general.count(row) < k}

    def mask(self, gone):
        values = {self.rows[number] for number in gone}
        return np.array([line in values for line in self.lines])


@pytest.mark.parametrize("name", LOSSES)
@quick
@given(rows=ROWS, k=st.integers(1, 4), data=st.data())
def test_the_loss_of_a_node_is_the_sum_over_its_cells_or_classes(name, rows, k, data):
    case, node = Case(rows), data.draw(st.sampled_from(NODES))
    some = data.draw(st.sets(st.integers(0, len(rows) - 1)))
    for gone in (case.small(node, k), {n for n, row in enumerate(rows) if row in {rows[m] for m in some}}):
        expected = oracle.LOSSES[name](rows, PATHS, node, gone)
        assert case.loss(name).of(node, case.mask(gone)) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@quick
@given(rows=ROWS, k=st.integers(1, 4))
def test_bounds_lie_below_the_loss_and_are_exact_where_they_say_so(name, rows, k):
    case = Case(rows)
    bounds = case.loss(name).bounds(case.counted(k))
    for node in NODES:
        gone = case.small(node, k)
        expected = float(oracle.LOSSES[name](rows, PATHS, node, gone))
        if name in ("entropy", "loss_metric") and gone:
            assert bounds[node] <= expected + 1e-12
            nothing = float(oracle.LOSSES[name](rows, PATHS, node, set()))
            assert bounds[node] >= nothing - 1e-12
        else:
            assert bounds[node] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@quick
@given(rows=ROWS)
def test_without_suppression_no_loss_falls_on_the_way_up(name, rows):
    """The optimum of a monotone search is therefore a minimal node."""
    case = Case(rows)
    bounds = case.loss(name).bounds(case.counted(1))
    for axis in range(bounds.ndim):
        assert (np.diff(bounds, axis=axis) >= -1e-12).all()


@pytest.mark.parametrize("name", LOSSES)
@quick
@given(rows=ROWS, data=st.data())
def test_suppressing_more_never_costs_less(name, rows, data):
    case, node = Case(rows), data.draw(st.sampled_from(NODES))
    fewer, more = sorted((data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))))
    loss = case.loss(name)
    low = loss.of(node, case.mask(case.small(node, fewer)))
    high = loss.of(node, case.mask(case.small(node, more)))
    assert low <= high + 1e-12


@pytest.mark.parametrize("name", SHARES)
def test_a_table_that_is_suppressed_altogether_is_lost_altogether(name):
    case = Case([(21, "Bern", "f"), (34, "Chur", "m"), (34, "Chur", "m")])
    assert case.loss(name).of((0, 0, 0), np.ones(2, dtype=bool)) == pytest.approx(1)
    assert case.loss(name).of((0, 0, 0), np.zeros(2, dtype=bool)) == 0


def test_a_worked_example():
    """Four rows at (decade, region, sex): ages 21, 25, 34, 34; classes of 2 and 2, then the second is suppressed."""
    case = Case([(21, "Bern", "f"), (25, "Biel", "f"), (34, "Chur", "f"), (34, "Chur", "f")])
    nothing, second = np.zeros(3, dtype=bool), np.array([False, False, True])
    node = (1, 1, 0)
    assert case.loss("precision").of(node, nothing) == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert case.loss("precision").of(node, second) == pytest.approx((2 * (1 / 2 + 1 + 0) + 2 * 3) / 12)
    # the hierarchies list 5 ages and 3 cities: each decade covers 2 of 5, the west 2 of 3 cities, the east 1
    assert case.loss("loss_metric").of(node, nothing) == pytest.approx((4 * 1 / 4 + 2 * 1 / 2 + 2 * 0) / 12)
    # ages: 1 bit each for 21 and 25, none for 34; cities alike; 2 + 2 of (2 * 2 + 2 * 1) * 2 bits
    assert case.loss("entropy").of(node, nothing) == pytest.approx((2 * log2(2) + 2 * log2(2)) / 12)
    assert case.loss("discernibility").of(node, nothing) == 4 + 4
    assert case.loss("discernibility").of(node, second) == 4 + 2 * 4
    assert case.loss("average_class_size").of(node, nothing) == 2
    assert case.loss("average_class_size").of(node, second) == 4


def test_the_leaves_of_a_rule_are_the_values_of_the_table():
    table = FrequencyTable.from_rows(["zip"], [("8001",), ("8002",), ("3001",), (None,)])
    hierarchies = {"zip": pp.mask_hierarchy(length=4)}
    levels = {"zip": hierarchies["zip"].levels(table.dictionary("zip"))}
    loss = make_loss("loss_metric", table, levels, hierarchies)
    nothing = np.zeros(4, dtype=bool)
    assert loss.of((1,), nothing) == pytest.approx((1 / 3 + 1 / 3 + 0 + 0) / 4)  # 800*, 800*, 300*, missing
    assert loss.of((4,), nothing) == 1


def test_a_missing_value_is_a_leaf_that_a_list_need_not_name():
    table = FrequencyTable.from_rows(["sex"], [("f",), (None,)])
    hierarchies = {"sex": TableHierarchy({"f": ("*",), "m": ("*",)})}
    levels = {"sex": hierarchies["sex"].levels(table.dictionary("sex"))}
    assert make_loss("loss_metric", table, levels, hierarchies).of((1,), np.zeros(2, dtype=bool)) == 1


def test_a_root_that_is_written_out_is_reached_once():
    """A cell that says `*` has lost as much as a suppressed one, on whatever level it says so."""
    paths = {"Bern": ("Bern", "west", "*", "*"), "Chur": ("Chur", "east", "*", "*")}
    rows, hierarchy = [("Bern",), ("Chur",)], TableHierarchy({city: path[1:] for city, path in paths.items()})
    table = FrequencyTable.from_rows(["city"], rows)
    levels = {"city": hierarchy.levels(table.dictionary("city"))}
    loss = make_loss("precision", table, levels, {"city": hierarchy})
    found = [loss.of((level,), np.zeros(2, dtype=bool)) for level in range(4)]
    assert found == [0, 0.5, 1, 1] == [oracle.precision(rows, [paths], (level,), ()) for level in range(4)]


def test_columns_of_one_value_have_nothing_to_lose():
    table = FrequencyTable.from_rows(["sex"], [("f",), ("f",)])
    hierarchies = {"sex": TableHierarchy({"f": ("*",)})}
    levels = {"sex": hierarchies["sex"].levels(table.dictionary("sex"))}
    for name in ("entropy", "loss_metric"):
        assert make_loss(name, table, levels, hierarchies).of((1,), np.zeros(1, dtype=bool)) == 0


def test_an_unknown_loss_is_refused_with_the_nearest_name():
    with pytest.raises(ParameterError, match="did you mean 'precision'"):
        make_loss("precission", Case([(21, "Bern", "f")]).table, {}, {})


def test_squares_that_no_machine_number_holds_are_refused():
    table = FrequencyTable.from_rows(["sex"], [("f",), ("m",)], [2 * 10**9] * 2)
    large = pp.require("k_anonymity", at_least=5)
    asked = {"hierarchies": {"sex": HIERARCHIES["sex"]}, "requirements": [large]}
    with pytest.raises(TooLargeError, match="choose another loss"):
        pp.generalize(table, loss="discernibility", **asked)
    assert pp.generalize(table, **asked).loss == 0
