"""`ledger`: the privacy budget of every dataset: cap, spent and remaining."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from privacy_plugin.cli.options import Json, Ledger
from privacy_plugin.cli.terminal import PASSED, Terminal, command
from privacy_plugin.errors import ParameterError, unknown_name

if TYPE_CHECKING:
    from privacy_plugin.ledger import Spend
    from privacy_plugin.ledger.budget import Budget
    from privacy_plugin.ledger.composition import Total

Dataset = Annotated[str | None, typer.Option(help="The dataset name of the policy. Default: all.", show_default=False)]
Unit = Annotated[str, typer.Option("--privacy-unit", help="What the budget protects: row, patient, cell.")]
SetCap = Annotated[
    str | None,
    typer.Option(
        "--set-cap", metavar="EPSILON", help="Set the total epsilon that may be spent, such as 1.", show_default=False
    ),
]
Delta = Annotated[str, typer.Option(help="With --set-cap: the total delta that may be spent, such as 1e-6.")]

ConfirmName = Annotated[
    bool,
    typer.Option(
        "--confirm-name",
        help="With --set-cap: a name that differs from an existing one only in case, spaces or Unicode form is another "
        "dataset.",
    ),
]


@command
def ledger(
    ledger: Ledger = None,
    dataset: Dataset = None,
    privacy_unit: Unit = "row",
    set_cap: SetCap = None,
    delta: Delta = "0",
    confirm_name: ConfirmName = False,
    as_json: Json = False,
) -> int:
    """Show the privacy budget of every dataset: cap, spent, remaining, and every spend.

    Randomized methods (`epsilon_safe_lattice`, `synthesize`, `randomized_response`) spend from a ledger, and only
    after a cap was set. Epsilons and deltas add up, or zero-concentrated budgets where that bound is smaller, and
    spent budget never returns. `reserved` means that a release
    began and never finished: it counts in full, because its result may have been seen. A cap below the spent budget
    closes the dataset.

    For example:

    - `privacy-plugin ledger --ledger sqlite:///ledger.db --dataset visits --set-cap 1 --delta 1e-6`
    - `export PRIVACY_PLUGIN_LEDGER=sqlite:///ledger.db`, then `privacy-plugin ledger --json`
    """
    from privacy_plugin.ledger import BudgetLedger
    from privacy_plugin.ledger.budget import Budget
    from privacy_plugin.ledger.in_use import LEDGER_VARIABLE

    if not ledger:
        raise ParameterError(f"no ledger given; pass --ledger sqlite:///ledger.db, or set {LEDGER_VARIABLE}")
    if set_cap is not None and dataset is None:
        raise ParameterError("--set-cap needs --dataset: a cap belongs to one dataset")
    terminal = Terminal(as_json=as_json)
    cap = None if set_cap is None else Budget.of(_parse_number(set_cap, "--set-cap"), _parse_number(delta, "--delta"))
    budget_ledger = BudgetLedger(ledger, create=cap is not None)
    if cap is not None and dataset is not None:
        amount = {"epsilon": cap.epsilon, "delta": cap.delta}
        budget_ledger.set_cap(dataset=dataset, unit=privacy_unit, **amount, confirm_name=confirm_name)
    budget_ledger.require_whole_totals()
    entries = budget_ledger.entries(dataset=dataset)
    caps = budget_ledger.caps()
    if dataset is not None and dataset not in {known for known, _, _ in caps}:
        raise ParameterError(
            unknown_name("dataset", dataset, {known for known, _, _ in caps}) + "; set its cap first with --set-cap"
        )
    budgets = [
        _budget_row(known, unit, cap, budget_ledger.total(dataset=known, unit=unit))
        for known, unit, cap in caps
        if dataset in (None, known)
    ]
    _show_budgets(terminal, budgets, entries)
    terminal.print_json({"budgets": budgets, "entries": [entry.to_dict() for entry in entries]})
    return PASSED


def _parse_number(text: str, option: str) -> Decimal | str:
    """Parse a number exactly as written: 1, 0.5, 1e-6 or 1/3."""
    if "/" in text:
        return text
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ParameterError(f"{option} must be a number such as 1, 1e-6 or 1/3") from None


def _budget_row(dataset: str, unit: str, cap: "Budget", total: "Total") -> dict[str, Any]:
    spent, composition = total.within(cap.delta)
    return {
        "dataset": dataset,
        "unit": unit,
        "cap": cap.to_dict(),
        "spent": spent.to_dict(),
        "composition": composition,
        "added": total.added.to_dict(),
        "remaining": (cap - spent).to_dict(),
    }


def _show_budgets(terminal: Terminal, budgets: list[dict[str, Any]], entries: tuple["Spend", ...]) -> None:
    if not budgets:
        terminal.print_line("no dataset has a budget yet; set one with --dataset and --set-cap")
        return
    table = _empty_table("dataset", "unit", "cap", "spent", "remaining")
    for budget in budgets:
        amounts = (_format_budget(budget[name]) for name in ("cap", "spent", "remaining"))
        table.add_row(Text(budget["dataset"]), Text(budget["unit"]), *amounts)
    terminal.console.print(table)
    for budget in budgets:
        if budget["composition"] != "sequential":
            terminal.print_line(
                f"{budget['dataset']} per {budget['unit']}: {budget['composition']} composition is the smaller bound; "
                f"added up, it is {_format_budget(budget['added'])}"
            )
    if entries:
        spends = _empty_table("when", "dataset", "unit", "spent", "mechanism", "")
        for entry in entries:
            status = entry.status + (", test generator: not private" if entry.private is False else "")
            texts = (entry.dataset, entry.unit, _format_budget(entry.budget.to_dict()), entry.mechanism, status)
            spends.add_row(entry.reserved_at[:19], *(Text(text) for text in texts))
        terminal.console.print(spends)


def _empty_table(*heads: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold", no_wrap=head == "when")
    return table


def _format_budget(written: dict[str, Any]) -> str:
    return f"epsilon {_format_amount(written['epsilon'])}, delta {_format_amount(written['delta'])}"


def _format_amount(number: Any) -> str:
    """Format an amount to six digits; --json prints it exactly."""
    from privacy_plugin.frequency.numbers import shown  # loads numpy

    return shown(Fraction(number)) if isinstance(number, str) else f"{number:.6g}"
