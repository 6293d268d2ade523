"""Classes that follow from sensitive values: what they tell, and how to choose classes without looking.

With `choose_by="quasi_identifiers"` everything follows from the quasi-identifiers and class sizes alone, and other
requirements are only checked. A *ladder* of class sizes stands in the policy before the data is seen: the sizes are
tried in turn, and the first whose classes pass the check is released. That a size was refused tells something about
sensitive values, so refused sizes are kept with the plan and stated in the verdict.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.generalization.class_conditions import least_size
from privacy_plugin.requirements.requirement import Finding, Requirement, require, with_hierarchies

ChooseBy = Literal["everything", "quasi_identifiers"]
CHOICES: tuple[ChooseBy, ...] = ("everything", "quasi_identifiers")

_TELLS = (
    "which can tell something about them to an attacker who knows this program; choose_by: quasi_identifiers avoids it"
)
OBSERVED_NOTE = (
    "labels are observed: each one tells which values occur in its class, such as the smallest and the largest number"
)
SEARCH_NOTE = f"the search for classes looks at sensitive values, {_TELLS}"

Made = TypeVar("Made")


class FailedCheckError(InfeasibleError):
    """Classes that follow from the quasi-identifiers and class sizes fail a requirement that is only checked."""

    def __init__(self, finding: Finding) -> None:
        """Name the requirement that failed."""
        self.metric = finding.requirement.metric
        super().__init__(
            "the classes that follow from the quasi-identifiers and class sizes alone fail a requirement that "
            f"is only checked: {finding.reason} Raise the required class size, or use choose_by='everything'"
        )


def climb(
    requirements: Sequence[Requirement],
    ladder: Sequence[int] | None,
    attempt: Callable[[tuple[Requirement, ...]], Made],
) -> tuple[Made, tuple[int, ...]]:
    """Make an attempt with each class size of the ladder in turn; return the first that passes and those refused."""
    if ladder is None:
        return attempt(tuple(requirements)), ()
    refused: dict[int, str] = {}
    for size in ladder:
        try:
            return attempt((*requirements, require("k_anonymity", at_least=size))), tuple(refused)
        except FailedCheckError as problem:
            refused[size] = problem.metric
        except InfeasibleError:
            if not refused:
                raise
            break  # not even one class of everybody is that large
    tried = ", ".join(f"{size:,} ({metric} failed)" for size, metric in refused.items())
    raise InfeasibleError(
        f"no class size of the ladder passes; tried and refused: {tried}. Nothing may be released. A larger size "
        "that is added now is chosen by looking at sensitive values: say so when you sign"
    )


def require_ladder(ladder: Sequence[int] | None, requirements: Sequence[Requirement], choose_by: ChooseBy) -> None:
    """Refuse a ladder that is not one, that does not meet the required class size, or that nothing climbs."""
    if ladder is None:
        return
    if choose_by != "quasi_identifiers":
        raise ParameterError("k (class sizes to try in turn) goes with choose_by='quasi_identifiers' only")
    numbers = list(ladder) if isinstance(ladder, list | tuple) else []
    if not numbers or any(type(size) is not int or size < 2 for size in numbers):
        raise ParameterError("k must be a list of class sizes to try in turn, whole numbers of at least 2")
    if numbers != sorted(set(numbers)):
        raise ParameterError("the class sizes in k must rise: each is tried only if the one before is refused")
    least = max((least_size(one) or 1 for one in requirements), default=1)
    if numbers[0] < least:
        raise ParameterError(f"the first class size in k is {numbers[0]}, and the requirements ask for {least}")


def require_sizes(refused: Sequence[int]) -> None:
    """Raise unless these can be the class sizes that a plan was refused for."""
    if any(type(size) is not int or size < 2 for size in refused):
        raise ParameterError("refused_sizes of a plan must be whole numbers of at least 2")


def ladder_note(refused: Sequence[int], size: int) -> str:
    """State which class sizes were refused before the one of the release, and what that tells."""
    sizes = ", ".join(f"{number:,}" for number in refused)
    return (
        f"class sizes were tried in turn: {sizes} refused, {size:,} released. The classes follow from the "
        "quasi-identifiers; that a size was refused tells something about sensitive values to an attacker who knows "
        "this program and the policy"
    )


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


def require_choosable(
    requirements: Sequence[Requirement],
    hierarchies: Mapping[str, Hierarchy],
    purpose: Mapping[str, Any] | None = None,
) -> None:
    """Refuse whatever would let more than the quasi-identifiers and class sizes decide."""
    for name, hierarchy in hierarchies.items():
        learned = hierarchy.learned_from if isinstance(hierarchy, TableHierarchy) else None
        if learned is not None and learned not in hierarchies:
            raise ParameterError(
                f"choose_by='quasi_identifiers' does not go with the hierarchy of column {name!r}: its groups were "
                f"learned from {learned!r}, so the classes would follow from its values. Give groups of your own"
            )
    if purpose is not None and "predict" in purpose and purpose["predict"] not in hierarchies:
        raise ParameterError(
            "choose_by='quasi_identifiers' does not go with useful_for: {predict: ...} of another column: the regions "
            "would follow from its values. Use choose_by='everything', or count"
        )
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
                raise FailedCheckError(finding)
