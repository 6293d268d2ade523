"""Parse the sections of a policy: columns, requirements, hierarchies and the method."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from privacy_plugin.anonymizers.base import Anonymizer
from privacy_plugin.anonymizers.registry import DEFAULT, find_anonymizer
from privacy_plugin.errors import (
    ColumnError,
    HierarchyError,
    ParameterError,
    PolicyError,
    PrivacyPluginError,
    unknown_name,
)
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.people_table import COUNTS
from privacy_plugin.frequency.person_rows import SEPARATOR
from privacy_plugin.frequency.treatment import Treatment
from privacy_plugin.metrics.registry import find_metric
from privacy_plugin.policy.packs import pack_requirements
from privacy_plugin.policy.presets import preset
from privacy_plugin.requirements.clauses import Clause
from privacy_plugin.requirements.limits import KINDS, fitting_kinds
from privacy_plugin.requirements.requirement import Requirement, require
from privacy_plugin.requirements.rules import ROLES, WITHHELD, require_one_second_table
from privacy_plugin.requirements.specification import hierarchy_from_specification, parse_option

_PERIODS = ("hours", "days", "weeks")
_COLUMN_KEYS = ("role", "hierarchy", "weight", "keep", "treatment", "why")


def parse_columns(given: Any) -> dict[str, dict[str, Any]]:
    """Parse `column: role` or `column: {role: ..., hierarchy: ..., weight: ..., keep: ..., why: ...}`."""
    if not isinstance(given, Mapping) or not given:
        raise PolicyError(
            "a policy needs columns, with a role for every column of the table: columns: {age: quasi_identifier, ...}"
        )
    columns: dict[str, dict[str, Any]] = {}
    for name, entry in given.items():
        if not isinstance(name, str) or not name:
            raise PolicyError(f"column name {name!r} must be a string, got {type(name).__name__}; put it in quotes")
        full = dict(entry) if isinstance(entry, Mapping) else {"role": entry}
        for key in full:
            if key not in _COLUMN_KEYS:
                raise PolicyError(unknown_name(f"key of column {name!r}", str(key), _COLUMN_KEYS))
        _require_role(name, full.get("role"))
        for key in ("hierarchy", "weight", "keep"):
            if key in full and full["role"] != "quasi_identifier":
                raise PolicyError(
                    f"column {name!r} has the key {key}, but its role is not quasi_identifier; remove {key}"
                )
        columns[name] = full
    roles = [entry["role"] for entry in columns.values()]
    if "quasi_identifier" not in roles:
        raise PolicyError(
            "a policy needs at least one column with the role quasi_identifier: attributes that an attacker may know"
        )
    if roles.count("unit") > 1:
        raise PolicyError("a policy has at most one column with the role unit")
    return columns


def _require_role(column: str, given: Any) -> None:
    """Raise unless the role is one of ROLES."""
    if given is None:
        raise PolicyError(f"column {column!r} has no role; give it one of {', '.join(ROLES)}")
    if not isinstance(given, str):
        raise PolicyError(
            f"the role of column {column!r} must be a string: {', '.join(ROLES)}. Write the column, then its role: "
            "age: quasi_identifier"
        )
    if given not in ROLES:
        raise PolicyError(f"column {column!r}: {unknown_name('role', given, ROLES)}")


def parse_count(given: Any, roles: Mapping[str, str]) -> str | None:
    """Parse `count: sequences` or `count: people`, which say how the people of a unit column are counted."""
    if given is None:
        return None
    if given not in COUNTS:
        raise PolicyError(
            "count must be sequences (an attacker may know all rows of a person) or people (one row only)"
        )
    if "unit" not in roles.values():
        raise PolicyError("count says how people with several rows are counted; give a column the role unit")
    return str(given)


def parse_rows_a_person(given: Any, roles: Mapping[str, str], method: str) -> int | None:
    """Parse `rows_a_person: 3`: at most how many rows of a person a randomized method draws from."""
    if given is None:
        return None
    if type(given) is not int or given < 1:
        raise PolicyError(
            "rows_a_person must be a whole number of at least 1: at most how many rows of a person are used"
        )
    if "unit" not in roles.values():
        raise PolicyError(
            "rows_a_person limits the rows of a person; give the column that identifies people the role unit"
        )
    if not find_anonymizer(method).spends_budget:
        raise PolicyError(f"rows_a_person is for methods that draw at random; {method} uses all rows")
    return given


def judge_members(requirement: Requirement, people: Mapping[str, Any], roles: Mapping[str, str]) -> Requirement:
    """Judge a sensitive column of sets by its members; raise where a requirement needs one value a person."""
    used = {name for name, role in roles.items() if role in ("quasi_identifier", "sensitive")}
    used = {str(requirement.sensitive)} if "sensitive" in requirement.definition.roles else used
    dropped = [name for name in used if people.get(name) == "drop"]
    if dropped and "sensitive" in requirement.definition.roles:
        raise PolicyError(f"{requirement} needs the column {dropped[0]!r}, which people drops")
    sets = [name for name in used if people.get(name) == "set" and roles[name] == "sensitive"]
    if not sets or not {"sensitive", "attributes"} & set(requirement.definition.roles):
        return requirement
    options = {**requirement.options, "separator": SEPARATOR}
    try:
        requirement.definition.require_options(options)
    except ParameterError:
        raise PolicyError(
            f"{requirement} is defined for one value a person, but people makes {sets[0]!r} a set; use attribute_risk "
            "or l_diversity (distinct), or another function such as most_frequent"
        ) from None
    return replace(requirement, options=options)


def parse_requirements(
    given: Any, roles: Mapping[str, str], folder: Path, clauses: Sequence[Clause] = ()
) -> tuple[list[str], tuple[Requirement, ...]]:
    """Parse the requirements, and add those of measured clauses.

    A requirement about a sensitive column that names none applies to each sensitive column.
    """
    packed = pack_requirements(clauses)
    if given is None and packed:
        given = ()
    if not isinstance(given, Sequence) or isinstance(given, str) or not (given or packed):
        raise PolicyError("a policy needs a list of requirements: requirements: [k_anonymity: {at_least: 5}, ...]")
    presets: list[str] = []
    requirements: list[Requirement] = []
    for number, line in enumerate(given, start=1):
        if not isinstance(line, Mapping) or len(line) != 1:
            raise PolicyError(
                f"requirement {number} must be one metric with its limit, or one preset: k_anonymity: {{at_least: 5}}, "
                "or preset: k5"
            )
        ((name, entry),) = line.items()
        try:
            if name == "preset":
                presets.append(str(entry))
                found: tuple[Requirement, ...] = preset(str(entry))
            else:
                found = (require(str(name), **_parse_limit_line(str(name), entry, folder)),)
        except (ParameterError, ColumnError, HierarchyError, TypeError) as problem:
            raise PolicyError(f"requirement {number}: {problem}") from None
        for requirement in found:
            _require_attributes(requirement, roles)
            requirements.extend(_for_each_sensitive(_with_roles(requirement, roles), roles))
    for requirement in packed:
        requirements.extend(_for_each_sensitive(_with_roles(requirement, roles), roles))
    if all(requirement.definition.kind == "utility" for requirement in requirements):
        raise PolicyError("every requirement of this policy is about utility; add a requirement about privacy")
    require_one_second_table(requirements)
    return presets, tuple(requirements)


def _require_attributes(requirement: Requirement, roles: Mapping[str, str]) -> None:
    """Raise if a requirement names columns that are not released, or names none although their order matters."""
    if requirement.attributes is None and requirement.definition.ordered:
        raise PolicyError(f"{requirement.metric} needs attributes: a list of columns, in order")
    for name in requirement.attributes or ():
        if roles.get(name, "identifier") in WITHHELD:
            known = [column for column, role in roles.items() if role not in WITHHELD]
            raise PolicyError(f"{requirement}: {unknown_name('attribute', name, known)}")


def note_without_privacy(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Return a note if no requirement limits what an attacker can do."""
    if any(requirement.definition.kind == "privacy" for requirement in requirements):
        return ()
    return (
        "every requirement of this policy is an audit or about utility: a pass means that no problem was found, not "
        "that the table is private. A randomized table is private by the budget it was made with",
    )


