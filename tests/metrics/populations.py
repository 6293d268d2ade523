"""Random research tables with the population they were drawn from."""

from typing import Any

from hypothesis import strategies as st

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import TableHierarchy

COLUMNS = ["age", "city"]
AGES = {30: ("young", "*"), 41: ("old", "*"), 55: ("old", "*"), None: (None, "*")}
CITIES = {"Bern": ("west", "*"), "Genf": ("west", "*"), "Chur": ("east", "*")}
PATHS: list[dict[Any, tuple[Any, ...]]] = [AGES, CITIES]
HIERARCHIES = {
    "age": TableHierarchy({age: path for age, path in AGES.items() if age is not None}),
    "city": TableHierarchy(CITIES),
}

people = st.tuples(st.sampled_from(list(AGES)), st.sampled_from(list(CITIES)))


@st.composite
def drawn(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """A table and its population."""
    population = draw(st.lists(people, min_size=1, max_size=14))
    inside = draw(st.lists(st.booleans(), min_size=len(population), max_size=len(population)))
    table = [person for person, chosen in zip(population, inside, strict=True) if chosen]
    return table or population[:1], population


def table_of(rows: list[tuple[Any, ...]]) -> FrequencyTable:
    return FrequencyTable.from_rows(COLUMNS, rows)


def at_levels(rows: list[tuple[Any, ...]], levels: tuple[int, int]) -> list[tuple[Any, ...]]:
    """Generalize rows by hand."""
    return [
        tuple(v if n == 0 else path[v][n - 1] for v, path, n in zip(row, PATHS, levels, strict=True)) for row in rows
    ]
