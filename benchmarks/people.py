"""Compare metrics that count people with the engine's own COUNT(DISTINCT person) GROUP BY of the same columns.

    python benchmarks/people.py [--people 1000000] [--runs 5] [duckdb postgresql]

Three rows a person; age, sex and zip are the person's, the diagnosis is the visit's. The engine's own query groups by
the quasi-identifiers and fetches the groups. Ours are `k_anonymity`, which asks the same and whether anybody is in two
classes, and `attribute_risk`, which also counts the people of every class who have each value. In the table `moved` one
person in ten has rows in two classes: then the classes of everybody are fetched. Runs are interleaved; the ratio is
that of the best clock times. The target for `k_anonymity` is 1.3.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import privacy_plugin as pp
from privacy_plugin.sources import sql_table

TARGET = 1.3
VISITS = 3
QUASI_IDENTIFIERS = ["age", "sex", "zip"]
CLASS = ", ".join(QUASI_IDENTIFIERS)
OWN = f"SELECT {CLASS}, count(DISTINCT person) FROM {{table}} GROUP BY {CLASS}"
ROLES: dict[str, Any] = {"quasi_identifiers": QUASI_IDENTIFIERS, "unit": "person"}


def generate_visits(people: int) -> pd.DataFrame:
    """Generate several rows for every person, in no order."""
    generator = np.random.default_rng(7)
    person = generator.permutation(np.repeat(np.arange(people), VISITS))
    ages = np.clip(generator.normal(45, 20, people), 0, 99).astype(int)
    zips = np.array([f"{number:05d}" for number in generator.choice(99999, 80, replace=False)], dtype=object)
    place = np.minimum(generator.zipf(1.4, people), len(zips)) - 1
    sexes = generator.integers(0, 2, people)
    diagnoses = np.array([f"diagnosis {number}" for number in range(40)], dtype=object)
    return pd.DataFrame(
        {
            "person": person,
            "age": ages[person],
            "sex": np.array(["f", "m"], dtype=object)[sexes[person]],
            "zip": zips[place[person]],
            "diagnosis": diagnoses[np.minimum(generator.zipf(1.3, len(person)), 40) - 1],
        }
    )


def move_some(visits: pd.DataFrame) -> pd.DataFrame:
    """Return the visits with a tenth of the people a year older in some of their rows."""
    older = (visits["person"] % 10 == 0) & (visits["diagnosis"] < "diagnosis 2")
    return visits.assign(age=visits["age"] + older)


def load_duckdb(tables: dict[str, pd.DataFrame], folder: Path) -> sa.Engine:
    """Load the tables into a DuckDB file."""
    engine = sa.create_engine(f"duckdb:///{folder}/visits.duckdb")
    with engine.begin() as connection:
        raw: Any = connection.connection.driver_connection
        for name, frame in tables.items():
            raw.register("loaded", frame)
            raw.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded")
            raw.unregister("loaded")
    return engine


def load_postgresql(tables: dict[str, pd.DataFrame], folder: Path) -> sa.Engine:
    """Load the tables into the PostgreSQL server of the tests."""
    from tests.engines import postgresql_database

    engine = postgresql_database()
    with engine.begin() as connection:
        for name, frame in tables.items():
            connection.exec_driver_sql(f"CREATE TABLE {name} (person int, age int, sex text, zip text, diagnosis text)")
            raw: Any = connection.connection.driver_connection
            with raw.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                copy.write(frame.to_csv(sep="\t", header=False, index=False))
            connection.exec_driver_sql(f"ANALYZE {name}")
    return engine


def own_query(engine: sa.Engine, table: str) -> Callable[[], Any]:
    """Return the engine's own query, with its groups fetched."""

    def ask() -> Any:
        with engine.connect() as connection:
            return connection.exec_driver_sql(OWN.format(table=table)).all()

    return ask


def best_times(sides: dict[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    """Return the best clock time of every side, run in turn."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(runs):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            times[name].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


def main() -> None:
    """Print the times of every engine and table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", default=["duckdb", "postgresql"])
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    visits = generate_visits(given.people)
    tables = {"agreeing": visits, "moved": move_some(visits)}
    print(f"{given.people:,} people, {len(visits):,} rows, {visits.groupby(QUASI_IDENTIFIERS).ngroups:,} classes")
    print(f"{'engine':<12}{'table':<10}{'own':>8}{'k':>8}{'ratio':>7}{'risk':>8}{'ratio':>7}")
    for name in given.engines:
        with tempfile.TemporaryDirectory() as folder:
            engine = {"duckdb": load_duckdb, "postgresql": load_postgresql}[name](tables, Path(folder))
            for table in tables:
                data = sql_table(engine, table)
                found = best_times(
                    {
                        "own": own_query(engine, table),
                        "k": lambda data=data: pp.k_anonymity(data, **ROLES),  # type: ignore[misc]
                        "risk": lambda data=data: pp.attribute_risk(data, **ROLES, sensitive="diagnosis"),  # type: ignore[misc]
                    },
                    given.runs,
                )
                own, k, risk = found.values()
                met = "" if table != "agreeing" or k <= TARGET * own else f"  (target {TARGET})"
                print(f"{name:<12}{table:<10}{own:>7.2f}s{k:>7.2f}s{k / own:>7.2f}{risk:>7.2f}s{risk / own:>7.2f}{met}")
            engine.dispose()


if __name__ == "__main__":
    main()
