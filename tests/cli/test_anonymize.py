"""`anonymize` and `report`: written only when it passes, whole or not at all."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from privacy_plugin.demo.hospital import load_hospital
from privacy_plugin.policy.policy import Policy
from tests.cli.conftest import Run, document, leaks, people, words, write_policy
from tests.engines import mariadb_database, postgresql_database


def test_the_result_passes_and_has_no_identifiers(folder: Path, run: Run) -> None:
    output = folder / "release.csv"
    result = run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", output)
    assert result.exit_code == 0
    assert "PASSED: the gate is open (anonymized)" in result.output
    written = pd.read_csv(output, dtype=str)
    assert list(written.columns) == ["age", "zip", "illness", "remark"]
    assert len(written) == 80  # the marker's class cannot be saved
    assert leaks(output.read_text()) == []
    assert run("check", output, "-p", folder / "policy.yaml").exit_code == 0


def test_json_describes_the_anonymization(folder: Path, run: Run) -> None:
    output = folder / "release.parquet"
    result = run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", output, "--json")
    found = document(result)
    assert found["passed"] is True
    assert found["output"] == str(output)
    assert found["plan"]["suppressed"] == 1
    assert set(found["plan"]["levels"]) == {"age", "zip"}
    assert found["verdict"]["rows"] == len(pd.read_parquet(output)) == 80


def test_no_table_is_written_if_the_policy_cannot_be_met(folder: Path, run: Run) -> None:
    write_policy(folder, requirements=[{"k_anonymity": {"at_least": 500}}])
    before = sorted(folder.iterdir())
    result = run(
        "anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv", "--json"
    )
    assert result.exit_code == 1
    assert document(result)["error"]["kind"] == "InfeasibleError"
    assert sorted(folder.iterdir()) == before


def test_an_existing_file_is_replaced_only_with_force(folder: Path, run: Run) -> None:
    output = folder / "release.csv"
    output.write_text("mine")
    arguments = ("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", output)
    result = run(*arguments)
    assert result.exit_code == 2
    assert "--force" in words(result)
    assert output.read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert output.read_text() != "mine"


def test_a_saved_plan_is_applied(folder: Path, run: Run) -> None:
    policy, plan = folder / "policy.yaml", folder / "plan.json"
    first, second = folder / "first.csv", folder / "second.csv"
    run("anonymize", folder / "visits.csv", "-p", policy, "-o", first, "--plan", plan)
    levels = json.loads(plan.read_text())["levels"]
    people().iloc[:60].to_csv(folder / "later.csv", index=False)
    result = run("anonymize", folder / "later.csv", "-p", policy, "-o", second, "--apply-plan", plan, "--json")
    assert result.exit_code == 0
    assert document(result)["plan"]["levels"] == levels
    assert len(pd.read_csv(second)) == 60


def test_a_plan_that_is_too_fine_for_the_policy_does_not_release(folder: Path, run: Run) -> None:
    plan, output = folder / "plan.json", folder / "release.csv"
    run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "first.csv", "--plan", plan)
    write_policy(folder, requirements=[{"k_anonymity": {"at_least": 40}}])
    result = run(
        "anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", output, "--apply-plan", plan, "--json"
    )
    assert result.exit_code == 1
    assert document(result)["output"] is None
    assert not output.exists()
    assert not list(folder.glob(".*"))


def test_every_column_needs_a_role_and_every_quasi_identifier_a_hierarchy(folder: Path, run: Run) -> None:
    people().assign(extra="x").to_csv(folder / "more.csv", index=False)
    more = run("anonymize", folder / "more.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv")
    assert more.exit_code == 2
    assert "column 'extra' has no role" in words(more)
    roles = {"person": "identifier", "age": "quasi_identifier", "zip": "quasi_identifier"}
    write_policy(folder, columns={**roles, "illness": "sensitive", "remark": "insensitive"})
    lacking = run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv")
    assert lacking.exit_code == 2
    assert "need a hierarchy in the policy: age, zip" in words(lacking)


BY_PEOPLE = {
    "person": "unit",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}},
    "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
    "illness": "insensitive",
    "remark": "insensitive",
}


def test_people_with_several_rows_are_counted_once(folder: Path, run: Run) -> None:
    """Ten people with twenty rows each: a class of twenty rows is one person."""
    pd.concat([people().iloc[:10]] * 20).to_csv(folder / "visits.csv", index=False)
    write_policy(folder, columns=BY_PEOPLE, requirements=[{"k_anonymity": {"at_least": 3}}], anonymize={})
    result = run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv")
    assert result.exit_code == 0
    assert "suppressed: 0 of 10 people" in words(result)
    released = pd.read_csv(folder / "release.csv", dtype=str)
    assert "person" not in released
    assert released.groupby(["age", "zip"]).size().min() >= 3 * 20


def test_people_whose_rows_differ_are_counted_and_suppressed_whole(folder: Path, run: Run) -> None:
    repeated = pd.concat([people().iloc[:80]] * 2).assign(
        person=lambda f: f["person"].where(f["zip"] != "02100", "one")
    )
    repeated.to_csv(folder / "visits.csv", index=False)
    write_policy(
        folder,
        columns=BY_PEOPLE,
        requirements=[{"k_anonymity": {"at_least": 2}}],
        anonymize={"method": "generalize", "max_suppression": 0.05},
    )
    arguments = ("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv")
    result = run(*arguments, "--report", folder / "report.html", "--json")
    assert result.exit_code == 0
    made = document(result)["plan"]
    everybody = repeated["person"].nunique()
    assert made["rows"] == everybody
    assert made["suppressed"] <= 0.05 * everybody
    assert "the set of the classes of their rows" in (folder / "report.html").read_text()


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_anonymize_a_database_table(tmp_path: Path, run: Run, dialect: str) -> None:
    url = f"{dialect}:///{tmp_path / 'hospital.db'}"
    engine = sa.create_engine(url)
    load_hospital(engine, rows=3_000, seed=7)
    engine.dispose()
    policy = Path(__file__).parents[2] / "privacy_plugin" / "demo" / "policy.yaml"
    arguments = ("anonymize", "-p", policy, "--url", url, "--table", "hospital_visits", "-o", "released")
    result = run(*arguments, "--json")
    assert result.exit_code == 0
    with sa.create_engine(url).connect() as connection:
        names = set(sa.inspect(connection).get_table_names()) if dialect == "sqlite" else _duckdb_tables(connection)
        rows = connection.exec_driver_sql("SELECT count(*) FROM released").scalar()
    assert names == {"hospital_visits", "population_register", "released"}  # nothing is left behind
    assert rows == document(result)["verdict"]["rows"]
    assert run(*arguments).exit_code == 2  # it exists by now
    assert run(*arguments, "--force").exit_code == 0


@pytest.mark.parametrize(
    "dialect",
    [
        "file",
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ],
)
def test_the_staging_table_is_not_visible_to_other_sessions(
    folder: Path, run: Run, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers of releases would otherwise see rows that no gate has judged, with their unit."""
    engine, place = None, ("-o", folder / "release.csv")
    given: tuple[object, ...] = (folder / "visits.csv",)
    if dialect != "file":
        servers = {"postgresql": postgresql_database, "mariadb": mariadb_database}
        engine = servers.get(dialect, lambda: sa.create_engine(f"sqlite:///{folder}/house.db"))()
        people().to_sql("visits", engine, index=False)
        url = engine.url.render_as_string(hide_password=False)
        given, place = ("--url", url, "--table", "visits"), ("-o", "release")
    before = set(folder.iterdir())
    seen: list[object] = []
    judge = Policy.judge

    def looking(self: Policy, *arguments: Any, **options: Any) -> Any:
        if engine is None:
            seen.extend(new.stat().st_mode & 0o077 for new in set(folder.iterdir()) - before)
        else:
            with engine.connect() as connection:
                seen.append(set(sa.inspect(connection).get_table_names()) - {"visits"})
        return judge(self, *arguments, **options)

    monkeypatch.setattr(Policy, "judge", looking)
    result = run("anonymize", *given, "-p", folder / "policy.yaml", *place)
    assert result.exit_code == 0, result.output
    assert seen == ([0] if engine is None else [set()])
    if engine is not None:
        with engine.connect() as connection:
            assert set(sa.inspect(connection).get_table_names()) == {"visits", "release"}
        engine.dispose()


