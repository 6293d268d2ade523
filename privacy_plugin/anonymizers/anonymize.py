"""Anonymize data by the method that a policy names: one function for the command line, Dagster and Python."""

from typing import TYPE_CHECKING, Any, Protocol

from privacy_plugin.anonymizers.base import Anonymized, Anonymizer, PlanResult, Progress, Request
from privacy_plugin.errors import PolicyError
from privacy_plugin.requirements.rules import structure_problems
from privacy_plugin.sources import Source, open_source

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger


class HasAnonymizer(Protocol):
    """The part of a policy that `anonymize` needs."""

    @property
    def anonymizer(self) -> Anonymizer:
        """The method that the policy names, with the policy's options, rules and hierarchies."""


def anonymize(
    data: Any,
    *,
    policy: HasAnonymizer,
    target: str | None = None,
    final: str | None = None,
    population: Any = None,
    plan: PlanResult | None = None,
    constant: str | None = None,
    ledger: "BudgetLedger | None" = None,
    generator: Any = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Anonymize by the method that the policy names; a failure leaves the target as it was.

    Frames return a new frame; a database table or a file needs the `target` that is replaced. `final` is where the
    table will be moved from there, which is tested before budget is spent. Identifiers are left out; a column without a
    role is refused. `plan`: a saved plan to apply instead of a search. `constant`: a column that has one public value
    throughout, such as a partition's; it is neither generalized nor drawn. A randomized method spends from the `ledger`
    (default: the one in use, see `privacy_plugin.ledger.in_use`) under the policy's dataset. A `generator` is for
    tests; a table that it drew passes no gate.
    """
    source, method = open_source(data), policy.anonymizer
    method.require_usable(constant)
    require_roles(method, source)
    if plan is not None:
        method.require_plan(plan)
    request = Request(
        target=target,
        final=final,
        population=population,
        plan=plan,
        ledger=ledger,
        generator=generator,
        progress=progress,
    )
    return method.hold_constant(constant).run(source, request)


def require_roles(method: Anonymizer, source: Source) -> None:
    """Raise PolicyError if the table's columns are not those of the policy; identifiers are left out and may differ."""
    identifiers = method.rules.columns("identifier")
    problems = structure_problems(method.rules, [name for name in source.columns if name not in identifiers])
    if problems:
        raise PolicyError("; ".join(problems))
