"""Synthetic tables: the model, the sensitivities the account rests on, the account, and what they keep."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.coded_rows import CodedRows
from privacy_plugin.anonymizers.noise import choose, noisy_counts
from privacy_plugin.anonymizers.synthesis.pair_tables import (
    TreeModel,
    directed,
    fitted,
    independence_distance,
    nearest_counts,
)
from privacy_plugin.errors import BudgetError, ColumnError, ParameterError, PrivacyPluginError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.zero_concentrated import exponential_rho, rho_within, zcdp_delta

COLUMNS = ["a", "b", "c"]
row_of = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2))


def people(rows: int = 3000) -> pd.DataFrame:
    """b follows a, d follows b, c is on its own."""
    generator = np.random.default_rng(8)
    a = generator.integers(0, 3, rows)
    b = np.where(generator.random(rows) < 0.85, a % 2, generator.integers(0, 2, rows))
    d = np.where(generator.random(rows) < 0.9, b, 1 - b)
    return pd.DataFrame({"a": a, "b": b, "c": generator.integers(0, 4, rows), "d": d})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=st.lists(row_of, min_size=2, max_size=12), other=row_of, crossed=st.booleans())
def test_one_substituted_row_changes_counts_by_the_stated_sensitivity(rows, other, crossed) -> None:
    """L2 at most sqrt 2 for every table, at most 2 for the score of an edge, whatever the fixed estimates are."""
    domains = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1, 2]}
    before, after = (
        CodedRows.of(FrequencyTable.from_rows(COLUMNS, r), given="b" if crossed else None, domains=domains)
        for r in (rows, [other, *rows[1:]])
    )
    pairs = list(product(range(before.columns), repeat=2))
    generator = np.random.default_rng(1)
    planes = generator.random(len(before.planes())) * 9
    ones = [generator.random(before.ones(c).shape) * 5 for c in range(before.columns)]
    assert ((before.planes() - after.planes()) ** 2).sum() <= 2
    for c in range(before.columns):
        assert ((before.ones(c) - after.ones(c)) ** 2).sum() <= 2
    for x, y in pairs:
        assert ((before.pairs(x, y) - after.pairs(x, y)) ** 2).sum() <= 2
        scores = [independence_distance(r.pairs(x, y) * 1.0, planes, ones[x], ones[y]) for r in (before, after)]
        assert abs(scores[0] - scores[1]) <= 2 + 1e-9


def test_tables_are_counted_right() -> None:
    data = people(400)
    rows = CodedRows.of(pp.frequency_table(data, list(data.columns)), given="d", domains=None)
    x, y = rows.names.index("a"), rows.names.index("c")
    for d, a, c in product(range(2), range(3), range(4)):
        assert rows.pairs(x, y)[d, a, c] == ((data.d == d) & (data.a == a) & (data.c == c)).sum()
    assert rows.ones(x).sum(axis=1).tolist() == rows.planes().tolist()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(noisy=st.lists(st.integers(-50, 50), min_size=1, max_size=8), total=st.integers(0, 60))
def test_the_nearest_counts_are_nearest(noisy: list[int], total: int) -> None:
    found = nearest_counts(np.array(noisy), float(total))
    assert found.sum() == pytest.approx(total, abs=1e-9)
    assert found.min() >= 0
    distance = ((found - noisy) ** 2).sum()
    generator = np.random.default_rng(2)
    for _ in range(30):
        other = generator.dirichlet(np.ones(len(noisy))) * total
        assert ((other - noisy) ** 2).sum() >= distance - 1e-6


@pytest.mark.parametrize("size", [1e9, 1e17, 1e200])
def test_the_sum_is_kept_with_noise_of_any_size(size: float) -> None:
    found = nearest_counts(np.array([size, -size, 0.0]), 3.0)
    assert found.tolist() == [3.0, 0.0, 0.0]


def test_no_epsilon_is_so_small_that_budget_is_reserved_and_nothing_drawn() -> None:
    """Only noise is left, but there is a table for what was paid."""
    data = people(30)[["a", "c"]]
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="people", unit="row", epsilon=1, delta=1e-3)
    asked = {"columns": ["a", "c"], "epsilon": 1e-9, "ledger": ledger, "dataset": "people"}
    assert rho_within(1e-9, 1e-300) > 0
    assert len(pp.synthesize(data, delta=1e-300, **asked).table) == 30
    assert len(pp.synthesize(data, delta=1e-300, model="pairs", **asked).table) == 30
    for _ in range(10):
        assert len(pp.synthesize(data, unit="cell", **asked).table) == 30
    assert {spend.status for spend in ledger.entries()} == {"committed"}


def test_fitting_reaches_the_margins() -> None:
    generator = np.random.default_rng(3)
    truth = generator.random((2, 3, 4)) + 0.1
    found = fitted(generator.random((2, 3, 4)) + 0.1, truth.sum(axis=2), truth.sum(axis=1))
    assert found.sum(axis=2) == pytest.approx(truth.sum(axis=2), rel=1e-3)
    assert found.sum(axis=1) == pytest.approx(truth.sum(axis=1), rel=1e-9)


def test_rows_follow_the_model_to_a_row() -> None:
    """Shares are dealt, not drawn one by one: every margin is within one row a stratum of the model's."""
    pair = np.array([[[30.0, 10.0], [0.0, 60.0]]])
    model = TreeModel(
        planes=np.array([100.0]),
        root=0,
        ones={0: pair.sum(axis=2), 1: pair.sum(axis=1)},
        edges=((0, 1),),
        pairs={(0, 1): pair},
    )
    _, codes = model.sample(1000, np.random.default_rng(4))
    found = np.zeros((2, 2))
    np.add.at(found, (codes[:, 0], codes[:, 1]), 1)
    assert np.abs(found - pair[0] * 10).max() <= 2
    assert found[1, 0] == 0


