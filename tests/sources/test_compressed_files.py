"""Compressed CSV files are read like the files that they hold, and leave nothing behind."""

import gzip
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from privacy_plugin.errors import SourceError
from privacy_plugin.sources import open_source
from tests.sources.awkward import awkward_table
from tests.sources.loading import LOADERS


def compressed(path: Path, suffix: str) -> Path:
    packed = path.with_name(path.name + suffix)
    codec = {".gz": "gzip", ".zst": "zstd"}[suffix.lower()]
    with pa.output_stream(str(packed), compression=codec) as file:
        file.write(path.read_bytes())
    return packed


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".GZ"])
def test_read_like_the_plain_file(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    plain = LOADERS["csv"](awkward_table("csv"), tmp_path)
    packed = compressed(plain, suffix)
    source, expected = open_source(packed), open_source(plain)
    assert source.fingerprint() == expected.fingerprint()
    assert [path.stat().st_mode & 0o077 for path in private.iterdir()] == [0]
    published = source.publish(str(tmp_path / "out.csv"), columns=source.columns, verify=lambda copy: None)
    assert published.fingerprint() == expected.fingerprint()
    with pytest.raises(SourceError, match="changed after it was opened"), source.snapshot():
        packed.write_bytes(b"")
    del source
    assert list(private.iterdir()) == []


def test_broken_and_unknown_files_are_refused_without_their_content(tmp_path: Path) -> None:
    broken = tmp_path / "a.csv.gz"
    broken.write_bytes(gzip.compress(b"name\nSecretville\n" * 999)[:-20])
    other = tmp_path / "b.csv.gz"
    other.write_bytes(b"name\nSecretville\n")
    for path in (broken, other):
        with pytest.raises(SourceError, match="decompressing the file") as raised:
            open_source(path)
        assert "Secretville" not in str(raised.value)
    (tmp_path / "c.parquet.gz").write_bytes(b"")
    with pytest.raises(SourceError, match="unknown"):
        open_source(tmp_path / "c.parquet.gz")
