"""The output of a command: text for people, JSON for programs, exit codes, and errors that never quote the data."""

import functools
import inspect
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Annotated, Any, ParamSpec

import typer
from rich.console import Console
from rich.text import Text

from privacy_plugin.errors import InfeasibleError, PrivacyPluginError, describe_error

JSON_VERSION = 1  # of what --json prints; a key that is removed or changes its meaning raises it
PASSED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
TRACEBACK_VARIABLE = "PRIVACY_PLUGIN_TRACEBACK"

Parameters = ParamSpec("Parameters")


class Terminal:
    """Standard output for the result, standard error for everything else.

    With `as_json`, standard output receives one JSON document and nothing else.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.notes = Console(stderr=True, highlight=False)
        self.console = self.notes if as_json else Console(highlight=False)

    def print_json(self, document: dict[str, Any]) -> None:
        """Print the JSON document with the version of its form if --json was passed."""
        if self.as_json:
            typer.echo(json.dumps(_finite({"version": JSON_VERSION, **document}), allow_nan=False, indent=2))

    def print_line(self, line: str, *, style: str = "") -> None:
        """Print a line of the result without markup: names may contain brackets."""
        self.console.print(Text(line, style=style), soft_wrap=True)

    def print_note(self, line: str, *, style: str = "dim") -> None:
        """Print a line to standard error."""
        self.notes.print(Text(line, style=style), soft_wrap=True)

    @contextmanager
    def show_progress(self, message: str) -> Iterator[Callable[[str], None]]:
        """Show a spinner with a message; yield a function that changes the message."""
        with self.notes.status(Text(message)) as status:
            yield lambda changed: status.update(Text(changed))


FILE_OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("FILE_OPTIONS", default=MappingProxyType({}))
_OPTIONS_OF_FILES = {
    "delimiter": "The separator of .csv and .tsv input files, one character. Default: comma, semicolon or tab.",
    "encoding": "The encoding of text input files, such as cp1252 or utf-16. Default: utf-8.",
    "sheet": "The sheet of an Excel input file. Default: the only one.",
}


def _add_file_options(run: Callable[..., None]) -> None:
    """Give every command that reads DATA the options of its files."""
    signature = inspect.signature(run)
    if "data" not in signature.parameters:
        return
    kinds = {
        name: Annotated[str | None, typer.Option(help=text, show_default=False)]
        for name, text in _OPTIONS_OF_FILES.items()
    }
    added = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=k) for n, k in kinds.items()]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    run.__annotations__ = {**run.__annotations__, **kinds}


def command(function: Callable[Parameters, int]) -> Callable[Parameters, None]:
    """Turn the return value or the exception of a command into exit code 0, 1 or 2, without a traceback.

    An unexpected error is reported by its type, and its file name if it has one, because its message may quote the
    data. With PRIVACY_PLUGIN_TRACEBACK set it is raised unchanged.
    """

    @functools.wraps(function)
    def run(*arguments: Parameters.args, **options: Parameters.kwargs) -> None:
        as_json = bool(options.get("as_json", False))
        of_files = {name: options.pop(name, None) for name in _OPTIONS_OF_FILES}
        FILE_OPTIONS.set({name: str(value) for name, value in of_files.items() if value is not None})
        try:
            code = function(*arguments, **options)
        except InfeasibleError as problem:
            code = _print_error(problem, str(problem), FAILED, as_json=as_json)
        except PrivacyPluginError as problem:
            code = _print_error(problem, str(problem), BAD_INPUT, as_json=as_json)
        except KeyboardInterrupt:
            Terminal().print_note("interrupted")
            code = INTERRUPTED
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as problem:
            if os.environ.get(TRACEBACK_VARIABLE):
                raise
            code = _print_error(problem, _redact(problem), BAD_INPUT, as_json=as_json)
        raise typer.Exit(code)

    _add_file_options(run)
    return run


def _redact(problem: Exception) -> str:
    """Return the type of an error and the file it is about; its message may quote the data."""
    if isinstance(problem, OSError) and isinstance(problem.filename, str):
        return f"cannot read or write {problem.filename!r}: {describe_error(problem)}"
    return f"unexpected {type(problem).__name__}; set {TRACEBACK_VARIABLE}=1 to see where (may show data)"


def _print_error(problem: Exception, message: str, code: int, *, as_json: bool) -> int:
    terminal = Terminal(as_json=as_json)
    terminal.print_note(f"error: {message}", style="bold red")
    terminal.print_json({"error": {"kind": type(problem).__name__, "message": message}, "passed": False})
    return code


def _finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON cannot write, by text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
