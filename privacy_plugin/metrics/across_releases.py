"""Across releases: everybody whom the requirements fail once all releases of the dataset are put side by side."""

from collections.abc import Sequence
from typing import Any

from privacy_plugin.errors import HistoryError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.joint_classes import JOINT_CLASS, JointClasses
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.metrics.registry import metric


def require_requirements(requirements: Any = None, dataset: Any = None, sensitive_columns: Any = None) -> None:
    """Raise if the requirements cannot be judged on joint classes, or names are not names."""
    if isinstance(sensitive_columns, str) or not all(isinstance(name, str) for name in sensitive_columns or ()):
        raise ParameterError("sensitive_columns must be a list of column names")
    if dataset is not None and (not isinstance(dataset, str) or not dataset):
        raise ParameterError("dataset must be the name of the dataset whose releases are considered")
    for requirement in requirements or ():
        definition = requirement.definition
        if definition.needs_population:
            raise ParameterError(
                f"{definition.name} compares with a second table, which has no joint classes: it cannot be judged "
                "across releases. Remove it or across_releases"
            )


def class_wise(requirements: Sequence[Any]) -> tuple[Any, ...]:
    """Return the requirements that are about the people of a class, and so can be judged on joint classes."""
    return tuple(
        requirement
        for requirement in requirements
        if requirement.definition.kind == "privacy"
        and requirement.definition.roles in (("quasi_identifiers",), ("quasi_identifiers", "sensitive"))
        and not requirement.definition.needs_history
    )


@metric(
    title="people exposed across releases",
    safer="lower",
    attacker="who compares all releases of this dataset finds such a person in a joint class that does not meet the "
    "other requirements, or sees that their sensitive value changed",
    remedy="release the same classes as before, let newcomers wait until enough of them share a joint class, and "
    "withdraw the whole joint class of a person who leaves",
    paper="joint classes of all releases; Byun, Sohn, Bertino, Li 2006 for the attack",
    axis="people whom a requirement fails",
    shows="Every class-wise requirement of the policy holds for an attacker who has every recorded release, knows "
    "everybody's quasi-identifiers and knows who is in which release.",
    hides="Releases that were not recorded; the same people in other datasets; an attacker who knows more about a "
    "person than the other requirements assume.",
    counts_people="one_class",
    implied={"at_most": 0},
    smallest=0,
    check=require_requirements,
    writes={"requirements": lambda given: [requirement.to_dict() for requirement in given]},
)
def across_releases(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    joint_classes: JointClasses,
    requirements: Any = (),
    sensitive_columns: Any = (),
    dataset: str | None = None,
) -> Measurement:
    """Return how many people a class-wise requirement fails on the joint classes of all releases; 0 passes.

    The joint class of a person is the sequence of their classes over all releases of the dataset, absence included.
    Every requirement is measured on the table (joint class, sensitive value) with everybody once. A person whose
    sensitive value differs between releases fails always: the columns are those of the requirements and
    `sensitive_columns` (in a policy: all sensitive ones). The value is the largest number of people that one
    requirement fails.

    What it bounds. Attacker: has every release, knows everybody's quasi-identifiers and in which releases they are, so
    knows everybody's class in each. Proof: let p and q be two people of one joint class. They are in the same class of
    every release in which either of them is. Exchange their sensitive values (which are the same in all releases, or
    the gate is closed): in each release the histogram of their class stays the same, because it counts both or
    neither. So all worlds that permute the values inside joint classes lead to the same releases, and given the
    histograms of the joint classes (more than was published: every class is a sum of joint classes) each permutation
    is equally likely for an attacker without further knowledge. A person's value then has the distribution of their
    joint class, and identity is one of its people: what the requirements bound. An attacker who is given less can, on
    average over what is withheld, not conclude more; a bound on every joint class bounds their average.

    Boundary rules: the classes are those of the released quasi-identifiers, missing values a category of their own. One
    row a person in each release; otherwise the history says so and nothing is evaluated. t-closeness compares with the
    people of all releases. Cost: the people of this release, and the joint classes of earlier ones.

    >>> from privacy_plugin.requirements.requirement import require
    >>> table = FrequencyTable.from_rows(["age"], [(30,), (30,), (30,)])
    >>> second = JointClasses(
    ...     releases=1, people=3, returning=2, changed=0,
    ...     classes=[1, 2], values=[{}, {}], counts=[2, 1], paths={},
    ... )
    >>> k2 = require("k_anonymity", at_least=2)
    >>> across_releases(table, quasi_identifiers=["age"], joint_classes=second, requirements=[k2]).value
    1
    """
    require_requirements(requirements, dataset, sensitive_columns)
    judged = class_wise(requirements)
    if not judged:
        raise ParameterError("across_releases needs at least one requirement about classes, such as k_anonymity")
    found = [_judge(requirement, joint_classes) for requirement in judged]
    affected = [_affected(finding, sum(joint_classes.counts)) for finding in found]
    failed = [finding for finding in found if not finding.passed]
    reasons = [f"On joint classes: {finding.reason}" for finding in failed]
    if joint_classes.changed:
        reasons.append(f"The sensitive value of {joint_classes.changed:,} people differs from an earlier release.")
    skipped = [str(each) for each in requirements if each not in judged and not each.definition.needs_history]
    return Measurement(
        metric="across_releases",
        value=max([joint_classes.changed, *affected]),
        parameters={"quasi_identifiers": list(quasi_identifiers), "dataset": dataset},
        rows=joint_classes.people,
        classes=len(set(joint_classes.classes)),
        details={
            "earlier_releases": joint_classes.releases,
            "people_in_an_earlier_release": joint_classes.returning,
            "people_of_all_releases": sum(joint_classes.counts),
            "joint_classes": len(set(joint_classes.classes)),
            "changed_values": joint_classes.changed,
        },
        reason=" ".join(reasons),
        notes=(
            f"judged together with {joint_classes.releases} earlier releases; {joint_classes.returning:,} of "
            f"{joint_classes.people:,} people are in one of them",
            *(f"{text} is not about classes and was not judged across releases" for text in skipped),
        ),
    )


