"""l-diversity: how many well-represented sensitive values the least diverse class has."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable, Histograms
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.people_table import Members, PeopleTable
from privacy_plugin.metrics.class_rules import (
    ClassCondition,
    ClassLimit,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread, worst_classes
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.value_sets import members_of, require_separator, several_values, smallest_cover

Variant = Literal["distinct", "entropy", "recursive"]

_EXACT_UP_TO = 4096  # people in a class (common divisor taken out) whose entropy is compared exactly


def require_variant(variant: Variant = "distinct", c: float | None = None, separator: str | None = None) -> None:
    """Raise if the variant does not exist or an option does not belong to it."""
    if variant not in ("distinct", "entropy", "recursive"):
        raise ParameterError(f"variant must be distinct, entropy or recursive, not {variant!r}")
    if (c is not None) != (variant == "recursive"):
        raise ParameterError("c goes with variant='recursive', and only with it")
    if c is not None and exact(c, what="c") <= 0:
        raise ParameterError(f"c must be a positive number, not {c!r}")
    require_separator(separator)
    if separator is not None and variant != "distinct":
        raise ParameterError(f"the variant {variant} is defined for one value a person; separator goes with distinct")


def class_condition(limit: ClassLimit) -> ClassCondition | None:
    """Return the diversity that every class needs; a strict limit on entropy is not decided by it."""
    if limit.options.get("separator") is not None:  # a cover is not a count of values
        return None
    variant = limit.options.get("variant", "distinct")
    if variant == "entropy":
        rule = EntropyDiversity(l=limit.bound, column=limit.column)
        return ClassCondition(rule=rule, decisive=not limit.strict)
    if variant == "distinct":
        return ClassCondition(rule=DistinctDiversity(l=limit.least_whole, column=limit.column))
    c = exact(limit.options["c"], what="c")
    return ClassCondition(rule=RecursiveDiversity(c=c, l=limit.least_whole, column=limit.column))


def axis(parameters: Mapping[str, Any]) -> str:
    """Return what the value of a class is called on a chart, by variant."""
    kinds = {
        "distinct": "distinct values of {sensitive} in the class",
        "entropy": "effective number of values of {sensitive} (entropy l)",
        "recursive": "largest l of {sensitive} for which the class is recursively diverse",
    }
    return kinds[parameters["variant"]].format_map(parameters)


@metric(
    title="l-diversity",
    symbols={"l": "at_least"},
    safer="higher",
    attacker="who knows {quasi_identifiers} of such a person is left with too few possible values of {sensitive}",
    remedy="merge classes by generalizing a quasi-identifier further, or suppress the uniform classes",
    paper="Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006",
    axis=axis,
    shows="An attacker who finds a person's class still faces at least l possible values of the sensitive column "
    "(entropy: about as many as l equally likely ones).",
    hides="How likely each value is (distinct l), and how alike they are: three kinds of cancer count as three "
    "values. An attacker who can rule values out for a person is left with fewer.",
    counts_people="sets",
    monotone=True,
    class_wise=True,
    class_rule=class_condition,
    smallest=1,
    check=require_variant,
)
def l_diversity(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    variant: Variant = "distinct",
    c: float | None = None,
    separator: str | None = None,
) -> Measurement:
    """Return the largest l for which every class is l-diverse.

    `distinct`: the number of different values. `entropy`: exp(H), H = -sum p ln p (natural logarithm, so four
    equally frequent values give exactly 4). `recursive`: the largest l with r_1 < c (r_l + r_(l+1) + ...), r the
    counts in descending order; 0 when not even l = 1 holds (then c <= 1 and one value rules). A missing value is
    a value. Distinct and recursive are exact; entropy is exact where it is a whole number and otherwise within
    the stated error. Cost: one grouping of the distinct rows.

    People with several values (several rows a person, or a set with members between `separator`): distinct l is the
    smallest number of values that together cover everybody of the class, a minimum hitting set. With fewer than l
    values nobody can say "they have at least one of these" of everybody: for any l - 1 values the class has a person
    with none of them, and every person of the class may be that one, because exchanging people of a class changes
    nothing that is seen. Where everybody has one value it is the number of values. Where the search takes too long, the
    value is a lower bound. The other variants need one value a person.

    >>> table = FrequencyTable.from_rows(["age", "disease"], [(30, d) for d in "abcd"])
    >>> l_diversity(table, quasi_identifiers=["age"], sensitive="disease", variant="entropy").value
    4
    """
    require_variant(variant, c, separator)
    table.require_one_row_a_person("l-diversity")
    histograms = table.histograms(quasi_identifiers, sensitive)
    members, reason = members_of(table, sensitive, separator), ""
    error: float = 0.0
    if members is None:
        value, error, values = _diversity(histograms, variant, c)
    else:
        if variant != "distinct":
            people = table.people_with_several_values if isinstance(table, PeopleTable) else 0
            raise ParameterError(several_values(f"l_diversity ({variant})", people, sensitive))
        value, values, exactly = _covers(histograms, members)
        reason = "" if exactly else "The number of values that cover everybody is a lower bound."
    return Measurement(
        metric="l_diversity",
        value=value,
        parameters={
            "quasi_identifiers": list(quasi_identifiers),
            "sensitive": sensitive,
            "variant": variant,
            "c": c,
            "separator": separator,
        },
        rows=table.rows,
        classes=histograms.classes.number,
        error=error,
        spread=Spread(values=values.astype(np.float64), people=histograms.classes.people),
        worst=worst_classes(histograms.table, histograms.classes, values, lowest_first=True),
        reason=reason,
    )


def _covers(histograms: Histograms, members: Members) -> tuple[Quantity, npt.NDArray[np.int64], bool]:
    """Return the least cover over the classes, that of every class, and whether the least one is exact."""
    values, exactly = np.diff(histograms.offsets), np.ones(len(histograms.classes), dtype=bool)
    several = np.array([len(each) > 1 for each in members], dtype=bool)[histograms.values]
    for index in np.unique(histograms.entry_classes[several]).tolist():
        entries = histograms.values[histograms.offsets[index] : histograms.offsets[index + 1]].tolist()
        values[index], exactly[index] = smallest_cover(members[value] for value in entries)
    return int(values.min()), values, bool(exactly[values == values.min()].any())


def _diversity(
    histograms: Histograms, variant: str, c: float | None
) -> tuple[Quantity, float, npt.NDArray[np.float64] | npt.NDArray[np.int64]]:
    if variant == "distinct":
        values = np.diff(histograms.offsets)
        return int(values.min()), 0.0, values
    if variant == "recursive":
        values = _recursive(histograms, exact(c, what="c"))
        return int(values.min()), 0.0, values
    return _entropy(histograms)


def _entropy(histograms: Histograms) -> tuple[Quantity, float, npt.NDArray[np.float64]]:
    """exp(H) = n / exp(sum(n_i ln n_i) / n), class by class; the extreme one exactly where it is whole."""
    sizes = histograms.classes.sizes.astype(np.float64)
    counts = histograms.counts.astype(np.float64)
    weighted = np.zeros(len(sizes))
    np.add.at(weighted, histograms.entry_classes, counts * np.log(counts))
    entropies = np.maximum(np.log(sizes) - weighted / sizes, 0.0)
    values = np.exp(entropies)
    worst = int(values.argmin())
    # Each logarithm is right to 1 ulp; sums of up to m terms add m ulps of at most ln n each.
    longest = int(np.diff(histograms.offsets).max())
    error = float(values.max() * (longest + 8) * 4e-16 * (1 + math.log(float(sizes.max()))))
    counts_of_worst = histograms.counts[histograms.offsets[worst] : histograms.offsets[worst + 1]].tolist()
    whole = _whole_entropy(counts_of_worst, float(values[worst]))
    if whole is None:
        return float(values[worst]), error, values
    if whole == 1:  # no class lies below: exp(0) is the least there is
        return 1, 0.0, values
    # another class may lie below the whole number by less than the rounding error
    others = _first_below(histograms, values, whole, error, worst)
    return (whole, 0.0, values) if not others else (float(values[worst]), error, values)


def _first_below(histograms: Histograms, values: npt.NDArray[np.float64], whole: int, error: float, worst: int) -> bool:
    """Return whether some class other than the worst cannot be shown to have at least `whole`."""
    for index in np.flatnonzero(values <= whole + 2 * error).tolist():
        counts = histograms.counts[histograms.offsets[index] : histograms.offsets[index + 1]].tolist()
        if index != worst and _whole_entropy(counts, float(values[index])) != whole:
            return True
    return False


def _whole_entropy(counts: list[int], approximate: float) -> int | None:
    """Return exp(H) where it is a whole number: n^n = l^n * product of n_i^n_i, in whole numbers.

    Only proportions matter, so a common divisor of the counts is taken out first.
    """
    divisor = math.gcd(*counts)
    counts = [count // divisor for count in counts]
    people, whole = sum(counts), round(approximate)
    if people > _EXACT_UP_TO or abs(approximate - whole) > 1e-6:
        return None
    return whole if people**people == whole**people * math.prod(n**n for n in counts) else None


def _recursive(histograms: Histograms, c: Fraction) -> npt.NDArray[np.int64]:
    """For every class the largest l with r_1 < c * (r_l + ... + r_m), by whole numbers."""
    order = np.lexsort((-histograms.counts, histograms.entry_classes))
    counts, offsets = histograms.counts[order], histograms.offsets
    sums = np.concatenate([[0], np.cumsum(counts)])
    tails = sums[offsets[1:]][histograms.entry_classes] - sums[:-1]  # r_l + ... + r_m for each entry
    first = counts[offsets[:-1]][histograms.entry_classes]
    holds = first.astype(object) * c.denominator < c.numerator * tails.astype(object)
    values = np.zeros(len(histograms.classes), dtype=np.int64)
    np.add.at(values, histograms.entry_classes, holds.astype(np.int64))  # tails only shrink: holds is a prefix
    return values
