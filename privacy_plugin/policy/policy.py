"""Policies: the role of every column, its hierarchy, and the requirements, in YAML that a person signs off."""

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from privacy_plugin.anonymizers.base import Anonymizer
from privacy_plugin.anonymizers.registry import find_anonymizer
from privacy_plugin.errors import PolicyError, describe_error, unknown_name
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.gate.verdict import Verdict, judge
from privacy_plugin.policy.parser import (
    asking_nothing,
    read_columns,
    read_hierarchies,
    read_method,
    read_requirements,
    unpaid,
    unproven,
    with_dataset,
)
from privacy_plugin.policy.presets import contradictions
from privacy_plugin.policy.strict_yaml import fault, read_plain
from privacy_plugin.requirements.requirement import Requirement, with_hierarchies
from privacy_plugin.requirements.rules import Rules

_KEYS = ("version", "dataset", "columns", "requirements", "population", "anonymize")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a table must meet before it may leave the house.

    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"age": "quasi_identifier", "disease": "sensitive"},
    ...     "requirements": [{"k_anonymity": {"at_least": 5}}],
    ... })
    >>> policy.quasi_identifiers
    ('age',)
    """

    dataset: str
    roles: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    anonymize: Mapping[str, Any] = field(default_factory=dict)
    method: str = "generalize"
    population: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Read a policy file; hierarchy files are found next to it."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise PolicyError(f"cannot read the policy {str(path)!r}: {describe_error(problem)}") from None
        try:
            loaded = read_plain(text)
        except yaml.YAMLError as problem:
            raise PolicyError(f"the policy {str(path)!r} is not valid YAML: {fault(problem)}") from None
        try:
            return cls.from_dict(loaded, folder=Path(path).parent)
        except PolicyError as problem:  # a project has several, and the file is where it is mended
            raise PolicyError(f"the policy {str(path)!r}: {problem}") from None

    @classmethod
    def from_dict(cls, given: Any, *, folder: str | Path = ".") -> "Policy":
        """Build a policy from plain data, checking everything that can be checked without the table."""
        _require_shape(given)
        dataset = given["dataset"]
        columns = read_columns(given.get("columns"))
        roles = {name: entry["role"] for name, entry in columns.items()}
        used, requirements = read_requirements(given.get("requirements"), roles, Path(folder))
        hierarchies = read_hierarchies(columns, Path(folder))
        method, options = read_method(given.get("anonymize"), roles)
        policy = cls(
            dataset=dataset,
            roles=roles,
            requirements=tuple(
                with_dataset(with_hierarchies(requirement, hierarchies), dataset) for requirement in requirements
            ),
            hierarchies=hierarchies,
            anonymize=options,
            method=method,
            population=given.get("population"),
            notes=(
                *contradictions(used),
                *unproven(requirements),
                *unpaid(requirements),
                *asking_nothing(requirements),
            ),
        )
        if "anonymize" in given:
            policy.anonymizer.require_policy()
        return policy

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns an attacker is assumed to know."""
        return self.rules.columns("quasi_identifier")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns an attacker would like to know."""
        return self.rules.columns("sensitive")

    @property
    def digest(self) -> str:
        """Identify what the policy says, the content of its hierarchies and presets included."""
        return self.rules.digest

    def _digest(self) -> str:
        asked = [requirement.to_dict() for requirement in self.requirements]
        resolved = {
            "dataset": self.dataset,
            "roles": dict(self.roles),
            "requirements": sorted(asked, key=lambda line: json.dumps(line, sort_keys=True)),
            "hierarchies": {name: hierarchy.specification for name, hierarchy in self.hierarchies.items()},
            "anonymize": {**self.anonymize, **({"method": self.method} if self.method != "generalize" else {})},
            "population": self.population,
        }
        text = json.dumps(resolved, sort_keys=True, default=lambda value: f"{type(value).__name__} {value}")
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def rules(self) -> Rules:
        """The part of the policy that the gate judges by, settled together with the digest that records name."""
        return Rules(
            dataset=self.dataset, roles=dict(self.roles), requirements=self.requirements, digest=self._digest()
        )

    @cached_property
    def anonymizer(self) -> Anonymizer:
        """The policy's method, with all that the policy says."""
        return find_anonymizer(self.method)(options=self.anonymize, rules=self.rules, hierarchies=self.hierarchies)

    def judge(
        self, data: Any, *, population: Any = None, partition: str | None = None, fingerprint: bool = False
    ) -> Verdict:
        """Judge a table; the verdict is closed with its reasons whenever anything could not be looked at."""
        verdict = judge(
            self.rules,
            data,
            population=population,
            partition=partition,
            fingerprint=fingerprint,
            hierarchies=self.hierarchies,
        )
        return replace(verdict, notes=(*verdict.notes, *self.notes))

    def to_expectation_suite(self, *, name: str | None = None) -> Any:
        """Return the policy as a Great Expectations suite; needs the `gx` extra."""
        door = importlib.import_module("privacy_plugin.expectations.suite")
        return door.suite_of(self, name=name or f"privacy of {self.dataset}")


def _require_shape(given: Any) -> None:
    """Refuse what is no reviewed policy of this version, with a name."""
    if not isinstance(given, Mapping):
        raise PolicyError("a policy is a mapping with the keys dataset, columns and requirements")
    if "unreviewed" in given:
        raise PolicyError(
            "this policy is a proposal that nobody has reviewed; read the role of every column, then remove "
            "the line 'unreviewed'"
        )
    for name in given:
        if name not in _KEYS:
            raise PolicyError(unknown_name("policy key", str(name), _KEYS))
    if given.get("version", 1) != 1:
        raise PolicyError(f"policy version {given['version']!r} is unknown; this release reads version 1")
    dataset = given.get("dataset")
    if not isinstance(dataset, str) or not dataset:
        raise PolicyError('a policy needs the name of its dataset, as text: dataset: visits, or in quotes "2024"')
    population = given.get("population")
    if population is not None and not isinstance(population, str):
        raise PolicyError(f"population must be the name of a table, not {type(population).__name__}")
