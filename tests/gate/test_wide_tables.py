"""Many columns and requirements: a small table is grouped once, and columns are looked at together."""

from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.sources import open_source
from privacy_plugin.sources.class_profiles import find_unique_columns
from privacy_plugin.sources.sql.duckdb_relation import DuckDBRelation
from tests.sources.loading import LOADERS, Table

ROWS = 300
SENSITIVE = [f"s{n}" for n in range(20)]
FRAME = pd.DataFrame(
    {
        "age": [str(n % 3) for n in range(ROWS)],
        "place": [str(n // 3 % 4) for n in range(ROWS)],
        **{
            name: [str((n * 7 + position) % (position + 2)) for n in range(ROWS)]
            for position, name in enumerate(SENSITIVE)
        },
        **{f"i{n}": [str(row % (n + 5)) for row in range(ROWS)] for n in range(60)},
        "record": [str(row) for row in range(ROWS)],
    }
)
POLICY = {
    "dataset": "wide",
    "columns": {
        name: "quasi_identifier" if name in ("age", "place") else "sensitive" if name in SENSITIVE else "insensitive"
        for name in FRAME
    },
    "requirements": [
        {"k_anonymity": {"at_least": 5}},
        *({"l_diversity": {"at_least": 2, "sensitive": name}} for name in SENSITIVE),
    ],
}


def test_a_wide_file_is_asked_few_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FRAME.to_csv(tmp_path / "wide.csv", index=False)
    asked = []
    own = DuckDBRelation._query
    monkeypatch.setattr(DuckDBRelation, "_query", lambda self, query: asked.append(query) or own(self, query))
    policy = pp.Policy.from_dict(POLICY)
    verdict, expected = policy.judge(tmp_path / "wide.csv"), policy.judge(FRAME)
    assert [finding.value for finding in verdict.findings] == [finding.value for finding in expected.findings]
    assert verdict.notes == expected.notes
    assert sum("'record' is insensitive" in note for note in verdict.notes) == 1
    assert len(asked) < len(SENSITIVE), asked


VALUES = {
    "number": [1, 2, 3, 4],
    "one_missing": ["a", "b", "c", None],
    "two_missing": ["a", "b", None, None],
    "repeated": ["a", "b", "c", "a"],
}
KINDS = {"number": "integer", "one_missing": "text", "two_missing": "text", "repeated": "text"}


@pytest.mark.parametrize("engine", ["pandas", "duckdb_relation", "duckdb", "sqlite", "csv", "parquet"])
def test_columns_with_another_value_in_every_row(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](Table(kinds=KINDS, values=VALUES), tmp_path))
    assert find_unique_columns(source, list(VALUES), 4) == ["number", "one_missing"]
