"""t-closeness: how far the sensitive values of a class may be from those of the whole table."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable, Histograms
from privacy_plugin.frequency.grouping import Integers, group, pack, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import as_number, rank_values
from privacy_plugin.metrics.class_rules import ClassCondition, ClassLimit, Closeness
from privacy_plugin.metrics.measurement import Measurement, Spread, worst_classes
from privacy_plugin.metrics.registry import metric

Ground = Literal["equal", "ordered"] | Hierarchy
Whole = npt.NDArray[Any]  # whole numbers: int64, or Python's own where 64 bits could overflow

_LARGEST_EXACT = 2**62

_ALPHABETICAL = (
    "Some of its values are words, taken in alphabetical order (high, low, medium); if they have another order, the "
    "distance may be larger: give numbers, or a hierarchy as the ground."
)


def require_ground(ground: Ground = "equal") -> None:
    """Raise if the ground distance is neither 'equal' nor 'ordered' nor a hierarchy."""
    if not isinstance(ground, Hierarchy) and ground not in ("equal", "ordered"):
        raise ParameterError("ground must be 'equal', 'ordered' or a hierarchy of the sensitive column")


def class_condition(limit: ClassLimit) -> ClassCondition:
    """Return the distance allowed for every class; decisive without suppression, for `at_most`."""
    ground = limit.options.get("ground", "equal")
    levels: Any = None
    if isinstance(ground, Hierarchy):
        laid = ground.levels(limit.values)
        # from the root on all values are equal, so the distance is 0
        rooted = len(laid.dictionaries[-1]) == 1 and laid.height > 0
        levels = laid.maps[: ground.meeting] if rooted else laid.maps
    return ClassCondition(
        rule=Closeness(t=limit.bound, column=limit.column, ground="ordered" if ground == "ordered" else levels),
        decisive=not limit.suppression and not limit.strict,
    )


@metric(
    title="t-closeness",
    symbols={"t": "at_most"},
    safer="lower",
    attacker="who knows {quasi_identifiers} of such a person learns more about their {sensitive} than the "
    "distribution in the whole table shows, by more than the distance {limit}",
    remedy="merge classes by generalizing a quasi-identifier further, or suppress the skewed classes",
    paper="Li, Li, Venkatasubramanian 2007",
    axis="distance of {sensitive} in the class from the whole table",
    shows="Finding a person's class adds little about the sensitive column to what the whole table shows.",
    hides="What the whole table itself gives away: if most people in it share a value, everybody is likely to have "
    "it. Nor does it limit who can be found.",
    counts_people="one_value",
    monotone=True,
    class_wise=True,
    class_rule=class_condition,
    smallest=0,
    largest=1,
    check=require_ground,
)
def t_closeness(
    table: FrequencyTable, *, quasi_identifiers: Sequence[str], sensitive: str, ground: Ground = "equal"
) -> Measurement:
    """Return the largest earth mover's distance between a class's sensitive values and the whole table's.

    With p the class and q the table: `equal`: sum of max(0, p_i - q_i). `ordered` (values sorted, neighbours
    1/(m-1) apart, m the number of values): sum over i < m of |(p_1 - q_1) + ... + (p_i - q_i)| / (m - 1). A
    hierarchy: values are as far apart as their lowest common level over the height, and the distance is the mean
    of the `equal` distances on levels 0 to height - 1; the height is the lowest level on which all values are one, so
    that `*` above a named root brings nothing nearer. Li, Li, Venkatasubramanian 2007, section 5. A missing value is a
    value, first in the order; text that is a number has the number's place, as in a CSV file, where all is text. Exact
    fractions. Needs one row per person. Cost: one grouping of the distinct rows, one more per level of a hierarchy.

    >>> table = FrequencyTable.from_rows(["age", "pay"], [(30, 1), (30, 2), (40, 3), (40, 4)])
    >>> t_closeness(table, quasi_identifiers=["age"], sensitive="pay", ground="ordered").value
    Fraction(1, 3)
    """
    require_ground(ground)
    table.require_one_row_a_person("t-closeness")
    histograms = table.histograms(quasi_identifiers, sensitive)
    numerators, denominators = _distances(histograms, ground, sensitive)
    values = numerators.astype(np.float64) / denominators.astype(np.float64)
    return Measurement(
        metric="t_closeness",
        value=_largest(numerators, denominators, values),
        parameters={
            "quasi_identifiers": list(quasi_identifiers),
            "sensitive": sensitive,
            "ground": ground if isinstance(ground, str) else "hierarchy",
        },
        rows=table.rows,
        classes=histograms.classes.number,
        spread=Spread(values=values, people=histograms.classes.people),
        worst=worst_classes(histograms.table, histograms.classes, values, lowest_first=False),
        reason=_ALPHABETICAL if ground == "ordered" and _has_words(histograms) else "",
    )


def _has_words(histograms: Histograms) -> bool:
    return any(isinstance(value, str) and as_number(value) is None for value in histograms.dictionary)


def _distances(histograms: Histograms, ground: Ground, sensitive: str) -> tuple[Whole, Whole]:
    """Return numerator and denominator of every class's distance, in whole numbers."""
    sizes = _wide(histograms, histograms.classes.sizes)
    people = int(histograms.classes.people.sum())
    values = len(histograms.dictionary)
    if ground == "equal":
        codes = histograms.values.astype(np.int64)
        return _equal(histograms, codes, values), sizes * people
    if ground == "ordered":
        return _ordered(histograms), sizes * (people * max(values - 1, 1))
    assert isinstance(ground, Hierarchy)
    levels = ground.levels(histograms.dictionary, column=sensitive)
    rooted = len(levels.dictionaries[-1]) == 1
    # without a common top, an implied root joins the tops; a level above the root would bring all values nearer
    height = ground.meeting if rooted else levels.height + 1
    total = np.zeros(len(sizes), dtype=object)
    for level in range(height):
        codes = levels.maps[level].astype(np.int64)[histograms.values]
        total += _equal(histograms, codes, len(levels.dictionaries[level]))
    return total, sizes.astype(object) * (people * max(height, 1))


