"""Random tables for the class metrics: few values, so that classes have company, and some of them missing."""

from typing import Any

from hypothesis import strategies as st

from privacy_plugin.frequency import FrequencyTable

COLUMNS = ["age", "city", "disease"]
QUASI_IDENTIFIERS = ["age", "city"]

_ages = st.sampled_from([None, 30, 41])
_cities = st.sampled_from(["Bern", "Basel", "*"])
_diseases = st.sampled_from([None, "angina", "cold", "flu", "gastritis"])

rows = st.lists(st.tuples(_ages, _cities, _diseases), min_size=1, max_size=24)


def table_of(given: list[tuple[Any, ...]]) -> FrequencyTable:
    """Return a table with one person a row."""
    return FrequencyTable.from_rows(COLUMNS, given)


def merge_first_two_classes(given: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Give the people of two classes the same quasi-identifiers, as a generalization would."""
    first, *others = sorted({row[:2] for row in given}, key=str)
    if not others:
        return given
    return [(*first, row[2]) if row[:2] == others[0] else row for row in given]
