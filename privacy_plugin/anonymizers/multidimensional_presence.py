"""Multidimensional presence generalization (MPALM): levels that differ from region to region of the population.

Nergiz, Atzori, Clifton 2007: generalize as little as keeps every region of the population delta-present.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from privacy_plugin.anonymizers.base import Progress, RecodingMethod
from privacy_plugin.anonymizers.confident_regions import ConfidentRegions
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import HierarchyError, InfeasibleError, ParameterError, PolicyError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, group, pack, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.values import Value, key, label
from privacy_plugin.metrics.presence.delta_presence import DeltaPresence, delta_presence
from privacy_plugin.metrics.presence.population_join import join_population
from privacy_plugin.metrics.presence.population_marginals import Joint, Marginals
from privacy_plugin.metrics.presence.presence_confidence import Coverage, PresenceConfidence, read_pair
from privacy_plugin.requirements.requirement import Requirement, require
from privacy_plugin.sources import Source, open_source

_LARGEST = 2**62


def multidimensional_presence(
    research: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    delta: Sequence[float | Fraction | str],
    population: Any = None,
    confidence: float | Fraction | str | None = None,
    marginals: Marginals | None = None,
    population_size: int | None = None,
    joint: Joint | None = None,
    coverage: Coverage = "reported",
) -> "RegionGeneralization":
    """Generalize the research table region by region, as little as keeps every region delta-present (MPALM).

    The quasi-identifiers are the keys of `hierarchies`. The population's values are split top-down along one column's
    hierarchy at a time, as long as every part stays delta-present; of the possible splits the one that saves most loss
    is made. Nergiz, Atzori, Clifton 2007. Deterministic. Raises InfeasibleError if not even the most general table is
    delta-present. The result has the presence that was reached, and applies to the research table.

    Without a population, with a `confidence`: every region is delta-present with at least that confidence, known only
    `marginals`, `joint` and `population_size` as in `presence_confidence`, whose labels-only bound judges every region
    (`confident_regions`). No guarantee of the least loss, and never more than the best levels found for all rows.

    >>> import pandas
    >>> from privacy_plugin.frequency.hierarchy_builders import tree_hierarchy
    >>> everybody = pandas.DataFrame({"city": ["Bern", "Bern", "Thun", "Basel", "Basel", "Basel"]})
    >>> cities = tree_hierarchy({"BE": ["Bern", "Thun"], "BS": ["Basel"]})
    >>> some = everybody.iloc[[0, 3]]
    >>> plan = multidimensional_presence(some, population=everybody, hierarchies={"city": cities}, delta=(0, 0.4))
    >>> plan.apply(some)["city"].tolist()
    ['BE', 'Basel']
    """
    if not hierarchies:
        raise ParameterError("hierarchies is empty; give one for every quasi-identifier")
    if (population is None) == (confidence is None):
        raise ParameterError(
            "give the population, or a confidence with marginals (or joint) and population_size of an unknown one"
        )
    columns = list(hierarchies)
    table = open_source(research)
    require_columns(columns, table.columns)
    if population is None:
        known: dict[str, Any] = {"marginals": marginals or {}, "joint": joint, "population_size": population_size}
        asked = require("presence_confidence", at_least=confidence, delta=delta, coverage=coverage, **known)
        return confident_presence(table.frequencies(columns), hierarchies=hierarchies, requirement=asked)
    if marginals is not None or joint is not None or population_size is not None:
        raise ParameterError("marginals, joint and population_size stand in for the population; leave them out")
    others = open_source(population)
    require_columns(columns, others.columns)
    return presence_regions(
        table.frequencies(columns), population=others.frequencies(columns), hierarchies=hierarchies, delta=delta
    )


@dataclass(frozen=True, kw_only=True)
class RegionGeneralization(Described):
    """A generalization whose levels differ from region to region, and its cost.

    `classes` are the regions that hold rows of the research table. `known` has the distinct rows of which it is known
    which region they are in, and `region_levels` the level of every column there. `exact_loss` is the loss metric as a
    fraction, `discernibility` the sum of squared sizes.
    """

    columns: tuple[str, ...]
    delta: tuple[Fraction, Fraction]
    exact_loss: Fraction
    discernibility: int
    classes: int
    frequencies: FrequencyTable = field(repr=False)
    known: FrequencyTable = field(repr=False)
    region_levels: Codes = field(repr=False)
    levels: tuple[Levels, ...] = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    made_from: ClassVar[str]

    @property
    def loss_metric(self) -> float:
        """The mean over cells of (leaves covered - 1) / (leaves - 1)."""
        return float(self.exact_loss)

    @property
    @abstractmethod
    def reached(self) -> Mapping[str, Any]:
        """What was measured on the published table."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """The same by the names that people read."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What was measured on the published table, for people."""

    @abstractmethod
    def problem(self, generalized: FrequencyTable) -> str | None:
        """Return why a table in these regions must not be published, or None."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without a value of the tables."""
        return {
            "columns": list(self.columns),
            "delta": [float(bound) for bound in self.delta],
            **self.reached,
            "loss_metric": self.loss_metric,
            "discernibility": self.discernibility,
            "classes": self.classes,
            "rows": self.frequencies.rows,
        }

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the tables."""
        return self.to_dict()

    def describe(self) -> Description:
        """Return the number of regions, their loss and the presence reached."""
        rows = self.frequencies.rows
        return Description(
            title="Generalized region by region",
            rows=(
                ("regions", f"{self.classes:,}, each with levels of its own"),
                ("loss metric", f"{self.loss_metric:.4g} on a scale from 0 (nothing lost) to 1 (nothing left)"),
                ("presence", self.words),
            ),
            facts={
                "regions": self.classes,
                "loss metric": self.loss_metric,
                "discernibility": self.discernibility,
                **self.facts,
                "rows read": rows,
            },
            released_rows=rows,
        )

    def apply(self, research: Any, *, target: str | None = None, keep: Sequence[str] | None = None) -> Any:
        """Generalize the research table where it is stored; only groups are read, and quasi-identifiers become text.

        Frames return a new frame, in which rows keep their order; a database table or a file needs the `target` that is
        created atomically. `keep` names the columns of the result (default: all). Raises ParameterError for rows whose
        values do not occur in the population, and InfeasibleError for a table that is not delta-present in these
        regions; nothing is written then.
        """
        source = open_source(research)
        return source.recode(self.recoding(source, keep=keep), target=target)

    def recoding(self, source: Source, *, keep: Sequence[str] | None = None) -> Recoding:
        """Return what every combination of quasi-identifiers becomes."""
        require_columns(self.columns, source.columns)
        table = source.frequencies(self.columns)
        table.require_rows()
        return Recoding(
            keep=tuple(source.columns if keep is None else keep),
            mappings={},
            combined_columns=self.columns,
            combined=self.recoded(table),
        )

    def recoded(self, table: FrequencyTable) -> tuple[tuple[tuple[Value, ...], tuple[Value, ...]], ...]:
        """Return what every distinct row of a table becomes; raise InfeasibleError if it is not delta-present then.

        The regions were made for one table; another one may not be delta-present in them.
        """
        codes = np.column_stack([self._codes_of(table, name) for name in self.columns])
        rows = self._rows(codes)
        texts = [
            _texts(levels, self.region_levels[rows, position], codes[:, position]).tolist()
            for position, levels in enumerate(self.levels)
        ]
        positions = np.arange(table.distinct, dtype=np.int64)
        generalized = FrequencyTable.from_columns(self.columns, [positions] * len(texts), texts, table.counts)
        problem = self.problem(generalized)
        if problem is not None:
            raise InfeasibleError(
                f"in these regions {problem}; the regions were made for another table: run multidimensional_presence "
                "again"
            )
        return tuple((table.values(row), new) for row, new in enumerate(zip(*texts, strict=True)))

    def _codes_of(self, table: FrequencyTable, column: str) -> Integers:
        """Return the codes of a column among the known rows; -1 for a value that does not occur there."""
        known = {key(value): code for code, value in enumerate(self.known.dictionary(column))}
        codes = np.array([known.get(key(value), -1) for value in table.dictionary(column)], dtype=np.int64)
        return codes[table.column_codes(column)]

    def _rows(self, codes: Integers) -> Integers:
        """Find rows among the known ones."""
        missing: npt.NDArray[np.bool_] = np.any(codes < 0, axis=1)
        everybody = self.known
        together = np.concatenate([everybody.codes, np.where(missing[:, None], 0, codes)])
        packed, _ = pack(list(together.T), everybody.cardinalities)
        own, wanted = packed[: everybody.distinct], packed[everybody.distinct :]
        order = np.argsort(own, kind="stable")
        places = order[np.minimum(np.searchsorted(own[order], wanted), everybody.distinct - 1)]
        missing |= own[places] != wanted
        if missing.any():
            raise ParameterError(
                f"{int(missing.sum()):,} of the table's {len(codes):,} combinations of values do not occur in the "
                f"{self.made_from}"
            )
        return places


@dataclass(frozen=True, kw_only=True)
class PresenceGeneralization(RegionGeneralization):
    """Regions of a known population; `presence` is measured on the published table, not taken from the search."""

    made_from: ClassVar[str] = "population; the table must be a part of the population"

    presence: DeltaPresence

    @property
    def population(self) -> FrequencyTable:
        """The population by quasi-identifiers."""
        return self.known

    @property
    def minimum(self) -> Any:
        """The least probability of presence over the people of the population."""
        return self.presence.minimum

    @property
    def maximum(self) -> Any:
        """The largest probability of presence over the people of the population."""
        return self.presence.maximum

    @property
    def reached(self) -> Mapping[str, Any]:
        """The least and the largest probability of presence, and the people of the population."""
        return {
            "minimum": float(self.minimum),
            "maximum": float(self.maximum),
            "population": self.population.rows,
        }

    @property
    def facts(self) -> Mapping[str, Any]:
        """The same by the names that people read."""
        return {
            "least presence": float(self.minimum),
            "largest presence": float(self.maximum),
            "people of the population": self.population.rows,
        }

    @property
    def words(self) -> str:
        """The probabilities of presence, and the bounds."""
        return (
            f"{float(self.minimum):.4g} to {float(self.maximum):.4g} over the people of the population "
            f"({float(self.delta[0]):g} to {float(self.delta[1]):g} required)"
        )

    def problem(self, generalized: FrequencyTable) -> str | None:
        """Measure a table by its labels and the population."""
        found = delta_presence(
            generalized, quasi_identifiers=self.columns, population=self.population, hierarchies=self.hierarchies
        )
        if isinstance(found, DeltaPresence) and self.delta[0] <= found.minimum and found.maximum <= self.delta[1]:
            return None
        return (
            f"the probability of presence would be {float(found.lowest):.4g} to {float(found.highest):.4g}, and delta "
            f"is {float(self.delta[0]):g} to {float(self.delta[1]):g}"
        )


@dataclass(frozen=True, kw_only=True)
class ConfidentGeneralization(RegionGeneralization):
    """Regions that are delta-present with a confidence; measured on the published table by its labels alone."""

    made_from: ClassVar[str] = "table that the regions were made for; run multidimensional_presence again"

    presence: PresenceConfidence
    regions: ConfidentRegions = field(repr=False)

    @property
    def confidence(self) -> Any:
        """The lowest confidence over the regions, at its lower end."""
        return self.presence.value

    @property
    def reached(self) -> Mapping[str, Any]:
        """The confidence, and the number of people in the population."""
        return {"confidence": float(self.confidence), "population": self.presence.parameters["population_size"]}

    @property
    def facts(self) -> Mapping[str, Any]:
        """The same by the names that people read."""
        return {
            "confidence of presence": float(self.confidence),
            "people of the population": self.presence.parameters["population_size"],
        }

    @property
    def words(self) -> str:
        """The confidence and the bounds."""
        return (
            f"between {float(self.delta[0]):g} and {float(self.delta[1]):g} with a confidence of at least "
            f"{float(self.confidence):.4g} in every region ({self.regions.requirement.limit} required)"
        )

    def problem(self, generalized: FrequencyTable) -> str | None:
        """Measure a table by its labels and what is known of the population."""
        found = self.regions.measure(generalized)
        if self.regions.requirement.limit.holds(found):
            return None
        return f"the confidence of delta-presence would be {float(found.value):.4g}, and is to be " + str(
            self.regions.requirement.limit
        )


class MultidimensionalPresenceMethod(RecodingMethod):
    """Regions with levels of their own, as specific as presence in the population, known or not, allows."""

    name = "multidimensional_presence"
    function = multidimensional_presence
    supplied = (
        *("research", "population", "hierarchies", "delta"),
        *("confidence", "marginals", "population_size", "joint", "coverage"),
    )
    makes = "regions"
    doing = "looking for regions within the bounds of presence"
    done = "generalized region by region within its bounds of presence"

    def _asked(self, metric: str) -> list[Requirement]:
        return [requirement for requirement in self.rules.requirements if requirement.metric == metric]

    @cached_property
    def delta(self) -> tuple[Fraction, Fraction] | None:
        """The bounds that meet every requirement on delta-presence at once; None where there is none."""
        asked = self._asked("delta_presence")
        if not asked:
            return None
        low, high = max(r.limit.bounds[0] for r in asked), min(r.limit.bounds[1] for r in asked)
        if low > high:
            raise PolicyError(f"no table meets both {' and '.join(map(str, asked))}")
        return low, high

    @cached_property
    def confidence(self) -> Requirement:
        """The requirement on the confidence of presence, where the policy has none on presence itself."""
        asked = self._asked("presence_confidence")
        if len(asked) != 1:
            raise PolicyError(
                f"{self.name} keeps the probability of presence between two bounds; add them as a requirement such as "
                "delta_presence: {between: [0.01, 0.2]}, or one presence_confidence where only distributions are known"
            )
        return asked[0]

    def require_policy(self) -> None:
        """Refuse a policy without bounds of presence, or that counts people by a unit column."""
        super().require_policy()
        if self.rules.unit is not None:
            raise PolicyError(f"{self.name} needs one row per person; it cannot count people by {self.rules.unit!r}")
        if self.delta is None:
            _ = self.confidence  # either raises if bounds are missing or contradict each other

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse a partition by a quasi-identifier: people of other partitions would be known to be absent."""
        if constant in self.rules.columns("quasi_identifier"):
            raise PolicyError(
                f"{self.name} compares with the whole population; the partition column {constant!r} cannot be a "
                "quasi_identifier"
            )
        super().require_usable(constant)

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> RegionGeneralization:
        """Split the population top-down, or the table where only distributions are known."""
        if self.delta is None:
            columns = list(self.hierarchies)
            require_columns(columns, source.columns)
            return confident_presence(
                source.frequencies(columns), hierarchies=self.hierarchies, requirement=self.confidence
            )
        if population is None:
            raise ParameterError(f"{self.name} compares with the population; give it as population")
        return multidimensional_presence(source, population=population, hierarchies=self.hierarchies, delta=self.delta)


