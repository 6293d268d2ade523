"""The generated hospital data: reproducible, a subset of the register, skewed, dependent, with missing values."""

import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.demo.hospital import REGISTER_FACTOR, generate_hospital, load_hospital
from privacy_plugin.errors import ParameterError

ROWS = 20_000
SHARED = ["age", "sex", "zip", "occupation"]
COLUMNS = ["patient_id", *SHARED, "admission_date", "diagnosis", "length_of_stay", "cost"]


@pytest.fixture(scope="module")
def hospital() -> tuple[pd.DataFrame, pd.DataFrame]:
    return generate_hospital(ROWS, seed=11)


@pytest.fixture(scope="module")
def visits(hospital: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    return hospital[0]


def test_the_same_seed_gives_the_same_tables() -> None:
    first, second, other = generate_hospital(500, 3), generate_hospital(500, 3), generate_hospital(500, 4)
    for one, two in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, two)
    assert not first[0].equals(other[0])


def test_every_visit_is_one_person(visits: pd.DataFrame) -> None:
    assert list(visits.columns) == COLUMNS
    assert len(visits) == ROWS
    assert visits["patient_id"].is_unique
    assert visits["patient_id"].notna().all()


def test_postcodes_are_text_with_leading_zeros(visits: pd.DataFrame) -> None:
    codes = visits["zip"].dropna()
    assert codes.str.fullmatch(r"\d{5}").all()
    assert codes.str.startswith("0").any()


def test_the_register_contains_all_patients(hospital: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    visits, register = hospital
    assert len(register) == REGISTER_FACTOR * len(visits)
    assert register["register_id"].is_unique
    people = register.groupby(SHARED, dropna=False).size()
    patients = visits.groupby(SHARED, dropna=False).size()
    assert (patients <= people.reindex(patients.index).fillna(0)).all()


def test_identifiers_do_not_link_the_tables(hospital: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    visits, register = hospital
    numbers = visits["patient_id"].str[1:], register["register_id"].str[1:].iloc[: len(visits)]
    assert (numbers[0].to_numpy() == numbers[1].to_numpy()).mean() < 0.01


@pytest.mark.parametrize("column", ["age", "sex", "zip", "occupation", "diagnosis", "cost"])
def test_some_values_are_missing(visits: pd.DataFrame, column: str) -> None:
    assert 0 < visits[column].isna().mean() < 0.05


def test_postcodes_are_skewed(visits: pd.DataFrame) -> None:
    sizes = visits["zip"].value_counts()
    assert sizes.iloc[0] > 20 * sizes.iloc[-1]


def test_diagnoses_depend_on_age_and_sex(visits: pd.DataFrame) -> None:
    known = visits.dropna(subset=["age", "sex", "diagnosis"])
    births = known[known["diagnosis"] == "childbirth"]
    assert set(births["sex"]) == {"f"}
    assert births["age"].between(5, 59).all()
    assert set(known.loc[known["diagnosis"] == "prostate cancer", "sex"]) == {"m"}
    mean_age = known.groupby("diagnosis")["age"].mean()
    assert mean_age["dementia"] > 70 > mean_age["asthma"]


def test_children_have_no_occupation(visits: pd.DataFrame) -> None:
    young = visits[visits["age"] < 5]["occupation"].dropna()
    assert set(young) == {"infant"}


def test_dates_lie_in_one_year(visits: pd.DataFrame) -> None:
    assert set(visits["admission_date"].dt.year) == {2024}
    weekday = visits["admission_date"].dt.dayofweek.value_counts()
    assert weekday[6] < 0.8 * weekday[2]


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_rows_must_be_a_positive_integer(rows: object) -> None:
    with pytest.raises(ParameterError, match="rows must be an integer"):
        generate_hospital(rows, 1)  # type: ignore[arg-type]


def test_one_row_is_enough() -> None:
    visits, register = generate_hospital(1, 1)
    assert (len(visits), len(register)) == (1, REGISTER_FACTOR)


def loaded_equals_generated(engine: sa.Engine) -> None:
    load_hospital(engine, rows=400, seed=5)
    load_hospital(engine, rows=300, seed=5)  # replaces
    visits, register = generate_hospital(300, 5)
    for name, frame in (("hospital_visits", visits), ("population_register", register)):
        columns = list(frame.columns)
        found = pp.frequency_table(pp.sql_table(engine, name), columns)
        expected = pp.frequency_table(frame, columns)
        assert found.dictionaries == expected.dictionaries
        assert found.codes.tolist() == expected.codes.tolist()
        assert found.counts.tolist() == expected.counts.tolist()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_tables_are_the_same_in_a_database(dialect: str, tmp_path: object) -> None:
    loaded_equals_generated(sa.create_engine(f"{dialect}:///{tmp_path}/hospital.db"))


@pytest.mark.postgres
def test_tables_are_the_same_in_postgresql(postgresql: sa.Engine) -> None:
    loaded_equals_generated(postgresql)
