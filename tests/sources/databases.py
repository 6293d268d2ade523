"""Helpers that run statements directly in a database."""

import sqlalchemy as sa

from privacy_plugin.sources import SqlTable
from privacy_plugin.sources.sql.connections import open_connection


def run(engine: sa.Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            result = connection.exec_driver_sql(statement)
            if result.returns_rows:
                result.all()


def tables(source: SqlTable) -> set[str]:
    names = {"sqlite": "SELECT name FROM sqlite_master", "duckdb": "SELECT table_name FROM duckdb_tables()"}
    names["mariadb"] = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    query = names.get(source.engine, "SELECT tablename FROM pg_tables WHERE schemaname NOT LIKE 'pg_%'")
    with open_connection(source.bind, "listing tables") as connection:
        return {row[0] for row in connection.execute(sa.text(query)).all()}
