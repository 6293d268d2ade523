"""What may be told at the door: our own words, and of anybody else's error only its kind."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from privacy_plugin.errors import PrivacyPluginError, SourceError


@contextmanager
def told_without_values(doing: str) -> Iterator[None]:
    """Let our own errors through, cut off from what caused them, and replace all others.

    Drivers and IO managers quote data in their messages, and Dagster writes messages, causes and contexts into its
    event log.
    """
    try:
        yield
    except PrivacyPluginError as problem:
        raise as_failure(problem) from None
    except Exception as problem:  # noqa: BLE001  whatever it is, its text may quote the data
        raise as_failure(SourceError(f"{doing} failed: {type(problem).__name__}")) from None


def as_failure(problem: PrivacyPluginError) -> dg.Failure:
    """Return an error of ours that is also Dagster's own failure, and the same kind of error for whoever catches it.

    Dagster wraps any other error: its pages then begin with "Error occurred while executing op" and its own stack, and
    the reason comes last. Only what failed in reading or writing is worth a retry: a refusal stays one, and after
    retries Dagster would begin with their number.
    """
    kind = type(problem)
    both = type(kind.__name__, (dg.Failure, kind), {"__module__": kind.__module__})
    failure: dg.Failure = both(description=str(problem), allow_retries=isinstance(problem, SourceError))
    return failure


def words_of(problem: Exception) -> str:
    """Say what went wrong without a value of the data."""
    return str(problem) if isinstance(problem, PrivacyPluginError) else f"failed with {type(problem).__name__}"
