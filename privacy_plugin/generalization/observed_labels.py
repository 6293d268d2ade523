"""Labels outside the hierarchies: a class described by what occurs in it, from - to or a list of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import as_number
from privacy_plugin.frequency.values import Key, Value, key, label

_OR_MISSING = " or missing"


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What occurs in a class in one column: numbers between two ends, or the values that are listed."""

    values: frozenset[Key] = frozenset()
    ends: tuple[str, str] | None = None
    missing: bool = False

    def covers(self, value: Value) -> bool:
        """Tell whether a row with this value may have the label."""
        if value is None:
            return self.missing
        if self.ends is None:
            return key(value) in self.values
        number, low, high = as_number(value), as_number(self.ends[0]), as_number(self.ends[1])
        return number is not None and low is not None and high is not None and low <= number <= high

    def texts(self) -> tuple[str | None, ...]:
        """Return the ways in which a class of these values is written."""
        missing = _OR_MISSING if self.missing else ""
        if self.ends is not None:
            low, high = self.ends
            return f"{low}-{high}{missing}", f"{low} to {high}{missing}"
        listed = sorted({text for _, text in self.values})
        if not listed:
            return (None,)
        return ((listed[0] if len(listed) == 1 else "{" + ", ".join(listed) + "}") + missing,)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `read_observed` reads."""
        if self.ends is not None:
            return {"from": self.ends[0], "to": self.ends[1], "missing": self.missing}
        return {"values": sorted([kind, text] for kind, text in self.values), "missing": self.missing}


@dataclass(frozen=True, kw_only=True)
class ObservedColumn:
    """How the classes of a column are described: as numbers or as lists, and what a description loses."""

    numeric: bool
    width: Fraction
    """Largest minus smallest number of the domain."""
    leaves: int

    def describe(self, values: Sequence[Value]) -> tuple[str | None, Observed, float]:
        """Return the text of a class's values, what it covers, and its loss.

        Numbers lose (largest - smallest) / (the same of the domain), lists (values - 1) / (all values - 1).
        """
        present = [value for value in values if value is not None]
        missing = len(present) < len(values)
        if not present:
            return None, Observed(missing=True), 0.0
        extra = 1 / max(self.leaves - 1, 1) if missing else 0.0
        if self.numeric and len(present) > 1:
            ordered = sorted(present, key=_number)
            low, high = label(ordered[0]), label(ordered[-1])
            text = f"{low}-{high}" if _number(ordered[0]) >= 0 else f"{low} to {high}"
            loss = float((_number(ordered[-1]) - _number(ordered[0])) / self.width) if self.width else 0.0
            text += _OR_MISSING if missing else ""
            return text, Observed(ends=(low, high), missing=missing), min(loss + extra, 1.0)
        texts = sorted({label(value) for value in present})
        text = texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"
        loss = min((len(present) - 1) / max(self.leaves - 1, 1) + extra, 1.0)
        text += _OR_MISSING if missing else ""
        return text, Observed(values=frozenset(map(key, present)), missing=missing), loss


def observed_column(values: Sequence[Value], hierarchy: Hierarchy) -> ObservedColumn:
    """Describe a column by the values of its data and those that its hierarchy lists."""
    domain = {key(value): value for value in (*getattr(hierarchy, "values", ()), *values)}
    leaves = len({label(value) for value in domain.values()})
    numbers = [_plain_number(value) for value in values if value is not None]
    if any(number is None for number in numbers) or not numbers:
        return ObservedColumn(numeric=False, width=Fraction(0), leaves=leaves)
    known = [number for value in domain.values() if value is not None and (number := as_number(value)) is not None]
    return ObservedColumn(numeric=True, width=max(known) - min(known), leaves=leaves)


def _plain_number(value: Value) -> Fraction | None:
    """Read a number; text with a leading zero is a code."""
    if isinstance(value, str) and len(value) > 1 and value.startswith("0") and not value.startswith("0."):
        return None
    return as_number(value)


def _number(value: Value) -> Fraction:
    found = as_number(value)
    assert found is not None  # the column was found to be numeric
    return found
