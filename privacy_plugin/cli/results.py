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
from privacy_plugin.gate.verdict import Verdict, is_wiped_out_note
from privacy_plugin.requirements.requirement import format_value
from privacy_plugin.requirements.rules import Rules, identifier_problem

_STYLES = {"passed": "green", "failed": "red", "not_evaluated": "yellow"}


def exit_code(verdict: Verdict) -> int:
    """Return 0 if the gate is open, 1 if a requirement failed, 2 if something could not be evaluated."""
    if verdict.passed:
        return PASSED
    refused = any(clause.status == "not met" for clause in verdict.clauses)
    return FAILED if refused or any(finding.status == "failed" for finding in verdict.findings) else BAD_INPUT


def identifiers_hint(rules: Rules, verdict: Verdict) -> str | None:
    """Return a hint to use --without-identifiers if identifier columns closed the gate, else None."""
    if not any(identifier_problem(name) in verdict.problems for name in rules.columns("identifier")):
        return None
    return "to judge the table without its identifier columns, pass --without-identifiers"


def show_verdict(console: Console, verdict: Mapping[str, Any], *, label: str, reveal: bool = False) -> None:
    """Print a verdict (from `Verdict.to_dict` or a certificate): every requirement, the reasons and the remedies."""
    colour = "green" if verdict["passed"] else "red"
    status = f"{verdict_status(verdict).upper()}: the gate is {'open' if verdict['passed'] else 'closed'}"
    parts: list[RenderableType] = [Text(f"{status} ({label})", style=f"bold {colour}")]
    wiped_out = [note for note in verdict["notes"] if is_wiped_out_note(note)]
    parts += [Text(f"warning: {note}", style="bold yellow") for note in wiped_out]
    parts += [Text(f"note: {note}", style="yellow") for note in verdict["notes"] if note not in wiped_out]
    bullet = "*" if console.options.ascii_only else "•"
    parts += [Text(f"{bullet} {problem}") for problem in verdict["problems"]]
    if verdict["findings"]:
        parts.append(findings_table(verdict))
    parts += [_clauses_table(verdict["clauses"])] if verdict.get("clauses") else []
    failed = [finding for finding in verdict["findings"] if not finding["passed"]]
    parts += [Padding(Text(f"{bullet} {finding['reason']}"), (0, 0, 1, 0)) for finding in failed]
    parts += [Text(f"note: {note}", style="dim") for note in _metric_notes(verdict["findings"])]
    console.print(Panel(Group(*parts), border_style=colour, box=box.ROUNDED, padding=(0, 1)))
    if reveal:
        for finding in failed:
            _show_worst_classes(console, finding)


def _clauses_table(clauses: Sequence[Mapping[str, str]]) -> Table:
    """Return a table of the clauses of the policy's packs; those that a person has to look at have their reason."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in ("clause", "kind", "answer"):
        table.add_column(head, overflow="fold")
    for clause in clauses:
        settled = clause["status"] in ("met", "not covered")
        colour = {"met": "green", "answered": "green", "not met": "red", "not evaluated": "red"}.get(
            clause["status"], "yellow"
        )
        answer = Text(clause["status"], style=colour)
        table.add_row(
            Text(f"{clause['pack']}: {clause['clause'].replace('_', ' ')}"),
            clause["kind"].replace("_", " "),
            answer if settled else Text.assemble(answer, f": {clause['reason']}"),
        )
    return table


def _metric_notes(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the notes of the metrics; a pass may depend on them. The reason of a failure is printed elsewhere."""
    notes = []
    for finding in findings:
        measurement = finding["measurement"] or {"notes": (), "reason": ""}
        reasons = [measurement["reason"]] if finding["passed"] and measurement["reason"] else []
        notes += [f"{finding['requirement']}: {note}" for note in (*reasons, *measurement["notes"])]
    return notes


def verdict_status(verdict: Mapping[str, Any]) -> str:
    """Return "passed", "failed" or "not evaluated"."""
    if verdict["passed"]:
        return "passed"
    return "failed" if any(finding["status"] == "failed" for finding in verdict["findings"]) else "not evaluated"


def findings_table(verdict: Mapping[str, Any]) -> Table:
    """Return a table of every requirement with its measured value."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("requirement", overflow="fold")
    table.add_column("found", justify="right")
    table.add_column("people affected", justify="right")
    table.add_column("")
    for finding in verdict["findings"]:
        affected = 0 if finding["passed"] else finding["people_affected"]
        table.add_row(
            Text(finding["requirement"]),
            "-" if finding["value"] is None else format_value(finding["value"]),
            "-" if affected is None else f"{affected:,}",
            Text(finding["status"].replace("_", " "), style=_STYLES[finding["status"]]),
        )
    return table


def _show_worst_classes(console: Console, finding: Mapping[str, Any]) -> None:
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
        table.add_row(*values, f"{item['people']:,}", format_value(item["value"]))
    console.print(table)


def show_anonymized(terminal: Terminal, result: Anonymized, *, again: bool) -> None:
    """Print how a table was anonymized; `again` is true if a saved plan was applied."""
    described = result.describe()
    if described.levels:
        terminal.console.print(level_table(described))
    if again:
        terminal.print_line("a saved plan was applied; its numbers are those of the table it was made for")
    for text in description_lines(described):
        terminal.print_line(text)


def show_outcome(
    terminal: Terminal,
    result: Anonymized,
    verdict: Verdict,
    written: Mapping[str, str | Path | None],
    *,
    kept: Sequence[str] = (),
) -> None:
    """Print the verdict on the result, what was written, and what its place keeps of older rows."""
    terminal.print_line(f"{verdict.rows:,} rows judged")
    show_verdict(terminal.console, verdict.to_dict(), label="anonymized")
    for name, place in written.items():
        if place is not None:
            terminal.print_line(f"{name}: {place}")
    for note in kept:
        terminal.print_note(f"warning: {note}", style="bold yellow")
    terminal.print_json(
        {
            "passed": verdict.passed,
            **{name.replace(" ", "_"): None if place is None else str(place) for name, place in written.items()},
            **result.to_dict(),
            "kept": list(kept),
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
