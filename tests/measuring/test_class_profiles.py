"""One body for all engines: a large table, counted by class profiles, gives the measurements of its groups."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.frequency.class_profiles import ClassProfiles, class_sizes
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.sources import class_profiles, open_source
from tests.sources.loading import ENGINES, LOADERS, Table, pair

IN_ENGINE = [engine for engine in ENGINES if engine.id not in ("pandas", "polars", "polars_lazy", "arrow")]
KINDS = {"age": "integer", "sex": "text", "pay": "integer", "ill": "text"}
HIERARCHY = TableHierarchy({f"d{n}": (f"group {n % 2}", "*") for n in range(4)} | {None: ("none", "*")})
METRICS: list[tuple[str, dict[str, Any]]] = [
    ("k_anonymity", {}),
    ("reidentification_risk", {}),
    ("reidentification_risk", {"variant": "average"}),
    ("reidentification_risk", {"variant": "share_at_risk", "threshold": 0.3}),
    ("l_diversity", {"sensitive": "ill"}),
    ("l_diversity", {"sensitive": "ill", "variant": "entropy"}),
    ("l_diversity", {"sensitive": "ill", "variant": "recursive", "c": 2}),
    ("l_diversity", {"sensitive": "ill", "separator": "d"}),
    ("t_closeness", {"sensitive": "ill"}),
    ("t_closeness", {"sensitive": "pay", "ground": "ordered"}),
    ("t_closeness", {"sensitive": "ill", "ground": HIERARCHY}),
    ("attribute_risk", {"sensitive": "ill"}),
    ("maximum_disclosure", {"sensitive": "ill", "knowledge": 1}),
    ("maximum_disclosure", {"sensitive": "ill", "knowledge": 1, "attacker": "negations"}),
]
COMPARED: list[tuple[str, dict[str, Any]]] = [
    ("k_map", {}),
    ("journalist_risk", {}),
    ("journalist_risk", {"variant": "average"}),
    ("journalist_risk", {"variant": "share_at_risk", "threshold": 0.2}),
    ("delta_presence", {}),
]


def people(rows: int, seed: int) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    ages = [None, 30, 41, 55, 60, 61, 62]
    return [
        (draw.choice(ages), draw.choice(["f", "m"]), draw.choice([10, 20, 35]), draw.choice([None, "d0", "d1", "d2"]))
        for _ in range(rows)
    ]


def table_of(rows: list[tuple[Any, ...]]) -> Table:
    return Table(kinds=KINDS, values=dict(zip(KINDS, zip(*rows, strict=True), strict=True)))


def comparable(measurement: Any) -> dict[str, Any]:
    """Everything that a measurement says, without which of several equally bad classes it names."""
    found: dict[str, Any] = measurement.to_dict()
    if "witness" in found:
        found["witness"] = found["witness"]["exact_probability"]
    return found


def only_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count by profiles whatever the size, and fail if groups are fetched."""
    monkeypatch.setattr(class_profiles, "LARGE", 0)

    def refuse(tables: Tables, *_: Any, **__: Any) -> None:
        raise AssertionError("groups were fetched")

    monkeypatch.setattr(Tables, "frequencies", refuse)


@pytest.mark.parametrize("engine", IN_ENGINE)
def test_profiles_give_the_measurements_of_the_groups(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody, some = people(400, 1), people(60, 2)
    everybody += some
    data, population = pair(engine, table_of(some), table_of(everybody), tmp_path)
    roles = {"quasi_identifiers": ["age", "sex"]}
    asked = [(name, options, {}) for name, options in METRICS]
    asked += [(name, options, {"population": population}) for name, options in COMPARED]
    groups = [getattr(pp, name)(data, **roles, **options, **second) for name, options, second in asked]
    only_profiles(monkeypatch)
    for (name, options, second), expected in zip(asked, groups, strict=True):
        found = getattr(pp, name)(data, **roles, **options, **second)
        assert comparable(found) == comparable(expected), (name, options)
        assert found.value == expected.value
        assert all(not worst.members for worst in found.worst)


@pytest.mark.parametrize("engine", ["parquet", "sqlite"])
def test_people_are_counted_by_their_unit_whatever_the_size(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = people(60, 3)
    table = table_of(rows)
    known = replace(
        table, kinds={**KINDS, "person": "integer"}, values={**table.values, "person": [n // 2 for n in range(60)]}
    )
    data = LOADERS[engine](known, tmp_path)
    asked = {"quasi_identifiers": ["age", "sex"], "unit": "person"}
    expected = [pp.k_anonymity(data, **asked, count=count).to_dict() for count in ("sequences", "people")]
    monkeypatch.setattr(class_profiles, "LARGE", 0)
    assert [pp.k_anonymity(data, **asked, count=count).to_dict() for count in ("sequences", "people")] == expected


def test_too_many_sensitive_values_or_several_forms_are_measured_by_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"age": [30, 30, 41], "ill": ["a", "b", "c"]})
    frame.to_parquet(tmp_path / "people.parquet")
    source = open_source(tmp_path / "people.parquet")
    assert isinstance(source.class_profiles(["age"], "ill"), ClassProfiles)  # type: ignore[attr-defined]
    monkeypatch.setattr("privacy_plugin.sources.sql.duckdb_profiles.MOST_VALUES", 2)
    assert source.class_profiles(["age"], "ill") is None  # type: ignore[attr-defined]
    monkeypatch.setattr(class_profiles, "LARGE", 0)
    assert pp.l_diversity(source, quasi_identifiers=["age"], sensitive="ill").value == 1


@pytest.mark.parametrize(
    ("sizes", "repeats", "least", "most"),
    [([1], [20_000], 200_000, 1e12), ([1, 2, 3], [2_300, 3_600, 10_000], 15_000, 18_000), ([50_000], [1], 1, 1)],
)
def test_distinct_rows_are_estimated_from_a_sample(
    sizes: list[int], repeats: list[int], least: float, most: float
) -> None:
    found = class_profiles.estimate_distinct(class_sizes(["age"], sizes=sizes, repeats=repeats))
    assert least <= found <= most


def test_a_large_file_is_measured_by_profiles_and_a_small_one_by_groups(tmp_path: Path) -> None:
    import duckdb

    for name, ages in (("few", "i % 50"), ("many", "i")):
        duckdb.sql(
            f"COPY (SELECT {ages} AS age, CAST(i % 3 AS VARCHAR) AS ill FROM range(260000) t(i)) "
            f"TO '{tmp_path / name}.parquet'"
        )
        tables = Tables(open_source(tmp_path / f"{name}.parquet"))
        tables.count_rows()
        assert isinstance(tables.classes(["age"], "ill"), ClassProfiles) == (name == "many")
        found = pp.k_anonymity(tables, quasi_identifiers=["age"]) if name == "few" else None
        assert found is None or found.value == 5_200


def test_a_wiped_out_column_of_a_large_table_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame({"age": [30, 41, 55], "city": ["*"] * 3, "ill": ["a", "b", "c"]}).to_parquet(tmp_path / "p.parquet")
    roles = {"age": "quasi_identifier", "city": "quasi_identifier", "ill": "sensitive"}
    asked = {"k_anonymity": {"at_least": 1}}
    policy = pp.Policy.from_dict({"dataset": "people", "columns": roles, "requirements": [asked]})
    expected = policy.judge(tmp_path / "p.parquet")
    monkeypatch.setattr(class_profiles, "LARGE", 0)
    assert policy.judge(tmp_path / "p.parquet").notes == expected.notes
    assert any("'city' was generalized" in note for note in expected.notes)
