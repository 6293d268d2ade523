"""A release asset records what it releases, and refuses a certificate that the history has overtaken."""

from pathlib import Path

import dagster as dg
import pytest

import privacy_plugin as pp
from privacy_plugin.orchestration import CertificateStoreResource, build_privacy_checks, build_release_asset
from tests.history.releases import EIGHT, policy_of, release_of


def test_a_release_is_recorded_and_a_second_one_that_exposes_a_person_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"sqlite:///{tmp_path / 'history.db'}"
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY", address)
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY_KEY", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    history = pp.ReleaseHistory(address)
    policy = policy_of({"across_releases": {}})
    tables = {"people": "abcd"}

    @dg.asset
    def visits() -> object:
        return release_of([tables["people"]], EIGHT)

    gate = build_privacy_checks(asset=visits, policy=policy)
    release = build_release_asset(name="released", asset=visits, policy=policy)
    resources = {"certificates": CertificateStoreResource(folder=str(tmp_path / "out"))}

    def run() -> bool:
        instance = dg.DagsterInstance.ephemeral()
        done = dg.materialize([visits, gate, release], instance=instance, resources=resources, raise_on_error=False)
        return done.success

    assert run()
    assert [(each.status, each.people) for each in history.releases()] == [("committed", 4)]
    tables["people"] = "abcde"
    assert not run()
    assert len(history.releases()) == 1
