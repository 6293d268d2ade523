"""CSV, TSV and Parquet files as they come."""

import os
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privacy_plugin.errors import ColumnError, ParameterError, SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import frequency_table, open_source
from privacy_plugin.sources.sql import file_formats
from tests.sources.small_files import rows, write


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n02138,1\n2138,1.0\n", [("02138", "1"), ("2138", "1.0")]),
        ('a,b\n1,\n1,""\n,2\n', [(None, "2"), ("1", None), ("1", "")]),
        ("a,b\nNULL,NA\nnan,None\n", [("NULL", "NA"), ("nan", "None")]),
        ("a,b\r\n1,2\r\n3,4\r\n", [("1", "2"), ("3", "4")]),
        ('a,b\r\n"x\r\ny",2\r\n', [("x\r\ny", "2")]),
        ('a,b\n"x\ny","q""q"\n', [("x\ny", 'q"q')]),
        ("\ufeffa,b\n1,2\n", [("1", "2")]),
        ("a;b\n1,5;2\n", [("1,5", "2")]),
        ("a,b\n 1 , 2\n", [(" 1 ", " 2")]),
        ("a,b\n#1,2\n", [("#1", "2")]),
        ("a,b\n2024-01-01,true\n", [("2024-01-01", "true")]),
        ("a,b\n1,2", [("1", "2")]),
        ("a,b\n", []),
    ],
)
def test_csv(content: str, expected: list[Any], tmp_path: Path) -> None:
    path = write(tmp_path, content)
    assert open_source(path).columns == ("a", "b")
    assert rows(path) == expected
    assert rows(str(path)) == expected


