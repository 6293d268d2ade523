"""Noise and random choices for releases: exact discrete samplers of opendp, or a test generator that is not private."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.ledger.zero_concentrated import exponential_rho

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

HISTOGRAM = math.sqrt(2)  # L2 of a histogram when one row is substituted: two cells change by 1
_WIDER = 1 + 1e-9  # keeps opendp's account below its part of the budget despite rounding


def noisy_counts(
    counts: Integers, *, sensitivity: float, rho: float, generator: np.random.Generator | None
) -> Integers:
    """Add discrete Gaussian noise so that counts of this L2 sensitivity are rho-zero-concentrated private.

    The deviation is sensitivity / sqrt(2 rho). Canonne, Kamath, Steinke 2020; drawn by opendp, whose own account of
    the mechanism is compared with rho before the draw.
    """
    scale = sensitivity / math.sqrt(2 * rho) * _WIDER
    if generator is not None:
        return counts + np.rint(generator.normal(0, scale, counts.shape)).astype(np.int64)
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    mechanism = dp.m.make_gaussian(*space, scale=scale)
    _require_account(mechanism.map(sensitivity), rho)
    return np.array(mechanism(counts.ravel().tolist()), dtype=np.int64).reshape(counts.shape)


def choose(utilities: Floats, *, sensitivity: float, epsilon: float, generator: np.random.Generator | None) -> int:
    """Draw an index with probability proportional to exp(epsilon * utility / (2 * sensitivity))."""
    scale = 2 * sensitivity / epsilon * _WIDER
    if generator is not None:
        weights = np.exp((utilities - utilities.max()) / scale)
        return int(generator.choice(len(utilities), p=weights / weights.sum()))
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    # Under this measure opendp adds Gumbel noise, which is the exponential mechanism.
    mechanism = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
    _require_account(mechanism.map(sensitivity), exponential_rho(epsilon))
    return int(mechanism(utilities.tolist()))


def opendp() -> Any:
    """Import opendp, which the extra `learn` installs."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ParameterError("drawing with privacy needs opendp; install privacy-plugin[learn]") from None
    dp.enable_features("contrib")
    return dp


def _require_account(stated: float, rho: float) -> None:
    if stated > rho:
        raise ParameterError("opendp accounts more for this draw than its part of the budget; nothing was drawn")
