"""The budget ledger: what randomized releases have spent of a dataset's privacy budget."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privacy_plugin.ledger.budget_ledger import BudgetLedger, Release, Spend

__all__ = ["BudgetLedger", "Release", "Spend"]


def __getattr__(name: str) -> Any:
    """Import SQLAlchemy only when a ledger is used."""
    if name in __all__:
        return getattr(import_module("privacy_plugin.ledger.budget_ledger"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
