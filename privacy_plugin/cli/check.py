"""`check`: judge a table against a policy."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacy_plugin.cli.options import (
    CertificateFolder,
    Data,
    History,
    Json,
    Ledger,
    PlanFile,
    Population,
    Reveal,
    Table,
    Url,
    WithoutIdentifiers,
)
from privacy_plugin.cli.terminal import Terminal, command
from privacy_plugin.errors import ParameterError

if TYPE_CHECKING:
    from privacy_plugin.cli.inputs import Input
    from privacy_plugin.gate.verdict import Verdict
    from privacy_plugin.policy.policy import Policy
    from privacy_plugin.sources import Source

PolicyFile = Annotated[Path | None, typer.Option("--policy", "-p", help="The policy file (YAML).", show_default=False)]
Manifest = Annotated[
    Path | None,
    typer.Option(
        "--dbt-manifest",
        help="Check the models of a dbt project whose meta names a policy: target/manifest.json. The database is that "
        "of the dbt profile, or --url.",
        show_default=False,
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--dbt-model", help="Check this model only. Repeat for several.", show_default=False),
]
DbtTarget = Annotated[
    str | None, typer.Option(help="The target of the dbt profile. Default: that of the profile.", show_default=False)
]
Profiles = Annotated[
    Path | None,
    typer.Option(
        "--dbt-profiles", help="The folder of profiles.yml. Default: as dbt looks for it.", show_default=False
    ),
]
Partition = Annotated[
    str | None, typer.Option(help="The partition key of this table, for the certificate.", show_default=False)
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse a Parquet file that holds more than its rows, instead of a note.")
]


@command
def check(
    policy: PolicyFile = None,
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
    strict: Strict = False,
    dbt_manifest: Manifest = None,
    dbt_model: Models = None,
    dbt_target: DbtTarget = None,
    dbt_profiles: Profiles = None,
    reveal: Reveal = False,
    as_json: Json = False,
) -> int:
    """Check a table against a policy: exit code 0 passed, 1 failed, 2 not evaluated.

    For every requirement that fails, the output shows how many people are affected, what an attacker could do, and
    what would fix it. Values of the table appear only with --reveal. Of several dbt models, the worst exit code counts.

    Of a Parquet file, notes say what it holds beyond its rows: metadata, an index, several forms of one value. A
    release is a new file without that; with --strict, such a file is refused.

    For example:

    - `privacy-plugin check visits.csv --policy policy.yaml`
    - `privacy-plugin check visits.parquet -p policy.yaml --certificate-folder certificates --json`
    - `privacy-plugin check -p policy.yaml --url sqlite:///clinic.db --table visits --population register`
    - `privacy-plugin check --dbt-manifest target/manifest.json`
    """
    from privacy_plugin.cli.inputs import open_input, open_population, use_history, use_ledger, without_identifiers
    from privacy_plugin.cli.results import exit_code, identifiers_hint, show_verdict
    from privacy_plugin.gate.certificate import CertificateStore
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.measuring.measure import reporting
    from privacy_plugin.policy.policy import Policy

    terminal = Terminal(as_json=as_json)
    made_by = load_plan(plan) if plan else None

    def judge(
        loaded: Policy, opened: "Input", others: "Source | None", folder: Path | None
    ) -> tuple[int, dict[str, Any]]:
        """Judge one table, show the verdict and record it; return the exit code and the JSON document."""
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
                source, population=others, partition=partition, fingerprint=folder is not None, plan=made_by
            )
        remarks = tuple(getattr(opened.source, "remarks", tuple)())
        if strict:
            verdict = replace(verdict, problems=verdict.problems + remarks)
        else:
            verdict = replace(verdict, notes=verdict.notes + remarks)
        recorded: dict[str, Any] = {"certificate": None}
        if folder is not None:
            store = CertificateStore(folder)
            store.record(verdict)
            recorded["certificate"] = str(store.path(verdict.dataset, partition))
        show_verdict(terminal.console, verdict.to_dict(reveal=reveal), label=opened.name, reveal=reveal)
        if recorded["certificate"]:
            terminal.print_line(f"{'certificate' if verdict.passed else 'refusal'}: {recorded['certificate']}")
        if hint := identifiers_hint(loaded.rules, verdict):
            terminal.print_note(hint)
        _suggest_anonymize(terminal, loaded, verdict)
        return exit_code(verdict), {**verdict.to_dict(reveal=reveal), **recorded}

    if dbt_manifest is None:
        if policy is None:
            raise ParameterError("pass --policy, or --dbt-manifest for the models of a dbt project")
        if dbt_model or dbt_target or dbt_profiles:
            raise ParameterError("--dbt-model, --dbt-target and --dbt-profiles need --dbt-manifest")
        loaded = Policy.load(policy)
        opened = open_input(data, url, table, parts=loaded.rules.tables)
        others = open_population(loaded, population, opened, policy_file=policy)
        code, document = judge(loaded, opened, others, certificate_folder)
        terminal.print_json(document)
        return code
    for name, given in (("--policy", policy), ("DATA", data), ("--table", table), ("--population", population)):
        if given is not None:
            raise ParameterError(f"with --dbt-manifest the dbt project says what is checked; leave out {name}")
    judged = {}
    models = list(
        _open_models(dbt_manifest, dbt_model or [], url, dbt_target, dbt_profiles)
    )  # all, before one is judged
    for name, loaded, opened, others in models:
        judged[name] = judge(loaded, opened, others, None if certificate_folder is None else certificate_folder / name)
    documents = {name: document for name, (_, document) in judged.items()}
    terminal.print_json({"passed": all(one["passed"] for one in documents.values()), "models": documents})
    return max(code for code, _ in judged.values())


def _open_models(
    manifest: Path, names: list[str], url: str | None, target: str | None, profiles: Path | None
) -> "Iterator[tuple[str, Policy, Input, Source | None]]":
    """Open the tables of dbt models that have a policy, each with its name, policy and population."""
    from privacy_plugin.cli.inputs import open_input
    from privacy_plugin.policy.dbt_project import (
        choose_models,
        database_url,
        find_project_folder,
        gated_models,
        read_manifest,
    )

    content = read_manifest(manifest)
    folder = find_project_folder(manifest)
    models = choose_models(gated_models(content, folder), names)
    address = url or database_url(folder, profiles=profiles, target=target)
    for model in models:
        opened = open_input(None, address, model.judged, parts=model.policy.rules.tables)
        needed = model.population_table if model.policy.rules.needs_population else None
        others = None if needed is None else opened.open_table(needed)
        _ = opened.source.columns, others and others.columns  # raises for a table that does not exist
        yield model.unique_id, model.policy, replace(opened, name=model.name), others


def _suggest_anonymize(terminal: Terminal, loaded: "Policy", verdict: "Verdict") -> None:
    """Suggest `anonymize` after a failure, if it spends no budget and every quasi-identifier has a hierarchy.

    A requirement that could not be evaluated (l-diversity of people with several rows) would stop that command too.
    """
    failed = verdict.evaluated and not verdict.passed
    if failed and loaded.anonymizer.plan_type is not None and set(loaded.quasi_identifiers) <= set(loaded.hierarchies):
        terminal.print_note("to generalize the table until it meets the policy: privacy-plugin anonymize")
