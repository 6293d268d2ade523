"""`anonymize`: by the method that the policy names, judged before it is put in place."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacy_plugin.cli.options import Data, Force, Json, Ledger, PolicyFile, Population, Table, Url
from privacy_plugin.cli.terminal import Terminal, command
from privacy_plugin.errors import ParameterError, describe_error

if TYPE_CHECKING:
    from privacy_plugin.anonymizers.base import PlanResult

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
RevealUncovered = Annotated[
    bool, typer.Option("--reveal", help="Name the values of the table that a hierarchy does not cover.")
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
    ledger: Ledger = None,
    report: ReportFile = None,
    reveal: RevealUncovered = False,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Anonymize a table by the policy's method, judge the result, and only then write it.

    The method `generalize` (the default) changes as little as the policy allows: every quasi-identifier needs a
    hierarchy, and rows in groups that still fail are dropped, up to max_suppression. `multidimensional_presence`
    generalizes region by region and keeps everybody's probability of being in the table within the bounds of
    `delta_presence`. `epsilon_safe_lattice`, `synthesize` and `randomized_response` draw at random and spend privacy
    budget from the ledger, even if the result is rejected. Identifiers are dropped. Exit 1 if the result does not meet
    the policy; then nothing is written.

    For example:

    - `privacy-plugin anonymize visits.csv --policy policy.yaml --output release.csv --report report.html`
    - `privacy-plugin anonymize -p policy.yaml --url duckdb:///warehouse.duckdb --table visits -o visits_release`
    - `privacy-plugin anonymize visits.csv -p synthesize.yaml -o synthetic.csv --ledger sqlite:///ledger.db`
    """
    from privacy_plugin.anonymizers.anonymize import anonymize as anonymized
    from privacy_plugin.cli import inputs
    from privacy_plugin.cli.outputs import require_free_output, same_data, waiting_place
    from privacy_plugin.cli.results import exit_code, show_anonymized, show_outcome
    from privacy_plugin.cli.signals import end_if_told
    from privacy_plugin.generalization.generalize import require_covered
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.policy.policy import Policy

    terminal = Terminal(as_json=as_json)
    rules = Policy.load(policy)
    opened = inputs.open_input(data, url, table)
    tables = (data or table, inputs.population_name(rules, population, opened, policy_file=policy))
    files = (policy, apply_plan)
    require_free_output(opened, output, beside=(plan, report), tables=tables, files=files, force=force)
    others = inputs.open_compared(rules, population, opened, policy_file=policy)
    source = inputs.without_identifiers(opened.source, rules)
    if reveal:
        require_covered(source, rules.hierarchies)
    saved = load_plan(apply_plan) if apply_plan else None
    if plan or apply_plan:
        rules.anonymizer.require_plan()
    with terminal.working(rules.anonymizer.doing) as progress, inputs.ledger_for(rules, ledger):
        with waiting_place(opened, output) as (held, target, reopen):
            compared = inputs.open_compared(rules, population, held, policy_file=policy)
            result = anonymized(
                held.source,
                policy=rules,
                target=target,
                final=output,
                population=compared,
                plan=saved,
                progress=progress,
            )
            progress("judging the result")
            staged = reopen()
            verdict = rules.judge(staged, population=compared, fingerprint=True)
            if verdict.passed:
                progress("writing")
                end_if_told()
                staged.publish(output, columns=rules.rules.released, verify=same_data(rules, verdict))
        if plan and result.plan and verdict.passed:
            _save(result.plan, plan)
        if report:
            progress("drawing the report")
            from privacy_plugin.report import write_report  # drawing needs libraries that are slow to load

            verdicts = [("as it is", rules.judge(source, population=others)), ("anonymized", verdict)]
            write_report(report, policy=rules, verdicts=verdicts, plan=result.result)
    show_anonymized(terminal, result, again=saved is not None)
    written = {"output": output if verdict.passed else None, "plan file": plan, "report": report}
    show_outcome(terminal, result, verdict, written)
    return exit_code(verdict)


def _save(plan: "PlanResult", path: Path) -> None:
    try:
        plan.save(path)
    except OSError as problem:
        raise ParameterError(f"cannot write the plan {str(path)!r}: {describe_error(problem)}") from None
