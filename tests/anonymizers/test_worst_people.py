"""`suppress: {worst: privacy_score}`: the people at the highest risk go until the limit is met, within a share."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.anonymizers.worst_people import suppress_worst
from privacy_plugin.cli.app import app
from privacy_plugin.errors import InfeasibleError, PolicyError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.orchestration import build_anonymized_asset
from tests.engines import postgresql_database
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release, outcome, released

ROLES = {"age": "quasi_identifier", "sex": "quasi_identifier", "disease": "sensitive"}
INTERVALS = {"intervals": {"start": 20, "stop": 60, "widths": [10, 20]}}


DECLARED: dict[str, Any] = {
    "dataset": "visits",
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": INTERVALS},
        "sex": {"role": "quasi_identifier", "hierarchy": {"flat": {}}},
        "disease": "sensitive",
        "note": "insensitive",
    },
    "requirements": [{"k_anonymity": {"at_least": 3}}, {"privacy_score": {"statistic": "maximum", "below": 0.5}}],
    "anonymize": {"method": "generalize", "max_suppression": 0.2, "suppress": {"worst": "privacy_score"}},
}


def policy(**changes: Any) -> pp.Policy:
    return pp.Policy.from_dict({**DECLARED, "anonymize": {**DECLARED["anonymize"], **changes}})


def people() -> pd.DataFrame:
    """Men of 20 to 29 all have flu; generalizing for k alone leaves that as it is."""
    rows = [(21, "m", "flu")] * 4 + [(22, "f", value) for value in ("flu", "gout", "cold")] * 3
    rows += [(41, sex, value) for sex in "fm" for value in ("flu", "gout", "cold")] * 3
    frame = pd.DataFrame(rows, columns=["age", "sex", "disease"])
    return frame.assign(name=[f"MARKER {number}" for number in range(len(frame))], note=["a", "b"] * 15 + ["a"])


@pytest.mark.parametrize("method", ["generalize", "generalize_locally"])
def test_the_people_whose_disease_follows_are_removed_and_reported(method: str) -> None:
    rules = policy(method=method)
    result = anonymize(people(), policy=rules)
    verdict = rules.judge(result.made)
    assert verdict.passed, verdict.reasons
    assert len(result.made) == 27
    assert isinstance(result.made, pd.DataFrame)
    removed = result.to_dict()["removed"]
    assert (removed["worst"], removed["with_them"], removed["share"]) == (4, 0, 4 / 31)
    assert (removed["highest_before"], removed["highest_after"]) == (0.5, 0.0)
    described = result.describe()
    assert described.released_rows == 27
    assert any("4 removed, and 0 of classes" in text for _, text in described.rows)
    assert described.facts["people removed in all"] == 4
    assert any("people with the highest privacy scores were removed" in note for note in verdict.notes)
    assert "flu" not in str(result.to_dict()) + str(described)


def test_more_people_than_allowed_are_never_removed() -> None:
    with pytest.raises(InfeasibleError, match="max_suppression") as refused:
        anonymize(people(), policy=policy(max_suppression=0.1))
    assert "flu" not in str(refused.value)
    assert anonymize(people(), policy=policy(max_suppression=0.13)).removal is not None


def test_a_class_that_is_too_small_without_its_worst_people_goes_whole() -> None:
    rows = [(1, "x", "flu")] * 2 + [(1, "y", "flu"), (1, "y", "gout")] + [(2, "x", v) for v in ("flu", "gout")] * 2
    table = FrequencyTable.from_rows(["class", "known", "disease"], rows)
    score = pp.require(
        "privacy_score",
        statistic="maximum",
        below=0.5,
        roles={"class": "quasi_identifier", "known": "quasi_identifier", "disease": "sensitive"},
    )
    left, removal = suppress_worst(
        table,
        score=score,
        others=[pp.require("k_anonymity", at_least=4)],
        attributes=["class", "known", "disease"],
        quasi_identifiers=["class"],
        max_suppression=0.5,
    )
    assert (removal.worst, removal.with_them, left.rows, removal.released) == (2, 2, 4, 4)


STATISTICS = st.sampled_from(["maximum", "average", "threshold_count"])
PEOPLE = st.lists(st.tuples(*[st.sampled_from("ab")] * 2, st.sampled_from("xyz")), min_size=1, max_size=9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows=PEOPLE, limit=st.sampled_from([0, 0.3, 0.5]), statistic=STATISTICS)
def test_what_is_left_meets_the_limit_by_the_definition_and_only_worst_people_are_gone(
    rows: list[tuple[str, ...]], limit: float, statistic: str
) -> None:
    columns = ["p", "q", "s"]
    options: dict[str, Any] = {"statistic": statistic}
    if statistic == "threshold_count":
        options |= {"threshold": 0.5}
    roles = {"p": "quasi_identifier", "q": "quasi_identifier", "s": "sensitive"}
    score = pp.require("privacy_score", **options, roles=roles, at_most=limit)
    given_rows = FrequencyTable.from_rows(columns, rows)
    arguments: dict[str, Any] = {"score": score, "others": [], "attributes": columns, "quasi_identifiers": ["p", "q"]}
    try:
        left, removal = suppress_worst(given_rows, **arguments, max_suppression=0.9)
    except InfeasibleError:
        return
    kept = Counter(left.values(line) for line in range(left.distinct) for _ in range(int(left.counts[line])))
    assert kept <= Counter(rows)
    assert removal.released == left.rows == len(rows) - removal.worst
    scores = by_definition(list(kept.elements()))
    found = {
        "maximum": max(scores),
        "average": sum(scores) / len(scores),
        "threshold_count": sum(one >= 0.5 for one in scores),
    }[statistic]
    assert found <= limit + 1e-12
    if not removal.worst:
        assert kept == Counter(rows)


def by_definition(rows: list[tuple[str, ...]]) -> list[float]:
    """The score of each row, by brute force: p and q known and harmless, s unknown and dangerous."""
    found = []
    for row in rows:
        best = 0.0
        for known in ((), (0,), (1,), (0, 1)):
            alike = [other for other in rows if all(other[at] == row[at] for at in known)]
            best = max(best, 0.5 if len({other[2] for other in alike}) == 1 else 0.0)
        found.append(best)
    return found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"suppress": {"worst": "k_anonymity"}}, "worst: privacy_score"),
        ({"suppress": True}, "worst: privacy_score"),
        ({"max_suppression": 0}, "needs max_suppression"),
        ({"choose_by": "quasi_identifiers"}, "choose_by|sensitive"),
        ({"method": "bucketize", "knowledge": 1, "below": 0.5}, "suppress|max_suppression"),
    ],
)
def test_a_step_that_means_nothing_is_refused_when_the_policy_is_loaded(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        policy(**changes)


@pytest.fixture(params=["duckdb", "postgresql"])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipeline]:
    url = f"duckdb:///{tmp_path / 'warehouse' / 'house.db'}"
    if request.param == "postgresql":
        url = postgresql_database().url.render_as_string(hide_password=False)
    with dg.DagsterInstance.ephemeral() as instance:
        made = Pipeline(folder=tmp_path / "records", url=url, instance=instance)
        made.policy = policy()
        made.write("raw", people())
        made.definitions = [
            dg.AssetSpec("raw"),
            build_anonymized_asset(name="without_worst", asset="raw", table="raw", policy=made.policy),
            *gate_and_release(made, "without_worst", table="without_worst"),
        ]
        yield made


def test_dagster_releases_the_table_without_them(pipeline: Pipeline) -> None:
    result = pipeline.run()
    assert result.success, errors(result)
    assert all(outcome(result).values())
    assert released(result)
    assert len(pipeline.read("release") or []) == 27
    (made,) = result.asset_materializations_for_node("without_worst")
    assert made.metadata["people removed at highest risk"].value == 4
    assert "flu" not in str(made.metadata)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_line_says_how_many_people_it_removed(tmp_path: Path, suffix: str) -> None:
    frame, source, output = people(), tmp_path / f"visits.{suffix}", tmp_path / f"release.{suffix}"
    if suffix == "csv":
        frame.to_csv(source, index=False)
    else:
        frame.to_parquet(source, index=False)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(DECLARED))
    arguments = [str(source), "--policy", str(tmp_path / "policy.yaml"), "--output", str(output)]
    report = ["--report", str(tmp_path / "report.html")]
    result = CliRunner().invoke(app, ["anonymize", *arguments, *report])
    assert result.exit_code == 0, result.output
    assert "4 removed, and 0 of classes" in " ".join(result.output.split())
    assert "4 removed, and 0 of classes" in (tmp_path / "report.html").read_text()
    released_rows = pd.read_csv(output) if suffix == "csv" else pd.read_parquet(output)
    assert len(released_rows) == 27


def test_the_oracle_of_scores_agrees_with_the_one_of_this_file() -> None:
    rows = [tuple(row) for row in people()[["age", "sex", "disease"]].itertuples(index=False)]
    roles = {"age": "quasi_identifier", "sex": "quasi_identifier", "disease": "sensitive"}
    frame = pd.DataFrame(rows, columns=list(ROLES))
    found = pp.privacy_score(frame, attributes=list(ROLES), roles=roles).of(frame)
    assert np.allclose(found, by_definition(rows))
