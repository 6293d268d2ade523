"""A generalized table and its original population join in one engine with the same result as in Python."""

from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError, PrivacyPluginError
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.population import SharedPopulation
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.metrics.presence.population_join import join_population, one_meaning
from privacy_plugin.sources import open_source, sql_table
from privacy_plugin.sources.population_join import join_groups, open_snapshots
from tests.metrics.populations import AGES, CITIES, COLUMNS, HIERARCHIES, at_levels
from tests.metrics.presence_labels import LEAVES, at_level, hierarchies
from tests.sources.joining import RENAMED_THERE, table_of
from tests.sources.loading import DATABASES, ENGINES, Table, as_csv_reads, pair

PEOPLE: list[tuple[Any, ...]] = [
    (age, city) for n, age in enumerate(AGES) for m, city in enumerate(CITIES) for _ in range(2 * n + m + 2)
]
INSIDE = [*PEOPLE[:3], *PEOPLE[8:12], PEOPLE[-1]]
LEVELS = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 2)]
STRANGERS: list[tuple[Any, ...]] = [(77, "Rom"), (77, None), (30, None)]  # of whom no hierarchy knows


def loaded(rows: list[tuple[Any, ...]]) -> Table:
    """Numbers stay numbers, and what has become text is text."""
    ages = {type(row[0]) for row in rows} - {type(None)}
    return table_of(rows, {"age": "integer" if ages <= {int} else "text", "city": "text"})


def answers(table: Any, population: Any, names: list[str], known: dict[str, Hierarchy]) -> list[Any]:
    """What every metric says, or how it refuses."""
    tables = Tables(open_source(table)), Tables(open_source(population))
    found: list[Any] = []
    for metric in (pp.delta_presence, pp.k_map, partial(pp.journalist_risk, variant="average")):
        try:
            answer = metric(tables[0], population=tables[1], quasi_identifiers=names, hierarchies=known)
            found.append(answer.to_dict())
        except PrivacyPluginError as refused:
            found.append((type(refused), str(refused)))
    return found


def joined(table: Any, population: Any, names: list[str], known: dict[str, Hierarchy]) -> Any:
    return join_groups(open_source(table), open_source(population), names, partial(one_meaning, known))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_answers_on_every_level(engine: str, tmp_path: Path) -> None:
    for levels in LEVELS if engine != "spark" else LEVELS[3:4]:
        rows, people = loaded(at_levels(INSIDE, levels)), loaded([*PEOPLE, *STRANGERS])
        here, there = pair(engine, rows, people, tmp_path)
        read = [as_csv_reads(table) if engine == "csv" else table for table in (rows, people)]
        plain = [pd.DataFrame(table.rows, columns=COLUMNS, dtype=object) for table in read]
        expected = answers(*plain, COLUMNS, HIERARCHIES)
        assert answers(here, there, COLUMNS, HIERARCHIES) == expected
        assert all(isinstance(one, dict) for one in expected)
        found = joined(here, there, COLUMNS, HIERARCHIES)
        assert (found is not None) == (engine in RENAMED_THERE)
        if found is not None:
            assert found.table.dictionaries == open_source(here).frequencies(COLUMNS).dictionaries
            assert found.population.rows == len(people.rows)


@pytest.mark.parametrize("engine", [param for param in ENGINES if param.id in RENAMED_THERE])
def test_rows_that_the_population_lacks_are_an_error(engine: str, tmp_path: Path) -> None:
    for strange in ([("young", "north")], [("young", "east")] * 9):
        here, there = pair(engine, loaded([*at_levels(INSIDE, (1, 1)), *strange]), loaded(PEOPLE), tmp_path)
        assert joined(here, there, COLUMNS, HIERARCHIES) is None
        with pytest.raises(ParameterError, match="more rows than people in the population") as caught:
            pp.delta_presence(here, population=there, quasi_identifiers=COLUMNS, hierarchies=HIERARCHIES)
        assert "north" not in str(caught.value)


@settings(deadline=None, derandomize=True, max_examples=120)
@given(data=st.data(), paths=st.tuples(hierarchies(), hierarchies()))
def test_whatever_the_labels_the_same_answers_or_refusals(data: st.DataObject, paths: Any) -> None:
    """Labels that are used twice, rows on levels of their own, missing and suppressed people, rows of nobody."""
    cells = st.tuples(*[st.sampled_from([*LEAVES, None, "*", "stranger"])] * 2)
    population = data.draw(st.lists(cells, min_size=1, max_size=10))
    levels = st.tuples(*[st.integers(0, len(path["a"])) for path in paths])
    common, mixed = data.draw(levels), data.draw(st.integers(0, 3)) == 0
    table = []
    for person in data.draw(st.lists(st.sampled_from(population), min_size=1, max_size=len(population), unique=True)):
        known = [{**path, "stranger": ("stranger",) * len(path["a"])} for path in paths]
        chosen = data.draw(levels) if mixed else common
        table.append(tuple(at_level(v, p, n) for v, p, n in zip(person, known, chosen, strict=True)))
    names = ["one", "two"]
    trees: dict[str, Hierarchy] = {name: TableHierarchy(path) for name, path in zip(names, paths, strict=True)}
    rows = [pd.DataFrame(each, columns=names, dtype=object) for each in (table, population)]
    connection = duckdb.connect()
    schema = pa.schema([(name, pa.string()) for name in names])
    for name, frame in zip(("visits", "register"), rows, strict=True):
        connection.register(name, pa.Table.from_pandas(frame, schema=schema, preserve_index=False))
    there = [connection.table(name) for name in ("visits", "register")]
    assert answers(*there, names, trees) == answers(*rows, names, trees)


