"""Errors of the privacy score; no message quotes a value."""

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, HierarchyError, ParameterError
from tests.metrics.score_frames import VISITS, score


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"danger": {"town": 1}}, ColumnError, "unknown column in danger 'town'"),
        ({"likelihood": {("town", "Bern"): 1}}, ColumnError, "unknown column in likelihood"),
        ({"roles": {"town": "sensitive"}}, ColumnError, "unknown column in roles"),
        ({"bins": {"town": [0, 1]}}, ColumnError, "unknown column in bins"),
        ({"danger": {("city", "Genf"): 1}}, ParameterError, "1 value.* that column 'city' does not have"),
        ({"danger": {"city": {"Genf": 1, "Nyon": 1}}}, ParameterError, "2 value"),
        ({"danger": {"city": 1.5}}, ParameterError, "between 0 and 1, not 1.5"),
        ({"danger": {"city": -0.1}}, ParameterError, "between 0 and 1"),
        ({"danger": {"city": float("nan")}}, ParameterError, "finite"),
        ({"danger": {"city": True}}, ParameterError, "number"),
        ({"danger": {"city": "high"}}, ParameterError, "number"),
        ({"danger": {1: 1}}, ParameterError, "a column or a pair"),
        ({"danger": {("city", "Bern", 1): 1}}, ParameterError, "a column or a pair"),
        ({"danger": 1}, ParameterError, "mapping of columns"),
        ({"danger": {"city": 1, ("city", "Bern"): 1, "disease": {"flu": 1, "otherwise": 2}}}, ParameterError, "not 2"),
        ({"roles": {"city": "identifier"}}, ParameterError, "unknown role"),
        ({"roles": ["city"]}, ParameterError, "mapping"),
        ({"confidence": 0}, ParameterError, "confidence"),
        ({"confidence": 1.01}, ParameterError, "confidence"),
        ({"saturation": 0}, ParameterError, "saturation"),
        ({"statistic": "median"}, ParameterError, "statistic"),
        ({"statistic": "threshold_share"}, ParameterError, "threshold goes with"),
        ({"statistic": "threshold_count"}, ParameterError, "threshold goes with"),
        ({"threshold": 0.5}, ParameterError, "threshold goes with"),
        ({"statistic": "threshold_share", "threshold": 0}, ParameterError, "above 0"),
        ({"budget": 0}, ParameterError, "budget"),
        ({"budget": 2.5}, ParameterError, "budget"),
        ({"bins": {"city": "0, 10"}}, ParameterError, "boundaries"),
        ({"bins": {"city": [10, 0]}}, HierarchyError, "ascending"),
        ({"bins": {"city": [0, 10]}}, HierarchyError, "does not cover 2 value"),
        ({"generalized": {"city": "tree"}}, ParameterError, "a hierarchy"),
        ({"liklihood": {}}, ParameterError, "liklihood"),
    ],
)
def test_invalid_options_raise_without_quoting_a_value(options, error, words):
    with pytest.raises(error, match=words) as refused:
        score(VISITS, **options)
    assert not {"Genf", "Nyon", "Bern", "Basel", "flu"} & set(str(refused.value).replace("'", " ").split())


def test_tables_without_rows_or_attributes_raise():
    with pytest.raises(EmptyTableError):
        score(VISITS[:0])
    with pytest.raises(ColumnError):
        pp.privacy_score(VISITS, attributes=[])
    with pytest.raises(ColumnError):
        pp.privacy_score(VISITS, attributes=["town"])


def test_a_witness_of_an_unknown_person_raises():
    found = score(VISITS)
    for person in (-1, len(found.counts), 0.5, "0"):
        with pytest.raises(ParameterError, match="does not exist"):
            found.witness(person)
