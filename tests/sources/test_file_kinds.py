"""JSON lines, folders of Parquet files, workbooks, other delimiters and encodings: read exactly, or refused."""

import gzip
import json
import os
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import ColumnError, ParameterError, PrivacyPluginError, SourceError
from privacy_plugin.sources import open_source
from tests.sources.small_files import rows, write


def lines(folder: Path, *objects: Any, name: str = "data.jsonl") -> Path:
    return write(folder, "".join(json.dumps(each) + "\n" for each in objects), name)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([{"a": "02138", "b": 1}, {"a": "2138", "b": -2}], [("02138", 1), ("2138", -2)]),
        ([{"a": "2024-01-31", "b": None}, {"b": True, "a": ""}], [("2024-01-31", None), ("", True)]),
        ([{"a": 1}, {"b": "x"}], [(1, None), (None, "x")]),
        ([{"a": 1.5, "b": 2**63}, {"a": 2, "b": 7}], [(1.5, 2**63), (2.0, 7)]),
        ([{"a": "NaN", "b": "null"}], [("NaN", "null")]),
        ([{"a": None, "b": None}], [(None, None)]),
    ],
)
def test_json_lines(objects: list[Any], expected: list[Any], tmp_path: Path) -> None:
    assert sorted(rows(lines(tmp_path, *objects)), key=repr) == sorted(expected, key=repr)
    packed = tmp_path / "data.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "data.jsonl").read_bytes()))
    assert open_source(packed).fingerprint() == open_source(tmp_path / "data.jsonl").fingerprint()


def test_names_of_json_fields(tmp_path: Path) -> None:
    """Keys that look like JSON paths and pointers are names; the first line gives the order."""
    source = open_source(lines(tmp_path, {"$.b": 1, "a/b~c": 2, 'd"e': 3, "a": 4}))
    assert source.columns == ("$.b", "a/b~c", 'd"e', "a")
    assert source.frequencies(["a/b~c"]).dictionaries[0] == (2,)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ('{"a": zqsecret}\n', SourceError, "reading"),
        ('{"a": 1}\n["zqsecret"]\n', SourceError, "1 lines of .* are not JSON objects"),
        ('{"a": 1, "a": 2}\n', ColumnError, "name a field twice"),
        ('{"a": 1, "A": 2}\n', ColumnError, "differ only in case"),
        ('{"a": 1}\n{"a": "zqsecret"}\n', SourceError, "field 'a' mixes"),
        ('{"a": true}\n{"a": 1}\n', SourceError, "field 'a' mixes"),
        ('{"a": {"b": "zqsecret"}}\n', SourceError, "objects or lists"),
        ('{"a": [1]}\n', SourceError, "objects or lists"),
        ('{"a": 9007199254740993.5}\n', SourceError, "double does not hold exactly"),
        ('{"a": 99999999999999999999999}\n', SourceError, "double does not hold exactly"),
        ("", PrivacyPluginError, ""),
    ],
)
def test_json_lines_that_are_not_certain_are_refused(
    content: str, error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words) as raised:
        open_source(write(tmp_path, content, "data.ndjson"))
    assert "zqsecret" not in str(raised.value)


def partitioned(folder: Path) -> Path:
    for month, age in (("01", 30), ("02", 41), ("__HIVE_DEFAULT_PARTITION__", 50)):
        (folder / "visits" / f"month={month}").mkdir(parents=True)
        pq.write_table(pa.table({"age": [age, age]}), folder / "visits" / f"month={month}" / "part-0.parquet")
    (folder / "visits" / "_SUCCESS").touch()
    return folder / "visits"


def test_a_folder_of_partitions(tmp_path: Path) -> None:
    """Keys of folders are columns of text: 01 is not 1."""
    folder = partitioned(tmp_path)
    source = open_source(folder)
    assert source.columns == ("age", "month")
    assert sorted(rows(folder), key=repr) == sorted([(30, "01"), (41, "02"), (50, None)] * 2, key=repr)
    with pytest.raises(SourceError, match="changed after it was opened"), source.snapshot():
        pq.write_table(pa.table({"age": [1]}), folder / "month=01" / "part-1.parquet")


