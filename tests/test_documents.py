"""Every policy, command and Python block of the documents is run as it is printed; every path and link exists."""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.anonymizers.registry import ANONYMIZERS
from privacy_plugin.cli.app import app
from privacy_plugin.frequency.vocabulary import vocabulary_names
from privacy_plugin.orchestration import PrivacyGateComponent
from privacy_plugin.requirements.specification import RULES
from tests.certificates import TEST_KEY
from tests.dbt_projects import run_dbt, write_project
from tests.documents import DOCUMENTS, ROOT, blocks, policies

# The blocks that the tests below run, by document and language. A block that no test runs fails the first of them.
RUN = {
    ("README.md", "yaml"): 1,
    ("data-sources.md", "python"): 1,
    ("data-sources.md", "yaml"): 1,
    ("great-expectations.md", "python"): 3,
    ("operating.md", "python"): 4,
    ("certificates.md", "python"): 1,
    ("certificates.md", "sh"): 1,
    ("operating.md", "yaml"): 1,
    ("policy.md", "python"): 1,
    ("policy.md", "yaml"): 5,
    ("randomized-releases.md", "yaml"): 3,
    ("releases-over-time.md", "python"): 2,
    ("releases-over-time.md", "yaml"): 1,
    ("tutorial.md", "python"): 1,
    ("tutorial.md", "yaml"): 1,
    ("tutorial-dagster.md", "python"): 1,
    ("tutorial-great-expectations.md", "python"): 3,
    ("rows-and-people.md", "python"): 2,
    ("rows-and-people.md", "yaml"): 2,
    ("which-metric.md", "python"): 1,
    ("which-metric.md", "yaml"): 1,
}
FOLDERS = ("privacy_plugin", "tests", "benchmarks", "docs", "expectations")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table and the policy of the README."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    for name in ("PRIVACY_PLUGIN_URL", "PRIVACY_PLUGIN_LEDGER"):
        monkeypatch.delenv(name, raising=False)
    draw = np.random.default_rng(7)
    people = {
        "patient_id": [f"P{number:04d}" for number in range(2_000)],
        "age": draw.integers(0, 100, 2_000),
        "zip": [f"{code:05d}" for code in draw.integers(2_100, 2_200, 2_000)],
        "diagnosis": draw.choice(["flu", "cold", "asthma", "cancer"], 2_000),
        "cost": draw.integers(10, 9_999, 2_000),
    }
    pd.DataFrame(people).to_csv("visits.csv", index=False)
    (tmp_path / "policy.yaml").write_text(blocks(ROOT / "README.md", "yaml")[0], encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("text", policies())
def test_policies_load(text: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
    assert pp.Policy.load(tmp_path / "policy.yaml").requirements


def test_every_block_is_run() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for document in DOCUMENTS:
        languages = re.findall(
            r"^```([^\n]*)\n.*?^```$", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
        found.update((document.name, language) for language in languages if language)
    assert found == RUN


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_and_links_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    paths = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[^`<* ]*)[ `]", text)
    missing = [path for path in paths if not (ROOT / path).exists()]
    for target in re.findall(r"\]\(([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        linked = document.parent / file if file else document
        if not file.startswith("http") and not (linked.is_file() and (not anchor or anchor in anchors(linked))):
            missing.append(target)
    assert missing == []


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_found() -> None:
    """A page of the site is in its navigation and in the table of its first page."""
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    nav = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert Counter(nav) == Counter(pages)
    first = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [page for page in sorted(pages - {"index.md"}) if f"]({page})" not in first] == []


def test_every_command_is_shown() -> None:
    text = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    known = [str(command.name or getattr(command.callback, "__name__", "")) for command in app.registered_commands]
    assert {"init", "check", "anonymize", "report"} <= set(known)
    assert [name for name in known if f"privacy-plugin {name}" not in text and f"make {name}" not in text] == []


def test_every_environment_variable_is_listed() -> None:
    operating = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "privacy_plugin").rglob("*.py"))
    used = set(re.findall(r"\bPRIVACY_PLUGIN_[A-Z_]+", sources))
    assert "PRIVACY_PLUGIN_KEY" in used
    assert [name for name in sorted(used) if f"`{name}`" not in operating] == []


def test_every_method_of_a_policy_is_listed() -> None:
    text = (ROOT / "docs" / "randomized-releases.md").read_text(encoding="utf-8")
    assert [name for name in ANONYMIZERS if f"| `{name}`" not in text] == []


def test_every_whole_policy_of_policy_md_loads() -> None:
    found = [yaml.safe_load(text) for text in blocks(ROOT / "docs" / "policy.md", "yaml") if "dataset:" in text]
    whole = [each for each in found if each["anonymize"].get("method") in ("bucketize", "greedy_repair")]
    assert [pp.Policy.from_dict(each).method for each in whole] == ["bucketize", "greedy_repair"]


def test_policy_md_lists_every_kind_of_hierarchy_and_vocabulary() -> None:
    text = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    assert [name for name in RULES if f"`{name}:" not in text] == []
    assert [name for name in vocabulary_names() if f"`{name}`" not in text and f"vocabulary: {name}`" not in text] == []


def test_the_requirements_of_which_metric(tmp_path: Path) -> None:
    """A part of a policy: it loads once dataset and columns are there."""
    (part,) = blocks(ROOT / "docs" / "which-metric.md", "yaml")
    columns = "{age: {role: quasi_identifier, hierarchy: {intervals: {start: 0, stop: 100, widths: [10]}}}}"
    (tmp_path / "policy.yaml").write_text(f"dataset: visits\ncolumns: {columns}\n{part}", encoding="utf-8")
    assert pp.Policy.load(tmp_path / "policy.yaml").population == "register.csv"


def test_the_line_of_a_channel_in_which_metric(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "which-metric.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^`(epsilon_dependence: .*)`\.$", text, re.MULTILINE)
    columns = "{age: quasi_identifier, smokes: sensitive, smokes_released: insensitive}"
    policy = f"dataset: survey\ncolumns: {columns}\nrequirements:\n  - {line}\n"
    (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    assert pp.Policy.load(tmp_path / "policy.yaml").requirements[0].metric == "epsilon_dependence"


def test_the_component_of_the_night(folder: Path) -> None:
    from dagster.components.testing import create_defs_folder_sandbox

    (text,) = blocks(ROOT / "docs" / "operating.md", "yaml")
    given = yaml.safe_load(text)
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=PrivacyGateComponent, defs_yaml_contents=given)
        policy = blocks(ROOT / "README.md", "yaml")[0].replace("  cost:", "  admission_date: identifier\n  cost:")
        (path / "policy.yaml").write_text(policy, encoding="utf-8")
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            names = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
    assert names == {"visits", "visits_anonymized", "visits_release"}


def commands(document: Path) -> list[list[str]]:
    lines = re.findall(r"^    privacy-plugin (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def test_the_commands_of_the_readme(folder: Path) -> None:
    reviewed = (folder / "policy.yaml").read_text(encoding="utf-8")
    (folder / "policy.yaml").unlink()
    outcomes = []
    for arguments in commands(ROOT / "README.md"):
        result = CliRunner().invoke(app, arguments)
        outcomes.append((arguments[0], result.exit_code))
        if arguments[0] == "init":
            (folder / "policy.yaml").write_text(reviewed, encoding="utf-8")
    assert outcomes == [("init", 0), ("check", 2), ("anonymize", 0), ("report", 0)]


def test_the_commands_of_randomized_releases(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = ROOT / "docs" / "randomized-releases.md"
    (folder / "policy.yaml").write_text(blocks(document, "yaml")[0], encoding="utf-8")
    monkeypatch.setenv("PRIVACY_PLUGIN_LEDGER", f"sqlite:///{folder / 'ledger.db'}")
    frame = pd.read_csv("visits.csv", dtype=str)
    frame = frame.assign(sex=["f", "m"] * 1_000, zip=["80011", "80012"] * 1_000)
    frame[["patient_id", "sex", "zip"]].to_csv("visits.csv", index=False)
    outcomes = [(arguments[0], CliRunner().invoke(app, arguments).exit_code) for arguments in commands(document)]
    assert outcomes == [("ledger", 0), ("anonymize", 0), ("check", 0), ("ledger", 0)]


def test_the_packs_of_policy_md(folder: Path) -> None:
    (part,) = (text for text in blocks(ROOT / "docs" / "policy.md", "yaml") if "packs:" in text)
    with (folder / "policy.yaml").open("a", encoding="utf-8") as file:
        file.write(part)
    assert sum(clause.answer is not None for clause in pp.Policy.load("policy.yaml").clauses) == 1


def test_the_commands_of_signing_off(folder: Path) -> None:
    policy = (folder / "policy.yaml").read_text(encoding="utf-8")
    (folder / "strict.yaml").write_text(policy.replace("at_least: 11", "at_least: 50"), encoding="utf-8")
    found = commands(ROOT / "docs" / "signing-off.md")
    outcomes = [(arguments[0], CliRunner().invoke(app, arguments).exit_code) for arguments in found]
    assert outcomes == [("compare", 0), ("explore", 0), ("anonymize", 0), ("attack", 0)]


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command ends with the exit code that stands behind it."""
    document = ROOT / "docs" / "tutorial.md"
    monkeypatch.chdir(tmp_path)
    run(blocks(document, "python"))
    (tmp_path / "policy.yaml").write_text(blocks(document, "yaml")[0], encoding="utf-8")
    lines = re.findall(
        r"^    privacy-plugin (.*?) +# exit code (\d)$", document.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(lines) == len(commands(document)) == 7
    for command, code in lines:
        assert (command, CliRunner().invoke(app, shlex.split(command)).exit_code) == (command, int(code))
    released = pd.read_csv("released.csv", dtype=str)
    assert "[20, 25)" in set(released["age"])
    assert "8004*" in set(released["zip"])
    assert "patient_id" not in released
    proposal = (tmp_path / "proposal.yaml").read_text(encoding="utf-8")
    assert re.search(r"together make 8[23]\.\d% of the people unique", proposal)
    assert "# cost: <role>" in proposal


def run(texts: list[str]) -> dict[str, Any]:
    """Run blocks one after the other in one module; return its names."""
    names: dict[str, Any] = {}
    for text in texts:
        exec(compile(text, "document", "exec"), names)
    return names


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table and the policy of the tutorial, in which the other tutorials begin."""
    document = ROOT / "docs" / "tutorial.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    run(blocks(document, "python"))
    (tmp_path / "policy.yaml").write_text(blocks(document, "yaml")[0], encoding="utf-8")
    return tmp_path


def test_the_python_of_policy_md(folder: Path) -> None:
    names = run(blocks(ROOT / "docs" / "policy.md", "python"))
    assert not names["verdict"].passed
    assert names["policy"].judge(names["released"]).passed


def test_the_tutorial_of_dagster(visits: Path) -> None:
    """The table as it is fails and is not released, also not alone; the anonymized table is released."""
    (pipeline,) = blocks(ROOT / "docs" / "tutorial-dagster.md", "python")
    job = run([pipeline])["defs"].resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.ephemeral() as instance:
        assert not job.execute_in_process(instance=instance, raise_on_error=False).success
        alone = [dg.AssetKey("visits_as_is_release")]
        again = job.execute_in_process(instance=instance, asset_selection=alone, raise_on_error=False)
        assert not again.success
    with duckdb.connect("warehouse.duckdb") as connection:
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        released = connection.execute("SELECT * FROM visits_release").df()
    assert tables == {"visits", "visits_as_is", "visits_anonymized", "visits_release"}
    assert pp.Policy.load("policy.yaml").judge(released).passed


def test_the_partitions_of_the_night(folder: Path) -> None:
    observed, scores, guards, pipeline = blocks(ROOT / "docs" / "operating.md", "python")
    assert not any(spec.blocking for spec in run([observed])["observed"].check_specs)
    assert "dashboard" in run([guards])
    assert run([scores])["scores"].key == dg.AssetKey("visits_scores")
    with duckdb.connect("warehouse.duckdb") as connection:
        for clinic in ("north", "south"):
            connection.execute(f"CREATE TABLE visits_{clinic} AS FROM read_csv('visits.csv', all_varchar = true)")
        connection.execute("DELETE FROM visits_south WHERE diagnosis <> 'flu'")
    job = run([pipeline])["defs"].resolve_implicit_global_asset_job_def()
    assert job.execute_in_process(partition_key="north").success
    assert not job.execute_in_process(partition_key="south", raise_on_error=False).success
    with duckdb.connect("warehouse.duckdb") as connection:
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert {name for name in tables if "release" in name} == {"visits_release_north"}


def test_the_dbt_project_of_data_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dbt reads the meta as it is printed, and the definitions have a gate and a release for both models."""
    document = ROOT / "docs" / "data-sources.md"
    project = write_project(tmp_path / "clinic", {"type": "duckdb", "path": "clinic.duckdb"}, [], {})
    (project / "models" / "schema.yml").write_text(blocks(document, "yaml")[0])
    for model in ("visits", "lab_results"):
        (project / "models" / f"{model}.sql").write_text("{{ config(materialized='table') }} SELECT 30 AS age")
    run_dbt(project, "parse")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names = run(blocks(document, "python")[:1])
    graph = names["defs"].resolve_asset_graph()
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == {
        *("sizes", "visits", "visits_release", "lab_results", "lab_results_public")
    }


@pytest.mark.great_expectations
def test_the_tutorial_of_great_expectations(visits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = ROOT / "docs" / "tutorial-great-expectations.md"
    anonymize, report = commands(document)
    first, whole, stored = blocks(document, "python")
    names = run([first])
    assert capsys.readouterr().out.splitlines()[-1] == "False 1"
    assert CliRunner().invoke(app, anonymize).exit_code == 0
    capsys.readouterr()
    names = run([first, whole, stored])
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line in ("True", "False")] == ["False", "True"]
    assert names["outcome"].success, names["outcome"].reasons
    assert list(visits.glob("quality/gx/uncommitted/data_docs/**/index.html"))
    assert CliRunner().invoke(app, report).exit_code == 0


@pytest.mark.great_expectations
def test_the_python_of_great_expectations(folder: Path) -> None:
    assert CliRunner().invoke(app, commands(ROOT / "README.md")[2]).exit_code == 0  # anonymize
    names = run(blocks(ROOT / "docs" / "great-expectations.md", "python"))
    assert names["outcome"].success, names["outcome"].reasons


def test_the_python_of_releases_over_time() -> None:
    """It asserts by itself that the second release is refused."""
    run(blocks(ROOT / "docs" / "releases-over-time.md", "python"))


def test_the_python_of_which_metric() -> None:
    names = run(blocks(ROOT / "docs" / "which-metric.md", "python"))
    assert 0 < names["found"].value < 1
    assert names["found"].suppressed_share == 0.25


def test_rows_and_people() -> None:
    run(blocks(ROOT / "docs" / "rows-and-people.md", "python"))
    part, people = blocks(ROOT / "docs" / "rows-and-people.md", "yaml")
    rest: dict[str, Any] = {"dataset": "visits", "requirements": [{"attribute_risk": {"at_most": 0.5}}]}
    columns = {**yaml.safe_load(part)["columns"], **dict.fromkeys(("ward", "visited", "visits"), "insensitive")}
    assert pp.Policy.from_dict({**yaml.safe_load(people), **rest, "columns": columns}).people["diagnosis"] == "set"
    assert pp.Policy.from_dict({**yaml.safe_load(part), **rest}).count == "sequences"


def test_the_shell_recipe_of_certificates(folder: Path) -> None:
    """The recipe runs in a real shell; a table that changed after it was certified stops it."""
    (recipe,) = blocks(ROOT / "docs" / "certificates.md", "sh")
    environment = shell_environment()
    done = subprocess.run(["sh", "-c", recipe], cwd=folder, env=environment, check=False)
    assert done.returncode == 0
    changed = re.sub(r"(?m)^(privacy-plugin release)", "mv other.parquet candidate.parquet\n\\1", recipe)
    before = (folder / "release.parquet").read_bytes()
    pd.read_parquet(folder / "candidate.parquet")[1:].to_parquet(folder / "other.parquet", index=False)
    stopped = subprocess.run(["sh", "-c", changed], cwd=folder, env=environment, check=False)
    assert stopped.returncode == 1
    assert (folder / "release.parquet").read_bytes() == before


def test_the_commands_of_the_airflow_dag(folder: Path) -> None:
    """The tasks, in the order of the DAG and each in a shell, as a BashOperator runs them; a refusal fails its task."""
    tasks, order = airflow_tasks()
    assert order == ["anonymize", "certify", "release"]
    environment = shell_environment()

    def outcomes() -> list[int]:
        return [
            subprocess.run(["bash", "-c", tasks[name]], cwd=folder, env=environment, check=False).returncode
            for name in order
        ]

    assert outcomes() == [0, 0, 0]
    verify = ["privacy-plugin", "verify", "release.parquet", "--certificate", "visits.certificate.json"]
    assert subprocess.run(verify, cwd=folder, env=environment, check=False).returncode == 0
    before = (folder / "release.parquet").read_bytes()
    tasks["anonymize"] = "cp visits.csv candidate.csv && mv candidate.csv candidate.parquet"
    assert outcomes()[1:] != [0, 0]
    assert (folder / "release.parquet").read_bytes() == before


def test_the_airflow_dag_in_airflow(folder: Path) -> None:
    """All of it in Airflow itself, where that is installed; it cannot share an environment with all that we need."""
    if importlib.util.find_spec("airflow") is None:
        pytest.skip("apache-airflow is not installed: the commands of the DAG run above, Airflow itself does not")
    (text,) = blocks(ROOT / "docs" / "certificates.md", "python")
    text = text.replace('folder = "."', f"folder = {str(folder)!r}")
    (folder / "dags").mkdir()
    (folder / "dags" / "release_visits.py").write_text(text, encoding="utf-8")
    environment = {**shell_environment(), "AIRFLOW_HOME": str(folder / "airflow")}
    environment |= {"AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    for command in (["db", "migrate"], ["dags", "test", "release_visits"]):
        subprocess.run([sys.executable, "-m", "airflow", *command], cwd=folder, env=environment, check=True)
    assert list(folder.glob("release.parquet.*.certificate.json"))


def airflow_tasks() -> tuple[dict[str, str], list[str]]:
    """Parse the DAG: the command of each task, and the order in which they run."""
    (text,) = blocks(ROOT / "docs" / "certificates.md", "python")
    (dag,) = [node for node in ast.parse(text).body if isinstance(node, ast.With)]
    tasks, order = {}, []
    for node in dag.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            given = {keyword.arg: keyword.value for keyword in node.value.keywords}
            tasks[ast.unparse(node.targets[0])] = ast.literal_eval(given["bash_command"])
            assert ast.literal_eval(given["task_id"]) == ast.unparse(node.targets[0])
            assert ast.unparse(given["cwd"]) == "folder"
        else:
            order = ast.unparse(node).split(" >> ")
    assert sorted(tasks) == sorted(order)
    return tasks, order


def shell_environment() -> dict[str, str]:
    """The environment of a shell that finds the command of this installation."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
