"""The privacy audit: the claimed (epsilon, delta) holds on neighbouring tables, and broken variants are caught.

A broken variant draws with other parameters than it states. Seeds are fixed; with other seeds a claim that holds
would be refuted with a probability of at most ERROR an audit.
"""

import pytest

from privacy_plugin.errors import ParameterError
from tests.anonymizers.epsilon_safe_audit import ALONE, EPSILON, NEARLY_K, K, audited
from tests.anonymizers.privacy_audit import epsilon_seen


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
    """A sensitivity without the factor k, as before Li 2019: sampling hides the defect from a few runs."""
    seen, claimed = audited(ALONE, runs=1000, epsilon=K * EPSILON)
    assert seen < claimed


def test_an_audit_needs_runs_and_an_error_probability() -> None:
    for runs, error in ((1, 0.1), (100, 0), (100, 1)):
        with pytest.raises(ParameterError):
            epsilon_seen([1] * runs, [1] * runs, epsilon=1, delta=0, error=error)
