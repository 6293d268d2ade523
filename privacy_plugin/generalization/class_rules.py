"""What one walk over the lattice can know of requirements: the classes that fail, without judging node by node.

A requirement is *local* when whether a class fails depends on that class alone: then what is left after suppressing the
failing classes passes, and the walk decides every node. It is *inherited* with suppression when a row that fails at a
node fails at every node below: then the number of suppressed rows never rises on the way up. Both are proven for

- class sizes and distinct values: a class only gains rows and values when classes merge;

and not for the others: entropy and recursive diversity are local, but a class that passes may merge with one that fails
into one that fails, and so it is with presence (where a lower bound asks for rows in every class of the population, and
nothing may be suppressed at all); closeness compares a class with all rows that are left, and is not local either.
Maximum disclosure against negations is recursive diversity; against implications a class depends on all others, but
discloses no less than against negations, so that classes which fail those must be suppressed all the same.
Without suppression every metric that declares itself monotone is inherited: merging classes never makes it worse.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.table import Dictionary
from privacy_plugin.requirements.limits import Limit
from privacy_plugin.requirements.requirement import Requirement

if TYPE_CHECKING:
    from privacy_plugin.generalization.walk.counts import ClassRule

_LARGEST = 2**62  # the walk compares exactly up to here
_NEVER = 2**53  # more rows than any table has


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the walk is asked: rows a class needs at least, rules for classes, and how far its answer goes."""

    k: int = 1
    rules: tuple["ClassRule", ...] = ()
    local: bool = True
    repairable: bool = True  # suppressing rows may help; where presence has a lower bound it never does
    needs_population: bool = False
    averages: tuple[Limit, ...] = ()  # limits on the average risk: classes over rows of what is left

    @property
    def anything(self) -> bool:
        """Whether a walk over the lattice can tell anything."""
        return self.k > 1 or bool(self.rules) or bool(self.averages)


def least_size(requirement: Requirement) -> int | None:
    """Return how many rows a class needs at least, where that is all the requirement asks."""
    bound = requirement.limit.bounds[0]
    strict = requirement.limit.kind in ("above", "below")
    if requirement.metric == "k_anonymity":
        return _least(bound, strict=strict)
    if requirement.metric == "reidentification_risk" and requirement.options.get("variant", "highest") == "highest":
        return _least(1 / bound, strict=strict) if bound else _NEVER  # 1/n <= p exactly when n >= 1/p
    return None


def _least(bound: Fraction, *, strict: bool) -> int:
    return min(math.floor(bound) + 1 if strict else max(math.ceil(bound), 1), _NEVER)


def known(
    requirements: Sequence[Requirement],
    *,
    dictionaries: Mapping[str, Dictionary],
    sensitive: str | None,
    suppression: bool,
    rows: int,
) -> Known:
    """Put together what the walk can know; `dictionaries` has the sensitive columns, in order, and their values."""
    sizes: list[int] = [1]
    rules: list[ClassRule] = []
    local = repairable = True
    needs_population = False
    averages = tuple(requirement.limit for requirement in requirements if _is_average(requirement))
    for requirement in requirements:
        if _is_average(requirement):
            continue
        size = least_size(requirement)
        if size is not None:
            sizes.append(size)
            continue
        rule = None
        if suppression or requirement.metric != "maximum_disclosure":  # tagging decides that one sooner than a walk
            rule = _rule(requirement, requirement.sensitive or sensitive, dictionaries, rows)
        rules += [rule] if rule is not None else []
        local = local and rule is not None and _is_local(requirement, suppression)
        if requirement.metric == "delta_presence" and rule is not None:
            needs_population = True
            repairable = repairable and requirement.limit.bounds[0] == 0
    return Known(
        k=max(sizes),
        rules=tuple(rules),
        local=local,
        repairable=repairable,
        needs_population=needs_population,
        averages=averages,
    )


def _is_average(requirement: Requirement) -> bool:
    """The average risk blames no class, but is known once it is known which classes are left."""
    return requirement.metric == "reidentification_risk" and requirement.options.get("variant") == "average"


