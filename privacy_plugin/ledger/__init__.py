"""The budget ledger: the books, what they say of a table, which of them are in use, and how mechanisms spend."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privacy_plugin.ledger.budget_ledger import BudgetLedger, Release, Spend

__all__ = ["BudgetLedger", "Release", "Spend"]


def __getattr__(name: str) -> Any:
    """Import SQLAlchemy only when books are asked for."""
    if name in __all__:
        return getattr(import_module("privacy_plugin.ledger.budget_ledger"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
