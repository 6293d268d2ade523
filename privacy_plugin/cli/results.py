"""Print results in the terminal: verdicts, and how a table was anonymized."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from privacy_plugin.anonymizers.base import Anonymized
from privacy_plugin.cli.terminal import BAD_INPUT, FAILED, PASSED, Terminal
from privacy_plugin.description import Description
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.requirements.requirement import shown
from privacy_plugin.requirements.rules import Rules, identifier_left

_STYLES = {"passed": "green", "failed": "red", "not_evaluated": "yellow"}


def exit_code(verdict: Verdict) -> int:
    """Return 0 for an open gate, 1 where a requirement failed, 2 where something could not be looked at."""
    if verdict.passed:
        return PASSED
    return FAILED if any(finding.status == "failed" for finding in verdict.findings) else BAD_INPUT


def without_identifiers_hint(rules: Rules, verdict: Verdict) -> str | None:
    """Name the option that judges the table as it would be without the identifiers that shut the gate."""
    if not any(identifier_left(name) in verdict.problems for name in rules.columns("identifier")):
        return None
    return "to judge the table as it would be without its identifiers, give --without-identifiers"


def show_verdict(console: Console, verdict: Mapping[str, Any], *, label: str, reveal: bool = False) -> None:
    """Print a verdict (as `Verdict.to_dict` or a certificate has it): every requirement, and what is to be done."""
    colour = "green" if verdict["passed"] else "red"
    words = f"{verdict_word(verdict).upper()}: the gate is {'open' if verdict['passed'] else 'closed'}"
    parts: list[RenderableType] = [Text(f"{words} ({label})", style=f"bold {colour}")]
    parts += [Text(f"note: {note}", style="yellow") for note in verdict["notes"]]
    bullet = "*" if console.options.ascii_only else "•"
    parts += [Text(f"{bullet} {problem}") for problem in verdict["problems"]]
    if verdict["findings"]:
        parts.append(findings_table(verdict))
    failed = [finding for finding in verdict["findings"] if not finding["passed"]]
    parts += [Padding(Text(f"{bullet} {finding['reason']}"), (0, 0, 1, 0)) for finding in failed]
    parts += [Text(f"note: {note}", style="dim") for note in _noted(verdict["findings"])]
    console.print(Panel(Group(*parts), border_style=colour, box=box.ROUNDED, padding=(0, 1)))
    if reveal:
        for finding in failed:
            _show_worst(console, finding)


def _noted(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what metrics have to say beside their values: a pass may rest on it."""
    noted = []
    for finding in findings:
        measurement = finding["measurement"] or {"notes": (), "reason": ""}
        said = [measurement["reason"]] if finding["passed"] and measurement["reason"] else []  # else it is told already
        noted += [f"{finding['requirement']}: {note}" for note in (*said, *measurement["notes"])]
    return noted


def verdict_word(verdict: Mapping[str, Any]) -> str:
    """Say what kind of a verdict it is: a no because of what was found is another one than a no for want of a look."""
    if verdict["passed"]:
        return "passed"
    return "failed" if any(finding["status"] == "failed" for finding in verdict["findings"]) else "not evaluated"


def findings_table(verdict: Mapping[str, Any]) -> Table:
    """Return every requirement with its value."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("requirement", overflow="fold")
    table.add_column("found", justify="right")
    table.add_column("people affected", justify="right")
    table.add_column("")
    for finding in verdict["findings"]:
        affected = 0 if finding["passed"] else finding["people_affected"]
        table.add_row(
            Text(finding["requirement"]),
            "-" if finding["value"] is None else shown(finding["value"]),
            "-" if affected is None else f"{affected:,}",
            Text(finding["status"].replace("_", " "), style=_STYLES[finding["status"]]),
        )
    return table


def _show_worst(console: Console, finding: Mapping[str, Any]) -> None:
    """Print the worst classes with the values of their quasi-identifiers."""
    worst = (finding["measurement"] or {}).get("worst")
    if not worst:
        return
    table = Table(title=Text(f"worst classes: {finding['requirement']}"), box=box.SIMPLE, title_justify="left")
    names = list(worst[0]["members"])
    for head in (*names, "people", "value"):
        table.add_column(Text(head))
    for item in worst:
        values = (Text(str(item["members"][name])) for name in names)
        table.add_row(*values, f"{item['people']:,}", shown(item["value"]))
    console.print(table)


def show_anonymized(terminal: Terminal, result: Anonymized, *, again: bool) -> None:
    """Print how a table was anonymized; `again`: by a plan that was saved before."""
    described = result.describe()
    if described.levels:
        terminal.people.print(level_table(described))
    if again:
        terminal.say("a saved plan was applied; its numbers are those of the table it was made for")
    for text in description_lines(described):
        terminal.say(text)


def show_outcome(
    terminal: Terminal, result: Anonymized, verdict: Verdict, written: Mapping[str, str | Path | None]
) -> None:
    """Print what the gate says of the result and what was written where."""
    terminal.say(f"{verdict.rows:,} rows judged")
    show_verdict(terminal.people, verdict.to_dict(), label="anonymized")
    for name, place in written.items():
        if place is not None:
            terminal.say(f"{name}: {place}")
    terminal.result(
        {
            "passed": verdict.passed,
            **{name.replace(" ", "_"): None if place is None else str(place) for name, place in written.items()},
            **result.to_dict(),
            "verdict": verdict.to_dict(),
        }
    )


def level_table(described: Description) -> Table:
    """Return the level of every column as a table."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in ("column", "level", "its values became"):
        table.add_column(head)
    for column in described.levels:
        table.add_row(Text(column.column), column.position, Text(column.meaning))
    return table


def description_lines(described: Description) -> list[str]:
    """Return rows and notes as lines of text."""
    return [f"{name}: {value}" for name, value in described.rows] + [f"note: {note}" for note in described.notes]
