"""Local plans found and applied where the data lies: the same regions and the same rows in every engine."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.sources import open_source
from tests.sources.loading import ENGINES, LOADERS, Table, target_of

ZIPS = ["8001", "8001", "8002", "8003", "3001", "3002", "4051", "4052", None, None]
AGES = [30, 30, 31, 31, 50, 51, 50, 30, 50, 50]
DISEASES = ["flu", "cold", "flu", "cold", "flu", "acne", "cold", "flu", "acne", "flu"]
TABLE = Table(
    kinds={"zip": "text", "age": "integer", "disease": "text", "note": "integer"},
    values={"zip": ZIPS, "age": AGES, "disease": DISEASES, "note": list(range(10))},
)
REQUIREMENTS = [pp.require("k_anonymity", at_least=2), pp.require("l_diversity", at_least=2, sensitive="disease")]


def hierarchies() -> dict[str, Any]:
    ages = TableHierarchy({n: [f"{n // 10 * 10}s", "*"] for n in (30, 31, 50, 51)})
    return {"zip": pp.mask_hierarchy(length=4), "age": ages}


def found(data: Any, **given: Any) -> pp.LocalPlan:
    return pp.generalize_locally(data, hierarchies=hierarchies(), requirements=REQUIREMENTS, **given)


def rows_of(source: Any) -> Counter[Any]:
    table = source.frequencies(("zip", "age", "disease"))
    return Counter({table.values(row): int(table.counts[row]) for row in range(table.distinct)})


RELEASED = Counter(
    {
        ("8001", "30", "flu"): 1,
        ("8001", "30", "cold"): 1,
        ("800*", "31", "flu"): 1,
        ("800*", "31", "cold"): 1,
        ("300*", "50s", "flu"): 1,
        ("300*", "50s", "acne"): 1,
        ("405*", "*", "cold"): 1,
        ("405*", "*", "flu"): 1,
        (None, "50", "acne"): 1,
        (None, "50", "flu"): 1,
    }
)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same_regions_and_releases_the_same_rows(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](TABLE, tmp_path)
    plan = found(data)
    assert (len(plan.regions), plan.suppressed, plan.rows) == (5, 0, 10)
    backwards = Table(kinds=TABLE.kinds, values={name: column[::-1] for name, column in TABLE.values.items()})
    other = found(LOADERS["pandas"](backwards, tmp_path))
    assert [(dict(r.labels), r.rows) for r in plan.regions] == [(dict(r.labels), r.rows) for r in other.regions]
    assert (plan.column_losses, plan.notes) == (other.column_losses, other.notes)
    plan.save(tmp_path / "plan.json")
    loaded = pp.load_plan(tmp_path / "plan.json")
    released = open_source(loaded.apply(data, target=target_of(engine, tmp_path, "released")))
    assert rows_of(released) == RELEASED


LATER = Table(
    kinds=TABLE.kinds,
    values={
        "zip": ["8001", "8001", "8007", "8002", "3001", "3009", "9999"],
        "age": [30, 30, 31, 31, 50, 51, 50],
        "disease": ["flu", "cold", "flu", "cold", "flu", "acne", "cold"],
        "note": list(range(7)),
    },
)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_next_partition_loses_what_fails_and_only_that(engine: str, tmp_path: Path) -> None:
    """9999 is in no region: it is suppressed where the plan allows it, and otherwise the table is refused."""
    first, later = LOADERS["pandas"](TABLE, tmp_path), LOADERS[engine](LATER, tmp_path)
    target = target_of(engine, tmp_path, "released_later")
    with pytest.raises(InfeasibleError, match="1 of 7 rows are outside all regions"):
        found(first).apply(later, target=target)
    with pytest.raises(InfeasibleError, match="suppression limit"):
        found(first, uncovered="suppress").apply(later, target=target)
    plan = found(first, uncovered="suppress", max_suppression=0.2)
    released = open_source(plan.apply(later, target=target, keep=["zip", "age", "disease"]))
    assert rows_of(released) == {
        ("8001", "30", "flu"): 1,
        ("8001", "30", "cold"): 1,
        ("800*", "31", "flu"): 1,
        ("800*", "31", "cold"): 1,
        ("300*", "50s", "flu"): 1,
        ("300*", "50s", "acne"): 1,
    }


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_masked_rows_have_a_star_in_every_column(engine: str, tmp_path: Path) -> None:
    values = {**LATER.values, "zip": [*LATER.values["zip"][:-2], "9998", "9999"], "age": [30, 30, 31, 31, 50, 50, 50]}
    later = LOADERS[engine](Table(kinds=TABLE.kinds, values=values), tmp_path)
    plan = found(LOADERS["pandas"](TABLE, tmp_path), uncovered="suppress", max_suppression=0.5)
    released = plan.apply(later, target=target_of(engine, tmp_path, "masked"), suppression="mask")
    table = open_source(released).frequencies(("zip", "age"))
    assert {table.values(row): int(table.counts[row]) for row in range(table.distinct)} == {
        ("8001", "30"): 2,
        ("800*", "31"): 2,
        ("*", "*"): 3,
    }
