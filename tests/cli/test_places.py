"""Commands on object stores, lakes, workbooks and other encodings: inputs, outputs, and what is refused."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest

from privacy_plugin.locations import parse_location
from privacy_plugin.text_files import read_text_file
from tests.cli.conftest import Run, document, people, words
from tests.object_stores import s3_bucket


@pytest.fixture
def bucket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a bucket with the table of the folder."""
    url = s3_bucket(monkeypatch)
    place: Any = parse_location(f"{url}/visits.csv")
    place.upload(folder / "visits.csv")
    return url


def test_from_a_bucket_into_a_bucket(bucket: str, folder: Path, run: Run) -> None:
    """Anonymize, report, certify and release: data, plan, report and certificates are all objects."""
    policy = ["-p", folder / "policy.yaml"]
    released, plan, report = (f"{bucket}/out/{name}" for name in ("release.csv", "plan.json", "report.html"))
    result = run("anonymize", f"{bucket}/visits.csv", *policy, "-o", released, "--plan", plan, "--report", report)
    assert result.exit_code == 0, result.output
    assert run("check", released, *policy, "--certificate-folder", f"{bucket}/c").exit_code == 0
    assert run("certify", released, *policy, "--certificate", f"{bucket}/c.json").exit_code == 0
    done = run("release", released, *policy, "-c", f"{bucket}/c.json", "-o", f"{bucket}/public/r.csv", "--json")
    assert done.exit_code == 0, done.output
    assert document(done)["certificate"].startswith(f"{bucket}/public/")
    assert run("verify", f"{bucket}/public/r.csv", "-c", document(done)["certificate"]).exit_code == 0
    assert "<html" in read_text_file(report)
    again = run("anonymize", f"{bucket}/visits.csv", *policy, "-o", released)
    assert again.exit_code == 2
    assert "exists already" in words(again)
    itself = run("anonymize", f"{bucket}/visits.csv", *policy, "-o", f"{bucket}/visits.csv", "--force")
    assert itself.exit_code == 2
    assert "also an input" in words(itself)


def test_into_a_delta_table(folder: Path, run: Run) -> None:
    """The second release names the versions that keep the first."""
    given = [
        "anonymize",
        folder / "visits.csv",
        "-p",
        folder / "policy.yaml",
        "-o",
        f"delta:{folder / 'lake'}",
        "--json",
    ]
    first = run(*given)
    assert first.exit_code == 0, first.output
    assert document(first)["kept"] == []
    assert run(*given).exit_code == 2  # it exists
    second = run(*given, "--force")
    assert second.exit_code == 0
    assert "older rows" in document(second)["kept"][0]
    checked = run("check", folder / "lake", "-p", folder / "policy.yaml", "--json")
    assert checked.exit_code == 0
    assert any("older rows" in note for note in document(checked)["notes"])


def test_delimiter_encoding_and_sheet(folder: Path, run: Run) -> None:
    frame = people().drop(columns="person")
    frame["remark"] = "Zürich"
    frame.to_csv(folder / "other.csv", index=False, sep="|", encoding="cp1252")
    policy = ["-p", folder / "policy.yaml", "--json"]
    plain = run("check", folder / "other.csv", *policy)
    assert plain.exit_code == 2
    found = document(run("check", folder / "other.csv", *policy, "--delimiter", "|", "--encoding", "cp1252"))
    assert found["rows"] == 81
    book = openpyxl.Workbook()
    sheet: Any = book.create_sheet("visits")
    sheet.append(list(frame.columns))
    for row in frame.itertuples(index=False):
        sheet.append(list(row))
    book.save(folder / "other.xlsx")
    assert document(run("check", folder / "other.xlsx", *policy, "--sheet", "visits"))["rows"] == 81
    made = run(
        "anonymize",
        folder / "other.csv",
        *policy[:2],
        "-o",
        folder / "o.xlsx",
        "--delimiter",
        "|",
        "--encoding",
        "cp1252",
    )
    assert made.exit_code == 0, made.output
    assert run("check", folder / "o.xlsx", *policy[:2]).exit_code == 0


@pytest.mark.parametrize(
    ("place", "options", "message"),
    [
        ("s3://clinic/absent.csv", [], "the store cannot be reached"),
        ("s3://key:zqsecret@clinic/a.csv", [], "credentials in the environment"),
        ("gs://clinic/a.csv?token=zqsecret", [], "no options after"),
        ("https://host/a.csv?token=zqsecret", [], "a URL cannot be read"),
        ("absent.csv", [], "does not exist"),
        ("visits.docx", [], "format of"),
        ("visits.csv", ["--encoding", "klingon"], "encoding 'klingon' is unknown"),
        ("visits.csv", ["--encoding", "utf-16"], "is not utf-16"),
        ("visits.csv", ["--sheet", "a"], "sheet is for .xlsx"),
        ("visits.csv", ["--delimiter", ";;"], "must be one character"),
        ("delta:absent", [], "is it a Delta table"),
        ("iceberg:zqcatalog/a.b", [], "do catalog and table exist"),
        ("iceberg:a", [], "iceberg:<catalog>/<namespace>.<table>"),
        ("latin.csv", [], "not UTF-8"),
        ("notes", [], "another kind"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, place: str, options: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "zqsecret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "zqsecret")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    (folder / "visits.docx").write_text("zqsecret")
    (folder / "notes").mkdir()
    (folder / "notes" / "notes.txt").write_text("zqsecret")
    (folder / "latin.csv").write_bytes("person,age\nzqpersön,3\n".encode("latin-1"))
    before = sorted(folder.rglob("*"))
    for command in (["check"], ["anonymize", "-o", "out.csv", "--plan", "plan.json", "--report", "r.html"]):
        result = run(*command, place, "-p", "policy.yaml", *options)
        assert result.exit_code == 2
        assert message in words(result)
        assert result.output.strip().count("error:") == 1
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("output", ["s3://clinic/out.csv", "delta:s3://clinic/out"])
def test_an_output_that_cannot_be_written(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "zqsecret")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tester")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    before = sorted(folder.rglob("*"))
    result = run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", output)
    assert result.exit_code == 2
    assert "out" in words(result)
    assert sorted(folder.rglob("*")) == before
