"""The frequency table: equal content, equal arrays."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError
from privacy_plugin.frequency import FrequencyTable, merge
from privacy_plugin.frequency.grouping import group, pack, sum_by, tally
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.frequency.values import label
from tests.oracles.frequencies import count_rows, meaning

NAMES = ["a", "b", "c"]
cells = st.sampled_from([None, float("nan"), True, False, 0, 1, 1.0, 0.5, "", "1", "x", b"x"])
row_lists = st.lists(st.tuples(cells, cells, cells), max_size=25)


# Of the cells above, those that an engine or a reader takes for one another.
ALIKE = [("true", "1"), ("false", "0"), ("x", "78")]


def looks_alike(values: Sequence[Any]) -> bool:
    texts = [label(value) for value in values if value is not None]
    return len(set(texts)) < len(texts) or any(one in texts and other in texts for one, other in ALIKE)


def counted(table: FrequencyTable) -> Counter[Any]:
    return Counter({tuple(map(meaning, table.values(row))): int(table.counts[row]) for row in range(table.distinct)})


def same(one: FrequencyTable, other: FrequencyTable) -> bool:
    return (
        one.columns == other.columns
        and one.unit == other.unit
        and [list(map(meaning, d)) for d in one.dictionaries] == [list(map(meaning, d)) for d in other.dictionaries]
        and np.array_equal(one.codes, other.codes)
        and np.array_equal(one.counts, other.counts)
    )


def well_formed(table: FrequencyTable) -> None:
    rows = [tuple(row) for row in table.codes.tolist()]
    assert rows == sorted(set(rows))
    assert (table.counts > 0).all()
    for position, dictionary in enumerate(table.dictionaries):
        assert set(table.codes[:, position].tolist()) == set(range(len(dictionary)))
        assert len({meaning(value) for value in dictionary}) == len(dictionary)
    assert table.codes.dtype == np.int32
    assert table.counts.dtype == np.int64


@settings(deadline=None, derandomize=True, max_examples=150)
@given(rows=row_lists, order=st.randoms(use_true_random=False))
def test_equal_content_is_equal_array_by_array(rows: list[Any], order: Any) -> None:
    table = FrequencyTable.from_rows(NAMES, rows)
    well_formed(table)
    assert counted(table) == count_rows(rows)
    assert table.rows == len(rows)
    shuffled = list(rows)
    order.shuffle(shuffled)
    assert same(FrequencyTable.from_rows(NAMES, shuffled), table)
    weighted = [(table.values(i), int(table.counts[i])) for i in range(table.distinct)]
    again = FrequencyTable.from_rows(NAMES, [row for row, _ in weighted], [count for _, count in weighted])
    assert same(again, table)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(parts=st.lists(row_lists, min_size=1, max_size=4))
def test_merging_is_adding_rows(parts: list[list[Any]]) -> None:
    whole = [row for part in parts for row in part]
    merged = merge([FrequencyTable.from_rows(NAMES, part) for part in parts])
    well_formed(merged)
    assert same(merged, FrequencyTable.from_rows(NAMES, whole))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(rows=row_lists, chosen=st.permutations(range(3)), width=st.integers(1, 3))
def test_projection(rows: list[Any], chosen: list[int], width: int) -> None:
    kept = chosen[:width]
    projected = FrequencyTable.from_rows(NAMES, rows).project([NAMES[i] for i in kept])
    well_formed(projected)
    assert same(projected, FrequencyTable.from_rows([NAMES[i] for i in kept], [[row[i] for i in kept] for row in rows]))


def test_projection_to_itself_is_itself() -> None:
    table = FrequencyTable.from_rows(NAMES, [(1, 2, 3)])
    assert table.project(NAMES) is table


@settings(deadline=None, derandomize=True, max_examples=100)
@given(rows=row_lists)
def test_roll_up(rows: list[Any]) -> None:
    """Numbers become "number", all else stays."""
    table = FrequencyTable.from_rows(NAMES, rows)
    old = table.dictionary("a")
    values = ("number", *old)
    mapping = np.array([0 if meaning(v)[0] == "number" else i + 1 for i, v in enumerate(old)], dtype=np.int64)
    recoded = table.recode({"a": (mapping, values)})
    well_formed(recoded)
    expected = [("number" if meaning(row[0])[0] == "number" else row[0], *row[1:]) for row in rows]
    assert same(recoded, FrequencyTable.from_rows(NAMES, expected))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(rows=row_lists.filter(bool))
def test_classes_and_histograms(rows: list[Any]) -> None:
    table = FrequencyTable.from_rows(NAMES, rows)
    if any(looks_alike(table.dictionary(name)) for name in ("a", "b")):
        with pytest.raises(ColumnError, match="look like another"):
            table.classes(["a", "b"])
        return
    classes = table.classes(["a", "b"])
    expected = Counter(count_rows([row[:2] for row in rows]))
    assert sorted(classes.sizes.tolist()) == sorted(expected.values())
    for row in range(table.distinct):
        example = table.values(int(classes.example_rows[classes.members[row]]))
        assert list(map(meaning, example[:2])) == list(map(meaning, table.values(row)[:2]))
        assert classes.sizes[classes.members[row]] == expected[tuple(map(meaning, example[:2]))]
    if looks_alike(table.dictionary("c")):
        with pytest.raises(ColumnError, match="look like another"):
            table.histograms(["a", "b"], "c")
        return
    histograms = table.histograms(["a", "b"], "c")
    found: Counter[Any] = Counter()
    projected = table.project(["a", "b", "c"])
    for number in range(len(histograms.classes)):
        example = projected.values(int(histograms.classes.example_rows[number]))[:2]
        for entry in range(int(histograms.offsets[number]), int(histograms.offsets[number + 1])):
            value = histograms.dictionary[int(histograms.values[entry])]
            found[(*map(meaning, example), meaning(value))] += int(histograms.counts[entry])
    assert found == count_rows(rows)
    assert histograms.totals.sum() == len(rows)
    assert histograms.entry_classes.tolist() == sorted(histograms.entry_classes.tolist())


def test_unused_and_repeated_values_of_a_dictionary() -> None:
    """Engines return dictionaries with two forms of missing values and unused values."""
    codes = np.array([0, 1, 2, 4])
    table = FrequencyTable.from_columns(
        ["a"], [codes], [[None, float("nan"), "x", "gone", "x"]], np.array([1, 2, 4, 8])
    )
    assert table.dictionaries == ((None, "x"),)
    assert table.counts.tolist() == [3, 12]


def test_counts_of_units_are_never_added() -> None:
    codes = np.array([0, 1])
    with pytest.raises(ParameterError, match="distinct 'person' cannot be added"):
        FrequencyTable.from_columns(["a"], [codes], [[None, float("nan")]], np.array([1, 1]), unit="person")
    table = FrequencyTable.from_columns(
        ["a", "b"], [codes, codes], [["x", "x"], [1, 2]], np.array([1, 1]), unit="person"
    )
    assert table.classes(["a", "b"]).sizes.tolist() == [1, 1]
    for refused in (
        lambda: table.project(["a"]),
        lambda: table.classes(["a"]),
        lambda: table.recode({}),
        lambda: table.histograms(["a"], "b"),
        lambda: merge([table, table]),
    ):
        with pytest.raises(ParameterError):
            refused()


def test_merging_asks_for_the_same_columns() -> None:
    one, other = FrequencyTable.from_rows(["a"], [(1,)]), FrequencyTable.from_rows(["b"], [(1,)])
    with pytest.raises(ParameterError, match="same columns"):
        merge([one, other])


def test_nothing_is_not_private() -> None:
    empty = FrequencyTable.from_rows(NAMES, [])
    assert (empty.rows, empty.distinct, empty.cardinalities) == (0, 0, (0, 0, 0))
    with pytest.raises(EmptyTableError):
        empty.require_rows()
    with pytest.raises(EmptyTableError):
        empty.classes(["a"])
    assert empty.project(["b"]).rows == 0
    assert merge([empty, FrequencyTable.from_rows(NAMES, [(1, 2, 3)])]).rows == 1


def test_names_are_checked() -> None:
    table = FrequencyTable.from_rows(NAMES, [(1, 2, 3)])
    for ask in (table.column_codes, table.dictionary, lambda name: table.project([name])):
        with pytest.raises(ColumnError, match="unknown column"):
            ask("z")
    with pytest.raises(ColumnError, match="both a quasi-identifier and the sensitive"):
        table.histograms(["a", "b"], "b")
    assert table.column_codes("b").tolist() == [0]
    assert table.dictionary("b") == (2,)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=30),
    sizes=st.tuples(*[st.sampled_from([7, 2**20, 2**31])] * 4),
)
def test_different_rows_pack_to_different_numbers(rows: list[Any], sizes: tuple[int, ...]) -> None:
    """Also when the product of the cardinalities exceeds 62 bits."""
    matrix = np.array(rows, dtype=np.int64)
    packed, size = pack(list(matrix.T), sizes)
    assert (packed >= 0).all()
    assert (packed < size).all()
    assert [packed[i] == packed[0] for i in range(len(rows))] == [row == rows[0] for row in rows]
    members, first = group(packed, size)
    assert len(first) == len(set(rows))
    assert all(rows[first[members[i]]] == rows[i] for i in range(len(rows)))
    assert sum_by(members, np.ones(len(rows), dtype=np.int64), len(first)).sum() == len(rows)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 2**55)), max_size=12), st.sampled_from([41, 2**40]))
def test_equal_rows_are_added_up_in_ascending_order(rows: list[tuple[int, int]], size: int) -> None:
    packed = np.array([number for number, _ in rows], dtype=np.int64)
    counts = np.array([count for _, count in rows], dtype=np.int64)
    expected: Counter[int] = Counter()
    for number, count in rows:
        expected[number] += count
    first, totals = tally(packed, size, counts)
    assert list(zip(packed[first].tolist(), totals.tolist(), strict=True)) == sorted(expected.items())
    first, totals = tally(packed, size)
    assert list(zip(packed[first].tolist(), totals.tolist(), strict=True)) == sorted(Counter(packed.tolist()).items())


def test_sums_are_exact() -> None:
    """Through floating point, 2**53 + 1 would become 2**53."""
    assert sum_by(np.array([0, 0]), np.array([2**53, 1]), 1).tolist() == [2**53 + 1]


@pytest.mark.parametrize(
    "counts", [[2**61, 2**61], [2**62, 2**62, 2**62, 2**62, 1], np.array([2**63 + 1], dtype=np.uint64)]
)
def test_counts_that_would_wrap_around_are_refused(counts: Any) -> None:
    """Four times 2**62 people and one would pass for one person."""
    rows = [(str(row),) for row in range(len(counts))]
    with pytest.raises(ParameterError, match="add up to"):
        FrequencyTable.from_rows(["a"], rows, counts=counts)
    assert FrequencyTable.from_rows(["a"], [("x",), ("y",)], counts=[2**61, 2**61 - 2**10]).rows == 2**62 - 2**10


def test_the_repr_of_a_table_shows_no_value():
    table = FrequencyTable.from_rows(["age", "disease"], [(30, "seldom seen"), (41, "flu")])
    histograms = table.histograms(["age"], "disease")
    levels = TableHierarchy({"seldom seen": ["*"], "flu": ["*"]}).levels(table.dictionary("disease"))
    for printed in map(repr, (table, histograms, levels)):
        assert "seldom" not in printed
    assert "disease" in repr(table)
