"""`check`: judge a table against a policy."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacy_plugin.cli.options import (
    CertificateFolder,
    Data,
    History,
    Json,
    Ledger,
    PlanFile,
    PolicyFile,
    Population,
    Reveal,
    Table,
    Url,
    WithoutIdentifiers,
)
from privacy_plugin.cli.terminal import Terminal, command

if TYPE_CHECKING:
    from privacy_plugin.gate.verdict import Verdict
    from privacy_plugin.policy.policy import Policy

Partition = Annotated[
    str | None, typer.Option(help="The partition key of this table, for the certificate.", show_default=False)
]


@command
def check(
    policy: PolicyFile,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    population: Population = None,
    plan: PlanFile = None,
    partition: Partition = None,
    ledger: Ledger = None,
    history: History = None,
    certificate_folder: CertificateFolder = None,
    without_identifier_columns: WithoutIdentifiers = False,
    reveal: Reveal = False,
    as_json: Json = False,
) -> int:
    """Check a table against a policy: exit code 0 passed, 1 failed, 2 not evaluated.

    For every requirement that fails, the output shows how many people are affected, what an attacker could do, and
    what would fix it. Values of the table appear only with --reveal.

    For example:

    - `privacy-plugin check visits.csv --policy policy.yaml`
    - `privacy-plugin check visits.parquet -p policy.yaml --certificate-folder certificates --json`
    - `privacy-plugin check -p policy.yaml --url sqlite:///clinic.db --table visits --population register`
    """
    from privacy_plugin.cli.inputs import open_input, open_population, use_history, use_ledger, without_identifiers
    from privacy_plugin.cli.results import exit_code, identifiers_hint, show_verdict
    from privacy_plugin.gate.certificate import CertificateStore
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.measuring.measure import reporting
    from privacy_plugin.policy.policy import Policy

    terminal = Terminal(as_json=as_json)
    loaded = Policy.load(policy)
    opened = open_input(data, url, table, parts=loaded.rules.tables)
    others = open_population(loaded, population, opened, policy_file=policy)
    made_by = load_plan(plan) if plan else None
    source = without_identifiers(opened.source, loaded) if without_identifier_columns else opened.source
    number = len(loaded.requirements)
    message = f"judging {opened.name} against {number} requirement{'' if number == 1 else 's'}"
    with (
        terminal.show_progress(message) as progress,
        reporting(lambda share, _: progress(f"{message}: {share:.0%}")),
        use_ledger(loaded, ledger),
        use_history(history),
    ):
        verdict = loaded.judge(
            source,
            population=others,
            partition=partition,
            fingerprint=certificate_folder is not None,
            plan=made_by,
        )
    recorded: dict[str, Any] = {"certificate": None}
    if certificate_folder is not None:
        store = CertificateStore(certificate_folder)
        store.record(verdict)
        recorded["certificate"] = str(store.path(verdict.dataset, partition))
    show_verdict(terminal.console, verdict.to_dict(reveal=reveal), label=opened.name, reveal=reveal)
    if recorded["certificate"]:
        terminal.print_line(f"{'certificate' if verdict.passed else 'refusal'}: {recorded['certificate']}")
    if hint := identifiers_hint(loaded.rules, verdict):
        terminal.print_note(hint)
    _suggest_anonymize(terminal, loaded, verdict)
    terminal.print_json({**verdict.to_dict(reveal=reveal), **recorded})
    return exit_code(verdict)


def _suggest_anonymize(terminal: Terminal, loaded: "Policy", verdict: "Verdict") -> None:
    """Suggest `anonymize` after a failure, if it spends no budget and every quasi-identifier has a hierarchy.

    A requirement that could not be evaluated (l-diversity of people with several rows) would stop that command too.
    """
    failed = verdict.evaluated and not verdict.passed
    if failed and loaded.anonymizer.plan_type is not None and set(loaded.quasi_identifiers) <= set(loaded.hierarchies):
        terminal.print_note("to generalize the table until it meets the policy: privacy-plugin anonymize")