def test_tsv(tmp_path: Path) -> None:
    assert rows(write(tmp_path, "a\tb\n1,5\t2;3\n", "data.TSV")) == [("1,5", "2;3")]


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ("a,b\n1,2,3\n", SourceError, "line 2 of the file: the wrong number of values"),
        ("a,b;c\n1;2\n", SourceError, "separated by commas if its first line has one"),
        ("a,b\n1,2\n1\n", SourceError, "line 3 of the file: the wrong number of values"),
        ('a,b\n"marker-4711,2\n3,4\n', SourceError, "line 2 of the file: .* a quote that is not closed"),
        (b"a,b\n\xff,2\n", SourceError, "not UTF-8; convert it"),
        (b"\xff,b\n1,2\n", SourceError, "not UTF-8; convert it"),
        (b"a,b\n" + b"1,2\n" * 9_999 + b"\xff,2\n", SourceError, "line 10001 of the file: .* not UTF-8"),
        ("", SourceError, "the first line of .* is empty"),
        ("\na,b\n1,2\n", SourceError, "the first line of .* is empty"),
        ("a,b\r\n1,2\n", SourceError, "both with and without a carriage return"),
        ("a,b\n1,2\n\r\nmarker-4711,2\r\n", SourceError, "both with and without a carriage return"),
        ("a,b\n1,2\nmarker-4711," + 2_000_000 * "x" + "\n", SourceError, "line 3 of the file: longer than .* Parquet"),
        ("a,a\n1,2\n", ColumnError, "the same name in fields 1, 2"),
        ("b,a,A\n1,2,3\n", ColumnError, "the same name in fields 2, 3"),
        (",a\n1,2\n", ColumnError, "column 1 of 2 has no name"),
    ],
)
def test_broken_csv(content: str | bytes, error: type[Exception], words: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(error, match=words) as caught:
        open_source(path).frequencies(["a"])
    assert "marker" not in str(caught.value)


def test_paths_that_are_not_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        open_source(tmp_path / "missing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(SourceError, match="does not exist"):
        open_source(tmp_path / "folder.csv")
    with pytest.raises(SourceError, match=r"valid suffixes are \.csv, \.tsv, \.parquet"):
        open_source(write(tmp_path, "a\n1\n", "data.txt"))
    with pytest.raises(SourceError, match="a URL cannot be read as a file") as caught:
        open_source("postgresql://someone:secret@host/db.csv")
    assert "secret" not in str(caught.value)
    with pytest.raises(SourceError, match=r"reading the file .* failed"):
        open_source(write(tmp_path, b"PAR1 no, not really", "broken.parquet"))


@pytest.mark.parametrize(
    "name", ["a[1].csv", "b*.csv", "c?.csv", "d'e.csv", "{f,g}.csv", "h i.csv", "k=5.csv", "%s.csv"]
)
def test_names_are_not_glob_patterns(name: str, tmp_path: Path) -> None:
    for other in ("a1.csv", "bb.csv", "cc.csv", "f.csv"):
        write(tmp_path, "a\nother\n", other)
    assert rows(write(tmp_path, "a\nmine\n", name)) == [("mine",)]


def test_folders_add_no_columns(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "year=2024" / "data.parquet")
    assert open_source(tmp_path / "year=2024" / "data.parquet").columns == ("a",)
    assert open_source(write(tmp_path / "year=2024", "a\n1\n")).columns == ("a",)


def test_parquet_names(tmp_path: Path) -> None:
    pq.write_table(pa.table([[1], [2]], names=["a", "A"]), tmp_path / "case.parquet")
    with pytest.raises(ColumnError, match="differ only in case"):
        open_source(tmp_path / "case.parquet")
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "twice.parquet")
    with pytest.raises(ColumnError, match="more than one column named 'a'"):
        open_source(tmp_path / "twice.parquet")


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("present", [[1.0, 2.0], [0.0], [1.0, 1.0], [float("inf"), 1.0]])
def test_statistics_do_not_hide_nan(present: list[float], kind: pa.DataType, tmp_path: Path) -> None:
    """Parquet's least and greatest values leave NaN out, and DuckDB believes that there is none."""

    def parquet(missing: float | None, name: str) -> Path:
        values = pa.array([*present, missing], type=kind)
        pq.write_table(pa.table({"a": values, "b": ["x"] * len(values)}), tmp_path / name)
        return tmp_path / name

    source = open_source(parquet(float("nan"), "nan.parquet"))
    assert source.frequencies(["a"]).dictionaries[0][0] is None
    with pytest.raises(SourceError, match="'a' is missing in 1 rows"):
        source.frequencies(["b"], unit="a")
    assert source.fingerprint() == open_source(parquet(None, "null.parquet")).fingerprint()
    copy = source.publish(str(tmp_path / "copy.parquet"), columns=["a", "b"], verify=lambda copy: None)
    assert copy.fingerprint() == source.fingerprint()


@pytest.mark.parametrize("nested", [False, True])
def test_parquet_values_that_duckdb_rounds_are_refused(nested: bool, tmp_path: Path) -> None:
    def parquet(values: list[Any], kind: pa.DataType, **options: Any) -> Path:
        array = pa.array(values, type=kind)
        if nested:
            array = pa.array([[{"v": value}] for value in values], type=pa.list_(pa.struct([("v", kind)])))
        pq.write_table(pa.table({"a": array}), tmp_path / "data.parquet", **options)
        return tmp_path / "data.parquet"

    wide = [Decimal("1" * 40 + ".1"), Decimal("1" * 40 + ".2")]
    with pytest.raises(SourceError, match=r"'a.*' has decimals of 60 digits"):
        open_source(parquet(wide, pa.decimal256(60, 2)))
    assert frequency_table(parquet([Decimal("1.1"), None], pa.decimal128(38, 2)), ["a"]).distinct == 2
    old = {"use_deprecated_int96_timestamps": True}
    with pytest.raises(SourceError, match=r"'a.*' has moments of type INT96 with nanoseconds"):
        open_source(parquet([1_001, 1_002, None], pa.timestamp("ns"), **old))
    assert frequency_table(parquet([1_000, 2_000, None], pa.timestamp("ns"), **old), ["a"]).distinct == 3
    far = [datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 1), None]
    assert frequency_table(parquet(far, pa.timestamp("us"), **old), ["a"]).distinct == 3