def _duckdb_tables(connection: sa.Connection) -> set[str]:
    return {row[0] for row in connection.exec_driver_sql("SHOW TABLES").fetchall()}


def test_the_report_compares_before_and_after(folder: Path, run: Run) -> None:
    policy, output, plan = folder / "policy.yaml", folder / "release.csv", folder / "plan.json"
    first, second = folder / "first.html", folder / "second.html"
    run("anonymize", folder / "visits.csv", "-p", policy, "-o", output, "--plan", plan, "--report", first)
    result = run(
        *("report", output, "-p", policy, "-o", second, "--before", folder / "visits.csv", "--plan", plan),
        *("--certificate-folder", folder / "certificates", "--json"),
    )
    assert result.exit_code == 0
    assert document(result)["report"] == str(second)
    for page in (first, second):
        text = page.read_text(encoding="utf-8")
        assert leaks(text) == []
        assert "Passed: the gate is open" in text
        assert "What was changed" in text
        assert "What is left" in text
        assert "Histogram of age before and after" in text
    assert "Certificate" in second.read_text(encoding="utf-8")


def test_a_report_is_written_after_a_failure(folder: Path, run: Run) -> None:
    page = folder / "report.html"
    arguments = ("report", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", page)
    result = run(*arguments, "--without-identifiers", "--title", "My <own> title")
    assert result.exit_code == 1
    assert "Failed: the gate is closed" in page.read_text(encoding="utf-8")
    assert "My &lt;own&gt; title" in page.read_text(encoding="utf-8")
    assert run(*arguments).exit_code == 2  # it exists
    assert run(*arguments, "--force").exit_code == 2  # identifiers are there
    assert "still in the table" in page.read_text(encoding="utf-8")
