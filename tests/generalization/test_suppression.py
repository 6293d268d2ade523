"""The suppression limit is a whole number of rows, rounded down."""

from fractions import Fraction

import pandas as pd
import pytest

from privacy_plugin import generalize, require, tree_hierarchy
from privacy_plugin.generalization.suppression import most_suppressed


@pytest.mark.parametrize(
    ("share", "rows", "most"), [(0.05, 30, 1), (0.05, 40, 2), (0.05, 19, 0), (0.1, 30, 3), (Fraction(1, 3), 3, 1)]
)
def test_a_share_of_rows_rounds_down(share: float | Fraction, rows: int, most: int) -> None:
    assert most_suppressed(share, rows) == most


@pytest.mark.parametrize(("alone", "level"), [(1, 0), (2, 1)])
def test_five_percent_of_thirty_rows_is_one_row(alone: int, level: int) -> None:
    people = pd.DataFrame({"city": ["Bern"] * (30 - alone) + ["Basel", "Zug"][:alone]})
    plan = generalize(
        people,
        hierarchies={"city": tree_hierarchy({"*": ["Bern", "Basel", "Zug"]})},
        requirements=[require("k_anonymity", at_least=2)],
        max_suppression=0.05,
    )
    assert plan.levels == {"city": level}
