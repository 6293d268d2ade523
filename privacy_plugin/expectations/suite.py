"""A policy as a suite: one expectation a requirement, one for the columns, and the list of what was declared."""

import hashlib
import json
from collections import Counter
from typing import Any

from great_expectations.compatibility.pydantic import ValidationError
from great_expectations.core import ExpectationSuite
from great_expectations.expectations.expectation import Expectation

from privacy_plugin.errors import PolicyError
from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.policy_columns import ExpectTableColumnsToMatchPolicy
from privacy_plugin.policy.policy import Policy
from privacy_plugin.requirements.requirement import Requirement

META = "privacy_plugin"


def suite_of(policy: Policy, *, name: str, population: Any = None) -> ExpectationSuite:
    """Return the policy as an expectation suite, which GX can store, show and run.

    `population` says where an expectation finds the second table (default: what the policy names). The suite's
    `meta` lists what it declares, so that `run_suite` notices when GX has dropped an expectation.

    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"age": "quasi_identifier"},
    ...     "requirements": [{"k_anonymity": {"at_least": 5}}],
    ... })
    >>> [expectation.expectation_type for expectation in suite_of(policy, name="visits").expectations]
    ['expect_table_columns_to_match_policy', 'expect_table_k_anonymity_to_be_at_least']
    """
    expectations: list[Expectation] = [ExpectTableColumnsToMatchPolicy(columns=dict(policy.roles))]
    for requirement in policy.requirements:
        expectation = expectation_of(requirement, policy, population=population)
        if _mark(expectation) not in map(_mark, expectations):
            expectations.append(expectation)
    suite = ExpectationSuite(name=name, expectations=expectations)
    return declare(suite, dataset=policy.dataset, policy_digest=policy.digest)


def expectation_of(requirement: Requirement, policy: Policy, *, population: Any = None) -> PrivacyExpectation:
    """Return one requirement of a policy as an expectation over the policy's columns."""
    definition = requirement.definition
    quasi_identifiers = policy.rules.columns("quasi_identifier")
    roles: dict[str, Any] = {
        "quasi_identifiers": list(quasi_identifiers),
        "attributes": [*quasi_identifiers, *policy.rules.columns("sensitive")],
    }
    arguments = {name: columns for name, columns in roles.items() if name in definition.roles}
    if policy.rules.unit is not None:
        arguments["unit"] = policy.rules.unit
    if definition.needs_population:
        arguments["population"] = population if population is not None else policy.population
    arguments |= requirement.to_dict()[requirement.metric]
    notes = f"From {requirement.origin}." if requirement.origin else None
    try:
        return expectation_class(requirement.metric)(notes=notes, **arguments)
    except ValidationError as problem:
        raise PolicyError(f"{requirement} cannot become an expectation: {_words(problem)}") from None


def expectation_class(metric: str) -> type[PrivacyExpectation]:
    """Return the expectation of a metric."""
    for kind in PrivacyExpectation.__subclasses__():
        if kind.metric == metric:
            return kind
    raise PolicyError(f"{metric} has no expectation; add expectations/{metric}.py")


def declare(suite: ExpectationSuite, **about: Any) -> ExpectationSuite:
    """Write into a suite's `meta` what it declares; call it again after changing the suite on purpose."""
    known = suite.meta.get(META, {})
    suite.meta[META] = {**known, **about, "declared": sorted(map(_mark, suite.expectations))}
    return suite


def declared(suite: ExpectationSuite) -> list[str] | None:
    """Return the marks of the expectations a suite was declared with; None if it never was."""
    about = suite.meta.get(META)
    marks = about.get("declared") if isinstance(about, dict) else None
    return [str(mark) for mark in marks] if isinstance(marks, list) and marks else None


def missing_expectations(suite: ExpectationSuite) -> list[str]:
    """Return the marks of declared expectations that the suite no longer has, dropped or changed."""
    present = Counter(map(_mark, suite.expectations))
    return sorted((Counter(declared(suite) or []) - present).elements())


def _mark(expectation: Expectation) -> str:
    """Identify an expectation by its type and arguments; whatever GX adds in storing it leaves the mark as it is."""
    configuration = expectation.configuration.to_json_dict()
    content = json.dumps(configuration["kwargs"], sort_keys=True, default=str)
    return f"{configuration['type']}:{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _words(problem: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in problem.errors())