def test_folders_that_are_not_one_table_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"has 0 \.parquet files"):
        open_source(tmp_path / "empty")
    folder = partitioned(tmp_path)
    (folder / "notes.csv").write_text("a\nzqsecret\n")
    with pytest.raises(SourceError, match=r"3 \.parquet files and 1 of another kind"):
        open_source(folder)
    (folder / "notes.csv").unlink()
    pq.write_table(pa.table({"age": ["x"]}), folder / "month=02" / "other.parquet")
    with pytest.raises(SourceError, match="different columns or types"):
        open_source(folder)
    os.replace(folder / "month=02" / "other.parquet", folder / "top.parquet")
    with pytest.raises(SourceError, match="not partitioned alike"):
        open_source(folder)


def workbook(folder: Path, *table: list[Any], sheets: int = 1) -> Path:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in table:
        sheet.append(row)
    for number in range(1, sheets):
        book.create_sheet(f"other{number}").append(["z"])
    book.save(folder / "data.xlsx")
    return folder / "data.xlsx"


def test_a_workbook(tmp_path: Path) -> None:
    moment = datetime(2024, 1, 31, 8, 15)
    path = workbook(
        tmp_path,
        ["zip", "age", "share", "seen", "at", "smokes", "hour"],
        ["02138", 30, 1, date(2024, 1, 31), moment, True, time(8)],
        [None, None, None, None, None, None, None],
        ["2138", None, 1.5, date(2024, 2, 1), moment, False, time(9)],
        [None, None, None, None, None, None, None],
    )
    assert set(rows(path)) == {
        ("02138", 30, 1.0, date(2024, 1, 31), moment, True, "08:00:00"),
        ("2138", None, 1.5, date(2024, 2, 1), moment, False, "09:00:00"),
        (None,) * 7,
    }
    assert open_source(path).row_count() == 3  # empty rows at the end are none


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([["zip"], ["zqsecret"], [2138]], "column 'zip' of the sheet has numbers and text"),
        ([["age"], ["#N/A"]], "a cell with an error"),
        ([["age"], ["=1+1"]], "a formula without a stored result"),
        ([["age", 3], [1, 2]], "must name every column by a text"),
        ([["age"], [1, "zqsecret"]], "more cells than the first row has names"),
        ([["age", "Age"], [1, 2]], "differ only in case"),
        ([], "the table has no columns"),
    ],
)
def test_workbooks_that_are_not_certain_are_refused(table: list[Any], words: str, tmp_path: Path) -> None:
    path = workbook(tmp_path, *table)
    if table and table[1:] == [["#N/A"]]:
        book = openpyxl.load_workbook(path)
        book.active["A2"].data_type = "e"  # type: ignore[index]
        book.save(path)
    with pytest.raises(PrivacyPluginError, match=words) as raised:
        open_source(path)
    assert "zqsecret" not in str(raised.value)


