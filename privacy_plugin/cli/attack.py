"""`attack`: attack a release with the knowledge of some columns, and compare with an attacker without the release."""

from pathlib import Path
from typing import Annotated

import typer

from privacy_plugin.cli.options import Data, Json, Table, Url
from privacy_plugin.cli.terminal import PASSED, Terminal, command

Original = Annotated[str, typer.Option(help="The table before anonymization: a file, or a table of the same database.")]
OptionalPolicy = Annotated[
    Path | None,
    typer.Option("--policy", "-p", help="The policy: its roles and hierarchies say what is known.", show_default=False),
]
Known = Annotated[
    str | None,
    typer.Option(
        help="The columns the attacker knows, with commas. Default: the policy's quasi-identifiers.", show_default=False
    ),
]
Sensitive = Annotated[
    str | None,
    typer.Option(
        help="The columns the attacker wants to learn, with commas. Default: the policy's sensitive columns.",
        show_default=False,
    ),
]
PopulationTable = Annotated[
    str | None, typer.Option("--population", help="Everyone who could be in the table.", show_default=False)
]
Earlier = Annotated[
    str | None, typer.Option(help="An earlier release of the same dataset, to subtract.", show_default=False)
]
Targets = Annotated[int, typer.Option(min=1, help="How many people to attack at most; more are drawn at random.")]


@command
def attack(
    original: Original,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    policy: OptionalPolicy = None,
    known: Known = None,
    sensitive: Sensitive = None,
    population: PopulationTable = None,
    earlier: Earlier = None,
    targets: Targets = 2_000,
    as_json: Json = False,
) -> int:
    """Attack a release as someone would who knows some columns of its people.

    Singling out, linkage, inference of each sensitive column; with a population membership, with an earlier release
    differencing. Each has its success rate, the rate without the release, and a 95% confidence interval. It shows what
    is left to an attacker; it opens no gate, and finding little proves nothing. No value of either table is printed.

    For example:

    - `privacy-plugin attack released.csv --original visits.csv --policy policy.yaml`
    - `privacy-plugin attack released.csv --original visits.csv --known age,zip --sensitive diagnosis`
    """
    from privacy_plugin.attacks.attack import attack as attack_table
    from privacy_plugin.cli.inputs import open_input
    from privacy_plugin.errors import ParameterError
    from privacy_plugin.policy.policy import Policy

    terminal = Terminal(as_json=as_json)
    loaded = None if policy is None else Policy.load(policy)
    opened = open_input(data, url, table)
    columns = _names(known) or (() if loaded is None else loaded.quasi_identifiers)
    secrets = _names(sensitive) or (() if loaded is None else loaded.sensitive)
    if not columns:
        raise ParameterError("pass --policy, or the columns that the attacker knows: --known age,zip")
    with terminal.show_progress("attacking"):
        found = attack_table(
            opened.source,
            original=opened.open_table(original),
            known=columns,
            sensitive=secrets,
            hierarchies={} if loaded is None else loaded.hierarchies,
            population=None if population is None else opened.open_table(population),
            earlier=None if earlier is None else opened.open_table(earlier),
            targets=targets,
        )
    terminal.print_line(f"The attacker knows {', '.join(columns)}.")
    for outcome in found:
        terminal.print_line(f"{outcome.title}: {outcome.success:.1%}, without the release {outcome.baseline:.1%}")
        terminal.print_line(f"  {outcome.sentence}", style="dim")
    terminal.print_note("An attacker who knows more may find more; a gate never depends on these numbers.")
    terminal.print_json({"known": list(columns), "sensitive": list(secrets), "attacks": [o.to_dict() for o in found]})
    return PASSED


def _names(given: str | None) -> tuple[str, ...]:
    return () if given is None else tuple(name.strip() for name in given.split(",") if name.strip())
