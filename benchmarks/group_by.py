"""Compare the cost of a frequency table with the engine's own GROUP BY of the same columns.

    python benchmarks/group_by.py [--rows 1000000] [--runs 7] [--columns 4] [pandas duckdb-rows duckdb-coded ...]

Both sides group the same generated rows and fetch the groups; runs are interleaved. The ratio of ours to the engine's
own is printed for the best clock time, the median clock time, and the best processor time of all threads; the target is
1.1. Where the machine has other work, read the processor time; PostgreSQL works in another process, so there only the
clock counts.

The pandas side is `groupby(sort=False)`, its fastest way. Databases return their groups as rows. DuckDB can also return
a pandas frame ("duckdb-frame"), an Arrow table with dictionary-encoded columns ("duckdb-coded"), or an Arrow table that
nothing reads ("duckdb"); dictionary encoding alone takes Arrow most of the 10% that the target allows. Our overhead
depends on the number of groups, not of rows; "duckdb-tenfold" shows it with ten times the rows.

With `--columns 3` there are 600 groups, with 4 there are 32,731; with 5, which adds the day of birth, nearly every row
is a group of its own. The last column is the time to fingerprint the same rows.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from privacy_plugin.sources import frequency_table, open_source, sql_table

COLUMNS = ["age", "sex", "insurance", "zip", "born"]
TARGET = 1.1

Side = Callable[[], Any]


def generate_people(rows: int, part: int = 0) -> pd.DataFrame:
    """Generate a register with skewed ages and postal codes, some missing; each part has other people."""
    generator = np.random.default_rng(7 + part)
    ages = np.clip(generator.normal(45, 20, rows), 0, 99).astype(int)
    places = np.random.default_rng(7).choice(99999, 80, replace=False)
    codes = np.array([f"{number:05d}" for number in places], dtype=object)
    zips = codes[np.minimum(generator.zipf(1.4, rows), len(codes)) - 1]
    zips[generator.random(rows) < 0.01] = None
    return pd.DataFrame(
        {
            "person": np.arange(rows),
            "age": ages,
            "sex": generator.choice(["f", "m"], rows),
            "zip": zips,
            "insurance": generator.choice(["public", "private", "none"], rows, p=[0.8, 0.15, 0.05]),
            "born": np.datetime64("1940-01-01") + generator.integers(0, 25_000, rows).astype("timedelta64[D]"),
        }
    ).astype({"born": "datetime64[s]"})


def prepare_pandas(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    return frame, lambda: frame.groupby(COLUMNS, dropna=False, sort=False).size()


def prepare_database(engine: sa.Engine) -> tuple[Any, Side]:
    query = f"SELECT {', '.join(COLUMNS)}, count(*) FROM people GROUP BY {', '.join(COLUMNS)}"

    def own() -> Any:
        with engine.connect() as connection:
            return connection.exec_driver_sql(query).all()

    return sql_table(engine, "people"), own


def load_duckdb(frames: Iterable[pd.DataFrame], folder: Path) -> sa.Engine:
    engine = sa.create_engine(f"duckdb:///{folder}/people.duckdb")
    with engine.begin() as connection:
        raw: Any = connection.connection.driver_connection
        raw.execute("DROP TABLE IF EXISTS people")
        for number, frame in enumerate(frames):
            raw.register("loaded", frame)
            raw.execute(f"{'INSERT INTO people' if number else 'CREATE TABLE people AS'} SELECT * FROM loaded")
            raw.unregister("loaded")
    return engine


def prepare_duckdb_frame(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    return prepare_duckdb_native(load_duckdb([frame], folder), "df")


def prepare_duckdb_arrow(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    return prepare_duckdb_native(load_duckdb([frame], folder), "to_arrow_table")


def prepare_duckdb_coded(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    data, own = prepare_duckdb_arrow(frame, folder)
    return data, lambda: [column.dictionary_encode() for column in own().columns[:-1]]


def prepare_duckdb_tenfold(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    engine = load_duckdb((generate_people(len(frame), part) for part in range(10)), folder)
    return prepare_duckdb_native(engine, "to_arrow_table")


def prepare_duckdb_native(engine: sa.Engine, form: str) -> tuple[Any, Side]:
    query = f"SELECT {', '.join(COLUMNS)}, count(*) FROM people GROUP BY {', '.join(COLUMNS)}"

    def own() -> Any:
        with engine.connect() as connection:
            native: Any = connection.connection.driver_connection
            return getattr(native.sql(query), form)()

    return sql_table(engine, "people"), own


def prepare_duckdb_rows(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    return prepare_database(load_duckdb([frame], folder))


def prepare_sqlite(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    engine = sa.create_engine(f"sqlite:///{folder}/people.sqlite")
    frame.to_sql("people", engine, index=False)
    return prepare_database(engine)


def prepare_postgresql(frame: pd.DataFrame, folder: Path) -> tuple[Any, Side]:
    from tests.engines import postgresql_database

    engine = postgresql_database()
    with engine.begin() as connection:
        columns = "person int, age int, sex text, zip text, insurance text, born date"
        connection.exec_driver_sql(f"CREATE TABLE people ({columns})")
        raw: Any = connection.connection.driver_connection
        with raw.cursor().copy("COPY people FROM STDIN") as copy:
            for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
                copy.write_row(tuple(row))
        connection.exec_driver_sql("ANALYZE people")
    return prepare_database(engine)


ENGINES: dict[str, Callable[[pd.DataFrame, Path], tuple[Any, Side]]] = {
    "pandas": prepare_pandas,
    "sqlite": prepare_sqlite,
    "postgresql": prepare_postgresql,
    "duckdb-rows": prepare_duckdb_rows,
    "duckdb-frame": prepare_duckdb_frame,
    "duckdb-coded": prepare_duckdb_coded,
    "duckdb": prepare_duckdb_arrow,
    "duckdb-tenfold": prepare_duckdb_tenfold,
}


def measure_seconds(side: Side) -> tuple[float, float]:
    """Return the seconds of the clock and of the processor."""
    start, processor = time.perf_counter(), time.process_time()
    side()
    return time.perf_counter() - start, time.process_time() - processor


def measure_interleaved(one: Side, other: Side, runs: int) -> tuple[Any, Any]:
    """Return best clock, best processor and median clock of each side; the first run warms up and is left out."""
    pairs = np.array([(measure_seconds(one), measure_seconds(other)) for _ in range(runs + 1)][1:])
    ours, theirs = np.concatenate([pairs.min(axis=0), np.median(pairs[:, :, :1], axis=0)], axis=1)
    return ours, theirs


def measure_engines(names: list[str], rows: int, runs: int) -> Iterator[tuple[str, int, Any, Any, float]]:
    frame = generate_people(rows)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            data, own = ENGINES[name](frame, Path(folder))
            ours, theirs = measure_interleaved(lambda data=data: frequency_table(data, COLUMNS), own, runs)  # type: ignore[misc]
            groups = frequency_table(data, COLUMNS).distinct
            spent, _ = measure_seconds(lambda data=data: open_source(data).fingerprint())  # type: ignore[misc]
            yield name, groups, ours, theirs, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=list(ENGINES), help=", ".join(ENGINES))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--columns", type=int, default=4, choices=[1, 2, 3, 4, 5])
    chosen = parser.parse_args()
    del COLUMNS[chosen.columns :]
    warnings.simplefilter("ignore")
    print(f"{chosen.rows} rows grouped by {len(COLUMNS)} columns; best of {chosen.runs}, target ratio {TARGET}")
    heads = f"{'ours':>10}{'own':>10}{'ratio':>8}{'of medians':>12}{'of processor':>14}{'fingerprint':>13}"
    print(f"{'engine':<16}{'groups':>8}{heads}")
    for name, groups, ours, theirs, print_seconds in measure_engines(chosen.engines, chosen.rows, chosen.runs):
        ratio, processor, median = ours / theirs
        shown = "" if name == "postgresql" else f"{processor:.2f}"
        ratios = f"{ratio:>8.2f}{median:>12.2f}{shown:>14}"
        print(f"{name:<16}{groups:>8}{ours[0]:>9.3f}s{theirs[0]:>9.3f}s{ratios}{print_seconds:>12.2f}s")


if __name__ == "__main__":
    main()
