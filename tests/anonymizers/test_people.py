"""`people:` in a policy: one row a person, made before anything is judged."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import PolicyError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.person_rows import one_row_a_person
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import open_source
from tests.sources.loading import ENGINES, LOADERS, target_of, text_table

AGES = {"tree": {"young": ["20", "21"], "old": ["70", "71"]}}
PEOPLE: dict[str, Any] = {"age": "max", "ward": {"last": "day"}, "s": "set", "day": "drop", "n": "count"}


def policy(**changes: Any) -> Policy:
    given: dict[str, Any] = {
        "dataset": "visits",
        "columns": {
            "who": "unit",
            "age": {"role": "quasi_identifier", "hierarchy": AGES},
            "ward": "insensitive",
            "s": "sensitive",
            "day": "insensitive",
            "n": "insensitive",
        },
        "requirements": [{"k_anonymity": {"at_least": 2}}, {"attribute_risk": {"at_most": 0.5}}],
        "people": PEOPLE,
        "anonymize": {"method": "generalize"},
    }
    return Policy.from_dict({**given, **changes})


VISITS = text_table(
    who=["A", "A", "B", "C", "D", "D"],
    age=["20", "21", "20", "70", "71", "71"],
    ward=["x", "y", "x", "y", "x", "z"],
    s=["flu", "cold", "gout", "flu", "acne", "acne"],
    day=["1", "2", "1", "1", "2", "1"],
    n=["", "", "", "", "", ""],
)


def test_what_each_function_makes() -> None:
    rows = [("A", 1, "x", 3), ("A", 2, "y", None), ("A", 3, "y", 3), ("B", None, "z", None), ("B", 5, "w", None)]
    table = FrequencyTable.from_rows(["who", "day", "s", "m"], rows)

    def made(function: Any, column: str) -> list[Any]:
        found = one_row_a_person(table, unit="who", people={column: function})
        return [found.values(row)[1] for row in range(found.distinct)]

    assert made("min", "day") == [1, 5]
    assert made("max", "day") == [3, 5]
    assert made({"first": "day"}, "s") == ["x", "w"]
    assert made({"last": "day"}, "s") == ["y", "w"]
    assert made("most_frequent", "s") == ["y", "w"]  # a tie goes to the smallest value
    assert made("set", "s") == ["x|y", "w|z"]
    assert made("set", "m") == ["3", None]
    assert made("count", "s") == [3, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_people_are_made_anonymized_and_judged(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](VISITS, tmp_path)
    result = anonymize(data, policy=policy(), target=target_of(engine, tmp_path))
    made = open_source(result.made)
    assert made.row_count() == 4
    assert set(made.columns) == {"who", "age", "ward", "s", "n"}
    found = made.frequencies(["who", "age", "ward", "s"])
    assert [found.values(row) for row in range(found.distinct)] == [
        ("A", "young", "y", "cold|flu"),
        ("B", "young", "x", "gout"),
        ("C", "old", "y", "flu"),
        ("D", "old", "x", "acne"),
    ]
    assert policy().judge(result.made).passed


def test_several_rows_a_person_close_the_gate() -> None:
    raw = pd.DataFrame({name: ["1", "1"] for name in ("who", "age", "ward", "s", "n")})
    (problem,) = policy().judge(raw).problems
    assert "one row a person" in problem


def test_everybody_has_flu_in_sets() -> None:
    rows = [("A", "20", "w", "cold|flu", 2), ("B", "20", "w", "flu|gout", 2), ("C", "20", "w", "acne|flu", 2)]
    verdict = policy(requirements=[{"l_diversity": {"at_least": 2}}]).judge(
        pd.DataFrame(rows, columns=["who", "age", "ward", "s", "n"])
    )
    assert [finding.value for finding in verdict.findings] == [1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requirements": [{"t_closeness": {"at_most": 0.5}}]}, "one value a person, but people makes"),
        ({"requirements": [{"l_diversity": {"variant": "entropy", "at_least": 2}}]}, "one value a person"),
        ({"people": {**PEOPLE, "s": "last"}}, "orders the rows"),
        ({"people": {**PEOPLE, "s": "median"}}, "unknown function"),
        ({"people": {"age": "max"}}, "does not say what these columns become: ward, s, day, n"),
        ({"people": {**PEOPLE, "s": "drop"}}, "people drops"),
    ],
)
def test_what_is_refused_when_the_policy_is_loaded(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        policy(**changes)


def test_people_are_in_the_digest() -> None:
    assert policy().digest != policy(people={**PEOPLE, "age": "min"}).digest