def test_locally_generalized_rows_are_joined_by_whole_rows(tmp_path: Path) -> None:
    """`west` and `Bern` overlap; that no person fits both only the other column shows."""
    here, there = pair("sqlite", loaded([("young", "west"), ("old", "Bern")]), loaded(PEOPLE), tmp_path)
    assert joined(here, there, COLUMNS, HIERARCHIES) is None
    found = pp.k_map(here, population=there, quasi_identifiers=COLUMNS, hierarchies=HIERARCHIES)
    assert found.value == sum(age == 30 and city in ("Bern", "Genf") for age, city in PEOPLE)


@pytest.mark.parametrize("engine", DATABASES)
def test_in_the_transaction_that_holds_both(engine: str, tmp_path: Path) -> None:
    here, there = pair(engine, loaded(at_levels(INSIDE, (1, 1))), loaded(PEOPLE), tmp_path)
    expected = answers(here, there, COLUMNS, HIERARCHIES)
    with open_snapshots(open_source(here), open_source(there)) as (table, population):
        assert population is not None
        assert (joined(table, population, COLUMNS, HIERARCHIES) is not None) == (engine in RENAMED_THERE)
        assert answers(table, population, COLUMNS, HIERARCHIES) == expected
        assert population.row_count() == len(PEOPLE)


@pytest.mark.parametrize(
    ("engine", "closed"),
    [
        ("sqlite", "PRAGMA query_only = ON"),
        pytest.param(
            "postgresql", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", marks=pytest.mark.postgres
        ),
    ],
)
def test_who_may_only_read_is_answered_too(engine: str, closed: str, tmp_path: Path) -> None:
    here, there = pair(engine, loaded(at_levels(INSIDE, (1, 1))), loaded(PEOPLE), tmp_path)
    expected = answers(here, there, COLUMNS, HIERARCHIES)
    assert joined(here, there, COLUMNS, HIERARCHIES) is not None
    with here.bind.connect() as connection:
        connection.exec_driver_sql(closed)
        reading = [sql_table(connection, each.name) for each in (here, there)]
        assert joined(*reading, COLUMNS, HIERARCHIES) is None
        assert answers(*reading, COLUMNS, HIERARCHIES) == expected


def test_a_view_of_numbers_and_text_keeps_both() -> None:
    """SQLite would store '01' as 1 in a copy, and one person would pass for one of two."""
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE numbers (code INTEGER)",
            "CREATE TABLE texts (code TEXT)",
            "INSERT INTO numbers VALUES (1)",
            "INSERT INTO texts VALUES ('01')",
            "CREATE VIEW register AS SELECT code FROM numbers UNION ALL SELECT code FROM texts",
        ):
            connection.exec_driver_sql(statement)
    visits, register = sql_table(engine, "texts"), sql_table(engine, "register")
    known: dict[str, Hierarchy] = {"code": TableHierarchy({"01": ("*",), 1: ("*",)})}
    assert pp.k_map(visits, population=register, quasi_identifiers=["code"], hierarchies=known).value == 1
    content = register.fingerprint()
    with open_snapshots(visits, register) as (table, population):
        assert population is not None
        assert population.fingerprint() == content
        assert population.frequencies(["code"]).counts.tolist() == [1, 1]
        assert pp.k_map(table, population=population, quasi_identifiers=["code"], hierarchies=known).value == 1


def test_a_population_that_was_joined_by_other_hierarchies_is_refused(tmp_path: Path) -> None:
    here, there = (Tables(open_source(one)) for one in pair("sqlite", loaded(INSIDE), loaded(PEOPLE), tmp_path))
    table, population = here.compared(there, COLUMNS, hierarchies=HIERARCHIES)
    assert isinstance(population, SharedPopulation)
    for other in (None, {"age": HIERARCHIES["age"]}):
        with pytest.raises(ParameterError, match="cannot be generalized again"):
            join_population(table, population, quasi_identifiers=COLUMNS, hierarchies=other)
    known = join_population(table, population, quasi_identifiers=COLUMNS, hierarchies=HIERARCHIES)
    assert known.everybody == len(PEOPLE)
    assert here.compared(there, COLUMNS)[1] is not population
