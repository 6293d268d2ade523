"""Epsilon-safe releases of neighbouring tables, drawn often, and what of epsilon that shows."""

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

import privacy_plugin as pp
from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import EpsilonSafeTable, PreparedRelease, prepare
from privacy_plugin.frequency import FrequencyTable
from tests.anonymizers.privacy_audit import epsilon_seen

ERROR = 1e-4


K, BETA, EPSILON, EXPECTED = 10, 0.5, 1.0, 30


ALONE, NEARLY_K = 0, K - 1  # how many others share the person's trait


def prepared(others: int, *, person: bool, generator: np.random.Generator) -> PreparedRelease:
    """Sixty people without the trait and some with it; the penalty makes one suppressed row worth two levels."""
    rows = [("n",)] * 60 + [("y",)] * (others + person)
    hierarchies = {"trait": pp.mask_hierarchy(length=1)}
    table = FrequencyTable.from_rows(["trait"], rows)
    release = prepare(
        table, hierarchies=hierarchies, k=K, beta=BETA, epsilon=EPSILON, penalty=2.0 * EXPECTED, generator=generator
    )
    return replace(release, expected=EXPECTED)  # public, so the same for both neighbours


def published(result: EpsilonSafeTable) -> Hashable:
    """The level, and how many with the trait are shown."""
    rows = result.frequencies
    shown = sum(int(rows.counts[line]) for line in range(rows.distinct) if rows.values(line) == ("y",))
    return result.levels["trait"], shown


def audited(others: int, runs: int, **broken: object) -> tuple[float, float]:
    """What was seen of epsilon, and what was claimed."""
    generator = np.random.default_rng(20)
    claim = prepared(others, person=True, generator=generator).guarantee
    seen = [
        [published(release.draw()) for _ in range(runs)]
        for release in (
            replace(prepared(others, person=person, generator=generator), **broken) for person in (True, False)
        )
    ]
    return epsilon_seen(*seen, epsilon=claim.epsilon, delta=claim.delta, error=ERROR), claim.epsilon
