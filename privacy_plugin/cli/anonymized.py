"""What was done to a table, in the terminal: the levels of a generalization, its regions, or what a draw spent."""

from collections.abc import Mapping
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from privacy_plugin.anonymizers.anonymize import Anonymized
from privacy_plugin.anonymizers.multidimensional_presence import PresenceGeneralization
from privacy_plugin.cli.terminal import Terminal
from privacy_plugin.cli.verdicts import show_verdict
from privacy_plugin.frequency.level_words import level_words
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.generalization.plan import Plan


def show_anonymized(terminal: Terminal, result: Anonymized, *, again: bool) -> None:
    """Print how a table was anonymized; `again`: by a plan that was saved before."""
    if result.left_out:
        terminal.say(f"left out: {', '.join(result.left_out)}")
    if result.plan is not None:
        terminal.people.print(plan_table(result.plan))
        words = plan_words(result.plan)
        terminal.say(f"the plan when it was made: {words}" if again else words)
        return
    if isinstance(result.found, PresenceGeneralization):
        terminal.say(region_words(result.found))
        return
    assert result.cost is not None  # what was not generalized was drawn, and has both
    assert result.remaining is not None
    terminal.say(f"{result.cost.mechanism}: spent {result.cost}; {result.remaining} left a {result.cost.unit}")
    told = result.drawn.to_dict()
    account = told.get("ledger", told)
    terminal.say(f"protects one {account['unit']}: {account['neighbours']}")
    for words in account["assumptions"]:
        terminal.say(f"assumes: {words}")
    for words in told.get("notes", ()):
        terminal.say(f"note: {words}")


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


def plan_table(plan: Plan) -> Table:
    """Return the level of every quasi-identifier."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in ("column", "level", "its values became"):
        table.add_column(head)
    for name, level in plan.levels.items():
        hierarchy = plan.hierarchies[name]
        table.add_row(Text(name), f"{level} of {hierarchy.height}", Text(level_words(hierarchy, level)))
    return table


def plan_words(plan: Plan) -> str:
    """Say what a plan costs."""
    certain = "" if plan.exact else f"; {plan.search}"
    return (
        f"loss {plan.loss:.4g} ({plan.loss_name}), {plan.suppressed:,} of {plan.rows:,} "
        f"{'people' if plan.unit else 'rows'} suppressed ({plan.suppressed_share:.2%}){certain}"
    )


def region_words(found: PresenceGeneralization) -> str:
    """Say what regions cost, and what they reached."""
    return (
        f"{found.classes:,} regions, loss metric {found.loss_metric:.4g}; the probability of presence lies between "
        f"{float(found.minimum):.4g} and {float(found.maximum):.4g}"
    )
