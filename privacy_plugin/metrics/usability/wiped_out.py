"""Columns that a release has wiped out: one label in every row, which carries no information."""

from collections.abc import Mapping, Sequence

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED, Value, label


def wiped_out_columns(
    table: FrequencyTable,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    original: FrequencyTable | None = None,
) -> tuple[str, ...]:
    """Return the columns that carry no information any more, in the order of the table.

    A column is wiped out where every row holds `*`, or the root of its hierarchy; and, where the original is known,
    where every row holds one value although the original has several.

    >>> released = FrequencyTable.from_rows(["age", "zip"], [("*", "8000"), ("*", "3000")])
    >>> wiped_out_columns(released)
    ('age',)
    """
    found = []
    for name in table.columns:
        before = () if original is None or name not in original.columns else original.dictionary(name)
        if is_wiped_out(table.dictionary(name), (hierarchies or {}).get(name)) or (
            len(table.dictionary(name)) == 1 and len(before) > 1
        ):
            found.append(name)
    return tuple(found)


def is_wiped_out(values: Sequence[Value], hierarchy: Hierarchy | None) -> bool:
    """Tell whether `*`, or the root of the hierarchy, is all that a column holds."""
    if len(values) != 1 or values[0] is None:
        return False
    return values[0] == SUPPRESSED or (hierarchy is not None and label(values[0]) in root_labels(hierarchy))


def root_labels(hierarchy: Hierarchy) -> frozenset[str]:
    """Return the labels that every value of a hierarchy has on some level: `*`, or other names of the root.

    A hierarchy of one value has `*` only: any other label of it is as specific as the value.
    """
    values: Sequence[Value] = getattr(hierarchy, "values", ())
    paths = [path for path in map(hierarchy.path, values) if path]
    if len(values) < 2 or not paths:
        return frozenset({SUPPRESSED})  # a hierarchy that follows a rule ends in it
    levels = [{label(value) for value in level} for level in zip(*paths, strict=True)]
    return frozenset({SUPPRESSED}).union(*(labels for labels in levels if len(labels) == 1))
