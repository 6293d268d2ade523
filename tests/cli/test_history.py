"""`history`, and what `anonymize`, `certify` and `release` record: a second table that exposes a person is refused."""

from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from privacy_plugin import Policy
from privacy_plugin.cli.app import app
from privacy_plugin.history import ReleaseHistory
from tests.cli.conftest import Run, document, words, write_policy

COLUMNS = {"age": "quasi_identifier", "illness": "sensitive"}
FOUR = pd.DataFrame({"age": [30, 30, 41, 41], "illness": ["flu", "cold", "flu", "cold"]})


@pytest.fixture
def address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A history that was created by the command."""
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY_KEY", "0123456789abcdef0123456789abcdef")
    write_policy(folder, columns=COLUMNS, requirements=[{"k_anonymity": {"at_least": 2}}, {"differences": {}}])
    FOUR.to_csv(folder / "safe.csv", index=False)
    return f"sqlite:///{folder / 'history.db'}"


def _certify_and_release(folder: Path, run: Run, address: str) -> tuple[int, int]:
    using = ("-p", folder / "policy.yaml", "-c", folder / "c.json", "--history", address)
    certified = run("certify", folder / "safe.csv", *using)
    released = run("release", folder / "safe.csv", *using, "-o", folder / "released.csv", "--force")
    return certified.exit_code, released.exit_code


def test_a_release_is_recorded_listed_and_remembered_by_the_next_gate(folder: Path, run: Run, address: str) -> None:
    assert run("history", "list", "--history", address).exit_code == 2
    assert run("history", "create", "--history", address).exit_code == 0
    assert _certify_and_release(folder, run, address) == (0, 0)
    listed = document(run("history", "list", "--history", address, "--json"))["releases"]
    assert [(each["status"], each["people"]) for each in listed] == [("committed", 4)]
    shown = run("history", "show", listed[0]["number"], "--history", address)
    assert "status: committed" in shown.output
    assert str(Path(listed[0]["certificate"]).name) in "".join(shown.output.split())
    more = pd.concat([FOUR, FOUR[:1]])
    more.to_csv(folder / "safe.csv", index=False)
    assert _certify_and_release(folder, run, address) == (1, 1)
    assert len(ReleaseHistory(address, create=False).releases()) == 1
    assert run("history", "show", 99, "--history", address).exit_code == 2
    assert run("history", "list", "--dataset", "visit", "--history", address).exit_code == 2


def test_a_release_overtaken_by_another_one_is_refused(folder: Path, run: Run, address: str) -> None:
    history = ReleaseHistory(address)
    using = ("-p", folder / "policy.yaml", "-c", folder / "c.json", "--history", address)
    assert run("certify", folder / "safe.csv", *using).exit_code == 0
    history.record(pd.concat([FOUR, FOUR[:1]]), policy=Policy.load(folder / "policy.yaml"))
    refused = run("release", folder / "safe.csv", *using, "-o", folder / "released.csv")
    assert refused.exit_code == 1
    assert "would not pass now" in words(refused)
    assert not (folder / "released.csv").exists()


@pytest.mark.parametrize("shared", [True, False], ids=["history in the database", "history in a file of its own"])
def test_people_of_a_database_are_recorded_by_anonymize(folder: Path, run: Run, address: str, shared: bool) -> None:
    url = f"sqlite:///{folder / 'clinic.db'}"
    history = url if shared else address
    columns = {
        "patient": "unit",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}},
        "illness": "sensitive",
    }
    write_policy(
        folder,
        columns=columns,
        requirements=[{"k_anonymity": {"at_least": 2}}, {"across_releases": {}}],
        anonymize={"method": "generalize"},
    )
    people = FOUR.assign(patient=["zqperson", "b", "c", "d"])
    engine = sa.create_engine(url)
    people.to_sql("visits", engine, index=False)
    assert run("history", "create", "--history", history).exit_code == 0
    making = ("anonymize", "-p", folder / "policy.yaml", "--url", url, "--table", "visits", "--history", history)
    assert run(*making, "-o", "draft", "--draft").exit_code == 0
    assert ReleaseHistory(history, create=False).releases() == ()
    done = run(*making, "-o", "released")
    assert done.exit_code == 0, done.output
    (release,) = ReleaseHistory(history, create=False).releases()
    assert (release.status, release.people, release.counted_by_unit) == ("committed", 4, True)
    pd.concat([people, people[:1].assign(patient="e")]).to_sql("visits", engine, index=False, if_exists="replace")
    assert run(*making, "-o", "released", "--force").exit_code == 1
    assert len(pd.read_sql_table("released", engine)) == 4
    assert len(ReleaseHistory(history, create=False).releases()) == 1


def test_reservations_are_cleared_releases_purged_and_people_erased(
    folder: Path, run: Run, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.load(write_policy(folder, columns={"patient": "unit", **COLUMNS}, requirements=[{"preset": "k5"}]))
    people = FOUR.assign(patient=["zqperson", "b", "c", "d"])
    history = ReleaseHistory(address)
    number = history.reserve(people, policy=policy)
    using = ("--history", address)
    assert run("history", "clear", number, *using).exit_code == 2
    assert run("history", "clear", number, "--not-published", *using).exit_code == 0
    number = history.record(people, policy=policy).number
    assert run("history", "clear", number, "--not-published", *using).exit_code == 2
    for person, erased in (("zqperson", True), ("nobody", False)):
        done = CliRunner().invoke(
            app, ["history", "erase", "--dataset", "visits", *using, "--json"], input=f"{person}\n"
        )
        assert done.exit_code == 0
        assert f'"erased": {str(erased).lower()}' in done.output
    assert document(run("history", "purge", "--before", "2999-01-01", *using, "--json")) == {"version": 1, "purged": 1}
    assert run("history", "purge", "--before", "yesterday", *using).exit_code == 2
    assert history.releases()[0].purged_at


def test_anonymize_continues_the_releases_of_the_history_and_says_who_waits(
    folder: Path, run: Run, address: str
) -> None:
    ages = {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [20]}}}
    write_policy(
        folder,
        columns={"patient": "unit", "age": ages, "illness": "sensitive"},
        requirements=[{"k_anonymity": {"at_least": 2}}, {"across_releases": {}}],
        anonymize={"method": "generalize_locally", "releases": "together"},
    )
    people = FOUR.assign(patient=["zqperson", "b", "c", "d"])
    making = ("anonymize", folder / "visits.csv", "-p", folder / "policy.yaml", "--history", address, "--force")
    people.to_csv(folder / "visits.csv", index=False)
    assert run(*making, "-o", folder / "released.csv").exit_code == 2  # there is no history yet
    assert run("history", "create", "--history", address).exit_code == 0
    assert run(*making, "-o", folder / "released.csv").exit_code == 0
    pd.concat([people, people[:1].assign(patient="e")]).to_csv(folder / "visits.csv", index=False)
    done = run(*making, "-o", folder / "released.csv", "--json")
    assert done.exit_code == 0
    continued = document(done)["continuation"]
    assert (continued["released"], continued["entered"], continued["waiting"]) == (4, 0, 1)
    assert "patient" not in pd.read_csv(folder / "released.csv").columns
    waiting = document(run("history", "list", "--history", address, "--json"))["waiting"]
    assert [(each["people"], each["since"]) for each in waiting] == [(1, continued["waiting_since"])]
    assert "1 newcomers" in words(run(*making, "-o", folder / "released.csv"))
    assert run(*making, "-o", folder / "released.csv", "--apply-plan", folder / "plan.json").exit_code == 2


@pytest.mark.parametrize("engine", ["files", "sqlite", "history in the database"])
def test_buckets_are_continued_by_anonymize(folder: Path, run: Run, address: str, engine: str) -> None:
    url = f"sqlite:///{folder / 'clinic.db'}"
    history = url if engine == "history in the database" else address
    write_policy(
        folder,
        columns={"patient": "unit", "age": "quasi_identifier", "illness": "sensitive"},
        requirements=[{"maximum_disclosure": {"knowledge": 0, "below": 0.6}}, {"across_releases": {}}],
        anonymize={"method": "bucketize", "knowledge": 0, "below": 0.6, "releases": "together"},
    )
    people = FOUR.assign(age=[30, 31, 32, 33], patient=["zqperson", "b", "c", "d"])
    newcomer = people[:1].assign(patient="e", age=34)
    assert run("history", "create", "--history", history).exit_code == 0
    for table, waiting in ((people, 0), (pd.concat([people, newcomer]), 1)):
        if engine == "files":
            table.to_csv(folder / "visits.csv", index=False)
            place, output = (folder / "visits.csv",), folder / "released.csv"
        else:
            table.to_sql("visits", sa.create_engine(url), index=False, if_exists="replace")
            place, output = ("--url", url, "--table", "visits"), "released"
        using = ("-p", folder / "policy.yaml", "--history", history, "--json", "--force")
        done = run("anonymize", *place, *using, "-o", output)
        assert done.exit_code == 0, done.output
        assert document(done)["continuation"]["waiting"] == waiting
    releases = ReleaseHistory(history, create=False).releases()
    assert [(each.status, each.people, each.returning_people) for each in releases] == [
        ("committed", 4, 0),
        ("committed", 4, 4),
    ]
