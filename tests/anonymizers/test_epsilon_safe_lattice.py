"""epsilon-safe lattice anonymization: its distribution, its sensitivity, and its stated guarantee."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import prepare, sample
from privacy_plugin.anonymizers.epsilon_safe.node_utilities import interpolated, node_utilities
from privacy_plugin.anonymizers.noise import choose
from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.sources import frequency_table

HIERARCHIES = {
    "age": pp.interval_hierarchy(start=0, stop=40, widths=[10, 20]),
    "zip": pp.mask_hierarchy(length=2),
}
PARAMETERS = {"k": 3, "beta": 0.5, "epsilon": 0.8, "penalty": 0.5}

people = st.lists(st.tuples(st.integers(0, 39), st.sampled_from(["11", "12", "21", "22"])), min_size=8, max_size=40)


def definition(rows: list[tuple[int, str]], expected: int) -> dict[tuple[int, ...], float]:
    """Every node's utility, straight from the definition."""
    heights = [hierarchy.height for hierarchy in HIERARCHIES.values()]
    found = {}
    for node in product(*(range(height + 1) for height in heights)):
        classes = Counter(
            tuple(h.generalize(value, level) for h, value, level in zip(HIERARCHIES.values(), row, node, strict=True))
            for row in rows
        )
        suppressed = sum(size for size in classes.values() if size < PARAMETERS["k"])
        general = sum(level / height for level, height in zip(node, heights, strict=True)) / len(heights)
        found[node] = -(general + PARAMETERS["penalty"] * suppressed / expected)
    return found


def utilities(rows: list[tuple[int, str]], expected: int) -> np.ndarray:
    table = FrequencyTable.from_rows(["age", "zip"], rows)
    levels = {name: h.levels(table.dictionary(name)) for name, h in HIERARCHIES.items()}
    return node_utilities(table, levels, table.counts, k=3, penalty=0.5, expected=expected)


