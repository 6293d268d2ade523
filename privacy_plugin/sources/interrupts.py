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
            stack.enter_context(_told(number, interrupt, raised))
        try:
            yield
        except Exception:
            if raised:
                raise raised[-1] from None
            raise


@contextmanager
def _told(number: int, interrupt: Callable[[], None], raised: list[BaseException]) -> Iterator[None]:
    before = signal.getsignal(number)
    if not callable(before):  # ignored, or the end of the process: nothing is raised
        yield
        return

    def handler(signal_number: int, frame: Any) -> None:
        try:
            before(signal_number, frame)
        except BaseException as end:
            raised.append(end)
            with suppress(Exception):  # a server that cannot be reached has nothing to be told
                interrupt()
            raise

    signal.signal(number, handler)
    try:
        yield
    finally:
        if signal.getsignal(number) is handler:
            signal.signal(number, before)
