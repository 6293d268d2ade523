"""The command line: the entry point of the process."""

import gc
import io
import os
import sys

from privacy_plugin.cli.signals import default_interrupt, handle_termination


def main() -> None:
    """Run the command line; replace characters that the terminal's encoding lacks instead of failing."""
    _start_quickly()
    with default_interrupt():
        from privacy_plugin.cli.app import app
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    handle_termination()
    app()


def _start_quickly() -> None:
    """Spend less on the start: a third of the time of importing is the garbage collector and idle threads of BLAS.

    Hardly any object of an imported module is garbage, and the command line multiplies no large matrices.
    """
    gc.set_threshold(200_000, 20, 20)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
