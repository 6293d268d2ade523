"""The delta of the sampling theorem against the published table, exact sums, and its own claims."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.anonymizers.epsilon_safe.sampling import least_epsilon, sampling_delta, smallest_k
from privacy_plugin.errors import ParameterError

# Li 2019, table 5.1 in units of 1e-5; the cells at beta = 0.75 and 0.8 that a rounding slip spoiled are left out.
PAPER = {
    (55, "0.6"): 1.59, (60, "0.6"): 0.71, (65, "0.6"): 0.32, (70, "0.6"): 0.14, (75, "0.6"): 0.06, (80, "0.6"): 0.03,
    (55, "0.65"): 2.40, (60, "0.65"): 1.29, (65, "0.65"): 0.80, (70, "0.65"): 0.26, (75, "0.65"): 0.11,
    (55, "0.7"): 5.00, (60, "0.7"): 3.30, (65, "0.7"): 1.12, (70, "0.7"): 0.74, (75, "0.7"): 0.25, (80, "0.7"): 0.17,
    (65, "0.75"): 3.09, (80, "0.75"): 0.39,
    (55, "0.8"): 34.4, (60, "0.8"): 13.2, (75, "0.8"): 3.86, (80, "0.8"): 1.51,
}  # fmt: skip


@pytest.mark.parametrize(("k", "beta"), PAPER)
def test_the_published_table_of_deltas(k: int, beta: str) -> None:
    printed = PAPER[k, beta]
    digits = 1 if printed > 10 else 2
    assert round(sampling_delta(k=k, beta=float(beta)) * 1e5, digits) == pytest.approx(printed)


def test_exact_arithmetic_decides_where_the_publication_rounded_the_boundary() -> None:
    assert f"{sampling_delta(k=60, beta=0.75):.2e}" == "7.74e-05"
    assert sampling_delta(k=60, beta=0.75, epsilon=-math.log(0.25)) == sampling_delta(k=60, beta=0.75)


def exact_delta(k: int, beta: Fraction, tries: int) -> Fraction:
    """The definition with the least epsilon, over the first n only, in whole numbers."""
    g = 1 - (1 - beta) ** 2
    first = max(math.ceil(k / g - 1), 1)
    kept, whole = beta.numerator, beta.denominator
    return max(
        Fraction(
            sum(math.comb(n, j) * kept**j * (whole - kept) ** (n - j) for j in range(math.floor(g * n) + 1, n + 1)),
            whole**n,
        )
        for n in range(first, first + tries)
    )


@settings(max_examples=40, deadline=None)
@given(k=st.integers(1, 40), beta=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_never_below_the_definition_and_hardly_above_it(k: int, beta: Fraction) -> None:
    truth = exact_delta(k, beta, tries=60)
    found = sampling_delta(k=k, beta=beta)
    assert found >= truth
    assert found <= float(truth) * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(k=st.integers(2, 200), beta=st.floats(0.05, 0.95), more=st.floats(0.01, 2))
def test_falls_with_k_and_with_epsilon(k: int, beta: float, more: float) -> None:
    assert sampling_delta(k=k + 1, beta=beta) <= sampling_delta(k=k, beta=beta) * (1 + 1e-9)
    epsilon = least_epsilon(beta) + more
    assert sampling_delta(k=k, beta=beta, epsilon=epsilon) <= sampling_delta(k=k, beta=beta) * (1 + 1e-9)


def test_the_smallest_k_is_the_smallest() -> None:
    for delta in (1e-3, 3.3e-6, 1e-9):
        k = smallest_k(beta=0.7, delta=delta)
        assert sampling_delta(k=k, beta=0.7) <= delta < sampling_delta(k=k - 1, beta=0.7)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0, "beta": 0.5},
        {"k": 2.5, "beta": 0.5},
        {"k": 5, "beta": 0},
        {"k": 5, "beta": 1},
        {"k": 5, "beta": "half"},
        {"k": 5, "beta": 0.5, "epsilon": 0.1},
    ],
)
def test_invalid_arguments_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        sampling_delta(**wrong)  # type: ignore[arg-type]
