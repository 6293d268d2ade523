"""A draw does not depend on the row order of the table, which no budget would cover."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp

COLUMNS = ["town", "sex"]
HIERARCHIES = {
    "town": pp.tree_hierarchy({"BE": ["Bern", "Thun"], "GE": ["Genève"]}),
    "sex": pp.tree_hierarchy({"*": ["f", "m"]}),
}
ROWS = [
    (town, sex) for town in ("Thun", None, "Genève", "Bern") for sex in ("m", "f", None) for _ in range(len(str(town)))
]
DRAWS: dict[str, Callable[[pd.DataFrame, np.random.Generator], Any]] = {
    "epsilon_safe_lattice": lambda data, generator: (
        pp.epsilon_safe_lattice(
            data, hierarchies=HIERARCHIES, k=2, beta=0.8, epsilon=1, penalty=1, generator=generator
        ).table
    ),
    "synthesis of rows": lambda data, generator: (
        pp.synthesize(data, columns=COLUMNS, epsilon=2, generator=generator).table
    ),
    "synthesis of cells": lambda data, generator: (
        pp.synthesize(data, columns=COLUMNS, epsilon=2, unit="cell", generator=generator).table
    ),
    "randomized response": lambda data, generator: (
        pp.randomized_response(data, columns=COLUMNS, epsilon=2, generator=generator).table
    ),
    "itemsets": lambda data, generator: pd.DataFrame(
        pp.private_itemsets(data, columns=COLUMNS, number=3, support="1/4", epsilon=9, generator=generator).itemsets
    ),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("seed", range(3))
def test_the_draw_does_not_depend_on_the_row_order(name: str, seed: int) -> None:
    people = pd.DataFrame(ROWS, columns=COLUMNS)
    other = people.sample(frac=1, random_state=seed).reset_index(drop=True)
    assert not other.equals(people)
    drawn = [DRAWS[name](data, np.random.default_rng(seed)) for data in (people, other)]
    pd.testing.assert_frame_equal(*drawn)
