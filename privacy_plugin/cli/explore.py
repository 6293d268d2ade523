"""`explore`: write a page on which a person chooses a generalization by its loss and its risk."""

from pathlib import Path
from typing import Annotated

import typer

from privacy_plugin.cli.options import Data, Force, Json, PolicyFile, Table, Url
from privacy_plugin.cli.terminal import PASSED, Terminal, command
from privacy_plugin.errors import ParameterError

Output = Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")]
RevealLabels = Annotated[bool, typer.Option("--reveal", help="Show labels of every level; they may be values.")]


@command
def explore(
    policy: PolicyFile,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    output: Output = Path("explore.html"),
    reveal: RevealLabels = False,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Write one page with every generalization of a table: loss against class size, values, disclosure, suppression.

    Open it in a browser; it needs no network and no server. Choose a limit and how many rows may be suppressed, hold
    columns at a level, click a point, and copy its policy lines. Values of the table appear only with --reveal.

    For example:

    - `privacy-plugin explore visits.csv --policy policy.yaml --output explore.html`
    """
    from privacy_plugin.cli.inputs import open_input, without_identifiers
    from privacy_plugin.cli.outputs import require_free_files
    from privacy_plugin.generalization.exploration import explore as explore_table
    from privacy_plugin.policy.policy import Policy
    from privacy_plugin.report.explorer import write_explorer

    terminal = Terminal(as_json=as_json)
    loaded = Policy.load(policy)
    opened = open_input(data, url, table)
    require_free_files([output], read=(policy, None if opened.engine else data), force=force)
    lacking = [name for name in loaded.quasi_identifiers if name not in loaded.hierarchies]
    if lacking:
        raise ParameterError(f"to explore, these columns need a hierarchy in the policy: {', '.join(lacking)}")
    source = without_identifiers(opened.source, loaded)
    with terminal.show_progress("counting every generalization"):
        explored = explore_table(
            source,
            hierarchies={name: loaded.hierarchies[name] for name in loaded.quasi_identifiers},
            requirements=loaded.requirements,
            sensitive=loaded.sensitive,
            unknown=loaded.anonymize.get("unknown", "refuse"),
        )
        values = None
        if reveal:
            values = {
                name: tuple(value for value in found if loaded.hierarchies[name].path_of(value) is not None)
                for name in explored.columns
                if (found := source.frequencies([name]).dictionary(name))
            }
        write_explorer(output, explored, dataset=loaded.dataset, hierarchies=loaded.hierarchies, values=values)
    terminal.print_line(f"{explored.nodes:,} generalizations, {len(explored.losses):,} on the page: {output}")
    terminal.print_json({"nodes": explored.nodes, "shown": len(explored.losses), "output": str(output)})
    return PASSED
