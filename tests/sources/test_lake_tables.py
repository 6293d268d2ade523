"""Tables in object stores and lakes: read as one snapshot, replaced atomically, older snapshots named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError, PrivacyPluginError, SourceError
from privacy_plugin.locations import parse_location
from privacy_plugin.sources import open_source
from tests.object_stores import s3_bucket
from tests.sources.small_files import rows

VISITS = pa.table({"age": [30, 30, 41], "city": ["Bern", "Bern", None]})
POLICY = {"dataset": "visits", "columns": {"age": "quasi_identifier", "city": "sensitive"}}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> str:
    return s3_bucket(monkeypatch)


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return an Iceberg catalog in SQLite, whose files are in a folder."""
    settings = {"TYPE": "sql", "URI": f"sqlite:///{tmp_path / 'catalog.db'}", "WAREHOUSE": f"file://{tmp_path}/lake"}
    (tmp_path / "lake").mkdir()
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__HOUSE__{name}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it is read when pyiceberg is imported
    made = load_catalog("house")
    made.create_namespace("clinic")
    yield made
    made.close()


def accept(_: Any) -> None:
    """Accept every copy."""


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".jsonl", ".xlsx"])
def test_objects_of_a_store(suffix: str, bucket: str, tmp_path: Path) -> None:
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    source = open_source(tmp_path / "visits.parquet")
    local = source.publish(str(tmp_path / f"local{suffix}"), columns=source.columns, verify=accept)
    remote = source.publish(f"{bucket}/a/visits{suffix}", columns=source.columns, verify=accept)
    assert remote.fingerprint() == local.fingerprint()
    opened = open_source(Path(f"{bucket}/a/visits{suffix}"))
    place = parse_location(f"{bucket}/a/visits{suffix}")
    with pytest.raises(SourceError, match="changed after it was opened"), opened.snapshot():
        place.write_text("age,city\n1,x\n")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_refused_release_leaves_the_old_object(bucket: str, tmp_path: Path) -> None:
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    source = open_source(tmp_path / "visits.parquet")
    place = parse_location(f"{bucket}/release.csv")
    place.write_text("age\n1\n")

    def refuse(_: Any) -> None:
        raise SourceError("no")

    with pytest.raises(SourceError, match="no"):
        source.publish(str(place), columns=["age"], verify=refuse)
    assert place.read_text() == "age\n1\n"


def test_a_folder_of_a_store(bucket: str, tmp_path: Path) -> None:
    for month in ("01", "02"):
        pq.write_table(VISITS, tmp_path / "part.parquet")
        location: Any = parse_location(f"{bucket}/visits/month={month}/part.parquet")
        location.upload(tmp_path / "part.parquet")
    source = open_source(f"{bucket}/visits")
    assert source.columns == ("age", "city", "month")
    assert source.row_count() == 6


def test_places_that_cannot_be_read(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        (f"{bucket}/absent.csv", "does not exist"),
        (f"{bucket}/absent.doc", "format of .* is unknown"),
        ("s3://key:zqsecret@clinic/a.csv", "credentials in the environment"),
        ("ftp://user:zqsecret@host/a.csv", "a URL cannot be read"),
        ("az://container/a.csv", "AZURE_STORAGE_ACCOUNT_NAME"),
        (f"delta:{tmp_path}/absent", "is it a Delta table"),
        ("iceberg:visits", "iceberg:<catalog>/<namespace>.<table>"),
        ("iceberg:absent/clinic.visits", "do catalog and table exist"),
    ]
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    for place, words in cases:
        with pytest.raises(PrivacyPluginError, match=words) as raised:
            open_source(place)
        assert "zqsecret" not in str(raised.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(SourceError, match="the store cannot be reached") as raised:
        open_source(f"{bucket}/visits.csv")
    assert "zqsecret" not in str(raised.value)


@pytest.mark.parametrize("remote", [False, True])
def test_a_delta_table(remote: bool, bucket: str, tmp_path: Path) -> None:
    place = f"{bucket}/lake/visits" if remote else str(tmp_path / "visits")
    write_deltalake(place, pa.table({"age": [1, 2], "city": ["secret", "secret"]}))
    assert open_source(f"delta:{place}").notes == ()
    write_deltalake(place, VISITS, mode="overwrite")
    source: Any = open_source(f"delta:{place}")
    assert sorted(rows(f"delta:{place}"), key=repr) == sorted([(30, "Bern"), (30, "Bern"), (41, None)], key=repr)
    (note,) = source.notes
    assert "versions before 1" in note
    policy = pp.Policy.from_dict({**POLICY, "requirements": [{"k_anonymity": {"at_least": 1}}]})
    assert note in policy.judge(f"delta:{place}").notes
    DeltaTable(place).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert open_source(f"delta:{place}").notes == ()
    if not remote:
        assert open_source(Path(place)).fingerprint() == source.fingerprint()  # a folder with a Delta log


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_release_replaces_a_lake_table(kind: str, catalog: Any, tmp_path: Path) -> None:
    """One commit; the rows that the table had before are named, and a refused copy changes nothing."""
    target = f"delta:{tmp_path / 'out'}" if kind == "delta" else "iceberg:house/clinic.released"
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    source = open_source(tmp_path / "visits.parquet")
    first: Any = source.publish(target, columns=source.columns, verify=accept)
    assert first.fingerprint() == source.fingerprint()
    assert first.notes == ()
    second: Any = source.publish(target, columns=source.columns, verify=accept)
    assert second.fingerprint() == source.fingerprint()
    assert len(second.notes) == 1
    assert "older rows" in second.notes[0]

    def refuse(_: Any) -> None:
        raise SourceError("no")

    with pytest.raises(SourceError, match="no"):
        source.publish(target, columns=["age"], verify=refuse)
    assert open_source(target).fingerprint() == source.fingerprint()
    with pytest.raises(ParameterError, match="is the source itself"):
        open_source(target).publish(target, columns=source.columns, verify=accept)


def test_other_columns_of_an_iceberg_table_are_refused(catalog: Any, tmp_path: Path) -> None:
    catalog.create_table("clinic.other", schema=pa.schema([("x", pa.int64())]))
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    with pytest.raises(ParameterError, match="has other columns"):
        open_source(tmp_path / "visits.parquet").publish("iceberg:house/clinic.other", columns=["age"], verify=accept)


def test_a_delta_table_is_not_replaced_by_its_own_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may be spelled in several ways."""
    write_deltalake(str(tmp_path / "visits"), VISITS)
    (tmp_path / "link").symlink_to(tmp_path / "visits")
    monkeypatch.chdir(tmp_path)
    for source in ("delta:visits", tmp_path / "visits"):
        for target in (f"delta:{tmp_path}/visits", "delta:visits/", "delta:link"):
            with pytest.raises(ParameterError, match="is the source itself"):
                open_source(source).publish(target, columns=["age"], verify=accept)
    assert DeltaTable(str(tmp_path / "visits")).version() == 0
