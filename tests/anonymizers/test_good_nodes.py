"""The probability of a good node against the oracle's draw, and the caveat in the result."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import sample
from privacy_plugin.errors import ParameterError
from tests.oracles.epsilon_safe import Mechanism

HIERARCHIES = {"age": pp.interval_hierarchy(start=0, stop=40, widths=[10, 20]), "zip": pp.mask_hierarchy(length=2)}
DATA = pd.DataFrame({"age": [3, 17, 25, 31, 8, 22] * 6, "zip": ["11", "12", "21", "22", "13"] * 7 + ["11"]})
GRID = {"k": 3, "beta": 0.6, "epsilons": [0.5, 2.0], "penalties": [0.3, 1.0, 4.0]}


def probabilities(**more: object):
    return pp.good_node_probabilities(DATA, hierarchies=HIERARCHIES, **{**GRID, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("interpolation", [None, "levels", ("zip", 1)])
def test_the_grid_adds_up_the_oracles_draw(interpolation: object) -> None:
    found = probabilities(samples=1, interpolation=interpolation, generator=np.random.default_rng(4))
    table = pp.frequency_table(DATA, ["age", "zip"])
    kept = sample(table.counts, 0.6, np.random.default_rng(4))
    rows = [
        tuple(table.dictionary(c)[table.column_codes(c)[line]] for c in ("age", "zip"))
        for line, count in enumerate(kept)
        for _ in range(count)
    ]
    expected = round(0.6 * len(DATA))
    interpolates = {None: lambda node: False, "levels": lambda node: sum(node) % 2 == 1}.get(
        interpolation, lambda node: node[1] == 1
    )
    for epsilon, penalty, probability in found.table.itertuples(index=False):
        mechanism = Mechanism(
            levels=[[partial(h.generalize, level=i) for i in range(h.height + 1)] for h in HIERARCHIES.values()],
            k=3, beta=0.6, epsilon=epsilon, penalty=penalty, expected=expected, interpolates=interpolates,
        )  # fmt: skip
        wanted = 0.0
        for node, share in mechanism.choice(rows).items():
            gone = sum(size for size in mechanism.classes(rows, node).values() if size < 3)
            general = (node[0] / HIERARCHIES["age"].height + node[1] / HIERARCHIES["zip"].height) / 2
            wanted += share if gone / expected < 0.15 and general < 0.6 else 0.0
        assert probability == pytest.approx(wanted, abs=1e-9)
    assert found.table["probability"].max() > 0.1


def test_the_result_is_marked_as_not_private() -> None:
    found = probabilities()
    stated = found.to_dict()
    assert stated["private"] is False
    assert "not private" in stated["note"]
    assert len(stated["grid"]) == 6
    assert found.best in {(cell["epsilon"], cell["penalty"]) for cell in stated["grid"]}
    drawn = json.dumps(found.plot().to_dict())
    assert "Not private" in drawn
    assert "probability" in drawn


@pytest.mark.parametrize(
    "wrong", [{"epsilons": []}, {"penalties": [0]}, {"epsilons": [-1]}, {"samples": 0}, {"k": 1}, {"k": 30}]
)
def test_invalid_arguments_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        probabilities(**wrong)
