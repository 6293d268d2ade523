"""Rows whose columns follow from each other."""

import numpy as np

NAMES = list("abcd")


def dependent_rows(number: int, seed: int = 5) -> list[tuple[int, ...]]:
    """b and c follow a; d follows b or its opposite, depending on c."""
    generator = np.random.default_rng(seed)
    a = generator.integers(0, 3, number)
    b = np.where(generator.random(number) < 0.8, a % 2, generator.integers(0, 2, number))
    c = np.where(generator.random(number) < 0.6, a, generator.integers(0, 3, number))
    d = np.where(generator.random(number) < 0.9, (b + (c == 1)) % 2, generator.integers(0, 2, number))
    return list(zip(a.tolist(), b.tolist(), c.tolist(), d.tolist(), strict=True))
