"""The population: named on the command line or in the policy, a file or a table of the same database."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from privacy_plugin.gate.certificate import read_certificate
from tests.cli.conftest import MARKERS, Run, people, words, write_policy

PRESENCE: list[Any] = [{"delta_presence": {"between": [0, 0.5]}}, {"k_map": {"at_least": 2}}]


@pytest.fixture
def both(folder: Path) -> Path:
    """Return a folder with visits.csv and register.csv, which contains every patient three times."""
    pd.concat([people()] * 3).to_csv(folder / "register.csv", index=False)
    write_policy(folder, requirements=PRESENCE)
    return folder


def test_data_and_population_are_files(both: Path, run: Run) -> None:
    arguments = ["check", both / "visits.csv", "-p", both / "policy.yaml", "--without-identifiers", "--json"]
    result = run(*arguments, "--population", both / "register.csv", "--certificate-folder", both / "certificates")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["population_fingerprint"]["rows"] == 3 * len(people())
    presence, k_map = content["findings"]
    assert (presence["measurement"]["exact_value"], k_map["value"]) == ("1/3", 3)
    (certificate,) = (both / "certificates").glob("*.json")
    text = read_certificate(certificate).payload.decode()
    signed = json.loads(text)["predicate"]["population_fingerprint"]
    assert {name: value for name, value in signed.items() if name != "digest"} == content["population_fingerprint"]
    assert not any(marker in text for marker in MARKERS)
    assert run(*arguments).exit_code == 2  # no population: nothing could be compared


def test_the_population_of_the_policy_is_used(both: Path, run: Run) -> None:
    write_policy(both, requirements=PRESENCE, population="register.csv")
    arguments = ["check", both / "visits.csv", "-p", both / "policy.yaml", "--without-identifiers"]
    assert run(*arguments).exit_code == 0
    people().to_csv(both / "register.csv", index=False)
    result = run(*arguments)
    assert result.exit_code == 1
    assert "delta-presence is 1" in " ".join(result.output.split())


def test_data_and_population_are_tables_of_one_database(both: Path, run: Run) -> None:
    engine = sa.create_engine(f"sqlite:///{both / 'house.db'}")
    people().drop(columns="person").to_sql("visits", engine, index=False)
    pd.concat([people()] * 3).to_sql("register", engine, index=False)
    place = ["--url", f"sqlite:///{both / 'house.db'}", "--table", "visits"]
    assert run("check", "-p", both / "policy.yaml", *place, "--population", "register").exit_code == 0
    assert run("check", "-p", both / "policy.yaml", *place, "--population", "nowhere").exit_code == 2


def test_people_missing_from_the_population_are_counted(both: Path, run: Run) -> None:
    people().iloc[:80].to_csv(both / "register.csv", index=False)
    arguments = ["check", both / "visits.csv", "-p", both / "policy.yaml", "--without-identifiers"]
    result = run(*arguments, "--population", both / "register.csv", "--json")
    assert result.exit_code == 2
    reasons = [finding["reason"] for finding in json.loads(result.stdout)["findings"]]
    assert all("1 of the table's 13 classes have more rows" in reason for reason in reasons)


def test_generalization_meets_a_requirement_on_the_population(both: Path, run: Run) -> None:
    drawn = people().drop(columns="remark").iloc[::3]
    drawn.to_csv(both / "visits.csv", index=False)
    columns = {
        "person": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
        "illness": "insensitive",
    }
    people().to_csv(both / "register.csv", index=False)
    write_policy(both, columns=columns, requirements=[{"delta_presence": {"between": [0.2, 0.5]}}], anonymize={})
    where = ["-p", both / "policy.yaml", "--population", both / "register.csv"]
    assert run("check", both / "visits.csv", *where, "--without-identifiers").exit_code == 1
    plan = ["--plan", both / "plan.json"]
    result = run("anonymize", both / "visits.csv", *where, "-o", both / "release.csv", *plan, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)["verdict"]
    assert content["population_fingerprint"]["rows"] == len(people())
    assert run("check", both / "release.csv", *where, *plan).exit_code == 0
    without = run("check", both / "release.csv", *where)
    assert (without.exit_code, "the plan that made the table" in words(without)) == (2, True)
    certified = ["release.csv", *where, "-c", both / "c.json"]
    assert run("certify", both / certified[0], *certified[1:], *plan).exit_code == 0
    releasing = ["release", both / certified[0], *certified[1:], "-o", both / "public.csv"]
    assert run(*releasing).exit_code == 1  # the certificate covers the plan too
    assert run(*releasing, *plan).exit_code == 0


def test_multidimensional_presence_writes_regions(both: Path, run: Run) -> None:
    people().drop(columns="remark").iloc[::3].to_csv(both / "visits.csv", index=False)
    people().to_csv(both / "register.csv", index=False)
    columns = {
        "person": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
        "illness": "insensitive",
    }
    regions = {"method": "multidimensional_presence"}
    write_policy(both, columns=columns, requirements=[{"delta_presence": {"between": [0.2, 0.5]}}], anonymize=regions)
    where = ["-p", both / "policy.yaml", "--population", both / "register.csv"]
    made = ["anonymize", both / "visits.csv", *where, "-o", both / "release.csv"]
    assert run("check", both / "visits.csv", *where, "--without-identifiers").exit_code == 1
    refused = run(*made, "--plan", both / "plan.json")
    assert refused.exit_code == 2
    assert "makes no plan" in words(refused)
    result = run(*made, "--json", "--report", both / "report.html")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert (content["method"], content["verdict"]["passed"]) == ("multidimensional_presence", True)
    assert content["regions"]["rows"] == len(pd.read_csv(both / "release.csv")) == 27
    assert run("check", both / "release.csv", *where).exit_code == 0
    assert "What was changed" in (both / "report.html").read_text()
    by_people = run(*made, "--force")
    assert f"regions: {content['regions']['classes']}, each with levels of its own" in words(by_people)
    without = run("anonymize", both / "visits.csv", "-p", both / "policy.yaml", "-o", both / "other.csv")
    assert without.exit_code == 2
    assert "compares with the population" in words(without)
    assert not (both / "other.csv").exists()


def test_regions_by_confidence_from_a_joint_distribution(both: Path, run: Run) -> None:
    people().drop(columns="remark").iloc[::6].to_csv(both / "visits.csv", index=False)
    counts = people().groupby(["age", "zip"]).size()
    lines = [f"age;{age};zip;{code};{count}" for (age, code), count in counts.items()]
    (both / "joint.csv").write_text("\n".join(lines))
    columns = {
        "person": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
        "illness": "insensitive",
    }
    asked = {"marginals": {}, "joint": {"file": "joint.csv"}, "population_size": len(people()), "delta": [0, 0.5]}
    requirements = [{"presence_confidence": {**asked, "at_least": 1}}]
    write_policy(both, columns=columns, requirements=requirements, anonymize={"method": "multidimensional_presence"})
    given = ["-p", both / "policy.yaml"]
    assert run("check", both / "visits.csv", *given, "--without-identifiers").exit_code == 1
    result = run("anonymize", both / "visits.csv", *given, "-o", both / "release.csv", "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["regions"]["confidence"] == 1
    assert run("check", both / "release.csv", *given).exit_code == 0
