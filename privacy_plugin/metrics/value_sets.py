"""Sensitive values that are sets: who has a value, and the fewest values that cover everybody."""

from collections.abc import Iterable, Sequence

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.people_table import Members, PeopleTable
from privacy_plugin.frequency.table import FrequencyTable

_STEPS = 20_000  # of the search for a cover of one size, in one class


def require_separator(separator: str | None = None) -> None:
    """Raise unless the separator of the members of a set is text, or None."""
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise ParameterError(f"separator must be a text that separates members, got {type(separator).__name__}")


def members_of(table: FrequencyTable, sensitive: str, separator: str | None) -> Members | None:
    """Return the members of every value of the sensitive column as numbers; None if each value stands for itself."""
    if isinstance(table, PeopleTable):
        if separator is not None:
            raise ParameterError("separator is for tables with one row a person; leave out unit or separator")
        return table.members if table.people_with_several_values else None
    if separator is None:
        return None
    numbers: dict[object, int] = {}
    return tuple(
        tuple(sorted({numbers.setdefault(part, len(numbers)) for part in _parts(value, separator)}))
        for value in table.dictionary(sensitive)
    )


def _parts(value: object, separator: str) -> Sequence[object]:
    return value.split(separator) if isinstance(value, str) else [value]


def smallest_cover(sets: Iterable[Iterable[int]]) -> tuple[int, bool]:
    """Return the fewest values such that every set has one of them, and whether that number is exact.

    A minimum hitting set: covers of 1, 2, ... values are searched, branching on the members of a set that is not
    covered yet. If a size takes too many steps, that size is returned: no smaller cover exists, so it is a lower bound.

    >>> smallest_cover([{1, 2}, {2, 3}, {3, 4}])
    (2, True)
    """
    distinct = sorted({frozenset(each) for each in sets}, key=len)
    minimal: list[frozenset[int]] = []
    for each in distinct:  # a set with a subset among the others is covered with it
        if not any(other <= each for other in minimal if len(other) > 1) and not (
            len(each) > 1 and any(len(other) == 1 and other <= each for other in minimal)
        ):
            minimal.append(each)
    forced = sum(1 for each in minimal if len(each) == 1)
    open_sets = [each for each in minimal if len(each) > 1]
    size = 0
    while True:
        steps = [_STEPS]
        found = _has_cover(open_sets, size, steps)
        if found is None:
            return forced + size, False
        if found:
            return forced + size, True
        size += 1


def _has_cover(sets: list[frozenset[int]], size: int, steps: list[int]) -> bool | None:
    """Return whether `size` values cover all sets; None after too many steps."""
    if not sets:
        return True
    if size == 0:
        return False
    steps[0] -= 1
    if steps[0] < 0:
        return None
    for value in min(sets, key=len):
        found = _has_cover([each for each in sets if value not in each], size - 1, steps)
        if found is not False:
            return found
    return False


def several_values(metric: str, people: int, sensitive: str) -> str:
    """Return the problem of a metric that is defined for one value a person."""
    return (
        f"{metric} is defined for one value a person, but {people:,} people have several values of {sensitive!r} in "
        "their class; use attribute_risk or l_diversity (distinct), or make one row a person with people: in the policy"
    )
