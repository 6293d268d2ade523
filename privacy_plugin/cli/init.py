"""`init`: propose a policy for a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from privacy_plugin.atomic_write import write_atomically
from privacy_plugin.cli.options import Data, Force, Table, Url
from privacy_plugin.cli.terminal import PASSED, Terminal, command
from privacy_plugin.errors import ParameterError, describe_error

if TYPE_CHECKING:
    from privacy_plugin.policy.data_contract import ContractObject
    from privacy_plugin.proposals.proposal import Proposal

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The policy file to write. Default: standard output.", show_default=False),
]
Dataset = Annotated[
    str | None, typer.Option(help="The name of the dataset in the policy. Default: the name of the file or table.")
]
RevealValues = Annotated[
    bool,
    typer.Option("--reveal", help="List the values of short columns in the proposed hierarchies."),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header",
        help="The first line names the columns although it looks like data. If that is wrong, the proposal shows "
        "one person's values.",
    ),
]


GroupBy = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="SENSITIVE_COLUMN",
        help="Group the values of short text columns by their association with this sensitive column. The hierarchies "
        "then depend on sensitive values and list values: needs --reveal.",
    ),
]


Packs = Annotated[
    list[str] | None,
    typer.Option("--pack", help="Add the clauses of a standard, such as hipaa_safe_harbor. Repeat for several."),
]


Contract = Annotated[
    str | None,
    typer.Option(
        metavar="FILE[#OBJECT]",
        help="A data contract (ODCS 3): its roles and classifications of columns come before what the values suggest.",
        show_default=False,
    ),
]


@command
def init(
    data: Data = None,
    output: Output = None,
    url: Url = None,
    table: Table = None,
    dataset: Dataset = None,
    header: Header = False,
    group_by: GroupBy = None,
    pack: Packs = None,
    contract: Contract = None,
    reveal: RevealValues = False,
    force: Force = False,
) -> int:
    """Propose a policy: a role for every column, with the reason and the measurements.

    Review the proposal: every gate rejects it until you delete the line `unreviewed`. Columns with unclear roles are
    commented out, and the gate stays closed until they have a role. Only --output is written.

    For example:

    - `privacy-plugin init visits.csv --output policy.yaml`
    - `privacy-plugin init --url duckdb:///warehouse.duckdb --table visits`
    """
    from privacy_plugin.cli.inputs import open_input
    from privacy_plugin.cli.outputs import require_free_files
    from privacy_plugin.policy.packs import parse_packs
    from privacy_plugin.proposals.policy_text import policy_text
    from privacy_plugin.proposals.proposal import propose, with_contract

    terminal = Terminal()
    parse_packs(pack, None)
    described = _read_object(contract) if contract else None
    require_free_files([output], read=[data], force=force)
    opened = open_input(data, url, table)
    with terminal.show_progress("reading the columns") as progress:
        name = dataset or opened.name
        proposal = propose(
            opened.source, dataset=name, reveal=reveal, header=header, group_by=group_by, progress=progress
        )
    if described is not None:
        proposal = with_contract(proposal, described.roles, described.classifications)
    terminal.notes.print(_summary_table(proposal))
    text = policy_text(proposal, packs=pack or ())
    if output is None:
        typer.echo(text)
    else:
        _write_text(output, text)
        terminal.print_note(f"policy: {output}", style="bold")
    undecided = proposal.named(None)
    if undecided:
        terminal.print_note(f"columns without a role, for you to decide: {', '.join(undecided)}", style="yellow")
    terminal.print_note(
        "This is a proposal: every gate rejects it until you have reviewed it and deleted the line 'unreviewed'."
    )
    return PASSED


def _read_object(contract: str) -> "ContractObject":
    """Read the object of a data contract that the table is."""
    from privacy_plugin.policy.data_contract import contract_object, read_contract

    file, _, name = contract.partition("#")
    return contract_object(read_contract(file), name=name or None, gated=False)


def _write_text(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as problem:
        raise ParameterError(f"cannot write {str(path)!r}: {describe_error(problem)}") from None


def _summary_table(proposal: "Proposal") -> RichTable:
    table = RichTable(box=box.SIMPLE, pad_edge=False)
    for head in ("column", "proposed role", "values"):
        table.add_column(head)
    table.add_column("unique alone", justify="right")
    table.add_column("added unique", justify="right")
    for column in proposal.columns:
        added = None
        if column.unique_with is not None and column.unique_without is not None:
            added = column.unique_with - column.unique_without
        table.add_row(
            Text(column.name),
            Text(column.role or "to be decided", style="" if column.role else "yellow"),
            f"{column.profile.distinct:,}",
            "" if column.unique_alone is None else f"{column.unique_alone:.1%}",
            "" if added is None else f"{added:+.1%}",
        )
    return table
