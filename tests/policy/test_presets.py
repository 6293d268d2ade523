"""Presets: requirements with their source."""

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import PolicyError
from privacy_plugin.policy.presets import find_contradictions, preset, preset_names
from tests.policies import changed


def test_presets_have_a_source():
    assert set(preset_names()) >= {"k5", "k11", "risk_0.09"}
    assert [str(r) for r in preset("k5")] == ["k_anonymity at least 5"]
    assert [str(r) for r in preset("risk_0.09")] == ["reidentification_risk(highest) at most 0.09"]
    for name in preset_names():
        assert all(requirement.origin.startswith(f"preset {name}: ") for requirement in preset(name))
    with pytest.raises(PolicyError, match="valid: k11, k5"):
        preset("notes")


def test_contradicting_presets_are_noted_and_the_stricter_one_decides():
    policy = pp.Policy.from_dict(changed(requirements=[{"preset": "k11"}, {"preset": "risk_0.09"}]))
    (note,) = policy.notes
    assert "1/11" in note
    assert "12" in note
    assert not pp.Policy.from_dict(changed(requirements=[{"preset": "k11"}])).notes
    assert find_contradictions(["risk_0.09", "k5"]) == ()
    for people, passed in ((11, False), (12, True)):
        frame = pd.DataFrame({"age": 30, "zip": "1", "disease": "flu", "income": 1, "note": ""}, index=range(people))
        verdict = policy.judge(frame)
        assert verdict.passed is passed
        assert note in verdict.notes
        assert verdict.findings[0].passed