def confident_presence(
    table: FrequencyTable, *, hierarchies: Mapping[str, Hierarchy], requirement: Requirement
) -> ConfidentGeneralization:
    """Find regions that meet a requirement on the confidence of presence, and measure what they publish."""
    columns = tuple(hierarchies)
    table = table.project(columns)
    table.require_rows()
    regions = ConfidentRegions(table=table, hierarchies=dict(hierarchies), requirement=requirement)
    levels, reached = regions.laid(), regions.search()
    generalized = _generalized(table, table.counts, levels, reached, columns)
    presence = regions.measure(generalized)
    if not requirement.limit.holds(presence):
        raise HierarchyError("a hierarchy uses one label for different groups; give every group its own label")
    return ConfidentGeneralization(
        columns=columns,
        delta=regions.delta,
        presence=presence,
        exact_loss=regions.loss(reached),
        discernibility=int((generalized.counts.astype(object) ** 2).sum()),
        classes=generalized.distinct,
        frequencies=generalized,
        known=table,
        region_levels=reached,
        levels=levels,
        hierarchies=dict(hierarchies),
        regions=regions,
    )


def presence_regions(
    table: FrequencyTable,
    *,
    population: FrequencyTable,
    hierarchies: Mapping[str, Hierarchy],
    delta: Sequence[float | Fraction | str],
) -> PresenceGeneralization:
    """Split the population top-down into regions that all stay delta-present.

    A region has one node of every column's hierarchy. It may be split along one column into the node's children when
    low <= rows of the table / people of the population <= high holds in every part. Presence is anti-monotone: where
    no single split is possible none of several columns or levels is, so the result is a local optimum. Of the possible
    splits the one that saves most loss for the region's rows is made, ties by the order of columns. Nergiz, Atzori,
    Clifton 2007, section 5. Costs: loss_metric is the mean over cells of (leaves - 1) / (all leaves - 1), leaves being
    values of the population; discernibility the sum of squared class sizes. Cost: O(distinct rows of the population *
    columns * sum of heights).
    """
    low, high = read_pair(delta)
    columns = tuple(hierarchies)
    joined = join_population(table, population, quasi_identifiers=columns)
    everybody = joined.population
    levels = tuple(h.levels(everybody.dictionary(name), column=name) for name, h in hierarchies.items())
    rows = np.where(joined.class_of < 0, 0, joined.classes.sizes[joined.class_of])
    search = _Search(codes=everybody.codes, people=everybody.counts, rows=rows, levels=levels, low=low, high=high)
    reached = search.run()
    generalized = _generalized(everybody, rows, levels, reached, columns)
    presence = _measured(generalized, everybody, hierarchies, low, high)
    return PresenceGeneralization(
        columns=columns,
        delta=(low, high),
        presence=presence,
        exact_loss=_loss(search, reached),
        discernibility=int((generalized.counts.astype(object) ** 2).sum()),
        classes=generalized.distinct,
        frequencies=generalized,
        known=everybody,
        region_levels=reached,
        levels=levels,
        hierarchies=dict(hierarchies),
    )


