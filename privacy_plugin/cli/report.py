"""`report`: judge a table and write an HTML report."""

from pathlib import Path
from typing import Annotated

import typer

from privacy_plugin.cli.options import (
    CertificateFolder,
    Data,
    Force,
    History,
    Json,
    Ledger,
    PlanFile,
    PolicyFile,
    Population,
    Table,
    Url,
    WithoutIdentifiers,
)
from privacy_plugin.cli.terminal import Terminal, command

Output = Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.", show_default=False)]
Before = Annotated[
    str | None,
    typer.Option(
        help="The table before anonymization, to compare with: a file, or a table of the same database.",
        show_default=False,
    ),
]
Title = Annotated[str | None, typer.Option(help="The title of the report.", show_default=False)]


@command
def report(
    policy: PolicyFile,
    output: Output,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    population: Population = None,
    before: Before = None,
    plan: PlanFile = None,
    ledger: Ledger = None,
    history: History = None,
    certificate_folder: CertificateFolder = None,
    title: Title = None,
    without_identifier_columns: WithoutIdentifiers = False,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Judge a table and write a report: one HTML file, without network access and without values of the table.

    Exit codes are those of `check`; the report is written for every verdict.

    For example:

    - `privacy-plugin report release.csv --policy policy.yaml --output report.html`
    - `privacy-plugin report release.csv -p policy.yaml -o report.html --before visits.csv --plan plan.json`
    """
    from privacy_plugin.cli import inputs
    from privacy_plugin.cli.outputs import require_free_files
    from privacy_plugin.cli.results import exit_code, identifiers_hint, show_verdict
    from privacy_plugin.gate.certificate import CertificateStore
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.policy.policy import ORIGINAL_NOT_JUDGED, Policy

    terminal = Terminal(as_json=as_json)
    loaded = Policy.load(policy)
    opened = inputs.open_input(data, url, table, parts=loaded.rules.tables)
    named = inputs.population_name(loaded, population, opened, policy_file=policy)
    tables = () if opened.engine else (data, named, before)
    require_free_files([output], read=(policy, plan, *tables), force=force)
    shown_plan = load_plan(plan) if plan else None
    others = inputs.open_population(loaded, population, opened, policy_file=policy)
    source = inputs.without_identifiers(opened.source, loaded) if without_identifier_columns else opened.source
    verdicts = []
    with (
        terminal.show_progress("judging") as progress,
        inputs.use_ledger(loaded, ledger),
        inputs.use_history(history),
    ):
        if before is not None and not loaded.is_randomized and loaded.rules.form == "rows":
            earlier = inputs.without_identifiers(opened.open_table(before), loaded)
            verdicts.append(("before", loaded.judge(earlier, population=others)))
        verdict = loaded.judge(source, population=others, fingerprint=True, portable=False, plan=shown_plan)
        verdicts.append(("after" if verdicts else opened.name, verdict))
        certificate = CertificateStore(certificate_folder).record(verdict) if certificate_folder else None
        from privacy_plugin.report import measure_usefulness, write_report  # its chart libraries load slowly

        useful = None
        if verdicts[:-1]:
            progress("comparing with the original")
            useful = measure_usefulness(source, earlier, policy=loaded, plan=shown_plan, population=others)
        progress("writing the report")
        write_report(
            output,
            policy=loaded,
            verdicts=verdicts,
            plan=shown_plan,
            certificate=certificate,
            title=title,
            usefulness=useful,
        )
    show_verdict(terminal.console, verdict.to_dict(), label=opened.name)
    terminal.print_line(f"report: {output}")
    if hint := identifiers_hint(loaded.rules, verdict):
        terminal.print_note(hint)
    if before is not None and loaded.is_randomized:
        terminal.print_note(ORIGINAL_NOT_JUDGED)
    terminal.print_json({**verdict.to_dict(), "report": str(output)})
    return exit_code(verdict)
