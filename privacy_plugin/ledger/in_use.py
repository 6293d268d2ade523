"""The ledger that a judgement asks: the one in use, or the one whose address the environment holds.

An address is no part of what is declared (policies, suites) or recorded (verdicts, certificates): it may hold a
password, and where the books lie does not change what they say.
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
    """Let everything inside ask and spend from this ledger: one that is open, or the address of one.

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
    """Return the ledger in use, or open the one that PRIVACY_PLUGIN_LEDGER names, or say that there is none."""
    current = _IN_USE.get()
    if current is not None:
        yield current
        return
    address = os.environ.get(LEDGER_VARIABLE)
    if not address:
        raise BudgetError(
            f"there is no budget ledger to ask; set {LEDGER_VARIABLE} to the address of one, give --ledger on the "
            "command line or the resource `ledger` in Dagster, or use privacy_plugin.using_ledger in Python"
        )
    with _opened(address) as ledger:
        yield ledger


@contextmanager
def _opened(address: str) -> Iterator["BudgetLedger"]:
    from privacy_plugin.ledger import BudgetLedger  # SQLAlchemy comes with the first ledger that is asked

    ledger = BudgetLedger(address, create=False)
    try:
        yield ledger
    finally:
        ledger.close()
