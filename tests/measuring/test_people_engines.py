"""One body for all engines: people with several rows give the same values."""

from fractions import Fraction
from pathlib import Path

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.sources import open_source
from privacy_plugin.sources.protocol import count_people
from tests.oracles.score import scores
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


@pytest.mark.parametrize("engine", ENGINES)
def test_scores_and_presence_of_people_alike(engine: str, tmp_path: Path) -> None:
    """A has x with flu and gout, B x and y with flu and cold: only B and those in y share what follows."""
    data = LOADERS[engine](VISITS, tmp_path)
    weighed = {"q": "quasi_identifier", "s": "sensitive"}
    score = pp.privacy_score(data, attributes=["q", "s"], roles=weighed, unit="person")
    people = [{"x", "flu", "gout"}, {"x", "y", "flu", "cold"}, {"y", "flu"}, {"y", "cold"}]
    assert score.rows == 4
    assert score.value == average_of(people)
    population = LOADERS[engine](text_table(person=list("ABCDE"), q=["x", "y", "y", "y", "x"]), tmp_path)
    with pytest.raises(ParameterError, match="1 people have rows in several"):
        pp.delta_presence(data, population=population, quasi_identifiers=["q"], unit="person")
    single = LOADERS[engine](text_table(person=["A", "A", "C"], q=["x", "x", "y"]), tmp_path)
    present = pp.delta_presence(single, population=population, quasi_identifiers=["q"], unit="person")
    assert (present.minimum, present.maximum) == (Fraction(1, 3), Fraction(1, 2))


def average_of(people: list[set[str]]) -> Fraction:
    """Return the average score where q is known and harmless, s unknown and dangerous."""
    names = sorted(set().union(*people))
    found = scores(
        [frozenset(names.index(name) for name in each) for each in people],
        likelihood=[Fraction(name in "xy") for name in names],
        danger=[Fraction(name not in "xy") for name in names],
    )
    return sum(found, Fraction(0)) / len(found)


@pytest.mark.parametrize("engine", ENGINES)
def test_people_are_counted_in_the_engine(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](VISITS, tmp_path))
    assert count_people(source, "person") == 4
    assert count_people(source, "s") == 3
    without = open_source(LOADERS[engine](text_table(person=["A", None, "B"], q=["x"] * 3), tmp_path))
    with pytest.raises(SourceError, match="missing in 1 rows"):
        pp.k_anonymity(without, quasi_identifiers=["q"], unit="person")
