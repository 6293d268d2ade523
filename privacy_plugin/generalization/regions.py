"""Regions: disjoint sets of combinations of quasi-identifiers, each with its own labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, group, pack, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import Key, Value, key, label
from privacy_plugin.generalization.label_trees import LabelTree
from privacy_plugin.generalization.local_cells import Combinations
from privacy_plugin.generalization.losses import Floats
from privacy_plugin.generalization.observed_labels import Observed, observed_column

OUTSIDE = -1  # the region of a combination that no label covers
SUPPRESSED_ROWS = -2  # and of one that the plan suppresses
_CHUNK = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Region:
    """A class as it is released: its label in every column, its rows, and the loss of each of them."""

    labels: Mapping[str, str | None] = field(repr=False)
    rows: int
    loss: float


@dataclass(frozen=True, kw_only=True)
class Label:
    """A label of a column: what is written, what it loses, and which values it covers.

    Of a hierarchy it covers the values that have this text on one of the `levels`; otherwise those `observed`.
    """

    text: str | None = field(repr=False)
    loss: float
    levels: tuple[int, ...] = ()
    observed: Observed | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        content: dict[str, Any] = {"text": self.text, "loss": self.loss}
        return content | ({"levels": list(self.levels)} if self.observed is None else self.observed.to_dict())


@dataclass(frozen=True, kw_only=True, eq=False)
class Regions:
    """All regions of a plan, and the combinations that are known to be in them.

    `labels[c]`: the labels of column c; `members[r, c]`: the label of region r. `keys[c]`: values of column c as they
    are identified; `codes[i, c]` their position for combination i, `region_of[i]` its region.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...] = field(repr=False)
    members: Codes = field(repr=False)
    rows: Integers = field(repr=False)
    keys: tuple[tuple[Key, ...], ...] = field(repr=False)
    codes: Codes = field(repr=False)
    region_of: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def column_losses(self) -> Floats:
        """The loss of every region in every column."""
        losses = [np.array([one.loss for one in column]) for column in self.labels]
        return np.column_stack([found[self.members[:, c]] for c, found in enumerate(losses)]).reshape(
            len(self), len(self.columns)
        )

    @cached_property
    def losses(self) -> Floats:
        """The mean loss of every region over the columns."""
        found: Floats = self.column_losses.mean(axis=1)
        return found

    def extended(self, other: "Regions") -> "Regions":
        """Return these regions and those of a plan for combinations that these do not have.

        Regions that are written alike are one. What these regions say about a combination stays, unless they
        suppressed it.
        """
        labels: list[tuple[Label, ...]] = []
        members: list[Integers] = []
        keys: list[tuple[Key, ...]] = []
        codes: list[Integers] = []
        for c in range(len(self.columns)):
            both, there = _merge_labels(self.labels[c], other.labels[c])
            labels.append(both)
            members.append(np.concatenate([self.members[:, c], there[other.members[:, c]]]).astype(np.int64))
            known = {one: number for number, one in enumerate(self.keys[c])}
            positions = np.array([known.setdefault(one, len(known)) for one in other.keys[c]], dtype=np.int64)
            keys.append(tuple(known))
            codes.append(np.concatenate([self.codes[:, c], positions[other.codes[:, c]]]).astype(np.int64))
        written, size = pack(members, [len(column) for column in labels])
        merged, first = group(written, size)
        numbers = _in_order_of_appearance(merged, len(first))
        here, there = numbers[: len(self)], numbers[len(self) :]
        region_of = np.concatenate(
            [_renumber(self.region_of, here), _renumber(other.region_of, there)],
        )
        packed, _ = pack(codes, [len(column) for column in keys])
        keep = _first_in_a_region(packed, region_of)
        lines = np.empty((len(first), len(self.columns)), dtype=np.int32)
        lines[numbers] = np.column_stack(members)
        return Regions(
            columns=self.columns,
            labels=tuple(labels),
            members=lines,
            rows=sum_by(numbers, np.concatenate([self.rows, other.rows]), len(first)),
            keys=tuple(keys),
            codes=np.column_stack(codes)[keep].astype(np.int32),
            region_of=region_of[keep],
        )

    def listed(self) -> tuple[Region, ...]:
        """Return the regions one by one."""
        texts = [[one.text for one in column] for column in self.labels]
        return tuple(
            Region(
                labels={
                    name: texts[c][member] for c, (name, member) in enumerate(zip(self.columns, line, strict=True))
                },
                rows=rows,
                loss=loss,
            )
            for line, rows, loss in zip(self.members.tolist(), self.rows.tolist(), self.losses.tolist(), strict=True)
        )

    def assign(self, found: Combinations, hierarchies: Mapping[str, Hierarchy]) -> Integers:
        """Return the region of every combination.

        A known combination is in the region that the plan put it in; any other in the most specific region whose labels
        cover it (the least loss, of equal ones the first of the plan), otherwise `OUTSIDE`.
        """
        known = self._known(found)
        unknown = np.flatnonzero(known == OUTSIDE)
        if len(unknown) and len(self):
            known[unknown] = self._covering(found, unknown, hierarchies)
        return known

    def _known(self, found: Combinations) -> Integers:
        result = np.full(len(found), OUTSIDE, dtype=np.int64)
        wanted, complete = [], np.ones(len(found), dtype=bool)
        for position, dictionary in enumerate(found.dictionaries):
            numbers = {one: number for number, one in enumerate(self.keys[position])}
            codes = np.array([numbers.get(key(value), -1) for value in dictionary], dtype=np.int64)
            column = codes[found.codes[:, position]]
            complete &= column >= 0
            wanted.append(column)
        places = np.flatnonzero(complete)
        if not len(places) or not len(self.codes):
            return result
        joined = [np.concatenate([self.codes[:, c], column[places]]) for c, column in enumerate(wanted)]
        packed, _ = pack(joined, [len(keys) for keys in self.keys])
        own, asked = packed[: len(self.codes)], packed[len(self.codes) :]
        order = np.argsort(own, kind="stable")
        at = order[np.minimum(np.searchsorted(own[order], asked), len(own) - 1)]
        result[places] = np.where(own[at] == asked, self.region_of[at], OUTSIDE)
        return result

    def _covering(self, found: Combinations, places: Integers, hierarchies: Mapping[str, Hierarchy]) -> Integers:
        order = np.argsort(self.losses, kind="stable")
        covered = [
            _cover(dictionary, self.labels[c], hierarchies[self.columns[c]])[:, self.members[order, c]]
            for c, dictionary in enumerate(found.dictionaries)
        ]
        result = np.full(len(places), OUTSIDE, dtype=np.int64)
        step = max(1, _CHUNK // len(self))
        for begin in range(0, len(places), step):
            chunk = places[begin : begin + step]
            fits = np.ones((len(chunk), len(self)), dtype=bool)
            for position, cover in enumerate(covered):
                fits &= cover[found.codes[chunk, position]]
            result[begin : begin + step] = np.where(fits.any(axis=1), order[fits.argmax(axis=1)], OUTSIDE)
        return result

    def covers(
        self, found: Combinations, places: Integers, regions: Integers, hierarchies: Mapping[str, Hierarchy]
    ) -> npt.NDArray[np.bool_]:
        """Tell for some combinations whether the labels of the given regions cover them."""
        result = np.ones(len(places), dtype=bool)
        for c, dictionary in enumerate(found.dictionaries):
            cover = _cover(dictionary, self.labels[c], hierarchies[self.columns[c]])
            result &= cover[found.codes[places, c], self.members[regions, c]]
        return result

    def released(self, table: FrequencyTable, lines: Integers) -> FrequencyTable:
        """Return a table as it is released, given the region of every line; lines in no region are left out."""
        kept = np.flatnonzero(lines >= 0)
        names = [*self.columns, *(name for name in table.columns if name not in self.columns)]
        codes: list[Any] = []
        dictionaries: list[Sequence[Value]] = []
        for name in names:
            if name in self.columns:
                position = self.columns.index(name)
                codes.append(self.members[lines[kept], position])
                dictionaries.append([one.text for one in self.labels[position]])
            else:
                codes.append(table.column_codes(name)[kept])
                dictionaries.append(table.dictionary(name))
        return FrequencyTable.from_columns(names, codes, dictionaries, table.counts[kept])

    def released_population(self, population: FrequencyTable, lines: Integers) -> FrequencyTable:
        """Return a population by regions: everybody has the labels of their region, or one that no row has."""
        codes, dictionaries = [], []
        for position, column in enumerate(self.labels):
            texts = [one.text for one in column]
            nobody = "in no region"
            while nobody in texts:
                nobody += "."
            members = np.append(self.members[:, position], len(texts)).astype(np.int64)
            codes.append(members[np.where(lines >= 0, lines, len(self))])
            dictionaries.append([*texts, nobody])
        return FrequencyTable.from_columns(self.columns, codes, dictionaries, population.counts)

    def texts(self, regions: Integers) -> list[tuple[str | None, ...]]:
        """Return what is written for each of some regions."""
        written = [[one.text for one in column] for column in self.labels]
        return [tuple(written[c][m] for c, m in enumerate(line)) for line in self.members[regions].tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `read_regions` reads."""
        return {
            "labels": {n: [one.to_dict() for one in c] for n, c in zip(self.columns, self.labels, strict=True)},
            "regions": np.column_stack([self.members, self.rows]).tolist(),
            "values": {n: [list(one) for one in keys] for n, keys in zip(self.columns, self.keys, strict=True)},
            "combinations": np.column_stack([self.codes, self.region_of]).tolist(),
        }


def make_regions(
    found: Combinations,
    classes: Integers,
    trees: Sequence[LabelTree],
    hierarchies: Mapping[str, Hierarchy],
    *,
    observed: bool,
) -> Regions:
    """Make regions of classes: classes that are written alike are one region; -1 is a class of suppressed rows."""
    inside = np.flatnonzero(classes >= 0)
    order = inside[np.argsort(classes[inside], kind="stable")]
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    columns, members = [], []
    for position, tree in enumerate(trees):
        codes = found.codes[order, position]
        if observed:
            labels, written = _observed(codes, starts, found.dictionaries[position], hierarchies[tree.column])
        else:
            labels, written = _named(tree, codes, starts)
        columns.append(labels)
        members.append(written)
    packed, size = pack(members, [len(labels) for labels in columns])
    merged, first = group(packed, size)
    numbers = _in_order_of_appearance(merged, len(first))
    region_of = np.where(classes >= 0, numbers[np.maximum(classes, 0)], OUTSIDE) if len(inside) else classes.copy()
    region_of[(classes < 0) & (found.rows > 0)] = SUPPRESSED_ROWS
    kept = np.flatnonzero((region_of >= 0) | (found.rows > 0))
    lines = np.empty((len(first), len(columns)), dtype=np.int32)
    lines[numbers] = np.column_stack(members)
    used = [np.unique(lines[:, c], return_inverse=True) for c in range(len(columns))]
    return Regions(
        columns=found.columns,
        labels=tuple(tuple(columns[c][n] for n in numbers_used) for c, (numbers_used, _) in enumerate(used)),
        members=np.column_stack([codes.ravel() for _, codes in used]).astype(np.int32),
        rows=sum_by(region_of[region_of >= 0], found.rows[region_of >= 0], len(first)),
        keys=tuple(tuple(key(value) for value in dictionary) for dictionary in found.dictionaries),
        codes=found.codes[kept],
        region_of=region_of[kept],
    )


def _merge_labels(here: Sequence[Label], there: Sequence[Label]) -> tuple[tuple[Label, ...], Integers]:
    """Return the labels of both, and the position of each of the second; labels that are written alike are one."""
    merged = list(here)
    positions = {one.text: number for number, one in enumerate(merged)}
    placed = []
    for one in there:
        place = positions.setdefault(one.text, len(merged))
        placed.append(place)
        if place == len(merged):
            merged.append(one)
            continue
        known = merged[place]
        observed = known.observed or one.observed
        if known.observed is not None and one.observed is not None and known.observed != one.observed:
            observed = replace(known.observed, values=known.observed.values | one.observed.values)
        levels = tuple(sorted({*known.levels, *one.levels}))
        merged[place] = Label(text=one.text, loss=max(known.loss, one.loss), levels=levels, observed=observed)
    return tuple(merged), np.array(placed, dtype=np.int64)


def _renumber(regions: Integers, numbers: Integers) -> Integers:
    found: Integers = np.where(regions >= 0, numbers[np.maximum(regions, 0)], regions)
    return found


def _first_in_a_region(packed: Integers, region_of: Integers) -> Integers:
    """Return one place of every combination: the first that is in a region, else the first."""
    order = np.lexsort((np.arange(len(packed)), region_of < 0, packed))
    starts = np.flatnonzero(np.diff(packed[order], prepend=packed[order][:1] - 1))
    return np.sort(order[starts])


def _in_order_of_appearance(groups: Integers, count: int) -> Integers:
    """Number groups in the order in which they appear."""
    _, first = np.unique(groups, return_index=True)
    ranks = np.empty(count, dtype=np.int64)
    ranks[np.argsort(first, kind="stable")] = np.arange(count)
    return ranks[groups]


def _named(tree: LabelTree, codes: Codes, starts: Integers) -> tuple[tuple[Label, ...], Integers]:
    """Give every class the lowest common label; labels that are written alike are one, which loses what most do."""
    node = np.full(len(starts), tree.nowhere, dtype=np.int64)
    for level in range(len(tree.nodes) - 1, -1, -1):
        above = tree.nodes[level][codes]
        low, high = np.minimum.reduceat(above, starts), np.maximum.reduceat(above, starts)
        node = np.where((low == high) & (low != tree.nowhere), low, node)
    if (node == tree.nowhere).any():
        raise AssertionError("a class was formed of values that have no label in common")
    texts = tree.texts
    positions: dict[str | None, int] = {}
    of_node = np.array([positions.setdefault(text, len(positions)) for text in texts], dtype=np.int64)
    labels = []
    for text, position in positions.items():
        nodes = np.flatnonzero(of_node == position).tolist()
        levels = tuple(sorted({tree.levels[n] for n in nodes}))
        labels.append(Label(text=text, loss=max(float(tree.losses[n]) for n in nodes), levels=levels))
    return tuple(labels), of_node[node]


def _observed(
    codes: Codes, starts: Integers, dictionary: Sequence[Value], hierarchy: Hierarchy
) -> tuple[tuple[Label, ...], Integers]:
    column = observed_column(dictionary, hierarchy)
    positions: dict[str | None, int] = {}
    labels: list[Label] = []
    written = np.empty(len(starts), dtype=np.int64)
    for number, members in enumerate(np.split(codes, starts[1:])):
        text, covered, loss = column.describe([dictionary[code] for code in np.unique(members).tolist()])
        place = positions.setdefault(text, len(positions))
        written[number] = place
        if place == len(labels):
            labels.append(Label(text=text, loss=loss, observed=covered))
        elif (known := labels[place].observed) is not None and known != covered:  # a value may contain a comma
            both = replace(known, values=known.values | covered.values)
            labels[place] = Label(text=text, loss=max(loss, labels[place].loss), observed=both)
    return tuple(labels), written


def _cover(values: Sequence[Value], labels: Sequence[Label], hierarchy: Hierarchy) -> npt.NDArray[np.bool_]:
    """Tell which labels cover which values."""
    result = np.zeros((len(values), len(labels)), dtype=bool)
    named: dict[tuple[int, str | None], list[int]] = {}
    for number, one in enumerate(labels):
        if one.observed is not None:
            result[:, number] = [one.observed.covers(value) for value in values]
        for level in one.levels:
            named.setdefault((level, one.text), []).append(number)
    for row, value in enumerate(values):
        path = hierarchy.path_of(value)
        for level, name in enumerate((value, *(path or ()))):
            result[row, named.get((level, None if name is None else label(name)), [])] = True
    return result


def read_regions(columns: tuple[str, ...], given: Mapping[str, Any], hierarchies: Mapping[str, Hierarchy]) -> Regions:
    """Read regions that `Regions.to_dict` wrote; anything else is refused."""
    labels = tuple(
        tuple(_read_label(entry, hierarchies[name]) for entry in _list(given["labels"][name])) for name in columns
    )
    keys = tuple(tuple(_read_key(entry) for entry in _list(given["values"][name])) for name in columns)
    regions = _read_numbers(given["regions"], len(columns) + 1)
    lines = _read_numbers(given["combinations"], len(columns) + 1)
    sizes, value_counts = [len(column) for column in labels], [len(column) for column in keys]
    _require(len(regions) > 0 and bool((regions >= 0).all()) and bool((regions[:, :-1] < sizes).all()))
    _require(bool((lines[:, :-1] >= 0).all()) and bool((lines[:, :-1] < value_counts).all()))
    _require(bool((lines[:, -1] >= SUPPRESSED_ROWS).all()) and bool((lines[:, -1] < len(regions)).all()))
    _require(len(np.unique(regions[:, :-1], axis=0)) == len(regions))
    _require(len(np.unique(lines[:, :-1], axis=0)) == len(lines))
    _require(all(len({one.text for one in column}) == len(column) for column in labels))
    _require(all(len(set(column)) == len(column) for column in keys))
    return Regions(
        columns=columns,
        labels=labels,
        members=regions[:, :-1].astype(np.int32),
        rows=regions[:, -1],
        keys=keys,
        codes=lines[:, :-1].astype(np.int32),
        region_of=lines[:, -1],
    )


def _require(right: bool) -> None:
    if not right:
        raise ParameterError("the regions of the plan contradict each other; make the plan again")


def _list(given: Any) -> list[Any]:
    _require(isinstance(given, list))
    return list(given)


def _read_numbers(given: Any, width: int) -> Integers:
    lines = _list(given)
    _require(all(isinstance(line, list) and len(line) == width for line in lines))
    _require(all(type(number) is int and abs(number) < 2**62 for line in lines for number in line))
    return np.array(lines, dtype=np.int64).reshape(-1, width)


def _read_key(given: Any) -> Key:
    _require(isinstance(given, list) and len(given) == 2 and type(given[0]) is int and isinstance(given[1], str))
    return given[0], given[1]


def _read_label(given: Any, hierarchy: Hierarchy) -> Label:
    _require(isinstance(given, dict) and (given.get("text") is None or isinstance(given["text"], str)))
    loss = given["loss"]
    _require(type(loss) in (int, float) and 0 <= loss <= 1)
    if "levels" in given:
        levels = tuple(_list(given["levels"]))
        _require(len(levels) > 0 and all(type(n) is int and 0 <= n <= hierarchy.height for n in levels))
        return Label(text=given["text"], loss=float(loss), levels=levels)
    _require(isinstance(given["missing"], bool))
    if "from" in given:
        ends = (given["from"], given["to"])
        _require(all(isinstance(end, str) for end in ends))
        covered = Observed(ends=ends, missing=given["missing"])
    else:
        covered = Observed(values=frozenset(map(_read_key, _list(given["values"]))), missing=given["missing"])
    return Label(text=given["text"], loss=float(loss), observed=covered)
