"""Readers of the options that a policy sets for a method: one reader per option, whichever method takes it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.generalization.losses import LOSSES
from privacy_plugin.generalization.wishes import read_purpose

OCCURRING = "occurring"
DOMAINS = (
    "which values the column may have, known without looking at the rows: {column: [value, ...]}; or that the values "
    f"that occur are public and may appear in the release: {{column: {OCCURRING}}}"
)


def read_option(name: str, value: Any, option: inspect.Parameter, columns: Sequence[str]) -> Any:
    """Return the checked value of an option; `columns` are the released ones."""
    if value is None and option.default is None:
        return None
    reader = _ladder if option.annotation == (Sequence[int] | None) else _READERS.get(name)
    if reader is not None:
        return reader(name, value, columns)
    choices = _choices(option.annotation)
    if choices and value not in choices:
        raise ParameterError(unknown_name(name, str(value), [str(choice) for choice in choices]))
    if not isinstance(value, str | int | float):
        raise ParameterError(f"{name} must be a plain value, not {type(value).__name__}")
    return value


def _choices(annotation: Any) -> list[Any]:
    """Return the values of a Literal, also inside a union."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _positive(name: str, value: Any, _: Sequence[str]) -> Any:
    if exact(value, what=name) <= 0:
        raise ParameterError(f"{name} must be positive, not {value!r}")
    return value


def _epsilon(name: str, value: Any, columns: Sequence[str]) -> Any:
    """Return a positive number, or {column: positive number}; methods with one epsilon refuse the latter."""
    return _weights(name, value, columns) if isinstance(value, Mapping) else _positive(name, value, columns)


def _flag(name: str, value: Any, _: Sequence[str]) -> Any:
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be true or false, not {value!r}")
    return value


def _share(name: str, value: Any, _: Sequence[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must lie between 0 and 1, not {value!r}")
    return value


def _inner_share(name: str, value: Any, _: Sequence[str]) -> Any:
    if not 0 < exact(value, what=name) < 1:
        raise ParameterError(f"{name} must lie between 0 and 1, both excluded, not {value!r}")
    return value


def _support(name: str, value: Any, _: Sequence[str]) -> Any:
    if not 0 < exact(value, what=name) <= 1:
        raise ParameterError(f"{name} must be a share of the rows, above 0 and at most 1, not {value!r}")
    return value


def _count(name: str, value: Any, _: Sequence[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


def _natural(name: str, value: Any, _: Sequence[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParameterError(f"{name} must be a whole number of at least 0, not {value!r}")
    return value


def _disclosure(name: str, value: Any, _: Sequence[str]) -> Any:
    if not 0 < exact(value, what=name) <= 1:
        raise ParameterError(f"{name} must lie above 0 and be at most 1, not {value!r}")
    return value


def _loss(name: str, value: Any, _: Sequence[str]) -> Any:
    if not isinstance(value, str) or value not in LOSSES:
        raise ParameterError(unknown_name(name, str(value), LOSSES))
    return value


def _whole(name: str, value: Any, _: Sequence[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        raise ParameterError(f"{name} must be a whole number of at least 2, not {value!r}")
    return value


def _ladder(name: str, value: Any, columns: Sequence[str]) -> Any:
    """Return class sizes to try in turn."""
    if not isinstance(value, list | tuple) or not value:
        raise ParameterError(f"{name} must be a list of class sizes to try in turn, such as [5, 10, 25, 50]")
    return [_whole(f"a class size in {name}", size, columns) for size in value]


def _column(name: str, value: Any, columns: Sequence[str]) -> Any:
    if value not in columns:
        raise ParameterError(unknown_name(f"column in {name}", str(value), columns))
    return value


def _domains(name: str, value: Any, columns: Sequence[str]) -> Any:
    """Return the declared domains; a column with `occurring` takes the values that occur."""
    if value == OCCURRING:
        return {}
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} must list the values of columns: {{column: [value, ...]}}")
    for column, values in value.items():
        _column(name, column, columns)
        if values != OCCURRING and (not isinstance(values, list | tuple) or not values):
            raise ParameterError(f"{name} of column {column!r} must be a list of its values, or {OCCURRING}")
    lacking = [column for column in columns if column not in value]
    if lacking:
        raise ParameterError(f"{name} must also state for {', '.join(map(repr, lacking))} {DOMAINS}")
    return {column: list(values) for column, values in value.items() if values != OCCURRING}


def _itemsets(name: str, value: Any, columns: Sequence[str]) -> Any:
    """Return itemsets, a list of {column: value}."""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(one, Mapping) and one for one in value):
        raise ParameterError(f"{name} must be a list of itemsets: [{{column: value, ...}}, ...]")
    for itemset in value:
        for column, item in itemset.items():
            _column(name, column, columns)
            if item is None or isinstance(item, Mapping | list | tuple):
                raise ParameterError(f"{name} must give column {column!r} one value, which is not missing")
    return [dict(itemset) for itemset in value]


def _interpolation(name: str, value: Any, columns: Sequence[str]) -> Any:
    if value == "levels":
        return value
    if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[1], int):
        raise ParameterError(f"{name} must be levels, or a pair of a column and a level")
    return _column(name, value[0], columns), value[1]


def _weights(name: str, value: Any, columns: Sequence[str]) -> Any:
    """Return weights of columns, {column: positive number}."""
    return {_column(name, column, columns): _positive(name, weight, columns) for column, weight in _items(name, value)}


def _levels(name: str, value: Any, columns: Sequence[str]) -> Any:
    """Return levels of columns, {column: whole number}."""
    for column, level in _items(name, value):
        _column(name, column, columns)
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise ParameterError(f"{name} of column {column!r} must be a level: a whole number of at least 0")
    return dict(value)


def _purpose(name: str, value: Any, columns: Sequence[str]) -> Any:
    return read_purpose(value, columns, what=name)


def _items(name: str, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} must be a mapping from columns to numbers, got {type(value).__name__}")
    return list(value.items())


def _worst(name: str, value: Any, _: Sequence[str]) -> Any:
    if value != {"worst": "privacy_score"}:
        raise ParameterError(f"{name} must be written as {name}: {{worst: privacy_score}}")
    return dict(value)


_READERS: Mapping[str, Callable[[str, Any, Sequence[str]], Any]] = {
    "max_suppression": _share,
    "max_false_share": _share,
    "max_size": _whole,
    "suppress": _worst,
    "loss": _loss,
    "k": _whole,
    "beta": _inner_share,
    "epsilon": _epsilon,
    "delta": _inner_share,
    "penalty": _positive,
    "given": _column,
    "domains": _domains,
    "interpolation": _interpolation,
    "itemsets": _itemsets,
    "knowledge": _natural,
    "below": _disclosure,
    "neighbours": _whole,
    "generalize": _flag,
    "support": _support,
    "number": _count,
    "longest": _count,
    "weights": _weights,
    "keep": _levels,
    "useful_for": _purpose,
}
