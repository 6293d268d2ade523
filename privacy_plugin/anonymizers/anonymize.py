"""Anonymize data by the method that a policy names: one function for the command line, Dagster and Python."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from privacy_plugin.anonymizers.base import Anonymized, Anonymizer, PlanResult, Progress, Request
from privacy_plugin.errors import PolicyError
from privacy_plugin.frequency.person_rows import one_row_a_person
from privacy_plugin.frequency.table import FrequencyTable
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
    partition: str | None = None,
    ledger: "BudgetLedger | None" = None,
    generator: Any = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Anonymize by the method that the policy names; a failure leaves the target as it was.

    Frames return a new frame; a database table or a file needs the `target` that is replaced. `final` is where the
    table will be moved from there, which is tested before budget is spent. Identifiers are left out; a column without a
    role is refused. `plan`: a saved plan to apply instead of a search. `constant`: a column that has one public value
    throughout, such as a partition's; it is neither generalized nor drawn. `partition`: the key of the partition, which
    continues its own earlier releases. A randomized method spends from the `ledger`
    (default: the one in use, see `privacy_plugin.ledger.in_use`) under the policy's dataset. A `generator` is for
    tests; a table that it drew passes no gate.
    """
    source, method = open_source(data), policy.anonymizer
    method.require_usable(constant)
    if not method.rules.people:
        require_roles(method, source)
    if plan is not None:
        method.require_plan(plan)
    request = Request(
        target=target,
        final=final,
        population=population,
        plan=plan,
        partition=partition,
        ledger=ledger,
        generator=generator,
        progress=progress,
    )
    if method.rules.people:
        return _anonymize_people(source, method.hold_constant(constant), request)
    return method.hold_constant(constant).run(source, request)


def _anonymize_people(source: Source, method: Anonymizer, request: Request) -> Anonymized:
    """Make one row a person, anonymize those rows, and write them in the engine of the source."""
    from privacy_plugin.sources.drawn_rows import build_arrow_table  # imports Arrow

    people = open_source(build_arrow_table(person_rows(source, method)))
    require_roles(method, people)
    result = method.run(people, replace(request, target=None, final=None))
    made = open_source(result.made)
    rows = made.frequencies(made.columns)
    return replace(result, made=source.write_rows(rows, target=request.target, verify=lambda copy: None))


def person_rows(source: Source, method: Anonymizer) -> FrequencyTable:
    """Return one row for every person of the source, as `people` of the policy says."""
    people, unit = method.rules.people, str(method.rules.unit)
    for name in source.columns:
        if name not in method.rules.roles and name not in people:
            raise PolicyError(f"column {name!r} has no role in the policy; add it to columns")
    orders = [order for each in people.values() if isinstance(each, Mapping) for order in each.values()]
    read = [name for name, function in people.items() if function not in ("drop", "count")]
    return one_row_a_person(source.frequencies(list(dict.fromkeys([unit, *read, *orders]))), unit=unit, people=people)


def require_roles(method: Anonymizer, source: Source) -> None:
    """Raise PolicyError if the table's columns are not those of the policy; identifiers are left out and may differ."""
    identifiers = method.rules.columns("identifier")
    problems = structure_problems(method.rules, [name for name in source.columns if name not in identifiers])
    if problems:
        raise PolicyError("; ".join(problems))
