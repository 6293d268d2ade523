"""The code tree as printed, Krimp on what was released, and that Krimp makes no difference to that tree."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.coded_rows import CodedRows, RowItems
from privacy_plugin.anonymizers.randomized_response import randomize_cells
from privacy_plugin.anonymizers.synthesis.literal_tree import LiteralTree, expected_nodes, largest_tree, literal_tree
from privacy_plugin.anonymizers.synthesis.reached_rows import ExactRows, RandomizedRows
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.metrics.itemsets.itemsets import closed_itemsets, frequent_itemsets
from privacy_plugin.metrics.itemsets.krimp import krimp
from tests.anonymizers.dependent_rows import NAMES, dependent_rows

ROWS = dependent_rows(300)


def coded(rows=ROWS) -> CodedRows:
    return CodedRows.of(FrequencyTable.from_rows(NAMES, rows), given=None, domains=None)


def paths(tree: LiteralTree) -> set[frozenset[tuple[int, int]]]:
    """Every path, from the root to a node."""
    way = {0: frozenset()}
    for column, place in enumerate(tree.places):
        for node in np.flatnonzero(place >= 0).tolist():
            for value, child in enumerate(tree.children[column][place[node]].tolist()):
                if child:
                    way[child] = way[node] | {(column, value)}
    return set(way.values()) - {frozenset()}


def test_paths_are_the_frequent_itemsets_and_krimp_makes_no_difference() -> None:
    """Unions of itemsets of the code table, single items among them, that more than a tenth of the rows hold."""
    rows = coded()
    items = RowItems(rows=rows)
    table = krimp(**items.transactions, candidates=closed_itemsets(**items.transactions, support=5))
    assert len(table.sets) > 3
    singles = [(item,) for item in range(sum(rows.sizes))]
    support = Counter(row for row in ROWS)

    def held(chosen: frozenset[tuple[int, int]]) -> int:
        return sum(n for row, n in support.items() if all(row[column] == value for column, value in chosen))

    unions = {frozenset()}
    for itemset in [*table.sets, *singles]:
        grown = {union | frozenset(items.places(itemset)) for union in unions}
        unions |= {union for union in grown if held(union) > 30}
    frequent = frequent_itemsets(**items.transactions, support=31)
    listed = {frozenset(items.places(itemset)) for itemset in frequent.sets()}
    assert unions - {frozenset()} == listed
    found = paths(literal_tree(ExactRows(coded=rows)))
    assert found == listed | {frozenset(items.places(single)) for single in singles}


def test_rows_are_drawn_as_described() -> None:
    """Where all rows are alike there is one row to draw. Two columns: half by the root, half by the first's node."""
    tree = literal_tree(ExactRows(coded=coded([(0, 1, 2, 1)] * 20)))
    assert tree.nodes == 15  # every non-empty set of four items
    assert set(map(tuple, tree.sample(50, np.random.default_rng(1))[1].tolist())) == {(0, 0, 0, 0)}
    pairs = Counter((row[0], row[3]) for row in ROWS)
    rows = CodedRows.of(FrequencyTable.from_rows(["a", "d"], list(pairs.elements())), given=None, domains=None)
    drawn = literal_tree(ExactRows(coded=rows), threshold=0.15).sample(20_000, np.random.default_rng(2))[1]
    found = Counter(map(tuple, drawn.tolist()))
    first, second = Counter(row[0] for row in ROWS), Counter(row[3] for row in ROWS)
    frequent = {pair: count for pair, count in pairs.items() if count > 45}
    assert 0 < len(frequent) < 6
    for a in first:
        own = sum(frequent.get((a, d), 0) for d in second)
        for d in second:
            by_root = second[d] / 300
            by_node = frequent.get((a, d), 0) / own if own else by_root
            wanted = first[a] / 300 * (by_root + by_node) / 2
            assert abs(found[a, d] / 20_000 - wanted) < 6 * (wanted * (1 - wanted) / 20_000) ** 0.5


def test_from_randomized_cells_with_the_cells_account() -> None:
    data = pd.DataFrame(ROWS * 10, columns=NAMES)
    made = pp.synthesize(data, columns=NAMES, epsilon=4, unit="cell", model="literal tree")
    assert (made.model, made.ledger.unit, len(made.table)) == ("literal tree", "cell", 3000)
    assert made.ledger.epsilon_row == pytest.approx(16, rel=1e-3)
    with pytest.raises(ParameterError, match="randomized cells"):
        pp.synthesize(data, columns=NAMES, epsilon=4, model="literal tree")


def test_a_tree_that_is_too_large_raises_with_advice() -> None:
    for low in ({"most": 20}, {"most_looks": 200}):
        with pytest.raises(TooLargeError, match="fewer columns"):
            literal_tree(ExactRows(coded=coded()), **low)


@pytest.mark.parametrize("low", [{"most": 22}, {"most_looks": 400}])
def test_of_too_large_a_tree_the_longest_itemsets_are_left_out(low: dict[str, int]) -> None:
    """The tree that is left is that of all itemsets up to a length, and with the next length it would be too large."""
    source = ExactRows(coded=coded())
    whole, found = literal_tree(source), largest_tree(source, **low)
    assert found.longest in (1, 2, 3)
    assert paths(found) == {path for path in paths(whole) if len(path) <= found.longest}
    with pytest.raises(TooLargeError):
        literal_tree(source, longest=found.longest + 1, **low)
    assert largest_tree(source, most=whole.nodes + 1).longest is None
    assert largest_tree(source, most=1, most_looks=1).nodes == sum(source.coded.sizes)  # single items are always there