def _measured(
    generalized: FrequencyTable,
    everybody: FrequencyTable,
    hierarchies: Mapping[str, Hierarchy],
    low: Fraction,
    high: Fraction,
) -> DeltaPresence:
    """Measure the published table by its labels alone, which must identify the regions."""
    try:
        presence = delta_presence(
            generalized, quasi_identifiers=generalized.columns, population=everybody, hierarchies=hierarchies
        )
    except ParameterError:
        presence = None
    if not isinstance(presence, DeltaPresence) or presence.minimum < low or presence.maximum > high:
        raise HierarchyError("a hierarchy uses one label for different groups; give every group its own label")
    return presence


class _Search:
    """Top-down splitting; a region is a list of distinct rows of the population and one level per column."""

    def __init__(
        self,
        *,
        codes: Codes,
        people: Integers,
        rows: Integers,
        levels: Sequence[Levels],
        low: Fraction,
        high: Fraction,
    ) -> None:
        self.codes, self.levels, self.low, self.high = codes, levels, low, high
        wide = int(people.sum()) * max(low.denominator, high.denominator) >= _LARGEST
        self.people = people.astype(object) if wide else people
        self.rows = rows.astype(object) if wide else rows
        self.leaves = [[np.bincount(codes_at) for codes_at in level.maps] for level in levels]

    def run(self) -> Codes:
        """Return the level of every column for every row of the population."""
        top = tuple(level.height for level in self.levels)
        everyone = np.arange(len(self.codes), dtype=np.int64)
        reached = np.empty(self.codes.shape, dtype=np.int32)
        waiting = [(members, top) for members in self._parts(everyone, top, range(len(top)))]
        for members, _ in waiting:
            self._require_present(members)
        while waiting:
            members, node = waiting.pop()
            split = self._best_split(members, node)
            if split is None:
                reached[members] = node
                continue
            below = tuple(level - (position == split) for position, level in enumerate(node))
            waiting += [(part, below) for part in self._parts(members, below, [split])]
        return reached

    def _parts(self, members: Integers, node: Sequence[int], columns: Sequence[int]) -> list[Integers]:
        """Divide rows by the groups they fall into on a node's levels."""
        values = [self.levels[c].maps[node[c]][self.codes[members, c]] for c in columns]
        packed, size = pack(values, [len(self.levels[c].dictionaries[node[c]]) for c in columns])
        numbers, first = group(packed, size)
        order = np.argsort(numbers, kind="stable")
        return np.split(members[order], np.cumsum(np.bincount(numbers, minlength=len(first)))[:-1])

    def _best_split(self, members: Integers, node: tuple[int, ...]) -> int | None:
        """Return the column whose split saves most loss among those that leave every part delta-present."""
        if not self.rows[members].any():
            return None  # no row of the table would gain detail
        best, most = None, -1.0
        for column, level in enumerate(node):
            if level == 0:
                continue
            saved = self._saved(members, column, level)
            if saved is not None and saved > most:
                best, most = column, saved
        return best

    def _saved(self, members: Integers, column: int, level: int) -> float | None:
        """Return the loss that splitting a column saves, or None where a part would not be delta-present."""
        maps = self.levels[column].maps
        codes = self.codes[members, column]
        below = maps[level - 1][codes]
        parts, first = group(below.astype(np.int64), len(self.leaves[column][level - 1]))
        rows, people = _sums(parts, self.rows[members], len(first)), _sums(parts, self.people[members], len(first))
        if not self._present(rows, people):
            return None
        leaves = self.leaves[column]
        before = int(leaves[level][maps[level][codes[0]]])
        after = leaves[level - 1][below[first]]
        return float((rows * (before - after)).sum()) / max(len(maps[0]) - 1, 1)

    def _present(self, rows: Any, people: Any) -> bool:
        enough = rows * self.low.denominator >= people * self.low.numerator
        return bool((enough & (rows * self.high.denominator <= people * self.high.numerator)).all())

    def _require_present(self, members: Integers) -> None:
        rows, people = self.rows[members].sum(), self.people[members].sum()
        if not self._present(np.array([rows]), np.array([people])):
            raise InfeasibleError(
                f"not even the most general table is delta-present: {int(rows):,} of {int(people):,} people "
                f"({float(rows / people):.4g}) are in it, and delta is {float(self.low):g} to {float(self.high):g}"
            )


