"""`hierarchy`: show the generalization hierarchy of one column, or replace it in the policy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from privacy_plugin.cli.options import PolicyFile, Table, Url
from privacy_plugin.cli.terminal import PASSED, Terminal, command
from privacy_plugin.errors import ParameterError, PolicyError, describe_error

if TYPE_CHECKING:
    from privacy_plugin.frequency.hierarchy import Hierarchy
    from privacy_plugin.frequency.table import FrequencyTable

_LABELS_SHOWN = 8

Column = Annotated[str, typer.Argument(metavar="COLUMN", help="The column of the policy.", show_default=False)]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="A file with the table: count the rows of every group.", show_default=False),
]
New = Annotated[
    str | None,
    typer.Option(
        "--set",
        metavar="RULE",
        help='Write this hierarchy into the policy, as a policy writes it: "intervals: {start: 0, stop: 100, '
        'widths: [10, 20]}", "vocabulary: countries", or the name of a file.',
        show_default=False,
    ),
]
Propose = Annotated[
    bool, typer.Option("--propose", help="Write the hierarchy that `init` proposes for the data into the policy.")
]
ShowLabels = Annotated[bool, typer.Option("--reveal", help="Show labels of groups, and list values where needed.")]


@command
def hierarchy(
    column: Column,
    policy: PolicyFile,
    data: Data = None,
    url: Url = None,
    table: Table = None,
    new: New = None,
    propose: Propose = False,
    reveal: ShowLabels = False,
) -> int:
    """Show the hierarchy of a column level by level, or replace it in the policy file.

    Comments and all other lines of the policy stay as they are.

    For example:

    - `privacy-plugin hierarchy age --policy policy.yaml --data visits.csv`
    - `privacy-plugin hierarchy age --policy policy.yaml --set "intervals: {start: 0, stop: 100, widths: [10, 20]}"`
    """
    from privacy_plugin.requirements.specification import hierarchy_from_specification

    terminal = Terminal()
    counted = _frequencies(column, data, url, table)
    text = _read_policy(policy)
    if new is not None or propose:
        if new is not None and propose:
            raise ParameterError("pass either --set or --propose, not both")
        specification = _propose_rule(counted, reveal=reveal) if propose else _parse_rule(new or "")
        _replace_hierarchy(policy, text, column, specification)
        terminal.print_line(f"policy: {policy}")
    else:
        specification = _find_hierarchy(text, column)
    shown = hierarchy_from_specification(specification, folder=policy.parent)
    terminal.console.print(_levels_table(shown, counted, column, reveal=reveal))
    if not reveal:
        terminal.print_note("labels are shown with --reveal")
    return PASSED


def _frequencies(column: str, data: Path | None, url: str | None, table: str | None) -> "FrequencyTable | None":
    if data is None and table is None:
        return None
    from privacy_plugin.cli.inputs import open_input

    return open_input(data, None if data else url, table).source.frequencies([column])


def _read_policy(policy: Path) -> str:
    try:
        return policy.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise PolicyError(f"cannot read the policy {str(policy)!r}: {describe_error(problem)}") from None


def _find_hierarchy(text: str, column: str) -> Any:
    entry = (_load_policy(text).get("columns") or {}).get(column)
    found = entry.get("hierarchy") if isinstance(entry, dict) else None
    if found is None:
        raise PolicyError(f"the policy has no hierarchy for column {column!r}; add one with --set or --propose")
    return found


def _load_policy(text: str) -> dict[str, Any]:
    import yaml

    from privacy_plugin.policy.strict_yaml import describe_yaml_error, load_yaml

    try:
        loaded = load_yaml(text)
    except yaml.YAMLError as problem:
        raise PolicyError(f"the policy is not valid YAML: {describe_yaml_error(problem)}") from None
    if not isinstance(loaded, dict):
        raise PolicyError("a policy must be a mapping with the keys dataset, columns and requirements")
    return loaded


def _parse_rule(given: str) -> Any:
    """Parse a rule as a policy writes it; a string is the name of a file."""
    import yaml

    from privacy_plugin.policy.strict_yaml import load_yaml

    try:
        return load_yaml(given)
    except yaml.YAMLError:
        raise ParameterError("--set takes a hierarchy as a policy writes it, such as 'vocabulary: countries'") from None


def _propose_rule(counted: "FrequencyTable | None", *, reveal: bool) -> Any:
    from privacy_plugin.proposals.column_profile import profile_column
    from privacy_plugin.proposals.hierarchies import propose_hierarchy

    if counted is None:
        raise ParameterError("--propose needs the table; pass --data, or --url and --table")
    found = propose_hierarchy(profile_column(counted), counted, reveal=reveal).specification
    if found is None:
        raise ParameterError("no hierarchy can be proposed for these values; write one with --set")
    return found


def _replace_hierarchy(policy: Path, text: str, column: str, specification: Any) -> None:
    """Write the edited policy if the hierarchy can be built."""
    from privacy_plugin.atomic_write import write_atomically
    from privacy_plugin.policy.editing import with_hierarchy
    from privacy_plugin.requirements.specification import hierarchy_from_specification

    _load_policy(text)
    hierarchy_from_specification(specification, folder=policy.parent)
    write_atomically(policy, with_hierarchy(text, column, specification))


def _levels_table(
    shown: "Hierarchy", counted: "FrequencyTable | None", column: str, *, reveal: bool
) -> RichTable | Text:
    values = counted.dictionaries[0] if counted is not None else getattr(shown, "values", None)
    if values is None:
        rule = ", ".join(shown.specification)
        return Text(f"{column}: {rule}, {shown.height} levels above the values; pass --data to count their groups")
    levels = shown.levels(values, column=column, reveal=reveal)
    table = RichTable(box=box.SIMPLE, pad_edge=False, title=Text(column), title_justify="left")
    for head in ("level", "groups", *(("smallest group",) if counted is not None else ())):
        table.add_column(head, justify="right")
    if reveal:
        table.add_column("labels")
    for level, labels in enumerate(levels.dictionaries):
        row = [str(level), f"{len(labels):,}"]
        if counted is not None:
            rows = [0] * len(labels)
            for code, count in zip(counted.codes[:, 0].tolist(), counted.counts.tolist(), strict=True):
                rows[int(levels.maps[level][code])] += count
            row.append(f"{min(rows):,} rows")
        if reveal:
            more = ", ..." if len(labels) > _LABELS_SHOWN else ""
            row.append(", ".join(str(label) for label in labels[:_LABELS_SHOWN]) + more)
        table.add_row(*map(Text, row))
    return table
