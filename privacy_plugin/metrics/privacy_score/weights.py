"""Weights of the privacy score: likelihood that an attribute is known, danger when inferred."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from privacy_plugin.errors import ColumnError, ParameterError, unknown_name
from privacy_plugin.frequency.numbers import exact, shown, written
from privacy_plugin.frequency.values import Key, Value, canonical, key, label

# {column: weight}, {(column, value): weight}, {column: {value: weight, "otherwise": weight}}, or a mixture
GivenWeights: TypeAlias = Mapping[Any, Any]

OTHERWISE = "otherwise"

# The weights that a role stands for: (likelihood, danger).
PRESETS: Mapping[str, tuple[Fraction, Fraction]] = {
    "quasi_identifier": (Fraction(1), Fraction(0)),  # known, harmless
    "sensitive": (Fraction(0), Fraction(1)),  # unknown, dangerous
}
_WORST = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class ColumnWeights:
    """The weights of one column: those of single values, and of all others (None: by its role)."""

    otherwise: Fraction | None = None
    own: tuple[tuple[Value, Fraction], ...] = field(default=(), repr=False)


def read_weights(what: str, given: GivenWeights | None) -> dict[str, ColumnWeights]:
    """Read weights in any of their forms; raise if one is not between 0 and 1 or is given twice."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"{what} must be a mapping of columns to weights, not {type(given).__name__}")
    otherwise: dict[str, Fraction] = {}
    own: dict[str, list[tuple[Value, Fraction]]] = {}
    for name, value, weight in _entries(what, given):
        number = _weight(what, name, weight)
        if value is _ALL:
            if name in otherwise:
                raise ParameterError(f"{what} gives column {name!r} two weights")
            otherwise[name] = number
        else:
            own.setdefault(name, []).append((canonical(value), number))
    for name, pairs in own.items():
        if len({key(value) for value, _ in pairs}) != len(pairs):
            raise ParameterError(f"{what} gives a value of column {name!r} two weights")
    return {
        name: ColumnWeights(otherwise=otherwise.get(name), own=tuple(own.get(name, ())))
        for name in dict.fromkeys([*otherwise, *own])
    }


def written_weights(given: GivenWeights | None) -> dict[str, Any] | None:
    """Return weights as plain data that is read back the same.

    Plain data has values as text only, so two values with one text, or a value "otherwise", raise: their weights would
    be read back for other values.

    >>> written_weights({"age": 1, ("disease", "flu"): 0.2, ("disease", None): 0})
    {'age': 1, 'disease': {'flu': 0.2, '': 0}}
    """
    if given is None:
        return None
    plain: dict[str, Any] = {}
    for name, weights in read_weights("weights", given).items():
        own = {label(value): written(weight) for value, weight in weights.own}
        if len(own) != len(weights.own) or OTHERWISE in own:
            raise ParameterError(
                f"the weights of column {name!r} by value cannot be written: as text, two values are one, or one is "
                f"{OTHERWISE!r}, which stands for all others"
            )
        rest = None if weights.otherwise is None else written(weights.otherwise)
        plain[name] = own if rest is None else {OTHERWISE: rest, **own} if own else rest
    return plain


def read_roles(given: Mapping[str, str] | None) -> dict[str, str]:
    """Read which preset each column has."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"roles must be a mapping of columns to roles, not {type(given).__name__}")
    for name, role in given.items():
        if role not in PRESETS:
            raise ParameterError(f"column {name!r}: {unknown_name('role', str(role), PRESETS)}")
    return dict(given)


def require_known_columns(what: str, named: Iterable[str], attributes: Sequence[str]) -> None:
    """Raise if weights, roles, bins or hierarchies name columns that are not among the attributes."""
    for name in named:
        if name not in attributes:
            raise ColumnError(unknown_name(f"column in {what}", str(name), attributes))


def preset(role: str | None, position: int) -> Fraction:
    """Return the likelihood (position 0) or danger (1) of a column by its role; without one the worst, 1."""
    return PRESETS[role][position] if role is not None else _WORST


def spread_weights(
    what: str, column: str, values: Sequence[Value], weights: ColumnWeights | None, base: Fraction
) -> list[Fraction]:
    """Return the weight of every value of a column; raise if a weighted value does not occur.

    A value is looked up by itself, else by its text: keys in policies and suites are text.
    """
    if weights is None:
        return [base] * len(values)
    own, absent = _own_weights(what, column, values, weights)
    if absent:
        raise ParameterError(f"{what} weighs {len(absent)} value(s) that column {column!r} does not have")
    rest = base if weights.otherwise is None else weights.otherwise
    return [own.get(position, rest) for position in range(len(values))]


def spread_worst_weights(
    what: str, column: str, values: Sequence[Value], weights: ColumnWeights, base: Fraction
) -> tuple[list[Fraction], int]:
    """Return the weight of every value, and how many weighted values do not occur.

    Such a value may have been suppressed, or be misspelled for one that has no weight of its own: all of those get at
    least its weight.
    """
    own, absent = _own_weights(what, column, values, weights)
    rest = max([base if weights.otherwise is None else weights.otherwise, *absent])
    return [own.get(position, rest) for position in range(len(values))], len(absent)


def _own_weights(
    what: str, column: str, values: Sequence[Value], weights: ColumnWeights
) -> tuple[dict[int, Fraction], list[Fraction]]:
    """Return the weights of single values by position, and those of values that do not occur."""
    by_key = {key(value): position for position, value in enumerate(values)}
    own: dict[int, Fraction] = {}
    absent: list[Fraction] = []
    for value, weight in weights.own:
        position = _position(what, column, value, values, by_key)
        if position is None:
            absent.append(weight)
        elif position in own:
            raise ParameterError(f"{what} gives a value of column {column!r} two weights")
        else:
            own[position] = weight
    return own, absent


class _All:
    """Stands for all values of a column that have no weight of their own."""


_ALL = _All()


def _entries(what: str, given: GivenWeights) -> Iterable[tuple[str, Any, Any]]:
    for name, weight in given.items():
        if isinstance(name, tuple):
            if len(name) != 2 or not isinstance(name[0], str):
                raise ParameterError(f"a key of {what} must be a column or a pair (column, value)")
            yield name[0], name[1], weight
        elif not isinstance(name, str):
            raise ParameterError(f"a key of {what} must be a column or a pair (column, value)")
        elif isinstance(weight, Mapping):
            for value, own in weight.items():
                yield name, _ALL if value == OTHERWISE else value, own
        else:
            yield name, _ALL, weight


def _weight(what: str, column: str, given: Any) -> Fraction:
    weight = exact(given, what=f"the {what} of column {column!r}")
    if not 0 <= weight <= 1:
        raise ParameterError(f"the {what} of column {column!r} must lie between 0 and 1, not {shown(weight)}")
    return weight


def _position(what: str, column: str, value: Value, values: Sequence[Value], by_key: Mapping[Key, int]) -> int | None:
    if key(value) in by_key:
        return by_key[key(value)]
    if not isinstance(value, str):
        return None
    alike = [position for position, other in enumerate(values) if label(other) == value]
    if len(alike) > 1:
        raise ParameterError(
            f"{what} weighs a value of column {column!r} by its text, which {len(alike)} of its values have"
        )
    return alike[0] if alike else None
