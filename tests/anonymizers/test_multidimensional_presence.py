"""MPALM: every region delta-present, nothing left to split, costs by hand, applied to frames of several kinds."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.multidimensional_presence import presence_regions
from privacy_plugin.errors import EmptyTableError, HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from tests.metrics.populations import COLUMNS, HIERARCHIES, PATHS, at_levels, drawn, table_of
from tests.oracles import population as oracle

shares = st.fractions(0, 1, max_denominator=8)
FULL: list[dict[Any, tuple[Any, ...]]] = [{v: (v, *path) for v, path in paths.items()} for paths in PATHS]


def as_text(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(None if v is None else str(v) for v in row) for row in rows]


def text_paths() -> list[dict[Any, tuple[Any, ...]]]:
    return [{None if v is None else str(v): path for v, path in paths.items()} for paths in PATHS]


def published(regions: Any) -> list[tuple[Any, ...]]:
    table = regions.frequencies
    return [table.values(row) for row in range(table.distinct) for _ in range(int(table.counts[row]))]


def split_everywhere(
    rows: list[tuple[Any, ...]], people: list[tuple[Any, ...]], low: Fraction, high: Fraction, node: tuple[int, int]
) -> set[tuple[int, ...]]:
    """Every node that a region may be split to along one column, by trying."""
    found = set()
    for column in (0, 1):
        if node[column] == 0:
            continue
        below = tuple(level - (i == column) for i, level in enumerate(node))
        parts = Counter(FULL[column][person[column]][below[column]] for person in people)
        inside = Counter(FULL[column][row[column]][below[column]] for row in rows)
        if all(low <= Fraction(inside[part], count) <= high for part, count in parts.items()):
            found.add(below)
    return found


@settings(deadline=None, derandomize=True, max_examples=100)
@given(both=drawn(), delta=st.tuples(shares, shares).map(sorted))
def test_every_region_is_delta_present_and_none_can_be_split(both: Any, delta: list[Fraction]) -> None:
    table, population = both
    low, high = delta
    feasible = low <= Fraction(len(table), len(population)) <= high
    if not feasible:
        with pytest.raises(InfeasibleError, match=f"{len(table)} of {len(population)} people"):
            presence_regions(table_of(table), population=table_of(population), hierarchies=HIERARCHIES, delta=delta)
        return
    found = presence_regions(table_of(table), population=table_of(population), hierarchies=HIERARCHIES, delta=delta)
    shares = oracle.presence(published(found), as_text(population), text_paths())
    assert low <= min(shares) <= max(shares) <= high
    assert (found.presence.minimum, found.presence.maximum) == (min(shares), max(shares))
    everybody = found.population
    levels = {everybody.values(row): tuple(found.region_levels[row].tolist()) for row in range(everybody.distinct)}
    for person, node in levels.items():
        group = tuple(FULL[i][person[i]][node[i]] for i in (0, 1))

        def same(other: Any, node: Any = node, group: Any = group) -> bool:
            return levels[other] == node and tuple(FULL[i][other[i]][node[i]] for i in (0, 1)) == group

        rows, people = [r for r in table if same(r)], [p for p in population if same(p)]
        assert not rows or not split_everywhere(rows, people, low, high, node)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(both=drawn(), delta=st.tuples(shares, shares).map(sorted))
def test_costs_by_hand(both: Any, delta: list[Fraction]) -> None:
    table, population = both
    assume(delta[0] <= Fraction(len(table), len(population)) <= delta[1])
    found = presence_regions(table_of(table), population=table_of(population), hierarchies=HIERARCHIES, delta=delta)
    rows = published(found)
    leaves = [{p[i] for p in population} for i in (0, 1)]
    total = Fraction(0)
    for row in rows:
        for i, value in enumerate(row):
            covered = sum(value in (None if v is None else str(v), *PATHS[i][v]) for v in leaves[i])
            total += Fraction(covered - 1, max(len(leaves[i]) - 1, 1))
    assert found.exact_loss == total / (2 * len(rows))
    assert found.discernibility == sum(count**2 for count in Counter(rows).values())
    assert found.classes == len(set(rows))


@settings(deadline=None, derandomize=True, max_examples=40)
@given(both=drawn(), high=shares)
def test_a_delta_present_table_stays_unchanged(both: Any, high: Fraction) -> None:
    """Where the original table is delta-present, nothing is generalized at all."""
    table, population = both
    assume(max(oracle.presence(table, population)) <= high)
    found = presence_regions(table_of(table), population=table_of(population), hierarchies=HIERARCHIES, delta=(0, high))
    assert found.loss_metric == 0
    assert sorted(published(found), key=str) == sorted(as_text(table), key=str)


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    register = pd.DataFrame(
        [(30, "Bern")] * 6 + [(30, "Genf")] * 2 + [(41, "Chur"), (55, "Chur"), (55, "Bern")] * 2,
        columns=COLUMNS,
    ).assign(who=range(14))
    return register.iloc[[0, 7, 8, 9]], register


def test_regions_have_levels_of_their_own_and_beat_one_level_for_all() -> None:
    visits, register = frames()
    plan = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, 0.5))
    released = plan.apply(visits)
    assert released["city"].tolist() == ["Bern", "Genf", "Chur", "Chur"]
    assert released["age"].tolist() == ["30", "30", "41", "55"]
    tight = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, "2/5"))
    released = tight.apply(visits)
    found = pp.delta_presence(released, population=register, quasi_identifiers=COLUMNS, hierarchies=HIERARCHIES)
    assert (found.minimum, found.maximum) == (tight.minimum, tight.maximum)
    assert found.maximum <= Fraction(2, 5)
    assert len(set(released["age"]) & {"30", "young", "41", "55", "old", "*"}) > 1  # not one level for all
    people = list(register[COLUMNS].itertuples(index=False, name=None))
    rows = list(visits[COLUMNS].itertuples(index=False, name=None))
    passing = [
        levels
        for levels in ((a, c) for a in range(3) for c in range(3))
        if max(oracle.presence(at_levels(rows, levels), at_levels(people, levels))) <= Fraction(2, 5)
    ]
    losses = [loss_of(rows, people, levels) for levels in passing]
    assert tight.loss_metric < min(losses)


def loss_of(rows: Any, people: Any, levels: tuple[int, int]) -> float:
    total = 0.0
    for i in (0, 1):
        leaves = {person[i] for person in people}
        for row in rows:
            same = [v for v in leaves if FULL[i][v][levels[i]] == FULL[i][row[i]][levels[i]]]
            total += (len(same) - 1) / (len(leaves) - 1)
    return total / (2 * len(rows))


def test_every_frame_kind_and_row_order_gives_the_same_result() -> None:
    visits, register = frames()
    plan = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, "2/5"))
    expected = plan.apply(visits)
    assert expected.index.tolist() == visits.index.tolist()
    assert expected["who"].tolist() == visits["who"].tolist()
    assert plan.apply(pl.from_pandas(visits)).to_dicts() == expected.to_dict("records")
    assert plan.apply(pl.from_pandas(visits).lazy()).collect().to_dicts() == expected.to_dict("records")
    assert plan.apply(pa.Table.from_pandas(visits, preserve_index=False)).to_pylist() == expected.to_dict("records")
    shuffled = pp.multidimensional_presence(
        visits.sample(frac=1, random_state=1),
        population=register.sample(frac=1, random_state=2),
        hierarchies=HIERARCHIES,
        delta=(0, "2/5"),
    )
    pd.testing.assert_frame_equal(shuffled.apply(visits), expected)
    assert shuffled.to_dict() == plan.to_dict()
    assert plan.apply(visits, keep=["who", "age"]).columns.tolist() == ["who", "age"]


def test_regions_refuse_a_table_they_cannot_recode() -> None:
    visits, register = frames()
    plan = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, 0.5))
    strangers = pd.DataFrame({"age": [41, 97131], "city": ["Bern", "Bern"]})
    with pytest.raises(ParameterError, match="2 of the table's 2 combinations of values do not occur") as raised:
        plan.apply(strangers)
    assert "97131" not in str(raised.value)
    with pytest.raises(EmptyTableError):
        plan.apply(visits.iloc[:0])


def test_regions_of_one_table_are_measured_again_for_another() -> None:
    visits, register = frames()
    plan = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, 0.5))
    assert len(plan.apply(visits.iloc[:2])) == 2
    with pytest.raises(InfeasibleError, match=r"presence would be 0 to 1, and delta is 0 to 0\.5"):
        plan.apply(register.iloc[:6])
    whole = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0.1, 0.5))
    with pytest.raises(InfeasibleError, match="presence would be 0 to"):  # some region has no row of this table
        whole.apply(visits.iloc[:1])


def test_errors_before_anything_is_split() -> None:
    visits, register = frames()
    for wrong in ((0.5, 0.1), 0.5, (0, 2)):
        with pytest.raises(ParameterError, match="delta"):
            pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=wrong)
    with pytest.raises(ParameterError, match="hierarchies"):
        pp.multidimensional_presence(visits, population=register, hierarchies={}, delta=(0, 1))
    with pytest.raises(ParameterError, match="must be in the population"):
        pp.multidimensional_presence(register, population=visits, hierarchies=HIERARCHIES, delta=(0, 1))
    with pytest.raises(HierarchyError, match="does not cover"):
        pp.multidimensional_presence(
            visits, population=register, hierarchies={"age": TableHierarchy({30: ("*",)})}, delta=(0, 1)
        )


def test_a_label_of_two_groups_is_refused() -> None:
    """Level 1 calls two values `x`, level 2 three of them: `x` does not identify the region."""
    twice = TableHierarchy({"a": ("x", "x", "*"), "c": ("x", "x", "*"), "b": ("y", "x", "*")})
    once = TableHierarchy({"a": ("u", "x", "*"), "c": ("u", "x", "*"), "b": ("y", "x", "*")})
    register = pd.DataFrame({"v": ["a"] * 4 + ["c"] + ["b"] * 4})
    visits = pd.DataFrame({"v": ["c", "b"]})
    plan = pp.multidimensional_presence(visits, population=register, hierarchies={"v": once}, delta=(0, 0.5))
    assert plan.apply(visits)["v"].tolist() == ["u", "b"]
    with pytest.raises(HierarchyError, match="one label for different groups"):
        pp.multidimensional_presence(visits, population=register, hierarchies={"v": twice}, delta=(0, 0.5))
