"""Classes that follow from sensitive values: what they tell, and how to choose classes without looking."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization.class_conditions import least_size
from privacy_plugin.requirements.requirement import Requirement, with_hierarchies

ChooseBy = Literal["everything", "quasi_identifiers"]
CHOICES: tuple[ChooseBy, ...] = ("everything", "quasi_identifiers")

_TELLS = (
    "which can tell something about them to an attacker who knows this program; choose_by: quasi_identifiers avoids it"
)
OBSERVED_NOTE = (
    "labels are observed: each one tells which values occur in its class, such as the smallest and the largest number"
)
SEARCH_NOTE = f"the search for classes looks at sensitive values, {_TELLS}"


def shaped_note(shaped: int, classes: int) -> str:
    """Say how many classes follow from sensitive values."""
    return (
        f"the search looked at sensitive values: {shaped:,} of {classes:,} classes differ from those that the "
        f"quasi-identifiers and class sizes alone would give, {_TELLS}"
    )


def looks_at_values(requirements: Sequence[Requirement]) -> bool:
    """Tell whether a search for these requirements looks at more than quasi-identifiers and class sizes."""
    return any({"sensitive", "attributes"} & set(one.definition.roles) for one in requirements)


def deciding_requirements(requirements: Sequence[Requirement], choose_by: ChooseBy) -> tuple[Requirement, ...]:
    """Return the requirements from which classes follow: all, or those on class sizes alone."""
    return tuple(one for one in requirements if choose_by == "everything" or least_size(one) is not None)


def require_choosable(requirements: Sequence[Requirement]) -> None:
    """Refuse requirements under which the quasi-identifiers cannot be the only thing that decides."""
    for one in requirements:
        if one.definition.needs_population:
            raise ParameterError(
                f"choose_by='quasi_identifiers' does not go with {one.metric}: membership in the table shows in the "
                "quasi-identifiers themselves. Use choose_by='everything'"
            )
    if all(least_size(one) is None for one in requirements):
        raise ParameterError(
            "choose_by='quasi_identifiers' needs a requirement on class sizes, such as k_anonymity, from which the "
            "classes follow"
        )


def require_checked(
    requirements: Sequence[Requirement],
    released: FrequencyTable,
    roles: Mapping[str, Any],
    hierarchies: Mapping[str, Hierarchy],
) -> None:
    """Judge, on the rows that are released, what did not decide: a failure refuses the table, and changes no class."""
    for one in requirements:
        if least_size(one) is None:
            finding = with_hierarchies(one, hierarchies).judge(released, **roles)
            if not finding.passed:
                raise InfeasibleError(
                    "the classes that follow from the quasi-identifiers and class sizes alone fail a requirement that "
                    f"is only checked: {finding.reason} Raise the required class size, or use choose_by='everything'"
                )
