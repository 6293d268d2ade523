"""Failures in databases: drivers quote values, statements and parameters in their errors."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from tests.engines import postgresql_database
from tests.leaks.entry_points import engine_at
from tests.leaks.frame_failures import complain
from tests.leaks.markers import AGE, COLUMNS, DISEASE, NAME, ZIP, people
from tests.leaks.scenes import Scene, failure, policy

EVERYWHERE = ("python", "command line", "dagster", "great expectations")
POSTGRES = (pytest.mark.postgres,)


def filled(engine: sa.Engine, rows: Any = None, *, table: str = "visits", age: str = "BIGINT") -> sa.Engine:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {table} (name VARCHAR, age {age}, zip VARCHAR, disease VARCHAR)")
        statement = sa.text(f"INSERT INTO {table} VALUES (:name, :age, :zip, :disease)")
        chosen = people() if rows is None else rows
        connection.execute(statement, [dict(zip(COLUMNS, row, strict=True)) for row in chosen])
    return engine


def seen(engine: sa.Engine, *, view: str, **terms: str) -> Any:
    """Make a view of the people in which some columns are computed."""
    chosen = ", ".join(f"{terms.get(name, name)} AS {name}" for name in COLUMNS)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE VIEW {view} AS SELECT {chosen} FROM visits")
    return pp.sql_table(engine, view)


@failure(*EVERYWHERE, message="k-anonymity is 1")
def sqlite_values_outside_a_hierarchy(folder: Path) -> Scene:
    return Scene(data=pp.sql_table(filled(engine_at(folder)), "visits"))


@failure(*EVERYWHERE, message="OperationalError")
def sqlite_text_that_is_no_utf_8(folder: Path) -> Scene:
    """Its driver quotes the whole text that it could not decode."""
    engine = filled(engine_at(folder))
    with engine.begin() as connection:
        broken = f"{ZIP}".encode() + b"\xff\xfe"
        connection.exec_driver_sql(f"UPDATE visits SET zip = CAST(x'{broken.hex()}' AS TEXT) WHERE age > 100")
    return Scene(data=pp.sql_table(engine, "visits"))


@failure("python", "command line", message="OperationalError")
def sqlite_a_sum_that_overflows(folder: Path) -> Scene:
    engine = filled(engine_at(folder))
    return Scene(data=seen(engine, view="seen", age=f"abs(CASE age WHEN {AGE} THEN -9223372036854775808 ELSE age END)"))


@failure("python", "command line", message="OperationalError")
def sqlite_text_that_is_no_json(folder: Path) -> Scene:
    return Scene(data=seen(filled(engine_at(folder)), view="seen", zip="json_extract(zip, '$.a')"))


@failure("python", "great expectations", message="k-anonymity is 1")
def sqlite_types_that_do_not_fit_their_values(folder: Path) -> Scene:
    """SQLAlchemy converts what it reads, and quotes what it cannot convert."""
    engine = filled(engine_at(folder), age="TEXT")

    def typed(kind: Any, column: str = "zip") -> Any:
        table = sa.table("visits", *(sa.column(name, kind if name == column else sa.String()) for name in COLUMNS))
        return pp.sql_table(engine, sa.select(table))

    kinds = [sa.Date(), sa.DateTime(), sa.Enum("a", "b", name="kinds"), sa.Numeric(), sa.Uuid(), sa.JSON(), sa.Time()]
    kinds += [sa.Float(), sa.Interval(), sa.PickleType(), Refusing()]
    calls = [
        lambda kind=kind, column=column: pp.k_anonymity(typed(kind, column), quasi_identifiers=["age", column])
        for kind in kinds
        for column in ("zip", "age")
    ]
    calls += [lambda kind=kind: typed(kind).fingerprint() for kind in kinds]
    return Scene(data=typed(sa.Enum("a", "b", name="kinds")), calls=tuple(calls))


class Refusing(sa.types.TypeDecorator[Any]):
    """A type of the host's own that complains about a value by quoting it."""

    impl = sa.String
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        raise ValueError(f"{value!r} cannot be read")


@failure("python", "dagster", "great expectations", message="OperationalError")
def sqlite_a_function_of_the_host_that_raises(folder: Path) -> Scene:
    engine = filled(engine_at(folder))

    @sa.event.listens_for(engine, "connect")
    def add(connection: Any, _: Any) -> None:
        connection.create_function("checked", 1, complain)

    return Scene(data=seen(engine, view="seen", zip="checked(zip)"))


@failure("python", "command line", "dagster", message="OperationalError")
def sqlite_a_target_that_refuses_rows(folder: Path) -> Scene:
    """What a run would replace is a view, and a trigger quotes what is written."""
    engine = filled(engine_at(folder))
    with engine.begin() as connection:
        for name in ("made", "as_is", "anonymized", "release"):
            connection.exec_driver_sql(f"CREATE VIEW {name} AS SELECT '{ZIP}' AS zip")
    return Scene(data=pp.sql_table(engine, "visits"))


