"""People and attributes: the relation on which the privacy score is defined.

A boolean column is one attribute, held where it is true; false and missing mean that the attribute is not held. Every
other column gives one attribute per value, and a missing value is one of them. Numbers can be grouped into bins first.
In a column with a hierarchy, a generalized value holds every leaf attribute below it (White 2021, chapter 5).

The algorithms work on *columns of codes*: a code >= 0 is one attribute, -1 holds none of the column's attributes. A
boolean column has one code, a categorical column one code per value, and a generalized column becomes one boolean
column per leaf. Attributes are numbered column by column, code by code.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacy_plugin.errors import EmptyTableError, HierarchyError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.hierarchy_builders import IntervalHierarchy, interval_hierarchy
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.people_table import UnitedTable
from privacy_plugin.frequency.values import SUPPRESSED, Value, label, require_unambiguous_values
from privacy_plugin.metrics.privacy_score.weights import (
    GivenWeights,
    preset,
    read_roles,
    read_weights,
    require_known_columns,
    spread_weights,
)

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Weights = NDArray[np.float64]
Flags = NDArray[np.bool_]

_KEY_LIMIT = 2**62
_MANY_NUMBERS = 24
_HARMLESS = "no attribute has a danger above 0, so every score is 0; give a danger to the columns that are sensitive"
_MISSING = "\0missing"  # not a label: text cannot be taken for a missing value
_Paths = dict[str, tuple[Value, tuple[Value, ...]]]


@dataclass(frozen=True, kw_only=True)
class Relation:
    """Distinct people with their counts; `inverse` leads from each given row to its distinct row."""

    codes: Codes  # (columns, rows), -1 where the row holds none of the column's attributes
    offsets: Integers  # attribute number = offsets[column] + code
    likelihood: Weights  # one per attribute
    danger: Weights  # one per attribute
    counts: Integers  # one per distinct row
    inverse: Integers  # given row -> distinct row

    @property
    def attributes(self) -> int:
        """The number of attributes."""
        return len(self.likelihood)

    def held_by(self, row: int) -> list[int]:
        """Return the attributes of one distinct row, ascending."""
        return [int(self.offsets[c] + code) for c, code in enumerate(self.codes[:, row]) if code >= 0]

    def holders(self, attribute: int) -> Flags:
        """Return which distinct rows hold an attribute."""
        column = int(np.searchsorted(self.offsets, attribute, side="right")) - 1
        holds: Flags = self.codes[column] == attribute - self.offsets[column]
        return holds


def make_relation(
    *,
    likelihood: ArrayLike,
    danger: ArrayLike,
    codes: ArrayLike | None = None,
    cardinalities: ArrayLike | None = None,
    matrix: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> Relation:
    """Build a relation from code columns, a boolean matrix, or both side by side, merging equal rows.

    `codes` is (rows, columns) with -1 for "none"; `cardinalities` is the number of codes of each column (default: the
    largest code + 1). `matrix` is (rows, attributes). `likelihood` and `danger` list the attributes of `codes`,
    column by column, then those of `matrix`. `counts` weighs the rows (default 1). Cost: one sort of the rows.

    >>> people = make_relation(matrix=[[1, 1], [1, 0], [1, 1]], likelihood=[1, 1], danger=[1, 1])
    >>> people.counts.tolist(), people.inverse.tolist()
    ([1, 2], [1, 0, 1])
    """
    blocks: list[Codes] = []
    sizes: list[int] = []
    if codes is not None:
        block, block_sizes = _code_block(codes, cardinalities)
        blocks.append(block)
        sizes.extend(block_sizes)
    if matrix is not None:
        held = _two_dimensional("matrix", matrix)
        if held.dtype != np.bool_ and not np.isin(held, (0, 1)).all():
            raise ParameterError("the matrix must hold only true and false, or 1 and 0")
        blocks.append(held.astype(np.int32) - 1)
        sizes.extend([1] * held.shape[1])
    if not blocks:
        raise ParameterError("a relation needs codes, a matrix or both; neither was given")
    if len({len(block) for block in blocks}) > 1:
        raise ParameterError(f"codes have {len(blocks[0])} rows, the matrix has {len(blocks[1])}; they must agree")
    table = np.ascontiguousarray(np.hstack(blocks).T)
    if table.shape[1] == 0:
        raise EmptyTableError("a relation without people has no score; give at least one row")
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    weighed = _row_counts(counts, table.shape[1])
    first, inverse = distinct_rows(table)
    merged = np.zeros(len(first), dtype=np.int64)
    np.add.at(merged, inverse, weighed)
    return Relation(
        codes=np.ascontiguousarray(table[:, first]),
        offsets=offsets,
        likelihood=_weights("likelihood", likelihood, int(offsets[-1])),
        danger=_weights("danger", danger, int(offsets[-1])),
        counts=merged,
        inverse=inverse,
    )


def _two_dimensional(name: str, given: ArrayLike) -> NDArray[np.generic]:
    array = np.asarray(given)
    if array.ndim != 2:
        raise ParameterError(f"{name} must have rows and columns; {array.ndim} dimension(s) were given")
    return array


def _code_block(codes: ArrayLike, cardinalities: ArrayLike | None) -> tuple[Codes, list[int]]:
    given = _two_dimensional("codes", codes)
    if not np.issubdtype(given.dtype, np.integer):
        raise ParameterError(f"codes must be whole numbers; their type is {given.dtype}")
    block = np.ascontiguousarray(given, dtype=np.int32)
    lowest = block.min(axis=0, initial=0)
    highest = block.max(axis=0, initial=-1)
    sizes = highest + 1 if cardinalities is None else np.asarray(cardinalities, dtype=np.int64)
    if sizes.shape != highest.shape:
        raise ParameterError(f"cardinalities has {sizes.size} entries; codes have {block.shape[1]} columns")
    if (lowest < -1).any() or (highest >= sizes).any():
        raise ParameterError("a code lies outside its column's range; valid are -1 (none) to cardinality - 1")
    return block, [int(size) for size in sizes]


def _row_counts(counts: ArrayLike | None, rows: int) -> Integers:
    if counts is None:
        return np.ones(rows, dtype=np.int64)
    given = np.asarray(counts)
    if not np.issubdtype(given.dtype, np.integer) or given.shape != (rows,) or (given < 1).any():
        raise ParameterError(f"counts must be {rows} whole numbers of at least 1, one per row")
    return given.astype(np.int64)


def _weights(name: str, given: ArrayLike, attributes: int) -> Weights:
    weights = np.ascontiguousarray(given, dtype=np.float64)
    if weights.shape != (attributes,):
        raise ParameterError(f"{name} has {weights.size} weights; the relation has {attributes} attributes")
    if not ((weights >= 0) & (weights <= 1)).all():
        raise ParameterError(f"every {name} must lie between 0 and 1; at least one does not")
    return weights


def distinct_rows(codes: Codes) -> tuple[Integers, Integers]:
    """Return the first place of each distinct row and the distinct row of each place."""
    key = np.zeros(codes.shape[1], dtype=np.int64)
    span = 1
    for column in codes:
        size = int(column.max(initial=-1)) + 2
        if span > _KEY_LIMIT // size:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            span = int(key.max()) + 1
        key = key * size + (column + 1)
        span *= size
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One attribute: a column and one of its values; a boolean column's only value is true."""

    column: str
    value: Value = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attributes:
    """A relation whose attributes have names, each with its weights as exact fractions."""

    listed: tuple[Attribute, ...]
    likelihood: tuple[Fraction, ...]
    danger: tuple[Fraction, ...]
    relation: Relation
    notes: tuple[str, ...]

    def columns(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Return the columns of some attributes, each once, in order."""
        return tuple(dict.fromkeys(self.listed[number].column for number in numbers))


def relate(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    likelihood: GivenWeights | None = None,
    danger: GivenWeights | None = None,
    roles: Mapping[str, str] | None = None,
    bins: Mapping[str, Any] | None = None,
    generalized: Mapping[str, Hierarchy] | None = None,
) -> Attributes:
    """Turn the columns of a table into attributes with weights; one given row per row of the table."""
    likely, dangerous = read_weights("likelihood", likelihood), read_weights("danger", danger)
    presets, cuts, trees = read_roles(roles), read_bins(bins), read_generalized(generalized, bins)
    given_for: dict[str, Iterable[str]] = {"likelihood": likely, "danger": dangerous, "roles": presets}
    for what, named in {**given_for, "bins": cuts, "generalized": trees}.items():
        require_known_columns(what, named, attributes)
    blocks: list[_Block] = []
    weights: tuple[list[Fraction], list[Fraction]] = ([], [])
    for name in attributes:
        block = _column_block(table, name, cuts.get(name), trees.get(name))
        blocks.append(block)
        for position, (what, given) in enumerate((("likelihood", likely), ("danger", dangerous))):
            base = preset(presets.get(name), position)
            weights[position].extend(spread_weights(what, name, block.values, given.get(name), base))
    relation = make_relation(
        codes=np.column_stack([block.codes for block in blocks]),
        cardinalities=[size for block in blocks for size in block.cardinalities],
        likelihood=[float(weight) for weight in weights[0]],
        danger=[float(weight) for weight in weights[1]],
        counts=table.counts,
    )
    return Attributes(
        listed=tuple(Attribute(column=block.column, value=value) for block in blocks for value in block.values),
        likelihood=tuple(weights[0]),
        danger=tuple(weights[1]),
        relation=relation,
        notes=(*(note for block in blocks for note in block.notes), *([] if any(weights[1]) else [_HARMLESS])),
    )


def read_bins(given: Mapping[str, Any] | None) -> dict[str, Hierarchy]:
    """Read the bins of numbers: boundaries, or the first level of a hierarchy."""
    return {name: _bin(name, cuts) for name, cuts in _mapping("bins", given).items()}


def read_generalized(given: Mapping[str, Hierarchy] | None, bins: Mapping[str, Any] | None) -> dict[str, Hierarchy]:
    """Read the hierarchies of columns whose values may be generalized."""
    trees = _mapping("generalized", given)
    for name, tree in trees.items():
        if not isinstance(tree, Hierarchy):
            raise ParameterError(f"generalized must give column {name!r} a hierarchy, not {type(tree).__name__}")
        if name in (bins or {}):
            raise ParameterError(f"column {name!r} has both bins and a hierarchy; give one of them")
    return trees


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """The attributes of one column: code columns of the table's rows, their sizes, their values."""

    column: str
    codes: Codes  # (rows, code columns), -1 where a row holds none
    cardinalities: tuple[int, ...]
    values: tuple[Value, ...] = field(repr=False)
    notes: tuple[str, ...] = ()


def _column_block(table: FrequencyTable, name: str, bins: Hierarchy | None, tree: Hierarchy | None) -> _Block:
    """Return the attributes of one column; a person with several values holds what any of them holds."""
    codes = table.column_codes(name)
    if not isinstance(table, UnitedTable) or name not in table.sets:
        return _block(name, codes, table.dictionary(name), bins, tree)
    values, members = table.sets[name]
    single = _block(name, np.arange(len(values), dtype=np.int32), values, bins, tree)
    starts = np.concatenate([[0], np.cumsum(single.cardinalities)[:-1]]).astype(np.int64)
    holds = np.zeros((len(values), len(single.values)), dtype=np.bool_)
    for start, column in zip(starts, single.codes.T, strict=True):
        holding = np.flatnonzero(column >= 0)
        holds[holding, start + column[holding]] = True
    united = np.array([holds[list(each)].any(axis=0) for each in members], dtype=np.bool_)
    held = np.where(united[codes], 0, -1).astype(np.int32)
    return replace(single, codes=held, cardinalities=(1,) * len(single.values))


def _block(name: str, codes: Codes, values: Sequence[Value], bins: Hierarchy | None, tree: Hierarchy | None) -> _Block:
    if bins is not None:
        levels = bins.levels(values, column=name)
        return _plain(name, levels.maps[1][codes], levels.dictionaries[1])
    if tree is not None:
        return _generalized(name, codes, values, tree)
    if is_boolean(values):
        held = np.where(np.array([value is True for value in values])[codes], 0, -1).astype(np.int32)
        return _Block(column=name, codes=held[:, None], cardinalities=(1,), values=(True,))
    require_unambiguous_values(values, name)
    return _plain(name, codes, values, notes=_number_notes(name, values))


def is_boolean(values: Sequence[Value]) -> bool:
    """Return whether all values of a column are booleans or missing."""
    return any(isinstance(value, bool) for value in values) and all(
        value is None or isinstance(value, bool) for value in values
    )


def _plain(name: str, codes: Codes, values: Sequence[Value], notes: tuple[str, ...] = ()) -> _Block:
    return _Block(column=name, codes=codes[:, None], cardinalities=(len(values),), values=tuple(values), notes=notes)


def _generalized(name: str, codes: Codes, values: Sequence[Value], tree: Hierarchy) -> _Block:
    leaves, holds = leaves_held(tree, values, column=name)
    if (holds.sum(axis=1) == 1).all():  # nothing is generalized: the leaves are the values
        return _plain(name, holds.argmax(axis=1).astype(np.int32)[codes], leaves)
    held = np.where(holds[codes], 0, -1).astype(np.int32)
    return _Block(column=name, codes=held, cardinalities=(1,) * len(leaves), values=leaves)


def _number_notes(name: str, values: Sequence[Value]) -> tuple[str, ...]:
    numbers = sum(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values)
    if numbers <= _MANY_NUMBERS:
        return ()
    return (f"column {name!r} has {numbers:,} different numbers, each an attribute of its own; bins would group them",)


def _bin(name: str, given: Any) -> Hierarchy:
    if isinstance(given, Hierarchy):
        if given.height < 1:
            raise ParameterError(f"the hierarchy in bins of column {name!r} has no level to bin by")
        return given
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError(
            f"bins must give column {name!r} boundaries in ascending order, or a hierarchy, not {type(given).__name__}"
        )
    return interval_hierarchy(boundaries=[list(given)])


def _mapping(what: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"{what} must be a mapping of columns, not {type(given).__name__}")
    return dict(given)


def leaves_held(tree: Hierarchy, values: Sequence[Value], *, column: str) -> tuple[tuple[Value, ...], Flags]:
    """Return the leaves of a column and, for each of its values, which of them it holds.

    The leaves are what a table lists; otherwise the values of the column that the hierarchy covers and, of intervals,
    the finest ones, each of which stands for the numbers in it that do not occur. Missing is a leaf of its own where it
    occurs; `*` holds all leaves. As in all hierarchies, 39 and "39" are one value. Raises if a value is neither a
    leaf nor above one. Leaves that no value holds are left out.

    >>> from privacy_plugin.frequency.hierarchy_builders import interval_hierarchy
    >>> ages = interval_hierarchy(boundaries=[[0, 10, 20, 40], [0, 20, 40]], open_ends=False)
    >>> leaves, holds = leaves_held(ages, [7, "[0, 20)"], column="age")
    >>> leaves, holds.tolist()
    ((7, '[0, 10)', '[10, 20)'), [[True, False, False], [True, True, True]])
    """
    leaves = list(_leaf_paths(tree, values).values())
    below: dict[str, list[int]] = {}
    for place, (leaf, steps) in enumerate(leaves):
        for name in dict.fromkeys([_name(leaf), *map(_name, steps)]):
            below.setdefault(name, []).append(place)
    holds = np.zeros((len(values), len(leaves)), dtype=np.bool_)
    uncovered = 0
    for position, value in enumerate(values):
        held = range(len(leaves)) if value == SUPPRESSED else below.get(_name(value), ())
        holds[position, list(held)] = True
        uncovered += not held
    if uncovered:
        raise HierarchyError(
            f"the hierarchy does not cover {uncovered} value(s) of column {column!r}; every value must be a leaf of it "
            "or stand above one"
        )
    held_by_some: Flags = np.asarray(holds.any(axis=0))
    return tuple(leaf for (leaf, _), held in zip(leaves, held_by_some, strict=True) if held), holds[:, held_by_some]


def _leaf_paths(tree: Hierarchy, values: Sequence[Value]) -> _Paths:
    """Return every leaf, by name, with its values on the levels above it."""
    candidates = tree.values if isinstance(tree, TableHierarchy) else values
    listed = [(leaf, steps) for leaf in candidates if (steps := _steps(tree, leaf)) is not None]
    if isinstance(tree, IntervalHierarchy):
        listed += _intervals(tree)
    if None in values:
        listed.append((None, _steps(tree, None) or ()))
    if all(leaf is None for leaf, _ in listed):  # a column of `*` alone has one leaf, which stands for all of them
        listed.append((SUPPRESSED, ()))
    return {_name(leaf): (leaf, steps) for leaf, steps in listed}


def _steps(tree: Hierarchy, value: Value) -> tuple[Value, ...] | None:
    if value == SUPPRESSED:
        return None
    try:
        return tuple(tree.generalize(value, level) for level in range(1, tree.height + 1))
    except HierarchyError:
        return None


def _intervals(tree: IntervalHierarchy) -> list[tuple[Value, tuple[Value, ...]]]:
    """Return the finest intervals and the values above each, found by a number inside."""
    rule = tree.specification["intervals"]
    cuts = [exact(cut) for cut in rule["boundaries"][0]]
    inside: list[Fraction] = [(low + high) / 2 for low, high in pairwise(cuts)]
    if rule["open_ends"]:
        inside += [cuts[0] - abs(cuts[0]) - 1, cuts[-1] + abs(cuts[-1]) + 1]
    found = {}
    for number in inside:
        first, *above = _steps(tree, float(number)) or (None,)
        found[first] = tuple(above)
    if len(found) != len(inside) or None in found:
        raise HierarchyError(
            "the finest intervals of the hierarchy are too narrow or too far out for floating-point numbers"
        )
    return list(found.items())


def _name(value: Value) -> str:
    """Return the text by which hierarchies look a value up; true and "True" are one."""
    if value is None:
        return _MISSING
    text = label(value)
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text
