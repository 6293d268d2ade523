"""What requirements ask of every class, put together for one count over all generalizations.

Every metric declares what a limit on it requires of a class (`metrics.class_rules`); nothing here knows a metric by
name. A condition is *decisive* when whether a class fails depends on that class alone: then what is left after
suppressing the failing classes passes, and counting decides every node. It is *inherited* with suppression when a row
that fails at a node fails at every node below: then the number of suppressed rows never rises on the way up. Both are
proven for

- class sizes and distinct values: a class only gains rows and values when classes merge;

and not for the others: entropy and recursive diversity are decisive, but a class that passes may merge with one that
fails into one that fails, and so it is with presence (where a lower bound asks for rows in every class of the
population, and nothing may be suppressed at all); closeness compares a class with all rows that are left, and is not
decisive either. Without suppression every metric that declares itself monotone is inherited: merging classes never
makes it worse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privacy_plugin.frequency.table import Dictionary
from privacy_plugin.metrics.class_rules import (
    ClassCondition,
    ClassLimit,
    ClassRule,
    Closeness,
    DistinctDiversity,
    Presence,
)
from privacy_plugin.requirements.limits import Limit
from privacy_plugin.requirements.requirement import Requirement

_LARGEST = 2**62  # compiled code compares exactly up to here


@dataclass(frozen=True, kw_only=True)
class ClassConditions:
    """What every class has to meet: at least `k` rows and all `rules`.

    `decisive`: the table without the classes that fail meets every requirement. `repairable`: suppressing rows may
    help; where presence has a lower bound it never does. `averages`: limits on classes / rows of what is left.
    `conditions`: what each requirement declares, None where it declares nothing; a rule that compiled code cannot
    compare exactly is there and not among the `rules`.
    """

    k: int = 1
    rules: tuple[ClassRule, ...] = ()
    decisive: bool = True
    repairable: bool = True
    averages: tuple[Limit, ...] = ()
    conditions: tuple[ClassCondition | None, ...] = ()

    @property
    def any_known(self) -> bool:
        """Whether counting classes can rule out a node."""
        return self.k > 1 or bool(self.rules) or bool(self.averages)

    @property
    def sizes_only(self) -> bool:
        """Whether class sizes are all that is required."""
        return all(condition is not None and condition.is_size for condition in self.conditions)

    @property
    def sizes_or_presence(self) -> bool:
        """Whether class sizes and presence in a population are all that is required."""
        return all(
            condition is not None and (condition.is_size or isinstance(condition.rule, Presence))
            for condition in self.conditions
        )

    @property
    def inherited(self) -> bool:
        """Whether rows in a class that passes stay in one when classes merge, so that suppression only falls."""
        return all(
            condition is not None and (condition.is_size or isinstance(condition.rule, DistinctDiversity))
            for condition in self.conditions
        )

    @property
    def presence_bounds(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The lower and upper bound of every limit on presence."""
        rules = [condition.rule for condition in self.conditions if condition is not None]
        return tuple((Fraction(rule.low), Fraction(rule.high)) for rule in rules if isinstance(rule, Presence))

    @property
    def needs_population(self) -> bool:
        """Whether a rule compares with the population."""
        return any(isinstance(rule, Presence) for rule in self.rules)


def class_conditions(
    requirements: Sequence[Requirement],
    *,
    dictionaries: Mapping[str, Dictionary],
    sensitive: str | None,
    suppression: bool,
    rows: int,
) -> ClassConditions:
    """Return what requirements ask of every class of a table with so many rows.

    `dictionaries`: the sensitive columns in the order of their codes, each with its values in order. `sensitive`: the
    column of requirements that name none. `suppression`: whether rows may be suppressed.

    >>> import privacy_plugin as pp
    >>> found = class_conditions([pp.require("k_anonymity", at_least=5), pp.require("l_diversity", at_least=2)],
    ...                          dictionaries={"pay": (1, 2, 3)}, sensitive="pay", suppression=True, rows=100)
    >>> found.k, found.rules, found.decisive
    (5, (DistinctDiversity(l=2, column=0),), True)
    """
    sizes: list[int] = [1]
    rules: list[ClassRule] = []
    averages: list[Limit] = []
    conditions: list[ClassCondition | None] = []
    decisive = repairable = True
    for requirement in requirements:
        name = requirement.sensitive or sensitive
        condition = _declared(
            requirement,
            column=list(dictionaries).index(name) if name is not None and name in dictionaries else 0,
            values=dictionaries.get(name or "", ()),
            suppression=suppression,
            rows=rows,
        )
        conditions.append(condition)
        if condition is None:
            decisive = False
            continue
        sizes.append(condition.size)
        decisive = decisive and condition.decisive
        if condition.average:
            averages.append(requirement.limit)
        if condition.rule is None:
            continue
        if _is_exact(condition.rule, requirement.limit, values=len(dictionaries.get(name or "", ())), rows=rows):
            rules.append(condition.rule)
            repairable = repairable and condition.repairable
        else:
            decisive = False
    return ClassConditions(
        k=max(sizes),
        rules=tuple(rules),
        decisive=decisive,
        repairable=repairable,
        averages=tuple(averages),
        conditions=tuple(conditions),
    )


def least_size(requirement: Requirement) -> int | None:
    """Return how many rows a class needs at least, where that is all the requirement asks."""
    condition = _declared(requirement, column=0, values=(), suppression=True, rows=0)
    return condition.size if condition is not None and condition.is_size else None


def _declared(
    requirement: Requirement, *, column: int, values: Dictionary, suppression: bool, rows: int
) -> ClassCondition | None:
    declared = requirement.definition.class_rule
    if declared is None:
        return None
    return declared(
        ClassLimit(
            kind=requirement.limit.kind,
            bounds=requirement.limit.bounds,
            options=requirement.options,
            column=column,
            values=values,
            rows=rows,
            suppression=suppression,
        )
    )


def _is_exact(rule: ClassRule, limit: Limit, *, values: int, rows: int) -> bool:
    """Return whether compiled code compares by this rule without overflow."""
    numbers = [*limit.bounds, *(Fraction(n) for n in vars(rule).values() if isinstance(n, int | Fraction))]
    if any(max(number.numerator, number.denominator) >= _LARGEST for number in numbers):
        return False
    if not isinstance(rule, Closeness):
        return True
    ground = rule.ground
    factor = max(values, 2) if isinstance(ground, str) else 2 * (1 if ground is None else len(ground))
    return factor * rows**2 < _LARGEST
