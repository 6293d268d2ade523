"""The command line as a process: how it begins."""

import io
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    """Run the command line; a character that the terminal has no code for is no reason to end a command."""
    with _ended_by_an_interrupt():
        from privacy_plugin.cli.app import app
        from privacy_plugin.cli.signals import end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)  # else it would leave unjudged rows on disk, and a database at work
    app()


@contextmanager
def _ended_by_an_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process as it is: while it loads nothing needs an orderly end, and nobody a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:  # whoever started the process wants it otherwise
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
