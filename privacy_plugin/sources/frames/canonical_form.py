"""The canonical form of Python objects in a release: values that are counted as one must look like one.

Every engine follows the same rule: NaN is missing, -0.0 is 0.0, a number has no trailing zeros unless its column
declares a scale, and maps and sets are written in a fixed order. Python objects may mean the same in more ways (39 and
39.0, None and NaN); this module replaces all of them by one.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from privacy_plugin.frequency.values import Key, canonical, key

Form = tuple[type, str]

# Types whose equal values have equal representations: within one of them, no two different values mean the same.
_PLAIN_TYPES = frozenset({str, int, bool, bytes, date, UUID})
_EXACT_TYPES = _PLAIN_TYPES | {float, Decimal, datetime}  # the repr of other types may be incomplete


def to_canonical_form(values: list[Any]) -> list[Any]:
    """Replace values that mean the same by one of them: 39.0 by 39, several kinds of missing values by None.

    >>> to_canonical_form([39, 39.0, None, float("nan"), "39", -0.0])
    [39, 39, None, None, '39', 0.0]
    """
    plain = set(map(type, values)) & _PLAIN_TYPES
    others = values if len(plain) > 1 else [value for value in values if type(value) not in plain]
    if all(value is None for value in others):
        return values
    if all(canonical(value) is None for value in others):  # no value of a plain type is missing
        several = len({_form_of(value) for value in others}) > 1
        return [value if type(value) in plain else None for value in values] if several else values
    known: dict[Form, Key] = {}
    meanings: list[Key] = []
    forms: dict[Key, dict[Form, Any]] = {}
    for value in values:
        form = _form_of(value)
        meaning = known.get(form) or key(canonical(value))
        if _has_exact_repr(form[0]):
            known[form] = meaning
        forms.setdefault(meaning, {}).setdefault(form, value)
        meanings.append(meaning)
    chosen = {meaning: _choose_form(meaning, found) for meaning, found in forms.items()}
    return [chosen[meaning] for meaning in meanings]


def _choose_form(meaning: Key, forms: dict[Form, Any]) -> Any:
    """Choose by the forms alone, not by the rows that have them; integers first."""
    if len(forms) > 1 and meaning == key(None):
        return None
    value = forms[min(forms, key=lambda form: (form[0] is not int, form[0].__qualname__, form[1]))]
    return value + 0.0 if type(value) is float else value


def _form_of(value: Any) -> Form:
    try:
        return type(value), repr(value)
    except Exception:  # noqa: BLE001  the class of the value may raise anything
        return type(value), ""


def _has_exact_repr(kind: type) -> bool:
    return kind in _EXACT_TYPES or (kind.__name__ == "Timestamp" and kind.__module__.startswith("pandas"))
