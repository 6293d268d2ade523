"""The timeline of releases in the report: what each added, who waits, and nothing about single people."""

from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.history import ReleaseHistory
from privacy_plugin.history.in_use import using_history
from privacy_plugin.report import render_report
from tests.history.releases import EIGHT, KEY, policy_of, release_of


def _page(history: ReleaseHistory | None, policy: pp.Policy, table: pd.DataFrame) -> str:
    verdict = policy.judge(table, history=history)
    if history is None:
        return render_report(policy=policy, verdicts=[("today", verdict)])
    with using_history(history):
        return render_report(policy=policy, verdicts=[("today", verdict)])


def test_the_report_shows_what_every_release_added_and_who_waits() -> None:
    policy, history = policy_of({"across_releases": {}}), ReleaseHistory("sqlite://", key=KEY)
    tables = [release_of(["abcd"], EIGHT), release_of(["abcd", "efgh"], EIGHT)]
    assert "no release of this dataset yet" in _page(history, policy, tables[0])
    history.record(tables[0], policy=policy, partition="zqmonday")
    history.record(tables[1], policy=policy)
    history.wait(["zqperson"], dataset=policy.dataset, partition=None)
    page = _page(history, policy, tables[1])
    assert "What every release added" in page
    assert "zqmonday" in page
    assert "2 releases of up to 8 people; the upper part of a bar are people who were in no earlier release, 8" in page
    assert "1 people wait for their first release" in page
    assert "zqperson" not in page
    number = history.reserve(tables[1], policy=policy)
    assert "until a person clears it" in _page(history, policy, tables[1])
    history.clear(number)
    history.purge(before="2999-01-01")
    assert "forgotten since" in _page(history, policy, tables[1])


def test_without_a_history_the_report_has_no_timeline() -> None:
    policy = policy_of()
    assert "Releases so far" not in _page(None, policy, release_of(["abcd"], EIGHT))


def test_a_history_that_cannot_be_read_is_named_in_the_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY", f"sqlite:///{tmp_path / 'nothing.db'}")
    monkeypatch.setenv("PRIVACY_PLUGIN_HISTORY_KEY", "0123456789abcdef0123456789abcdef")
    policy = policy_of({"across_releases": {}})
    page = _page(None, policy, release_of(["abcd"], EIGHT))
    assert "there is no release history at this address" in page
