"""The command line: the entry point of the process."""

import io
import sys

from privacy_plugin.cli.signals import default_interrupt, handle_termination


def main() -> None:
    """Run the command line; replace characters that the terminal's encoding lacks instead of failing."""
    with default_interrupt():
        from privacy_plugin.cli.app import app
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    handle_termination()
    app()
