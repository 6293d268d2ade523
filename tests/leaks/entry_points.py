"""The entry points: each runs a failing scene and returns its output and whether anything was released."""

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
import yaml
from dagster._serdes import serialize_value
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.cli.app import app
from privacy_plugin.cli.inputs import without_identifiers
from privacy_plugin.orchestration import (
    BudgetLedgerResource,
    CertificateStoreResource,
    WarehouseResource,
    build_anonymized_asset,
    build_candidate_asset,
    build_privacy_checks,
    build_release_asset,
)
from privacy_plugin.report import write_report
from privacy_plugin.sources import SqlTable, open_source
from tests.leaks.scenes import Scene


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of an entry point, and how many of its attempts failed."""

    texts: list[str]
    failures: int


class Rooms:
    """The folders of one run: what is given and what is released may hold values, all others are searched."""

    def __init__(self, folder: Path) -> None:
        self.given, self.released = folder / "given", folder / "released"
        self.written, self.temporary = folder / "written", folder / "temporary"
        for room in (self.given, self.released, self.written, self.temporary):
            room.mkdir()

    def policy_file(self, scene: Scene) -> Path:
        path = self.given / "policy.yaml"
        text = scene.policy if isinstance(scene.policy, str) else yaml.safe_dump(dict(scene.policy), sort_keys=False)
        path.write_text(text, encoding="utf-8")
        return path

    def left_behind(self) -> Iterator[bytes]:
        """Yield the names and contents of all files, but for releases, and plans that only their owner can read."""
        for room in (self.written, self.temporary, self.released):
            for path in room.rglob("*"):
                yield str(path.relative_to(room)).encode()
                released = room is self.released and path.name in ("release.csv", "release.parquet")
                private = path.parent.name == "plans" and not path.stat().st_mode & 0o077
                if path.is_file() and not released and not private:
                    yield path.read_bytes()


def python(scene: Scene, rooms: Rooms) -> Output:
    """Call the functions; an exception is output with its causes and contexts, as Python prints it."""
    texts: list[str] = []
    failures = 0
    for call in (*_calls(scene, rooms), *scene.calls):
        try:
            answer = call()
        except Exception as problem:  # noqa: BLE001  every kind is searched
            failures += 1
            texts += ["".join(traceback.format_exception(problem)), repr(problem), str(problem)]
        else:
            if isinstance(answer, pp.Verdict):
                failures += not answer.passed
                texts += [json.dumps(answer.to_dict()), *answer.reasons]
    return Output(texts=texts, failures=failures)


def _calls(scene: Scene, rooms: Rooms) -> Iterator[Callable[[], Any]]:
    path = rooms.policy_file(scene)
    yield lambda: pp.Policy.load(path)
    with suppress(Exception):
        rules, second = pp.Policy.load(path), _second(scene)
        columns = [name for name in rules.roles if name != "name"]
        yield lambda: _recorded(rules, scene, rooms)
        yield lambda: _anonymized(rules, scene, rooms)
        yield lambda: open_source(scene.data).row_count()
        yield lambda: open_source(scene.data).fingerprint()
        yield lambda: open_source(scene.data).frequencies(columns)
        yield lambda: open_source(scene.data).publish(_target(scene, rooms), columns=columns, verify=lambda _: None)
        yield lambda: pp.k_anonymity(scene.data, quasi_identifiers=["age", "zip"])
        yield lambda: pp.t_closeness(
            scene.data, quasi_identifiers=["age", "zip"], sensitive="disease", ground="ordered"
        )
        yield lambda: pp.privacy_score(scene.data, attributes=columns, likelihood={}, danger={"disease": 1})
        yield lambda: pp.bucketize(
            scene.data, quasi_identifiers=["age", "zip"], sensitive="disease", knowledge=1, below=0.5
        )
        if second is not None:
            yield lambda: pp.delta_presence(scene.data, population=second, quasi_identifiers=["age", "zip"])


def _second(scene: Scene) -> Any:
    if isinstance(scene.data, SqlTable) and isinstance(scene.population, str):
        return pp.sql_table(scene.data.bind, scene.population)
    return scene.population


def _recorded(rules: pp.Policy, scene: Scene, rooms: Rooms) -> pp.Verdict:
    """Judge, write the report and sign the verdict."""
    with _ledger(scene):
        judged = without_identifiers(open_source(scene.data), rules)
        verdict = rules.judge(judged, population=_second(scene), fingerprint=True)
    certificate = pp.CertificateStore(rooms.written / "certificates").record(verdict)
    write_report(rooms.written / "report.html", policy=rules, verdicts=[("it", verdict)], certificate=certificate)
    return verdict


def _anonymized(rules: pp.Policy, scene: Scene, rooms: Rooms) -> None:
    with _ledger(scene):
        made = anonymize(scene.data, policy=rules, target=_target(scene, rooms), population=_second(scene)).made
    rooms.written.joinpath("made.json").write_text(json.dumps(rules.judge(made).to_dict()))


def _target(scene: Scene, rooms: Rooms) -> str | None:
    """Name what is released: a table, a file, or nothing where a frame is handed back."""
    if isinstance(scene.data, SqlTable):
        return "made"
    return str(rooms.released / "release.csv") if isinstance(scene.data, Path) else None


def _ledger(scene: Scene) -> Any:
    return pp.using_ledger(scene.ledger) if scene.ledger else nullcontext()


def command_line(scene: Scene, rooms: Rooms) -> Output:
    """Run the commands, for people and for programs."""
    policy, texts, failures = rooms.policy_file(scene), [], 0
    data = _addressed(scene)
    more = [f"--population={scene.population}"] if scene.population is not None else []
    ledger = [f"--ledger={scene.ledger}"] if scene.ledger else []
    target = str(_target(scene, rooms))
    judged = [*data, "--policy", policy, *more, *ledger]
    made = ["--output", target, "--report", rooms.written / "change.html", "--force"]
    commands: list[list[Any]] = [
        ["check", *judged, "--without-identifiers"],
        ["check", *judged, "--without-identifiers", "--certificate-folder", rooms.written / "certificates", "--json"],
        ["anonymize", *judged, *made],
        ["anonymize", *judged, *made, "--json"],
        ["report", *judged, "--output", rooms.written / "report.html", "--json"],
        ["init", *data, "--output", rooms.written / "proposal.yaml"],
    ]
    for arguments in commands:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        failures += result.exit_code != 0
        texts += [result.stdout, result.stderr]
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            texts.append("".join(traceback.format_exception(result.exception)))
    return Output(texts=texts, failures=failures)


def _addressed(scene: Scene) -> list[Any]:
    if not isinstance(scene.data, SqlTable):
        return [scene.data]
    address = scene.data.bind.engine.url.render_as_string(hide_password=False)
    return ["--url", address, "--table", scene.data.name.replace('"', "")]


def dagster(scene: Scene, rooms: Rooms) -> Output:
    """Run what is judged as it is, what is anonymized, and both releases; compute logs are what steps print."""
    rules = pp.Policy.load(rooms.policy_file(scene))

    @dg.asset
    def raw() -> Any:
        return None if isinstance(scene.data, SqlTable) else scene.data

    @dg.asset
    def others() -> Any:
        return scene.population

    logs = {"python_logs": {"managed_python_loggers": ["root"], "python_log_level": "DEBUG"}}
    with dg.DagsterInstance.ephemeral(settings=logs) as instance:
        result = dg.materialize(
            [raw, others, *_steps(scene, rules)],
            resources=_resources(scene, rooms),
            instance=instance,
            raise_on_error=False,
        )
        records = instance.get_records_for_run(result.run_id).records
        texts = [serialize_value(record.event_log_entry) for record in records]
        texts += [record.event_log_entry.user_message for record in records]
    return Output(texts=texts, failures=0 if result.success else 1)


def _steps(scene: Scene, rules: pp.Policy) -> list[Any]:
    """Judge and release the data as it is; tables and frames can be changed first."""
    in_house = isinstance(scene.data, SqlTable)
    second: dict[str, Any] = {"population": "others"} if scene.population is not None else {}
    second |= {"population_table": scene.population} if second and in_house else {}

    def at(name: str) -> dict[str, Any]:
        placed = {"table": scene.data.name if name == "raw" else name} if in_house else {}
        return {"asset": name, "policy": rules, **placed}

    def gated(name: str) -> list[Any]:
        return [
            build_privacy_checks(**at(name), **second),
            build_release_asset(name=f"{name}_release", **at(name), **second),
        ]

    if isinstance(scene.data, Path):
        return gated("raw")
    return [
        build_candidate_asset(name="as_is", **at("raw")),
        *gated("as_is"),
        build_anonymized_asset(name="anonymized", **at("raw"), **second),
        *gated("anonymized"),
    ]


def _resources(scene: Scene, rooms: Rooms) -> dict[str, Any]:
    found: dict[str, Any] = {
        "io_manager": dg.InMemoryIOManager(),
        "certificates": CertificateStoreResource(folder=str(rooms.written / "records")),
        "ledger": BudgetLedgerResource(url=scene.ledger or f"sqlite:///{rooms.written / 'ledger.db'}"),
    }
    if isinstance(scene.data, SqlTable):
        address = scene.data.bind.engine.url.render_as_string(hide_password=False)
        found["warehouse"] = WarehouseResource(url=address)
    return found


def great_expectations(scene: Scene, rooms: Rooms) -> Output:
    """Run the policy as a checkpoint of a project that keeps its results and draws its documents."""
    import great_expectations as gx

    from privacy_plugin.expectations.checkpoint import validate

    rules = pp.Policy.load(rooms.policy_file(scene))
    context = gx.get_context(mode="file", project_root_dir=rooms.written)
    with _ledger(scene):
        outcome = validate(rules, scene.data, population=scene.population, context=context)
    results = [json.dumps(result.to_json_dict()) for result in outcome.results]
    return Output(texts=[json.dumps(outcome.to_dict()), repr(outcome), *results], failures=int(not outcome.success))


ENTRY_POINTS: dict[str, Callable[[Scene, Rooms], Output]] = {
    "python": python,
    "command line": command_line,
    "dagster": dagster,
    "great expectations": great_expectations,
}


def engine_at(folder: Path, dialect: str = "sqlite") -> sa.Engine:
    """Return an engine on a new file."""
    return sa.create_engine(f"{dialect}:///{folder / 'house.db'}")
