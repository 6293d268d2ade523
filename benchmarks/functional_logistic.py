"""Differentially private logistic regression by the functional mechanism, for benchmarks/epsilon_safe_learning.py.

Zhang, Zhang, Xiao, Yang, Winslett 2012 (algorithm 2 of Li 2019). The loss ln(1 + e^(xw)) - y xw is replaced by its
Taylor polynomial ln 2 + (1/2 - y) xw + (xw)^2 / 8, Laplace noise is added to the sums of its coefficients, and the
noisy polynomial is minimized. For comparison only: it gives a model, and no table.

One row adds |1/2 - y| |x|_1 + |x|_1^2 / 8 to the coefficients' L1 norm. The papers bound every coordinate by 1 and
state d^2/4 + 3d (rows replaced). Rows scaled to Euclidean length 1 at most with s filled columns of size <= 1 have
|x|_1 <= sqrt(s): sqrt(s)/2 + s/8 for rows added or removed, whatever d is.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def printed_sensitivity(columns: int) -> float:
    return columns**2 / 4 + 3 * columns


def sufficient_sensitivity(filled: int) -> float:
    return float(np.sqrt(filled) / 2 + filled / 8)


def fit(features: Floats, positive: npt.NDArray[np.bool_], *, epsilon: float, sensitivity: float | None) -> Floats:
    """Weights of the polynomial's minimum; without a sensitivity there is no noise and no privacy."""
    linear = ((0.5 - positive)[:, None] * features).sum(axis=0)
    squares = features.T @ features / 8
    upper = np.triu_indices(len(linear))
    crossed = np.where(upper[0] == upper[1], 1.0, 2.0)  # w_i w_j is one monomial
    coefficients = np.concatenate([linear, squares[upper] * crossed])
    scale = 0.0
    if sensitivity is not None:
        scale = sensitivity / epsilon
        coefficients = _with_laplace(coefficients, scale, sensitivity, epsilon)
    noisy = np.zeros_like(squares)
    noisy[upper] = coefficients[len(linear) :] / crossed
    noisy += np.triu(noisy, 1).T
    return _minimum(coefficients[: len(linear)], noisy + 4 * np.sqrt(2) * scale * np.eye(len(linear)))


def _minimum(linear: Floats, squares: Floats) -> Floats:
    """Minimize linear w + w squares w in the space where it has a minimum (the paper's spectral trimming)."""
    values, vectors = np.linalg.eigh(squares)
    kept = values > 1e-9 * abs(values).max()
    basis = vectors[:, kept]
    return basis @ (-(basis.T @ linear) / (2 * values[kept]))


def _with_laplace(coefficients: Floats, scale: float, sensitivity: float, epsilon: float) -> Floats:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    mechanism = dp.m.make_laplace(*space, scale=scale * (1 + 1e-9))
    if mechanism.map(sensitivity) > epsilon:
        raise ValueError("opendp accounts more than epsilon")
    return np.array(mechanism(coefficients.tolist()))