@settings(max_examples=25, deadline=None)
@given(rows=people)
def test_utilities_follow_the_definition(rows: list[tuple[int, str]]) -> None:
    found = utilities(rows, 20)
    for node, value in definition(rows, 20).items():
        assert found[node] == pytest.approx(value, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(rows=people, person=st.tuples(st.integers(0, 39), st.sampled_from(["11", "12", "21", "22"])))
@pytest.mark.parametrize("interpolation", [None, "levels", ("zip", 1)])
def test_one_row_more_moves_no_utility_by_more_than_the_sensitivity(
    rows: list[tuple[int, str]], person: tuple[int, str], interpolation: object
) -> None:
    sensitivity = 0.5 * 3 / 20
    with_person = interpolated(utilities([*rows, person], 20), ("age", "zip"), interpolation)  # type: ignore[arg-type]
    without = interpolated(utilities(rows, 20), ("age", "zip"), interpolation)  # type: ignore[arg-type]
    assert np.abs(with_person - without).max() <= sensitivity + 1e-12


@pytest.mark.parametrize("penalty", [2, 0.5, 1e-9, 1e-13, 1e-15, 1e-16])
@pytest.mark.parametrize("interpolation", [None, "levels"])
def test_rounding_stays_within_the_sensitivity_of_the_draw(penalty: float, interpolation: object) -> None:
    table = frequency_table(whole_table(), ["age", "zip"])
    release = prepare(table, hierarchies=HIERARCHIES, **{**PARAMETERS, "penalty": penalty})

    def of(kept: np.ndarray) -> np.ndarray:
        found = node_utilities(table, release.levels, kept, k=3, penalty=penalty, expected=release.expected)
        return interpolated(found, ("age", "zip"), interpolation)  # type: ignore[arg-type]

    everybody = of(table.counts)
    for person in range(table.distinct):
        without = table.counts - (np.arange(table.distinct) == person)
        assert np.ptp(everybody - of(without)) <= release.sensitivity
    assert release.sensitivity < penalty * 3 / 30 * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("name", ["beta", "epsilon", "penalty"])
@pytest.mark.parametrize("half", ["1/2", Fraction(1, 2), Decimal("0.5")])
def test_numbers_are_read_in_every_notation(name: str, half: object) -> None:
    found, plain = (
        epsilon_safe_of(whole_table(), **{name: given}, generator=np.random.default_rng(4)) for given in (half, 0.5)
    )
    assert found.to_dict() == plain.to_dict()
    assert found.table.equals(plain.table)


def test_interpolation_is_the_mean_of_parents_and_children() -> None:
    given_utilities = np.arange(12.0).reshape(4, 3) ** 2
    found = interpolated(given_utilities, ("age", "zip"), "levels")
    assert found[0, 1] == pytest.approx((given_utilities[0, 0] + given_utilities[0, 2] + given_utilities[1, 1]) / 3)
    assert found[1, 1] == given_utilities[1, 1]
    column = interpolated(given_utilities, ("age", "zip"), ("zip", 1))
    assert column[2, 1] == pytest.approx((given_utilities[2, 0] + given_utilities[2, 2]) / 2)
    assert column[2, 2] == given_utilities[2, 2]


def whole_table() -> pd.DataFrame:
    generator = np.random.default_rng(5)
    return pd.DataFrame({"age": generator.integers(0, 39, 60), "zip": generator.choice(["11", "12", "21"], 60)})


def test_a_node_is_drawn_with_its_probability_by_opendp() -> None:
    """The draw alone, on fixed utilities: 1,500 draws, a chi-square bound that fails by chance once in a million."""
    values = np.array([0.0, -0.5, -1.0, -2.0])
    scale, draws = 0.7, 1500
    weights = np.exp(values / scale) / np.exp(values / scale).sum()
    found = Counter(choose(values, sensitivity=scale * 0.4, epsilon=0.8, generator=None) for _ in range(draws))
    statistic = sum((found[i] - draws * p) ** 2 / (draws * p) for i, p in enumerate(weights))
    assert statistic < 30.7  # chi-square with 3 degrees of freedom, p = 1e-6


def test_the_published_table_is_k_anonymous_and_has_only_generalized_columns() -> None:
    data = whole_table().assign(disease="x")
    result = epsilon_safe_of(data, generator=np.random.default_rng(3))
    assert list(result.table.columns) == ["age", "zip"]
    if len(result.table):
        assert pp.k_anonymity(result.table, quasi_identifiers=["age", "zip"]).value >= 3
    assert len(result.table) + result.suppressed == result.sampled <= 60


def epsilon_safe_of(data: object, **more: object):
    return pp.epsilon_safe_lattice(data, hierarchies=HIERARCHIES, **{**PARAMETERS, **more})


def test_the_guarantee_states_unit_neighbours_assumptions_and_whether_it_is_private() -> None:
    secure, seeded = epsilon_safe_of(whole_table()), epsilon_safe_of(whole_table(), generator=np.random.default_rng(1))
    assert secure.private
    assert not seeded.private
    stated = secure.to_dict()
    assert stated["unit"] == "row"
    assert "one row" in stated["neighbours"]
    assert any("hierarchies" in text for text in stated["assumptions"])
    assert stated["epsilon"] == pytest.approx(0.8 + np.log(2))
    assert stated["delta"] == pp.sampling_delta(k=3, beta=0.5, choice_epsilon=0.8) > pp.sampling_delta(k=3, beta=0.5)
    for text in (stated, repr(secure)):
        assert "suppressed" not in text  # exact numbers come from the secret sample
        assert "sampled" not in text


def test_the_published_table_carries_no_value_that_is_not_published() -> None:
    data = pd.DataFrame({"age": [5] * 40 + [15] * 40 + [33], "zip": ["11"] * 80 + ["22"]})
    seen = set()
    for seed in range(8):
        result = epsilon_safe_of(data, generator=np.random.default_rng(seed))
        seen.add(tuple(result.levels.values()))
        for name in ("age", "zip"):
            assert set(result.frequencies.dictionary(name)) == set(result.table[name])
    assert len(seen) > 1


def test_interpolated_utilities_are_reported_and_accounted() -> None:
    exact, averaged = (epsilon_safe_of(whole_table(), interpolation=how) for how in (None, ("zip", 1)))
    assert exact.to_dict()["interpolation"] is None
    assert averaged.to_dict()["interpolation"] == ["zip", 1]
    assert averaged.delta > exact.delta
    assert averaged.epsilon == exact.epsilon


def test_sampling_keeps_rows_with_probability_beta() -> None:
    kept = int(sample(np.array([200_000, 0, 100_000]), 0.3, None).sum())
    assert abs(kept - 90_000) < 6 * (300_000 * 0.3 * 0.7) ** 0.5  # six deviations


def test_the_ledger_reserves_first(tmp_path: Path) -> None:
    ledger = BudgetLedger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.set_cap(dataset="visits", unit="row", epsilon=2, delta=0.9)
    epsilon_safe_of(whole_table(), ledger=ledger, dataset="visits")
    spent = ledger.total(dataset="visits", unit="row").added
    assert spent.epsilon > Fraction(149, 100)
    assert float(spent.delta) == pp.sampling_delta(k=3, beta=0.5, choice_epsilon=0.8)
    with pytest.raises(BudgetError):
        epsilon_safe_of(whole_table(), ledger=ledger, dataset="visits")


def test_a_refusal_spends_nothing() -> None:
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="visits", unit="row", epsilon=2, delta=0.9)
    uncovered = whole_table().assign(zip="12345")
    for data, more in ((uncovered, {}), (whole_table(), {"interpolation": ("age", 9)}), (whole_table(), {"k": 45})):
        with pytest.raises(pp.PrivacyPluginError):
            pp.epsilon_safe_lattice(
                data, hierarchies=HIERARCHIES, **{**PARAMETERS, **more}, ledger=ledger, dataset="visits"
            )
    assert ledger.spent(dataset="visits", unit="row").epsilon == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 1},
        {"k": 50},
        {"epsilon": 0},
        {"penalty": -1},
        {"penalty": 1e308},
        {"beta": 1.5},
        {"interpolation": "depths"},
        {"interpolation": ("age", 9)},
        {"interpolation": ("town", 1)},
    ],
)
def test_invalid_arguments_are_refused(wrong: dict[str, object]) -> None:
    table = FrequencyTable.from_rows(["age", "zip"], [(1, "11"), (2, "12")] * 20)
    with pytest.raises(ParameterError):
        prepare(table, hierarchies=HIERARCHIES, **{**PARAMETERS, **wrong})  # type: ignore[arg-type]
