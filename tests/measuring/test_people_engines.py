"""One body for all engines: people with several rows give the same values."""

from fractions import Fraction
from pathlib import Path

import pytest

import privacy_plugin as pp
from tests.sources.loading import ENGINES, LOADERS, text_table

VISITS = text_table(
    person=["A", "A", "B", "B", "B", "C", "D"],
    q=["x", "x", "x", "y", "y", "y", "y"],
    s=["flu", "gout", "flu", "cold", "cold", "flu", "cold"],
)


@pytest.mark.parametrize("engine", ENGINES)
def test_people_are_counted_alike(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](VISITS, tmp_path)
    roles = {"quasi_identifiers": ["q"], "unit": "person"}
    assert [pp.k_anonymity(data, **roles, count=count).value for count in ("sequences", "people")] == [1, 2]
    secret = {**roles, "sensitive": "s"}
    assert pp.attribute_risk(data, **secret).value == 1
    assert pp.attribute_risk(data, **secret, count="people").value == 1
    assert pp.l_diversity(data, **secret, count="people").value == 1
    other = {**roles, "quasi_identifiers": ["s"]}
    assert pp.reidentification_risk(data, **other, count="people").value == Fraction(1)