@pytest.mark.parametrize("dotted", [pa.array([1_000, 2_000], type=pa.timestamp("ns")), pa.array(["x", "y"])])
def test_a_dotted_column_name_does_not_hide_rounding(dotted: pa.Array, tmp_path: Path) -> None:
    """Both columns have the path a.b: two people's moments would become one."""
    inside = pa.array([{"b": 1_001}, {"b": 1_002}], type=pa.struct([("b", pa.timestamp("ns"))]))
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a.b": dotted, "a": inside}), path, use_deprecated_int96_timestamps=True)
    with pytest.raises(SourceError, match="INT96 with nanoseconds"):
        open_source(path)


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a\n1\n")
    monkeypatch.chdir(tmp_path)
    source = open_source("data.csv")
    os.chdir("/")
    assert source.row_count() == 1


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_written_files_read_the_same(suffix: str, tmp_path: Path) -> None:
    awkward = ["", " ", "NULL", 'q"q', "x,y", "t\tt", "l\nb", "w\r\nb", "é", "*", "#", "'", "\\", "1;2"]
    table = pa.table({"a": [*awkward, None], "b": [*awkward, None][::-1]})
    pq.write_table(table, tmp_path / "source.parquet")
    source = open_source(tmp_path / "source.parquet")
    target = tmp_path / f"target.{suffix}"
    published = source.publish(str(target), columns=["b", "a"], verify=lambda copy: None)
    assert published.columns == ("b", "a")
    assert published.fingerprint() == source.fingerprint()
    same: Any = {text: text for text in [*awkward, None]}
    recoded = source.recode(Recoding(keep=("b", "a"), mappings={"a": same, "b": same}), target=str(target))
    assert recoded.fingerprint() == source.fingerprint()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source.parquet", f"target.{suffix}"]


def test_targets(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    source = open_source(path)
    recoding = Recoding(keep=("a",), mappings={})
    with pytest.raises(ParameterError, match="pass a path"):
        source.recode(recoding)
    with pytest.raises(ParameterError, match="is the source itself"):
        source.recode(recoding, target=str(path))
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with pytest.raises(ParameterError, match="is the source itself"):
        source.publish(str(link), columns=["a"], verify=lambda copy: None)
    with pytest.raises(SourceError, match="valid suffixes"):
        source.recode(recoding, target=str(tmp_path / "out.txt"))
    with pytest.raises(SourceError):
        source.recode(recoding, target=str(tmp_path / "missing" / "out.csv"))
    assert frequency_table(path, ["a"]).rows == 1


def test_a_failure_keeps_the_old_file(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "a\n1\n"))
    target = write(tmp_path, "old\n1\n", "target.csv")

    def refuse(copy: Any) -> None:
        raise RuntimeError("refused")

    with pytest.raises(RuntimeError, match="refused"):
        source.publish(str(target), columns=["a"], verify=refuse)
    assert target.read_text() == "old\n1\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "target.csv"]


def test_values_of_several_lines_in_a_large_file(tmp_path: Path) -> None:
    """DuckDB reads large files in parts that begin at a line, and raises where a line is not a row."""
    path = tmp_path / "notes.csv"
    note = '"Aspirin,100 mg\nIbuprofen,400 mg\nAspirin,100 mg\nIbuprofen,400 mg"'
    path.write_text("age,note\n" + "".join(f"{number % 90},{note}\n" for number in range(200_000)), encoding="utf-8")
    source = open_source(path)
    assert source.frequencies(["age"]).rows == source.row_count() == 200_000
    joined = source.joined_groups(open_source(path), ["age"])
    assert joined is not None
    with path.open("a", encoding="utf-8") as file:
        file.write('17,"not closed\n18,x\n')
    with pytest.raises(SourceError, match=r"reading|grouping|counting"):
        open_source(path).row_count()


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("a,b\n1,2\n", False),
        ('a,b\n"1","2"\n', False),
        ('a,b\n"1 ""or"" 2",2\n', False),
        ('a,b\n"1\n2",2\n', True),
        ('a,b\n"1\r\n2",2\n', True),
        ('a,b\n1,"2', False),
        ('a,b\n1,"2\n', True),
        ("", False),
    ],
)
@pytest.mark.parametrize("piece", [1, 3, 1 << 24])
def test_lines_that_end_inside_of_quotes(
    text: str, several: bool, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_formats, "_PIECE", piece)
    (tmp_path / "any.csv").write_bytes(text.encode())
    assert file_formats.has_multiline_rows(tmp_path / "any.csv") is several
