"""delta-presence against the definition, person by person, in one form and in two, from one engine and from two."""

import json
import random
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy_builders import interval_hierarchy, mask_hierarchy
from privacy_plugin.metrics.presence.delta_presence import delta_presence
from tests.metrics.populations import COLUMNS, HIERARCHIES, PATHS, at_levels, drawn, table_of
from tests.oracles import population as oracle

levels = st.tuples(st.integers(0, 2), st.integers(0, 2))


def found_in(table: list[tuple[Any, ...]], population: list[tuple[Any, ...]], **options: Any) -> Any:
    return delta_presence(table_of(table), quasi_identifiers=COLUMNS, population=table_of(population), **options)


def test_the_share_of_a_class_that_is_in_the_table() -> None:
    population = [("a", n % 3) for n in range(9)] + [("b", 0)] * 4
    table = [("a", 0), ("a", 1), ("a", 1), ("b", 0)]
    found = found_in(table, population)
    assert (found.minimum, found.maximum, found.value) == (0, Fraction(2, 3), Fraction(2, 3))
    assert (found.lowest, found.highest, found.exact) == (0, Fraction(2, 3), True)
    assert (found.rows, found.classes) == (13, 4)
    assert found.details["people_in_no_class_of_the_table"] == 3


@settings(deadline=None, derandomize=True, max_examples=120)
@given(both=drawn(), at=levels)
def test_every_person_of_the_population(both: Any, at: tuple[int, int]) -> None:
    """Generalized alike, or with the hierarchies against the original population: the same, and the definition."""
    table, population = both
    expected = oracle.presence(at_levels(table, at), at_levels(population, at))
    alike = found_in(at_levels(table, at), at_levels(population, at))
    by_hierarchy = found_in(at_levels(table, at), population, hierarchies=HIERARCHIES)
    for found in (alike, by_hierarchy):
        assert (found.minimum, found.maximum) == (min(expected), max(expected))
        assert sum(found.spread.people) == len(population)
        assert sorted(found.spread.values.repeat(found.spread.people)) == sorted(map(float, expected))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(both=drawn(), at=levels)
def test_presence_is_anti_monotone(both: Any, at: tuple[int, int]) -> None:
    """Theorem 1: a more general table is never worse on either end."""
    table, population = both
    here = found_in(at_levels(table, at), population, hierarchies=HIERARCHIES)
    for column in (0, 1):
        above = tuple(min(2, level + (column == i)) for i, level in enumerate(at))
        general = found_in(at_levels(table, above), population, hierarchies=HIERARCHIES)
        assert here.minimum <= general.minimum <= general.maximum <= here.maximum


def test_regions_of_different_generality_are_distinguished() -> None:
    population = [(30, "Bern"), (30, "Genf"), (41, "Bern"), (55, "Bern"), (55, "Chur")]
    table = [("young", "*"), ("old", "Bern")]
    found = found_in(table, population, hierarchies=HIERARCHIES)
    expected = oracle.presence(table, population, PATHS)
    assert (found.minimum, found.maximum) == (min(expected), max(expected)) == (0, Fraction(1, 2))


def test_overlapping_classes_raise() -> None:
    with pytest.raises(ParameterError, match="2 people of the population fit more than one class"):
        found_in([("young", "Bern"), (30, "Bern")], [(30, "Bern"), (30, "Bern"), (41, "Chur")], hierarchies=HIERARCHIES)


def test_rows_that_the_population_lacks_are_an_error_without_values() -> None:
    population = [(30, "Bern")] * 2 + [(41, "Chur")]
    for table, lacking in (
        ([(30, "Bern")] * 3, "1 of the table's 1 classes"),
        ([(30, "Bern"), (97131, "Chur"), (41, "Zqtown")], "2 of the table's 3 classes"),
    ):
        with pytest.raises(ParameterError, match=lacking) as raised:
            found_in(table, population)
        assert "97131" not in str(raised.value)
        assert "Zqtown" not in str(raised.value)
    finding = pp.require("delta_presence", between=(0, 1)).judge(
        table_of([(30, "Bern")] * 3), quasi_identifiers=COLUMNS, population=table_of(population)
    )
    assert finding.status == "not_evaluated"