def test_edges_are_directed_away_from_the_root() -> None:
    assert directed([(1, 2), (0, 2), (1, 3)], 0) == ((0, 2), (2, 1), (1, 3))


def test_opendp_adds_noise_of_the_stated_deviation() -> None:
    """1,000 draws: the variance is within six deviations of its own (2/1000)^(1/2)."""
    found = noisy_counts(np.zeros(1000, dtype=np.int64), sensitivity=math.sqrt(2), rho=0.01, generator=None)
    assert abs(found.var() / 100 - 1) < 6 * math.sqrt(2 / 1000)


def test_opendp_chooses_with_the_stated_probability() -> None:
    draws = 600
    hits = sum(choose(np.array([0.0, 4.0]), sensitivity=2, epsilon=1, generator=None) for _ in range(draws))
    wanted = math.e / (1 + math.e)
    assert abs(hits / draws - wanted) < 6 * math.sqrt(wanted * (1 - wanted) / draws)


def test_the_parts_compose_to_the_whole() -> None:
    made = pp.synthesize(people(), columns=["a", "b", "c", "d"], epsilon=0.8, delta=1e-5, given="d")
    stated = made.ledger.to_dict()
    rho = sum(part["rho"] * part["times"] for part in stated["parts"])
    assert zcdp_delta(rho, 0.8) <= 1e-5 * (1 + 1e-6)
    assert zcdp_delta(rho * 1.01, 0.8) > 1e-5
    assert [part["times"] for part in stated["parts"]] == [4, 2, 2]
    assert (stated["unit"], stated["epsilon"], stated["delta"], stated["private"]) == ("row", 0.8, 1e-5, True)
    assert exponential_rho(math.sqrt(8 * stated["parts"][1]["rho"])) == pytest.approx(stated["parts"][1]["rho"])
    assert any("'d'" in text for text in stated["assumptions"])
    assert list(made.table.columns) == ["a", "b", "c", "d"]
    assert len(made.table) == 3000


@pytest.mark.parametrize("unit", ["row", "cell"])
@pytest.mark.parametrize("crossed", [None, "d"])
def test_a_large_budget_keeps_pairs(unit: str, crossed: str | None) -> None:
    data = people()
    made = pp.synthesize(
        data, columns=list(data), epsilon=25, unit=unit, given=crossed, generator=np.random.default_rng(1)
    )
    assert not made.ledger.private
    kept = pd.crosstab(made.table.a.astype(int), made.table.b.astype(int))
    assert np.abs(kept - pd.crosstab(data.a, data.b)).to_numpy().max() < 20
    if crossed is None:
        assert {frozenset(edge) for edge in made.edges} >= {frozenset("ab"), frozenset("bd")}


def test_by_cell_the_account_has_the_row_total() -> None:
    made = pp.synthesize(people(), columns=["a", "b", "c"], epsilon=0.5, unit="cell")
    assert made.ledger.unit == "cell"
    assert made.ledger.epsilon <= 0.5
    assert made.ledger.epsilon_row == pytest.approx(1.5)
    assert "a row" in str(made.ledger)


def test_missing_values_single_columns_and_declared_values() -> None:
    data = pd.DataFrame({"x": ["u", None, "v", "v"] * 200})
    made = pp.synthesize(data, columns=["x"], epsilon=5, domains={"x": ["u", "v", "w", None]})
    assert made.edges == ()
    assert "(no domain" not in " ".join(made.ledger.assumptions)
    assert abs(made.table.x.isna().sum() - 200) < 60


def test_the_budget_is_reserved_first(tmp_path: Path) -> None:
    ledger = BudgetLedger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.set_cap(dataset="people", unit="row", epsilon=2, delta=1e-5)
    common = {"columns": ["a", "b"], "ledger": ledger, "dataset": "people"}
    pp.synthesize(people(200), epsilon=1, **common)
    pp.synthesize(people(200), epsilon=0.5, unit="cell", **common)
    assert ledger.remaining(dataset="people", unit="row").epsilon == 0
    with pytest.raises(BudgetError):
        pp.synthesize(people(200), epsilon=0.1, **common)


@pytest.mark.parametrize(
    "wrong",
    [{"delta": 0}, {"domains": {"a": [0]}}, {"model": "forest"}, {"unit": "cell", "epsilon": 41}, {"given": "z"}],
)
def test_a_refusal_spends_nothing(wrong: dict[str, object]) -> None:
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="people", unit="row", epsilon=1000, delta=1)
    with pytest.raises(PrivacyPluginError):
        pp.synthesize(people(50), **{"columns": ["a", "b"], "epsilon": 1, **wrong}, ledger=ledger, dataset="people")
    if "domains" in wrong:
        with pytest.raises(ColumnError):
            pp.randomized_response(
                people(50), columns=["a"], epsilon=1, domains={"a": [0]}, ledger=ledger, dataset="people"
            )
    assert ledger.spent(dataset="people", unit="row").epsilon == 0


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"epsilon": 0}, ParameterError),
        ({"epsilon": -1}, ParameterError),
        ({"delta": 0}, ParameterError),
        ({"unit": "table"}, ParameterError),
        ({"given": "z"}, ColumnError),
        ({"columns": ["a"], "given": "a"}, ColumnError),
        ({"columns": ["a", "zz"]}, ColumnError),
        ({"domains": {"a": [0, 1]}}, ColumnError),
        ({"dataset": "people"}, ParameterError),
    ],
)
def test_invalid_arguments_are_refused(wrong: dict[str, object], kind: type[PrivacyPluginError]) -> None:
    with pytest.raises(kind):
        pp.synthesize(people(50), **{"columns": ["a", "b"], "epsilon": 1, **wrong})
