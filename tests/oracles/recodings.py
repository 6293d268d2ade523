"""Recode rows one by one, from the definition: new values, then suppression by combinations of new values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.oracles.frequencies import meaning


def recode_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    keep: Sequence[str],
    mappings: Mapping[str, Sequence[tuple[Any, Any]]],
    suppressed_columns: Sequence[str] = (),
    suppressed: Iterable[Sequence[Any]] = (),
    mask: bool = False,
) -> list[tuple[Any, ...]]:
    """The rows of the recoded table; a mapping is a list of (old, new) pairs."""
    lookup = {column: {meaning(old): new for old, new in pairs} for column, pairs in mappings.items()}
    hidden = {tuple(map(meaning, combination)) for combination in suppressed}
    result = []
    for row in rows:
        new = {}
        for column, value in zip(columns, row, strict=True):
            new[column] = lookup[column][meaning(value)] if column in lookup else value
        hit = bool(hidden) and tuple(meaning(new[column]) for column in suppressed_columns) in hidden
        if hit and not mask:
            continue
        if hit:
            new.update(dict.fromkeys(suppressed_columns, "*"))
        result.append(tuple(new[column] for column in keep))
    return result
