"""A policy as a suite: one expectation per requirement, one for the columns, and a list of all of them."""

import hashlib
import json
from collections import Counter
from typing import Any

from great_expectations.compatibility.pydantic import ValidationError
from great_expectations.core import ExpectationSuite
from great_expectations.expectations.core.expect_table_column_count_to_be_between import (
    ExpectTableColumnCountToBeBetween,
)
from great_expectations.expectations.expectation import Expectation

from privacy_plugin.errors import PolicyError
from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.policy_columns import ExpectTableColumnsToMatchPolicy
from privacy_plugin.policy.policy import Policy
from privacy_plugin.requirements.requirement import Requirement

META = "privacy_plugin"

GUARD_PARAMETER = "run_this_suite_with_privacy_plugin"
"""The parameter of the guard; the error that GX raises without it quotes this name."""

_GUARD_TYPE = "expect_table_column_count_to_be_between"
_GUARD_VALUE = 1
_GUARD_NOTES = (
    "Keeps this suite from passing where privacy_plugin.expectations is not imported: Great Expectations then drops "
    "the privacy expectations, and cannot evaluate this one."
)


def build_suite(policy: Policy, *, name: str, population: Any = None, table: str | None = None) -> ExpectationSuite:
    """Return the policy as an expectation suite that GX can store, show and run.

    `population` is the place of the second table (default: the population of the policy). The suite's `meta` lists its
    expectations, so that `run_suite` detects expectations that GX has dropped; its first expectation is the guard of
    `declare_expectations`. Of a release of several tables, `table` names one (default: the last, which has the
    sensitive values); its expectations are those of the requirements that this table has all columns of.

    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"age": "quasi_identifier"},
    ...     "requirements": [{"k_anonymity": {"at_least": 5}}],
    ... })
    >>> [expectation.expectation_type for expectation in build_suite(policy, name="visits").expectations[1:]]
    ['expect_table_columns_to_match_policy', 'expect_table_k_anonymity_to_be_at_least']
    """
    tables = policy.rules.tables
    if policy.rules.added is not None:
        raise PolicyError(
            "an expectation cannot verify that the rows that are not added are those of the source; use the gate"
        )
    chosen = list(tables)[-1] if tables and table is None else table
    columns = (
        policy.rules.roles if chosen is None else {column: policy.rules.roles[column] for column in tables[chosen]}
    )
    expectations: list[Expectation] = [ExpectTableColumnsToMatchPolicy(columns=dict(columns))]
    for requirement in policy.requirements:
        if chosen is not None and _table_of(requirement, policy) != chosen:
            continue
        expectation = build_expectation(requirement, policy, population=population)
        if _digest(expectation) not in map(_digest, expectations):
            expectations.append(expectation)
    suite = ExpectationSuite(name=name, expectations=expectations)
    return declare_expectations(suite, dataset=policy.dataset, policy_digest=policy.digest)


def _table_of(requirement: Requirement, policy: Policy) -> str:
    """Return the last table of the release that has the columns of a requirement."""
    known = {*policy.rules.known_to(requirement)}
    if "sensitive" in requirement.definition.roles:
        known |= {*policy.rules.columns("sensitive")}
    having = [name for name, columns in policy.rules.tables.items() if known <= {*columns}]
    return having[-1] if having else list(policy.rules.tables)[-1]


def build_expectation(requirement: Requirement, policy: Policy, *, population: Any = None) -> PrivacyExpectation:
    """Return one requirement of a policy as an expectation over the policy's columns."""
    definition = requirement.definition
    quasi_identifiers = policy.rules.known_to(requirement)
    roles: dict[str, Any] = {
        "quasi_identifiers": list(quasi_identifiers),
        "attributes": [*quasi_identifiers, *policy.rules.columns("sensitive")],
    }
    arguments = {name: columns for name, columns in roles.items() if name in definition.roles}
    if policy.rules.people and definition.kind != "utility" and not definition.counts_people:
        raise PolicyError(f"{requirement}: an expectation cannot check that every person has one row; use the gate")
    if policy.rules.unit is not None and definition.counts_people:
        arguments["unit"] = policy.rules.unit
        arguments |= {"count": policy.rules.count} if policy.rules.count else {}
    if definition.needs_population:
        arguments["population"] = population if population is not None else policy.population
    arguments |= requirement.to_dict()[requirement.metric]
    notes = f"From {requirement.origin}." if requirement.origin else None
    try:
        return expectation_class(requirement.metric)(notes=notes, **arguments)
    except ValidationError as problem:
        raise PolicyError(f"cannot build an expectation from {requirement}: {_format_errors(problem)}") from None


