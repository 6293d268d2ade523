"""Stop the query of a database when a signal such as Ctrl-C ends the work that needs it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

Handler = Callable[[int, Any], Any]


@contextmanager
def interruptible(interrupt: Callable[[], None] | None) -> Iterator[None]:
    """Call `interrupt` when a signal handler raises, and re-raise the handler's exception.

    DuckDB calls the handler while a query runs, and then waits until its other threads have finished the query, which
    may take hours. A PostgreSQL server continues too, and keeps its locks. Both stop when they are interrupted.
    """
    if interrupt is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: list[BaseException] = []
    with ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            original = signal.getsignal(number)
            if callable(original):  # else the signal is ignored or ends the process: no exception is raised
                handler = _interrupting_handler(original, interrupt, raised)
                stack.callback(_restore_handler, number, handler, original)
                signal.signal(number, handler)
        try:
            yield
        except Exception:
            if raised:
                raise raised[-1] from None
            raise


def _restore_handler(number: int, handler: Handler, original: Handler) -> None:
    if signal.getsignal(number) is handler:
        signal.signal(number, original)


def _interrupting_handler(original: Handler, interrupt: Callable[[], None], raised: list[BaseException]) -> Handler:
    """Return a handler that calls the original one and interrupts the database if that raises."""

    def handler(number: int, frame: Any) -> None:
        try:
            original(number, frame)
        except BaseException as end:
            raised.append(end)
            with suppress(Exception):  # a server that cannot be reached cannot be interrupted
                interrupt()
            raise

    return handler
