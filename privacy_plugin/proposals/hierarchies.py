"""Propose hierarchies by the kind of a column's values, with levels that each change something.

A proposal without `reveal` contains no value of the table: rules (intervals, masks, dates), built-in vocabularies, or
the flat hierarchy. Boundaries of intervals follow quantiles, rounded to short numbers.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.frequency.values import SUPPRESSED, Value, label
from privacy_plugin.frequency.vocabulary import OTHER, vocabulary_hierarchy, vocabulary_names
from privacy_plugin.proposals.column_profile import ISO, ColumnProfile, quantiles
from privacy_plugin.requirements import column_names
from privacy_plugin.requirements.specification import hierarchy_from_specification

MOST_VALUES_LISTED = 40
_KNOWN_SHARE = 0.8  # of the rows must have a word of a vocabulary
_MOST_INTERVALS = 16
_FLAT: dict[str, Any] = {"flat": {}}
_NO_GROUPS = "no groups are known for its values: each is kept or becomes `*`. Write a tree to keep more"


@dataclass(frozen=True, kw_only=True)
class HierarchyProposal:
    """A hierarchy as a policy writes it (None: the reviewer has to write one), and a note for the reviewer."""

    specification: dict[str, Any] | None
    note: str = ""


def propose_hierarchy(
    column: ColumnProfile, table: FrequencyTable, *, reveal: bool, related: FrequencyTable | None = None
) -> HierarchyProposal:
    """Propose the hierarchy of one column from its frequency table.

    With `reveal` a short column of text gets a tree that lists its values: by words that several of them share, or,
    with `related` (the frequency table of the column and a sensitive one), by their association with that column.

    >>> from privacy_plugin.sources import frequency_table
    >>> from privacy_plugin.proposals.column_profile import profile_column
    >>> import pandas
    >>> table = frequency_table(pandas.DataFrame({"home": ["Peru", "Chad", "Laos", "Mali"]}), ["home"])
    >>> propose_hierarchy(profile_column(table), table, reveal=False).specification
    {'vocabulary': 'countries'}
    """
    values = [value for value in table.dictionaries[0] if value is not None and value != SUPPRESSED]
    if len(values) < 3 and column.kind != "date":
        return HierarchyProposal(specification=_FLAT)
    if column.kind == "amount" or (column.kind == "date" and column.date_format is None):
        return HierarchyProposal(specification=None)
    if related is not None and reveal and column.kind in ("text", "code") and len(values) <= MOST_VALUES_LISTED:
        note = f"its groups follow the association of its values with {related.columns[1]!r}: the hierarchy itself "
        learned = {"learned": {"from": related.columns[1], "tree": _by_association(related)}}
        return HierarchyProposal(specification=learned, note=note + "depends on sensitive values")
    for candidate in _candidates(column, table, values):
        useful = _with_useful_levels(candidate, values)
        if useful is not None or column.kind == "date":  # the next rows have other dates
            return HierarchyProposal(specification=useful or candidate)
    if reveal and len(values) <= MOST_VALUES_LISTED and column.kind not in ("number", "date"):
        tree = _by_shared_words([label(value) for value in values])
        return HierarchyProposal(specification={"tree": tree}, note="" if isinstance(tree, dict) else _NO_GROUPS)
    return HierarchyProposal(specification=_FLAT, note=_NO_GROUPS)


def _candidates(column: ColumnProfile, table: FrequencyTable, values: Sequence[Value]) -> Iterator[dict[str, Any]]:
    """Return the rules that fit the kind of the values, the best one first."""
    if column_names.suggests_postcode(column.name) and column.kind in ("code", "number"):
        yield {"mask": {"length": column.longest, "levels": list(range(1, column.longest))}}
    if column.kind == "date":
        date_format = {} if column.date_format == ISO else {"format": column.date_format}
        yield {"dates": {"levels": ["month", "year", "decade"], **date_format}}
    if column.kind == "number" and column_names.suggests_age(column.name):
        yield {"intervals": {"start": 0, "stop": 100, "widths": [5, 10, 20]}}
    elif column.kind == "number":
        yield {"intervals": {"boundaries": balanced_boundaries(table)}}
    if column.kind in ("text", "code"):
        name = _vocabulary(table)
        if name is not None:
            yield {"vocabulary": name}
    if column.kind == "code":
        yield {"mask": {"length": column.longest, "levels": list(range(1, column.longest))}}


def _vocabulary(table: FrequencyTable) -> str | None:
    """Return the vocabulary that lists the values of most rows, and groups some of them."""
    dictionary, counts = table.dictionaries[0], table.counts
    best, most = None, _KNOWN_SHARE * table.rows
    for name in vocabulary_names():
        words = vocabulary_hierarchy(name)
        codes = table.codes[:, 0].tolist()
        known = sum(count for code, count in zip(codes, counts.tolist(), strict=True) if words.lists(dictionary[code]))
        if known > most:
            best, most = name, known
    return best


def _with_useful_levels(specification: dict[str, Any], values: Sequence[Value]) -> dict[str, Any] | None:
    """Remove levels that change nothing for these values; None if only `*` is left.

    Vocabularies keep their levels: they are a list of their own.
    """
    ((rule, parameters),) = specification.items()
    levels = hierarchy_from_specification(specification).levels(tuple(values))
    groups = [len(dictionary) for dictionary in levels.dictionaries[:-1]]
    useful = [n for n in range(1, len(groups)) if 1 < groups[n] < groups[n - 1]]
    if not useful:
        return None
    key = {"mask": "levels", "dates": "levels"}.get(rule, "widths" if "widths" in parameters else "boundaries")
    if rule == "vocabulary":
        return specification
    return {rule: {**parameters, key: [parameters[key][n - 1] for n in useful]}}


def balanced_boundaries(table: FrequencyTable) -> list[list[int | float | str]]:
    """Return nested boundaries that divide the rows evenly, rounded to short numbers, finest level first.

    Where a few values have most of the rows, the distinct values are divided instead. The first and last interval are
    open, so that no extreme value shows.
    """
    cuts = _rounded_cuts(table)
    if len(cuts) < 3:
        cuts = _rounded_cuts(_every_value_once(table))
    levels = []
    while len(cuts) > 1:
        levels.append([written(cut) for cut in cuts])
        cuts = cuts[1::2]
    return levels or [[written(cut) for cut in (cuts or [Fraction(0)])] + [written((cuts or [Fraction(0)])[-1] + 1)]]


def _every_value_once(table: FrequencyTable) -> FrequencyTable:
    return FrequencyTable.from_columns(table.columns, [table.codes[:, 0]], table.dictionaries, table.counts * 0 + 1)


def _rounded_cuts(table: FrequencyTable) -> list[Fraction]:
    number = _MOST_INTERVALS
    while number > 2 and number * 2 > table.distinct:
        number //= 2
    shares = [step / number for step in range(number + 1)]
    found = [exact(cut) for cut in quantiles(table, [max(share, 1e-9) for share in shares])]
    cuts = []
    for below, cut, above in zip(found, found[1:-1], found[2:], strict=False):
        room = min(cut - below, above - cut) / 2
        cuts.append(_round_number(cut, room if room else max(cut - below, above - cut) / 4))
    return sorted({cut for cut in cuts if found[0] < cut <= found[-1]})


def _round_number(number: Fraction, room: Fraction) -> Fraction:
    """Return the roundest number (a multiple of 1, 2 or 5 times a power of ten) at most `room` away.

    >>> _round_number(Fraction(3847), Fraction(200)), _round_number(Fraction(41), Fraction(0))
    (Fraction(4000, 1), Fraction(41, 1))
    """
    if not room:
        return number
    power = math.floor(math.log10(float(max(abs(number), room)))) + 1
    while True:
        for factor in (5, 2, 1):
            unit = Fraction(10) ** power * factor
            nearest = round(number / unit) * unit
            if abs(nearest - number) <= room:
                return nearest
        power -= 1


def _by_shared_words(values: Sequence[str]) -> dict[str, list[str]] | list[str]:
    """Group values that share their first or last word, if that groups at least half of them; the rest is one group.

    >>> _by_shared_words(["Local-gov", "State-gov", "Self-emp-inc", "Self-emp-not", "Private"])
    {'gov': ['Local-gov', 'State-gov'], 'Self': ['Self-emp-inc', 'Self-emp-not'], 'Other': ['Private']}
    """
    words = {value: re.findall(r"\w+", value) or [value] for value in values}
    ends = Counter(end for parts in words.values() for end in {parts[0], parts[-1]})
    groups: dict[str, list[str]] = defaultdict(list)
    for value, parts in words.items():
        shared = max((parts[-1], parts[0]), key=lambda word: ends[word])
        groups[shared if ends[shared] > 1 else OTHER].append(value)
    named = {name: members for name, members in groups.items() if len(members) > 1 and name != OTHER}
    rest = [value for value in values if not any(value in members for members in named.values())]
    if len(named) + bool(rest) < 2 or len(rest) > len(values) / 2:
        return list(values)
    return {**named, **({OTHER: rest} if rest else {})}


def _by_association(related: FrequencyTable) -> dict[str, Any]:
    """Halve the values, ordered by the share of the most frequent sensitive value among their rows, twice."""
    secrets, counts = related.codes[:, 1], related.counts
    totals: Counter[int] = Counter()
    for code, count in zip(secrets.tolist(), counts.tolist(), strict=True):
        totals[code] += count
    common = max(totals, key=lambda code: (totals[code], -code))
    rows: Counter[int] = Counter()
    having: Counter[int] = Counter()
    for code, secret, count in zip(related.codes[:, 0].tolist(), secrets.tolist(), counts.tolist(), strict=True):
        rows[code] += count
        having[code] += count if secret == common else 0
    kept = [code for code in rows if related.dictionaries[0][code] not in (None, SUPPRESSED)]
    ordered = sorted(kept, key=lambda code: (Fraction(having[code], rows[code]), code))
    values = [label(related.dictionaries[0][code]) for code in ordered]
    return _halved(values, 2)


def _halved(values: list[str], times: int) -> dict[str, Any]:
    middle = len(values) // 2
    halves = [half for half in (values[:middle], values[middle:]) if half]
    return {"|".join(half): (half if times == 1 or len(half) < 4 else _halved(half, times - 1)) for half in halves}
