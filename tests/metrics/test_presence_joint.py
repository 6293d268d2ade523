"""Confidence of delta-presence from joint distributions, and of classes whose labels have different levels."""

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.metrics.presence.presence_confidence import presence_confidence
from tests.oracles import population as oracle

GROUPS = {1: "low", 2: "low", 3: "high"}
HIERARCHY = TableHierarchy({value: (group, "*") for value, group in GROUPS.items()})
shares = st.fractions(0, 1, max_denominator=6)
deltas = st.tuples(shares, shares).map(sorted)
REGISTER = pd.DataFrame(
    {"age": [30, 30, 30, 41, 41, 41], "sex": list("FFMMMM"), "city": ["zq1", "zq2", "zq1", "zq1", "zq2", "zq2"]}
)
VISITS = REGISTER.iloc[[0, 3]]
QI = ["age", "sex", "city"]


def shows(column: int, value: Any, label: Any) -> bool:
    return label in (value, GROUPS[value], "*")


def joint_of(population: list[Any], block: tuple[int, ...]) -> dict[str, Any]:
    counts = Counter(tuple(row[c] for c in block) for row in population)
    return {"columns": [f"c{c}" for c in block], "counts": [[*values, count] for values, count in counts.items()]}


def named(population: list[Any], columns: list[int]) -> dict[str, dict[Any, int]]:
    return {f"c{c}": dict(Counter(row[c] for row in population)) for c in columns}


def measured(published: list[Any], population: list[Any], blocks: list[tuple[int, ...]], delta: Any) -> Any:
    columns = [f"c{c}" for c in range(len(published[0]))]
    return presence_confidence(
        FrequencyTable.from_rows(columns, published),
        quasi_identifiers=columns,
        marginals=named(population, [block[0] for block in blocks if len(block) == 1]),
        joint=[joint_of(population, block) for block in blocks if len(block) > 1],
        population_size=len(population),
        delta=delta,
        hierarchies=dict.fromkeys(columns, HIERARCHY),
    )


people = st.tuples(*[st.sampled_from(list(GROUPS))] * 3)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    table=st.lists(people, min_size=1, max_size=3),
    others=st.lists(people, max_size=4),
    blocks=st.sampled_from([[(0, 1), (2,)], [(0,), (1, 2)], [(0, 2), (1,)], [(0, 1, 2)]]),
    levels=st.tuples(*[st.integers(0, 2)] * 3),
    delta=deltas,
)
def test_every_world_with_a_joint_distribution(
    table: Any, others: Any, blocks: Any, levels: tuple[int, ...], delta: Any
) -> None:
    published = [tuple((v, GROUPS[v], "*")[level] for v, level in zip(row, levels, strict=True)) for row in table]
    found = measured(published, [*table, *others], blocks, delta)
    exact = oracle.confidence_with_joint(table, [*table, *others], blocks, *delta, published, shows)
    assert (found.value, found.error) == (exact, 0)


def test_a_joint_distribution_of_all_columns_is_the_population() -> None:
    """With nothing left to chance the confidence is 1 or 0, as delta-presence says."""
    known = pp.frequency_table(REGISTER, QI)
    for delta in ((0, 0.4), (0, 1), (0.2, 0.5)):
        found = pp.presence_confidence(
            VISITS, quasi_identifiers=QI, marginals={}, joint=[known], population_size=6, delta=delta
        )
        rows = [VISITS.merge(REGISTER.iloc[[n]], on=QI).shape[0] for n in range(6)]
        shares = {Fraction(rows[n], REGISTER.merge(REGISTER.iloc[[n]], on=QI).shape[0]) for n in (0, 3)}
        assert found.value == int(all(Fraction(str(delta[0])) <= s <= Fraction(str(delta[1])) for s in shares))


def test_columns_that_the_table_lacks_are_summed_over() -> None:
    wide, narrow = pp.frequency_table(REGISTER, QI), pp.frequency_table(REGISTER, ["age", "sex"])
    given: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "population_size": 6, "delta": (0, 0.4)}
    both = [pp.presence_confidence(VISITS, marginals={}, joint=[one], **given) for one in (wide, narrow)]
    assert both[0].value == both[1].value
    assert both[0].details == both[1].details


