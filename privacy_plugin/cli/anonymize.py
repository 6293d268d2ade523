"""`anonymize`: apply the method of the policy, judge the result, and only then write it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacy_plugin.cli.check import Partition
from privacy_plugin.cli.options import Data, Force, History, Json, Ledger, PolicyFile, Population, Table, Url
from privacy_plugin.cli.terminal import Terminal, command
from privacy_plugin.errors import ParameterError, describe_error

if TYPE_CHECKING:
    from privacy_plugin.anonymizers.base import PlanResult

Output = Annotated[
    str,
    typer.Option("--output", "-o", help="The file to write, or the table of the same database.", show_default=False),
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", help="Save the plan (levels, loss, suppressed rows) to this file.", show_default=False),
]
ApplyPlan = Annotated[
    Path | None,
    typer.Option("--apply-plan", help="Apply a saved plan instead of searching for one.", show_default=False),
]
Draft = Annotated[
    bool,
    typer.Option("--draft", help="Not a release: nobody receives the table, and the history does not record it."),
]
RevealUncovered = Annotated[
    bool, typer.Option("--reveal", help="Show the values of the table that a hierarchy does not cover.")
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--report", help="Write a report that compares before and after (HTML).", show_default=False),
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
    history: History = None,
    partition: Partition = None,
    draft: Draft = False,
    report: ReportFile = None,
    reveal: RevealUncovered = False,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Anonymize a table by the policy's method, judge the result, and only then write it.

    The method `generalize_locally` (the default) gives every class labels of its own, as specific as the policy
    allows; `generalize` gives each column one level. Both need a hierarchy for every quasi-identifier, and suppress
    rows only up to max_suppression. `multidimensional_presence` generalizes region by region and keeps each person's
    probability of being in the table within the bounds of `delta_presence`. `bucketize` writes two tables, with the
    suffixes _people and _values. `greedy_repair` and `fill_holes` add false rows that lower the privacy score; the
    gate counts real people only. `epsilon_safe_lattice`, `synthesize`,
    `randomized_response`, `private_itemsets`, `randomized_itemset_counts` and `sanitized_krimp` draw at random and
    spend privacy budget from the ledger, even if the result is rejected; the last three write a table of itemsets.
    With a history, what is written counts as a release and is recorded there. Identifier columns are dropped. Exit
    code 1 if the result does not meet the policy; then no table is written.

    For example:

    - `privacy-plugin anonymize visits.csv --policy policy.yaml --output release.csv --report report.html`
    - `privacy-plugin anonymize -p policy.yaml --url duckdb:///warehouse.duckdb --table visits -o visits_release`
    - `privacy-plugin anonymize visits.csv -p synthesize.yaml -o synthetic.csv --ledger sqlite:///ledger.db`
    """
    from privacy_plugin.anonymizers.anonymize import anonymize as anonymize_table
    from privacy_plugin.cli import inputs
    from privacy_plugin.cli.outputs import (
        finish_interrupted,
        output_tables,
        require_free_output,
        require_no_earlier_deal,
        stage_output,
        verify_fingerprint,
    )
    from privacy_plugin.cli.results import exit_code, show_anonymized, show_outcome
    from privacy_plugin.cli.signals import exit_if_terminated
    from privacy_plugin.generalization.generalize import require_covered
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.history.recording import recording
    from privacy_plugin.policy.policy import ORIGINAL_NOT_JUDGED, Policy
    from privacy_plugin.sources import Source

    terminal = Terminal(as_json=as_json)
    loaded = Policy.load(policy)
    opened = inputs.open_input(data, url, table)
    tables = (data or table, inputs.population_name(loaded, population, opened, policy_file=policy))
    files = (policy, apply_plan)
    outputs = output_tables(opened, output, loaded)
    finish_interrupted(terminal, opened, outputs)
    if loaded.anonymizer.once:
        require_no_earlier_deal(opened, outputs, loaded)
    require_free_output(opened, outputs, written=(plan, report), tables=tables, files=files, force=force)
    others = inputs.open_compared(loaded, population, opened, policy_file=policy)
    source = inputs.without_identifiers(opened.source, loaded)
    if reveal and loaded.anonymize.get("unknown", "refuse") == "refuse":
        require_covered(source, loaded.hierarchies)
    saved = load_plan(apply_plan) if apply_plan else None
    if plan or apply_plan:
        loaded.anonymizer.require_plan()
    with (
        terminal.show_progress(loaded.anonymizer.doing) as progress,
        inputs.use_ledger(loaded, ledger),
        inputs.use_history(history),
    ):
        with (
            recording(loaded, partition=partition) as record,
            stage_output(opened, output, loaded.rules.tables) as (held, target, reopen),
            record.within(held.session),
        ):
            compared = inputs.open_compared(loaded, population, held, policy_file=policy)
            result = anonymize_table(
                held.source,
                policy=loaded,
                target=target,
                final=output,
                population=compared,
                plan=saved,
                partition=partition,
                progress=progress,
            )
            progress("judging the result")
            staged = reopen()
            verdict = loaded.judge(
                staged,
                population=compared,
                partition=partition,
                fingerprint=True,
                portable=False,
                plan=result.plan,
            )
            useful, kept = None, ()
            if report:  # now: what is staged is gone afterwards
                from privacy_plugin.report import measure_usefulness, write_report  # its chart libraries load slowly

                progress("comparing with the original")
                useful = measure_usefulness(staged, held.source, policy=loaded, plan=result.result, population=compared)
            if verdict.passed:
                progress("writing")
                exit_if_terminated()
                require_judged = verify_fingerprint(loaded, verdict)

                def verify(copy: Source) -> None:
                    require_judged(copy)
                    if not draft:
                        with record.verifying(copy) as reserve:
                            reserve(staged if loaded.rules.unit else copy, plan=result.plan)

                published = staged.publish(output, columns=loaded.rules.released, verify=verify)
                kept = tuple(getattr(published, "notes", ()))
        if plan and result.plan and verdict.passed:
            _save_plan(result.plan, plan)
        if report:
            progress("writing the report")
            verdicts = [("anonymized", verdict)]
            # exact results of the original are covered by no budget, and other columns cannot be judged
            if not loaded.is_randomized and loaded.rules.form == "rows":
                verdicts.insert(0, ("as it is", loaded.judge(source, population=others)))
            write_report(
                report, policy=loaded, verdicts=verdicts, plan=result.result, usefulness=useful, steps=result.steps
            )
    show_anonymized(terminal, result, again=saved is not None)
    written: dict[str, str | Path | None] = {
        "output": ", ".join(outputs) if verdict.passed else None,
        "plan file": plan if verdict.passed else None,
        "report": report,
        **({"release number": str(record.numbers[-1])} if record.numbers else {}),
    }
    show_outcome(terminal, result, verdict, written, kept=kept)
    if report and loaded.is_randomized:
        terminal.print_note(ORIGINAL_NOT_JUDGED)
    return exit_code(verdict)


def _save_plan(plan: "PlanResult", path: Path) -> None:
    try:
        plan.save(path)
    except OSError as problem:
        raise ParameterError(f"cannot write the plan {str(path)!r}: {describe_error(problem)}") from None
