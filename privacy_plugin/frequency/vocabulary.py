"""Built-in vocabularies: hierarchies of words that mean the same everywhere, such as countries and school levels."""

import re
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED, Value

OTHER = "Other"  # the group of words that a vocabulary does not list


class VocabularyHierarchy(Hierarchy):
    """The groups of a built-in vocabulary; a word that it does not list is in the group `Other` on every level."""

    def __init__(self, name: str) -> None:
        """Take the name of a vocabulary: see `VOCABULARIES`."""
        if not isinstance(name, str) or name not in vocabulary_names():
            raise ParameterError(unknown_name("vocabulary", str(name), vocabulary_names()))
        self._name = name
        self._groups = _read(name)
        self._height = len(next(iter(self._groups.values()))) + 1

    @property
    def height(self) -> int:
        """How many levels lie above the original values: the groups and `*`."""
        return self._height

    @property
    def specification(self) -> dict[str, Any]:
        """Return the name as plain data."""
        return {"vocabulary": self._name}

    @property
    def covers(self) -> str:
        """Any text."""
        return "text"

    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return the groups of a word, however it is capitalized, hyphenated or accented."""
        if not isinstance(value, str) or value == SUPPRESSED:
            return None
        return (*self._groups.get(_normalized(value), (OTHER,) * (self._height - 1)), SUPPRESSED)

    def lists(self, value: Value) -> bool:
        """Return whether the vocabulary lists a word."""
        return isinstance(value, str) and _normalized(value) in self._groups


def vocabulary_hierarchy(name: str) -> VocabularyHierarchy:
    """Generalize words of a built-in vocabulary to their groups; `*` on top.

    >>> countries = vocabulary_hierarchy("countries")
    >>> [countries.generalize("Viet Nam", level) for level in range(4)]
    ['Viet Nam', 'South-eastern Asia', 'Asia', '*']
    >>> countries.generalize("Atlantis", 1)
    'Other'
    """
    return VocabularyHierarchy(name)


@cache
def vocabulary_names() -> tuple[str, ...]:
    """Return the names of the built-in vocabularies."""
    folder = files("privacy_plugin.frequency").joinpath("vocabularies")
    return tuple(sorted(entry.name.removesuffix(".csv") for entry in folder.iterdir() if entry.name.endswith(".csv")))


@cache
def _read(name: str) -> dict[str, tuple[str, ...]]:
    """Read the lines `name|name|...;group;coarser group` of a vocabulary."""
    text = files("privacy_plugin.frequency").joinpath("vocabularies", f"{name}.csv").read_text(encoding="utf-8")
    groups: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            words, *path = line.split(";")
            groups |= {_normalized(word): tuple(path) for word in words.split("|")}
    return groups


def _normalized(word: str) -> str:
    """Fold case, accents and punctuation, which writers of the same word choose differently."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
    return " ".join(re.findall(r"[a-z0-9]+", plain.casefold().replace("&", " and ").replace("'", "")))
