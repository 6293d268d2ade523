"""How likely epsilon-safe lattice anonymization ends on a useful node, for a grid of parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacy_plugin.anonymizers.epsilon_safe.draw import PreparedRelease, require_positive, sample
from privacy_plugin.anonymizers.epsilon_safe.interpolation import Utilities, interpolated
from privacy_plugin.anonymizers.epsilon_safe.node_utilities import (
    generalization_of_all,
    lattice_shape,
    suppressed_at_all,
)
from privacy_plugin.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class GoodNodes:
    """Probabilities of drawing a good node, a line an epsilon and a column a penalty; and how many nodes are good."""

    probabilities: Utilities
    good: float
    nodes: int


def good_nodes(
    release: PreparedRelease,
    *,
    epsilons: Sequence[float],
    penalties: Sequence[float],
    largest_suppression: float,
    largest_generalization: float,
    samples: int,
    generator: np.random.Generator,
) -> GoodNodes:
    """Return the probability that the draw ends on a good node: sup and gen below the two limits.

    For every sample the suppressed rows of all nodes are counted once, and the exponential mechanism's probabilities
    of the good ones are added up exactly; the mean over the samples is returned. Li 2019, section 4.2.1. Interpolated
    utilities move the draw; whether a node is good is always judged by its own suppressed rows.
    """
    if not epsilons or not penalties or isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise ParameterError("give at least one epsilon, one penalty and one sample")
    for name, values in (("epsilon", epsilons), ("penalty", penalties)):
        for value in values:
            require_positive(name, value)
    pairs = [(epsilon, penalty) for epsilon in epsilons for penalty in penalties]
    general = generalization_of_all(lattice_shape(release.levels))
    found, good_share = np.zeros(len(pairs)), 0.0
    for _ in range(samples):
        kept = sample(release.table.counts, release.beta, generator)
        suppressed = suppressed_at_all(release.table, release.levels, kept, k=release.k) / release.expected
        good = (suppressed < largest_suppression) & (general < largest_generalization)
        good_share += float(good.sum()) / samples
        for place, (epsilon, penalty) in enumerate(pairs):
            utilities = interpolated(-(general + penalty * suppressed), tuple(release.levels), release.interpolation)
            weights = _weights(utilities, epsilon * release.expected / (2 * penalty * release.k))
            found[place] += float(weights[good].sum() / weights.sum()) / samples
    grid = np.minimum(found, 1.0).reshape(len(epsilons), len(penalties))
    return GoodNodes(probabilities=grid, good=good_share, nodes=general.size)


def _weights(utilities: Utilities, factor: float) -> Utilities:
    weights: Utilities = np.exp((utilities - utilities.max()) * factor)
    return weights
