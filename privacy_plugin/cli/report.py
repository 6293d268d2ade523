"""`report`: judge a table and write it down for people."""

from pathlib import Path
from typing import Annotated

import typer

from privacy_plugin.cli.options import (
    CertificateFolder,
    Data,
    Force,
    Json,
    Ledger,
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
    typer.Option(help="The table before it was anonymized, to compare with: a file or a table.", show_default=False),
]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="The plan that made the table, to show in the report.", show_default=False)
]
Title = Annotated[str | None, typer.Option(help="The title of the page.", show_default=False)]


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
    certificate_folder: CertificateFolder = None,
    title: Title = None,
    without_identifier_columns: WithoutIdentifiers = False,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Judge a table and write a report: one HTML file that needs no network and holds no value of the table.

    Exit codes are those of check; the report is written whatever the verdict.

    For example:

    - `privacy-plugin report release.csv --policy policy.yaml --output report.html`
    - `privacy-plugin report release.csv -p policy.yaml -o report.html --before visits.csv --plan plan.json`
    """
    from privacy_plugin.cli import inputs
    from privacy_plugin.cli.outputs import require_free_files
    from privacy_plugin.cli.results import exit_code, show_verdict, without_identifiers_hint
    from privacy_plugin.gate.certificate import CertificateStore
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.policy.policy import Policy

    terminal = Terminal(as_json=as_json)
    rules = Policy.load(policy)
    opened = inputs.open_input(data, url, table)
    named = inputs.population_name(rules, population, opened, policy_file=policy)
    tables = () if opened.engine else (data, named, before)
    require_free_files([output], read=(policy, plan, *tables), force=force)
    shown_plan = load_plan(plan) if plan else None
    others = inputs.open_population(rules, population, opened, policy_file=policy)
    source = inputs.without_identifiers(opened.source, rules) if without_identifier_columns else opened.source
    verdicts = []
    with terminal.working("judging") as progress, inputs.ledger_for(rules, ledger):
        if before is not None:
            earlier = inputs.without_identifiers(opened.beside(before), rules)
            verdicts.append(("before", rules.judge(earlier, population=others)))
        verdict = rules.judge(source, population=others, fingerprint=True)
        verdicts.append(("after" if before is not None else opened.name, verdict))
        certificate = CertificateStore(certificate_folder).record(verdict) if certificate_folder else None
        progress("drawing")
        from privacy_plugin.report import write_report  # drawing needs libraries that are slow to load

        write_report(output, policy=rules, verdicts=verdicts, plan=shown_plan, certificate=certificate, title=title)
    show_verdict(terminal.people, verdict.to_dict(), label=opened.name)
    terminal.say(f"report: {output}")
    if hint := without_identifiers_hint(rules.rules, verdict):
        terminal.note(hint)
    terminal.result({**verdict.to_dict(), "report": str(output)})
    return exit_code(verdict)
