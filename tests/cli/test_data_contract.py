"""`check` and `init` read data contracts."""

from pathlib import Path

import yaml

from tests.cli.conftest import Run, people, words
from tests.policy.contracts import contract, rule, visits, write


def test_check_and_init_read_a_contract(tmp_path: Path, run: Run) -> None:
    people().drop(columns="person").to_csv(tmp_path / "visits.csv", index=False)
    path = write(tmp_path, contract(visits(rule(policy="policy.yaml"))))
    assert run("check", tmp_path / "visits.csv", "--policy", path).exit_code == 1
    plain = {"name": "visits", "properties": [{"name": "remark", "classification": "restricted"}]}
    write(tmp_path, contract(plain))
    proposed = run("init", tmp_path / "visits.csv", "--contract", path, "--output", tmp_path / "proposal.yaml")
    assert proposed.exit_code == 0, proposed.output
    text = (tmp_path / "proposal.yaml").read_text()
    assert yaml.safe_load(text)["columns"]["remark"]["role"] == "sensitive"
    assert "hierarchy" not in yaml.safe_load(text)["columns"]["remark"]
    assert "classifies it as restricted" in text
    wrong = run("init", tmp_path / "visits.csv", "--contract", tmp_path / "visits.csv")
    assert wrong.exit_code == 2
    assert "contract" in words(wrong)
