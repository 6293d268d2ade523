"""A view may have other rows whenever it is read: what is released is what was judged, or nothing."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate.certificate import CertificateStore
from privacy_plugin.sources import Source
from tests.certificates import KEYS
from tests.engines import postgresql_database

POLICY = pp.Policy.from_dict(
    {
        "dataset": "visits",
        "columns": {"age": "quasi_identifier", "disease": "sensitive"},
        "requirements": [{"k_anonymity": {"at_least": 3}}, {"l_diversity": {"at_least": 2}}],
    }
)
ROWS = pd.DataFrame(
    {
        "safe": [1] * 6 + [0] * 6,
        "age": [30] * 6 + [*range(6)],
        "disease": ["flu", "gout"] * 6,
    }
)

Changing = Callable[[int], sa.Engine]


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)])
def changing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Changing]:
    """Create a view `judged` with harmless rows for the first reads and other rows after that."""
    engines = []
    number = itertools.count()

    def made(harmless_reads: int) -> sa.Engine:
        kind = request.param
        address = f"{kind}:///{tmp_path}/{next(number)}.db"
        engine = postgresql_database() if kind == "postgresql" else sa.create_engine(address)
        engines.append(engine)
        if kind == "sqlite":
            reads = itertools.count(1)
            sa.event.listen(engine, "connect", lambda raw, _: raw.create_function("reads", 0, lambda: next(reads)))
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE rows (safe INTEGER, age INTEGER, disease VARCHAR)")
            insert = sa.text("INSERT INTO rows VALUES (:safe, :age, :disease)")
            connection.execute(insert, ROWS.to_dict(orient="records"))
            if kind != "sqlite":
                connection.exec_driver_sql("CREATE SEQUENCE reads")
            counted = "reads()" if kind == "sqlite" else "nextval('reads')"
            connection.exec_driver_sql(
                "CREATE VIEW judged AS SELECT age, disease FROM rows "
                f"WHERE safe = (SELECT CASE WHEN {counted} <= {harmless_reads} THEN 1 ELSE 0 END)"
            )
        return engine

    yield made
    for engine in engines:
        engine.dispose()


def test_a_changing_view_releases_only_judged_rows(changing: Changing, tmp_path: Path) -> None:
    """After any number of harmless reads, the other rows are never released."""
    outcomes = set()
    for harmless_reads in range(6):
        source = pp.sql_table(changing(harmless_reads), "judged")
        store = CertificateStore(tmp_path / str(harmless_reads), keys=KEYS)
        verdict = POLICY.judge(source, fingerprint=True)
        store.record(verdict)

        def verify(staged: Source, store: CertificateStore = store) -> None:
            store.require(POLICY, staged)

        try:
            released = source.publish("released", columns=POLICY.rules.released, verify=verify)
            outcomes.add((verdict.passed, pp.k_anonymity(released, quasi_identifiers=["age"]).value))
        except CertificateError:
            outcomes.add((verdict.passed, None))
    assert outcomes == {(False, None), (True, None), (True, 6)}


def test_a_snapshot_of_a_changing_view_is_constant(changing: Changing) -> None:
    source = pp.sql_table(changing(1), "judged")
    with source.snapshot() as held:
        answers = {(held.frequencies(["age"]).rows, len(held.frequencies(["age"]).counts)) for _ in range(3)}
        assert answers == {(6, 1)}
        assert held.fingerprint() == held.fingerprint()
    with source.snapshot() as held:
        assert len(held.frequencies(["age"]).counts) == 6


def test_a_query_on_a_changing_view_is_copied(changing: Changing) -> None:
    engine = changing(1)
    view = sa.table("judged", sa.column("age"), sa.column("disease"))
    for query in (sa.select(view).where(view.c.age >= 0), sa.text("SELECT * FROM judged")):
        with pp.sql_table(engine, query).snapshot() as held:
            assert held.fingerprint() == held.fingerprint()
        engine = changing(1)


def test_no_copy_of_a_view_remains(changing: Changing) -> None:
    engine = changing(100)
    with engine.connect() as connection:
        source = pp.sql_table(connection, "judged")
        assert POLICY.judge(source, fingerprint=True).passed
        catalog = {"sqlite": "SELECT name FROM temp.sqlite_master", "duckdb": "SELECT table_name FROM duckdb_tables()"}
        default = "SELECT relname FROM pg_class WHERE relpersistence = 't'"
        names = connection.exec_driver_sql(catalog.get(engine.dialect.name, default)).scalars().all()
    assert not [name for name in names if str(name).startswith("privacy_plugin")]


def test_a_copied_view_keeps_date_types(tmp_path: Path) -> None:
    """SQLite loses declared types in a copy."""
    engine = sa.create_engine(f"sqlite:///{tmp_path}/house.db")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (born DATE, name VARCHAR COLLATE NOCASE)")
        connection.exec_driver_sql("INSERT INTO t VALUES ('2001-02-03', 'a'), ('2001-02-03', 'A')")
        connection.exec_driver_sql("CREATE VIEW v AS SELECT * FROM t")
    for columns in (["born"], ["name"], ["born", "name"]):
        table = pp.sql_table(engine, "t").frequencies(columns)
        with pp.sql_table(engine, "v").snapshot() as held:
            copy = held.frequencies(columns)
        assert (copy.dictionaries, copy.counts.tolist()) == (table.dictionaries, table.counts.tolist())
