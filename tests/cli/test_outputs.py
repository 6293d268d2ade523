"""Where commands write: asked before work begins, and never over what they read."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from privacy_plugin.demo.hospital import load_hospital
from tests.cli.conftest import Run, people, words, write_policy


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("option", ["--output", "--plan", "--report"])
@pytest.mark.parametrize("victim", ["visits.csv", "policy.yaml", "population.csv", "release.csv"])
def test_an_output_cannot_be_an_input(folder: Path, run: Run, option: str, victim: str) -> None:
    people().to_csv(folder / "population.csv", index=False)
    before = contents(folder)
    outputs = {"--output": folder / "release.csv", option: folder / "nowhere" / ".." / victim}
    if option == "--output":
        outputs["--plan"] = folder / "release.csv"  # which is the fourth victim itself
    (folder / "nowhere").mkdir()
    result = run(
        *("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "--population", folder / "population.csv"),
        *(argument for pair in outputs.items() for argument in pair),
        "--force",
    )
    assert result.exit_code == 2
    expected = "twice; name two different files" if victim == "release.csv" else "is also an input of this command"
    assert expected in words(result) or (option, victim) == ("--output", "policy.yaml")  # its suffix is rejected first
    assert contents(folder) == before


@pytest.mark.parametrize("address", ["", "sqlite://"])
@pytest.mark.parametrize("victim", ["visits.csv", "policy.yaml", "before.csv"])
def test_a_report_cannot_replace_an_input(
    folder: Path, run: Run, victim: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIVACY_PLUGIN_URL", address)  # of a database that is not asked for here
    people().to_csv(folder / "before.csv", index=False)
    before = contents(folder)
    named = (folder / "visits.csv", "-p", folder / "policy.yaml", "--before", folder / "before.csv")
    assert run("report", *named, "-o", folder / victim, "--force").exit_code == 2
    assert run("init", folder / "visits.csv", "-o", folder / "visits.csv", "--force").exit_code == 2
    assert contents(folder) == before


@pytest.mark.parametrize("option", ["--plan", "--report"])
def test_plan_and_report_files_are_replaced_only_with_force(folder: Path, run: Run, option: str) -> None:
    (folder / "existing").write_text("mine")
    arguments = ("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv")
    result = run(*arguments, option, folder / "existing")
    assert result.exit_code == 2
    assert "--force" in words(result)
    assert not (folder / "release.csv").exists()
    assert (folder / "existing").read_text() == "mine"
    assert run(*arguments, option, folder / "existing", "--force").exit_code == 0
    assert (folder / "existing").read_text() != "mine"


@pytest.mark.parametrize("option", ["--output", "--plan", "--report"])
def test_a_missing_folder_is_named_before_writing(folder: Path, run: Run, option: str) -> None:
    before = contents(folder)
    places = {"--output": folder / "release.csv", option: folder / "nowhere" / "release.csv"}
    arguments = (argument for pair in places.items() for argument in pair)
    result = run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", *arguments)
    assert result.exit_code == 2
    assert f"the folder '{folder / 'nowhere'}' does not exist" in words(result)
    assert contents(folder) == before


def test_an_unsupported_output_format_names_the_given_file(folder: Path, run: Run) -> None:
    output = folder / "release.docx"
    result = run("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", output)
    assert result.exit_code == 2
    assert f"the format of '{output}' is unknown" in words(result)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ["hospital_visits", "main.hospital_visits", '"Hospital_Visits"'])
def test_an_output_table_cannot_be_the_input_table(tmp_path: Path, run: Run, dialect: str, name: str) -> None:
    url = f"{dialect}:///{tmp_path / 'hospital.db'}"
    engine = sa.create_engine(url)
    load_hospital(engine, rows=500, seed=7)
    engine.dispose()
    policy = Path(__file__).parents[2] / "privacy_plugin" / "demo" / "policy.yaml"
    arguments = ("anonymize", "-p", policy, "--url", url, "--table", "hospital_visits", "-o", name, "--force")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "is also an input of this command" in words(result)
    with sa.create_engine(url).connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM hospital_visits").scalar() == 500


def presence_policy(folder: Path, population: str) -> None:
    columns = {
        "person": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
        "illness": "insensitive",
    }
    bounds = [{"delta_presence": {"between": [0.2, 0.5]}}]
    write_policy(folder, columns=columns, requirements=bounds, population=population)


@pytest.mark.parametrize("option", ["--output", "--plan", "--report"])
def test_an_output_cannot_be_the_population_of_the_policy(folder: Path, run: Run, option: str) -> None:
    people().to_csv(folder / "register.csv", index=False)
    people().drop(columns="remark").iloc[::3].to_csv(folder / "visits.csv", index=False)
    presence_policy(folder, "register.csv")
    before = contents(folder)
    named = (folder / "visits.csv", "-p", folder / "policy.yaml", "--force")
    outputs = {"--output": folder / "release.csv", option: folder / "register.csv"}
    assert run("anonymize", *named, *(part for pair in outputs.items() for part in pair)).exit_code == 2
    assert run("report", *named, "-o", folder / "register.csv").exit_code == 2
    assert contents(folder) == before


@pytest.mark.parametrize("given", [(), ("--population", "register")])
def test_an_output_table_cannot_be_the_population_table(folder: Path, run: Run, given: tuple[str, ...]) -> None:
    url = f"sqlite:///{folder / 'clinic.db'}"
    engine = sa.create_engine(url)
    people().to_sql("register", engine, index=False)
    people().drop(columns="remark").iloc[::3].to_sql("visits", engine, index=False)
    presence_policy(folder, "register")
    named = ("anonymize", "-p", folder / "policy.yaml", "--url", url, "--table", "visits", *given)
    result = run(*named, "-o", "main.Register", "--force")
    assert result.exit_code == 2
    assert "is also an input of this command" in words(result)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM register").scalar() == len(people())
    assert run(*named, "-o", "release").exit_code == 0


def test_a_folder_is_not_a_valid_output_even_with_force(folder: Path, run: Run) -> None:
    (folder / "release.csv").mkdir()
    arguments = ("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "-o", folder / "release.csv")
    result = run(*arguments, "--force")
    assert result.exit_code == 2
    assert "is a folder" in words(result)
