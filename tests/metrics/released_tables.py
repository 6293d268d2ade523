"""Small tables and releases of them, each cell on a level of its own, with what every label covers."""

from typing import Any

from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.frequency import FrequencyTable

COLUMNS = ["age", "city", "ill"]
Row = tuple[Any, ...]

AGES = pp.interval_hierarchy(start=0, stop=80, widths=[20, 40])
CITIES = pp.tree_hierarchy({"south": ["Bern", "Basel"], "north": {"coast": ["Kiel"], "inland": ["Ulm", "Hof"]}})
HIERARCHIES = {"age": AGES, "city": CITIES}

_ages = st.sampled_from([None, 10, 19, 20, 45])
_cities = st.sampled_from(["Bern", "Basel", "Kiel", "Ulm"])
_rows = st.tuples(_ages, _cities, st.sampled_from([0, 1]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """An original, and a release: some rows dropped, every cell of the others on a level of its own."""
    original = draw(st.lists(_rows, min_size=1, max_size=10))
    kept = draw(st.lists(st.sampled_from(original), min_size=1, max_size=len(original)))
    levels = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=len(kept), max_size=len(kept)))
    released = [
        (AGES.generalize(row[0], ages), CITIES.generalize(row[1], cities), row[2])
        for row, (ages, cities) in zip(kept, levels, strict=True)
    ]
    return original, released


def coarser(rows: list[Row]) -> list[Row]:
    """Raise every city of a table of raw values by one level."""
    return [(row[0], CITIES.generalize(row[1], 1), row[2]) for row in rows]


def table_of(rows: list[Row]) -> FrequencyTable:
    return FrequencyTable.from_rows(COLUMNS, rows)


def meaning(original: list[Row]) -> dict[str, Any]:
    """What the oracle needs to know: the leaves of every column, what labels cover, and which carry no information."""
    ages = sorted({row[0] for row in original}, key=lambda age: -1 if age is None else age)
    cities = ["Basel", "Bern", "Hof", "Kiel", "Ulm"]
    ills = sorted({row[2] for row in original})
    bounds = {"[0, 20)": (0, 20), "[20, 40)": (20, 40), "[40, 60)": (40, 60), "[0, 40)": (0, 40), "[40, 80)": (40, 80)}
    of_ages = {age: {age} for age in ages} | {"*": {*ages}}
    for name, (low, high) in bounds.items():
        of_ages[name] = {age for age in ages if age is not None and low <= age < high}
    of_cities = {city: {city} for city in cities} | {"*": {*cities}, "south": {"Bern", "Basel"}}
    of_cities |= {"north": {"Kiel", "Ulm", "Hof"}, "coast": {"Kiel"}, "inland": {"Ulm", "Hof"}}
    return {"leaves": [ages, cities, ills], "covers": [of_ages, of_cities, {ill: {ill} for ill in ills}]}


LOST: list[set[Any]] = [{"*"}, {"*"}, set()]