def test_types_that_differ_between_the_tables_are_named_in_the_error() -> None:
    visits = pd.DataFrame({"zip": ["8001", "8002"]})
    register = pd.DataFrame({"zip": [8001.0, 8002.0, None]})
    with pytest.raises(ParameterError, match=r"'zip' holds text in the table and numbers in the population: read both"):
        pp.delta_presence(visits, population=register, quasi_identifiers=["zip"])


def test_codes_read_as_numbers_raise() -> None:
    """02138 read as 2138 would be counted among the people of 2138*: the class would look larger than it is."""
    visits = pd.DataFrame({"zip": ["213**"]})
    register = pd.DataFrame({"zip": [2138, 21380, 21381]})
    with pytest.raises(ColumnError, match="leading zeros"):
        pp.delta_presence(
            visits, population=register, quasi_identifiers=["zip"], hierarchies={"zip": mask_hierarchy(length=5)}
        )
    text = pd.DataFrame({"zip": ["02138", "21380", "21381"]})
    found = pp.delta_presence(
        visits, population=text, quasi_identifiers=["zip"], hierarchies={"zip": mask_hierarchy(length=5)}
    )
    assert (found.minimum, found.maximum) == (0, Fraction(1, 2))


def test_missing_values_are_a_class_of_their_own() -> None:
    population = [(None, "Bern")] * 4 + [(30, "Bern")]
    found = found_in([(None, "Bern")], population)
    assert (found.minimum, found.maximum) == (0, Fraction(1, 4))


def test_suppressed_values_stand_for_everybody_only_by_a_hierarchy() -> None:
    population = [(30, "Bern")] * 3 + [(41, "Chur")]
    assert found_in([("*", "*")], population, hierarchies=HIERARCHIES).maximum == Fraction(1, 4)
    with pytest.raises(ParameterError, match="generalized"):
        found_in([("*", "*")], population)


def test_a_limit_holds_at_both_ends() -> None:
    population, table = [(30, "Bern")] * 10 + [(41, "Chur")] * 10, [(30, "Bern")] * 2 + [(41, "Chur")]
    for between, passed, people in (((0.1, 0.2), True, None), ((0.11, 0.2), False, 10), ((0.1, 0.19), False, 10)):
        finding = pp.require("delta_presence", between=between).judge(
            table_of(table), quasi_identifiers=COLUMNS, population=table_of(population)
        )
        assert (finding.passed, finding.people_affected) == (passed, people)
        assert "0.1 to 0.2" in finding.reason
    for wrong in (
        {"at_most": 0.2},
        {"between": (0.2, 0.1)},
        {"between": (0, 1.1)},
        {"between": (0, 1), "sensitive": "a"},
    ):
        with pytest.raises(ParameterError):
            pp.require("delta_presence", **wrong)


def test_exact_where_floating_point_ties() -> None:
    """Two shares that are the same float: the larger is found by whole numbers."""
    many = 10**17
    rows = [("a", 0), ("b", 0)]
    population = FrequencyTable.from_rows(COLUMNS, rows, counts=[3 * many, 3 * many])
    table = FrequencyTable.from_rows(COLUMNS, rows, counts=[many, many + 1])
    found = delta_presence(table, quasi_identifiers=COLUMNS, population=population)
    assert found.maximum == Fraction(many + 1, 3 * many)
    assert found.minimum == Fraction(1, 3)


def test_row_order_and_index_do_not_matter() -> None:
    generator = random.Random(3)
    population = [(n % 5, "ab"[n % 2]) for n in range(60)]
    table = population[:21]
    first = found_in(table, population)
    generator.shuffle(table)
    generator.shuffle(population)
    frames = [pd.DataFrame(rows, columns=COLUMNS, index=[7] * len(rows)) for rows in (table, population)]
    again = pp.delta_presence(frames[0], population=frames[1], quasi_identifiers=COLUMNS)
    assert (first.minimum, first.maximum) == (again.minimum, again.maximum)


def engines(frame: pd.DataFrame, folder: Path, name: str) -> dict[str, Any]:
    """The same rows in several engines."""
    url = sa.create_engine(f"sqlite:///{folder / 'house.db'}")
    frame.to_sql(name, url, index=False)
    connection = duckdb.connect()
    connection.register("given", frame)
    relation = connection.sql("SELECT * FROM given")
    return {"pandas": frame, "polars": pl.from_pandas(frame), "sqlite": pp.sql_table(url, name), "duckdb": relation}


