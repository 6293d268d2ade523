"""Ctrl-C, and every other signal that ends a program, while a database works."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

Handler = Callable[[int, Any], Any]


@contextmanager
def interruptible(interrupt: Callable[[], None] | None) -> Iterator[None]:
    """Make the database give up when a signal ends what it works for, and raise what the signal's handler raised.

    DuckDB calls the handler while a query runs and then waits for its other threads, which do not know that nobody
    wants the result any more: they work to the end of the query, be it hours, unless they are told. So does the server
    of a PostgreSQL, with all locks that it holds.
    """
    if interrupt is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: list[BaseException] = []
    with ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            own = signal.getsignal(number)
            if callable(own):  # else it is ignored, or the end of the process: nothing is raised
                handler = _telling(own, interrupt, raised)
                stack.callback(_restore, number, handler, own)
                signal.signal(number, handler)
        try:
            yield
        except Exception:
            if raised:
                raise raised[-1] from None
            raise


def _restore(number: int, handler: Handler, own: Handler) -> None:
    if signal.getsignal(number) is handler:
        signal.signal(number, own)


def _telling(own: Handler, interrupt: Callable[[], None], raised: list[BaseException]) -> Handler:
    """Return a signal's own handler, which tells the database of what it raises."""

    def handler(number: int, frame: Any) -> None:
        try:
            own(number, frame)
        except BaseException as end:
            raised.append(end)
            with suppress(Exception):  # a server that cannot be reached has nothing to be told
                interrupt()
            raise

    return handler