def note_uncovered_selection(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Return a note if a policy has a budget and requirements that compare with the exact original.

    If no table passes that repeats a person's record, a record in a table that passed is known to belong to no person:
    such a gate reveals more than the epsilon of the mechanism.
    """
    comparing = dict.fromkeys(r.metric for r in requirements if r.definition.second_table == "original")
    if not comparing or not any(requirement.definition.needs_ledger for requirement in requirements):
        return ()
    return (
        f"the budget does not cover which tables pass: {', '.join(comparing)} compares with the exact original, so "
        "that a table that passed may reveal more about its rows than epsilon allows; a limit that fails only for "
        "a defect reveals least",
    )


def note_weakest_limits(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Return a note for every limit that every table meets, such as k_anonymity at least 1."""
    weakest = [r for r in requirements if r.limit.is_weakest(r.definition, r.options)]
    return tuple(dict.fromkeys(f"{requirement} is the weakest limit: every table meets it" for requirement in weakest))


def note_cautions(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Return what the metrics declare about requirements with these options, such as limits on an average."""
    declared = {str(r): r.definition.caution(r.options) for r in requirements if r.definition.caution is not None}
    return tuple(f"{requirement}: {caution}" for requirement, caution in declared.items() if caution)


def _near_limit_hint(entry: Any) -> str:
    """Return a hint if a key is a misspelled limit."""
    for given in entry if isinstance(entry, Mapping) else ():
        for near in get_close_matches(str(given), KINDS, n=1):
            return f", but {str(given)!r}: did you mean {near!r}?"
    return ""


def _parse_limit_line(name: str, entry: Any, folder: Path) -> dict[str, Any]:
    definition = find_metric(name)
    fitting = fitting_kinds(definition)
    if definition.implied is not None and (entry is None or isinstance(entry, Mapping)):
        return {str(key): parse_option(str(key), value, folder=folder) for key, value in (entry or {}).items()}
    if isinstance(entry, Mapping):
        definition.refuse_symbols(map(str, entry))
    if not isinstance(entry, Mapping) or not any(kind in entry for kind in KINDS):
        ways = " or ".join(f"{name}: {{{kind}: {'[low, high]' if kind == 'between' else '...'}}}" for kind in fitting)
        raise ParameterError(f"{name} has no limit{_near_limit_hint(entry)}; write {ways}")
    return {str(key): parse_option(str(key), value, folder=folder) for key, value in entry.items()}


def _with_roles(requirement: Requirement, roles: Mapping[str, str]) -> Requirement:
    """Add the roles of the columns to a metric that weighs columns by role; roles of the requirement itself win.

    As a part of the requirement they are the same in Python, Great Expectations and Dagster.
    """
    if "roles" not in requirement.definition.options:
        return requirement
    weighed = {name: role for name, role in roles.items() if role in ("quasi_identifier", "sensitive")}
    if "sensitive" not in weighed.values() and not requirement.options.get("danger"):
        raise PolicyError(
            f"{requirement} needs a column with the role sensitive, or danger weights: without them every score is 0"
        )
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


def with_releases(
    requirement: Requirement, requirements: Sequence[Requirement], dataset: str, roles: Mapping[str, str]
) -> Requirement:
    """Set what a requirement over releases is about: the dataset, and the other requirements of the policy."""
    definition = requirement.definition
    if not definition.needs_history:
        return requirement
    unit = next((name for name, role in roles.items() if role == "unit"), None)
    if definition.follows_people and unit is None:
        raise PolicyError(
            f"{requirement.metric} follows people through releases: it needs a column with the role unit. For a table "
            "without one use differences"
        )
    if not definition.follows_people and unit is not None:
        raise PolicyError(f"{requirement.metric} is for tables without a unit; use across_releases, which is stricter")
    if {"dataset", "requirements", "sensitive_columns"} & set(requirement.options):
        raise PolicyError(f"{requirement.metric}: the policy supplies the options; write {requirement.metric}: {{}}")
    options: dict[str, Any] = {**requirement.options, "dataset": dataset}
    if "sensitive_columns" in definition.options:
        options["sensitive_columns"] = [name for name, role in roles.items() if role == "sensitive"]
    if "requirements" in definition.options:
        others = tuple(other for other in requirements if not other.definition.needs_history)
        options["requirements"] = tuple(other for other in others if other.definition.kind == "privacy")
        try:
            definition.require_options(options)
        except ParameterError as problem:
            raise PolicyError(f"{requirement.metric}: {problem}") from None
    return replace(requirement, options=options)


def with_dataset(requirement: Requirement, dataset: str) -> Requirement:
    """Set the dataset of a requirement on the privacy budget to the policy's dataset; raise if it names another."""
    if not requirement.definition.needs_ledger:
        return requirement
    own = requirement.options.get("dataset", dataset)
    if own != dataset:
        raise PolicyError(f"{requirement} names the dataset {own!r}, but the dataset of the policy is {dataset!r}")
    return replace(requirement, options={**requirement.options, "dataset": dataset})


def parse_hierarchies(columns: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, Hierarchy]:
    """Parse the hierarchies of the columns."""
    hierarchies = {}
    for name, entry in columns.items():
        if "hierarchy" in entry:
            try:
                hierarchies[name] = hierarchy_from_specification(entry["hierarchy"], folder=folder)
            except PrivacyPluginError as problem:
                raise PolicyError(f"hierarchy of column {name!r}: {problem}") from None
    return hierarchies


def parse_treatments(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Treatment]:
    """Parse the treatments of numeric columns, such as {top: 90} or {microaggregate: 5}."""
    found = {}
    for name, entry in columns.items():
        if "treatment" not in entry:
            continue
        if entry["role"] in WITHHELD:
            raise PolicyError(f"column {name!r} has a treatment but is never released; remove the treatment")
        try:
            found[name] = Treatment.read(entry["treatment"])
        except ParameterError as problem:
            raise PolicyError(f"treatment of column {name!r}: {problem}") from None
    return found


def parse_method(given: Any, columns: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Parse the anonymization method, its options, and the wishes of single columns, which become options of it."""
    if given is not None and not isinstance(given, Mapping):
        raise PolicyError("anonymize must be a mapping: {method: ..., and the options of the method}")
    settings = dict(given or {})
    name = settings.pop("method", DEFAULT)
    released = [column for column, entry in columns.items() if entry["role"] not in WITHHELD]
    try:
        method = find_anonymizer(name)
        if not {"weights", "keep"}.isdisjoint(settings):
            raise ParameterError("write the wishes of a column at the column: weight: 3, keep: {at_most_level: 1}")
        if "loss" in settings and "loss" not in method.policy_options():
            raise ParameterError("loss is an option of full-domain generalization; add method: generalize")
        return str(name), method.read_options({**settings, **_column_wishes(columns, method)}, released)
    except ParameterError as problem:
        raise PolicyError(f"anonymize: {problem}") from None


def _column_wishes(columns: Mapping[str, Mapping[str, Any]], method: type[Anonymizer]) -> dict[str, Any]:
    """Return the options `weights` and `keep` from the keys `weight` and `keep` of the columns."""
    weights = {name: entry["weight"] for name, entry in columns.items() if "weight" in entry}
    levels = {name: _highest_level(name, entry["keep"]) for name, entry in columns.items() if "keep" in entry}
    wishes = {name: wish for name, wish in (("weights", weights), ("keep", levels)) if wish}
    for name in wishes:
        if name not in method.policy_options():
            key = "weight" if name == "weights" else name
            raise ParameterError(f"{method.name} cannot follow {key} of a column; use method: {DEFAULT}")
    return wishes


def _highest_level(column: str, given: Any) -> Any:
    if not isinstance(given, Mapping) or set(given) != {"at_most_level"}:
        raise ParameterError(f"keep of column {column!r} must be written as keep: {{at_most_level: 1}}")
    return given["at_most_level"]


def parse_valid_for(given: Any) -> timedelta | None:
    """Parse how long a certificate is valid.

    >>> parse_valid_for("90 days")
    datetime.timedelta(days=90)
    """
    if given is None:
        return None
    number, _, unit = given.partition(" ") if isinstance(given, str) else ("", "", "")
    name = unit if unit.endswith("s") else f"{unit}s"
    if not (number.isascii() and number.isdigit()) or len(number) > 5 or not int(number) or name not in _PERIODS:
        raise PolicyError("valid_for must be a number of hours, days or weeks: valid_for: 90 days")
    return timedelta(**{name: int(number)})