def test_sheets_are_named(tmp_path: Path) -> None:
    path = workbook(tmp_path, ["a"], [1], sheets=2)
    with pytest.raises(ParameterError, match="has 2 sheets; name one"):
        open_source(path)
    with pytest.raises(ParameterError, match="no sheet 'zzz'"):
        pp.file_table(path, sheet="zzz")
    assert pp.file_table(path, sheet="other1").columns == ("z",)
    (tmp_path / "broken.xlsx").write_bytes(b"PK zqsecret")
    with pytest.raises(SourceError, match=r"is it an .xlsx file\?") as raised:
        open_source(tmp_path / "broken.xlsx")
    assert "zqsecret" not in str(raised.value)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8", "UTF8", "utf-8-sig"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    path = write(tmp_path, "stadt|name\nZürich|Müller\n".encode(encoding))
    table = pp.file_table(path, delimiter="|", encoding=encoding)
    assert table.columns == ("stadt", "name")
    assert table.frequencies(["stadt", "name"]).values(0) == ("Zürich", "Müller")
    packed = tmp_path / "data.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert pp.file_table(packed, delimiter="|", encoding=encoding).fingerprint() == table.fingerprint()


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "stadt\nZürich zqsecret\n".encode("latin-1"))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "data.parquet")
    cases: list[tuple[Path, dict[str, str], str]] = [
        (path, {"encoding": "utf-16"}, "is not utf-16"),
        (path, {"encoding": "klingon"}, "encoding 'klingon' is unknown"),
        (path, {"encoding": "base64"}, "encoding 'base64' is unknown"),
        (path, {"delimiter": "||"}, "must be one character"),
        (path, {"delimiter": '"'}, "must be one character"),
        (path, {"sheet": "a"}, "sheet is for .xlsx"),
        (tmp_path / "data.parquet", {"delimiter": ","}, "delimiter is for .csv"),
        (tmp_path / "data.parquet", {"encoding": "latin-1"}, "encoding is for text"),
        (path, {}, "not UTF-8.*name its encoding"),
    ]
    for place, options, words in cases:
        with pytest.raises(PrivacyPluginError, match=words) as raised:
            pp.file_table(place, **options).frequencies(["stadt"])
        assert "zqsecret" not in str(raised.value)


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst", ".tsv.gz", ".jsonl", ".ndjson.zst", ".jsonl.gz", ".xlsx"])
def test_what_is_written_is_what_was_read(suffix: str, tmp_path: Path) -> None:
    """Text, numbers, dates and missing values arrive; text that looks like a formula stays text."""
    table = pa.table(
        {
            "text": ["=1+1", "02138", None, 'a"b\nc', "é"],
            "whole": pa.array([1, 2, None, 4, 5], pa.int64()),
            "seen": pa.array([date(2024, 1, day) for day in (1, 2, 3, 4)] + [None], pa.date32()),
            "cents": pa.array([1, 2, 3, 4, 5], pa.int64()).cast(pa.decimal128(25, 2)),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    source = open_source(tmp_path / "in.parquet")

    def verify(copy: Any) -> None:
        assert copy.row_count() == 5

    published = source.publish(str(tmp_path / f"out{suffix}"), columns=source.columns, verify=verify)
    assert published.frequencies(["text"]).dictionaries == source.frequencies(["text"]).dictionaries
    pairs = [(text, whole) for text, whole, *_ in rows(tmp_path / f"out{suffix}")]
    found = {(text, None if whole is None else str(whole)) for text, whole in pairs}
    assert found == {("=1+1", "1"), ("02138", "2"), (None, None), ('a"b\nc', "4"), ("é", "5")}
    again = published.publish(str(tmp_path / f"again{suffix}"), columns=source.columns, verify=verify)
    assert again.fingerprint() == published.fingerprint()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"again{suffix}", "in.parquet", f"out{suffix}"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "jsonl", "jsonl.gz", "xlsx"])
def test_a_pair_of_tables_belongs_together_in_every_kind_of_file(suffix: str, tmp_path: Path) -> None:
    """Buckets are numbers in both tables, also where a file keeps numbers and text apart."""
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": "quasi_identifier", "illness": "sensitive"},
            "requirements": [{"maximum_disclosure": {"knowledge": 0, "at_most": 0.5}}],
            "anonymize": {"method": "bucketize", "knowledge": 0, "below": 0.6},
        }
    )
    data = lines(tmp_path, *({"age": 20 + number, "illness": ["flu", "gout"][number % 2]} for number in range(6)))
    made = anonymize(open_source(data), policy=policy, target=str(tmp_path / f"release.{suffix}")).made
    verdict = policy.judge(made)
    assert verdict.passed, verdict.reasons
