"""A policy that names regions: found by its own requirement, applied where the data lies, judged like any other."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import InfeasibleError, ParameterError, PolicyError
from privacy_plugin.report import render_report
from privacy_plugin.sources import open_source
from tests.sources.loading import ENGINES, Table, pair, target_of

REGIONS = {"method": "multidimensional_presence"}
AGES = {"tree": {"*": {"young": ["30"], "old": ["41", "55"]}}}
CITIES = {"tree": {"*": {"west": ["Bern", "Genf"], "east": ["Chur"]}}}
KINDS = {"name": "text", "age": "text", "city": "text", "ward": "text"}
PEOPLE = [
    *[("30", "Bern")] * 6,
    *[("30", "Genf")] * 2,
    *[("41", "Chur"), ("55", "Chur"), ("55", "Bern")] * 2,
    *[("55", "Genf")] * 2,
]
VISITS = [PEOPLE[n] for n in (0, 7, 8, 9)]


def policy_dict(**changes: Any) -> dict[str, Any]:
    return {
        "dataset": "visits",
        "columns": {
            "name": "identifier",
            "age": {"role": "quasi_identifier", "hierarchy": AGES},
            "city": {"role": "quasi_identifier", "hierarchy": CITIES},
            "ward": "insensitive",
        },
        "requirements": [{"delta_presence": {"between": [0, 0.4]}}],
        "anonymize": REGIONS,
        **changes,
    }


def policy_of(**changes: Any) -> pp.Policy:
    return pp.Policy.from_dict(policy_dict(**changes))


def table_of(rows: list[tuple[str, str]]) -> Table:
    ages, cities = zip(*rows, strict=True)
    names = [f"MARKER person {n}" for n in range(len(rows))]
    return Table(kinds=KINDS, values={"name": names, "age": ages, "city": cities, "ward": ["a"] * len(rows)})


def frame_of(rows: list[tuple[str, str]]) -> pd.DataFrame:
    return pd.DataFrame(table_of(rows).values)


@pytest.mark.parametrize("engine", ENGINES)
def test_regions_pass_the_gate_on_every_source(engine: str, tmp_path: Path) -> None:
    policy = policy_of()
    visits, register = pair(engine, table_of(VISITS), table_of(PEOPLE), tmp_path)
    raw = policy.judge(frame_of(VISITS).drop(columns="name"), population=frame_of(PEOPLE))
    assert [finding.status for finding in raw.findings] == ["failed"]
    result = anonymize(visits, policy=policy, target=target_of(engine, tmp_path), population=register)
    made = open_source(result.made)
    assert made.columns == ("age", "city", "ward")
    table = made.frequencies(["age", "city"])
    rows = sorted(table.values(row) for row in range(table.distinct) for _ in range(table.counts[row]))
    assert rows == [("30", "west"), ("30", "west"), ("old", "*"), ("old", "*")]
    verdict = policy.judge(made, population=register, fingerprint=True)
    assert verdict.passed, verdict.reasons
    assert verdict.population_fingerprint is not None
    assert (result.method, result.left_out, result.plan, result.cost) == (policy.method, ("name",), None, None)
    regions = result.to_dict()["regions"]
    assert (regions["classes"], regions["maximum"], regions["delta"]) == (2, 0.25, [0, 0.4])
    assert "MARKER" not in str(result.to_dict())
    assert "Chur" not in str(result.to_dict())


def test_the_gate_judges_requirements_that_the_method_ignores() -> None:
    """Regions bound the presence and nothing else: classes may still be smaller than k."""
    policy = policy_of(requirements=[{"delta_presence": {"between": [0, 0.4]}}, {"k_anonymity": {"at_least": 3}}])
    result = anonymize(frame_of(VISITS), policy=policy, population=frame_of(PEOPLE))
    verdict = policy.judge(result.made, population=frame_of(PEOPLE))
    assert [finding.status for finding in verdict.findings] == ["passed", "failed"]


def test_several_presence_bounds_are_met_together() -> None:
    bounds = [{"delta_presence": {"between": [0, 0.4]}}, {"delta_presence": {"between": [0.2, 1]}}]
    policy = policy_of(requirements=bounds)
    result = anonymize(frame_of(VISITS), policy=policy, population=frame_of(PEOPLE))
    assert result.to_dict()["regions"]["delta"] == [0.2, 0.4]
    assert policy.judge(result.made, population=frame_of(PEOPLE)).passed


def test_infeasible_bounds_write_nothing(tmp_path: Path) -> None:
    target = tmp_path / "made.csv"
    target.write_text("old\n1\n")
    frame_of(PEOPLE).to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(InfeasibleError, match="not even the most general table"):
        anonymize(tmp_path / "visits.csv", policy=policy_of(), target=str(target), population=frame_of(PEOPLE))
    assert target.read_text() == "old\n1\n"


def test_a_missing_population_raises_an_error() -> None:
    with pytest.raises(ParameterError, match="compares with the population"):
        anonymize(frame_of(VISITS), policy=policy_of())


def test_regions_cannot_be_saved_as_a_plan() -> None:
    plan = anonymize(frame_of(VISITS), policy=policy_of(anonymize={}), population=frame_of(PEOPLE)).plan
    with pytest.raises(ParameterError, match="saved plan"):
        anonymize(frame_of(VISITS), policy=policy_of(), population=frame_of(PEOPLE), plan=plan)


def test_a_partition_by_a_quasi_identifier_raises_an_error() -> None:
    with pytest.raises(PolicyError, match="compares with the whole population; the partition column 'age'"):
        anonymize(frame_of(VISITS), policy=policy_of(), population=frame_of(PEOPLE), constant="age")
    result = anonymize(frame_of(VISITS), policy=policy_of(), population=frame_of(PEOPLE), constant="ward")
    assert result.to_dict()["regions"]["classes"] == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requirements": [{"k_anonymity": {"at_least": 2}}]}, "add them as a requirement such as delta_presence"),
        (
            {"requirements": [{"delta_presence": {"between": pair}} for pair in ([0, 0.1], [0.2, 0.3])]},
            "no table meets both delta_presence between 0 and 0.1 and delta_presence between 0.2 and 0.3",
        ),
        ({"anonymize": {**REGIONS, "delta": [0, 0.4]}}, "unknown option of multidimensional_presence 'delta'"),
        ({"anonymize": {**REGIONS, "max_suppression": 0.1}}, "unknown option of multidimensional_presence"),
        ({"anonymize": {"method": "multidimensional_presense"}}, "did you mean 'multidimensional_presence'"),
        ({"columns": {"age": {"role": "quasi_identifier", "hierarchy": AGES}, "who": "unit"}}, "one row per person"),
        (
            {
                "requirements": [
                    {"delta_presence": {"between": [0, 0.4]}},
                    {"privacy_budget": {"at_most": 1, "privacy_unit": "row"}},
                ]
            },
            "no generalization meets it",
        ),
    ],
)
def test_a_policy_that_cannot_work_raises_when_loaded(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        policy_of(**changes)


def test_every_quasi_identifier_needs_a_hierarchy() -> None:
    columns = {**policy_dict()["columns"], "city": "quasi_identifier"}
    with pytest.raises(PolicyError, match=r"hierarchy in the policy: city\. For example `city: \{role: quasi_"):
        anonymize(frame_of(VISITS), policy=policy_of(columns=columns), population=frame_of(PEOPLE))


def test_the_report_shows_loss_and_presence_of_regions() -> None:
    policy = policy_of()
    result = anonymize(frame_of(VISITS), policy=policy, population=frame_of(PEOPLE))
    verdict = policy.judge(result.made, population=frame_of(PEOPLE))
    page = render_report(policy=policy, verdicts=[("anonymized", verdict)], plan=result.result)
    assert "What was changed" in page
    assert "0.25 to 0.25 over the people of the population (0 to 0.4 required)" in page
    assert "MARKER" not in page
