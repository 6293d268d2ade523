"""The compiled lattice walk against brute force over every node: class sizes."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import HierarchyError, ParameterError, TooLargeError
from privacy_plugin.generalization.class_counts import class_sizes
from privacy_plugin.generalization.walk import counts as lattice
from privacy_plugin.generalization.walk import packing
from privacy_plugin.generalization.walk.counts import discernibility, failing_counts, passing_classes, suppressed_counts
from privacy_plugin.metrics.class_rules import Closeness, DistinctDiversity, EntropyDiversity, Presence
from tests.generalization.lattice_tables import SHAPES, Codes, Table, as_dictionary, quick, tables
from tests.oracles import lattice as oracle


def brute_suppressed(table: Table, k: int) -> dict[tuple[int, ...], int]:
    codes, counts, level_maps = table.lists
    return oracle.failing_rows(codes, counts, level_maps, lambda members: sum(counts[i] for i in members) >= k)


@quick
@given(table=tables(), k=st.integers(1, 12))
def test_suppressed_rows_of_every_node(table: Table, k: int) -> None:
    result = suppressed_counts(table.codes, table.counts, table.level_maps, k=k)
    assert as_dictionary(result) == brute_suppressed(table, k)


@pytest.mark.parametrize(("tail_nodes", "key_bits", "few_cells"), SHAPES)
def test_shapes_of_the_recursion_agree_with_brute_force(
    tail_nodes: int, key_bits: int, few_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_TAIL_NODES", tail_nodes)
    monkeypatch.setattr(packing, "_KEY_BITS", key_bits)
    monkeypatch.setattr(packing, "_FEW_CELLS", few_cells)

    @settings(quick, max_examples=25)
    @given(table=tables(), k=st.integers(1, 12))
    def check(table: Table, k: int) -> None:
        result = suppressed_counts(table.codes, table.counts, table.level_maps, k=k)
        assert as_dictionary(result) == brute_suppressed(table, k)

    check()


def test_keys_are_cut_and_ranges_left_out_only_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    codes, maps = generator.integers(0, 6, (300, 5)), [np.array([range(6), [0, 0, 1, 1, 2, 2], [0] * 6])] * 5
    counts = np.ones(300, dtype=np.int64)
    plain = packing.pack_lattice(codes=codes, counts=counts, level_maps=maps).plan
    assert (plain.attributes[:, packing.LINK] < 0).all()
    assert (plain.plain, plain.tail) == (0, 2)
    monkeypatch.setattr(packing, "_KEY_BITS", 13)
    monkeypatch.setattr(packing, "_FEW_CELLS", 0)
    monkeypatch.setattr(packing, "_TAIL_NODES", 1)
    cut = packing.pack_lattice(codes=codes, counts=counts, level_maps=maps).plan
    assert (cut.attributes[:, packing.LINK] >= 0).any()
    assert (cut.plain, cut.tail) == (5, 5)
    monkeypatch.setattr(packing, "_FEW_CELLS", 2000)
    assert packing.pack_lattice(codes=codes, counts=counts, level_maps=maps).plan.plain == 3


def test_more_than_64_bits_of_digits() -> None:
    """Eleven attributes of 200 values need 88 bits."""
    generator = np.random.default_rng(2)
    leaves = np.arange(200)
    maps = [np.array([leaves, leaves // 20, leaves * 0])] * 11
    codes = generator.integers(0, 200, (400, 11))
    codes[200:, 3:] = codes[:200, 3:]  # pairs that merge once the first three attributes are general enough
    table = Table(codes=codes, counts=np.ones(400, dtype=np.int64), level_maps=maps)
    assert (
        packing.pack_lattice(codes=codes, counts=table.counts, level_maps=maps).plan.attributes[:, packing.LINK] >= 0
    ).any()
    result = suppressed_counts(codes, table.counts, maps, k=2)
    for flat in generator.choice(result.size, 40, replace=False):
        node = np.unravel_index(flat, result.shape)
        lists = table.lists
        expected = sum(len(c) for c in oracle.classes(lists[0], lists[2], node) if len(c) < 2)
        assert result[node] == expected
    assert 0 < result[(1, 1, 1) + (0,) * 8] <= 400
    assert result[(2, 2, 2) + (0,) * 8] == 0


@quick
@given(table=tables(), k=st.integers(1, 12))
def test_squares_and_number_of_passing_classes(table: Table, k: int) -> None:
    codes, counts, level_maps = table.lists
    rows = sum(counts)
    squares, numbers = {}, {}
    for node in oracle.nodes(level_maps):
        sizes = [sum(counts[i] for i in members) for members in oracle.classes(codes, level_maps, node)]
        squares[node] = sum(size**2 if size >= k else rows * size for size in sizes)
        numbers[node] = sum(size >= k for size in sizes)
    assert as_dictionary(discernibility(table.codes, table.counts, table.level_maps, k=k)) == squares
    assert as_dictionary(passing_classes(table.codes, table.counts, table.level_maps, k=k)) == numbers


@quick
@given(table=tables(least_count=0), data=st.data())
def test_classes_of_one_node(table: Table, data: st.DataObject) -> None:
    codes, counts, level_maps = table.lists
    node = tuple(data.draw(st.integers(0, len(levels) - 1)) for levels in level_maps)
    found = class_sizes(table.codes, table.counts, table.level_maps, node)
    sizes = [sum(counts[i] for i in members) for members in oracle.classes(codes, level_maps, node)]
    assert sorted(found[found > 0].tolist()) == sorted(size for size in sizes if size)


def test_classes_of_one_node_with_keys_beyond_any_integer() -> None:
    generator = np.random.default_rng(3)
    maps = [np.arange(1000)[None, :]] * 12
    codes = np.repeat(generator.integers(0, 1000, (500, 12)), 2, axis=0)
    sizes = class_sizes(codes, np.ones(1000, dtype=np.int64), maps, (0,) * 12)
    assert sizes.tolist() == [2] * 500


@quick
@given(table=tables(), k=st.integers(1, 8), data=st.data())
def test_one_node_is_asked_for_with_one_line_maps(table: Table, k: int, data: st.DataObject) -> None:
    node = tuple(data.draw(st.integers(0, len(m) - 1)) for m in table.level_maps)
    single = [m[level : level + 1] for m, level in zip(table.level_maps, node, strict=True)]
    every = suppressed_counts(table.codes, table.counts, table.level_maps, k=k)
    assert suppressed_counts(table.codes, table.counts, single, k=k).item() == every[node]


def test_a_paused_walk_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    codes, maps = generator.integers(0, 6, (400, 5)), [np.array([range(6), [0, 0, 1, 1, 2, 2], [0] * 6])] * 5
    counts = generator.integers(1, 4, 400)
    at_once = suppressed_counts(codes, counts, maps, k=7)
    monkeypatch.setattr(lattice, "_SLICE", 50)
    assert (suppressed_counts(codes, counts, maps, k=7) == at_once).all()


def test_no_rows_fail_nowhere() -> None:
    maps = [np.array([[0, 1], [0, 0]])] * 2
    assert suppressed_counts(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), maps, k=3).tolist() == [[0, 0], [0, 0]]
    assert suppressed_counts(np.array([[0, 1]]), np.array([0]), maps, k=3).tolist() == [[0, 0], [0, 0]]


ONE, COUNT, MAP = np.zeros((1, 1), np.int64), np.ones(1, np.int64), [np.array([[0, 1], [0, 0]])]


@pytest.mark.parametrize(
    ("error", "codes", "counts", "maps", "asked"),
    [
        (ParameterError, ONE, COUNT, MAP, {"k": 0}),
        (ParameterError, ONE, COUNT, MAP, {"k": True}),
        (ParameterError, ONE, COUNT, MAP, {"k": 2.5}),
        (ParameterError, ONE, COUNT, MAP * 2, {}),
        (ParameterError, ONE, -COUNT, MAP, {}),
        (ParameterError, ONE, np.ones(2, np.int64), MAP, {}),
        (ParameterError, ONE + 2, COUNT, MAP, {}),
        (ParameterError, ONE - 1, COUNT, MAP, {}),
        (ParameterError, ONE, COUNT, [np.zeros((0, 2), np.int64)], {}),
        (HierarchyError, np.array([[0], [1]]), np.ones(2, np.int64), [np.array([[0, 0], [0, 1]])], {}),
        (HierarchyError, np.arange(3)[:, None], np.ones(3, np.int64), [np.array([[0, 1, 0], [0, 0, 1]])], {}),
        (TooLargeError, np.zeros((1, 30), np.int64), COUNT, MAP * 30, {}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Presence(low=0, high=1)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Presence(low=1, high=0)], "population": COUNT}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [DistinctDiversity(l=0)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [DistinctDiversity(l=2, column=1)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [EntropyDiversity(l=0)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=Fraction(1, 2**70))]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=0.5)]}),  # type: ignore[arg-type]
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=1, ground="far")]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=1, ground=np.zeros((1, 3), np.int64))]}),
        (TooLargeError, ONE, COUNT * 2**32, MAP, {"rules": [Closeness(t=1)]}),
        (ParameterError, ONE, COUNT, MAP, {"sensitive": np.array([-1])}),
        (ParameterError, ONE, COUNT, MAP, {"sensitive": np.array([3]), "sensitive_sizes": [3]}),
        (ParameterError, ONE, COUNT, MAP, {"sensitive": np.array([0, 1])}),
        (ParameterError, ONE, COUNT, MAP, {"population": np.array([-1])}),
    ],
)
def test_bad_input_is_refused(
    error: type[Exception], codes: Codes, counts: Codes, maps: list[Codes], asked: dict[str, Any]
) -> None:
    with pytest.raises(error):
        failing_counts(codes, counts, maps, **asked)


def test_squares_beyond_63_bits_are_refused() -> None:
    with pytest.raises(TooLargeError):
        discernibility(ONE, COUNT * 2**32, MAP)
