"""A verdict in the terminal: the colour, the table, and what to do."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from privacy_plugin.cli.terminal import BAD_INPUT, FAILED, PASSED
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
    bullet = "*" if console.options.ascii_only else "•"
    parts += [Text(f"{bullet} {problem}") for problem in verdict["problems"]]
    if verdict["findings"]:
        parts.append(findings_table(verdict))
    failed = [finding for finding in verdict["findings"] if not finding["passed"]]
    parts += [Padding(Text(f"{bullet} {finding['reason']}"), (0, 0, 1, 0)) for finding in failed]
    parts += [Text(f"note: {note}", style="dim") for note in (*verdict["notes"], *_noted(verdict["findings"]))]
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
