"""Policies: the role of every column, its hierarchy, and the requirements, in YAML that a person signs off."""

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from privacy_plugin.errors import (
    ColumnError,
    HierarchyError,
    ParameterError,
    PolicyError,
    PrivacyPluginError,
    unknown_name,
)
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.gate import ROLES, WITHHELD, Rules, Verdict, judge, require_one_second_table
from privacy_plugin.hierarchy_specification import hierarchy_from_specification, read_option
from privacy_plugin.limits import KINDS
from privacy_plugin.method import Method
from privacy_plugin.methods import find_method
from privacy_plugin.plain_yaml import fault, read_plain
from privacy_plugin.presets import contradictions, preset
from privacy_plugin.requirement import Requirement, require

_KEYS = ("version", "dataset", "columns", "requirements", "population", "anonymize")
_COLUMN_KEYS = ("role", "hierarchy", "why")


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
            raise PolicyError(f"cannot read the policy {str(path)!r}: {type(problem).__name__}") from None
        try:
            loaded = read_plain(text)
        except yaml.YAMLError as problem:
            raise PolicyError(f"the policy {str(path)!r} is not valid YAML: {fault(problem)}") from None
        return cls.from_dict(loaded, folder=Path(path).parent)

    @classmethod
    def from_dict(cls, given: Any, *, folder: str | Path = ".") -> "Policy":
        """Build a policy from plain data, checking everything that can be checked without the table."""
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
            raise PolicyError("a policy needs the name of its dataset")
        population = given.get("population")
        if population is not None and not isinstance(population, str):
            raise PolicyError(f"population must be the name of a table, not {type(population).__name__}")
        columns = _columns(given.get("columns"))
        roles = {name: entry["role"] for name, entry in columns.items()}
        used, requirements = _requirements(given.get("requirements"), roles, Path(folder))
        hierarchies = _hierarchies(columns, Path(folder))
        method, options = _anonymize(given.get("anonymize"), roles)
        policy = cls(
            dataset=dataset,
            roles=roles,
            requirements=tuple(
                _with_dataset(_with_hierarchies(requirement, hierarchies), dataset) for requirement in requirements
            ),
            hierarchies=hierarchies,
            anonymize=options,
            method=method,
            population=population,
            notes=(*contradictions(used), *_unproven(requirements), *_asking_nothing(requirements)),
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
    def anonymizer(self) -> Method:
        """The policy's method, with all that the policy says."""
        return find_method(self.method)(options=self.anonymize, rules=self.rules, hierarchies=self.hierarchies)

    def judge(
        self, data: Any, *, population: Any = None, partition: str | None = None, fingerprint: bool = False
    ) -> Verdict:
        """Judge a table; the verdict is closed with its reasons whenever anything could not be looked at."""
        verdict = judge(self.rules, data, population=population, partition=partition, fingerprint=fingerprint)
        return _with_notes(verdict, self.notes)

    def to_expectation_suite(self, *, name: str | None = None) -> Any:
        """Return the policy as a Great Expectations suite; needs the `gx` extra."""
        door = importlib.import_module("privacy_plugin.expectations.suite")
        return door.suite_of(self, name=name or f"privacy of {self.dataset}")


def _with_notes(verdict: Verdict, notes: tuple[str, ...]) -> Verdict:
    return replace(verdict, notes=(*verdict.notes, *notes)) if notes else verdict


def _columns(given: Any) -> dict[str, dict[str, Any]]:
    """Read `column: role` or `column: {role: ..., hierarchy: ..., why: ...}`."""
    if not isinstance(given, Mapping) or not given:
        raise PolicyError("a policy needs columns: the role of every column of the table")
    columns: dict[str, dict[str, Any]] = {}
    for name, entry in given.items():
        if not isinstance(name, str) or not name:
            raise PolicyError(f"column name {name!r} is read as {type(name).__name__}; put it in quotes")
        full = dict(entry) if isinstance(entry, Mapping) else {"role": entry}
        for key in full:
            if key not in _COLUMN_KEYS:
                raise PolicyError(unknown_name(f"key of column {name!r}", str(key), _COLUMN_KEYS))
        if full.get("role") not in ROLES:
            raise PolicyError(f"column {name!r}: {unknown_name('role', str(full.get('role')), ROLES)}")
        if "hierarchy" in full and full["role"] != "quasi_identifier":
            raise PolicyError(f"column {name!r} has a hierarchy but is no quasi_identifier")
        columns[name] = full
    roles = [entry["role"] for entry in columns.values()]
    if "quasi_identifier" not in roles:
        raise PolicyError("a policy needs at least one quasi_identifier: what an attacker may know of a person")
    if roles.count("unit") > 1:
        raise PolicyError("a policy has at most one unit column")
    return columns


def _requirements(given: Any, roles: Mapping[str, str], folder: Path) -> tuple[list[str], tuple[Requirement, ...]]:
    """Read the requirements; one that looks at a sensitive column and names none holds for each of them."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise PolicyError("a policy needs requirements; without one nothing could be judged")
    presets: list[str] = []
    requirements: list[Requirement] = []
    for number, line in enumerate(given, start=1):
        if not isinstance(line, Mapping) or len(line) != 1:
            raise PolicyError(f"requirement {number} must be one metric with its limit, or one preset")
        ((name, entry),) = line.items()
        try:
            if name == "preset":
                presets.append(str(entry))
                found: tuple[Requirement, ...] = preset(str(entry))
            else:
                found = (require(str(name), **_limit_line(number, name, entry, folder)),)
        except (ParameterError, ColumnError, HierarchyError, TypeError) as problem:
            raise PolicyError(f"requirement {number}: {problem}") from None
        for requirement in found:
            _require_attributes(requirement, roles)
            requirements.extend(_for_each_sensitive(_with_roles(requirement, roles), roles))
    if all(requirement.definition.kind == "utility" for requirement in requirements):
        raise PolicyError("every requirement of this policy is about usefulness; without another it would open to all")
    require_one_second_table(requirements)
    return presets, tuple(requirements)


def _require_attributes(requirement: Requirement, roles: Mapping[str, str]) -> None:
    """Refuse a line that names columns which are no part of the table, or none where their order matters."""
    if requirement.attributes is None and requirement.definition.ordered:
        raise PolicyError(f"{requirement.metric} needs attributes: its columns, in order")
    for name in requirement.attributes or ():
        if roles.get(name, "identifier") in WITHHELD:
            known = [column for column, role in roles.items() if role not in WITHHELD]
            raise PolicyError(f"{requirement}: {unknown_name('attribute', name, known)}")


def _unproven(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Say so where no requirement limits what an attacker can do."""
    if any(requirement.definition.kind == "privacy" for requirement in requirements):
        return ()
    return (
        "every requirement of this policy is an audit or about usefulness: a pass means that nothing was found, not "
        "that the table is private. What makes a randomized table private is the budget it was made with",
    )


def _asking_nothing(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Say so where a limit is the end of what there is, as it becomes when somebody wants to see the gate open."""
    weakest = [r for r in requirements if r.limit.is_weakest(r.definition)]
    return tuple(dict.fromkeys(f"{requirement} is the weakest limit there is" for requirement in weakest))


def _meant(entry: Any) -> str:
    """Say which limit a misspelt key may stand for."""
    for given in entry if isinstance(entry, Mapping) else ():
        for near in get_close_matches(str(given), KINDS, n=1):
            return f", but {str(given)!r}: did you mean {near!r}?"
    return ""


def _limit_line(number: int, name: Any, entry: Any, folder: Path) -> dict[str, Any]:
    if not isinstance(entry, Mapping) or not any(kind in entry for kind in KINDS):
        meant = _meant(entry)
        raise PolicyError(f"requirement {number}: {name} has no limit{meant}; give one of {', '.join(KINDS)}")
    return {str(key): read_option(str(key), value, folder=folder) for key, value in entry.items()}


def _with_roles(requirement: Requirement, roles: Mapping[str, str]) -> Requirement:
    """Hand the roles of the columns to a metric that weighs columns by them; what the line itself says comes first.

    Written into the requirement, they are the same at every door.
    """
    if "roles" not in requirement.definition.options:
        return requirement
    weighed = {name: role for name, role in roles.items() if role in ("quasi_identifier", "sensitive")}
    if "sensitive" not in weighed.values() and not requirement.options.get("danger"):
        raise PolicyError(f"{requirement} needs a column with the role sensitive: without danger nothing would count")
    own = requirement.options.get("roles") or {}
    return replace(requirement, options={**requirement.options, "roles": {**weighed, **own}})


def _for_each_sensitive(requirement: Requirement, roles: Mapping[str, str]) -> list[Requirement]:
    if "sensitive" not in requirement.definition.roles:
        return [requirement]
    sensitive = [name for name, role in roles.items() if role == "sensitive"]
    if requirement.sensitive is not None:
        if requirement.sensitive not in sensitive:
            raise PolicyError(f"{requirement}: {unknown_name('sensitive column', requirement.sensitive, sensitive)}")
        return [requirement]
    if not sensitive:
        raise PolicyError(f"{requirement} needs a column with the role sensitive")
    return [replace(requirement, sensitive=name) for name in sensitive]


def _with_hierarchies(requirement: Requirement, hierarchies: Mapping[str, Hierarchy]) -> Requirement:
    """Let a metric that compares with a population know the columns' hierarchies: what generalized values mean."""
    if not hierarchies or "hierarchies" not in requirement.definition.options or "hierarchies" in requirement.options:
        return requirement
    return replace(requirement, options={**requirement.options, "hierarchies": hierarchies})


def _with_dataset(requirement: Requirement, dataset: str) -> Requirement:
    """Let a metric that asks the budget ledger ask for the policy's own dataset, and no other's books."""
    if not requirement.definition.needs_ledger:
        return requirement
    own = requirement.options.get("dataset", dataset)
    if own != dataset:
        raise PolicyError(f"{requirement} is about the dataset {own!r}, but the policy is about {dataset!r}")
    return replace(requirement, options={**requirement.options, "dataset": dataset})


def _hierarchies(columns: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, Hierarchy]:
    hierarchies = {}
    for name, entry in columns.items():
        if "hierarchy" in entry:
            try:
                hierarchies[name] = hierarchy_from_specification(entry["hierarchy"], folder=folder)
            except PrivacyPluginError as problem:
                raise PolicyError(f"hierarchy of column {name!r}: {problem}") from None
    return hierarchies


def _anonymize(given: Any, roles: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Read the method and its options."""
    if given is not None and not isinstance(given, Mapping):
        raise PolicyError("anonymize is a mapping: {method: ..., and the options of the method}")
    settings = dict(given or {})
    name = settings.pop("method", "generalize")
    released = [column for column, role in roles.items() if role not in WITHHELD]
    try:
        return str(name), find_method(name).read(settings, released)
    except ParameterError as problem:
        raise PolicyError(f"anonymize: {problem}") from None
