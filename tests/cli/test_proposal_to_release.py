"""From `init` to a release of Adult, editing nothing but the roles that `init` leaves open: worth releasing."""

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from tests.cli.conftest import Run

ROOT = Path(os.environ.get("PRIVACY_PLUGIN_DATA", Path(__file__).parents[3] / "shared" / "data"))
ADULT = ROOT / "adult" / "adult_complete_45222.csv"
KNOWN = ("workclass", "relationship", "hours-per-week")
NOT_KNOWN = ("fnlwgt", "capital-gain", "capital-loss")


@pytest.mark.slow
def test_the_release_of_adult_keeps_every_column(run: Run, tmp_path: Path) -> None:
    if not ADULT.exists():
        pytest.skip("Adult not found; set PRIVACY_PLUGIN_DATA to the folder that holds adult/")
    policy, release = tmp_path / "policy.yaml", tmp_path / "release.csv"
    assert run("init", ADULT, "--output", policy).exit_code == 0
    text = re.sub(r"^unreviewed.*\n", "", policy.read_text(), flags=re.MULTILINE)
    for name in KNOWN:
        text = re.sub(rf'^  # ("?{name}"?: {{role)', r"  \1", text, flags=re.MULTILINE)
    for name in NOT_KNOWN:
        text = re.sub(rf'^  # ("?{name}"?): <role>', r"  \1: insensitive", text, flags=re.MULTILINE)
    policy.write_text(text)
    made = run("anonymize", ADULT, "--policy", policy, "--output", release, "--json")
    assert made.exit_code == 0, made.stderr
    document = json.loads(made.stdout)
    assert not [note for note in document["verdict"]["notes"] if "carries no information" in note]
    rules = pp.Policy.load(policy)
    columns = rules.quasi_identifiers
    assert len(columns) == 11
    released, original = pd.read_csv(release, dtype=str), pd.read_csv(ADULT, dtype=str)
    assert all(released[name].nunique() > 1 for name in columns)
    assert pp.k_anonymity(released, quasi_identifiers=columns).value >= 5
    assert pp.l_diversity(released, quasi_identifiers=columns, sensitive="income").value >= 2
    found = pp.usability(released, original=original, columns=columns, hierarchies=rules.hierarchies)
    assert sum(found.columns.values()) / len(columns) <= 0.20
