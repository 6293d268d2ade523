"""Redact errors before Dagster logs them: our own messages pass, foreign errors are reduced to their type name."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from privacy_plugin.errors import PrivacyPluginError, SourceError


@contextmanager
def redact_errors(activity: str) -> Iterator[None]:
    """Raise our own errors without their cause, and replace all others by their type name.

    Drivers and IO managers quote data in their messages, and Dagster writes messages, causes and contexts to its
    event log.
    """
    try:
        yield
    except PrivacyPluginError as problem:
        raise as_failure(problem) from None
    except Exception as problem:  # noqa: BLE001  any message may quote the data
        raise as_failure(SourceError(f"{activity} failed: {type(problem).__name__}")) from None


def as_failure(problem: PrivacyPluginError) -> dg.Failure:
    """Return an error that is both a `dg.Failure` and of the type of `problem`.

    Dagster wraps any other error: its pages then begin with "Error occurred while executing op" and a stack trace, and
    the reason comes last. Only a SourceError (reading or writing failed) allows retries: a refusal would stay one.
    """
    kind = type(problem)
    both = type(kind.__name__, (dg.Failure, kind), {"__module__": kind.__module__})
    failure: dg.Failure = both(description=str(problem), allow_retries=isinstance(problem, SourceError))
    return failure


def redacted_message(problem: Exception) -> str:
    """Return the message of one of our errors, and only the type name of any other."""
    return str(problem) if isinstance(problem, PrivacyPluginError) else f"failed with {type(problem).__name__}"
