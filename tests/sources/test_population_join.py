"""Two tables of one engine: the groups are joined there, and the answers are those of groups joined here."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.sources import SqlTable, open_source, sql_table
from privacy_plugin.sources.population_join import join_groups, open_snapshots
from tests.oracles import population as oracle
from tests.sources.joining import JOINED_THERE, KINDS, table_of
from tests.sources.loading import DATABASES, ENGINES, LOADERS, as_csv_reads, pair

NAMES = list(KINDS)
PEOPLE: list[tuple[Any, ...]] = [
    *[(30, "Bern", 61.5, True)] * 5,
    *[(None, None, None, None)] * 4,
    *[(30, "bern", 0.0, True)] * 3,
    *[(30, "*", -0.0, False)] * 3,
    *[(41, "", float("nan"), None)] * 2,
    *[(41, "Bern ", 0.0, False)] * 2,
    (2**53, "Bern", 61.5, True),
    (2**53 + 1, "Bern", 61.5, True),
    *[(None, "Bern", None, None)] * 6,
]
INSIDE = [PEOPLE[n] for n in (0, 1, 5, 9, 12, 15, 17, 19)]


def answers(table: Any, population: Any, names: list[str]) -> list[Any]:
    table, population = Tables(open_source(table)), Tables(open_source(population))  # joined once for all metrics
    asked: dict[str, Any] = {"quasi_identifiers": names, "population": population}
    found = [
        pp.delta_presence(table, **asked),
        pp.k_map(table, **asked),
        *(pp.journalist_risk(table, variant=variant, **asked) for variant in ("highest", "average")),
        pp.journalist_risk(table, variant="share_at_risk", threshold=0.3, **asked),
    ]
    return [one.to_dict() for one in found]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_answers_as_when_groups_are_joined_here(engine: str, tmp_path: Path) -> None:
    """Missing values meet missing values, NaN included; case, blanks, `*` and large numbers keep apart."""
    names = NAMES[:3] if engine in ("sqlite", "mariadb") else NAMES  # whose booleans are numbers of a declared type
    here, there = pair(engine, table_of(INSIDE), table_of(PEOPLE), tmp_path)
    joined = join_groups(open_source(here), open_source(there), names)
    assert (joined is not None) == (engine in JOINED_THERE)
    loaded = [table_of(rows) for rows in (INSIDE, PEOPLE)]
    read = [as_csv_reads(table) if engine == "csv" else table for table in loaded]
    plain = [pd.DataFrame(table.rows, columns=NAMES, dtype=object) for table in read]
    assert answers(here, there, names) == answers(*plain, names)
    if joined is not None:
        whole = open_source(there).frequencies(names)
        inside = open_source(here).frequencies(names)
        assert joined.table.counts.tolist() == inside.counts.tolist()
        assert joined.table.dictionaries == inside.dictionaries
        assert joined.population.groups.distinct == inside.distinct
        assert joined.population.rows == whole.rows == len(PEOPLE)
        assert joined.population.other_groups == whole.distinct - inside.distinct
        assert joined.population.other_people > 0


def test_the_definition_person_by_person(tmp_path: Path) -> None:
    rows, people = ([tuple("?" if v is None or v != v else v for v in r) for r in table] for table in (INSIDE, PEOPLE))
    expected = oracle.presence(rows, people)
    here, there = pair("duckdb_relation", table_of(INSIDE), table_of(PEOPLE), tmp_path)
    found = pp.delta_presence(here, population=there, quasi_identifiers=NAMES)
    assert (found.minimum, found.maximum) == (min(expected), max(expected)) == (0, 1)
    everybody = pp.delta_presence(there, population=there, quasi_identifiers=NAMES)
    assert (everybody.minimum, everybody.maximum) == (1, 1)
    some = pp.k_map(here, population=there, quasi_identifiers=["city"])
    assert some.value == min(oracle.candidates([r[1:2] for r in rows], [p[1:2] for p in people]))


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_the_population_lacks_are_an_error_in_every_engine(engine: str, tmp_path: Path) -> None:
    for rows in ([*INSIDE, (77, "Bern", 61.5, True)], [(30, "Bern", 61.5, True)] * 6):
        here, there = (Tables(open_source(one)) for one in pair(engine, table_of(rows), table_of(PEOPLE), tmp_path))
        for metric in (pp.delta_presence, pp.k_map, pp.journalist_risk):
            with pytest.raises(ParameterError, match="more rows than people in the population") as caught:
                metric(here, population=there, quasi_identifiers=NAMES)
            assert "77" not in str(caught.value)


@pytest.mark.parametrize("engine", [param for param in ENGINES if param.id in JOINED_THERE and param.id != "csv"])
def test_columns_of_two_types_are_compared_by_meaning(engine: str, tmp_path: Path) -> None:
    """Codes read as numbers match nothing and say why; whole numbers match floats of the same value."""
    codes = pair(
        engine, table_of([("02138",)], {"zip": "text"}), table_of([(2138.0,)] * 3, {"zip": "float"}), tmp_path / "a"
    )
    with pytest.raises(ParameterError, match="'zip' holds text in the table and numbers in the population"):
        pp.delta_presence(codes[0], population=codes[1], quasi_identifiers=["zip"])
    ages = pair(
        engine, table_of([(39,)], {"age": "integer"}), table_of([(39.0,), (39.0,)], {"age": "float"}), tmp_path / "b"
    )
    assert pp.delta_presence(ages[0], population=ages[1], quasi_identifiers=["age"]).maximum == Fraction(1, 2)


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()


def test_sqlite_compares_neither_by_collation_nor_by_affinity() -> None:
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE visits (name TEXT COLLATE NOCASE, code)",
            "CREATE TABLE register (name TEXT COLLATE NOCASE, code)",
            "INSERT INTO visits VALUES ('Ann', '39'), ('ann', 39)",
            "INSERT INTO register VALUES ('Ann', '39'), ('ann', 39), ('ANN', 39.0), ('ann', 39.0)",
        ):
            connection.exec_driver_sql(statement)
    visits, register = sql_table(engine, "visits"), sql_table(engine, "register")
    joined = join_groups(visits, register, ["name", "code"])
    assert joined is not None
    assert (joined.table.rows, joined.table.distinct) == (2, 2)
    assert sorted(joined.population.groups.counts.tolist()) == [1, 2]
    assert joined.population.other_people == 1
    with pytest.raises(ColumnError, match="look like another value of another type"):
        pp.k_map(visits, population=register, quasi_identifiers=["name", "code"])
    texts = sql_table(engine, sa.text("SELECT CAST(code AS TEXT) AS code FROM visits"))
    numbers = sql_table(engine, sa.text("SELECT CAST(code AS INTEGER) AS code FROM register"))
    with pytest.raises(ParameterError, match="more rows than people"):  # the text '39' is not a number
        pp.k_map(texts, population=numbers, quasi_identifiers=["code"])


def test_duckdb_compares_bytes_whatever_the_session_collation() -> None:
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'nocase'")
    connection.execute("CREATE TABLE visits AS SELECT 'Ann' AS name UNION ALL SELECT 'ann'")
    connection.execute("CREATE TABLE register AS SELECT 'Ann' AS name UNION ALL SELECT 'ann' UNION ALL SELECT 'ANN'")
    here, there = connection.table("visits"), connection.table("register")
    found = pp.k_map(here, population=there, quasi_identifiers=["name"])
    assert (found.value, found.classes) == (1, 2)
    assert pp.delta_presence(here, population=there, quasi_identifiers=["name"]).minimum == 0


@pytest.mark.postgres
def test_postgresql_compares_bytes_whatever_the_collations(tmp_path: Path) -> None:
    engine = LOADERS["postgresql"](table_of(INSIDE), tmp_path).bind
    with engine.begin() as connection:
        for statement in (
            "CREATE COLLATION IF NOT EXISTS anycase "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            "CREATE TABLE IF NOT EXISTS joined_visits AS SELECT 'Ann' COLLATE anycase AS name",
            'CREATE TABLE IF NOT EXISTS joined_register AS SELECT n COLLATE "C" AS name '
            "FROM unnest(ARRAY['Ann', 'ann', 'ann', NULL]) AS n",
        ):
            connection.exec_driver_sql(statement)
    visits, register = sql_table(engine, "joined_visits"), sql_table(engine, "joined_register")
    assert join_groups(visits, register, ["name"]) is not None
    assert pp.k_map(visits, population=register, quasi_identifiers=["name"]).value == 1


def test_only_one_place_is_one_place(tmp_path: Path) -> None:
    """Two connections, two databases, two engines: joined here, with the same answer."""
    one, other = (LOADERS["duckdb_relation"](table_of(rows), tmp_path) for rows in (INSIDE, PEOPLE))
    assert join_groups(open_source(one), open_source(other), NAMES) is None
    assert pp.k_map(one, population=other, quasi_identifiers=NAMES).value == 1
    file = LOADERS["sqlite"](table_of(PEOPLE), tmp_path)
    again = sql_table(sa.create_engine(file.bind.url), "t")
    assert join_groups(file, again, ["age"]) is None
    assert join_groups(file, file, ["age"]) is not None
    with file.bind.connect() as first, file.bind.connect() as second:
        assert join_groups(sql_table(first, "t"), sql_table(second, "t"), ["age"]) is None
        assert join_groups(sql_table(first, "t"), sql_table(first, "t"), ["age"]) is not None
    with pytest.raises(ColumnError, match="nobody"):
        Tables(file).compared(Tables(file), ["nobody"])


@pytest.mark.parametrize("engine", DATABASES)
def test_both_tables_of_a_database_are_seen_at_one_moment(engine: str, tmp_path: Path) -> None:
    """Who leaves the register while it is judged is still there for the judge: joined, counted and fingerprinted."""
    here, there = pair(engine, table_of(INSIDE), table_of(PEOPLE), tmp_path)
    with open_snapshots(open_source(here), open_source(there)) as (table, population):
        assert isinstance(table, SqlTable)
        assert isinstance(population, SqlTable)
        assert table.bind is population.bind
        before = population.fingerprint(["age"])
        if engine == "postgresql":  # the others do not let anybody write meanwhile, or wait for a lock
            with there.bind.begin() as connection:
                connection.exec_driver_sql(f"DELETE FROM {there.name}")
        assert pp.k_map(table, population=population, quasi_identifiers=["age"]).details["population"] == len(PEOPLE)
        assert population.fingerprint(["age"]) == before


def test_a_policy_asks_the_engine_once_for_all_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privacy_plugin.measuring.measure._FETCHED_ROWS", 0)  # small populations are fetched whole
    here, there = pair("sqlite", table_of(INSIDE), table_of(PEOPLE), tmp_path)
    lines = [{"k_map": {"at_least": 1}}, {"delta_presence": {"between": [0, 1]}}, {"journalist_risk": {"at_most": 1}}]
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": dict.fromkeys(NAMES[:3], "quasi_identifier") | {"smoker": "insensitive"},
            "requirements": [*lines, {"k_anonymity": {"at_least": 1}}],
        }
    )
    ran: list[str] = []
    sa.event.listen(here.bind, "before_cursor_execute", lambda c, u, statement, *rest: ran.append(statement))
    verdict = policy.judge(here, population=there)
    assert verdict.passed, verdict.reasons
    assert sum("GROUP BY" in statement for statement in ran) == 1
    assert verdict.findings[1].measurement is not None
    assert verdict.findings[1].measurement.rows == len(PEOPLE)


@pytest.mark.parametrize("written", ["select", "subquery", "text", "params", "cte"])
@pytest.mark.parametrize("engine", DATABASES)
def test_parameters_and_parts_of_one_name_keep_their_values(engine: str, written: str, tmp_path: Path) -> None:
    """In one statement they would have one: the table of 2024 would be compared as that of 2023."""
    rows: list[tuple[Any, ...]] = [(99, "2024", 0.0, True), *[(30, "2023", 0.0, True)] * 5, (99, "2023", 0.0, True)]
    visits, register = pair(engine, table_of(rows[:2]), table_of(rows), tmp_path)
    age, year = NAMES[:2]

    def of(source: Any, value: str) -> SqlTable:
        table = sa.table(source._origin.parts[-1], sa.column(age, sa.BigInteger), sa.column(year, sa.Text))
        query = sa.select(table).where(table.c[year] == sa.bindparam("year", value))
        quoted = source.bind.dialect.identifier_preparer.quote_identifier(year)
        text = sa.text(f"SELECT * FROM {table.name} WHERE {quoted} = :year").bindparams(year=value)
        later = sa.select(table).where(table.c[year] == sa.bindparam("year", type_=sa.Text)).params(year=value)
        part = sa.select(sa.select(table).where(table.c[year] == value).cte("part"))
        queries: dict[str, Any] = {"select": query, "subquery": query.subquery(), "text": text, "params": later}
        return sql_table(source.bind, {**queries, "cte": part}[written])

    table, population = of(visits, "2024"), of(register, "2023")
    asked: dict[str, Any] = {"quasi_identifiers": [age], "population": population}
    assert pp.k_map(table, **asked).value == 1
    assert not pp.require("k_map", at_least=2).judge(table, **asked).passed
