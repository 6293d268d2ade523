"""Policies: the role and hierarchy of every column, the requirements and the anonymization method."""

import hashlib
import importlib
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from privacy_plugin.anonymizers.base import Anonymizer
from privacy_plugin.anonymizers.registry import DEFAULT, find_anonymizer
from privacy_plugin.errors import ParameterError, PolicyError, describe_error, unknown_name
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.person_rows import parse_people
from privacy_plugin.frequency.treatment import Treatment
from privacy_plugin.gate.verdict import Verdict, judge
from privacy_plugin.history.in_use import using_history
from privacy_plugin.policy.data_contract import ContractObject, contract_object, is_contract
from privacy_plugin.policy.packs import pack_notes, parse_packs
from privacy_plugin.policy.parser import (
    judge_members,
    note_cautions,
    note_uncovered_selection,
    note_weakest_limits,
    note_without_privacy,
    parse_columns,
    parse_count,
    parse_hierarchies,
    parse_method,
    parse_requirements,
    parse_rows_a_person,
    parse_treatments,
    parse_valid_for,
    with_dataset,
    with_releases,
)
from privacy_plugin.policy.presets import find_contradictions
from privacy_plugin.policy.strict_yaml import describe_yaml_error, load_yaml
from privacy_plugin.requirements.clauses import Clause
from privacy_plugin.requirements.requirement import Requirement, with_hierarchies
from privacy_plugin.requirements.rules import Rules, require_countable
from privacy_plugin.text_files import read_text_file

if TYPE_CHECKING:
    from privacy_plugin.history import ReleaseHistory

_LARGEST_POLICY = 20 * 2**20
_KEYS = (
    "version",
    "dataset",
    "columns",
    "requirements",
    "population",
    "anonymize",
    "packs",
    "declarations",
    "valid_for",
    "count",
    "people",
    "rows_a_person",
)

