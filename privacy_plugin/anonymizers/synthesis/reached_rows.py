"""The rows that reach a node of a code tree, and their tables of two columns: exact, or from randomized cells.

Rows are coded (`CodedRows`). A row reaches a node if it has the values of the node's path. With randomized cells it is
not known which rows these are, and every row counts with a weight whose sum is unbiased.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from privacy_plugin.anonymizers.coded_rows import CodedRows, Floats, Integers
from privacy_plugin.anonymizers.randomized_response import Channel, unbiased_counts

Shares = TypeVar("Shares", float, Floats)

MEAN_OF_NORMAL = math.sqrt(2 / math.pi)  # of the absolute value, for deviation 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Reached:
    """Numbers of distinct rows, and the weight of each."""

    rows: Integers
    weights: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactRows:
    """Exact counts of the rows."""

    coded: CodedRows = field(repr=False)

    def everybody(self) -> Reached:
        """Return all rows."""
        return Reached(rows=np.arange(len(self.coded.codes)), weights=self.coded.counts.astype(np.float64))

    def values(self, reached: Reached, column: int) -> Floats:
        """Count the values of a column."""
        codes = self.coded.codes[reached.rows, column]
        return np.bincount(codes, weights=reached.weights, minlength=self.coded.sizes[column]).astype(np.float64)

    def table(self, reached: Reached, first: int, second: int) -> Floats:
        """Count the pairs of values of two columns."""
        shape = self.coded.sizes[first], self.coded.sizes[second]
        codes = self.coded.codes[reached.rows]
        cells = codes[:, first] * shape[1] + codes[:, second]
        found = np.bincount(cells, weights=reached.weights, minlength=shape[0] * shape[1])
        return found.astype(np.float64).reshape(shape)

    def part(self, reached: Reached, column: int, value: int) -> Reached:
        """Return the rows that have a value."""
        members = np.flatnonzero(self.coded.codes[reached.rows, column] == value)
        return Reached(rows=reached.rows[members], weights=reached.weights[members])

    def parts(self, reached: Reached, column: int) -> list[Reached]:
        """Divide the rows by the values of a column."""
        return [self.part(reached, column, value) for value in range(self.coded.sizes[column])]


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomizedRows(ExactRows):
    """Unbiased estimates of counts from rows whose cells were randomized by the channel of their column.

    A row counts for value v with ([released = v] - q) / (p - q), p the probability to keep a value and q that of each
    other one; for several columns with the product.
    """

    channels: tuple[Channel, ...]

    def values(self, reached: Reached, column: int) -> Floats:
        """Estimate how often each value of a column occurs."""
        return unbiased_counts(super().values(reached, column), [self.channels[column]])

    def table(self, reached: Reached, first: int, second: int) -> Floats:
        """Estimate how often each pair of values occurs."""
        return unbiased_counts(super().table(reached, first, second), [self.channels[first], self.channels[second]])

    def part(self, reached: Reached, column: int, value: int) -> Reached:
        """Weight every row for a value."""
        if self.coded.sizes[column] < 2:
            return reached
        held, not_held = (_score(self.channels[column], has) for has in (True, False))
        scores = np.where(self.coded.codes[reached.rows, column] == value, held, not_held)
        return Reached(rows=reached.rows, weights=reached.weights * scores)

    def expected_noise(self, reached: Reached, first: int, second: int) -> float:
        """Return the approximate L1 norm that randomization alone adds to a table of two columns."""
        counts = self.coded.counts[reached.rows]
        deviation = math.sqrt(float((reached.weights**2 / counts).sum()))
        return MEAN_OF_NORMAL * deviation * self._spreads[first] * self._spreads[second]

    @cached_property
    def _spreads(self) -> tuple[float, ...]:
        """For each column, the sum over its values of the root mean square of the rows' scores."""
        shares = (self.coded.ones(column)[0] / self.coded.rows for column in range(self.coded.columns))
        squares = (mean_square_score(channel, of) for channel, of in zip(self.channels, shares, strict=True))
        return tuple(float(np.sqrt(square).sum()) for square in squares)


def mean_square_score(channel: Channel, shares: Shares) -> Shares:
    """Return the mean square of the rows' scores for a value that this share of the randomized cells has."""
    held, not_held = (_score(channel, has) for has in (True, False))
    return held**2 * shares + not_held**2 * (1 - shares)


def _score(channel: Channel, held: bool) -> float:
    return (held - channel.other) / (channel.keep - channel.other)
