"""Data contracts (ODCS 3.1): their policy is checked, their classifications are heard."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import privacy_plugin as pp
from privacy_plugin.errors import PolicyError
from tests.cli.conftest import POLICY
from tests.policy.contracts import contract, rule, visits, write


def test_the_policy_of_a_contract(tmp_path: Path) -> None:
    """A file, a mapping and a text of YAML are the same policy."""
    rest = {key: value for key, value in POLICY.items() if key not in ("dataset", "columns")}
    text = [{"type": "custom", "engine": "privacy_plugin", "implementation": yaml.safe_dump(rest)}]
    expected = pp.Policy.from_dict(POLICY).digest
    for quality in (rule(policy="policy.yaml"), rule(**rest), text):
        path = write(tmp_path, contract(visits(quality), {"name": "other", "properties": []}))
        assert pp.Policy.load(path).digest == expected
        assert pp.Policy.load(f"{path}#visits").digest == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (contract(visits(None)), "has no privacy policy"),
        (contract(visits(rule(police="x"))), "unknown key of the implementation 'police'"),
        (contract(visits(rule(policy="absent.yaml"))), "cannot read the policy"),
        (contract(visits(rule(policy="policy.yaml") * 2)), "has 2 rules of the engine"),
        (contract(visits(rule())), "must be a mapping, such as"),
        (contract(visits(rule(policy="policy.yaml"), remark="confidential")), "classifies column 'remark' as confid"),
        (contract(visits(rule(policy="policy.yaml")), apiVersion="v2.2.0"), "versions v3.x"),
        (contract(visits("all")), "must be a list of mappings"),
        (contract(visits(rule(policy="policy.yaml")), visits(rule(policy="policy.yaml"))), "2 objects to choose"),
    ],
)
def test_wrong_contracts_are_refused(content: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=words):
        pp.Policy.load(write(tmp_path, content))


def test_a_role_of_the_contract_that_the_policy_contradicts(tmp_path: Path) -> None:
    given = visits(rule(policy="policy.yaml"), age="public")
    given["properties"][1]["quality"] = rule(role="insensitive")
    with pytest.raises(PolicyError, match="'age' has the role insensitive in the data contract, and quasi_identifier"):
        pp.Policy.load(write(tmp_path, contract(given)))
    with pytest.raises(PolicyError, match="object of the data contract 'visit'; did you mean 'visits'"):
        pp.Policy.load(f"{tmp_path / 'contract.yaml'}#visit")
