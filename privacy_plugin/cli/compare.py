"""`compare`: anonymize one table by several policies and show risk and usefulness side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from privacy_plugin.cli.options import Data, Force, Json, Population, Table, Url
from privacy_plugin.cli.terminal import FAILED, PASSED, Terminal, command
from privacy_plugin.errors import ParameterError, PrivacyPluginError

if TYPE_CHECKING:
    from privacy_plugin.cli.inputs import Input
    from privacy_plugin.policy.policy import Policy
    from privacy_plugin.report.policy_comparison import PolicyOutcome

Policies = Annotated[
    list[Path], typer.Option("--policy", "-p", help="A policy file (YAML); repeat for each.", show_default=False)
]
Html = Annotated[Path | None, typer.Option("--html", help="Also write the comparison as a page.", show_default=False)]


@command
def compare(
    policy: Policies,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    population: Population = None,
    html: Html = None,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Anonymize a table by several policies, judge every result, and show them side by side.

    Nothing is released: the anonymized tables are staged privately and removed. Exit code 0 if at least one policy
    passes, else 1. Policies that draw at random are not compared, because every draw spends privacy budget.

    For example:

    - `privacy-plugin compare visits.csv --policy strict.yaml --policy loose.yaml --html compared.html`
    """
    from privacy_plugin.cli.inputs import open_input
    from privacy_plugin.cli.outputs import require_free_files
    from privacy_plugin.policy.policy import Policy
    from privacy_plugin.report.policy_comparison import write_comparison

    terminal = Terminal(as_json=as_json)
    if len(policy) < 2:
        raise ParameterError("pass at least two policies: --policy a.yaml --policy b.yaml")
    require_free_files([html], read=(*policy, data), force=force)
    loaded = [(path, Policy.load(path)) for path in policy]
    opened = open_input(data, url, table)
    outcomes = []
    with terminal.show_progress("comparing") as progress:
        for number, (path, each) in enumerate(loaded, start=1):
            progress(f"policy {number} of {len(loaded)}: {path.name}")
            outcomes.append(_outcome(path, each, opened, population))
        if html is not None:
            write_comparison(html, outcomes, dataset=opened.name)
    terminal.console.print(_table(outcomes))
    if html is not None:
        terminal.print_line(f"comparison: {html}")
    terminal.print_json({"policies": [outcome.to_dict() for outcome in outcomes], "html": html and str(html)})
    return PASSED if any(outcome.status == "passed" for outcome in outcomes) else FAILED


def _outcome(path: Path, policy: "Policy", opened: "Input", population: str | None) -> "PolicyOutcome":
    """Anonymize into a private place that is removed afterwards, judge, and compare with the original."""
    from privacy_plugin.report.policy_comparison import PolicyOutcome

    if policy.is_randomized:
        return PolicyOutcome(
            name=path.name, method=policy.method, problem="draws at random: comparing would spend privacy budget"
        )
    try:
        return _anonymized(path, policy, opened, population)
    except PrivacyPluginError as problem:
        return PolicyOutcome(name=path.name, method=policy.method, problem=str(problem))


def _anonymized(path: Path, policy: "Policy", opened: "Input", population: str | None) -> "PolicyOutcome":
    from privacy_plugin.anonymizers.anonymize import anonymize
    from privacy_plugin.cli import inputs
    from privacy_plugin.cli.outputs import stage_output
    from privacy_plugin.private_folder import open_private_folder
    from privacy_plugin.report import measure_usefulness
    from privacy_plugin.report.policy_comparison import PolicyOutcome

    with open_private_folder(None, path) as folder:
        output = str(folder / "compared.csv") if opened.engine is None else "privacy_plugin_compared"
        with stage_output(opened, output) as (held, target, reopen):
            others = inputs.open_compared(policy, population, held, policy_file=path)
            source = inputs.without_identifiers(held.source, policy)
            result = anonymize(source, policy=policy, target=target, population=others)
            staged = reopen()
            verdict = policy.judge(staged, population=others, plan=result.plan)
            useful = measure_usefulness(staged, held.source, policy=policy, population=others)
    problem = "" if useful is None else useful.problem
    return PolicyOutcome(
        name=path.name,
        method=result.method,
        verdict=verdict,
        usefulness=None if useful is None else useful.measured,
        problem=problem,
    )


def _table(outcomes: "list[PolicyOutcome]") -> RichTable:
    from privacy_plugin.report.policy_comparison import fact_rows, requirement_rows
    from privacy_plugin.requirements.requirement import format_measured

    table = RichTable(box=box.SIMPLE, pad_edge=False)
    table.add_column("")
    for outcome in outcomes:
        table.add_column(Text(outcome.name), overflow="fold")
    colours = {"passed": "green", "failed": "red"}
    table.add_row("the gate", *(Text(o.status, style=colours.get(o.status, "yellow")) for o in outcomes))
    for name, texts in fact_rows(outcomes):
        table.add_row(name, *map(Text, texts))
    for name, findings in requirement_rows(outcomes):
        cells = [
            Text("not asked", style="dim")
            if found is None or found.measurement is None
            else Text(format_measured(found.measurement, found.limit), style=colours.get(found.status, "yellow"))
            for found in findings
        ]
        table.add_row(Text(name), *cells)
    return table
