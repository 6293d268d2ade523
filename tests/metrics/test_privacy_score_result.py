"""The result of the score: people, combinations of columns, progress, and no value unless revealed."""

import json
from fractions import Fraction

import pandas as pd

import privacy_plugin as pp
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.measuring.measure import reporting
from tests.metrics.score_frames import ROLES, VISITS, score, wide


def test_no_value_of_the_table_is_shown_unless_revealed():
    frame = pd.DataFrame(
        {"city": ["marker-a", "marker-b", "marker-b"], "disease": ["marker-c", "marker-d", "marker-d"]}
    )
    found = score(frame, danger={("disease", "marker-c"): 0.5, "city": {"marker-a": 0.1}})
    witness = found.witness(0)
    for text in (repr(found), json.dumps(found.to_dict()), repr(witness), str(witness), json.dumps(witness.to_dict())):
        assert "marker" not in text
    assert "marker-a" in json.dumps(found.to_dict(reveal=True))
    assert "marker" in witness.words(reveal=True)
    assert "marker" in json.dumps(witness.to_dict(reveal=True))
    assert "marker" not in repr(found.combinations)
    assert found.to_dict()["parameters"]["danger"] == {"disease": "by value", "city": "by value"}
    requirement = pp.require("privacy_score", below=0.1, danger={("disease", "marker-c"): 0.5})
    assert "marker" not in str(requirement)
    assert "marker" not in json.dumps(requirement.judge(frame, attributes=["city", "disease"]).to_dict())


def test_combinations_name_columns_worst_first():
    found = score(VISITS, roles=ROLES)
    assert [(one.known, one.inferred, one.weight, one.people) for one in found.combinations] == [
        (("city",), ("disease",), 0.5, 2)
    ]


def test_people_are_counted_not_distinct_rows():
    table = FrequencyTable.from_rows(
        ["city", "disease"], [("Bern", "flu"), ("Basel", "flu"), ("Basel", "gout")], [8, 1, 1]
    )
    found = pp.privacy_score(table, attributes=["city", "disease"], roles=ROLES)
    assert (found.value, found.threshold_count(0.5), found.rows) == (Fraction(2, 5), 8, 10)


def test_progress_is_reported():
    seen = []
    pp.privacy_score(wide(), attributes=list(wide()), progress=lambda share, steps: seen.append((share, steps)))
    assert seen[-1][0] == 1
    heard = []
    with reporting(lambda share, steps: heard.append((share, steps))):
        pp.require("privacy_score", below=0.5).judge(wide(), attributes=list(wide()))
    assert heard == seen
    pp.privacy_score(wide(), attributes=list(wide()))
    assert heard == seen
