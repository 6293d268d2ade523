"""The reference pipeline from the terminal: red, anonymized, green, released, and where to look."""

import importlib
import json
import logging
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from privacy_plugin.cli.results import description_lines, level_table, show_verdict
from privacy_plugin.cli.terminal import BAD_INPUT, FAILED, PASSED
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.generalization.plan import Plan, load_plan
from privacy_plugin.policy.policy import Policy

_DEFINITIONS = "privacy_plugin.demo.definitions"
_ANONYMIZED = "visits_anonymized"


def run_demo(*, folder: str | Path, rows: int, console: Console) -> int:
    """Run both jobs of the reference pipeline in this process and show what came of them.

    Returns 0 when the gate refused the table as it is and released the anonymized one, 1 when it did not, 2 without
    Dagster. The warehouse, certificates and reports go to `folder`.
    """
    if find_spec("dagster") is None:
        console.print(Text("The demo runs on Dagster: pip install 'privacy-plugin[dagster]'", style="bold red"))
        return BAD_INPUT
    started = perf_counter()
    place = Path(folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    with _environment(place, rows), _quiet():
        with console.status("loading Dagster"):
            definitions = _load()
        pipeline = _Pipeline(definitions, console)
        _say(console, "1", f"A hospital with {rows:,} visits, and the register of the people around it")
        refused = pipeline.run("release_as_is", f"generating {rows:,} visits and judging them as they are", set())
        _say(console, "2", "The gate judges the table as it is, without its identifiers")
        show_verdict(console, refused.verdict, label=refused.gate)
        _say(console, "3", "The pipeline generalizes as little as the policy allows, and the gate judges again")
        made = {"hospital_visits", "population_register"}
        released = pipeline.run("release_anonymized", "generalizing, judging and releasing", made)
        plan = load_plan(place / "plans" / f"{_ANONYMIZED}.json") if _ANONYMIZED in released.made else None
        if plan is not None:
            described = plan.describe()
            console.print(level_table(described))
            console.print(Text("\n".join(description_lines(described))))
        show_verdict(console, released.verdict, label=released.gate)
        with console.status("comparing before and after"):
            comparison = _compared(definitions.POLICY, place, plan, released) if plan else None
    _show_outcome(console, refused, released, place, comparison)
    _show(console, "in the browser", _in_the_browser(place, rows))
    _show(console, "there", "under Jobs, launch release_as_is (red), then release_anonymized (green)")
    console.print(Text(f"Done in {perf_counter() - started:.0f} seconds.", style="dim"))
    held = not refused.verdict["passed"] and not refused.released
    return PASSED if held and released.verdict["passed"] and released.released else FAILED


class _Outcome:
    """What one job did: the gate's recorded verdict, and whether the release was written."""

    def __init__(self, result: Any) -> None:
        evaluations = result.get_asset_check_evaluations()
        self.gate = evaluations[0].asset_key.to_user_string() if evaluations else "no gate"
        metadata: Mapping[str, Any] = evaluations[0].metadata if evaluations else {}
        self.certificate = _path(metadata, "certificate") or _path(metadata, "refusal")
        self.report = _path(metadata, "report file")
        events = result.get_asset_materialization_events()
        self.made = [event.asset_key.to_user_string() for event in events if event.asset_key]
        self.released = next((name for name in self.made if name.endswith("_release")), None)
        self.verdict = _recorded(self.certificate)


class _Pipeline:
    """The jobs of the reference pipeline, run without Dagster's log."""

    def __init__(self, definitions: Any, console: Console) -> None:
        self._definitions, self._console = definitions, console

    def run(self, job: str, words: str, made: set[str]) -> _Outcome:
        """Run one job, leaving out the assets that are made already."""
        definition = self._definitions.defs.resolve_job_def(job)
        keys = [key for key in definition.asset_layer.executable_asset_keys if key.to_user_string() not in made]
        silent = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        with self._console.status(words):
            result = definition.execute_in_process(
                run_config=silent, asset_selection=keys if made else None, raise_on_error=False
            )
        if any(event.is_step_failure and _interrupted(event) for event in result.all_events):
            raise KeyboardInterrupt
        return _Outcome(result)


def _interrupted(event: Any) -> bool:
    """Tell Ctrl-C from a gate that closed: Dagster records both as a failed step."""
    error = event.step_failure_data.error
    return error is not None and error.cls_name == "DagsterExecutionInterruptedError"


def _path(metadata: Mapping[str, Any], name: str) -> Path | None:
    return Path(str(metadata[name].value)) if name in metadata else None


def _recorded(path: Path | None) -> dict[str, Any]:
    if path is None:
        reason = "the job ended before its gate judged anything"
        return {"passed": False, "problems": [reason], "findings": [], "notes": [], "rows": 0}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["content"]
    return content


def _compared(policy: Policy, place: Path, plan: Plan, released: _Outcome) -> Path:
    """Write one report of before and after, from the tables in the warehouse."""
    from privacy_plugin.orchestration import WarehouseResource  # needs Dagster
    from privacy_plugin.report import write_report

    warehouse = WarehouseResource(url=os.environ["PRIVACY_PLUGIN_WAREHOUSE"])
    try:
        population = warehouse.table("population_register")
        verdicts = [
            (label, policy.judge(warehouse.table(name), population=population))
            for label, name in (("as it is", "visits_as_is"), ("anonymized", _ANONYMIZED))
        ]
    finally:
        warehouse.dispose()
    paper = released.certificate
    certificate = Certificate.from_json(paper.read_text(encoding="utf-8")) if paper else None
    return write_report(place / "report.html", policy=policy, verdicts=verdicts, plan=plan, certificate=certificate)


def _show_outcome(
    console: Console, refused: _Outcome, released: _Outcome, place: Path, comparison: Path | None
) -> None:
    table = Table(box=box.ROUNDED, title="Verdicts", title_justify="left")
    for head in ("gate", "verdict", "rows", "released table"):
        table.add_column(head)
    for outcome in (refused, released):
        passed = outcome.verdict["passed"]
        table.add_row(
            outcome.gate,
            Text("passed" if passed else "failed", style="bold green" if passed else "bold red"),
            f"{outcome.verdict['rows']:,}",
            outcome.released or "none: the gate held it back",
        )
    console.print(table)
    lines = {
        **{f"report of {outcome.gate}": outcome.report for outcome in (refused, released)},
        "before and after": comparison,
        "certificate": released.certificate,
        "warehouse": place / "warehouse.duckdb",
    }
    for name, where in lines.items():
        if where is not None:
            _show(console, name, _near(where))


def _in_the_browser(place: Path, rows: int) -> str:
    """Return a line for the shell that opens this pipeline on this folder, from here and as it is.

    Dagster is the one beside this Python, which need not be on the path; variables are named where the pipeline would
    look elsewhere.
    """
    usual = _variables(Path("demo-output").absolute(), 1_000_000)
    wanted = _variables(place, rows)
    settings = [f"{name}={value}" for name, value in wanted.items() if os.environ.get(name, usual[name]) != value]
    beside = Path(sys.executable).with_name("dagster")
    program = _near(beside) if beside.exists() else "dagster"
    return shlex.join([*(["env", *settings] if settings else []), program, "dev", "-m", _DEFINITIONS])


def _variables(place: Path, rows: int) -> dict[str, str]:
    return {
        "PRIVACY_PLUGIN_WAREHOUSE": f"duckdb:///{place / 'warehouse.duckdb'}",
        "PRIVACY_PLUGIN_OUTPUT": str(place),
        "PRIVACY_PLUGIN_DEMO_ROWS": str(rows),
    }


def _near(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _show(console: Console, name: str, where: str) -> None:
    console.print(Text.assemble((f"{name}: ", "bold"), where), soft_wrap=True)


def _say(console: Console, number: str, words: str) -> None:
    console.print(Text.assemble((f" {number} ", "reverse bold"), " ", (words, "bold")), soft_wrap=True)


def _load() -> Any:
    """Load the pipeline; it reads the environment when it is loaded, so that an earlier load is not good enough."""
    loaded = sys.modules.get(_DEFINITIONS)
    return importlib.reload(loaded) if loaded else importlib.import_module(_DEFINITIONS)


@contextmanager
def _environment(place: Path, rows: int) -> Iterator[None]:
    """Point the pipeline to the demo's folder, and put everything back afterwards."""
    wanted = _variables(place, rows)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what Dagster logs about its own running; what the gates found is shown by the demo itself."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
