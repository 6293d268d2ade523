"""What pairs of cells prove about a channel, from the definition: exact binomial tails, every pair of inputs."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

from tests.oracles.dependence import upper_tail

_HALVINGS = 40


def lower_bound(successes: int, trials: int, alpha: Fraction) -> Fraction:
    """Clopper and Pearson: at a smaller probability so many successes or more had a chance below alpha."""
    low, high = Fraction(0), Fraction(1)
    for _ in range(_HALVINGS if successes else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if upper_tail(successes, trials, middle) > alpha else (middle, high)
    return low


def least_epsilon(pairs: Sequence[tuple[Hashable, Hashable]], confidence: Fraction) -> float:
    """The largest ln(lower P(s | x) / upper P(s | x')), every bound failing with the same share of 1 - confidence."""
    seen, trials = Counter(pairs), Counter(x for x, _ in pairs)
    outputs = {s for _, s in pairs}
    alpha = (1 - confidence) / (2 * len(trials) * len(outputs))
    found = 0.0
    for s in outputs:
        low = {x: lower_bound(seen[x, s], n, alpha) for x, n in trials.items()}
        high = {x: 1 - lower_bound(n - seen[x, s], n, alpha) for x, n in trials.items()}
        apart = [low[x] / high[y] for x in trials for y in trials if x != y and low[x]]
        found = max([found, *map(math.log, apart)])
    return found