def _judge(requirement: Any, joint_classes: JointClasses) -> Any:
    column = requirement.sensitive if "sensitive" in requirement.definition.roles else None
    ground = requirement.options.get("ground", "equal")
    if column is not None and ground != "equal" and joint_classes.hashed.get(column):
        raise HistoryError(
            f"{requirement} compares values, but {joint_classes.hashed[column]:,} values of earlier releases are known "
            "by their keyed hash only; use ground: equal"
        )
    finding = requirement.judge(
        joint_classes.table(column), quasi_identifiers=[JOINT_CLASS], sensitive=column, unit=None
    )
    if finding.status == "not_evaluated":
        raise HistoryError(f"on joint classes, {finding.reason}")
    return finding


def judge_joint_classes(requirement: Any, joint_classes: JointClasses) -> tuple[int, ...]:
    """Return the joint classes that fail a requirement; raise if it fails and no joint class is at fault."""
    finding = _judge(requirement, joint_classes)
    if finding.passed:
        return ()
    if finding.measurement is None or finding.measurement.spread is None:
        raise HistoryError(f"on joint classes, {finding.reason}")
    table = joint_classes.table(requirement.sensitive if "sensitive" in requirement.definition.roles else None)
    classes = table.classes([JOINT_CLASS])
    failing = finding.limit.failing(finding.measurement.spread.values[: len(classes)])
    codes, numbers = table.column_codes(JOINT_CLASS), table.dictionary(JOINT_CLASS)
    return tuple(int(str(numbers[codes[row]])) for row in classes.example_rows[failing].tolist())


def _affected(finding: Any, people: int) -> int:
    return 0 if finding.passed else (finding.people_affected or people)
