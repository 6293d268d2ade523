"""Regions that hide who is in the table, found and applied where both tables lie: the same rows in every engine."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.sources import open_source
from tests.sources.loading import DATABASES, ENGINES, LOADERS, Table, pair, target_of

AGES = {"30": ("young", "*"), "41": ("old", "*"), "55": ("old", "*")}
CITIES = {"Bern": ("west", "*"), "Genf": ("west", "*"), "Chur": ("east", "*")}
HIERARCHIES = {"age": TableHierarchy(AGES), "city": TableHierarchy(CITIES)}
KINDS = {"age": "text", "city": "text", "who": "integer"}
PEOPLE = [
    *[("30", "Bern")] * 6,
    *[("30", "Genf")] * 2,
    *[("41", "Chur"), ("55", "Chur"), ("55", "Bern")] * 2,
    *[(None, "Chur")] * 3,
]
VISITS = [PEOPLE[n] for n in (0, 7, 8, 9, 14)]


def table_of(rows: list[tuple[Any, ...]]) -> Table:
    ages, cities = zip(*rows, strict=True)
    return Table(kinds=KINDS, values={"age": ages, "city": cities, "who": list(range(len(rows)))})


def applied(plan: Any, engine: str, data: Any, folder: Path) -> Any:
    return open_source(plan.apply(data, target=target_of(engine, folder, "released")))


def rows_of(source: Any) -> Counter[Any]:
    table = source.frequencies(source.columns)
    return Counter({table.values(row): int(table.counts[row]) for row in range(table.distinct)})


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same_regions_and_releases_the_same_rows(engine: str, tmp_path: Path) -> None:
    visits, register = pair(engine, table_of(VISITS), table_of(PEOPLE), tmp_path)
    plan = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, "2/5"))
    released = applied(plan, engine, visits, tmp_path)
    assert released.columns == ("age", "city", "who")
    number: Any = str if engine == "csv" else int
    texts = [("30", "west"), ("30", "west"), ("old", "*"), ("old", "*"), (None, "Chur")]
    assert rows_of(released) == Counter((*text, number(who)) for who, text in enumerate(texts))
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "city"], "hierarchies": HIERARCHIES}
    found = pp.delta_presence(released, population=register, **asked)
    assert (found.minimum, found.maximum, plan.classes) == (plan.minimum, plan.maximum, 3)


@pytest.mark.parametrize("engine", DATABASES)
def test_a_failed_table_leaves_the_last_release_in_place(engine: str, tmp_path: Path) -> None:
    visits, register = pair(engine, table_of(VISITS), table_of(PEOPLE), tmp_path)
    plan = pp.multidimensional_presence(visits, population=register, hierarchies=HIERARCHIES, delta=(0, "2/5"))
    released = applied(plan, engine, visits, tmp_path)
    before = released.fingerprint()
    tables = sorted(sa.inspect(visits.bind).get_table_names()) if engine != "duckdb" else None
    name = register.name.replace('"', "`") if engine == "mariadb" else register.name
    everybody = sa.text(f"SELECT * FROM {name} WHERE city = 'Bern'")
    strangers = sa.text("SELECT '30' AS age, 'Secretville' AS city, 1 AS who")
    for query, error in ((everybody, InfeasibleError), (strangers, ParameterError)):
        with pytest.raises(error) as raised:
            plan.apply(pp.sql_table(visits.bind, query), target="released")
        assert "Secretville" not in str(raised.value)
    assert pp.sql_table(visits.bind, "released").fingerprint() == before
    assert tables is None or sorted(sa.inspect(visits.bind).get_table_names()) == tables
    with pytest.raises(ParameterError, match="pass its name"):
        plan.apply(visits)


def test_people_who_appear_in_the_database_meanwhile_stop_the_release(tmp_path: Path) -> None:
    """The recoding is prepared from groups; a combination that came later has no region, and nothing is written."""
    visits = LOADERS["sqlite"](table_of(VISITS), tmp_path)
    plan = pp.multidimensional_presence(
        visits, population=LOADERS["pandas"](table_of(PEOPLE), tmp_path), hierarchies=HIERARCHIES, delta=(0, "2/5")
    )
    recoding = plan.recoding(visits)
    with visits.bind.begin() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES ('41', 'Bern', 9)")
    with pytest.raises(pp.PrivacyPluginError, match="6 rows into 5; the table was not written"):
        visits.recode(recoding, target="released")
    assert not sa.inspect(visits.bind).has_table("released")
