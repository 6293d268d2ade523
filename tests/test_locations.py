"""Certificates, plans and reports in an object store; wrong locations are refused in one sentence without secrets."""

from pathlib import Path

import dagster as dg
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError, ObjectStoreError, ParameterError, SourceError
from privacy_plugin.gate.certificate import CertificateStore
from privacy_plugin.locations import ObjectPath, parse_location
from privacy_plugin.orchestration import CertificateStoreResource
from privacy_plugin.report import write_report
from privacy_plugin.text_files import read_text_file
from tests.certificates import TEST_KEY
from tests.object_stores import s3_bucket
from tests.orchestration.pipeline import Pipeline, errors, made_elsewhere, safe_rows, unsafe_rows


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    return s3_bucket(monkeypatch)


@pytest.mark.parametrize("place", ["s3://clinic/a/b.csv", "s3:/clinic/a/b.csv", Path("s3://clinic/a/b.csv")])
def test_a_url_is_the_same_location_with_one_slash(place: object) -> None:
    found = parse_location(place)
    assert isinstance(found, ObjectPath)
    assert str(found) == "s3://clinic/a/b.csv"
    assert (found.name, found.stem, found.suffix) == ("b.csv", "b", ".csv")
    assert str(found.parent / "c") == "s3://clinic/a/c"
    assert str(found.parent.parent.parent) == "s3://clinic/"


@pytest.mark.parametrize("place", ["visits.csv", "s3", "/data/s3:x", "postgresql://u:p@h/d", "C:/visits.csv"])
def test_everything_else_is_a_path(place: str) -> None:
    assert parse_location(place) == Path(place)


@pytest.mark.parametrize(
    "place", ["s3://key:zqsecret@clinic/a.csv", "s3://clinic/a.csv?sig=zqsecret", "az://c/a#zqsecret"]
)
def test_credentials_in_a_url_are_refused(place: str) -> None:
    with pytest.raises(SourceError, match="environment") as raised:
        parse_location(place)
    assert "zqsecret" not in str(raised.value)


def test_objects_are_written_read_listed_and_deleted(bucket: str, tmp_path: Path) -> None:
    place = parse_location(f"{bucket}/a/b.txt")
    assert isinstance(place, ObjectPath)
    assert not place.exists()
    place.write_text("änderung")
    before = place.state()
    assert place.is_file()
    assert place.parent.is_dir()
    assert place.read_text() == read_text_file(f"{bucket}/a/b.txt") == "änderung"
    assert [str(each) for each in place.parent.files()] == [str(place)]
    place.download(tmp_path / "copy")
    (tmp_path / "copy").write_text("other")
    place.upload(tmp_path / "copy")
    assert place.state() != before
    with pytest.raises(ParameterError, match="has 5 bytes; at most 4 are read"):
        read_text_file(place, largest=4)
    place.unlink()
    with pytest.raises(FileNotFoundError):
        place.read_bytes()


def test_a_gate_holds_with_certificates_in_a_bucket(bucket: str, tmp_path: Path) -> None:
    """Judge and release with everything in the store; a table that changed is not released."""
    url = f"duckdb:///{tmp_path / 'house.duckdb'}"
    pipeline = Pipeline(folder=tmp_path, url=url)
    pipeline.extra_resources = {"certificates": CertificateStoreResource(folder=f"{bucket}/privacy")}
    from privacy_plugin.orchestration import build_privacy_checks, build_release_asset

    policy = pp.Policy.from_dict({**_policy()})
    pipeline.definitions = [
        made_elsewhere("judged"),
        build_privacy_checks(asset="judged", table="judged", policy=policy),
        build_release_asset(name="released", asset="judged", table="judged", policy=policy),
    ]
    pipeline.write("judged", safe_rows())
    result = pipeline.run()
    assert result.success, errors(result)
    assert pipeline.read("released")
    metadata = result.asset_materializations_for_node("released")[0].metadata
    assert isinstance(metadata["certificate"], dg.UrlMetadataValue)
    assert str(metadata["certificate"].value).startswith(f"{bucket}/privacy/releases/")
    (check, *_) = result.get_asset_check_evaluations()
    assert str(check.metadata["report"].value).startswith(f"{bucket}/privacy/reports/")
    assert "<html" in read_text_file(str(check.metadata["report"].value))
    pipeline.write("judged", unsafe_rows())
    assert not pipeline.run("released").success


def _policy() -> dict[str, object]:
    columns = {"age": "quasi_identifier", "zip": "quasi_identifier", "disease": "sensitive"}
    return {"dataset": "visits", "columns": columns, "requirements": [{"k_anonymity": {"at_least": 3}}]}


def test_plans_and_reports_in_a_bucket(bucket: str) -> None:
    hierarchies = {"age": pp.interval_hierarchy(start=0, stop=100, widths=[50])}
    plan = pp.generalize(safe_rows(), hierarchies=hierarchies, requirements=[pp.require("k_anonymity", at_least=3)])
    plan.save(f"{bucket}/plans/visits.json")
    assert pp.load_plan(f"{bucket}/plans/visits.json").to_dict() == plan.to_dict()
    policy = pp.Policy.from_dict({**_policy()})
    write_report(f"{bucket}/report.html", policy=policy, verdicts=[("visits", policy.judge(safe_rows()))])
    assert "<html" in read_text_file(f"{bucket}/report.html")


def test_a_store_that_cannot_be_used_says_so_without_secrets(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = pp.Policy.from_dict({**_policy()})
    verdict = policy.judge(safe_rows(), fingerprint=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(CertificateError, match="the store cannot be reached or refuses the request") as raised:
        CertificateStore(f"{bucket}/c").record(verdict)
    assert "zqsecret" not in str(raised.value)
    with pytest.raises(ObjectStoreError):
        parse_location(f"{bucket}/a").exists()
    with pytest.raises(CertificateError, match="the store cannot be reached"):
        CertificateStore(f"{bucket}/c").require_open(policy)