def expectation_class(metric: str) -> type[PrivacyExpectation]:
    """Return the expectation class of a metric."""
    for kind in PrivacyExpectation.__subclasses__():
        if kind.metric == metric:
            return kind
    raise PolicyError(f"{metric} has no expectation; add expectations/{metric}.py")


def declare_expectations(suite: ExpectationSuite, **about: Any) -> ExpectationSuite:
    """List the expectations of a suite in its `meta`, and add the guard; call it again after changing the suite.

    The guard is an expectation of GX itself with a parameter that only `runner_parameters` supplies. GX drops
    expectations that are not imported and reports success on the rest; the guard is among the rest, and without its
    parameter GX raises SuiteParameterError.
    """
    if not any(map(is_guard, suite.expectations)):
        limit = {"$PARAMETER": GUARD_PARAMETER}
        guard = ExpectTableColumnCountToBeBetween(
            min_value=limit, max_value=None, notes=_GUARD_NOTES, meta={META: "guard"}
        )
        suite.expectations = [guard, *suite.expectations]
    known = suite.meta.get(META, {})
    declared = sorted(_digest(expectation) for expectation in suite.expectations if not is_guard(expectation))
    suite.meta[META] = {**known, **about, "declared": declared}
    return suite


def is_guard(expectation: Expectation) -> bool:
    """Return whether an expectation is the guard of `declare_expectations`."""
    configuration = expectation.configuration
    return configuration.type == _GUARD_TYPE and configuration.kwargs == {"min_value": {"$PARAMETER": GUARD_PARAMETER}}


def is_result_of_guard(result: Any) -> bool:
    """Return whether a result of GX is that of the guard; GX has replaced its parameter there."""
    configuration = result.expectation_config
    marked = (configuration.meta or {}).get(META) == "guard"
    return configuration.type == _GUARD_TYPE and marked and configuration.kwargs.get("min_value") == _GUARD_VALUE


def runner_parameters(suite: ExpectationSuite) -> dict[str, Any]:
    """Return the parameter of the guard for one complete suite, to pass as `expectation_parameters` to GX.

    Raises PolicyError if the suite lost a declared expectation or its guard.

    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"age": "quasi_identifier"},
    ...     "requirements": [{"k_anonymity": {"at_least": 5}}],
    ... })
    >>> runner_parameters(build_suite(policy, name="visits"))
    {'run_this_suite_with_privacy_plugin': 1}
    """
    problem = incomplete(suite)
    if problem is not None:
        raise PolicyError(problem)
    return {GUARD_PARAMETER: _GUARD_VALUE}


def incomplete(suite: ExpectationSuite) -> str | None:
    """Return why GX may not run a suite: nothing declared, declared expectations missing, or no guard."""
    digests = declared_expectations(suite)
    if digests is None:
        return (
            "the suite does not declare its expectations; build it with build_suite(policy), or call "
            "declare_expectations(suite)"
        )
    lost = missing_expectations(suite)
    if lost:
        return (
            f"{len(lost)} of {len(digests)} declared expectations are not in the suite: they were changed or removed, "
            "or the suite was loaded before privacy_plugin.expectations was imported; import it first, and load again"
        )
    if not any(map(is_guard, suite.expectations)):
        return "the suite has no guard; call declare_expectations(suite) and store it again"
    return None


def declared_expectations(suite: ExpectationSuite) -> list[str] | None:
    """Return the digests of the declared expectations; None if the suite declares none."""
    about = suite.meta.get(META)
    digests = about.get("declared") if isinstance(about, dict) else None
    return [str(digest) for digest in digests] if isinstance(digests, list) and digests else None


def missing_expectations(suite: ExpectationSuite) -> list[str]:
    """Return the digests of declared expectations that are missing from the suite, dropped or changed."""
    present = Counter(map(_digest, suite.expectations))
    return sorted((Counter(declared_expectations(suite) or []) - present).elements())


def _digest(expectation: Expectation) -> str:
    """Return type and hash of the arguments; they stay the same when GX stores and loads the expectation."""
    configuration = expectation.configuration.to_json_dict()
    content = json.dumps(configuration["kwargs"], sort_keys=True, default=str)
    return f"{configuration['type']}:{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _format_errors(problem: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in problem.errors())
