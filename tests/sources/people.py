"""Small tables of people, with what is missing and what is easily mistaken."""

from datetime import date

from tests.sources.awkward import NAN
from tests.sources.loading import Table

PEOPLE = Table(
    kinds={"name": "text", "age": "integer", "score": "float"},
    values={"name": ["Ann", "Bob", None], "age": [30, None, 41], "score": [0.1, 0.30000000000000004, None]},
)
AWKWARD_PEOPLE = Table(
    kinds={"name": "text", "age": "integer", "score": "float", "smoker": "boolean", "born": "date", "rest": "integer"},
    values={
        "name": ["Ann", "ann", "", None, "*", "Ann", "Bob"],
        "age": [30, 41, None, 30, 2**53 + 1, 30, 2**53],
        "score": [0.1, -0.0, NAN, None, 0.0, 0.1, 1e300],
        "smoker": [True, False, None, True, True, True, False],
        "born": [date(1990, 1, 1), None, date(1, 1, 1), date(1990, 1, 1), date(9999, 12, 31), None, None],
        "rest": [1, 2, 3, 4, 5, 1, None],
    },
)
