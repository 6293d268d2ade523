"""Small hierarchies of people: every value with its path to the top, for oracles and for the house."""

from collections.abc import Mapping
from typing import Any

from privacy_plugin.frequency.hierarchy import TableHierarchy

Paths = Mapping[Any, tuple[Any, ...]]

AGES: Paths = {
    21: (21, "20s", "young", "*"),
    25: (25, "20s", "young", "*"),
    34: (34, "30s", "young", "*"),
    51: (51, "50s", "old", "*"),
}
CITIES: Paths = {"Bern": ("Bern", "BE", "*"), "Biel": ("Biel", "BE", "*"), "Basel": ("Basel", "BS", "*")}


def hierarchy_of(paths: Paths) -> TableHierarchy:
    return TableHierarchy({value: path[1:] for value, path in paths.items()})