def _sums(parts: Integers, weights: Any, length: int) -> Any:
    if weights.dtype != object:
        return sum_by(parts, weights, length)
    totals = np.zeros(length, dtype=object)
    np.add.at(totals, parts, weights)
    return totals


def _texts(levels: Levels, at: Codes, codes: Integers) -> npt.NDArray[np.object_]:
    """Return the label of every cell: that of its group on its level."""
    texts = np.empty(len(codes), dtype=object)
    for level in np.unique(at).tolist():
        labels = np.array([None if v is None else label(v) for v in levels.dictionaries[level]], dtype=object)
        chosen = at == level
        texts[chosen] = labels[levels.maps[level][codes[chosen]]]
    return texts


def _generalized(
    everybody: FrequencyTable, rows: Integers, levels: Sequence[Levels], reached: Codes, columns: tuple[str, ...]
) -> FrequencyTable:
    """Return the published research table: labels and counts."""
    inside = np.flatnonzero(rows)
    positions = np.arange(len(inside), dtype=np.int64)
    texts = [
        _texts(levels[c], reached[inside, c], everybody.codes[inside, c].astype(np.int64)).tolist()
        for c in range(len(columns))
    ]
    return FrequencyTable.from_columns(columns, [positions] * len(columns), texts, rows[inside])


def _loss(search: _Search, reached: Codes) -> Fraction:
    total = Fraction(0)
    rows = search.rows.astype(object)
    for column, level in enumerate(search.levels):
        whole = len(level.maps[0]) - 1
        if whole:
            codes = search.codes[:, column]
            covered = np.zeros(len(codes), dtype=object)
            for at, leaves in enumerate(search.leaves[column]):
                chosen = reached[:, column] == at
                covered[chosen] = leaves[level.maps[at][codes[chosen]]]
            total += Fraction(int((rows * (covered - 1)).sum()), whole)
    return total / (int(rows.sum()) * len(search.levels))
