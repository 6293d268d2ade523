"""Packs: every clause has one kind and a source, checks find what the rule forbids, nothing claims compliance."""

import pandas as pd
import pytest
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.cli.app import app
from privacy_plugin.policy.packs import load_pack, pack_names, parse_packs
from privacy_plugin.report import render_report

COLUMNS = {
    "age": "quasi_identifier",
    "zip": "quasi_identifier",
    "admitted": "quasi_identifier",
    "note": "insensitive",
    "illness": "sensitive",
}


def policy_of(*packs, columns=COLUMNS, **more):
    return pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": dict(columns),
            "requirements": [{"k_anonymity": {"at_least": 2}}],
            "packs": list(packs),
            **more,
        }
    )


def frame_of(**changed):
    row = {"age": "[80, 90)", "zip": "021**", "admitted": "2024", "note": "n", "illness": "flu"} | changed
    return pd.DataFrame([row] * 12)


def statuses(verdict):
    return {clause.clause.name: clause.status for clause in verdict.clauses}


@pytest.mark.parametrize("name", pack_names())
def test_every_clause_has_one_kind_and_a_source(name):
    clauses = parse_packs([name], None)
    assert clauses
    assert all(clause.says and clause.source for clause in clauses)
    assert load_pack(name)["confirmed"]
    assert "compliant" not in str(load_pack(name)).lower()


def test_a_clean_table_meets_every_checked_clause():
    verdict = policy_of("hipaa_safe_harbor").judge(frame_of())
    checked = [clause for clause in verdict.clauses if clause.clause.kind == "checked"]
    assert len(checked) == 19
    assert {clause.status for clause in checked} == {"met"}
    assert verdict.passed


@pytest.mark.parametrize(
    ("changed", "clause"),
    [
        ({"age": "93"}, "ages"),
        ({"zip": "02139"}, "zip_digits"),
        ({"zip": "0213*"}, "zip_digits"),
        ({"admitted": "2024-05"}, "dates"),
        ({"admitted": "2024-05-17"}, "dates"),
        ({"admitted": "17.05.2024"}, "dates"),
        ({"note": "jane@example.org"}, "email_addresses"),
        ({"note": "https://example.org/jane"}, "urls"),
        ({"note": "192.168.1.20"}, "ip_addresses"),
        ({"note": "123-45-6789"}, "social_security_numbers"),
    ],
)
def test_a_value_that_the_rule_forbids_closes_the_gate_without_being_shown(changed, clause):
    verdict = policy_of("hipaa_safe_harbor").judge(frame_of(**changed))
    assert statuses(verdict)[clause] == "not met"
    assert not verdict.passed
    assert not any(str(value) in str(verdict.to_dict()) for value in changed.values() if len(str(value)) > 4)


def test_one_category_above_89_is_allowed_and_two_are_not():
    policy = policy_of("hipaa_safe_harbor")
    one = pd.concat([frame_of(), frame_of(age="[90, 110)")])
    two = pd.concat([one, frame_of(age="[100, 110)")])
    assert statuses(policy.judge(one))["ages"] == "met"
    assert statuses(policy.judge(two))["ages"] == "not met"


@pytest.mark.parametrize(
    ("column", "clause"),
    [("patient_name", "names"), ("homePhone", "telephone_numbers"), ("device_id", "device_identifiers")],
)
def test_a_released_column_with_the_name_of_an_identifier_closes_the_gate(column, clause):
    columns = COLUMNS | {column: "insensitive"}
    verdict = policy_of("hipaa_safe_harbor", columns=columns).judge(frame_of().assign(**{column: "x"}))
    assert statuses(verdict)[clause] == "not met"
    assert not verdict.passed
    left_out = policy_of("hipaa_safe_harbor", columns=COLUMNS | {column: "identifier"}).judge(frame_of())
    assert statuses(left_out)[clause] == "met"


def test_a_measured_clause_is_a_requirement_of_the_policy():
    policy = policy_of("cms_cell_11")
    assert "k_anonymity at least 11" in map(str, policy.requirements)
    assert statuses(policy.judge(frame_of()))["minimum_cell"] == "met"
    small = policy.judge(frame_of().head(5))
    assert statuses(small)["minimum_cell"] == "not met"
    assert not small.passed


def test_a_pack_alone_gives_the_requirements():
    policy = pp.Policy.from_dict({"dataset": "v", "columns": dict(COLUMNS), "packs": ["ema_0070"]})
    assert [requirement.metric for requirement in policy.requirements] == ["reidentification_risk"]


def test_declared_clauses_stay_open_until_a_person_answers():
    assert set(statuses(policy_of("wp216").judge(frame_of())).values()) == {"open"}
    answered = policy_of("wp216", declarations={"wp216.linkability": "The register was compared; see the minutes."})
    verdict = answered.judge(frame_of())
    assert statuses(verdict)["linkability"] == "answered"
    assert answered.digest != policy_of("wp216").digest


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"packs": ["hipaa"]}, "hipaa_safe_harbor"),
        ({"packs": "wp216"}, "list of names"),
        ({"declarations": {"wp216.linkage": "x"}}, "linkability"),
        ({"declarations": {"wp216.linkability": ""}}, "mapping of clauses and answers"),
    ],
)
def test_mistakes_are_answered_when_the_policy_is_loaded(more, message):
    with pytest.raises(pp.PrivacyPluginError, match=message):
        pp.Policy.from_dict(
            {"dataset": "v", "columns": dict(COLUMNS), "requirements": [{"k_anonymity": {"at_least": 2}}]}
            | {"packs": ["wp216"]}
            | more
        )


def test_the_report_shows_every_clause_and_claims_no_compliance():
    policy = policy_of("hipaa_safe_harbor", "wp216")
    page = render_report(policy=policy, verdicts=[("as it is", policy.judge(frame_of()))])
    assert "Clauses of the standards" in page
    assert page.count("45 CFR 164.514(b)(2)") >= 21
    assert "compliant" not in page.lower()


def test_init_writes_the_packs_and_their_questions(tmp_path):
    frame_of().to_csv(tmp_path / "visits.csv", index=False)
    arguments = ["init", str(tmp_path / "visits.csv"), "--output", str(tmp_path / "policy.yaml"), "--pack", "wp216"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    text = (tmp_path / "policy.yaml").read_text()
    assert "packs: [wp216]" in text
    assert "#   wp216.linkability:" in text
    assert CliRunner().invoke(app, [*arguments[:4], "--force", "--pack", "nothing"]).exit_code == 2
