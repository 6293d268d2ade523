"""A release asset records what it releases, and refuses a certificate that the history has overtaken."""

from pathlib import Path

import dagster as dg
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.orchestration import (
    CertificateStoreResource,
    ReleaseHistoryResource,
    build_anonymized_asset,
    build_privacy_checks,
    build_release_asset,
)
from tests.history.releases import EIGHT, policy_of, release_of, together_policy


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


def test_assets_continue_the_releases_of_a_history_resource(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY_KEY", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PRIVACY_PLUGIN_HISTORY", raising=False)
    address = f"sqlite:///{tmp_path / 'history.db'}"
    history = pp.ReleaseHistory(address)
    policy = together_policy()
    first = pd.DataFrame({"person": list("abcdef"), "age": [0, 0, 0, 2, 2, 2], "disease": list("fghfgh")})
    newcomer = pd.DataFrame({"person": ["x"], "age": [0], "disease": ["f"]})
    days = {"today": first}

    @dg.asset
    def visits() -> object:
        return days["today"]

    made = build_anonymized_asset(name="anonymized", asset=visits, policy=policy, history="history")
    gate = build_privacy_checks(asset=made, policy=policy, history="history")
    release = build_release_asset(name="released", asset=made, policy=policy, history="history")
    resources = {
        "certificates": CertificateStoreResource(folder=str(tmp_path / "out")),
        "history": ReleaseHistoryResource(url=address),
        "io_manager": dg.mem_io_manager,
    }

    def run() -> tuple[int, dict]:
        done = dg.materialize(
            [visits, made, gate, release], resources=resources, instance=dg.DagsterInstance.ephemeral()
        )
        (event,) = done.asset_materializations_for_node("anonymized")
        metadata = {name: entry.value for name, entry in event.metadata.items()}
        return len(done.output_for_node("released")), metadata

    assert run()[0] == 6
    days["today"] = pd.concat([first, newcomer])
    rows, metadata = run()
    assert rows == 6
    assert (metadata["people waiting"], metadata["earlier releases"], metadata["dagster/row_count"]) == (1, 1, 6)
    assert [(each.status, each.people) for each in history.releases()] == [("committed", 6)] * 2
    assert history.last_plan(dataset=policy.dataset, partition=None) is not None
    days["today"] = pd.concat([first, newcomer, newcomer.assign(person="y", disease="g")])
    assert run()[0] == 8
    assert history.waiting() == ()