def regions(draw: st.DrawFn, table: list[Any]) -> list[Any]:
    """Publish a table by regions: split at random, one column and level at a time, top-down."""
    published: dict[int, tuple[Any, ...]] = {}
    waiting = [(list(range(len(table))), (2, 2, 2))]
    while waiting:
        rows, node = waiting.pop()
        open_ = [c for c, level in enumerate(node) if level]
        if not open_ or not draw(st.integers(0, 3)):
            for row in rows:
                published[row] = tuple((v, GROUPS[v], "*")[n] for v, n in zip(table[row], node, strict=True))
            continue
        column = draw(st.sampled_from(open_))
        below = tuple(level - (c == column) for c, level in enumerate(node))
        parts: dict[Any, list[int]] = {}
        for row in rows:
            value = table[row][column]
            parts.setdefault((value, GROUPS[value], "*")[below[column]], []).append(row)
        waiting += [(part, below) for part in parts.values()]
    return [published[row] for row in range(len(table))]


@settings(deadline=None, derandomize=True, max_examples=150)
@given(data=st.data(), others=st.lists(people, max_size=4), delta=deltas)
def test_regions_never_overstate_the_confidence(data: st.DataObject, others: Any, delta: Any) -> None:
    """The published table alone does not say which rows a more general label hides: the truth lies in the interval."""
    table = data.draw(st.lists(people, min_size=1, max_size=4))
    published = data.draw(st.composite(regions)(table))
    blocks = data.draw(st.sampled_from([[(0,), (1,), (2,)], [(0, 1), (2,)]]))
    found = measured(published, [*table, *others], blocks, delta)
    exact = oracle.confidence_with_joint(table, [*table, *others], blocks, *delta, published, shows)
    assert found.lowest <= exact <= found.highest
    assert found.lowest >= 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacy_plugin.metrics.presence.presence_confidence._EXACT_UP_TO", -1)
        rounded = measured(published, [*table, *others], blocks, delta)
    assert rounded.lowest <= exact <= rounded.highest
    assert found.details["uncovered_possible_tuples"] >= 0


def test_a_region_counts_the_rows_that_a_general_label_may_hide() -> None:
    """Of 10 people with value 1 one is in the table for sure, and one more may be the row `*`."""
    marginals = {"c0": {1: 10, 3: 10}, "c1": {1: 10, 3: 10}}
    rows = [(1, 1), ("*", 3)]
    columns = ["c0", "c1"]

    def at(size: int, delta: Any) -> Any:
        return presence_confidence(
            FrequencyTable.from_rows(columns, rows),
            quasi_identifiers=columns,
            marginals=marginals,
            population_size=size,
            delta=delta,
            hierarchies=dict.fromkeys(columns, HIERARCHY),
        )

    found = at(20, (0, 0.2))
    # At least 4 of 18 people outside need (1, 1): 9 have c1 = 1, and 8 or 9 have c0 = 1.
    by_hand = [sum(_ways(9, x, 18, f) for x in range(4, f + 1)) / Fraction(_choose(18, f)) for f in (8, 9)]
    assert (found.lowest, found.highest) == (by_hand[0], by_hand[1])


def _choose(n: int, k: int) -> int:
    from math import comb

    return comb(n, k)


def _ways(marked: int, x: int, everybody: int, drawn: int) -> Fraction:
    return Fraction(_choose(marked, x) * _choose(everybody - marked, drawn - x))


def test_a_star_stands_for_values_that_the_hierarchy_lacks() -> None:
    """Beside more specific labels: of the 12 people outside with another second value all 12 have `*`."""
    marginals = {"c0": {1: 4, 7: 10}, "c1": {1: 2, 3: 12}}
    hierarchies = {"c0": TableHierarchy({1: ("low", "*")}), "c1": HIERARCHY}
    given: dict[str, Any] = {"marginals": marginals, "population_size": 14, "hierarchies": hierarchies}
    table = FrequencyTable.from_rows(["c0", "c1"], [(1, 1), ("*", 3)])
    low = presence_confidence(table, quasi_identifiers=["c0", "c1"], delta=(Fraction(1, 11), 1), **given)
    assert low.value == 0  # 11 people outside share (*, 3) for sure: one in 12 is in the table
    fine = presence_confidence(table, quasi_identifiers=["c0", "c1"], delta=(Fraction(1, 12), 1), **given)
    assert fine.value == 1