ORIGINAL_NOT_JUDGED = (
    "The original table is not judged in this report: its exact results would tell about single people, and no privacy "
    "budget covers them."
)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The requirements that a table must meet before it is released.

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
    method: str = DEFAULT
    population: str | None = None
    clauses: tuple[Clause, ...] = ()
    notes: tuple[str, ...] = ()
    valid_for: timedelta | None = None
    count: str | None = None
    rows_a_person: int | None = None
    people: Mapping[str, Any] = field(default_factory=dict)
    treatments: Mapping[str, Treatment] = field(default_factory=dict)
    made_elsewhere: bool = False
    """Whether the policy has no `anonymize:`, so that it does not say how the judged table was made."""

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Load a policy file; hierarchy files are relative to its folder.

        The file may be a data contract (ODCS 3.x), of which `contract.yaml#visits` names one object.
        """
        path, wanted = _split_object(path)
        try:
            text = read_text_file(path, largest=_LARGEST_POLICY)
        except (OSError, UnicodeDecodeError) as problem:
            raise PolicyError(f"cannot read the policy {str(path)!r}: {describe_error(problem)}") from None
        except ParameterError as problem:
            raise PolicyError(f"cannot read the policy: {problem}") from None
        try:
            loaded = load_yaml(text)
        except yaml.YAMLError as problem:
            raise PolicyError(f"the policy {str(path)!r} is not valid YAML: {describe_yaml_error(problem)}") from None
        try:
            if is_contract(loaded):
                return cls._from_contract(contract_object(loaded, name=wanted), folder=Path(path).parent)
            if wanted is not None:
                raise PolicyError("'#' names an object of a data contract, and this is a policy; leave it out")
            return cls.from_dict(loaded, folder=Path(path).parent)
        except PolicyError as problem:  # a project has several policies: name the file to edit
            raise PolicyError(f"the policy {str(path)!r}: {problem}") from None

    @classmethod
    def _from_contract(cls, found: ContractObject, *, folder: Path) -> "Policy":
        """Load the policy that an object of a contract names or contains, if it agrees with the contract."""
        if found.policy_file is None:
            policy = cls.from_dict(found.policy, folder=folder)
        else:
            policy = cls.load(folder / found.policy_file)
        found.require_consistent(policy.roles)
        return policy

    @classmethod
    def from_dict(cls, given: Any, *, folder: str | Path = ".") -> "Policy":
        """Build a policy from a mapping; check everything that does not need the table."""
        _require_shape(given)
        dataset = given["dataset"]
        columns = parse_columns(given.get("columns"))
        roles = {name: entry["role"] for name, entry in columns.items()}
        clauses = parse_packs(given.get("packs"), given.get("declarations"))
        used, requirements = parse_requirements(given.get("requirements"), roles, Path(folder), clauses)
        people = parse_people(given.get("people"), roles)
        if people:
            requirements = tuple(judge_members(requirement, people, roles) for requirement in requirements)
        hierarchies = parse_hierarchies(columns, Path(folder))
        method, options = parse_method(given.get("anonymize"), columns)
        made_by = find_anonymizer(method)
        if not people and not made_by.spends_budget and not made_by.keeps_people:  # drawn rows belong to no person
            require_countable(requirements, next((name for name, role in roles.items() if role == "unit"), None))
        resolved = [with_dataset(with_hierarchies(each, hierarchies), dataset) for each in requirements]
        policy = cls(
            dataset=dataset,
            roles=roles,
            requirements=tuple(with_releases(each, resolved, dataset, roles) for each in resolved),
            hierarchies=hierarchies,
            anonymize=options,
            method=method,
            population=given.get("population"),
            clauses=clauses,
            valid_for=parse_valid_for(given.get("valid_for")),
            count=parse_count(given.get("count"), roles),
            rows_a_person=parse_rows_a_person(given.get("rows_a_person"), roles, method),
            people=people,
            treatments=parse_treatments(columns),
            made_elsewhere="anonymize" not in given,
            notes=(
                *pack_notes(given.get("packs") or ()),
                *find_contradictions(used),
                *note_without_privacy(requirements),
                *note_uncovered_selection(requirements),
                *note_weakest_limits(requirements),
                *note_cautions(requirements),
            ),
        )
        _require_treatable(policy)
        if "anonymize" in given:
            policy.anonymizer.require_policy()
        if policy.rules.tables and policy.rules.needs_history and not policy.anonymizer.continues:
            raise PolicyError(
                "requirements over releases follow people, and the tables of this release do not say whose value is "
                "whose; add releases: together to anonymize, so that the history knows it"
            )
        return policy

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that an attacker is assumed to know."""
        return self.source_rules.columns("quasi_identifier")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that an attacker wants to learn."""
        return self.source_rules.columns("sensitive")

    @property
    def digest(self) -> str:
        """SHA-256 of the resolved policy, including the content of its hierarchies and presets."""
        return self.rules.digest

    def _digest(self) -> str:
        requirements = [requirement.to_dict() for requirement in self.requirements]
        resolved = {
            "dataset": self.dataset,
            "roles": dict(self.roles),
            "requirements": sorted(requirements, key=lambda line: json.dumps(line, sort_keys=True)),
            "hierarchies": {name: hierarchy.specification for name, hierarchy in self.hierarchies.items()},
            "anonymize": {**self.anonymize, "method": self.method},
            "population": self.population,
            **({"valid_for": str(self.valid_for)} if self.valid_for else {}),
            **({"count": self.count} if self.count else {}),
            **({"rows_a_person": self.rows_a_person} if self.rows_a_person else {}),
            **({"people": dict(self.people)} if self.people else {}),
            **(
                {"treatments": {name: one.to_dict() for name, one in self.treatments.items()}}
                if self.treatments
                else {}
            ),
            **({"clauses": [asdict(clause) for clause in self.clauses]} if self.clauses else {}),
        }
        text = json.dumps(resolved, sort_keys=True, default=lambda value: f"{type(value).__name__} {value}")
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def source_rules(self) -> Rules:
        """The roles of the columns of the source, which the method anonymizes."""
        return Rules(
            dataset=self.dataset,
            roles={name: role for name, role in self.roles.items() if self.people.get(name) != "drop"},
            requirements=self.requirements,
            digest=self._digest(),
            clauses=self.clauses,
            count=self.count,
            rows_a_person=self.rows_a_person,
            people=self.people,
            treatments=self.treatments,
        )

    @cached_property
    def rules(self) -> Rules:
        """The part of the policy that the gate evaluates: the roles of the columns that the method makes."""
        method = self.anonymizer
        return replace(
            self.source_rules,
            roles=dict(method.released_roles()),
            form=method.form,
            tables=method.tables,
            identity=method.identity,
        )

    @cached_property
    def anonymizer(self) -> Anonymizer:
        """The anonymization method with the options, rules and hierarchies of the policy."""
        return find_anonymizer(self.method)(
            options=self.anonymize, rules=self.source_rules, hierarchies=self.hierarchies
        )

    @property
    def is_randomized(self) -> bool:
        """Whether releases are drawn within a privacy budget, which covers no exact result of the original."""
        return self.anonymizer.spends_budget or self.rules.needs_ledger

    @property
    def needs_plan(self) -> bool:
        """Whether the gate counts a population by the regions of the plan that made the judged table."""
        return self.anonymizer.gate_needs_plan

    def judge(
        self,
        data: Any,
        *,
        population: Any = None,
        partition: str | None = None,
        fingerprint: bool = False,
        portable: bool = True,
        history: "ReleaseHistory | str | None" = None,
        plan: Any = None,
    ) -> Verdict:
        """Judge a table; the gate stays closed, with its reasons, if anything could not be evaluated.

        Requirements over releases use `history`, or the one in use. `plan`: the plan that made the table; only a policy
        that `needs_plan` uses it, after verifying it on the table. With `fingerprint`, the verdict can be certified;
        without `portable`, its certificate would not be recognized in another engine.
        """
        used = plan if self.needs_plan else None
        try:
            self.anonymizer.require_plan(used) if used is not None else None
        except ParameterError as problem:
            return Verdict(
                dataset=self.dataset, policy_digest=self.digest, partition=partition, problems=(str(problem),)
            )
        with nullcontext() if history is None else using_history(history):
            verdict = judge(
                self.rules,
                data,
                population=population,
                partition=partition,
                fingerprint=fingerprint,
                portable=portable,
                hierarchies=self.hierarchies,
                plan=used,
                needs_plan=self.needs_plan,
                made_elsewhere=self.made_elsewhere,
            )
        until = datetime.fromisoformat(verdict.judged_at) + self.valid_for if self.valid_for else None
        notes = (*verdict.notes, *self.notes, *self.anonymizer.notes_on(plan))
        return replace(verdict, notes=notes, valid_until=until.isoformat() if until else None)

    def to_expectation_suite(self, *, name: str | None = None, table: str | None = None) -> Any:
        """Return the policy as a Great Expectations suite; needs the `gx` extra.

        Of a release of several tables, `table` names one (default: the last, which has the sensitive values).
        """
        suites = importlib.import_module("privacy_plugin.expectations.suite")
        return suites.build_suite(self, name=name or f"privacy of {self.dataset}", table=table)


def _split_object(path: str | Path) -> tuple[str | Path, str | None]:
    """Return the file and the object of `contract.yaml#visits`; a file of that very name is meant itself."""
    file, mark, name = str(path).rpartition("#")
    return (file, name) if mark and file and name and not Path(path).exists() else (path, None)


def _require_treatable(policy: Policy) -> None:
    """Raise where a treated column could not be written, judged or compared."""
    if not policy.treatments:
        return
    name = next(iter(policy.treatments))
    if not policy.anonymizer.treats_columns:
        raise PolicyError(f"{policy.method} cannot treat column {name!r}; use generalize_locally or generalize")
    compared = next((n for n in policy.treatments if policy.roles[n] == "quasi_identifier"), None)
    if compared is not None and policy.source_rules.needs_population:
        raise PolicyError(
            f"column {compared!r} is treated, and a requirement compares it with a second table, whose values are not; "
            "use a hierarchy instead of the treatment"
        )
    counted = next((n for n in policy.treatments if policy.roles[n] != "insensitive"), None)
    if counted is not None and policy.source_rules.counted:
        raise PolicyError(
            f"column {counted!r} is treated, and people are counted by {policy.source_rules.counted!r}; make one row a "
            "person with people:"
        )


def _require_shape(given: Any) -> None:
    """Raise unless this is a reviewed policy of version 1 with a dataset name and known keys."""
    if not isinstance(given, Mapping):
        raise PolicyError("a policy must be a mapping with the keys dataset, columns and requirements")
    if "unreviewed" in given:
        raise PolicyError(
            "this policy is an unreviewed proposal; review the role of every column, then delete the line 'unreviewed'"
        )
    for name in given:
        if name not in _KEYS:
            raise PolicyError(unknown_name("policy key", str(name), _KEYS))
    if given.get("version", 1) != 1:
        raise PolicyError(f"policy version {given['version']!r} is unknown; this release reads version 1")
    dataset = given.get("dataset")
    if not isinstance(dataset, str) or not dataset:
        raise PolicyError('a policy needs the name of its dataset as a string: dataset: visits, or in quotes "2024"')
    population = given.get("population")
    if population is not None and not isinstance(population, str):
        raise PolicyError(f"population must be the name of a table, got {type(population).__name__}")
