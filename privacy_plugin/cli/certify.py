"""`certify`, `release`, `verify`: the gate that holds across runs, for cron, Airflow and CI."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from privacy_plugin.cli.check import Partition
from privacy_plugin.cli.options import (
    Data,
    Force,
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
from privacy_plugin.cli.terminal import FAILED, PASSED, Terminal, command
from privacy_plugin.errors import CertificateError, ParameterError
from privacy_plugin.locations import Location, parse_location

CertificateFile = Annotated[
    Path, typer.Option("--certificate", "-c", help="The certificate (JSON).", show_default=False)
]
Output = Annotated[
    str,
    typer.Option("--output", "-o", help="The file to write, or the table of the same database.", show_default=False),
]
PublicKeys = Annotated[
    list[Path] | None,
    typer.Option(
        "--public-key", help="A public key, or a folder of them. Default: the trusted keys.", show_default=False
    ),
]
Revoked = Annotated[
    list[Path] | None,
    typer.Option(
        "--revoked", help="Revoked keys: one id a line, a file .revoked, or a folder of them.", show_default=False
    ),
]


@command
def certify(
    policy: PolicyFile,
    certificate: CertificateFile,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    population: Population = None,
    plan: PlanFile = None,
    partition: Partition = None,
    ledger: Ledger = None,
    history: History = None,
    without_identifier_columns: WithoutIdentifiers = False,
    reveal: Reveal = False,
    as_json: Json = False,
) -> int:
    """Judge a table and sign the verdict: a certificate if it passed, a refusal if not. Exit codes as of `check`.

    For example:

    - `privacy-plugin certify visits.parquet -p policy.yaml --certificate visits.certificate.json`
    """
    from privacy_plugin.cli.inputs import open_input, open_population, use_history, use_ledger, without_identifiers
    from privacy_plugin.cli.results import exit_code, show_verdict
    from privacy_plugin.gate.certificate import issue, write_certificate
    from privacy_plugin.gate.keyring import load_keyring
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.policy.policy import Policy

    terminal = Terminal(as_json=as_json)
    loaded = Policy.load(policy)
    keys = load_keyring(signing=True)
    made_by = load_plan(plan) if plan else None
    opened = open_input(data, url, table, parts=loaded.rules.tables)
    others = open_population(loaded, population, opened, policy_file=policy)
    source = without_identifiers(opened.source, loaded) if without_identifier_columns else opened.source
    with terminal.show_progress(f"judging {opened.name}"), use_ledger(loaded, ledger), use_history(history):
        verdict = loaded.judge(source, population=others, partition=partition, fingerprint=True, plan=made_by)
    write_certificate(certificate, issue(verdict, keys=keys))
    show_verdict(terminal.console, verdict.to_dict(reveal=reveal), label=opened.name, reveal=reveal)
    terminal.print_line(f"{'certificate' if verdict.passed else 'refusal'}: {parse_location(certificate)}")
    terminal.print_json({**verdict.to_dict(reveal=reveal), "certificate": str(parse_location(certificate))})
    return exit_code(verdict)


@command
def release(
    policy: PolicyFile,
    certificate: CertificateFile,
    output: Output,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    population: Population = None,
    plan: PlanFile = None,
    partition: Partition = None,
    ledger: Ledger = None,
    history: History = None,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Publish a table under its certificate, and only if it is still exactly what was certified.

    Everything the verdict depends on is verified again: rows, people, population, policy, version, budget. The
    certificate is written next to the output first, under a name that contains the fingerprint; for a database, into
    the folder of the given certificate. Exit code 1 if the certificate does not cover the table; then nothing is
    published. Only the public key is needed.

    With a history, the release is recorded there: in the transaction that replaces the table if both are in one
    database, otherwise reserved before and committed afterwards.

    For example:

    - `privacy-plugin release visits.parquet -p policy.yaml -c visits.certificate.json -o release.parquet`
    """
    from privacy_plugin.cli.inputs import open_input, open_population, population_name, use_history, use_ledger
    from privacy_plugin.cli.outputs import require_free_output
    from privacy_plugin.gate.certificate import read_certificate, require_certificate, require_open, write_certificate
    from privacy_plugin.gate.keyring import load_keyring
    from privacy_plugin.generalization.plan import load_plan
    from privacy_plugin.generalization.region_population import count_by_plan
    from privacy_plugin.history.recording import ReleaseRecord, recording
    from privacy_plugin.policy.policy import Policy
    from privacy_plugin.sources import Source
    from privacy_plugin.sources.population_join import open_joint_snapshot
    from privacy_plugin.sources.sql.file_release import parse_place
    from privacy_plugin.sources.sql.lake_tables import LakeTable

    terminal = Terminal(as_json=as_json)
    loaded = Policy.load(policy)
    if loaded.anonymizer.once or loaded.rules.tables:
        raise ParameterError(f"{loaded.method} is released by `privacy-plugin anonymize` itself, or with Dagster")
    keys = load_keyring()
    opened = open_input(data, url, table)
    read = (data or table, population_name(loaded, population, opened, policy_file=policy))
    require_free_output(opened, [output], written=(), tables=read, files=(policy, certificate), force=force)
    others = open_population(loaded, population, opened, policy_file=policy)
    made_by = load_plan(plan) if plan and (loaded.needs_plan or loaded.anonymizer.continues) else None
    found = read_certificate(certificate)
    written: list[Location] = []

    def verify_with(record: ReleaseRecord, staged: Source) -> None:
        with ExitStack() as stack:

            def reopen(source: Source | None) -> Source | None:
                joined = None if source is None else open_joint_snapshot(source, opened.source, staged)
                return None if joined is None else stack.enter_context(joined)

            reserve = stack.enter_context(record.verifying(staged))
            judged = reopen(opened.source) if loaded.rules.unit else None
            require_certificate(
                found,
                policy=loaded,
                staged=staged,
                keys=keys,
                partition=partition,
                judged=judged,
                population=count_by_plan(reopen(others), made_by) if loaded.rules.needs_population else None,
            )
            place = None if opened.engine is not None else parse_place(output)
            if place is None or isinstance(place, LakeTable):  # next to the given certificate
                folder = parse_location(certificate).parent
                name = output.replace('"', "").replace("/", "-")
            else:
                folder, name = place.parent, place.name
            path = folder / f"{name}.{found.release_name}.certificate.json"
            reserve(judged or staged, plan=made_by, certificate=str(path))
            write_certificate(path, found)
        written.append(path)

    try:
        require_open(found, policy=loaded, keys=keys, partition=partition)
        with (
            terminal.show_progress(f"releasing {opened.name}"),
            use_ledger(loaded, ledger),
            use_history(history),
            recording(loaded, partition=partition) as record,
        ):
            published = opened.source.publish(
                output, columns=loaded.rules.released, verify=partial(verify_with, record)
            )
    except CertificateError as problem:
        return _refuse(terminal, problem)
    if not written:
        raise CertificateError(f"a source of kind {opened.source.engine!r} published without verifying")
    terminal.print_line(f"released: {output}")
    terminal.print_line(f"certificate: {written[-1]}")
    kept = list(getattr(published, "notes", ()))
    for note in kept:
        terminal.print_note(f"warning: {note}", style="bold yellow")
    for number in record.numbers:
        terminal.print_line(f"recorded in the history as release {number}")
    terminal.print_json(
        {"released": output, "certificate": str(written[-1]), "recorded": record.numbers, "kept": kept, "passed": True}
    )
    return PASSED


