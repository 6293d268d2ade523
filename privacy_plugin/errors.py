"""All exceptions of this package, with one root.

A message states what is wrong, what was given, what is valid and what to do. It contains column names, counts and
limits, and never a value of the data.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# The names of a file without header are values of its first row, so messages must not repeat them.
NO_NAMES = "does its first line name the columns?"


class PrivacyPluginError(Exception):
    """The root of every error this package raises."""


class ParameterError(PrivacyPluginError):
    """An argument has the wrong type or lies outside its range."""


class ColumnError(PrivacyPluginError):
    """A column is missing, repeated, or unfit for its role."""


class SourceError(PrivacyPluginError):
    """The data cannot be read, or no source supports its type."""


class EmptyTableError(SourceError):
    """The table has no rows; an empty table is never judged private."""


class HierarchyError(PrivacyPluginError):
    """A generalization hierarchy is malformed or does not cover the data."""


class PolicyError(PrivacyPluginError):
    """A policy is incomplete, contradictory or names something that does not exist."""


class CertificateError(PrivacyPluginError):
    """A release is not covered by a valid certificate."""


class BudgetError(PrivacyPluginError):
    """A randomized release would exceed the privacy budget."""


class HistoryError(PrivacyPluginError):
    """The release history cannot be read or written, or lacks what a requirement needs."""


class InfeasibleError(PrivacyPluginError):
    """No allowed transformation meets the requirements."""


class TooLargeError(PrivacyPluginError):
    """The exact computation would exceed a limit of time or memory."""


class ObjectStoreError(SourceError, OSError):
    """An object store cannot be used; its text is a sentence of ours, without requests or credentials."""

    def __str__(self) -> str:
        return f"cannot use {str(self.filename)!r}: {self.strerror}"


def describe_error(problem: BaseException) -> str:
    """Describe an error by its class or the operating system's text; its own message may quote data.

    >>> describe_error(FileNotFoundError(2, "anything", "anything")), describe_error(KeyError("a value"))
    ('No such file or directory', 'KeyError')
    """
    if isinstance(problem, UnicodeError):
        return "the text is not UTF-8; convert it first (iconv -f ENCODING -t UTF-8), or name its encoding"
    if isinstance(problem, ObjectStoreError):
        return str(problem.strerror)
    if isinstance(problem, OSError) and problem.errno:
        return os.strerror(problem.errno)
    return type(problem).__name__


def unknown_name(kind: str, given: str, valid: Iterable[str]) -> str:
    """Return a message that a name is unknown, with the nearest valid name as a hint.

    >>> unknown_name("metric", "k_anonimity", ["k_anonymity", "l_diversity"])
    "unknown metric 'k_anonimity'; did you mean 'k_anonymity'? valid: k_anonymity, l_diversity"
    """
    names = sorted(valid)
    near = nearest(given, names)
    hint = f"; did you mean {near!r}?" if near else ";"
    return f"unknown {kind} {given!r}{hint} valid: {', '.join(names) or 'none'}"


def nearest(given: str, valid: Iterable[str]) -> str | None:
    """Return the valid name that is nearest, ignoring case; None if none is near.

    >>> nearest("AGE", ["zip", "age"])
    'age'
    """
    by_folded = {name.casefold(): name for name in valid}
    near = get_close_matches(given.casefold(), by_folded, n=1)
    return by_folded[near[0]] if near else None


def require_columns(wanted: Sequence[str], present: Sequence[str], *, role: str = "columns") -> None:
    """Raise for an empty list, a repeated name or an unknown column, before any query runs.

    SQLite reads an unknown quoted name as a text constant: without this check a misspelt quasi-identifier would
    have one value and a high k.
    """
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
        raise ColumnError(f"{role} must be a list of column names, got {type(wanted).__name__}")
    for name in wanted:
        if not isinstance(name, str):
            raise ColumnError(f"{role} must be a list of strings, got {type(name).__name__}")
    if not wanted:
        raise ColumnError(f"{role} is empty; name at least one column")
    repeated = sorted(name for name, times in Counter(wanted).items() if times > 1)
    if repeated:
        raise ColumnError(f"{role} names {', '.join(map(repr, repeated))} more than once")
    known = frozenset(present)
    for name in wanted:
        if name not in known:
            raise ColumnError(_unknown_column(role, name, wanted, present))


def require_column(wanted: str, present: Sequence[str], *, role: str) -> None:
    """Raise unless `wanted` is the name of one column of the table."""
    if not isinstance(wanted, str):
        raise ColumnError(f"{role} must be the name of one column, got {type(wanted).__name__}")
    require_columns([wanted], present, role=role)


def _unknown_column(role: str, name: str, wanted: Sequence[str], present: Sequence[str]) -> str:
    """List the columns only if one of them matches; otherwise they may be values of a file without header."""
    if any(other in present for other in wanted) or nearest(name, present):
        return unknown_name(f"column in {role}", name, present)
    return f"unknown column in {role} {name!r}, and no similar name in the table: {NO_NAMES}"
