"""A relation of people and attributes as arrays: what the privacy score is asked of.

Everything becomes *columns of codes*: a code >= 0 is one attribute, -1 holds none of the column's attributes, so a
boolean column is a column with one code, a categorical column one with a code a value, and a generalized value that
holds several leaf attributes several boolean columns. Attributes are numbered column by column, code by code.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacy_plugin.errors import EmptyTableError, ParameterError

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Weights = NDArray[np.float64]
Flags = NDArray[np.bool_]

_KEY_LIMIT = 2**62


@dataclass(frozen=True, kw_only=True)
class Relation:
    """Distinct people with their counts; `inverse` leads from each given row to its distinct row."""

    codes: Codes  # (columns, rows), -1 where the row holds none of the column's attributes
    offsets: Integers  # attribute number = offsets[column] + code
    likelihood: Weights  # one an attribute
    danger: Weights  # one an attribute
    counts: Integers  # one a distinct row
    inverse: Integers  # given row -> distinct row

    @property
    def attributes(self) -> int:
        """How many attributes there are."""
        return len(self.likelihood)

    def held_by(self, row: int) -> list[int]:
        """The attributes of one distinct row, ascending."""
        return [int(self.offsets[c] + code) for c, code in enumerate(self.codes[:, row]) if code >= 0]

    def holders(self, attribute: int) -> Flags:
        """Which distinct rows hold an attribute."""
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

    `codes` is (rows, columns) with -1 for "none"; `cardinalities` says how many codes each column has (default: the
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
        raise ParameterError(f"counts must be {rows} whole numbers of at least 1, one a row")
    return given.astype(np.int64)


def _weights(name: str, given: ArrayLike, attributes: int) -> Weights:
    weights = np.ascontiguousarray(given, dtype=np.float64)
    if weights.shape != (attributes,):
        raise ParameterError(f"{name} has {weights.size} weights; the relation has {attributes} attributes")
    if not ((weights >= 0) & (weights <= 1)).all():
        raise ParameterError(f"every {name} must lie between 0 and 1; at least one does not")
    return weights


def distinct_rows(codes: Codes) -> tuple[Integers, Integers]:
    """The first place of each distinct row and the distinct row of each place, for codes of (columns, rows)."""
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
