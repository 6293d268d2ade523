"""SIGINT and SIGTERM: end in order, remove staged data, release nothing more."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_RECEIVED: list[int] = []


@contextmanager
def default_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once while modules load: there is nothing to clean up, and no traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:  # the parent process set or ignored it on purpose
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def handle_termination() -> None:
    """End in order on SIGTERM (timeout, systemd, Kubernetes).

    By default SIGTERM would leave staged rows on disk and queries running in the database.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, _: object) -> None:
    """Record the signal and raise SystemExit, so that context managers remove staged data and stop queries."""
    _RECEIVED.append(number)
    raise SystemExit(128 + number)


def exit_if_terminated() -> None:
    """Raise SystemExit again if a library swallowed it (pyarrow does while it looks for pandas)."""
    if _RECEIVED:
        raise SystemExit(128 + _RECEIVED[0])
