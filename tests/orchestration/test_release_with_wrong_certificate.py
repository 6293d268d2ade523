"""A certificate of another gate, or one that was changed, releases nothing."""

from dataclasses import replace
from typing import Any

import dagster as dg
import pytest

from privacy_plugin.orchestration import build_release_asset
from privacy_plugin.orchestration.resources import file_name
from privacy_plugin.policy.policy import Policy
from tests.certificates import TEST_KEY
from tests.orchestration.pipeline import (
    Pipeline,
    judging,
    policy_dict,
    safe_rows,
    unsafe_rows,
)
from tests.orchestration.refused_release import GATE, refuses, rewrite, the_certificate


def test_a_certificate_of_another_policy_is_rejected(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    stricter = Policy.from_dict(policy_dict(requirements=[{"k_anonymity": {"at_least": 4}}]))
    pipeline.definitions[-1] = build_release_asset(name="release", asset="judged", policy=stricter, table="judged")
    refuses(pipeline, "another policy digest")


def test_a_certificate_of_another_dataset_is_rejected(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    other = Policy.from_dict(policy_dict(dataset="staff"))
    pipeline.definitions[-1] = build_release_asset(name="release", asset="judged", policy=other, table="judged")
    refuses(pipeline, "no certificate for")
    store = pipeline.certificates.store(GATE)
    store.path("staff").write_text(the_certificate(pipeline).read_text())
    refuses(pipeline, "another dataset")


def test_a_certificate_of_another_gate_is_rejected(pipeline: Pipeline) -> None:
    judging(pipeline, unsafe_rows())
    assert not pipeline.run("judged").success
    passed = replace(pipeline.policy.judge(safe_rows(), fingerprint=True))
    pipeline.certificates.store(dg.AssetKey("other")).record(passed)
    other = pipeline.folder / "certificates" / file_name(dg.AssetKey("other"))
    (source,) = other.glob("*.json")
    target = pipeline.certificates.store(GATE).path("visits")
    target.write_text(source.read_text())
    refuses(pipeline, "the data changed after its privacy checks")


@pytest.mark.parametrize(
    "content",
    [
        {"passed": True, "problems": [], "findings": []},
        {"policy_digest": "0" * 64},
        {"fingerprint": None},
        {"judged_at": "2020-01-01T00:00:00+00:00"},
    ],
)
def test_a_changed_certificate_is_rejected(pipeline: Pipeline, content: dict[str, Any]) -> None:
    judging(pipeline, unsafe_rows() if "passed" in content else safe_rows())
    pipeline.run("judged")
    rewrite(the_certificate(pipeline), **content)
    refuses(pipeline, "was changed after it was issued")


def test_a_certificate_signed_with_another_key_is_rejected(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY[::-1])
    refuses(pipeline, "signed with another key")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"content": 1, "signature": "x"}', "no json"])
def test_a_malformed_certificate_is_rejected(pipeline: Pipeline, text: str) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    the_certificate(pipeline).write_text(text)
    refuses(pipeline)
