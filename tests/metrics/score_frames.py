"""Frames that several tests score."""

import numpy as np
import pandas as pd

import privacy_plugin as pp

ROLES = {"city": "quasi_identifier", "disease": "sensitive"}
VISITS = pd.DataFrame({"city": ["Bern", "Bern", "Basel", "Basel"], "disease": ["flu", "flu", "flu", "gout"]})


def score(frame, **options):
    return pp.privacy_score(frame, attributes=list(frame.columns), **options)


def wide(rows=60):
    generator = np.random.default_rng(3)
    return pd.DataFrame({f"c{size}": generator.integers(0, size, rows) for size in (2, 3, 5, 8, 30)})
