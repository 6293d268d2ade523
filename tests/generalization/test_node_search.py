"""Searches against a look at every node."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.generalization.class_counts import (
    GroupedCounts,
    all_large,
    class_sizes,
    possible_by_pairs,
    rolled_up,
    small_class_lines,
)
from privacy_plugin.generalization.node_search import Judged, ascending, decide, descend, least, minimal_nodes
from tests.oracles import lattice as oracle

quick = settings(deadline=None, max_examples=60, derandomize=True)
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def nodes_of(shape):
    return list(product(*(range(levels) for levels in shape)))


def below(a, b):
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


@st.composite
def masks(draw, *, inherited=False):
    shape = draw(SHAPES)
    nodes = nodes_of(shape)
    chosen = draw(st.sets(st.sampled_from(nodes)))
    if inherited:
        chosen = {node for node in nodes if any(seed == node or below(seed, node) for seed in chosen)}
    mask = np.zeros(shape, dtype=bool)
    for node in chosen:
        mask[node] = True
    return mask


@quick
@given(mask=masks() | masks(inherited=True))
def test_minimal_nodes_have_nothing_feasible_below_them(mask):
    feasible = [node for node in nodes_of(mask.shape) if mask[node]]
    expected = {node for node in feasible if not any(below(other, node) for other in feasible)}
    found = minimal_nodes(mask)
    assert set(found) == expected
    assert list(found) == sorted(expected, key=lambda node: (sum(node), node))


@quick
@given(mask=masks(), data=st.data())
def test_nodes_come_by_bound_then_sum_of_levels_then_levels(mask, data):
    bounds = np.array(data.draw(st.lists(st.integers(0, 3), min_size=mask.size, max_size=mask.size)), dtype=float)
    bounds = bounds.reshape(mask.shape)
    found = list(ascending(bounds, mask))
    expected = sorted((float(bounds[node]), sum(node), node) for node in nodes_of(mask.shape) if mask[node])
    assert found == expected


def test_many_nodes_are_sorted_a_part_at_a_time():
    generator = np.random.default_rng(3)
    bounds = generator.integers(0, 500, (20, 20, 20, 3)) / 7
    found = list(ascending(bounds, np.ones(bounds.shape, dtype=bool)))
    assert len(found) == bounds.size
    assert found == sorted(found)


@quick
@given(mask=masks(), data=st.data())
def test_the_least_loss_is_found_whatever_lies_between_bounds_and_losses(mask, data):
    nodes = nodes_of(mask.shape)
    steps = st.integers(0, 4)
    bounds = {node: data.draw(steps) / 4 for node in nodes}
    losses = {node: bounds[node] + data.draw(steps) / 4 for node in nodes}
    feasible = {node for node in nodes if data.draw(st.booleans())}
    array = np.array([bounds[node] for node in nodes]).reshape(mask.shape)

    def judge(node):
        return Judged(node=node, loss=losses[node], suppressed=0) if node in feasible else None

    expected = min(((losses[n], sum(n), n) for n in nodes if mask[n] and n in feasible), default=None)
    for refine in (None, losses.get):
        best, judged, certain = least(array, mask, judge, refine=refine)
        assert certain
        assert judged <= mask.sum()
        assert (best and best.key) == expected


def test_a_search_that_gives_up_says_so():
    bounds = np.arange(10.0)
    best, judged, certain = least(bounds, np.ones(10, dtype=bool), lambda node: None, most=4)
    assert (best, judged, certain) == (None, 4, False)
    best, judged, certain = least(
        bounds, np.ones(10, dtype=bool), lambda node: Judged(node=node, loss=8, suppressed=0), most=20
    )
    assert (best.node, judged, certain) == ((0,), 8, True)  # the ninth costs as much but has more levels: not judged
    decided, asked, certain = decide(np.ones((3, 3, 3), dtype=bool), lambda node: sum(node) >= 4, most=3)
    assert (certain, asked <= 6) == (False, True)
    assert (np.argwhere(decided).sum(axis=1) >= 4).all()


@quick
@given(feasible=masks(inherited=True), data=st.data())
def test_tagging_decides_every_node_and_asks_few(feasible, data):
    asked = []

    def passes(node):
        asked.append(node)
        return bool(feasible[node])

    extra = data.draw(st.sets(st.sampled_from(nodes_of(feasible.shape))))
    possible = feasible.copy()
    for node in extra:
        possible[node] = True
    decided, count, certain = decide(possible, passes)
    assert certain
    assert (decided == feasible).all()
    assert count == len(asked) == len(set(asked)) <= possible.sum()


def test_tagging_asks_a_small_part_of_a_large_lattice():
    shape = (5, 5, 5, 5, 5)
    feasible = sum(np.indices(shape)) >= 16
    asked = []
    decided, count, _ = decide(np.ones(shape, dtype=bool), lambda node: asked.append(node) or bool(feasible[node]))
    assert (decided == feasible).all()
    boundary = len(minimal_nodes(feasible)) + len(minimal_nodes(~feasible[::-1, ::-1, ::-1, ::-1, ::-1]))
    assert boundary <= count < feasible.size / 4  # every node of the boundary has to be asked


@quick
@given(feasible=masks(inherited=True))
def test_a_descent_ends_at_a_minimal_node(feasible):
    sums = sum(np.indices(feasible.shape))

    def judge(node):
        return Judged(node=node, loss=float(sums[node]), suppressed=0) if feasible[node] else None

    best, judged = descend(feasible.shape, judge)
    if not feasible.any():
        assert (best, judged) == (None, 1)
        return
    assert best.node in minimal_nodes(feasible)
    assert judged <= feasible.size


def test_a_descent_trades_levels_of_one_column_for_those_of_others():
    """Lowering the costliest column first ends at (0, 3, 3); its level 1 allows the others to be original."""
    losses = {(0, 3, 3): 0.7, (1, 0, 0): 0.5}

    def judge(node):
        if not (node[0] >= 1 or node[1:] == (3, 3)):
            return None
        return Judged(node=node, loss=losses.get(node, sum(node) / 3 + 10 * node[0]), suppressed=0)

    best, _ = descend((4, 4, 4), judge)
    assert best.node == (1, 0, 0)
    best, judged = descend((4, 4, 4), judge, most=1)
    assert best.node == (0, 3, 3)
    assert judged < 20


@st.composite
def tables(draw):
    maps = []
    for _ in range(draw(st.integers(1, 4))):
        leaves = draw(st.integers(1, 6))
        lines = [list(range(leaves))]
        for _ in range(draw(st.integers(0, 2))):
            merged = draw(st.lists(st.integers(0, 2), min_size=leaves, max_size=leaves))
            lines.append(np.unique([merged[group] for group in lines[-1]], return_inverse=True)[1].tolist())
        maps.append(np.array(lines, dtype=np.int32))
    rows = draw(st.integers(1, 20))
    codes = [[draw(st.integers(0, m.shape[1] - 1)) for m in maps] for _ in range(rows)]
    counts = draw(st.lists(st.integers(1, 4), min_size=rows, max_size=rows))
    return np.array(codes, dtype=np.int32), np.array(counts, dtype=np.int64), maps


def brute_classes(codes, counts, maps, node):
    return oracle.classes(codes.tolist(), [m.tolist() for m in maps], node)


@quick
@given(table=tables(), k=st.integers(1, 6))
def test_sizes_of_classes_and_who_is_in_the_small_ones(table, k):
    codes, counts, maps = table
    counted = GroupedCounts(codes, counts, maps, k=k)
    for node in nodes_of(counted.failing.shape):
        classes = brute_classes(codes, counts, maps, node)
        sizes = [sum(int(counts[line]) for line in members) for members in classes]
        assert sorted(class_sizes(codes, counts, maps, node).tolist()) == sorted(sizes)
        large = [size for size in sizes if size >= k]
        assert counted.failing[node] == sum(sizes) - sum(large)
        assert counted.classes()[node] == len(large)
        expected = sum(size**2 for size in large) + sum(sizes) * (sum(sizes) - sum(large))
        assert counted.discernibility()[node] == expected
        small = {line for members, size in zip(classes, sizes, strict=True) for line in members if size < k}
        assert set(np.flatnonzero(small_class_lines(codes, counts, maps, node, k=k))) == small


@quick
@given(table=tables(), k=st.integers(1, 6))
def test_pairs_of_columns_rule_out_no_node_that_passes(table, k):
    codes, counts, maps = table
    possible, visited = possible_by_pairs(codes, counts, maps, passes=all_large(k))
    passing = GroupedCounts(codes, counts, maps, k=k).failing == 0
    assert not (passing & ~possible).any()
    if len(maps) <= 2:
        assert (possible == passing).all()
        assert visited <= possible.size + (sum(possible.shape) if len(maps) == 2 else 0)


@quick
@given(table=tables(), data=st.data())
def test_what_lies_above_a_node_can_be_counted_from_it(table, data):
    codes, counts, maps = table
    base = tuple(data.draw(st.integers(0, len(m) - 1)) for m in maps)
    node = tuple(data.draw(st.integers(low, len(m) - 1)) for low, m in zip(base, maps, strict=True))
    fewer, sums, higher = rolled_up(codes, counts, maps, base)
    assert len(sums) == len({tuple(line) for line in fewer.tolist()}) <= len(counts)
    found = class_sizes(fewer, sums, higher, node)
    assert sorted(found.tolist()) == sorted(class_sizes(codes, counts, maps, node).tolist())


def test_classes_are_counted_where_their_numbers_need_more_than_64_bits():
    generator = np.random.default_rng(4)
    codes = generator.integers(0, 200, (300, 12)).astype(np.int32)
    codes[150:] = codes[:150]
    maps = [np.arange(200, dtype=np.int32)[None, :]] * 12
    assert class_sizes(codes, np.ones(300, dtype=np.int64), maps, (0,) * 12).tolist() == [2] * 150


@pytest.mark.parametrize("levels", [1, 3])
def test_a_lattice_of_one_column_has_one_chain(levels):
    decided, asked, _ = decide(np.ones(levels, dtype=bool), lambda node: node[0] >= 1)
    assert decided.tolist() == [level >= 1 for level in range(levels)]
    assert asked <= 2
