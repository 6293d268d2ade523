"""SPALM and SFALM: the lattice search under presence requirements, against every node by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import InfeasibleError, PolicyError
from privacy_plugin.generalization.class_counts import all_present, possible_by_pairs
from privacy_plugin.metrics.presence.presence_confidence import refutes_confidence
from tests.metrics.populations import COLUMNS, HIERARCHIES, PATHS, at_levels, drawn
from tests.oracles import population as oracle

shares = st.fractions(0, 1, max_denominator=8)
NODES = list(product(range(3), range(3)))


def frame_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype(object)


@contextmanager
def searched(looked_through: bool) -> Iterator[None]:
    """Lattices as small as these are looked through; larger ones are pruned by pairs of columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacy_plugin.generalization.search.PICTURED", 200 if looked_through else 0)
        yield


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
        "max_suppression": 0.25 if delta[0] > 0 else 0,  # with a lower bound no row can be suppressed anyway
    }
    if not passing:
        for looked_through in (True, False):
            with searched(looked_through), pytest.raises(InfeasibleError):
                pp.generalize(frame_of(table), **asked)
        return
    with searched(False):
        pruned = pp.generalize(frame_of(table), **asked)
    plan = pp.generalize(frame_of(table), **asked)
    assert "pairs of levels" in pruned.search
    assert "were examined" in plan.search
    assert (pruned.levels, pruned.minimal_nodes, pruned.loss) == (plan.levels, plan.minimal_nodes, plan.loss)
    found = tuple(plan.levels[name] for name in COLUMNS)
    assert found in passing
    assert loss_of(found) == min(loss_of(levels) for levels in passing)
    released = plan.apply(frame_of(table), population=frame_of(population))
    measured = pp.delta_presence(
        released, population=frame_of(population), quasi_identifiers=COLUMNS, hierarchies=HIERARCHIES
    )
    assert delta[0] <= measured.minimum <= measured.maximum <= delta[1]
    assert plan.suppressed == pruned.suppressed == 0


def test_bounds_are_compared_exactly_however_long_their_fractions_are() -> None:
    third, more = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)
    lines = np.zeros((1, 1), dtype=np.int32), np.array([[10**4, 3 * 10**4]]), [np.zeros((1, 1), dtype=np.int32)]
    for low, high, passes in (
        (third, third, True),
        (more, Fraction(1), False),
        (Fraction(0), third - Fraction(1, 10**30), False),
        (Fraction(10**15, 10**16 + 1), Fraction(1), True),  # a long lower bound only
    ):
        assert all_present(1, [(low, high)])(*lines, (0,)) is passes


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
    assert plan.exact
    top = max(NODES, key=sum)
    if top not in passing:
        with pytest.raises(InfeasibleError, match="leave it out to evaluate them"):
            pp.generalize(frame_of(table), approximation="anti_monotone", **asked)
        return
    pruned = pp.generalize(frame_of(table), approximation="anti_monotone", **asked)
    assert not pruned.exact
    assert "which is not proven" in pruned.search
    reached = tuple(pruned.levels[name] for name in COLUMNS)
    assert confidence(reached) >= wanted
    assert loss_of(reached) >= loss_of(found)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(both=drawn(), delta=st.tuples(shares, shares).map(sorted), bound=st.fractions("1/8", 1, max_denominator=8))
def test_only_what_surely_fails_is_refuted(both: Any, delta: Any, bound: Fraction) -> None:
    """And of what fails by more than the error of the bounds, everything is."""
    table, population = both
    assume(len(table) < len(population))
    known: dict[str, Any] = {
        "quasi_identifiers": COLUMNS,
        "marginals": pp.population_marginals(frame_of(population), columns=COLUMNS),
        "population_size": len(population),
        "delta": delta,
        "hierarchies": HIERARCHIES,
    }
    for levels in NODES:
        shown = pp.frequency_table(frame_of(at_levels(table, levels)), COLUMNS)
        value = pp.presence_confidence(shown, **known).value
        refuted = refutes_confidence(shown, bound, **known)
        assert refuted == (value < bound)


def test_an_approximation_needs_no_suppression_and_the_whole_lattice() -> None:
    asked: dict[str, Any] = {"hierarchies": HIERARCHIES, "requirements": [pp.require("k_anonymity", at_least=2)]}
    register = frame_of([(age, city) for age in (30, 41, 55) for city in PATHS[1]])
    for wrong in ({"max_suppression": 0.1}, {"search": "chain"}, {"approximation": "guess"}):
        with pytest.raises(pp.PrivacyPluginError, match="approximation must be"):
            pp.generalize(register, **{**asked, "approximation": "anti_monotone", **wrong})
    policy = {
        "dataset": "visits",
        "columns": dict.fromkeys(COLUMNS, "quasi_identifier"),
        "requirements": [{"k_anonymity": {"at_least": 2}}],
        "anonymize": {"method": "generalize", "approximation": "anti_monotone"},
    }
    assert pp.Policy.from_dict(policy).anonymize["approximation"] == "anti_monotone"
    for wrong in ({"max_suppression": 0.1}, {"search": "chain"}):
        with pytest.raises(PolicyError, match="approximation must be"):
            pp.Policy.from_dict({**policy, "anonymize": {**policy["anonymize"], **wrong}})


@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), low=st.fractions(0, "1/2", max_denominator=8), high=st.fractions("1/4", 1, max_denominator=8))
def test_pairs_of_columns_rule_out_no_node_that_is_present(data: Any, low: Fraction, high: Fraction) -> None:
    """Three columns: what a pair rules out fails, and the question asked of a node is the definition."""
    codes = np.array(list(product(range(3), repeat=3)))
    people = np.array(data.draw(st.lists(st.integers(0, 6), min_size=27, max_size=27)))
    rows = np.array([data.draw(st.integers(0, int(most))) for most in people])
    assume(rows.any())
    maps = [np.array([[0, 1, 2], data.draw(st.sampled_from([[0, 0, 1], [0, 1, 1]])), [0, 0, 0]])] * 3
    there = people > 0
    lines = codes[there], np.column_stack([rows, people])[there], maps
    k = data.draw(st.integers(1, 3))
    passes = all_present(k, [(low, high)])
    possible, _ = possible_by_pairs(*lines, passes=passes)
    for node in np.ndindex(3, 3, 3):
        classes: dict[Any, list[int]] = {}
        for line, here, all_here in zip(codes.tolist(), rows.tolist(), people.tolist(), strict=True):
            if all_here:
                name = tuple(int(m[level][value]) for m, level, value in zip(maps, node, line, strict=True))
                found = classes.setdefault(name, [0, 0])
                found[0], found[1] = found[0] + here, found[1] + all_here
        allowed = all(low <= Fraction(n, m) <= high and (n == 0 or n >= k) for n, m in classes.values())
        assert passes(*lines, node) == allowed
        assert possible[node] or not allowed


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
