"""Everything this package raises, under one root.

A message says what was wrong, what was given and what is valid. It never carries a value of the data:
column names, counts and limits only.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# A file without names shows the values of its first row in their place, so those are not repeated.
NO_NAMES = "does its first line name the columns?"


class PrivacyPluginError(Exception):
    """The root of every error this package raises."""


class ParameterError(PrivacyPluginError):
    """An argument has the wrong type or lies outside its range."""


class ColumnError(PrivacyPluginError):
    """A column is missing, named twice, or not fit for its role."""


class SourceError(PrivacyPluginError):
    """The data cannot be read, or is of a kind no source understands."""


class EmptyTableError(SourceError):
    """There is nothing to judge: a table without rows is never called private."""


class HierarchyError(PrivacyPluginError):
    """A generalization hierarchy is malformed or does not cover the data."""


class PolicyError(PrivacyPluginError):
    """A policy is incomplete, contradictory or names what does not exist."""


class CertificateError(PrivacyPluginError):
    """A release is not covered by a valid certificate."""


class BudgetError(PrivacyPluginError):
    """A randomized release would spend more privacy budget than there is."""


class InfeasibleError(PrivacyPluginError):
    """No allowed transformation meets the requirements."""


class TooLargeError(PrivacyPluginError):
    """The exact computation would exceed a stated limit of time or memory."""


def kind_of(problem: BaseException) -> str:
    """Name an error without its text, which may quote the data; the operating system's own words for files do not.

    >>> kind_of(FileNotFoundError(2, "anything", "anything")), kind_of(KeyError("a value"))
    ('No such file or directory', 'KeyError')
    """
    if isinstance(problem, UnicodeError):
        return "its text is not UTF-8; convert it first (iconv -f ITS_ENCODING -t UTF-8)"
    if isinstance(problem, OSError) and problem.errno:
        return os.strerror(problem.errno)
    return type(problem).__name__


def unknown_name(kind: str, given: str, valid: Iterable[str]) -> str:
    """Say that a name is unknown, with the nearest valid one as a hint.

    >>> unknown_name("metric", "k_anonimity", ["k_anonymity", "l_diversity"])
    "unknown metric 'k_anonimity'; did you mean 'k_anonymity'? valid: k_anonymity, l_diversity"
    """
    names = sorted(valid)
    near = nearest(given, names)
    hint = f"; did you mean {near!r}?" if near else ";"
    return f"unknown {kind} {given!r}{hint} valid: {', '.join(names) or 'none'}"


def nearest(given: str, valid: Iterable[str]) -> str | None:
    """Return the valid name that was probably meant, whatever its case.

    >>> nearest("AGE", ["zip", "age"])
    'age'
    """
    by_folded = {name.casefold(): name for name in valid}
    near = get_close_matches(given.casefold(), by_folded, n=1)
    return by_folded[near[0]] if near else None


def require_columns(wanted: Sequence[str], present: Sequence[str], *, role: str = "columns") -> None:
    """Refuse an empty list, a repeated name or a name the table does not have, before any query runs.

    SQLite reads an unknown quoted name as a string constant: without this check a misspelt
    quasi-identifier would look perfectly private.
    """
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
        raise ColumnError(f"{role} must be a list of column names, not {type(wanted).__name__}")
    for name in wanted:
        if not isinstance(name, str):
            raise ColumnError(f"{role} must be a list of column names, which are text; {type(name).__name__} is none")
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
    """Refuse whatever is not the name of one column that the table has."""
    if not isinstance(wanted, str):
        raise ColumnError(f"{role} must be the name of one column, not {type(wanted).__name__}")
    require_columns([wanted], present, role=role)


def _unknown_column(role: str, name: str, wanted: Sequence[str], present: Sequence[str]) -> str:
    """List the columns of a table that is recognized by one of them; else they may be the values of a first row."""
    if any(other in present for other in wanted) or nearest(name, present):
        return unknown_name(f"column in {role}", name, present)
    return f"unknown column in {role} {name!r}; the table has none like it: {NO_NAMES}"
