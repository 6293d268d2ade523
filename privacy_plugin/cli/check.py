"""`check`: judge a table by a policy."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacy_plugin.cli.options import (
    CertificateFolder,
    Data,
    Json,
    Ledger,
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

Partition = Annotated[str | None, typer.Option(help="Partition key of this table.", show_default=False)]


@command
def check(
    policy: PolicyFile,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    population: Population = None,
    partition: Partition = None,
    ledger: Ledger = None,
    certificate_folder: CertificateFolder = None,
    without_identifier_columns: WithoutIdentifiers = False,
    reveal: Reveal = False,
    as_json: Json = False,
) -> int:
    """Check a table against a policy: exit 0 if it passed, 1 if a requirement failed, 2 if something was not checked.

    Says for every requirement that is not met how many people are affected, what an attacker could do and what
    would fix it. No value of the table is shown without --reveal.

    For example:

    - `privacy-plugin check visits.csv --policy policy.yaml`
    - `privacy-plugin check visits.parquet -p policy.yaml --certificate-folder certificates --json`
    - `privacy-plugin check -p policy.yaml --url sqlite:///clinic.db --table visits --population register`
    """
    from privacy_plugin.cli.inputs import ledger_for, open_input, open_population, without_identifiers
    from privacy_plugin.cli.results import exit_code, show_verdict, without_identifiers_hint
    from privacy_plugin.gate.certificate import CertificateStore
    from privacy_plugin.measuring.measure import reporting
    from privacy_plugin.policy.policy import Policy

    terminal = Terminal(as_json=as_json)
    rules = Policy.load(policy)
    opened = open_input(data, url, table)
    others = open_population(rules, population, opened, policy_file=policy)
    source = without_identifiers(opened.source, rules) if without_identifier_columns else opened.source
    asked = len(rules.requirements)
    words = f"judging {opened.name} by {asked} requirement{'' if asked == 1 else 's'}"
    with (
        terminal.working(words) as say,
        reporting(lambda share, _: say(f"{words}: {share:.0%}")),
        ledger_for(rules, ledger),
    ):
        verdict = rules.judge(
            source, population=others, partition=partition, fingerprint=certificate_folder is not None
        )
    recorded: dict[str, Any] = {"certificate": None}
    if certificate_folder is not None:
        store = CertificateStore(certificate_folder)
        store.record(verdict)
        recorded["certificate"] = str(store.path(verdict.dataset, partition))
    show_verdict(terminal.people, verdict.to_dict(reveal=reveal), label=opened.name, reveal=reveal)
    if recorded["certificate"]:
        terminal.say(f"{'certificate' if verdict.passed else 'refusal'}: {recorded['certificate']}")
    if hint := without_identifiers_hint(rules.rules, verdict):
        terminal.note(hint)
    _say_what_changes_it(terminal, rules, verdict)
    terminal.result({**verdict.to_dict(reveal=reveal), **recorded})
    return exit_code(verdict)


def _say_what_changes_it(terminal: Terminal, rules: "Policy", verdict: "Verdict") -> None:
    """Name the command that may open the gate, where it costs no budget and has the hierarchies that it needs.

    What could not be evaluated (l-diversity of people with several rows) would stop that command too.
    """
    failed = verdict.evaluated and not verdict.passed
    if failed and rules.method == "generalize" and set(rules.quasi_identifiers) <= set(rules.hierarchies):
        terminal.note("to generalize the table until it meets the policy: privacy-plugin anonymize")
