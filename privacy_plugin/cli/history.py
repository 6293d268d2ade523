"""`history`: what was released of every dataset; clear a reservation, purge, erase a person. People are never shown."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from privacy_plugin.cli.options import History, Json
from privacy_plugin.cli.terminal import PASSED, Terminal, command
from privacy_plugin.errors import HistoryError, ParameterError, unknown_name

if TYPE_CHECKING:
    from privacy_plugin.history import RecordedRelease, ReleaseHistory

history = typer.Typer(
    no_args_is_help=True, help="Show what was released of every dataset; clear, purge and erase. People are not shown."
)

Dataset = Annotated[str | None, typer.Option(help="The dataset name of the policy. Default: all.", show_default=False)]
Number = Annotated[int, typer.Argument(metavar="NUMBER", help="The release, as `history list` numbers it.")]
NotPublished = Annotated[
    bool,
    typer.Option("--not-published", help="You have looked: the table of this reservation was not published."),
]
Before = Annotated[str, typer.Option(help="A date or time such as 2026-01-31.", show_default=False)]
OneDataset = Annotated[str, typer.Option("--dataset", help="The dataset name of the policy.", show_default=False)]


@history.command("create")
@command
def create(history: History = None, as_json: Json = False) -> int:
    """Create a history; gates and releases use only one that exists.

    Its key is PRIVACY_PLUGIN_HISTORY_KEY, or a new key file of this user: keep it as long as the history.

    For example: `privacy-plugin history create --history sqlite:///history.db`
    """
    _open(history, create=True)
    terminal = Terminal(as_json=as_json)
    terminal.print_line("the history is ready")
    terminal.print_json({"created": True})
    return PASSED


@history.command("list")
@command
def list_releases(history: History = None, dataset: Dataset = None, as_json: Json = False) -> int:
    """List all releases, oldest first: when, of how many people, how many of them were new.

    `reserved` means that a release began and did not report its end: it counts as released until `clear`.
    """
    terminal = Terminal(as_json=as_json)
    opened = _open(history)
    found = opened.releases(dataset=dataset)
    if dataset is not None and not found:
        raise ParameterError(unknown_name("dataset", dataset, {each.dataset for each in opened.releases()}))
    if not found:
        terminal.print_line("no release is recorded")
    else:
        table = Table(box=box.SIMPLE, pad_edge=False)
        for head in ("number", "when", "dataset", "partition", "people", "new", "classes", ""):
            table.add_column(head, overflow="fold", no_wrap=head == "when")
        for each in found:
            texts = (
                each.dataset,
                each.partition or "-",
                f"{each.people:,}",
                _new(each),
                f"{each.classes:,}",
                each.status,
            )
            table.add_row(str(each.number), each.reserved_at[:19], *map(Text, texts))
        terminal.console.print(table)
    waiting = opened.waiting(dataset=dataset)
    for group in waiting:
        where = f"{group.dataset}, {group.partition}" if group.partition else group.dataset
        terminal.print_line(f"{where}: {group.people:,} people wait, the first of them since {group.since[:10]}")
    terminal.print_json(
        {"releases": [each.to_dict() for each in found], "waiting": [asdict(group) for group in waiting]}
    )
    return PASSED


@history.command("show")
@command
def show(number: Number, history: History = None, as_json: Json = False) -> int:
    """Show one release: its time, policy, certificate and columns, and how many people it added."""
    terminal = Terminal(as_json=as_json)
    each = _find(_open(history), number)
    rows = {
        "dataset": each.dataset,
        "partition": each.partition,
        "status": each.status,
        "reserved": each.reserved_at,
        "committed": each.committed_at,
        "purged": each.purged_at,
        "policy digest": each.policy_digest,
        "certificate": each.certificate,
        "people" if each.counted_by_unit else "rows": f"{each.people:,}",
        "of them new": _new(each),
        "classes": f"{each.classes:,}",
        **{name.replace("_", " "): ", ".join(columns) for name, columns in each.columns.items()},
    }
    for name, value in rows.items():
        if value:
            terminal.print_line(f"{name}: {value}")
    terminal.print_json(each.to_dict())
    return PASSED


@history.command("clear")
@command
def clear(number: Number, not_published: NotPublished = False, history: History = None, as_json: Json = False) -> int:
    """Remove a reservation whose table was certainly not published, after a run that was killed.

    A reservation that is cleared although its table was published is a release that no gate considers.
    """
    terminal = Terminal(as_json=as_json)
    opened = _open(history)
    _find(opened, number)
    if not not_published:
        raise ParameterError(
            f"look whether the table of release {number} was published; if it was not, pass --not-published"
        )
    opened.clear(number)
    terminal.print_line(f"cleared: release {number}")
    terminal.print_json({"cleared": number})
    return PASSED


@history.command("purge")
@command
def purge(before: Before, history: History = None, dataset: Dataset = None, as_json: Json = False) -> int:
    """Forget who and what was in the releases before a time; times, policies and certificates stay.

    A gate that needs what was purged is closed: a dataset with `across_releases` can then only be released under a new
    name, to other people.
    """
    terminal = Terminal(as_json=as_json)
    purged = _open(history).purge(before=before, dataset=dataset)
    terminal.print_line(f"purged: {purged} releases")
    terminal.print_json({"purged": purged})
    return PASSED


@history.command("erase")
@command
def erase(dataset: OneDataset, history: History = None, as_json: Json = False) -> int:
    """Forget the class and values of one person, whose identifier is read from standard input.

    An argument would stay in the history of the shell. A keyed hash stays in a list of erased people: a table that has
    this person again is refused, because their earlier releases are not known any more.
    """
    terminal = Terminal(as_json=as_json)
    opened = _open(history)
    if sys.stdin.isatty():
        person = typer.prompt("identifier of the person (unit column)", hide_input=True)
    else:
        person = sys.stdin.readline().rstrip("\r\n")
    if not person:
        raise ParameterError("no identifier was given; write the value of the unit column to standard input")
    erased = opened.erase(person, dataset=dataset)
    terminal.print_line("erased" if erased else "the history does not know this person; nothing was erased")
    terminal.print_json({"erased": erased})
    return PASSED


def _open(address: str | None, *, create: bool = False) -> "ReleaseHistory":
    from privacy_plugin.history import ReleaseHistory
    from privacy_plugin.history.in_use import HISTORY_VARIABLE

    if not address:
        raise ParameterError(f"no history given; pass --history sqlite:///history.db, or set {HISTORY_VARIABLE}")
    return ReleaseHistory(address, create=create)


def _find(opened: "ReleaseHistory", number: int) -> "RecordedRelease":
    found = next((each for each in opened.releases() if each.number == number), None)
    if found is None:
        raise HistoryError(f"there is no release {number}; `privacy-plugin history list` numbers them")
    return found


def _new(release: "RecordedRelease") -> str:
    """Return how many people were in no earlier release; unknown without a unit or after a purge."""
    if not release.counted_by_unit or release.purged_at:
        return "-"
    return f"{release.people - release.returning_people:,}"
