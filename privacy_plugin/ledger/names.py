"""Names of datasets that a person reads as one: they differ only in case, spaces or Unicode form."""

import unicodedata
from collections.abc import Iterable

from privacy_plugin.errors import BudgetError


def reading(name: str) -> str:
    """Return what a person reads: compatibility form, without case, spaces and invisible characters.

    >>> reading("Hospital  Visits") == reading("hospitalvisits\u200b") == reading("\uff28ospital visits")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(char for char in folded if not char.isspace() and unicodedata.category(char) not in ("Cf", "Cc"))


def similar_name(name: str, known: Iterable[str]) -> str | None:
    """Return a known name that reads like this one but is another, or None."""
    return next((other for other in known if other != name and reading(other) == reading(name)), None)


def require_new_name(dataset: str, unit: str, known: Iterable[tuple[str, str]]) -> None:
    """Raise BudgetError if a dataset, or a unit of the dataset, exists under a name that reads the same."""
    pairs = list(known)
    near = similar_name(dataset, (other for other, _ in pairs))
    if near is not None:
        raise BudgetError(
            f"{dataset!r} differs from the dataset {near!r} only in case, spaces or Unicode form. A second name would "
            "have a second budget: use the existing one, or confirm that it is another dataset (--confirm-name)"
        )
    near = similar_name(unit, (other for owner, other in pairs if owner == dataset))
    if near is not None:
        raise BudgetError(
            f"the unit {unit!r} differs from {near!r} only in case, spaces or Unicode form; use the existing one, or "
            "confirm that it is another unit (--confirm-name)"
        )
