"""`rows_a_person`: at most m rows of a person are drawn from, and the budget is that of a person."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import BudgetError, PolicyError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.drawn_people import draw_rows_of_people
from privacy_plugin.ledger.composition import ADDED_OR_REMOVED, delta_of_steps
from privacy_plugin.ledger.spending import Cost
from privacy_plugin.sources import open_source
from tests.randomized_policies import EPSILON_SAFE, ITEMSET_COUNTS, RESPONSE, SYNTHESIZE, policy_dict
from tests.sources.loading import ENGINES, LOADERS, target_of, text_table

KEEP = Fraction(3, 4)
LEAK = Fraction(1, 10)
ANSWER = dict[tuple[int, ...], Fraction]


def answers(rows: Sequence[int]) -> ANSWER:
    """Return the distribution of a mechanism on rows of bits: shows all with probability LEAK, else flips each."""
    found: Counter[tuple[int, ...]] = Counter()
    found[*rows, 9] += LEAK  # type: ignore[assignment]  # the 9 marks a leak
    for shown in product((0, 1), repeat=len(rows)):
        likely = math.prod(KEEP if one == row else 1 - KEEP for one, row in zip(shown, rows, strict=True))
        found[shown] += (1 - LEAK) * likely  # type: ignore[assignment]
    return dict(found)  # type: ignore[arg-type]


def bounded_answers(people: Sequence[Sequence[int]], most: int) -> ANSWER:
    """Return the same after every person keeps a random set of rows, by listing all of them."""
    choices = [list(combinations(range(len(rows)), min(len(rows), most))) for rows in people]
    found: Counter[tuple[int, ...]] = Counter()
    for chosen in product(*choices):
        kept = [rows[place] for rows, places in zip(people, chosen, strict=True) for place in places]
        for shown, likely in answers(kept).items():
            found[shown] += likely / math.prod(map(len, choices))  # type: ignore[assignment]
    return dict(found)  # type: ignore[arg-type]


def excess(one: ANSWER, other: ANSWER, ratio: Fraction) -> Fraction:
    """Return the least delta at which P(S) <= ratio P'(S) + delta holds for all sets of answers."""
    return sum((max(p - ratio * other.get(shown, Fraction(0)), Fraction(0)) for shown, p in one.items()), Fraction(0))


@pytest.mark.parametrize(("rows", "most"), [(1, 1), (3, 1), (3, 2), (2, 3)])
def test_the_claim_over_all_draws_and_all_tables_of_two_people(rows: int, most: int) -> None:
    ratio = KEEP / (1 - KEEP)  # e^epsilon of a row
    steps = min(rows, most)
    delta = delta_of_steps(Fraction(math.log(ratio)), LEAK, most)
    tables = {values: bounded_answers([values, (0, 1)], most) for values in product((0, 1), repeat=rows)}
    found = [excess(one, other, ratio**most) for one in tables.values() for other in tables.values()]
    assert max(found) <= delta
    if steps == most:  # nothing less would do
        assert max(
            excess(o, p, ratio**most * Fraction(99, 100)) for o in tables.values() for p in tables.values()
        ) > max(found)


def test_without_a_bound_a_person_loses_more_than_the_budget_of_a_row() -> None:
    """Three rows of one person, two of them drawn: the budget of one row does not hold."""
    one, other = bounded_answers([(0, 0, 0)], 2), bounded_answers([(1, 1, 1)], 2)
    assert excess(one, other, KEEP / (1 - KEEP)) > LEAK


def test_delta_of_steps_is_the_closed_form_rounded_up() -> None:
    for epsilon, steps in product([Fraction(1, 10), Fraction(1), Fraction(3)], [1, 2, 5]):
        exactly = 1e-9 * math.expm1(steps * float(epsilon)) / math.expm1(float(epsilon))
        found = delta_of_steps(epsilon, Fraction(1, 10**9), steps)
        assert exactly * (1 - 1e-9) <= float(found) <= exactly * (1 + 1e-9)
    assert delta_of_steps(Fraction(400), Fraction(1, 10**9), 3) == 1
    cost = Cost(mechanism="noise", epsilon=1, delta="1/1000", rho="1/2").of_people(3)
    assert (cost.budget.epsilon, cost.rho, cost.unit) == (3, Fraction(9, 2), "person")


def test_every_person_keeps_at_most_so_many_of_their_rows() -> None:
    visits = FrequencyTable.from_rows(
        ["s", "who"], [("a", 1), ("a", 1), ("b", 1), ("c", 1), ("d", 2), ("e", 3), ("e", 3)]
    )
    seen: Counter[tuple[str, ...]] = Counter()
    generator = np.random.default_rng(5)
    for _ in range(2000):
        drawn = draw_rows_of_people(visits, unit="who", rows=2, generator=generator)
        assert drawn.columns == ("s",)
        rows = [value for row in range(drawn.distinct) for value in drawn.values(row) * int(drawn.counts[row])]
        assert rows[-3:] == ["d", "e", "e"]
        seen[tuple(rows[:-3])] += 1  # type: ignore[index]
    expected = {("a", "a"): 1, ("a", "b"): 2, ("a", "c"): 2, ("b", "c"): 1}
    assert set(seen) == set(expected)
    for pair, ways in expected.items():
        assert abs(seen[pair] / 2000 - ways / 6) < 0.05
    with pytest.raises(SourceError, match="missing in some rows"):
        draw_rows_of_people(FrequencyTable.from_rows(["s", "who"], [("a", None)]), unit="who", rows=1)


