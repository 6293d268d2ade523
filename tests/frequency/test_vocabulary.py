"""Vocabularies: words are found however they are written, and every table is whole."""

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.vocabulary import OTHER, vocabulary_hierarchy, vocabulary_names
from privacy_plugin.requirements.specification import hierarchy_from_specification


@pytest.mark.parametrize(
    ("word", "groups"),
    [
        ("Viet Nam", ("South-eastern Asia", "Asia")),
        ("vietnam", ("South-eastern Asia", "Asia")),
        ("VN", ("South-eastern Asia", "Asia")),
        ("United-States", ("Northern America", "Americas")),
        ("Côte d'Ivoire", ("Western Africa", "Africa")),
        ("cote divoire", ("Western Africa", "Africa")),
        ("Trinidad & Tobago", ("Caribbean", "Americas")),
        ("Atlantis", (OTHER, OTHER)),
    ],
)
def test_a_country_is_found_however_it_is_written(word, groups):
    assert vocabulary_hierarchy("countries").path(word) == (*groups, "*")


@pytest.mark.parametrize("name", vocabulary_names())
def test_every_vocabulary_coarsens_and_is_read_back(name):
    hierarchy = vocabulary_hierarchy(name)
    words = tuple(word for word in ("anything", None, "*", "US", "M", "May", "married"))
    assert hierarchy.levels(words).height == hierarchy.height
    assert hierarchy_from_specification(hierarchy.specification).height == hierarchy.height


def test_countries_are_complete():
    """ISO 3166-1 lists 249 countries and areas; each has a two-letter and a three-letter code."""
    from privacy_plugin.frequency.vocabulary import _read

    codes = [word for word in _read("countries") if len(word) in (2, 3)]
    assert len({word for word in codes if len(word) == 2}) >= 249
    assert len({word for word in codes if len(word) == 3}) >= 249


def test_an_unknown_vocabulary_is_refused_with_a_hint():
    with pytest.raises(ParameterError, match="countries"):
        vocabulary_hierarchy("contries")


def test_a_vocabulary_generalizes_a_table_by_policy():
    policy = pp.Policy.from_dict(
        {
            "dataset": "people",
            "columns": {"home": {"role": "quasi_identifier", "hierarchy": {"vocabulary": "countries"}}},
            "requirements": [{"k_anonymity": {"at_least": 2}}],
        }
    )
    import pandas as pd

    people = pd.DataFrame({"home": ["Peru", "Chile", "Chad", "Gabon"]})
    plan = pp.generalize(people, hierarchies=policy.hierarchies, requirements=policy.requirements)
    assert plan.apply(people)["home"].tolist() == ["South America", "South America", "Middle Africa", "Middle Africa"]