@command
def verify(
    certificate: CertificateFile,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    public_key: PublicKeys = None,
    revoked: Revoked = None,
    as_json: Json = False,
) -> int:
    """Verify a released table offline: exit code 0 only if its content is exactly what was certified.

    Needs the certificate and the public key of the publisher, not the policy or the source. Rows may be in any order.
    A certificate that has expired, or was signed with a revoked key, verifies nothing. Files `.revoked` in the folder
    of a public key are read too.

    For example:

    - `privacy-plugin verify release.parquet --certificate c.json --public-key publisher.pub`
    - `privacy-plugin verify release.parquet -c c.json --public-key publisher.pub --revoked revoked.txt`
    """
    from privacy_plugin.cli.inputs import open_input
    from privacy_plugin.gate.certificate import read_certificate
    from privacy_plugin.gate.keyring import load_keyring, read_trusted
    from privacy_plugin.gate.verification import verify_table

    terminal = Terminal(as_json=as_json)
    if revoked and not public_key:
        raise ParameterError("--revoked is read together with --public-key; the trusted keys have their own .revoked")
    keys = read_trusted(public_key, revoked=revoked or []) if public_key else load_keyring()
    opened = open_input(data, url, table)
    try:
        found = read_certificate(certificate)
        matched = verify_table(opened.source, found, keys=keys)
    except CertificateError as problem:
        return _refuse(terminal, problem)
    content: dict[str, Any] = found.content
    terminal.print_line(f"verified: {opened.name} is {matched.name!r} as certified, signed with key {found.key_ids[0]}")
    others = [table.name for table in found.tables if table.name != matched.name]
    if others:
        terminal.print_line(f"released together with {', '.join(map(repr, others))}, which this does not verify")
    for finding in content.get("findings", ()):
        terminal.print_line(f"- {finding.get('requirement')}: {finding.get('status')}")
    shown = {name: content.get(name) for name in ("dataset", "partition", "policy_digest", "judged_at", "valid_until")}
    terminal.print_line(f"judged at {shown['judged_at']}, policy digest {shown['policy_digest']}")
    table_found = {"table": matched.name, "rows": matched.fingerprints[0].rows, "others": others}
    terminal.print_json({"verified": True, **table_found, **shown})
    return PASSED


def _refuse(terminal: Terminal, problem: CertificateError) -> int:
    terminal.print_note(f"refused: {problem}", style="bold red")
    terminal.print_json({"verified": False, "passed": False, "reason": str(problem)})
    return FAILED
