"""Local plans: regions with labels of their own, to be applied where the data lives, and again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.atomic_write import write_atomically
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ColumnError, HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.people_table import require_count
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import merge
from privacy_plugin.frequency.values import SUPPRESSED, Value
from privacy_plugin.generalization.lattice import group_source, needed_columns
from privacy_plugin.generalization.local_cells import Combinations, combinations
from privacy_plugin.generalization.people_lattice import PeopleLattice, require_dropping
from privacy_plugin.generalization.people_regions import labelled, people_outside
from privacy_plugin.generalization.region_population import population_by_region, region_digest
from privacy_plugin.generalization.regions import (
    OUTSIDE,
    SUPPRESSED_ROWS,
    Region,
    Regions,
    read_regions,
)
from privacy_plugin.generalization.release_judgement import Release, lines_in_regions
from privacy_plugin.generalization.shaped_classes import (
    CHOICES,
    ChooseBy,
    deciding_requirements,
    require_checked,
    require_sizes,
)
from privacy_plugin.generalization.suppression import failing_rows, most_suppressed, require_share
from privacy_plugin.generalization.unknown_values import (
    Unknown,
    describe_unknown,
    describe_unknown_rows,
    read_unknown_rows,
    require_unknown,
    unknown_codes,
    unknown_lines,
)
from privacy_plugin.generalization.wishes import describe_wishes, read_purpose
from privacy_plugin.locations import Location
from privacy_plugin.requirements.requirement import Requirement, require
from privacy_plugin.requirements.specification import hierarchy_from_specification
from privacy_plugin.sources import Source, open_source

KIND = "local"
_FORMAT = 1

Labels = Literal["hierarchy", "observed"]
Uncovered = Literal["refuse", "suppress"]
LABELS: tuple[Labels, ...] = ("hierarchy", "observed")
UNCOVERED: tuple[Uncovered, ...] = ("refuse", "suppress")


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalPlan(Described):
    """A generalization that differs from region to region: what it costs, and what it was made to meet.

    `loss` is the loss metric of the released table, from 0 to 1, in which a suppressed row loses all; `column_losses`
    is the same for each column. `suppressed` rows are in no region. With a `unit`, rows are people. `search` describes
    how the regions were found, `notes` what a reader of the release should know. `found` holds the regions in compact
    form; `regions` lists them. `unknown` says what is done with values that a hierarchy does not cover, also when the
    plan is applied; `unknown_rows` counts the rows that had one, by column. `losses_without_wishes`: the loss of every
    column in the plan that was found without `weights`, `highest_levels` and `useful_for`; empty where there are none.
    """

    found: Regions = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    requirements: tuple[Requirement, ...]
    loss: float
    column_losses: Mapping[str, float]
    suppressed: int
    rows: int
    max_suppression: float
    labels: Labels = "hierarchy"
    choose_by: ChooseBy = "everything"
    refused_sizes: tuple[int, ...] = ()
    """Class sizes of the ladder that were tried before this plan's, and refused."""
    uncovered: Uncovered = "refuse"
    weights: Mapping[str, float] = field(default_factory=dict)
    highest_levels: Mapping[str, int] = field(default_factory=dict)
    useful_for: Mapping[str, Any] = field(default_factory=dict)
    losses_without_wishes: Mapping[str, float] = field(default_factory=dict)
    sensitive: str | None = None
    attributes: tuple[str, ...] | None = None
    unit: str | None = None
    count: str | None = None
    unknown: Unknown = "refuse"
    unknown_rows: Mapping[str, int] = field(default_factory=dict)
    search: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.requirements or not self.hierarchies or tuple(self.hierarchies) != self.found.columns:
            raise ParameterError("a plan needs a requirement, and labels and a hierarchy for every quasi-identifier")
        for name, value, valid in (
            ("labels", self.labels, LABELS),
            ("choose_by", self.choose_by, CHOICES),
            ("uncovered", self.uncovered, UNCOVERED),
        ):
            if value not in valid:
                raise ParameterError(f"{name} must be one of {', '.join(valid)}, not {value!r}")
        require_share(self.max_suppression)
        require_unknown(self.unknown)
        require_sizes(self.refused_sizes)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that it recodes."""
        return self.found.columns

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The regions: labels, rows and loss of each."""
        return self.found.listed()

    @property
    def suppressed_share(self) -> float:
        """The share of rows that the plan suppresses in the data it was made for."""
        return self.suppressed / self.rows

    def apply(
        self,
        data: Any,
        *,
        target: str | None = None,
        keep: Sequence[str] | None = None,
        suppression: Literal["drop", "mask"] = "drop",
        population: Any = None,
    ) -> Any:
        """Write every row with the labels of its region, where the data lives; only groups are read.

        A combination of quasi-identifiers that the plan was made with is in the region it was put in. Any other goes to
        the most specific region whose labels cover it, the first of the plan where several are equally specific. What
        fits no region is refused, or suppressed with `uncovered="suppress"`. Then the released rows are judged again by
        every requirement: classes that fail are suppressed up to the plan's limit; InfeasibleError above it, and
        nothing is written. Quasi-identifiers become text. `target`, `keep`, `suppression` and `population` are as for
        `Plan.apply`; the population counts by membership in the regions.
        """
        source = open_source(data)
        recoding = self.recoding(source, keep=keep, suppression=suppression, population=population)
        return source.recode(recoding, target=target)

    def label(self, table: FrequencyTable) -> tuple[FrequencyTable, npt.NDArray[np.bool_]]:
        """Return the lines of a table that are in a region, with its labels, and which lines those are.

        The lines keep their order, by the first column of the table, if it identifies them.
        """
        unknown = {name: int(table.counts[m].sum()) for name, m in unknown_lines(table, self.hierarchies).items()}
        if unknown and self.unknown == "refuse":
            raise HierarchyError(describe_unknown(table, self.hierarchies, unknown, "people" if self.unit else "rows"))
        found = combinations(table, self.quasi_identifiers)
        lines = self._assign(found)[found.lines]
        return self.found.released(table, lines).project(table.columns), lines >= 0

    def recoding(
        self,
        source: Source,
        *,
        keep: Sequence[str] | None = None,
        suppression: Literal["drop", "mask"] = "drop",
        population: Any = None,
    ) -> Recoding:
        """Work out what every combination of quasi-identifiers becomes and which are suppressed."""
        if suppression not in ("drop", "mask"):
            raise ParameterError(f"suppression must be drop or mask, not {suppression!r}")
        columns = needed_columns(
            self.quasi_identifiers, self.requirements, sensitive=self.sensitive, attributes=self.attributes
        )
        table = group_source(source, columns, self.unit, self.requirements)
        table.require_rows()
        if self.unit is not None and table.columns[-1] == self.unit:
            return self._people_recoding(table, tuple(source.columns if keep is None else keep), suppression)
        everybody = self._population(population)
        found = combinations(table, self.quasi_identifiers, everybody)
        region_of = self._assign(found)
        self._require_covered(table, found, region_of)
        gone = self._suppressed(table, everybody, found, region_of)
        if self.choose_by == "quasi_identifiers":
            released = self._release(table, everybody, found, np.where(gone, OUTSIDE, region_of))
            require_checked(self.requirements, released.released, released.roles, self.hierarchies)
        if suppression == "mask" and gone.any():
            self._require_masked(table, everybody, found, region_of, gone)
        return self._recoding(found, region_of, gone, tuple(source.columns if keep is None else keep), suppression)

    def _people_recoding(self, table: FrequencyTable, keep: tuple[str, ...], suppression: str) -> Recoding:
        """Recode people whose rows differ: whoever has a row in no region, or fails, loses all rows."""
        unit = str(self.unit)
        require_dropping(suppression, keep, unit)
        if any(one.definition.needs_population for one in self.requirements):
            raise ParameterError("a population cannot be counted by regions where rows of a person differ")
        found = combinations(table, self.quasi_identifiers)
        region_of = self._assign(found)
        self._require_covered(table, found, region_of)
        lattice = PeopleLattice(
            table=table,
            hierarchies={name: self.hierarchies[name] for name in self.quasi_identifiers},
            requirements=self.requirements,
            max_suppression=self.max_suppression,
            loss_name="loss_metric",
            sensitive=self.sensitive,
            attributes=self.attributes,
            unit=unit,
            count=require_count(self.count or "sequences"),
        )
        outside = people_outside(table, found, region_of)
        gone = lattice.suppress_from(labelled(table, found, self.found, region_of), outside)
        texts = self.found.texts(np.maximum(region_of, 0))
        stars = (SUPPRESSED,) * len(self.quasi_identifiers)
        olds = _values(found, np.arange(len(found)))
        people = lattice.people_of(gone)
        return Recoding(
            keep=keep,
            mappings={},
            combined_columns=self.quasi_identifiers,
            combined=tuple(
                (old, new if inside else stars)
                for old, new, inside in zip(olds, texts, (region_of >= 0).tolist(), strict=True)
            ),
            suppressed_columns=(unit,) if people else (),
            suppressed=frozenset((person,) for person in people),
        )

    def _population(self, population: Any) -> FrequencyTable | None:
        wanted = [one for one in self.requirements if one.definition.needs_population]
        if not wanted:
            return None
        if population is None:
            raise ParameterError(f"{wanted[0].metric} compares with a population; give it with population=")
        return open_source(population).frequencies(self.quasi_identifiers)

    def _assign(self, found: Combinations) -> npt.NDArray[np.int64]:
        """Return the region of every combination; a value that no hierarchy covers is treated as `unknown` says."""
        masks = [
            unknown_codes(values, self.hierarchies[n])
            for n, values in zip(found.columns, found.dictionaries, strict=True)
        ]
        if self.unknown == "refuse" or not any(mask.any() for mask in masks):
            return self.found.assign(found, self.hierarchies)
        if self.unknown == "top":
            dictionaries = tuple(
                tuple(SUPPRESSED if out else value for value, out in zip(values, mask.tolist(), strict=True))
                for values, mask in zip(found.dictionaries, masks, strict=True)
            )
            return self.found.assign(replace(found, dictionaries=dictionaries), self.hierarchies)
        gone = np.logical_or.reduce([mask[found.codes[:, c]] for c, mask in enumerate(masks)])
        return np.where(gone, SUPPRESSED_ROWS, self.found.assign(found, self.hierarchies))

    def _require_covered(self, table: FrequencyTable, found: Combinations, region_of: npt.NDArray[np.int64]) -> None:
        rows = int(found.rows[region_of == OUTSIDE].sum())
        if rows and self.uncovered == "refuse":
            unknown = {name: int(table.counts[m].sum()) for name, m in unknown_lines(table, self.hierarchies).items()}
            if unknown and self.unknown == "refuse":
                counted = "people" if self.unit else "rows"
                raise HierarchyError(describe_unknown(table, self.hierarchies, unknown, counted))
            raise InfeasibleError(
                f"{rows:,} of {found.total:,} rows are outside all regions of the plan: no label covers their values. "
                "Make a new plan, or one with uncovered='suppress'"
            )

    def _release(
        self,
        table: FrequencyTable,
        everybody: FrequencyTable | None,
        found: Combinations,
        region_of: npt.NDArray[np.int64],
    ) -> Release:
        lines, population_lines = lines_in_regions(found, region_of)
        return Release(
            table=table,
            population=everybody,
            regions=self.found,
            lines=lines,
            population_lines=population_lines,
            sensitive=self.sensitive,
            attributes=self.attributes,
            hierarchies=dict(self.hierarchies),
        )

    def _suppressed(
        self,
        table: FrequencyTable,
        everybody: FrequencyTable | None,
        found: Combinations,
        region_of: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.bool_]:
        """Tell which combinations are left out: those in no region, and those of classes that fail."""
        gone: npt.NDArray[np.bool_] = region_of < 0
        rows = int(found.rows[gone].sum())
        allowed = most_suppressed(self.max_suppression, found.total)
        left = found.total - rows
        if rows > allowed or not left:
            raise InfeasibleError(
                f"{rows:,} of {found.total:,} rows are in no region, more than the suppression limit of "
                f"{self.max_suppression:.1%}"
            )
        release = self._release(table, everybody, found, region_of)
        released = release.released
        failing = failing_rows(
            released,
            [release.requirement(one) for one in deciding_requirements(self.requirements, self.choose_by)],
            quasi_identifiers=self.quasi_identifiers,
            sensitive=self.sensitive,
            attributes=self.attributes,
            population=release.judged_population,
            max_suppression=Fraction(allowed - rows, left),
        )
        if not len(failing):
            return gone
        width = len(self.quasi_identifiers)
        failed = {released.values(row)[:width] for row in failing.tolist()}
        texts = self.found.texts(np.arange(len(self.found)))
        regions = np.array([one in failed for one in texts], dtype=bool)
        gone |= regions[np.maximum(region_of, 0)]
        return gone

    def _require_masked(
        self,
        table: FrequencyTable,
        everybody: FrequencyTable | None,
        found: Combinations,
        region_of: npt.NDArray[np.int64],
        gone: npt.NDArray[np.bool_],
    ) -> None:
        """Judge what is released with `*` in the suppressed rows, which are a class like any other."""
        kept = np.where(gone, OUTSIDE, region_of)
        release = self._release(table, everybody, found, kept)
        hidden = np.flatnonzero(release.lines < 0)
        released = release.released
        stars = FrequencyTable.from_columns(
            released.columns,
            [
                np.zeros(len(hidden), dtype=np.int64)
                if name in self.quasi_identifiers
                else table.column_codes(name)[hidden]
                for name in released.columns
            ],
            [[SUPPRESSED] if n in self.quasi_identifiers else table.dictionary(n) for n in released.columns],
            table.counts[hidden],
        )
        whole = merge([released, stars])
        for one in self.requirements:
            finding = release.requirement(one).judge(whole, **release.roles, population=release.judged_population)
            if not finding.passed:
                raise InfeasibleError(f"with the suppressed rows masked the table fails: {finding.reason}")

    def _recoding(
        self,
        found: Combinations,
        region_of: npt.NDArray[np.int64],
        gone: npt.NDArray[np.bool_],
        keep: tuple[str, ...],
        suppression: str,
    ) -> Recoding:
        here = np.flatnonzero(found.rows > 0)
        olds = _values(found, here)
        texts = self.found.texts(np.maximum(region_of[here], 0))
        stars = (SUPPRESSED,) * len(self.quasi_identifiers)
        hidden = gone[here].tolist()
        suppressed = frozenset(old for old, out in zip(olds, hidden, strict=True) if out and suppression == "drop")
        if len(suppressed) != (sum(hidden) if suppression == "drop" else 0):
            raise ColumnError("a quasi-identifier mixes true and 1 (or false and 0); give the column one type")
        return Recoding(
            keep=keep,
            mappings={},
            combined_columns=self.quasi_identifiers,
            combined=tuple((old, stars if out else new) for old, new, out in zip(olds, texts, hidden, strict=True)),
            suppressed_columns=self.quasi_identifiers if suppressed else (),
            suppressed=suppressed,
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the regions: what a verdict that counts a population by region depends on."""
        return region_digest(self.found)

    def population_by_region(
        self, table: FrequencyTable, population: FrequencyTable, hierarchies: Mapping[str, Hierarchy]
    ) -> FrequencyTable:
        """Count a population by region for the gate, which judges a table that this plan is said to have made.

        Raise ParameterError unless the plan has the policy's `hierarchies`, every class of the table is a region, and
        the labels of a region cover everybody who counts in it.
        """
        return population_by_region(
            self.found,
            {name: hierarchy.specification for name, hierarchy in self.hierarchies.items()},
            table=table,
            population=population,
            hierarchies=hierarchies,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `load_plan` reads; labels and combinations hold values of the table."""
        return {
            "kind": KIND,
            "format": _FORMAT,
            "hierarchies": {name: hierarchy.specification for name, hierarchy in self.hierarchies.items()},
            "requirements": [requirement.to_dict() for requirement in self.requirements],
            "loss": self.loss,
            "column_losses": dict(self.column_losses),
            "suppressed": self.suppressed,
            "rows": self.rows,
            "max_suppression": self.max_suppression,
            "labels": self.labels,
            "choose_by": self.choose_by,
            "refused_sizes": list(self.refused_sizes),
            "uncovered": self.uncovered,
            "weights": dict(self.weights),
            "highest_levels": dict(self.highest_levels),
            "useful_for": dict(self.useful_for),
            "losses_without_wishes": dict(self.losses_without_wishes),
            "sensitive": self.sensitive,
            "attributes": None if self.attributes is None else list(self.attributes),
            "unit": self.unit,
            "count": self.count,
            "unknown": self.unknown,
            "unknown_rows": dict(self.unknown_rows),
            "search": self.search,
            "notes": list(self.notes),
            "found": self.found.to_dict(),
        }

    def summary(self) -> dict[str, Any]:
        """Return what the plan does, without a value of the table."""
        return {
            "regions": len(self.found),
            "loss": self.loss,
            "loss_name": "loss_metric",
            "column_losses": dict(self.column_losses),
            "suppressed": self.suppressed,
            "rows": self.rows,
            "max_suppression": self.max_suppression,
            "labels": self.labels,
            "choose_by": self.choose_by,
            "refused_sizes": list(self.refused_sizes),
            "uncovered": self.uncovered,
            "unknown": self.unknown,
            "unknown_rows": dict(self.unknown_rows),
            "useful_for": dict(self.useful_for),
            "losses_without_wishes": dict(self.losses_without_wishes),
            "notes": list(self.notes),
        }

    def describe(self) -> Description:
        """Return loss, suppressed rows, regions and how the plan was found."""
        counted = "people" if self.unit else "rows"
        size = self.found.rows
        worst = sorted(self.column_losses.items(), key=lambda item: -item[1])
        return Description(
            title="Labels of its own for each region",
            rows=(
                ("loss (loss metric)", f"{self.loss:.4g} on a scale from 0 (nothing lost) to 1 (nothing left)"),
                ("loss by column", ", ".join(f"{name} {loss:.3g}" for name, loss in worst)),
                (
                    "suppressed",
                    f"{self.suppressed:,} of {self.rows:,} {counted} ({self.suppressed_share:.2%}; at most "
                    f"{self.max_suppression:.1%} allowed)",
                ),
                *describe_unknown_rows(self.unknown, self.unknown_rows, counted),
                ("regions", f"{len(self.found):,}, of {int(size.min()):,} to {int(size.max()):,} {counted}"),
                ("searched", self.search),
                *self._wishes(),
            ),
            notes=self.notes,
            facts={
                "loss": self.loss,
                "regions": len(self.found),
                f"suppressed {counted}": self.suppressed,
                "suppressed share": self.suppressed_share,
                f"{counted} read": self.rows,
            },
            released_rows=None if self.unit else self.rows - self.suppressed,
        )

    def _wishes(self) -> Iterator[tuple[str, str]]:
        if "predict" in self.useful_for:
            yield "useful for", f"predicting {self.useful_for['predict']}"
        if "count" in self.useful_for:
            yield "useful for", f"counting by {', '.join(self.useful_for['count'])}"
        if self.losses_without_wishes:
            yield "wishes", describe_wishes(self.column_losses, self.losses_without_wishes)

    def save(self, path: str | Location) -> None:
        """Write the plan to a file, whole or not at all; only its owner can read it, because it holds values."""
        write_atomically(path, json.dumps(self.to_dict()), private=True)


def _values(found: Combinations, places: npt.NDArray[np.int64]) -> list[tuple[Value, ...]]:
    columns = [
        [dictionary[code] for code in found.codes[places, position].tolist()]
        for position, dictionary in enumerate(found.dictionaries)
    ]
    return list(zip(*columns, strict=True))


def require_format(given: Any, known: int) -> None:
    """Raise for a plan that another release wrote in a format that this one does not know."""
    if type(given) is not int or given != known:
        raise ParameterError(
            f"the plan has format {given if type(given) is int else 'unknown'}, and this release reads format {known}; "
            "make a new plan"
        )


def read_local_plan(given: dict[str, Any]) -> LocalPlan:
    """Read the plain data of a plan; raises one of a few built-in errors where it is something else."""
    content = dict(given)
    if content.pop("kind") != KIND:
        raise ParameterError(f"a plan is of the kind {KIND}, or of none")
    require_format(content.pop("format"), _FORMAT)
    hierarchies = {name: hierarchy_from_specification(entry) for name, entry in content.pop("hierarchies").items()}
    requirements = tuple(
        require(metric, **entry) for line in content.pop("requirements") for metric, entry in line.items()
    )
    attributes = content.pop("attributes")
    losses = {name: _share(content["column_losses"][name]) for name in hierarchies}
    numbers = {name: _whole(content.pop(name)) for name in ("suppressed", "rows")}
    notes, search = content.pop("notes"), content.pop("search")
    if not isinstance(notes, list) or not all(isinstance(text, str) for text in [*notes, search]):
        raise ParameterError("search and notes of a plan must be text")
    for name in ("sensitive", "unit"):
        if content[name] is not None and not isinstance(content[name], str):
            raise ParameterError(f"{name} of a plan must be the name of a column")
    wishes = {name: content.pop(name, {}) for name in ("weights", "highest_levels")}
    for name, wish in wishes.items():
        numbers_only = isinstance(wish, dict) and all(
            isinstance(number, int | float | str) and not isinstance(number, bool) for number in wish.values()
        )
        if not numbers_only:
            raise ParameterError(f"{name} of a plan must be a mapping from columns to numbers")
    content |= wishes
    without = {str(name): _share(loss) for name, loss in content.pop("losses_without_wishes", {}).items()}
    purpose = content.pop("useful_for", {})
    named = [purpose.get("predict"), *(purpose.get("count") or ())]
    if without and set(without) != set(hierarchies):
        raise ParameterError("losses_without_wishes of a plan must name its quasi-identifiers")
    content |= {
        "losses_without_wishes": without,
        "useful_for": read_purpose(purpose, [one for one in named if isinstance(one, str)]) if purpose else {},
    }
    content |= {"column_losses": losses, "loss": _share(content["loss"]), **numbers}
    return LocalPlan(
        **{
            **content,
            "found": read_regions(tuple(hierarchies), content["found"], hierarchies),
            "hierarchies": hierarchies,
            "requirements": requirements,
            "attributes": None if attributes is None else tuple(attributes),
            "notes": tuple(notes),
            "refused_sizes": tuple(content.get("refused_sizes", ())),
            "unknown_rows": read_unknown_rows(content.get("unknown_rows", {})),
            "search": search,
        }
    )


def _share(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise ParameterError("losses of a plan must be numbers from 0 to 1")
    return float(given)


def _whole(given: Any) -> int:
    if type(given) is not int or given < 0:
        raise ParameterError("a plan counts rows in whole numbers")
    return given
