"""The history that judging and releasing use: the one set by `using_history`, or the one the environment names.

As for the ledger, the address is part of no policy, suite, verdict or certificate: it may contain a password.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from privacy_plugin.errors import HistoryError

if TYPE_CHECKING:
    from privacy_plugin.history import ReleaseHistory

HISTORY_VARIABLE = "PRIVACY_PLUGIN_HISTORY"
NO_HISTORY = (
    f"no release history is in use; set {HISTORY_VARIABLE} to its address, pass history= to policy.judge, or use "
    "privacy_plugin.using_history"
)

_IN_USE: ContextVar["ReleaseHistory | None"] = ContextVar("history_in_use", default=None)


@contextmanager
def using_history(history: "ReleaseHistory | str") -> Iterator["ReleaseHistory"]:
    """Use this history, an open one or an address, for everything inside the block."""
    if not isinstance(history, str):
        before = _IN_USE.set(history)
        try:
            yield history
        finally:
            _IN_USE.reset(before)
        return
    with _opened(history) as opened, using_history(opened):
        yield opened


@contextmanager
def find_history() -> Iterator["ReleaseHistory | None"]:
    """Yield the history in use, or the one that PRIVACY_PLUGIN_HISTORY names, or None."""
    current, address = _IN_USE.get(), os.environ.get(HISTORY_VARIABLE)
    if current is not None or not address:
        yield current
        return
    with _opened(address) as history:
        yield history


@contextmanager
def history_in_use() -> Iterator["ReleaseHistory"]:
    """Yield the history in use; raise HistoryError without one."""
    with find_history() as history:
        if history is None:
            raise HistoryError(NO_HISTORY)
        yield history


@contextmanager
def _opened(address: str) -> Iterator["ReleaseHistory"]:
    from privacy_plugin.history import ReleaseHistory  # SQLAlchemy is loaded with the first history

    history = ReleaseHistory(address, create=False)
    try:
        yield history
    finally:
        history.close()
