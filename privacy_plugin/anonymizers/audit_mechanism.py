"""Bound the epsilon of a randomized mechanism from below, by running it on two neighbouring tables.

Half of the runs pick the outputs that tell the two tables apart best; the other half bounds their probabilities P and Q
by Clopper and Pearson. A mechanism with (epsilon, delta) has P <= e^epsilon Q + delta for every set of outputs, so that
epsilon >= ln((P - delta) / Q). Picking on other runs keeps the error probability: it is that of the four bounds (two
directions, P and Q) together.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import key
from privacy_plugin.sources import frequency_table, open_source


@dataclass(frozen=True, kw_only=True)
class MechanismAudit:
    """The epsilon that a mechanism has at least, except with probability 1 - `confidence`.

    0 where nothing was detected, which proves nothing. `outputs` is the number of different outputs that were seen: if
    it is near the number of draws, outputs hardly repeat, and a function of them that takes few values shows more.
    """

    epsilon_at_least: float
    delta: float
    confidence: float
    draws: int
    outputs: int

    def refutes(self, epsilon: Any) -> bool:
        """Return whether the audit contradicts a claimed epsilon."""
        return self.epsilon_at_least > float(exact(epsilon, what="epsilon"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilon_at_least": self.epsilon_at_least,
            "delta": self.delta,
            "confidence": self.confidence,
            "draws": self.draws,
            "outputs": self.outputs,
        }


def audit_mechanism(
    mechanism: Callable[[Any], Any],
    *,
    neighbours: tuple[Any, Any],
    draws: int,
    delta: Any = 0,
    confidence: float = 0.99,
) -> MechanismAudit:
    """Run a mechanism `draws` times on each of two neighbouring tables, and bound its epsilon from below.

    `mechanism` takes a table and returns what it would release: a frame, a `FrequencyTable`, a result of an anonymizer
    of this package, or anything hashable. Every run must draw anew. A bound above the claimed epsilon refutes the claim
    with this confidence; a bound below it does not prove privacy, because other tables or outputs may tell more. Cost:
    twice `draws` runs.

    >>> import random
    >>> def answer(smokes):
    ...     return smokes if random.random() < 0.75 else not smokes  # epsilon ln 3
    >>> audit = audit_mechanism(answer, neighbours=(True, False), draws=4_000)
    >>> 0.8 < audit.epsilon_at_least < math.log(3) + 0.2
    True
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 2:
        raise ParameterError(f"draws must be a whole number of at least 2, not {draws!r}")
    failing, sure = float(exact(delta, what="delta")), float(exact(confidence, what="confidence"))
    if not 0 <= failing < 1 or not 0 < sure < 1:
        raise ParameterError("delta must lie from 0 to below 1, and confidence between 0 and 1, both excluded")
    if len(neighbours) != 2:
        raise ParameterError(f"neighbours must be two tables, got {len(neighbours)}")
    first, second = ([_comparable(mechanism(table)) for _ in range(draws)] for table in neighbours)
    alpha = (1 - sure) / 4
    found = max(_bound(*pair, delta=failing, alpha=alpha) for pair in ((first, second), (second, first)))
    return MechanismAudit(
        epsilon_at_least=max(found, 0.0),
        delta=failing,
        confidence=sure,
        draws=draws,
        outputs=len({*first, *second}),
    )


def _bound(one: Sequence[Hashable], other: Sequence[Hashable], *, delta: float, alpha: float) -> float:
    """Return a lower bound of ln((P - delta) / Q) for the outputs that the picking runs tell apart best."""
    from privacy_plugin.metrics.dependence.binomial_bounds import clopper_pearson  # compiled

    picking, counts = len(one[::2]), (Counter(one[::2]), Counter(other[::2]))
    ordered = sorted(counts[0], key=lambda output: (counts[0][output] + 0.5) / (counts[1][output] + 0.5), reverse=True)
    seen = np.cumsum([[count[output] for count in counts] for output in ordered], axis=0, dtype=np.int64)
    tries = np.full(len(seen), picking, dtype=np.int64)
    low = clopper_pearson(seen[:, 0], tries, alpha=alpha)[0]
    high = clopper_pearson(seen[:, 1], tries, alpha=alpha)[1]
    chosen = int(np.argmax((low - delta) / high))
    telling = set(ordered[: chosen + 1])
    counted = np.array([sum(output in telling for output in runs[1::2]) for runs in (one, other)], dtype=np.int64)
    runs = np.full(2, len(one[1::2]), dtype=np.int64)
    lower, upper = clopper_pearson(counted, runs, alpha=alpha)
    return math.log((lower[0] - delta) / upper[1]) if lower[0] > delta else -math.inf


def _comparable(output: Any) -> Hashable:
    """Return something hashable that is equal for equal outputs, in whatever order a table has its rows."""
    found = getattr(output, "frequencies", output)
    if isinstance(found, FrequencyTable):
        return _rows_of(found)
    if isinstance(found, np.ndarray):
        return found.shape, found.tobytes()
    if isinstance(found, Mapping):
        return tuple(sorted((repr(name), _comparable(value)) for name, value in found.items()))
    if isinstance(found, list | tuple):
        return tuple(map(_comparable, found))
    if hasattr(found, "shape"):  # a frame
        return _rows_of(frequency_table(found, open_source(found).columns))
    try:
        hash(found)
    except TypeError:
        raise ParameterError(
            f"the mechanism returned {type(output).__name__}; return a frame, a FrequencyTable or something hashable"
        ) from None
    return found  # type: ignore[no-any-return]


def _rows_of(table: FrequencyTable) -> Hashable:
    keys = [[key(value) for value in dictionary] for dictionary in table.dictionaries]
    rows = (tuple(keys[column][code] for column, code in enumerate(row)) for row in table.codes.tolist())
    return table.columns, frozenset(zip(rows, table.counts.tolist(), strict=True))