def test_classes_that_overlap_are_refused() -> None:
    with pytest.raises(ParameterError, match="side by side, and other columns do not tell"):
        measured([(1, 1, "*"), ("low", 1, 1)], [(1, 1, 1), (2, 1, 1), (3, 3, 3)], [(0,), (1,), (2,)], (0, 1))


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        ("age", "joint must be a list"),
        ([{"columns": ["age", "sex"]}], "joint must be a list"),
        ([{"columns": ["age"], "counts": [[30, 3]]}], "at least two different column names"),
        ([{"columns": ["age", "age"], "counts": [[30, 30, 3]]}], "at least two different column names"),
        ([{"columns": ["age", "sex"], "counts": []}], "needs counts: lines of 2 values and their count"),
        ([{"columns": ["age", "sex"], "counts": [[97131, 3]]}], "needs counts: lines of 2 values and their count"),
        ([{"columns": ["age", "sex"], "counts": [[97131, "F", -1]]}], "whole numbers of at least 0"),
        ([{"columns": ["age", "sex"], "counts": [[97131, "F", True]]}], "whole numbers of at least 0"),
        ([{"columns": ["age", "sex"], "counts": [[97131, "F", 7]]}], "more than population_size"),
        ([{"columns": ["age", "sex"], "counts": [[97131, "F", 1], ["97131", "F", 1]]}], "same text"),
        ([{"columns": ["age", "sex"], "counts": [[97131, "F", 1], ["97131", "M", 1]]}], "same text"),
        ([{"columns": ["age", "sex"], "counts": [[97131, "F", 6]]}], "combinations of values of columns 'age', 'sex'"),
        ([{"columns": ["age", "city"], "counts": [[97131, "zq1", 6]]}], "'city' is in a joint distribution; leave it"),
        ([{"columns": ["age", "sex"], "counts": [[1, "F", 1]]}] * 2, "'age' is in more than one joint"),
    ],
)
def test_a_joint_distribution_that_makes_no_sense_is_an_error(joint: Any, words: str) -> None:
    city = {"city": {"zq1": 3, "zq2": 3}}
    with pytest.raises(pp.PrivacyPluginError, match=words) as raised:
        pp.presence_confidence(
            VISITS, quasi_identifiers=QI, marginals=city, joint=joint, population_size=6, delta=(0, 0.5)
        )
    assert "97131" not in str(raised.value)


def test_a_generalized_combination_needs_everybody_listed() -> None:
    joint = [{"columns": ["age", "sex"], "counts": [[30, "F", 2], [41, "M", 3]]}]
    ages = TableHierarchy({30: ("*",), 41: ("*",)})
    given: dict[str, Any] = {"marginals": {}, "joint": joint, "population_size": 6, "delta": (0, 0.5)}
    general = VISITS[["age", "sex"]].assign(age="*")
    with pytest.raises(ParameterError, match="do not list everybody"):
        pp.presence_confidence(general, quasi_identifiers=["age", "sex"], hierarchies={"age": ages}, **given)
    assert pp.presence_confidence(VISITS, quasi_identifiers=["age", "sex"], **given).value in (0, 1)


def test_a_policy_reads_joint_distributions_and_shows_none(tmp_path: Any) -> None:
    asked: dict[str, Any] = {"marginals": {"city": {"zq1": 3, "zq2": 3}}, "population_size": 6, "delta": (0, 0.5)}
    known = pp.frequency_table(REGISTER, ["age", "sex"])
    requirement = pp.require("presence_confidence", joint=[known], at_least=0.1, **asked)
    assert "joint given" in str(requirement)
    written = json.loads(json.dumps(requirement.to_dict()))
    assert pp.require("presence_confidence", **written["presence_confidence"]).to_dict() == requirement.to_dict()
    lines = [f"age;{a};sex;{s};{n}" for a, s, n in (("30", "F", 2), ("30", "M", 1), ("41", "M", 3))]
    (tmp_path / "joint.csv").write_text("\n".join(lines))
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": dict.fromkeys(QI, "quasi_identifier"),
            "requirements": [
                {"presence_confidence": {**asked, "delta": [0, 0.5], "joint": {"file": "joint.csv"}, "at_least": 0.1}}
            ],
        },
        folder=tmp_path,
    )
    verdict = policy.judge(VISITS)
    expected = pp.presence_confidence(VISITS, quasi_identifiers=QI, joint=[known], **asked).value
    assert verdict.findings[0].value == expected
    assert "zq" not in json.dumps(verdict.to_dict())
    for text in ("age;30;3", "age;30;sex;F;x", "age;30;sex;F"):
        (tmp_path / "joint.csv").write_text(text)
        with pytest.raises(ParameterError, match="is not column;value;column;value;count"):
            pp.require("presence_confidence", joint={"file": str(tmp_path / "joint.csv")}, at_least=0.1, **asked)
