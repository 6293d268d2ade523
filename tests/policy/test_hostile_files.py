"""Small files that would never end or fill the memory: refused at once, with an error of ours."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, ParameterError, PolicyError, PrivacyPluginError

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "aliases are not supported"),
        ("x: " + "[" * 5_000 + "]" * 5_000, "levels of nesting"),
        ("{" * 5_000, "levels of nesting"),
    ],
)
def test_yaml_that_explodes_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    with pytest.raises(PolicyError, match=message):
        pp.Policy.load(tmp_path / "policy.yaml")


def test_a_policy_of_absurd_size_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "policy.yaml").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(PolicyError, match="at most"):
        pp.Policy.load(tmp_path / "policy.yaml")


def test_intervals_without_end_are_refused() -> None:
    with pytest.raises(ParameterError, match="more than 100,000 intervals"):
        pp.interval_hierarchy(start=0, stop=10**15, widths=[1])


def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(HierarchyError, match="not a regular file"):
            pp.read_hierarchy(path)
        with pytest.raises(PolicyError, match="not a regular file"):
            pp.Policy.load(path)
        with pytest.raises(ParameterError, match="not a regular file"):
            pp.load_plan(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": -5},
        {"rows": 0},
        {"suppressed": 10**30},
        {"loss": float("inf")},
        {"loss": float("nan")},
        {"loss": 10**400},
        {"rows": float("inf")},
        {"levels": {"zip": 10**400}},
        {"max_suppression": float("nan")},
    ],
)
def test_a_plan_of_nonsense_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    frame = pd.DataFrame({"zip": ["8001", "8002", "8003"]})
    hierarchies = {"zip": pp.mask_hierarchy(length=4)}
    plan = pp.generalize(frame, hierarchies=hierarchies, requirements=[pp.require("k_anonymity", at_least=2)])
    (tmp_path / "plan.json").write_text(json.dumps({**plan.to_dict(), **changes}))
    with pytest.raises(PrivacyPluginError):
        pp.load_plan(tmp_path / "plan.json")


def test_a_plan_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("[" * 200_000)
    with pytest.raises(ParameterError, match="cannot read the plan"):
        pp.load_plan(tmp_path / "plan.json")
