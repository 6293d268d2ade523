"""A frequency table as people and attributes: what the privacy score is asked of.

A boolean column is one attribute, held where it is true: who has false or a missing value does not hold it. Any other
column gives one attribute a value, and a missing value is one of them. Numbers can be binned first. In a column with
a hierarchy a generalized value holds every leaf attribute below it (White 2021, chapter 5).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.hierarchy_builders import interval_hierarchy
from privacy_plugin.frequency.values import Value, require_written_apart
from privacy_plugin.metrics.privacy_score.leaves import leaves_held
from privacy_plugin.metrics.privacy_score.weights import (
    GivenWeights,
    preset,
    read_roles,
    read_weights,
    require_known_columns,
    spread_weights,
)

if TYPE_CHECKING:
    from privacy_plugin.metrics.privacy_score.relation import Relation

_MANY_NUMBERS = 24
_HARMLESS = "no attribute has a danger above 0, so every score is 0; say what would be bad to learn"


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One attribute: a column and one of its values; a boolean column's only value is true."""

    column: str
    value: Value = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attributes:
    """Who holds what: a relation whose attributes have names, each with its weights as they were written."""

    listed: tuple[Attribute, ...]
    likelihood: tuple[Fraction, ...]
    danger: tuple[Fraction, ...]
    relation: "Relation"
    notes: tuple[str, ...]

    def columns(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """The columns of some attributes, each once, in order."""
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
    """Turn the columns of a table into attributes with weights; the relation's given rows are the table's rows."""
    from privacy_plugin.metrics.privacy_score.relation import make_relation

    likely, dangerous = read_weights("likelihood", likelihood), read_weights("danger", danger)
    presets, cuts, trees = read_roles(roles), read_bins(bins), read_generalized(generalized, bins)
    given_for: dict[str, Iterable[str]] = {"likelihood": likely, "danger": dangerous, "roles": presets}
    for what, named in {**given_for, "bins": cuts, "generalized": trees}.items():
        require_known_columns(what, named, attributes)
    blocks: list[_Block] = []
    weights: tuple[list[Fraction], list[Fraction]] = ([], [])
    for name in attributes:
        block = _block(table, name, cuts.get(name), trees.get(name))
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
    """Read how numbers are binned: by boundaries, or by the first level of a hierarchy."""
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
    """The attributes of one column: code columns of the table's rows, their sizes, and what the codes mean."""

    column: str
    codes: Codes  # (rows, code columns), -1 where a row holds none
    cardinalities: tuple[int, ...]
    values: tuple[Value, ...] = field(repr=False)
    notes: tuple[str, ...] = ()


def _block(table: FrequencyTable, name: str, bins: Hierarchy | None, tree: Hierarchy | None) -> _Block:
    codes, values = table.column_codes(name), table.dictionary(name)
    if bins is not None:
        levels = bins.levels(values, column=name)
        return _plain(name, levels.maps[1][codes], levels.dictionaries[1])
    if tree is not None:
        return _generalized(name, codes, values, tree)
    if is_boolean(values):
        held = np.where(np.array([value is True for value in values])[codes], 0, -1).astype(np.int32)
        return _Block(column=name, codes=held[:, None], cardinalities=(1,), values=(True,))
    require_written_apart(values, name)
    return _plain(name, codes, values, notes=_number_notes(name, values))


def is_boolean(values: Sequence[Value]) -> bool:
    """Tell whether a column has booleans and nothing else (but missing values)."""
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
