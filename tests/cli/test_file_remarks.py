"""What a Parquet file holds beyond its rows is noted by `check`, and refused with --strict; no value is quoted."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privacy_plugin.policy.policy import Policy
from tests.cli.conftest import Run, document, words, write_policy

COLUMNS = {"age": "quasi_identifier", "weight": "insensitive", "place": "insensitive"}
ROWS = {"age": [30, 30, 41, 41], "weight": [1.0, 1.0, 2.0, 2.0], "place": ["a", "a", "b", "b"]}
COMPOSED, DECOMPOSED = "zqill\u00e9", "zqille\u0301"


def table(**changed: Any) -> pa.Table:
    return pa.table({**ROWS, **changed})


def pandas_with_attributes() -> pa.Table:
    frame = pd.DataFrame(ROWS)
    frame.attrs = {"owner": "zqperson"}
    return pa.Table.from_pandas(frame)


def with_index_name() -> pa.Table:
    frame = pd.DataFrame(ROWS)
    frame.index.name = "zqperson"
    return pa.Table.from_pandas(frame)


def with_field_metadata() -> pa.Table:
    made = table()
    return made.set_column(0, pa.field("age", pa.int64(), metadata={"of": "zqperson"}), made["age"])


REMARKS = {
    "entries of metadata": lambda: table().replace_schema_metadata({"made from": "zqperson"}),
    "metadata of pandas": pandas_with_attributes,
    "describe an index": with_index_name,
    "columns have metadata": with_field_metadata,
    "both NaN and NULL": lambda: table(weight=pa.array([1.0, float("nan"), None, 2.0])),
    "both 0.0 and -0.0": lambda: table(weight=[0.0, -0.0, 1.0, 1.0]),
    "Unicode form": lambda: table(place=[COMPOSED, DECOMPOSED, "b", "b"]),
}
PLAIN = {
    "arrow": table,
    "pandas": lambda: pa.Table.from_pandas(pd.DataFrame(ROWS)),
    "categories": lambda: pa.Table.from_pandas(pd.DataFrame(ROWS).astype({"place": "category"})),
    "missing": lambda: table(weight=pa.array([1.0, None, 2.0, None])),
    "NaN alone": lambda: table(weight=[1.0, float("nan"), 2.0, 2.0]),
}


@pytest.mark.parametrize("remark", REMARKS)
def test_more_than_rows_is_noted_and_refused_with_strict(remark: str, folder: Path, run: Run) -> None:
    write_policy(folder, columns=COLUMNS, requirements=[{"k_anonymity": {"at_least": 2}}])
    path = folder / "safe.parquet"
    pq.write_table(REMARKS[remark](), path)
    checking = ("check", path, "-p", folder / "policy.yaml")
    noted = run(*checking)
    assert noted.exit_code == 0
    assert remark in words(noted)
    refused = run(*checking, "--strict", "--json", "--certificate-folder", folder / "certificates")
    assert refused.exit_code != 0
    assert not document(refused)["passed"]
    assert any(remark in problem for problem in document(refused)["problems"])
    released = folder / "released.parquet"
    assert run("certify", path, "-p", folder / "policy.yaml", "-c", folder / "c.json").exit_code == 0
    assert run("release", path, "-p", folder / "policy.yaml", "-c", folder / "c.json", "-o", released).exit_code == 0
    clean = run("check", released, "-p", folder / "policy.yaml", "--strict")
    assert (clean.exit_code == 0) is (remark != "Unicode form")  # two texts, which stay two


@pytest.mark.parametrize("kind", PLAIN)
def test_a_file_of_rows_alone_is_not_remarked_on(kind: str, folder: Path, run: Run) -> None:
    write_policy(folder, columns=COLUMNS, requirements=[{"k_anonymity": {"at_least": 2}}])
    pq.write_table(PLAIN[kind](), folder / "safe.parquet")
    checked = run("check", folder / "safe.parquet", "-p", folder / "policy.yaml", "--strict", "--json")
    assert (checked.exit_code, document(checked)["problems"]) == (0, [])


@pytest.mark.parametrize("kind", ["frame", "parquet", "sqlite"])
def test_a_column_that_names_single_rows_is_in_the_verdict(kind: str, tmp_path: Path) -> None:
    policy = Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": "quasi_identifier", "record": "insensitive", "remark": "insensitive"},
            "requirements": [{"k_anonymity": {"at_least": 2}}],
        }
    )
    rows = 2_000
    frame = pd.DataFrame({"age": [30] * rows, "record": range(rows), "remark": [*range(rows - 1), 0]})
    data: Any = frame
    if kind == "parquet":
        data = tmp_path / "visits.parquet"
        frame.to_parquet(data)
    elif kind == "sqlite":
        import sqlalchemy as sa

        from privacy_plugin.sources import sql_table

        engine = sa.create_engine(f"sqlite:///{tmp_path / 'clinic.db'}")
        frame.to_sql("visits", engine, index=False)
        data = sql_table(engine, "visits")
    verdict = policy.judge(data)
    (note,) = (note for note in verdict.notes if "has another value in every row" in note)
    assert "'record'" in note
    assert verdict.passed