def test_two_tables_in_every_pair_of_engines(tmp_path: Path) -> None:
    population = pd.DataFrame([(20 + n % 7, f"80{n % 4:02d}") for n in range(80)], columns=COLUMNS)
    table = population.iloc[3:30]
    here, there = engines(table, tmp_path, "visits"), engines(population, tmp_path, "register")
    answers = set()
    for one, other in product(here, there):
        found = pp.delta_presence(here[one], population=there[other], quasi_identifiers=COLUMNS)
        answers.add((found.minimum, found.maximum, found.rows, found.classes))
    assert len(answers) == 1
    expected = oracle.presence(
        list(table.itertuples(index=False, name=None)), list(population.itertuples(index=False, name=None))
    )
    assert answers.pop()[:2] == (min(expected), max(expected))


def test_a_generalized_release_against_the_original_register() -> None:
    register = pd.DataFrame({"age": range(20, 60), "city": ["Bern", "Chur"] * 20})
    visits = register.iloc[::4]
    ages = interval_hierarchy(start=20, stop=60, widths=[20])
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {
                "age": {"role": "quasi_identifier", "hierarchy": ages.specification},
                "city": "quasi_identifier",
            },
            "requirements": [{"delta_presence": {"between": [0, 0.5]}}],
        }
    )
    assert str(policy.requirements[0]) == "delta_presence between 0 and 0.5"
    released = visits.assign(age=[ages.generalize(age, 1) for age in visits["age"]])
    verdict = policy.judge(released, population=register, fingerprint=True)
    assert verdict.passed, verdict.reasons
    (finding,) = verdict.findings
    assert (finding.measurement.minimum, finding.measurement.maximum) == (0, Fraction(1, 2))
    assert not policy.judge(visits, population=register).passed
    assert policy.judge(visits).findings[0].status == "not_evaluated"
    shown = json.dumps(verdict.to_dict())
    assert "Bern" not in shown
    assert "[20, 40)" not in shown


def test_the_verdict_binds_the_population_it_was_compared_with() -> None:
    register = pd.DataFrame({"age": [30, 30, 41, 41], "city": "Bern"})
    plain: dict[str, Any] = {"dataset": "visits", "columns": {"age": "quasi_identifier", "city": "quasi_identifier"}}
    compared = pp.Policy.from_dict({**plain, "requirements": [{"k_map": {"at_least": 2}}]})
    first = compared.judge(register.iloc[:1], population=register, fingerprint=True)
    other = compared.judge(register.iloc[:1], population=register.iloc[:3], fingerprint=True)
    assert first.population_fingerprint is not None
    assert first.population_fingerprint.rows == 4
    assert first.to_dict()["population_fingerprint"] != other.to_dict()["population_fingerprint"]
    assert first.fingerprint == other.fingerprint
    alone = pp.Policy.from_dict({**plain, "requirements": [{"k_anonymity": {"at_least": 1}}]})
    assert alone.judge(register, population=register, fingerprint=True).population_fingerprint is None
    assert compared.judge(register.iloc[:1], population=register).population_fingerprint is None
    assert compared.judge(register.iloc[:1], fingerprint=True).population_fingerprint is None


def test_unknown_columns_and_units_raise() -> None:
    frame = pd.DataFrame({"age": [30], "city": ["Bern"], "person": [1]})
    with pytest.raises(ColumnError):
        pp.delta_presence(frame, population=frame[["age"]], quasi_identifiers=COLUMNS)
    with pytest.raises(ColumnError, match="hierarchies"):
        pp.delta_presence(frame, population=frame, quasi_identifiers=["age"], hierarchies={"city": HIERARCHIES["city"]})
    for wrong in (3, {"age": 3}, {"age": {"tabel": []}}):
        with pytest.raises(pp.PrivacyPluginError, match="hierarch"):
            pp.require("delta_presence", between=(0, 1), hierarchies=wrong)
    with pytest.raises(ParameterError, match="needs the population"):
        pp.delta_presence(frame, quasi_identifiers=COLUMNS, population=None)
    counted = pp.frequency_table(frame, COLUMNS, unit="person")
    with pytest.raises(ParameterError):
        delta_presence(counted, quasi_identifiers=COLUMNS, population=table_of([(30, "Bern")]))
