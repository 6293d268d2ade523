"""A judgement asks a database few questions: over a network every statement waits for its answer."""

import random
from pathlib import Path

import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from tests.engines import postgresql_database

DATABASES = ["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)]
MOST_STATEMENTS = 12
HIERARCHIES = {
    "age": {"intervals": {"start": 0, "stop": 100, "widths": [5, 10, 20]}},
    "sex": {"tree": {"any": ["m", "f"]}},
    "zip": {"mask": {"length": 4}},
}
POLICY = {
    "dataset": "visits",
    "columns": {
        **{name: {"role": "quasi_identifier", "hierarchy": given} for name, given in HIERARCHIES.items()},
        "diagnosis": "sensitive",
        "cost": "insensitive",
    },
    "requirements": [
        {"k_anonymity": {"at_least": 2}},
        {"l_diversity": {"at_least": 2}},
        {"t_closeness": {"at_most": 0.9}},
        {"maximum_disclosure": {"knowledge": 1, "below": 1}},
        {"delta_presence": {"between": [0, 0.9]}},
        {"k_map": {"at_least": 2}},
    ],
    "anonymize": {"method": "generalize"},
}


def fill(engine: sa.Engine) -> None:
    """Store 200 generalized rows, and a population of 3,000 people with their original values."""
    rng = random.Random(1)
    ages, zips = ("[20, 30)", "[30, 40)"), ("90**", "91**")
    rows = [(rng.choice(ages), rng.choice("mf"), rng.choice(zips), rng.choice("abcde"), cost) for cost in range(200)]
    people = [
        (str(rng.randrange(20, 40)), rng.choice("mf"), f"9{rng.randrange(2)}{rng.randrange(100):02}")
        for _ in range(3000)
    ]
    metadata = sa.MetaData()
    named = [sa.Column(name, sa.String(20)) for name in ("age", "sex", "zip", "diagnosis")]
    visits = sa.Table("visits", metadata, *named, sa.Column("cost", sa.Integer))
    census = sa.Table("census", metadata, *[sa.Column(name, sa.String(20)) for name in ("age", "sex", "zip")])
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(visits.insert(), [dict(zip(visits.c.keys(), row, strict=True)) for row in rows])
        connection.execute(census.insert(), [dict(zip(census.c.keys(), row, strict=True)) for row in people])


@pytest.mark.parametrize("fingerprint", [False, True])
@pytest.mark.parametrize("database", DATABASES)
def test_six_requirements_with_a_population(database: str, fingerprint: bool, tmp_path: Path) -> None:
    address = f"duckdb:///{tmp_path / 'house.duckdb'}"
    engine = postgresql_database() if database == "postgresql" else sa.create_engine(address)
    fill(engine)
    statements: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda _, __, statement, *rest: statements.append(statement))
    policy = pp.Policy.from_dict(POLICY)
    tables = [pp.sql_table(engine, name) for name in ("visits", "census")]
    verdict = policy.judge(tables[0], population=tables[1], fingerprint=fingerprint)
    assert verdict.passed
    assert len(verdict.findings) == 6
    assert len(statements) <= MOST_STATEMENTS, statements
