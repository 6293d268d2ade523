"""Data contracts (ODCS 3.x): the policy of an object of the contract, and how it classifies the columns.

An object names its policy in a rule of its `quality`: `type: custom`, `engine: privacy_plugin`,
`implementation: {policy: visits.yaml}`. Instead of the file, the implementation may have the keys of a policy, with the
roles in such rules of the properties: `implementation: {role: quasi_identifier}`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from privacy_plugin.errors import PolicyError, describe_error, unknown_name
from privacy_plugin.policy.strict_yaml import describe_yaml_error, load_yaml
from privacy_plugin.text_files import read_text_file

ENGINE = "privacy_plugin"
_PUBLIC = ("public", "open", "unclassified", "internal")
_KEYS = ("requirements", "anonymize", "packs", "declarations", "valid_for", "count", "people", "population")


@dataclass(frozen=True, kw_only=True)
class ContractObject:
    """A table of a contract: its name, the policy that it names or contains, and what it says of the columns.

    `roles` are the entries of columns as a policy has them; `classifications` those of the columns that are not public.
    """

    name: str
    policy_file: str | None = None
    policy: Mapping[str, Any] | None = None
    roles: Mapping[str, Any] = field(default_factory=dict)
    classifications: Mapping[str, str] = field(default_factory=dict)

    def require_consistent(self, roles: Mapping[str, str]) -> None:
        """Raise if the policy gives a column another role than the contract, or calls a classified one insensitive."""
        for column, entry in self.roles.items():
            role = entry.get("role") if isinstance(entry, Mapping) else entry
            if roles.get(column) != role:
                raise PolicyError(
                    f"column {column!r} has the role {role} in the data contract, and {roles.get(column, 'none')} in "
                    "the policy file; give it one"
                )
        for column, classification in self.classifications.items():
            if roles.get(column) == "insensitive":
                raise PolicyError(
                    f"the data contract classifies column {column!r} as {classification}, and the policy calls it "
                    "insensitive; give it another role, or correct the classification"
                )


def is_contract(loaded: Any) -> bool:
    """Return whether a YAML document is a data contract."""
    return isinstance(loaded, Mapping) and loaded.get("kind") == "DataContract"


def read_contract(path: str | Path) -> Mapping[str, Any]:
    """Read a data contract file."""
    try:
        loaded = load_yaml(read_text_file(path))
    except (OSError, UnicodeDecodeError) as problem:
        raise PolicyError(f"cannot read the data contract {str(path)!r}: {describe_error(problem)}") from None
    except yaml.YAMLError as problem:
        raise PolicyError(f"the contract {str(path)!r} is not valid YAML: {describe_yaml_error(problem)}") from None
    if not is_contract(loaded):
        raise PolicyError(f"{str(path)!r} is not a data contract; it needs kind: DataContract")
    return dict(loaded)


def contract_object(loaded: Mapping[str, Any], *, name: str | None = None, gated: bool = True) -> ContractObject:
    """Return the object with this name, or the only one; `gated`: only objects with a policy count."""
    version = str(loaded.get("apiVersion", ""))
    if not version.startswith("v3."):
        raise PolicyError(f"the contract has apiVersion {version!r}; versions v3.x of ODCS are read")
    objects = [_parse(entry) for entry in _entries(loaded.get("schema"), "schema")]
    found = [each for each in objects if name is None or each.name == name]
    if name is not None and not found:
        raise PolicyError(unknown_name("object of the data contract", name, [each.name for each in objects]))
    if gated:
        found = [each for each in found if each.policy_file or each.policy]
        if not found:
            raise PolicyError(
                "the data contract has no privacy policy; add to the quality of its object: {type: custom, engine: "
                "privacy_plugin, implementation: {policy: visits.yaml}}"
            )
    if len(found) != 1:
        raise PolicyError(f"the data contract has {len(found)} objects to choose from; name one: contract.yaml#visits")
    return found[0]


def _parse(entry: Mapping[str, Any]) -> ContractObject:
    name = str(entry.get("physicalName") or entry.get("name"))
    given = _implementation(entry, f"object {name!r}")
    properties = _entries(entry.get("properties"), f"properties of {name!r}")
    named = {str(each.get("physicalName") or each.get("name")): each for each in properties}
    found = {column: _implementation(each, f"property {column!r}") for column, each in named.items()}
    roles: dict[str, Any] = {column: role for column, role in found.items() if role is not None}
    classifications = {
        column: str(each["classification"])
        for column, each in named.items()
        if each.get("classification") and str(each["classification"]).lower() not in _PUBLIC
    }
    common: dict[str, Any] = {"name": name, "roles": roles, "classifications": classifications}
    if given is None:
        return ContractObject(**common)
    if set(given) == {"policy"} and isinstance(given["policy"], str):
        return ContractObject(policy_file=given["policy"], **common)
    for key in given:
        if key not in _KEYS:
            raise PolicyError(f"object {name!r}: {unknown_name('key of the implementation', str(key), _KEYS)}")
    return ContractObject(policy={"dataset": name, "columns": roles, **given}, **common)


def _implementation(entry: Mapping[str, Any], what: str) -> Mapping[str, Any] | None:
    """Return the implementation of our rule in `quality`: a mapping, or a text of YAML; None without such a rule."""
    rules = [
        each
        for each in _entries(entry.get("quality"), f"quality of {what}")
        if each.get("type") == "custom" and each.get("engine") == ENGINE
    ]
    if not rules:
        return None
    if len(rules) > 1:
        raise PolicyError(f"{what} has {len(rules)} rules of the engine {ENGINE}; write one")
    given = rules[0].get("implementation")
    try:
        given = load_yaml(given) if isinstance(given, str) else given
    except yaml.YAMLError as problem:
        raise PolicyError(f"the implementation of {what} is not valid YAML: {describe_yaml_error(problem)}") from None
    if not isinstance(given, Mapping) or not given:
        raise PolicyError(f"the implementation of {what} must be a mapping, such as {{policy: visits.yaml}}")
    return given


def _entries(given: Any, what: str) -> Sequence[Mapping[str, Any]]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise PolicyError(f"the {what} in the data contract must be a list of mappings")
    return given
