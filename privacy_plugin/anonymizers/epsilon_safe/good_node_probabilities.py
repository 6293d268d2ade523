"""How likely epsilon-safe lattice anonymization ends on a useful node, for a grid of parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import (
    PreparedRelease,
    prepare,
    require_positive,
    sample,
)
from privacy_plugin.anonymizers.epsilon_safe.node_utilities import (
    Interpolation,
    Utilities,
    generalization_of_all,
    interpolated,
    lattice_shape,
    suppressed_at_all,
)
from privacy_plugin.errors import ParameterError, require_columns
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.sources import open_source

NOTE = (
    "computed from the data without any noise, so not private: for public or test data only; on secret data, "
    "choosing parameters by it and publishing the choice is a release that no budget covers"
)


@dataclass(frozen=True, kw_only=True)
class GoodNodeProbabilities:
    """Probabilities of drawing a good node: one row per epsilon, one column per penalty. Not private: see `note`."""

    epsilons: tuple[float, ...]
    penalties: tuple[float, ...]
    probabilities: tuple[tuple[float, ...], ...]
    good_nodes: float
    nodes: int
    k: int
    beta: float
    samples: int
    largest_suppression: float
    largest_generalization: float
    private: bool = False
    note: str = NOTE

    @property
    def best(self) -> tuple[float, float]:
        """The (epsilon, penalty) of the highest probability; of equal ones the least epsilon, then penalty."""
        return max(self._cells(), key=lambda cell: (cell[2], -cell[0], -cell[1]))[:2]

    @cached_property
    def table(self) -> Any:
        """The grid as a pandas frame, one row per pair of parameters."""
        import pandas as pd

        return pd.DataFrame(list(self._cells()), columns=["epsilon", "penalty", "probability"])

    def plot(self) -> Any:
        """Return the grid as an Altair chart, one line per epsilon (figure 5.1 of Li 2019)."""
        import altair as alt

        title = alt.Title(
            "Probability of a good node",
            subtitle=f"suppressed < {self.largest_suppression:g}, generalized < {self.largest_generalization:g}; "
            f"k = {self.k}, beta = {self.beta:g}. Not private: for public or test data.",
        )
        return (
            alt.Chart(self.table, title=title)
            .mark_line(point=True)
            .encode(
                x=alt.X("penalty:Q", scale=alt.Scale(type="log"), title="penalty for suppressed rows"),
                y=alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1]), title="probability"),
                color=alt.Color("epsilon:N", title="epsilon of the choice"),
                tooltip=["epsilon:Q", "penalty:Q", alt.Tooltip("probability:Q", format=".3f")],
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "grid": [
                {"epsilon": epsilon, "penalty": penalty, "probability": probability}
                for epsilon, penalty, probability in self._cells()
            ],
            "good_nodes": self.good_nodes,
            "nodes": self.nodes,
            "k": self.k,
            "beta": self.beta,
            "samples": self.samples,
            "largest_suppression": self.largest_suppression,
            "largest_generalization": self.largest_generalization,
            "private": self.private,
            "note": self.note,
        }

    def _cells(self) -> Iterator[tuple[float, float, float]]:
        for epsilon, line in zip(self.epsilons, self.probabilities, strict=True):
            for penalty, probability in zip(self.penalties, line, strict=True):
                yield epsilon, penalty, probability


def good_node_probabilities(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    beta: float,
    epsilons: Sequence[float] = (0.01, 0.05, 0.1, 0.5, 1.0),
    penalties: Sequence[float] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0),
    largest_suppression: float = 0.15,
    largest_generalization: float = 0.6,
    samples: int = 10,
    interpolation: Interpolation = None,
    generator: np.random.Generator | None = None,
) -> GoodNodeProbabilities:
    """Return how likely `epsilon_safe_lattice` ends on a good node, for every epsilon of the choice and penalty.

    The result (`.table`, `.plot()`, `.best`, `.to_dict()`) looks at the data without noise and is not private: use it
    on public or test data that resembles the secret table, never on the secret table itself. The
    penalties of Li 2019 (0.01 to 0.5) assume suppression in percent: multiply them by 100.
    """
    if not hierarchies:
        raise ParameterError("hierarchies is empty; give one for every column that is published")
    source = open_source(data)
    require_columns(list(hierarchies), source.columns)
    generator = np.random.default_rng() if generator is None else generator
    release = prepare(
        source.frequencies(list(hierarchies)),
        hierarchies=hierarchies,
        k=k,
        beta=beta,
        epsilon=1,  # replaced by those of the grid
        penalty=1,
        interpolation=interpolation,
        generator=generator,
    )
    found = good_nodes(
        release,
        epsilons=epsilons,
        penalties=penalties,
        largest_suppression=largest_suppression,
        largest_generalization=largest_generalization,
        samples=samples,
        generator=generator,
    )
    return GoodNodeProbabilities(
        epsilons=tuple(map(float, epsilons)),
        penalties=tuple(map(float, penalties)),
        probabilities=tuple(tuple(map(float, line)) for line in found.probabilities),
        good_nodes=found.good,
        nodes=found.nodes,
        k=k,
        beta=float(beta),
        samples=samples,
        largest_suppression=float(largest_suppression),
        largest_generalization=float(largest_generalization),
    )


@dataclass(frozen=True, kw_only=True)
class GoodNodes:
    """Probabilities of drawing a good node, one row per epsilon, one column per penalty; the mean of good nodes."""

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
    utilities change the draw; a node is always called good by its own suppressed rows.
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