@failure(*EVERYWHERE, message="more rows than people in the population")
def sqlite_a_population_that_lacks_people(folder: Path) -> Scene:
    engine = filled(filled(engine_at(folder)), people()[:-1], table="population")
    return Scene(
        data=pp.sql_table(engine, "visits"),
        policy=policy({"delta_presence": {"between": [0, 0.5]}}, population="population"),
        population="population",
    )


@failure("python", "great expectations", message="OperationalError")
def sqlite_a_query_with_values_that_cannot_run(folder: Path) -> Scene:
    engine = filled(engine_at(folder))
    table = sa.table("visits", *(sa.column(name) for name in [*COLUMNS, "nothing"]))
    queries = [
        sa.select(table).where(table.c.zip == ZIP),
        sa.text(f"SELECT * FROM visits WHERE zip = '{ZIP}' AND disease = nothing('{NAME.replace(chr(39), '')}')"),
        sa.select(sa.literal(DISEASE).label("zip"), sa.func.no_such_function(NAME).label("age")),
    ]
    calls = tuple(
        (lambda query=query: pp.k_anonymity(pp.sql_table(engine, query), quasi_identifiers=["zip"]))
        for query in queries
    )
    return Scene(data=pp.sql_table(engine, queries[0]), calls=calls)


@failure("python", "command line", "dagster", message="ConversionException")
def duckdb_text_that_is_no_number(folder: Path) -> Scene:
    return Scene(data=seen(filled(engine_at(folder, "duckdb")), view="seen", age="CAST(zip AS INTEGER)"))


@failure("python", "command line", message="InvalidInputException")
def duckdb_text_that_is_no_date(folder: Path) -> Scene:
    return Scene(data=seen(filled(engine_at(folder, "duckdb")), view="seen", age="strptime(disease, '%Y')"))


@failure("python", "command line", message="ConversionException")
def duckdb_a_number_too_large(folder: Path) -> Scene:
    return Scene(data=seen(filled(engine_at(folder, "duckdb")), view="seen", age="CAST(age AS SMALLINT)"))


@failure(*EVERYWHERE, message="InvalidInputException")
def duckdb_an_error_of_the_view_itself(folder: Path) -> Scene:
    term = f"CASE WHEN zip = '{ZIP}' THEN error('bad zip ' || zip || ' of ' || disease) ELSE zip END"
    return Scene(data=seen(filled(engine_at(folder, "duckdb")), view="seen", zip=term))


@failure("python", "command line", "dagster", message="more rows than people in the population")
def duckdb_a_population_that_lacks_people(folder: Path) -> Scene:
    engine = filled(filled(engine_at(folder, "duckdb")), people()[:-1], table="population")
    rules = policy({"k_map": {"at_least": 2}}, {"journalist_risk": {"at_most": 0.5}}, population="population")
    return Scene(data=pp.sql_table(engine, "visits"), policy=rules, population="population")


@failure(*EVERYWHERE, message="SQLSTATE 22P02", marks=POSTGRES)
def postgresql_text_that_is_no_number(folder: Path) -> Scene:
    return Scene(data=seen(filled(postgresql_database()), view="seen", age="CAST(zip AS INTEGER)"))


@failure("python", "command line", message="SQLSTATE 22012", marks=POSTGRES)
def postgresql_division_by_zero(folder: Path) -> Scene:
    return Scene(data=seen(filled(postgresql_database()), view="seen", age=f"age / (age - {AGE})"))


@failure("python", "command line", message="SQLSTATE 22003", marks=POSTGRES)
def postgresql_a_number_too_large(folder: Path) -> Scene:
    return Scene(data=seen(filled(postgresql_database()), view="seen", age="CAST(age * 4 AS INTEGER)"))


@failure(*EVERYWHERE, message="SQLSTATE P0001", marks=POSTGRES)
def postgresql_a_function_that_tells_all(folder: Path) -> Scene:
    """Message, detail, hint, notice and warning quote the row."""
    engine = filled(postgresql_database())
    body = """
        BEGIN
            RAISE WARNING 'saw %', $1;
            RAISE NOTICE 'saw %', $1;
            RAISE EXCEPTION 'bad %', $1 USING DETAIL = 'Key (zip)=(' || $1 || ')', HINT = 'drop ' || $1;
        END
    """
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE FUNCTION tell(text) RETURNS text LANGUAGE plpgsql AS $code${body}$code$".replace("%", "%%")
        )
    return Scene(data=seen(engine, view="seen", zip=f"CASE WHEN zip = '{ZIP}' THEN tell(zip) ELSE zip END"))


@failure("python", "command line", "dagster", message="SQLSTATE 22P02", marks=POSTGRES)
def postgresql_a_target_whose_constraint_is_violated(folder: Path) -> Scene:
    """A domain that generalized values do not meet, and a trigger that sees every new table."""
    engine = filled(postgresql_database())
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION look() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM CAST(zip AS INTEGER) FROM visits WHERE age > 100; END $$"
        )
        connection.exec_driver_sql(
            "CREATE EVENT TRIGGER looking ON ddl_command_end "
            "WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS') EXECUTE FUNCTION look()"
        )
    return Scene(data=pp.sql_table(engine, "visits"))