def _wide(histograms: Histograms, numbers: Integers) -> Whole:
    """Use Python's whole numbers where 64 bits could overflow: products of people, people and values."""
    people = int(histograms.classes.people.sum())
    small = people * people * max(len(histograms.dictionary), 2) < _LARGEST_EXACT
    return numbers if small else numbers.astype(object)


def _equal(histograms: Histograms, codes: Integers, values: int) -> Whole:
    """Return the sum over a class's values of max(0, n_i * N - t_i * n).

    Entries of equal code are added first.
    """
    packed, size = pack([histograms.entry_classes, codes], [len(histograms.classes), values])
    entries, first = group(packed, size)
    counts = _wide(histograms, sum_by(entries, histograms.counts, len(first)))
    totals = _wide(histograms, sum_by(codes, histograms.people, values))
    owners = histograms.entry_classes[first]
    people = int(histograms.classes.people.sum())
    surplus = counts * people - totals[codes[first]] * _wide(histograms, histograms.classes.sizes)[owners]
    numerators = _wide(histograms, np.zeros(len(histograms.classes), dtype=np.int64))
    np.add.at(numerators, owners, np.maximum(surplus, 0))
    return numerators


def _ordered(histograms: Histograms) -> Whole:
    """Return the sum over i < m of |P_i * N - Q_i * n|, P and Q cumulative.

    P is constant between a class's own values.
    """
    people = int(histograms.classes.people.sum())
    last = len(histograms.dictionary) - 1
    place = rank_values(histograms.dictionary)
    cumulative = np.cumsum(histograms.totals[np.argsort(place)])  # Q_i
    sums = np.concatenate([[0], np.cumsum(_wide(histograms, cumulative))])  # Q_0 + ... + Q_(i-1)
    placed = place[histograms.values]
    order = np.lexsort((placed, histograms.entry_classes))
    owners, positions = histograms.entry_classes[order], placed[order]
    counts, sizes = histograms.counts[order], histograms.classes.sizes
    running = np.cumsum(counts)
    before = np.concatenate([[0], running])[histograms.offsets[:-1]]
    mass = running - before[owners]  # P just after each entry
    stops = np.append(positions[1:], last)
    stops[histograms.offsets[1:] - 1] = last
    stops = np.minimum(stops, last)
    starts = np.minimum(positions, last)
    # P * N >= Q_i * n up to the crossing, below it afterwards
    wide_mass, wide_sizes = _wide(histograms, mass) * people, _wide(histograms, sizes)[owners]
    reached = (wide_mass // wide_sizes).astype(np.int64)  # at most the number of people
    crossing = np.clip(np.searchsorted(cumulative, reached, side="right"), starts, stops)
    above = wide_mass * (crossing - starts) - (sums[crossing] - sums[starts]) * wide_sizes
    below = (sums[stops] - sums[crossing]) * wide_sizes - wide_mass * (stops - crossing)
    numerators = _wide(histograms, np.zeros(len(sizes), dtype=np.int64))
    np.add.at(numerators, owners, above + below)
    # before a class's first value P is 0 and only Q counts
    firsts = np.minimum(positions[histograms.offsets[:-1]], last)
    before_first: Whole = sums[firsts] * _wide(histograms, sizes)
    return numerators + before_first


def _largest(numerators: Whole, denominators: Whole, values: npt.NDArray[np.float64]) -> Fraction:
    """Return the largest fraction: floating point finds the candidates, whole numbers decide among them."""
    candidates = np.flatnonzero(values >= values.max() * (1 - 1e-12))
    return max({Fraction(int(numerators[i]), int(denominators[i])) for i in candidates.tolist()})
