"""Generate synthetic hospital data: a year of admissions, and the population register around the hospital.

Every draw comes from one seeded generator, column by column, so that a million rows take seconds and the same seed
gives the same tables. The register is generated first; admission depends on age. A visit has the same values for a
person as the register, including missing values: the patients are a subset of the register, as delta-presence requires.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from privacy_plugin.demo import hospital_rates as rates
from privacy_plugin.errors import ParameterError

VISITS, REGISTER = "hospital_visits", "population_register"
REGISTER_FACTOR = 3  # people in the register for every visit
FIRST_DAY, DAYS = np.datetime64("2024-01-01"), 366

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def generate_hospital(rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `rows` visits, one per person, and a register of three times as many people.

    Visits: patient_id (unique text), age, sex, zip (five digits as text, leading zeros kept), occupation,
    admission_date, diagnosis (depends on age and sex), length_of_stay, cost. Register: register_id, age, sex, zip,
    occupation. Cost: one pass per column.

    >>> visits, register = generate_hospital(100, seed=7)
    >>> len(visits), len(register), visits["patient_id"].is_unique
    (100, 300, True)
    """
    visits, register = generate_arrow(rows, seed)
    return _frame(visits), _frame(register)


def load_hospital(engine: sa.Engine, *, rows: int, seed: int) -> None:
    """Write the tables `hospital_visits` and `population_register` to a database, replacing them.

    DuckDB reads the Arrow columns directly; other databases are written in batches.
    """
    tables = dict(zip((VISITS, REGISTER), generate_arrow(rows, seed), strict=True))
    with engine.begin() as connection:
        for name, table in tables.items():
            if engine.dialect.name == "duckdb":
                _write_duckdb(connection, name, table)
            else:
                types: Any = {"admission_date": sa.Date()} if name == VISITS else None
                _frame(table).to_sql(name, connection, if_exists="replace", index=False, chunksize=20_000, dtype=types)


