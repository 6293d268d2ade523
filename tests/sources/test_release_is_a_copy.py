"""A recoded file is in the order of its content already: its release is a copy, verified byte by byte."""

from pathlib import Path

import pandas as pd
import pytest

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import open_source
from privacy_plugin.sources.sql import files
from privacy_plugin.sources.sql.duckdb_relation import DuckDBRelation

ROWS = pd.DataFrame(
    {
        "age": [n * 7 % 50 for n in range(500)],
        "ill": [f"i{n * 3 % 11}" for n in range(500)],
        "cost": [n / 4 for n in range(500)],
    }
)
COLUMNS = ("age", "ill", "cost")
RECODING = Recoding(keep=COLUMNS, mappings={"age": {n: f"{n // 10}x" for n in range(50)}})


def write(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_parquet(path, index=False) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def recode(frame: pd.DataFrame, folder: Path, suffix: str) -> files.FileSource:
    recoding = RECODING
    if suffix == ".csv":
        mappings = {"age": {str(old): new for old, new in RECODING.mappings["age"].items()}}
        recoding = Recoding(keep=COLUMNS, mappings=mappings)
    source = files.FileSource(write(frame, folder / f"source{suffix}"))
    return source.recode(recoding, target=str(folder / f"staged{suffix}"))


@pytest.fixture(params=[".csv", ".parquet"])
def suffix(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_order_of_the_source_does_not_show(suffix: str, tmp_path: Path) -> None:
    released = []
    for number, frame in enumerate((ROWS, ROWS[::-1], ROWS.sample(frac=1, random_state=1))):
        folder = tmp_path / str(number)
        folder.mkdir()
        staged = recode(frame, folder, suffix)
        staged.publish(str(folder / f"out{suffix}"), columns=COLUMNS, verify=lambda _: None)
        released.append((folder / f"out{suffix}").read_bytes())
    assert released[0] == released[1] == released[2]


def test_the_fingerprint_is_computed_once(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = recode(ROWS, tmp_path, suffix)
    computed = []
    own = DuckDBRelation.fingerprint
    monkeypatch.setattr(DuckDBRelation, "fingerprint", lambda *given: computed.append(1) or own(*given))
    before = staged.fingerprint(COLUMNS)
    seen = []
    staged.publish(
        str(tmp_path / f"out{suffix}"), columns=COLUMNS, verify=lambda copy: seen.append(copy.fingerprint(COLUMNS))
    )
    assert seen == [before]
    assert len(computed) == 1
    assert open_source(tmp_path / f"out{suffix}").fingerprint(COLUMNS) == before
    assert (tmp_path / f"out{suffix}").read_bytes() == (tmp_path / f"staged{suffix}").read_bytes()


def test_a_copy_with_another_byte_is_refused(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = recode(ROWS, tmp_path, suffix)
    own = files._copy_file

    def copy(source: Path, target: Path) -> bytes:
        found = own(source, target)
        content = bytearray(target.read_bytes())
        content[200] ^= 1
        target.write_bytes(content)
        return found

    monkeypatch.setattr(files, "_copy_file", copy)
    with pytest.raises(SourceError, match=r"not what was written|reading"):
        staged.publish(str(tmp_path / f"out{suffix}"), columns=COLUMNS, verify=lambda _: None)
    assert not (tmp_path / f"out{suffix}").exists()


def test_a_file_that_changes_after_it_was_judged_is_refused(suffix: str, tmp_path: Path) -> None:
    staged = recode(ROWS, tmp_path, suffix)
    staged.fingerprint(COLUMNS)
    write(ROWS.head(3), tmp_path / f"staged{suffix}")
    with pytest.raises(SourceError, match="changed after it was opened"):
        staged.fingerprint(COLUMNS)
    with pytest.raises(SourceError, match="changed after it was opened"):
        staged.publish(str(tmp_path / f"out{suffix}"), columns=COLUMNS, verify=lambda _: None)
    assert not (tmp_path / f"out{suffix}").exists()


def test_fewer_columns_are_written_anew(suffix: str, tmp_path: Path) -> None:
    staged = recode(ROWS, tmp_path, suffix)
    staged.publish(str(tmp_path / f"out{suffix}"), columns=("ill", "age"), verify=lambda _: None)
    assert open_source(tmp_path / f"out{suffix}").columns == ("ill", "age")
