"""Plans found and applied where the data lies: the same rows in every engine, and nothing half-written."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, InfeasibleError
from privacy_plugin.sources import SqlTable, open_source
from tests.sources.loading import DATABASES, ENGINES, LOADERS, Table, target_of

ZIPS = ["8001", "8002", "8003", "3001", "3002", "4051", "4051"]
DISEASES = ["flu", "cold", None, "flu", "cold", "flu", "flu"]
TABLE = Table(
    kinds={"zip": "text", "disease": "text", "note": "integer"},
    values={"zip": ZIPS, "disease": DISEASES, "note": list(range(7))},
)
REQUIREMENTS = [pp.require("k_anonymity", at_least=2), pp.require("l_diversity", at_least=2, sensitive="disease")]
HIERARCHIES = {"zip": pp.mask_hierarchy(length=4)}


def found(data: Any) -> pp.Plan:
    return pp.generalize(data, hierarchies=HIERARCHIES, requirements=REQUIREMENTS, max_suppression=0.3)


def applied(plan: pp.Plan, engine: str, data: Any, folder: Path, **given: Any) -> Any:
    return open_source(plan.apply(data, target=target_of(engine, folder, "released"), **given))


def rows_of(source: Any) -> Counter[Any]:
    table = source.frequencies(("zip", "disease"))
    return Counter({table.values(row): int(table.counts[row]) for row in range(table.distinct)})


KEPT = Counter({("800*", "flu"): 1, ("800*", "cold"): 1, ("800*", None): 1, ("300*", "flu"): 1, ("300*", "cold"): 1})


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same_plan_and_releases_the_same_rows(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](TABLE, tmp_path)
    plan = found(data)
    assert (plan.levels, plan.suppressed, plan.rows) == ({"zip": 1}, 2, 7)
    assert rows_of(applied(plan, engine, data, tmp_path)) == KEPT


@pytest.mark.parametrize("engine", ENGINES)
def test_masked_rows_have_a_star_in_every_engine(engine: str, tmp_path: Path) -> None:
    """The masked class (flu, flu) is not more diverse than before, so diversity is left out."""
    data = LOADERS[engine](TABLE, tmp_path)
    k3 = [pp.require("k_anonymity", at_least=3)]
    plan = pp.generalize(data, hierarchies=HIERARCHIES, requirements=k3, max_suppression=0.6)
    assert plan.suppressed == 4
    released = rows_of(applied(plan, engine, data, tmp_path, suppression="mask"))
    by_zip: Counter[Any] = Counter()
    for (code, _), rows in released.items():
        by_zip[code] += rows
    assert by_zip == {"800*": 3, "*": 4}


def tables_of(source: SqlTable) -> Any:
    return sorted(sa.inspect(source._bind).get_table_names())


UNSEEN = Table(kinds=TABLE.kinds, values={**TABLE.values, "zip": [*ZIPS[:-1], "secret-zip"]})
SCATTERED = Table(kinds=TABLE.kinds, values={**TABLE.values, "zip": [f"{n}00{n}" for n in range(1, 8)]})
REFUSED = [(UNSEEN, HierarchyError, "does not cover 1 value"), (SCATTERED, InfeasibleError, "suppression limit")]


@pytest.mark.parametrize("engine", DATABASES)
@pytest.mark.parametrize(("partition", "error", "words"), REFUSED, ids=["unseen", "scattered"])
def test_a_partition_that_is_refused_leaves_the_last_release_in_its_place(
    engine: str, partition: Table, error: Any, words: str, tmp_path: Path
) -> None:
    first = LOADERS[engine](TABLE, tmp_path)
    plan = found(first)
    name = f"released_{id(tmp_path)}"
    released = plan.apply(first, target=name)
    before = released.fingerprint()
    later = LOADERS[engine](partition, tmp_path)
    if engine in ("postgresql", "mariadb"):  # one database there: the release is in the same schema
        present = tables_of(later)
        with pytest.raises(error, match=words) as caught:
            plan.apply(later, target=name)
        assert tables_of(later) == present
    else:
        with pytest.raises(error, match=words) as caught:
            plan.apply(later, target="t_release")
        assert tables_of(later) == ["t"]
    assert "secret-zip" not in str(caught.value)
    assert released.fingerprint() == before


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(("partition", "error", "words"), REFUSED, ids=["unseen", "scattered"])
def test_a_file_that_was_released_before_stays_when_the_next_one_is_refused(
    suffix: str, partition: Table, error: Any, words: str, tmp_path: Path
) -> None:
    first, later = (LOADERS[suffix](table, tmp_path) for table in (TABLE, partition))
    plan, target = found(first), tmp_path / f"released.{suffix}"
    plan.apply(first, target=str(target))
    before, files = target.read_bytes(), sorted(tmp_path.iterdir())
    with pytest.raises(error, match=words):
        plan.apply(later, target=str(target))
    assert target.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("engine", DATABASES)
def test_an_engine_that_fails_while_it_writes_leaves_the_last_release(engine: str, tmp_path: Path) -> None:
    """A view stands where the table should go: the engine itself refuses, in the middle of its work."""
    data = LOADERS[engine](TABLE, tmp_path)
    plan, name = found(data), f"shown_{id(tmp_path)}"
    with data._bind.begin() as connection:
        connection.exec_driver_sql(f"CREATE VIEW {name} AS SELECT 1 AS one")
    present = tables_of(data)
    with pytest.raises(pp.PrivacyPluginError):
        plan.apply(data, target=name)
    assert tables_of(data) == present
    with data._bind.begin() as connection:
        assert connection.exec_driver_sql(f"SELECT one FROM {name}").scalar() == 1


def test_the_next_partition_is_released_by_the_saved_plan(tmp_path: Path) -> None:
    found(LOADERS["pandas"](TABLE, tmp_path)).save(tmp_path / "plan.json")
    later = Table(
        kinds=TABLE.kinds,
        values={"zip": ["5001", "5002", "6001", "6002"], "disease": ["flu", "cold", "a", "b"], "note": [1, 2, 3, 4]},
    )
    released = pp.load_plan(tmp_path / "plan.json").apply(LOADERS["duckdb"](later, tmp_path), target="released")
    assert rows_of(released) == {("500*", "flu"): 1, ("500*", "cold"): 1, ("600*", "a"): 1, ("600*", "b"): 1}
