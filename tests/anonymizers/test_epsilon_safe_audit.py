"""The privacy audit: the claimed (epsilon, delta) holds on neighbouring tables, and broken variants are caught.

A broken variant draws with other parameters than it states. Seeds are fixed; with other seeds a claim that holds
would be refuted with a probability of at most ERROR an audit.
"""

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.epsilon_safe import EpsilonSafeTable, PreparedRelease, prepare
from privacy_plugin.anonymizers.privacy_audit import epsilon_seen
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable

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


@pytest.mark.parametrize("others", [ALONE, NEARLY_K])
def test_the_claim_holds(others: int) -> None:
    seen, claimed = audited(others, runs=1000)
    assert seen < claimed


@pytest.mark.parametrize(
    ("others", "broken"),
    [
        pytest.param(NEARLY_K, {"beta": 1.0}, id="no sampling"),
        pytest.param(NEARLY_K, {"beta": 0.97}, id="sampling far more than stated"),
        pytest.param(ALONE, {"k": 1}, id="no suppression"),
        pytest.param(ALONE, {"epsilon": 200 * EPSILON}, id="sensitivity 200 times too small"),
    ],
)
def test_a_broken_variant_is_caught(others: int, broken: dict[str, object]) -> None:
    seen, claimed = audited(others, runs=1000, **broken)
    assert seen > claimed


def test_what_the_audit_cannot_see() -> None:
    """A sensitivity without the factor k, as in the work the paper corrects: sampling hides it from any few runs."""
    seen, claimed = audited(ALONE, runs=1000, epsilon=K * EPSILON)
    assert seen < claimed


def test_an_audit_needs_runs_and_an_error_probability() -> None:
    for runs, error in ((1, 0.1), (100, 0), (100, 1)):
        with pytest.raises(ParameterError):
            epsilon_seen([1] * runs, [1] * runs, epsilon=1, delta=0, error=error)
