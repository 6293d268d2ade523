"""Queries that are read as tables."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import sql_table
from tests.sources.loading import DATABASES, LOADERS, text_table


@pytest.mark.parametrize("engine", DATABASES)
def test_queries_are_tables(engine: str, tmp_path: Path) -> None:
    table = LOADERS[engine](text_table(city=["Bern", "Bern", "Basel"], age=["1", "2", "3"]), tmp_path)
    name, bind = table._origin.parts[-1], table._bind
    people = sa.table(name, sa.column("city", sa.Text), sa.column("age", sa.Text))
    queries = [
        sa.select(people).where(people.c.city == "Bern"),
        sa.select(people).where(people.c.city == "Bern").subquery(),
        sa.select(people).where(people.c.city == sa.bindparam("c", "Bern")),
        sa.text(f"SELECT * FROM {name} WHERE city = 'Bern';"),
        sa.text(f"SELECT * FROM {name} WHERE city = :c").bindparams(c="Bern"),
        sa.text(f"SELECT * FROM {name} WHERE city = :c; ").bindparams(c="Bern"),
        sa.select(sa.text("*")).select_from(people).where(people.c.city == "Bern"),
        sa.union_all(sa.select(people).where(people.c.age == "1"), sa.select(people).where(people.c.age == "2")),
    ]
    expected = None
    for query in queries:
        source = sql_table(bind, query)
        assert source.columns == ("city", "age")
        assert source.frequencies(["city"]).counts.tolist() == [2]
        assert source.row_count() == 2
        expected = expected or source.fingerprint()
        assert source.fingerprint() == expected
        published = source.publish(f"from_query_{name}", columns=["age"], verify=lambda copy: None)
        assert published.row_count() == 2
        recoding = Recoding(keep=("age",), mappings={"age": {"1": "a", "2": "b"}})
        assert source.recode(recoding, target=f"from_query_{name}").row_count() == 2
    if engine == "postgresql":  # the others rename the second one
        with pytest.raises(ColumnError, match="more than one column named 'city'"):
            _ = sql_table(bind, sa.text(f"SELECT city, city FROM {name}")).columns
