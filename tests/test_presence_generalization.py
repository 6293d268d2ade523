"""SPALM and SFALM: the lattice search under presence requirements, against every node by hand."""

from fractions import Fraction
from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import InfeasibleError
from tests.metrics.populations import COLUMNS, HIERARCHIES, PATHS, at_levels, drawn
from tests.oracles import population as oracle

shares = st.fractions(0, 1, max_denominator=8)
NODES = list(product(range(3), range(3)))


def frame_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype(object)


def loss_of(levels: tuple[int, int]) -> Fraction:
    """Precision without suppression: the mean of level over height."""
    return Fraction(sum(levels), 4)


def present(table: Any, population: Any, levels: tuple[int, int], low: Fraction, high: Fraction) -> bool:
    found = oracle.presence(at_levels(table, levels), at_levels(population, levels))
    return low <= min(found) and max(found) <= high


@settings(deadline=None, derandomize=True, max_examples=40)
@given(both=drawn(), delta=st.tuples(shares, shares).map(sorted))
def test_the_least_full_domain_generalization_that_is_delta_present(both: Any, delta: list[Fraction]) -> None:
    table, population = both
    passing = [levels for levels in NODES if present(table, population, levels, *delta)]
    asked: dict[str, Any] = {
        "hierarchies": HIERARCHIES,
        "requirements": [pp.require("delta_presence", between=delta)],
        "population": frame_of(population),
    }
    if not passing:
        with pytest.raises(InfeasibleError):
            pp.generalize(frame_of(table), **asked)
        return
    plan = pp.generalize(frame_of(table), **asked)
    found = tuple(plan.levels[name] for name in COLUMNS)
    assert found in passing
    assert loss_of(found) == min(loss_of(levels) for levels in passing)
    released = plan.apply(frame_of(table), population=frame_of(population))
    measured = pp.delta_presence(
        released, population=frame_of(population), quasi_identifiers=COLUMNS, hierarchies=HIERARCHIES
    )
    assert delta[0] <= measured.minimum <= measured.maximum <= delta[1]


@settings(deadline=None, derandomize=True, max_examples=25)
@given(both=drawn(), high=shares, wanted=st.sampled_from([0.5, 0.9, 1]))
def test_the_least_generalization_by_attribute_distributions(both: Any, high: Fraction, wanted: float) -> None:
    table, population = both
    assume(len(table) < len(population))
    marginals = pp.population_marginals(frame_of(population), columns=COLUMNS)
    known: dict[str, Any] = {"marginals": marginals, "population_size": len(population), "delta": (0, high)}

    def confidence(levels: tuple[int, int]) -> Any:
        return pp.presence_confidence(
            frame_of(at_levels(table, levels)), quasi_identifiers=COLUMNS, hierarchies=HIERARCHIES, **known
        ).value

    passing = [levels for levels in NODES if confidence(levels) >= wanted]
    asked: dict[str, Any] = {
        "hierarchies": HIERARCHIES,
        "requirements": [pp.require("presence_confidence", at_least=wanted, **known)],
    }
    if not passing:
        with pytest.raises(InfeasibleError):
            pp.generalize(frame_of(table), **asked)
        return
    plan = pp.generalize(frame_of(table), **asked)
    found = tuple(plan.levels[name] for name in COLUMNS)
    assert loss_of(found) == min(loss_of(levels) for levels in passing)
    assert confidence(found) >= wanted


def test_regions_lose_less_than_one_level_for_all() -> None:
    people = [(age, city) for age in (30, 41, 55) for city in PATHS[1] for _ in range(4)] + [(30, "Bern")] * 4
    register = frame_of(people)
    visits = register.iloc[[0, 1, 4, 20, 33, 36]]
    plan = pp.generalize(
        visits,
        hierarchies=HIERARCHIES,
        requirements=[pp.require("delta_presence", between=(0, 0.3))],
        population=register,
        loss="loss_metric",
    )
    regions = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, 0.3))
    assert regions.loss_metric < plan.loss
