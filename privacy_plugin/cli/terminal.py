"""Where a command speaks: people read the terminal, programs read JSON, and errors never quote the data."""

import functools
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec

import typer
from rich.console import Console
from rich.text import Text

from privacy_plugin.errors import InfeasibleError, PrivacyPluginError, describe_error

PASSED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
TRACEBACK_VARIABLE = "PRIVACY_PLUGIN_TRACEBACK"

Parameters = ParamSpec("Parameters")


class Terminal:
    """Standard output for the result, standard error for everything else."""

    def __init__(self, *, as_json: bool = False) -> None:
        """With `as_json` standard output is kept for one JSON document."""
        self.as_json = as_json
        self.notes = Console(stderr=True, highlight=False)
        self.people = self.notes if as_json else Console(highlight=False)

    def result(self, document: dict[str, Any]) -> None:
        """Print the JSON document, where it was asked for."""
        if self.as_json:
            typer.echo(json.dumps(_finite(document), allow_nan=False, indent=2))

    def say(self, words: str, *, style: str = "") -> None:
        """Print a line for people as it is: names may hold anything, brackets included."""
        self.people.print(Text(words, style=style), soft_wrap=True)

    def note(self, words: str, *, style: str = "dim") -> None:
        """Print a line beside the result."""
        self.notes.print(Text(words, style=style), soft_wrap=True)

    @contextmanager
    def working(self, words: str) -> Iterator[Callable[[str], None]]:
        """Show that something takes its time; the function that is handed over changes the words."""
        with self.notes.status(Text(words)) as status:
            yield lambda changed: status.update(Text(changed))


def command(function: Callable[Parameters, int]) -> Callable[Parameters, None]:
    """Turn what a command returns or raises into the exit codes 0, 1 and 2, without a traceback.

    An unexpected error is named by its kind, and its file if it has one, because its text may quote the data; with
    PRIVACY_PLUGIN_TRACEBACK set it is raised as it is.
    """

    @functools.wraps(function)
    def told(*arguments: Parameters.args, **options: Parameters.kwargs) -> None:
        as_json = bool(options.get("as_json", False))
        try:
            code = function(*arguments, **options)
        except InfeasibleError as problem:
            code = _complain(problem, str(problem), FAILED, as_json=as_json)
        except PrivacyPluginError as problem:
            code = _complain(problem, str(problem), BAD_INPUT, as_json=as_json)
        except KeyboardInterrupt:
            Terminal().note("interrupted")
            code = INTERRUPTED
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as problem:
            if os.environ.get(TRACEBACK_VARIABLE):
                raise
            code = _complain(problem, _unexpected(problem), BAD_INPUT, as_json=as_json)
        raise typer.Exit(code)

    return told


def _unexpected(problem: Exception) -> str:
    """Name an error by its kind, and the file that it is about."""
    if isinstance(problem, OSError) and isinstance(problem.filename, str):
        return f"cannot read or write {problem.filename!r}: {describe_error(problem)}"
    return f"unexpected {type(problem).__name__}; set {TRACEBACK_VARIABLE}=1 to see where (may show data)"


def _complain(problem: Exception, words: str, code: int, *, as_json: bool) -> int:
    terminal = Terminal(as_json=as_json)
    terminal.note(f"error: {words}", style="bold red")
    terminal.result({"error": {"kind": type(problem).__name__, "message": words}, "passed": False})
    return code


def _finite(value: Any) -> Any:
    """Write what JSON has no number for as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
