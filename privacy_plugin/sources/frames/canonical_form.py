"""One form for all values that mean the same: judged as one value, they must not be told apart in a release.

Every engine follows the same rule in its own words: NaN is missing, -0.0 is 0.0, a number has no zeros at its end
unless its column says how many, and what has no order (a map, a set) is written in one. Python objects, which may mean
the same in many more ways, are replaced by one of them here.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from privacy_plugin.frequency.values import Key, canonical, key

Look = tuple[type, str]

# Types whose equal values look the same; of one of them alone, no two values mean the same.
_ONE_FORM = frozenset({str, int, bool, bytes, date, UUID})
_TOLD_BY_LOOK = _ONE_FORM | {float, Decimal, datetime}  # others' texts may leave something out


def in_one_form(values: list[Any]) -> list[Any]:
    """Put one of them in the place of all values that mean the same: 39 for 39.0, None where there are several for it.

    >>> in_one_form([39, 39.0, None, float("nan"), "39", -0.0])
    [39, 39, None, None, '39', 0.0]
    """
    plain = set(map(type, values)) & _ONE_FORM
    others = values if len(plain) > 1 else [value for value in values if type(value) not in plain]
    if all(value is None for value in others):
        return values
    if all(canonical(value) is None for value in others):  # which no value of the plain type means
        several = len({_look(value) for value in others}) > 1
        return [value if type(value) in plain else None for value in values] if several else values
    known: dict[Look, Key] = {}
    meanings: list[Key] = []
    forms: dict[Key, dict[Look, Any]] = {}
    for value in values:
        look = _look(value)
        meaning = known.get(look) or key(canonical(value))
        if _is_told_by_look(look[0]):
            known[look] = meaning
        forms.setdefault(meaning, {}).setdefault(look, value)
        meanings.append(meaning)
    chosen = {meaning: _chosen(meaning, found) for meaning, found in forms.items()}
    return [chosen[meaning] for meaning in meanings]


def _chosen(meaning: Key, forms: dict[Look, Any]) -> Any:
    """Choose by the forms alone, and not by which row has which; whole numbers first."""
    if len(forms) > 1 and meaning == key(None):
        return None
    value = forms[min(forms, key=lambda form: (form[0] is not int, form[0].__qualname__, form[1]))]
    return value + 0.0 if type(value) is float else value


def _look(value: Any) -> Look:
    try:
        return type(value), repr(value)
    except Exception:  # noqa: BLE001  it comes from the class of the value
        return type(value), ""


def _is_told_by_look(kind: type) -> bool:
    return kind in _TOLD_BY_LOOK or (kind.__name__ == "Timestamp" and kind.__module__.startswith("pandas"))