def test_a_tree_that_rows_make_too_large_still_returns_a_table() -> None:
    """Forty columns of one value: all their sets are frequent, which the schema does not show."""
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="people", unit="row", epsilon=1000)
    names = [f"c{number}" for number in range(40)]
    domains = {name: list(range(11)) for name in names}
    data = pd.DataFrame({name: [3] * 50 for name in names})
    asked = {"columns": names, "unit": "cell", "domains": domains, "ledger": ledger, "dataset": "people"}
    made = pp.synthesize(data, epsilon=12, model="literal tree", **asked)
    assert len(made.table) == 50
    assert made.to_dict()["notes"] == list(made.notes)
    assert "more than 3 values are left out of the tree" in made.notes[0]
    assert [spend.status for spend in ledger.entries()] == ["committed"]


@pytest.mark.parametrize("epsilon", [0.3, 0.6, 1, 3])
def test_the_expected_size_of_a_noisy_tree_is_close(epsilon: float) -> None:
    """Twelve seeded tables of independent values: their mean number of nodes is about what was expected."""
    sizes, rows, generator = [2, 3, 4, 3], 400, np.random.default_rng(5)
    names = list("abcd")
    domains = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)}
    found = []
    for _ in range(12):
        columns = [generator.integers(0, size, rows).tolist() for size in sizes]
        table = FrequencyTable.from_rows(names, list(zip(*columns, strict=True)))
        cells = randomize_cells(table, epsilon=epsilon, domains=domains, generator=generator)
        randomized = CodedRows.of(cells.frequencies, given=None, domains=cells.domains)
        channels = tuple(cells.rounded_channel(name) for name in names)
        found.append(literal_tree(RandomizedRows(coded=randomized, channels=channels)).nodes)
    expected = expected_nodes(channels, sizes, rows=rows, most=math.inf)
    assert 0.9 * expected <= np.mean(found) <= 1.2 * expected


def test_too_much_noise_is_refused_before_budget_is_reserved() -> None:
    """By the schema and epsilon alone: two tables of the same schema and as many rows are refused alike."""
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="people", unit="row", epsilon=1000)
    names = [f"c{number}" for number in range(12)]
    domains = {name: list("pqrs") for name in names}
    asked = {"columns": names, "unit": "cell", "domains": domains, "ledger": ledger, "dataset": "people"}
    for value in "pq":
        data = pd.DataFrame({name: [value] * 50 for name in names})
        with pytest.raises(TooLargeError, match="by noise alone"):
            pp.synthesize(data, epsilon=0.1, model="literal tree", **asked)
        for epsilon in (41, 1e-15):
            with pytest.raises(ParameterError, match="epsilon of a cell"):
                pp.synthesize(data, epsilon=epsilon, **asked)
    assert ledger.spent(dataset="people", unit="row").epsilon == 0
    pp.synthesize(data, epsilon=0.1, **asked)
    assert float(ledger.spent(dataset="people", unit="row").epsilon) == pytest.approx(1.2)


def test_a_sanitized_code_table_is_that_of_the_released_rows() -> None:
    """Every itemset is used in the released rows as often as a greedy cover of them uses it, under their account."""
    data = pd.DataFrame(ROWS * 10, columns=NAMES)
    made = pp.synthesize(data, columns=NAMES, epsilon=3, generator=np.random.default_rng(1))
    found = pp.sanitized_krimp(made, support="1/50")
    assert found.ledger is made.ledger
    assert 0 < found.ratio < 1
    left = [dict(row) for row in made.table.to_dict("records")]
    for itemset, usage in zip(found.itemsets, found.usage, strict=True):
        holders = [row for row in left if itemset.items() <= row.items()]
        assert len(holders) == usage
        for row in holders:
            for name in itemset:
                del row[name]
    assert all(len(itemset) > 1 for itemset in found.itemsets)
    with pytest.raises(ParameterError):
        pp.sanitized_krimp(made, support=0)
    with pytest.raises(ParameterError, match="not DataFrame"):
        pp.sanitized_krimp(data)  # exact rows have no account


@pytest.mark.parametrize("values", [["a"] * 5, ["a", None]])
def test_one_item_alone_takes_no_bits_and_is_not_compressed(values) -> None:
    cells = pp.randomized_response(pd.DataFrame({"x": values}), columns=["x"], epsilon=40)
    assert pp.sanitized_krimp(cells).ratio == 1
    empty = pp.randomized_response(pd.DataFrame({"x": [None] * 3}), columns=["x"], epsilon=40)
    with pytest.raises(ParameterError, match="every value is missing"):
        pp.sanitized_krimp(empty)


def test_missing_values_are_not_items() -> None:
    rows = CodedRows.of(
        FrequencyTable.from_rows(["x", "y"], [("a", None), (None, "b"), ("c", "b")]), given=None, domains=None
    )
    items = RowItems(rows=rows)
    found = items.transactions
    listed = [
        items.named(items.places(found["items"][a:b]))
        for a, b in zip(found["offsets"][:-1], found["offsets"][1:], strict=True)
    ]
    wanted = [{"x": "a"}, {"y": "b"}, {"x": "c", "y": "b"}]
    assert sorted(map(str, listed)) == sorted(map(str, wanted))
    assert all(None not in values for values in items.values)