def generate_arrow(rows: int, seed: int) -> tuple[pa.Table, pa.Table]:
    """Return visits and register as Arrow tables."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError(f"rows must be an integer of at least 1, got {rows!r}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"seed must be an integer of at least 0, got {seed!r}")
    generator = np.random.default_rng(seed)
    people = _people(generator, rows * REGISTER_FACTOR)
    register = pa.table({"register_id": _identifiers("R", generator.permutation(len(people.age))), **people.columns()})
    patients = people.take(_admitted(generator, people, rows))
    visits = pa.table(
        {
            "patient_id": _identifiers("P", generator.permutation(rows)),
            **patients.columns(),
            **_stays(generator, patients),
        }
    )
    return visits, register


@dataclass(frozen=True, kw_only=True, eq=False)
class _People:
    """Attribute codes of people, and masks of missing values."""

    age: Numbers
    woman: Mask
    postcode: Numbers
    occupation: Numbers
    postcodes: Sequence[str]
    missing: dict[str, Mask]

    @property
    def age_group(self) -> Numbers:
        return np.searchsorted(rates.AGE_STARTS, self.age, side="right").astype(np.int64) - 1

    def take(self, chosen: Numbers) -> "_People":
        return _People(
            age=self.age[chosen],
            woman=self.woman[chosen],
            postcode=self.postcode[chosen],
            occupation=self.occupation[chosen],
            postcodes=self.postcodes,
            missing={name: mask[chosen] for name, mask in self.missing.items()},
        )

    def columns(self) -> dict[str, pa.Array]:
        return {
            "age": pa.array(self.age, mask=self.missing["age"]),
            "sex": _texts(["m", "f"], self.woman.astype(np.int64), self.missing["sex"]),
            "zip": _texts(self.postcodes, self.postcode, self.missing["zip"]),
            "occupation": _texts(_occupations(), self.occupation, self.missing["occupation"]),
        }


def _people(generator: np.random.Generator, count: int) -> _People:
    postcodes, sizes, kinds = _postcodes(generator)
    postcode = _draw(generator, sizes, count)
    group = np.empty(count, dtype=np.int64)
    for kind, name in enumerate(rates.AGE_WEIGHTS):
        here = kinds[postcode] == kind
        group[here] = _draw(generator, rates.AGE_WEIGHTS[name], int(here.sum()))
    starts = np.array([*rates.AGE_STARTS, 90])
    age = starts[group] + (generator.random(count) * (starts[group + 1] - starts[group])).astype(np.int64)
    oldest = group == len(rates.AGE_STARTS) - 1  # the number of people falls with age
    age[oldest] = np.minimum(starts[-2] + generator.exponential(7.0, int(oldest.sum())).astype(np.int64), 108)
    woman = generator.random(count) < np.array(rates.SHARE_WOMEN)[group]
    return _People(
        age=age,
        woman=woman,
        postcode=postcode,
        occupation=_occupation(generator, group, woman),
        postcodes=postcodes,
        missing={n: generator.random(count) < rates.MISSING[n] for n in ("age", "sex", "zip", "occupation")},
    )


def _postcodes(generator: np.random.Generator) -> tuple[list[str], Floats, Numbers]:
    """Return postcodes, their population (few large, many small) and their kind."""
    areas = [f"{digit}{number:02d}" for digit, count in rates.AREAS.items() for number in range(10, 10 + count)]
    codes = [f"{area}{number:02d}" for area in areas for number in range(1, rates.POSTCODES_AN_AREA + 1)]
    area_sizes = generator.permutation(np.arange(1, len(areas) + 1) ** -rates.AREA_SKEW)
    ranks = np.arange(1, rates.POSTCODES_AN_AREA + 1) ** -rates.POSTCODE_SKEW
    sizes = np.concatenate([size * generator.permutation(ranks) for size in area_sizes])
    return codes, sizes, _draw(generator, list(rates.POSTCODE_KINDS.values()), len(codes))


def _occupations() -> list[str]:
    return [*rates.OCCUPATIONS, rates.CHILD, rates.PUPIL, rates.STUDENT, rates.RETIRED]


def _occupation(generator: np.random.Generator, group: Numbers, woman: Mask) -> Numbers:
    names = _occupations()
    work = np.empty(len(group), dtype=np.int64)
    for position, here in enumerate((woman, ~woman)):
        weights = [entry[position] for entry in rates.OCCUPATIONS.values()]
        work[here] = _draw(generator, weights, int(here.sum()))
    chance = generator.random(len(group))
    work[(group == 2) & (chance < rates.SHARE_STUDENTS)] = names.index(rates.STUDENT)
    work[chance < np.array(rates.SHARE_RETIRED)[group]] = names.index(rates.RETIRED)
    work[group == 0] = names.index(rates.CHILD)
    work[group == 1] = names.index(rates.PUPIL)
    return work


def _admitted(generator: np.random.Generator, people: _People, rows: int) -> Numbers:
    """Draw people without replacement, weighted by age group: those with the smallest exponential draws."""
    weights = np.array(rates.ADMISSION_WEIGHTS)[people.age_group]
    clocks = generator.exponential(1.0, len(weights)) / weights
    return generator.permutation(np.argpartition(clocks, rows - 1)[:rows])


def _stays(generator: np.random.Generator, patients: _People) -> dict[str, pa.Array]:
    rows, groups = len(patients.age), patients.age_group
    facts = list(rates.DIAGNOSES.values())
    diagnosis = np.empty(rows, dtype=np.int64)
    for group in range(len(rates.AGE_STARTS)):
        women, men = (groups == group) & patients.woman, (groups == group) & ~patients.woman
        diagnosis[women] = _draw(generator, [fact.women[group] for fact in facts], int(women.sum()))
        diagnosis[men] = _draw(generator, [fact.men[group] for fact in facts], int(men.sum()))
    mean_days = np.array([fact.days for fact in facts])[diagnosis] * (1 + patients.age / 200)
    stay = 1 + generator.poisson(generator.gamma(1.6, np.maximum(mean_days - 1, 0.2) / 1.6))
    daily = np.array([fact.daily_cost for fact in facts])[diagnosis]
    cost = np.round(daily * stay * generator.lognormal(0.0, 0.35, rows) / 100).astype(np.int64) * 100
    return {
        "admission_date": pa.array(_days(generator, np.array([fact.winter for fact in facts])[diagnosis])),
        "diagnosis": _texts(list(rates.DIAGNOSES), diagnosis, generator.random(rows) < rates.MISSING["diagnosis"]),
        "length_of_stay": pa.array(stay.astype(np.int64)),
        "cost": pa.array(np.maximum(cost, 100), mask=generator.random(rows) < rates.MISSING["cost"]),
    }


def _days(generator: np.random.Generator, winter: Floats) -> npt.NDArray[np.datetime64]:
    """Draw days of the year: fewer on weekends, and more in winter for seasonal diagnoses."""
    calendar = FIRST_DAY + np.arange(DAYS)
    weekday = (calendar.astype(np.int64) + 3) % 7
    weekly = np.where(weekday >= 5, 0.55, 1.0)
    season = np.cos(2 * np.pi * (np.arange(DAYS) - 20) / DAYS)
    day = np.empty(len(winter), dtype=np.int64)
    for surplus in np.unique(winter):
        here = winter == surplus
        day[here] = _draw(generator, weekly * (1 + surplus * season), int(here.sum()))
    return calendar[day]


def _draw(generator: np.random.Generator, weights: Sequence[float] | Floats, count: int) -> Numbers:
    """Draw positions with the given weights."""
    sums = np.cumsum(np.asarray(weights, dtype=np.float64))
    drawn: Numbers = np.searchsorted(sums, generator.random(count) * sums[-1], side="right").astype(np.int64)
    return drawn


def _texts(names: Sequence[str], codes: Numbers, missing: Mask) -> pa.Array:
    return pa.array(names).take(pa.array(codes, mask=missing))


def _identifiers(letter: str, numbers: Numbers) -> pa.Array:
    digits = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), 8, "0")
    return pc.binary_join_element_wise(letter, digits, "")


def _frame(table: pa.Table) -> pd.DataFrame:
    """Convert to pandas with nullable integers, so that an age stays 39 if other ages are missing."""
    whole: dict[pa.DataType, Any] = {pa.int64(): pd.Int64Dtype()}
    frame: pd.DataFrame = table.to_pandas(types_mapper=whole.get, date_as_object=False)
    return frame


def _write_duckdb(connection: sa.Connection, name: str, table: pa.Table) -> None:
    raw: Any = connection.connection.driver_connection
    raw.register("generated_hospital", table)
    raw.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM generated_hospital')
    raw.unregister("generated_hospital")
