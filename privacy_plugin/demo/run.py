"""Run the reference pipeline in the terminal: failed gate, anonymization, passed gate, release."""

import importlib
import logging
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from privacy_plugin.gate.certificate import read_certificate
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan, load_plan
from privacy_plugin.policy.policy import Policy

_DEFINITIONS = "privacy_plugin.demo.definitions"
_ANONYMIZED = "visits_anonymized"


def run_demo(*, folder: str | Path, rows: int, console: Console) -> int:
    """Run the jobs of the reference pipeline in this process and print the results.

    Returns 0 if the gate rejected the original table and passed the anonymized ones, 1 if not, 2 without Dagster. The
    warehouse, certificates and reports are written to `folder`.
    """
    if find_spec("dagster") is None:
        console.print(Text("The demo runs on Dagster: pip install 'privacy-plugin[dagster]'", style="bold red"))
        return BAD_INPUT
    started = perf_counter()
    place = Path(folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    with _environment(place, rows), _disable_logging():
        with console.status("loading Dagster"):
            definitions = _load_definitions()
        pipeline = _Pipeline(definitions, console)
        _print_step(console, "1", f"{rows:,} hospital visits, and a population register")
        refused = pipeline.run("release_as_is", f"generating {rows:,} visits and judging them as they are", set())
        _print_step(console, "2", "The gate judges the table as it is, without its identifiers")
        show_verdict(console, refused.verdict, label=refused.gate)
        _print_step(console, "3", "The pipeline generalizes class by class, and the gate judges again")
        made = {"hospital_visits", "population_register"}
        released = pipeline.run("release_anonymized", "generalizing, judging and releasing", made)
        plan = load_plan(place / "plans" / f"{_ANONYMIZED}.json") if _ANONYMIZED in released.made else None
        if plan is not None:
            described = plan.describe()
            if described.levels:
                console.print(level_table(described))
            console.print(Text("\n".join(description_lines(described))))
        show_verdict(console, released.verdict, label=released.gate)
        with console.status("comparing before and after"):
            comparison = _write_comparison(definitions.POLICY, place, plan, released) if plan else None
        _print_step(console, "4", "Another recipient gets people and diagnoses apart, as an Anatomy pair")
        dealt = pipeline.run("release_pair", "dealing people to buckets, judging and releasing both tables", made)
        if dealt.facts:
            console.print(Text("; ".join(f"{name}: {value}" for name, value in dealt.facts.items())))
        show_verdict(console, dealt.verdict, label=dealt.gate)
    _show_outcome(console, (refused, released, dealt), released, place, comparison)
    _print_field(console, "in the browser", _dagster_command(place, rows))
    there = "under Jobs, launch release_as_is (fails), then release_anonymized and release_pair (pass)"
    _print_field(console, "there", there)
    console.print(Text(f"Done in {perf_counter() - started:.0f} seconds.", style="dim"))
    refused_as_is = not refused.verdict["passed"] and not refused.released
    green = all(outcome.verdict["passed"] and outcome.released for outcome in (released, dealt))
    return PASSED if refused_as_is and green else FAILED


class _Outcome:
    """The result of one job: the recorded verdict of the gate, and whether the release was written."""

    def __init__(self, result: Any) -> None:
        evaluations = result.get_asset_check_evaluations()
        self.gate = evaluations[0].asset_key.to_user_string() if evaluations else "no gate"
        metadata: Mapping[str, Any] = evaluations[0].metadata if evaluations else {}
        self.certificate = _metadata_path(metadata, "certificate") or _metadata_path(metadata, "refusal")
        self.report = _metadata_path(metadata, "report file")
        events = result.get_asset_materialization_events()
        self.made = [event.asset_key.to_user_string() for event in events if event.asset_key]
        self.released = next((name for name in self.made if name.endswith("_release")), None)
        self.verdict = _read_verdict(self.certificate)
        self.facts = _bucket_facts(events)


class _Pipeline:
    """The jobs of the reference pipeline, without Dagster's log."""

    def __init__(self, definitions: Any, console: Console) -> None:
        self._definitions, self._console = definitions, console

    def run(self, job: str, message: str, made: set[str]) -> _Outcome:
        """Run one job without the assets that are already made."""
        definition = self._definitions.defs.resolve_job_def(job)
        keys = [key for key in definition.asset_layer.executable_asset_keys if key.to_user_string() not in made]
        silent = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        with self._console.status(message):
            result = definition.execute_in_process(
                run_config=silent, asset_selection=keys if made else None, raise_on_error=False
            )
        if any(event.is_step_failure and _interrupted(event) for event in result.all_events):
            raise KeyboardInterrupt
        return _Outcome(result)


def _interrupted(event: Any) -> bool:
    """Return whether Ctrl-C failed the step; Dagster records a closed gate as a failed step too."""
    error = event.step_failure_data.error
    return error is not None and error.cls_name == "DagsterExecutionInterruptedError"


def _bucket_facts(events: Any) -> dict[str, Any]:
    """Return what a deal recorded about its buckets."""
    shown = ("buckets", "smallest bucket", "people a bucket", "maximum disclosure")
    recorded = {name: value.value for event in events for name, value in event.materialization.metadata.items()}
    return {name: f"{recorded[name]:,.4g}" for name in shown if name in recorded}


def _metadata_path(metadata: Mapping[str, Any], name: str) -> Path | None:
    return Path(str(metadata[name].value)) if name in metadata else None


def _read_verdict(path: Path | None) -> dict[str, Any]:
    if path is None:
        reason = "the job ended before its gate judged the table"
        return {"passed": False, "problems": [reason], "findings": [], "notes": [], "rows": 0}
    return read_certificate(path).content


def _write_comparison(policy: Policy, place: Path, plan: Plan | LocalPlan, released: _Outcome) -> Path:
    """Write a report that compares both tables of the warehouse."""
    from privacy_plugin.orchestration import WarehouseResource  # needs Dagster
    from privacy_plugin.report import measure_usefulness, write_report

    warehouse = WarehouseResource(url=os.environ["PRIVACY_PLUGIN_WAREHOUSE"])
    try:
        population = warehouse.table("population_register")
        before, after = (warehouse.table(name) for name in ("visits_as_is", _ANONYMIZED))
        verdicts = [
            (label, policy.judge(table, population=population, plan=made_by))
            for label, table, made_by in (("as it is", before, None), ("anonymized", after, plan))
        ]
        useful = measure_usefulness(after, before, policy=policy, plan=plan, population=population)
    finally:
        warehouse.dispose()
    path = released.certificate
    certificate = read_certificate(path) if path else None
    written = place / "report.html"
    write_report(
        written,
        policy=policy,
        verdicts=verdicts,
        plan=plan,
        certificate=certificate,
        usefulness=useful,
    )
    return written


def _show_outcome(
    console: Console, outcomes: Sequence[_Outcome], released: _Outcome, place: Path, comparison: Path | None
) -> None:
    table = Table(box=box.ROUNDED, title="Verdicts", title_justify="left")
    for head in ("gate", "verdict", "rows", "released table"):
        table.add_column(head)
    for outcome in outcomes:
        passed = outcome.verdict["passed"]
        table.add_row(
            outcome.gate,
            Text("passed" if passed else "failed", style="bold green" if passed else "bold red"),
            f"{outcome.verdict['rows']:,}",
            outcome.released or "none: the gate is closed",
        )
    console.print(table)
    lines = {
        **{f"report of {outcome.gate}": outcome.report for outcome in outcomes},
        "before and after": comparison,
        "certificate": released.certificate,
        "warehouse": place / "warehouse.duckdb",
    }
    for name, where in lines.items():
        if where is not None:
            _print_field(console, name, _short_path(where))


def _dagster_command(place: Path, rows: int) -> str:
    """Return the shell command that opens this pipeline with this folder in Dagster.

    It uses the Dagster of this Python environment, which need not be on the PATH, and sets the variables whose defaults
    differ.
    """
    defaults = _variables(Path("demo-output").absolute(), 1_000_000)
    wanted = _variables(place, rows)
    settings = [f"{name}={value}" for name, value in wanted.items() if os.environ.get(name, defaults[name]) != value]
    executable = Path(sys.executable).with_name("dagster")
    program = _short_path(executable) if executable.exists() else "dagster"
    return shlex.join([*(["env", *settings] if settings else []), program, "dev", "-m", _DEFINITIONS])


def _variables(place: Path, rows: int) -> dict[str, str]:
    return {
        "PRIVACY_PLUGIN_WAREHOUSE": f"duckdb:///{place / 'warehouse.duckdb'}",
        "PRIVACY_PLUGIN_OUTPUT": str(place),
        "PRIVACY_PLUGIN_DEMO_ROWS": str(rows),
    }


def _short_path(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _print_field(console: Console, name: str, value: str) -> None:
    console.print(Text.assemble((f"{name}: ", "bold"), value), soft_wrap=True)


def _print_step(console: Console, number: str, title: str) -> None:
    console.print(Text.assemble((f" {number} ", "reverse bold"), " ", (title, "bold")), soft_wrap=True)


def _load_definitions() -> Any:
    """Import the pipeline again if needed: it reads the environment at import."""
    loaded = sys.modules.get(_DEFINITIONS)
    return importlib.reload(loaded) if loaded else importlib.import_module(_DEFINITIONS)


@contextmanager
def _environment(place: Path, rows: int) -> Iterator[None]:
    """Set the environment variables of the pipeline, and restore them afterwards."""
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
def _disable_logging() -> Iterator[None]:
    """Disable Dagster's log; the demo prints the verdicts itself."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