def policy(method: dict[str, Any], *, rows: Any = 2, at_most: float = 4, **changes: Any) -> pp.Policy:
    given = policy_dict(anonymize=method, rows_a_person=rows)
    given["columns"] = {**given["columns"], "name": "unit"}
    given["requirements"] = [{"privacy_budget": {"at_most": at_most, "delta": 0.05, "privacy_unit": "person"}}]
    return pp.Policy.from_dict({**given, **changes})


def ledger_of_people(epsilon: float = 100) -> pp.BudgetLedger:
    ledger = pp.BudgetLedger("sqlite://")
    ledger.set_cap(dataset="visits", unit="person", epsilon=epsilon, delta=0.1)
    return ledger


ROWS = {
    "name": [f"p{n // 3}" for n in range(300)] + ["often"] * 60,
    "sex": ["fm"[n // 3 % 2] for n in range(300)] + ["m"] * 60,
    "zip": [str(100 + n % 3) for n in range(300)] + ["102"] * 60,
}
VISITS = text_table(**ROWS)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_draw_spends_the_budget_of_people_in_every_engine(engine: str, tmp_path: Path) -> None:
    data, ledger = LOADERS[engine](VISITS, tmp_path), ledger_of_people()
    asked = policy(RESPONSE)  # epsilon 1/2 a cell, two cells a row, two rows a person
    made = anonymize(data, policy=asked, target=target_of(engine, tmp_path), ledger=ledger)
    source = open_source(made.made)
    assert set(source.columns) == {"sex", "zip"}
    assert source.row_count() == 2 * 101
    assert ledger.spent(dataset="visits", unit="person").epsilon == 2
    with pp.using_ledger(ledger):
        verdict = asked.judge(made.made)
    assert verdict.passed, verdict.reasons
    (finding,) = verdict.findings
    facts = dict(finding.measurement.facts)  # type: ignore[union-attr]
    assert "one person: tables that differ in all rows of one person" in facts["Protects"]
    assert "at most 2 rows of every person were drawn at random" in facts["Protects"]
    assert any("how many rows a person has is public, up to 2" in text for text in finding.measurement.notes)  # type: ignore[union-attr]
    assert not asked.judge(data).passed  # the raw table still has the unit


@pytest.mark.parametrize("method", [SYNTHESIZE, EPSILON_SAFE, ITEMSET_COUNTS], ids=lambda given: given["method"])
def test_every_randomized_method_can_bound_people(method: dict[str, Any]) -> None:
    wide = {"at_most": 100.0, "rows": 2}
    asked = policy(method, **wide)
    ledger = ledger_of_people()
    frame = pd.concat(
        [pd.DataFrame(ROWS).assign(name=[f"{copy} {name}" for name in ROWS["name"]]) for copy in range(4)]
    )
    made = anonymize(frame, policy=asked, ledger=ledger)
    row, person = asked.anonymizer.cost, asked.anonymizer.spend  # type: ignore[attr-defined]
    assert person.budget.epsilon == 2 * row.budget.epsilon
    assert made.cost == person
    if person.neighbours == ADDED_OR_REMOVED:
        assert "with and without" in str(ledger.entries()[0].account["neighbours"])
    with pp.using_ledger(ledger):
        assert asked.judge(made.made).passed
    rows = dict(made.describe().rows)
    assert rows["rows of a person"] == "at most 2, drawn at random"


def test_what_is_refused_when_the_policy_is_loaded() -> None:
    assert policy(RESPONSE).digest != policy(RESPONSE, rows=1).digest
    for rows in (0, True, "3", 2.0):
        with pytest.raises(PolicyError, match="rows_a_person must be a whole number"):
            policy(RESPONSE, rows=rows)
    with pytest.raises(PolicyError, match="alone does not meet"):
        policy(RESPONSE, at_most=1.9)
    with pytest.raises(PolicyError, match="add rows_a_person"):
        policy(RESPONSE, rows=None, requirements=[{"privacy_budget": {"at_most": 9, "privacy_unit": "row"}}])
    with pytest.raises(PolicyError, match="give the column that identifies people the role unit"):
        pp.Policy.from_dict(policy_dict(rows_a_person=2))
    with pytest.raises(PolicyError, match="methods that draw at random; generalize"):
        policy({"method": "generalize"}, requirements=[{"k_anonymity": {"at_least": 2}}])
    with pytest.raises(PolicyError, match="privacy_unit: person"):
        policy(RESPONSE, requirements=[{"privacy_budget": {"at_most": 9, "privacy_unit": "row"}}])


def test_a_spent_budget_of_people_stops_the_draw() -> None:
    ledger = ledger_of_people(epsilon=3)
    frame = pd.DataFrame(ROWS)
    anonymize(frame, policy=policy(RESPONSE), ledger=ledger)
    with pytest.raises(BudgetError):
        anonymize(frame, policy=policy(RESPONSE), ledger=ledger)
