"""One form for all Python objects that mean the same: judged as one value, they must not be told apart in a release."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from privacy_plugin.frequency.values import Key, canonical, key

Look = tuple[type, str]

# Types whose equal values look the same; of one of them alone, no two values mean the same.
_ONE_FORM = (str, int, bool, bytes, date, UUID)
_TOLD_BY_LOOK = frozenset({*_ONE_FORM, float, Decimal, datetime})  # others' texts may leave something out


def in_one_form(values: list[Any]) -> list[Any]:
    """Put one of them in the place of all values that mean the same: 39 for 39.0, None where there are several for it.

    >>> in_one_form([39, 39.0, None, float("nan"), "39"])
    [39, 39, None, None, '39']
    """
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) < 2 and kinds.issubset(_ONE_FORM):
        return values
    known: dict[Look, Key] = {}
    meanings: list[Key] = []
    forms: dict[Key, dict[Look, Any]] = {}
    for value in values:
        look = type(value), _looks(value)
        meaning = known.get(look) or key(canonical(value))
        if look[0] in _TOLD_BY_LOOK:
            known[look] = meaning
        forms.setdefault(meaning, {}).setdefault(look, value)
        meanings.append(meaning)
    chosen = {meaning: _chosen(meaning, found) for meaning, found in forms.items()}
    return [chosen[meaning] for meaning in meanings]


def _chosen(meaning: Key, forms: dict[Look, Any]) -> Any:
    """Choose by the forms alone, and not by which row has which; whole numbers first."""
    if len(forms) > 1 and meaning == key(None):
        return None
    look = min(forms, key=lambda form: (form[0] is not int, form[0].__qualname__, form[1]))
    return forms[look]


def _looks(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001  it comes from the class of the value
        return ""
