"""`anonymize`: the least generalization that meets the policy, judged before it is put in place."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import sqlalchemy as sa
import typer

from privacy_plugin.commands.inputs import Input, open_input, open_population, require_free, without_identifiers
from privacy_plugin.commands.options import Data, Force, Json, PolicyFile, Population, Table, Url
from privacy_plugin.commands.terminal import Terminal, command
from privacy_plugin.commands.verdicts import exit_code, plan_table, plan_words, show_verdict
from privacy_plugin.errors import ParameterError, PolicyError, SourceError
from privacy_plugin.gate import Verdict, structure_problems
from privacy_plugin.generalization import generalize
from privacy_plugin.plan import Plan, load_plan
from privacy_plugin.policy import Policy
from privacy_plugin.sources import Source, open_source, sql_table
from privacy_plugin.sources.sql_origin import quote_name, split_name

Output = Annotated[
    str,
    typer.Option("--output", "-o", help="The file, or the table of the same database, to write.", show_default=False),
]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="Save the plan here: levels, loss, suppressed rows.", show_default=False)
]
ApplyPlan = Annotated[
    Path | None,
    typer.Option("--apply-plan", help="Use a saved plan instead of searching for one.", show_default=False),
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Write a report of before and after (HTML).", show_default=False)
]


@command
def anonymize(
    policy: PolicyFile,
    output: Output,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    population: Population = None,
    plan: PlanFile = None,
    apply_plan: ApplyPlan = None,
    report: ReportFile = None,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Generalize a table as little as the policy allows, judge the result, and only then write it.

    Every quasi-identifier needs a hierarchy in the policy. Identifiers are dropped, and rows of classes that cannot
    be saved are left out, up to the policy's max_suppression. Exit 1 if no generalization meets the policy: then
    nothing is written.

    For example:

    - `privacy-plugin anonymize visits.csv --policy policy.yaml --output release.csv --report report.html`
    - `privacy-plugin anonymize -p policy.yaml --url duckdb:///warehouse.duckdb --table visits -o visits_release`
    """
    terminal = Terminal(as_json=as_json)
    rules = Policy.load(policy)
    opened = open_input(data, url, table)
    require_free(output, exists=opened.exists(output), force=force)
    others = open_population(rules, population, opened, policy_file=policy)
    source = without_identifiers(opened.source, rules)
    _require_roles(rules, source)
    with terminal.working("searching for the least generalization that meets the policy") as progress:
        chosen = load_plan(apply_plan) if apply_plan else _search(rules, source, others, progress)
        _require_same_columns(rules, chosen)
        progress("generalizing")
        with _staged(opened, chosen, source, others, output) as staged:
            progress("judging the result")
            verdict = rules.judge(staged, population=others, fingerprint=True)
            if verdict.passed:
                progress("writing")
                staged.publish(output, columns=rules.rules.released, verify=_same_data(rules, verdict))
        if plan and verdict.passed:
            _save(chosen, plan)
        if report:
            progress("drawing the report")
            _write_report(report, rules, source, others, verdict, chosen)
    terminal.people.print(plan_table(chosen))
    terminal.say(plan_words(chosen) if apply_plan is None else f"the plan when it was made: {plan_words(chosen)}")
    terminal.say(f"{verdict.rows:,} rows judged after suppression")
    show_verdict(terminal.people, verdict.to_dict(), label="anonymized")
    written = {"output": output if verdict.passed else None, "plan file": plan, "report": report}
    for name, place in written.items():
        if place is not None:
            terminal.say(f"{name}: {place}")
    terminal.result(
        {
            "passed": verdict.passed,
            **{name.replace(" ", "_"): None if place is None else str(place) for name, place in written.items()},
            "plan": _summary(chosen),
            "verdict": verdict.to_dict(),
        }
    )
    return exit_code(verdict)


def _require_roles(policy: Policy, source: Source) -> None:
    problems = structure_problems(policy.rules, source.columns)
    if problems:
        raise PolicyError("; ".join(problems))
    lacking = [name for name in policy.quasi_identifiers if name not in policy.hierarchies]
    if lacking:
        raise PolicyError(f"to generalize, these columns need a hierarchy in the policy: {', '.join(lacking)}")


def _search(policy: Policy, source: Source, population: Source | None, progress: Callable[[str], None]) -> Plan:
    return generalize(
        source,
        hierarchies=policy.hierarchies,
        requirements=policy.requirements,
        **policy.anonymize,
        attributes=(*policy.quasi_identifiers, *policy.sensitive),
        population=population,
        unit=policy.rules.unit,
        progress=progress,
    )


def _require_same_columns(policy: Policy, plan: Plan) -> None:
    if set(plan.levels) != set(policy.quasi_identifiers):
        raise ParameterError("the plan was made for other quasi-identifiers than those of the policy")


@contextmanager
def _staged(opened: Input, plan: Plan, source: Source, population: Source | None, output: str) -> Iterator[Source]:
    """Write the generalized table beside the output, for as long as it is judged."""
    if opened.engine is None:
        path = Path(output)
        staging = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
        try:
            plan.apply(source, target=str(staging), keep=source.columns, population=population)
            yield open_source(staging)
        finally:
            staging.unlink(missing_ok=True)
        return
    parts = (*split_name(output)[:-1], f"privacy_plugin_judged_{secrets.token_hex(4)}")
    name = ".".join(f'"{part}"' for part in parts)
    try:
        plan.apply(source, target=name, keep=source.columns, population=population)
        yield sql_table(opened.engine, name)
    finally:
        with opened.engine.begin() as connection:
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {quote_name(parts, opened.engine.dialect)}"))


def _same_data(policy: Policy, verdict: Verdict) -> Any:
    """Return a check that the copy which is put in place is the table that was judged."""

    def verify(copy: Source) -> None:
        if copy.fingerprint(policy.rules.released) != verdict.fingerprint:
            raise SourceError("the table changed while it was judged; nothing was written")

    return verify


def _save(plan: Plan, path: Path) -> None:
    try:
        plan.save(path)
    except OSError as problem:
        raise ParameterError(f"cannot write the plan {str(path)!r}: {type(problem).__name__}") from None


def _write_report(
    path: Path, policy: Policy, before: Source, population: Source | None, after: Verdict, plan: Plan
) -> None:
    from privacy_plugin.report import write_report  # drawing needs libraries that are slow to load

    verdicts = [("as it is", policy.judge(before, population=population)), ("anonymized", after)]
    write_report(path, policy=policy, verdicts=verdicts, plan=plan)


def _summary(plan: Plan) -> dict[str, Any]:
    """Return what a plan does, without its hierarchies, which list values."""
    given = plan.to_dict()
    return {name: given[name] for name in ("levels", "loss", "loss_name", "suppressed", "rows", "max_suppression")}