def _is_local(requirement: Requirement, suppression: bool) -> bool:
    strict = requirement.limit.kind in ("above", "below")
    if requirement.metric == "l_diversity":
        return not (strict and requirement.options.get("variant") == "entropy")
    if requirement.metric == "delta_presence":
        return True
    if requirement.metric == "maximum_disclosure":
        return requirement.options.get("attacker") == "negations"
    return not suppression and not strict


def _rule(
    requirement: Requirement, sensitive: str | None, dictionaries: Mapping[str, Dictionary], rows: int
) -> "ClassRule | None":
    """Return the rule; for a strict limit that no rule states, the nearest one that fails fewer classes.

    None where the walk knows no such rule, or could not compare exactly.
    """
    maker = _MAKERS.get(requirement.metric)
    if maker is None or any(max(b.numerator, b.denominator) >= _LARGEST for b in requirement.limit.bounds):
        return None
    column = list(dictionaries).index(sensitive) if sensitive is not None and sensitive in dictionaries else 0
    return maker(requirement, column, dictionaries.get(sensitive or "", ()), rows)


def _diversity(requirement: Requirement, column: int, dictionary: Dictionary, rows: int) -> "ClassRule | None":
    from privacy_plugin.generalization.walk.counts import DistinctDiversity, EntropyDiversity, RecursiveDiversity

    bound, options = requirement.limit.bounds[0], requirement.options
    variant = options.get("variant", "distinct")
    if variant == "entropy":
        return EntropyDiversity(l=bound, column=column)
    values = _least(bound, strict=requirement.limit.kind == "above")
    if variant == "distinct":
        return DistinctDiversity(l=values, column=column)
    c = exact(options["c"], what="c")
    return None if max(c.numerator, c.denominator) >= _LARGEST else RecursiveDiversity(c=c, l=values, column=column)


def _disclosure(requirement: Requirement, column: int, dictionary: Dictionary, rows: int) -> "ClassRule | None":
    """State what k negations disclose of a class: n(s0) / (n - n(s1) - ... - n(sk)) < b is (b / (1 - b), k + 2)."""
    from privacy_plugin.generalization.walk.counts import DistinctDiversity, RecursiveDiversity

    bound, values = requirement.limit.bounds[0], requirement.options["knowledge"] + 2
    strict = requirement.limit.kind == "below"
    if bound == 1:
        return DistinctDiversity(l=values, column=column) if strict else None
    c = bound / (1 - bound)
    if not strict:  # between c and this lies no quotient of two numbers of rows
        c += Fraction(1, c.denominator * (rows + 1))
    return None if max(c.numerator, c.denominator) >= _LARGEST else RecursiveDiversity(c=c, l=values, column=column)


def _closeness(requirement: Requirement, column: int, dictionary: Dictionary, rows: int) -> "ClassRule | None":
    from privacy_plugin.generalization.walk.counts import Closeness

    bound, ground = requirement.limit.bounds[0], requirement.options.get("ground", "equal")
    levels = None
    if isinstance(ground, Hierarchy):
        laid = ground.levels(dictionary)
        rooted = len(laid.dictionaries[-1]) == 1 and laid.height > 0  # all are one from the root on: no distance there
        levels = laid.maps[: ground.meeting] if rooted else laid.maps
    factor = max(len(dictionary), 2) if ground == "ordered" else 2 * (1 if levels is None else len(levels))
    if factor * rows**2 >= _LARGEST:
        return None
    return Closeness(t=bound, column=column, ground="ordered" if ground == "ordered" else levels)


def _presence(requirement: Requirement, column: int, dictionary: Dictionary, rows: int) -> "ClassRule":
    from privacy_plugin.generalization.walk.counts import Presence

    return Presence(low=requirement.limit.bounds[0], high=requirement.limit.bounds[-1])


_MAKERS: dict[str, Callable[[Requirement, int, Dictionary, int], "ClassRule | None"]] = {
    "l_diversity": _diversity,
    "t_closeness": _closeness,
    "delta_presence": _presence,
    "maximum_disclosure": _disclosure,
}
