"""The ledger that judging and spending use: the one set by `using_ledger`, or the one the environment names.

The address is not part of what is declared (policies, suites) or recorded (verdicts, certificates): it may contain a
password, and the place of a ledger does not change its content.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from privacy_plugin.errors import BudgetError

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger

LEDGER_VARIABLE = "PRIVACY_PLUGIN_LEDGER"

_IN_USE: ContextVar["BudgetLedger | None"] = ContextVar("ledger_in_use", default=None)


@contextmanager
def using_ledger(ledger: "BudgetLedger | str") -> Iterator["BudgetLedger"]:
    """Use this ledger, an open one or an address, for everything inside the block.

    >>> from privacy_plugin.ledger import BudgetLedger
    >>> with using_ledger(BudgetLedger("sqlite://")) as ledger:
    ...     ledger.entries()
    ()
    """
    if not isinstance(ledger, str):
        before = _IN_USE.set(ledger)
        try:
            yield ledger
        finally:
            _IN_USE.reset(before)
        return
    with _opened(ledger) as opened, using_ledger(opened):
        yield opened


@contextmanager
def ledger_in_use() -> Iterator["BudgetLedger"]:
    """Return the ledger in use, or open the one that PRIVACY_PLUGIN_LEDGER names; raise BudgetError without either."""
    current = _IN_USE.get()
    if current is not None:
        yield current
        return
    address = os.environ.get(LEDGER_VARIABLE)
    if not address:
        raise BudgetError(
            f"no budget ledger is in use; set {LEDGER_VARIABLE} to the address of one, give --ledger on the command "
            "line or the resource `ledger` in Dagster, or use privacy_plugin.using_ledger in Python"
        )
    with _opened(address) as ledger:
        yield ledger


@contextmanager
def _opened(address: str) -> Iterator["BudgetLedger"]:
    from privacy_plugin.ledger import BudgetLedger  # SQLAlchemy is loaded with the first ledger

    ledger = BudgetLedger(address, create=False)
    try:
        yield ledger
    finally:
        ledger.close()
