"""Plans: the level of every quasi-identifier, applied in the engine of the data, and reusable on later partitions."""

import json
import math
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.atomic_write import staging_path, write_atomically
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ColumnError, InfeasibleError, ParameterError, PrivacyPluginError, describe_error
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels, TableHierarchy, column_levels
from privacy_plugin.frequency.hierarchy_files import write_hierarchy
from privacy_plugin.frequency.people_table import require_count
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import merge
from privacy_plugin.frequency.values import SUPPRESSED, Value, label
from privacy_plugin.generalization.lattice import Lattice, group_source, needed_columns
from privacy_plugin.generalization.losses import SHARES
from privacy_plugin.generalization.people_lattice import people_lattice_over, require_dropping
from privacy_plugin.generalization.shaped_classes import (
    CHOICES,
    ChooseBy,
    deciding_requirements,
    require_checked,
    require_sizes,
)
from privacy_plugin.generalization.suppression import masked_rows, require_share, rows_without
from privacy_plugin.generalization.unknown_values import (
    Unknown,
    describe_unknown_rows,
    known_table,
    read_unknown_rows,
    require_unknown,
    unknown_lines,
)
from privacy_plugin.locations import Location
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.requirements.requirement import Requirement, require, with_hierarchies
from privacy_plugin.requirements.specification import hierarchy_from_specification
from privacy_plugin.sources import Source, open_source
from privacy_plugin.text_files import read_text_file

if TYPE_CHECKING:
    from privacy_plugin.generalization.local_plan import LocalPlan

_FORMAT = 1
_LOSS_UNITS = {
    "discernibility": "the sizes of all rows' classes added up, a suppressed row counting as a class of all rows",
    "average_class_size": "rows for every published class",
}


@dataclass(frozen=True, kw_only=True)
class LatticeNode:
    """A generalization that was or could have been chosen: its levels, its loss, and whether it is allowed.

    `loss` is exact for the chosen one; for the others it may be somewhat less than the truth. `feasible` is None where
    the search did not check.
    """

    levels: tuple[int, ...]
    loss: float
    feasible: bool | None


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """What a larger k costs: the least loss for a k, None where it cannot be had."""

    k: int
    loss: float | None


@dataclass(frozen=True, kw_only=True)
class Plan(Described):
    """A generalization: the level of every quasi-identifier, what it costs, and what it was made to meet.

    `suppressed` rows are in classes that fail a requirement; applying the plan finds those classes anew, so that
    it can be re-used on the next partition. With a `unit`, rows are people. `exact`: no generalization has a smaller
    loss; `search` says how that is known, or why it is not. `minimal_nodes`: all generalizations that are allowed while
    no more specific one is (none listed where `search` says so). `lattice` holds all nodes of a small lattice,
    `trade_off` the loss for other k. `unknown` says what is done with values that a hierarchy does not cover, also when
    the plan is applied; `unknown_rows` counts the rows that had one, by column.
    """

    levels: Mapping[str, int]
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    requirements: tuple[Requirement, ...]
    loss: float
    loss_name: str
    suppressed: int
    rows: int
    max_suppression: float
    minimal_nodes: tuple[Mapping[str, int], ...] = ()
    nodes_visited: int = 0
    sensitive: str | None = None
    attributes: tuple[str, ...] | None = None
    unit: str | None = None
    count: str | None = None
    unknown: Unknown = "refuse"
    unknown_rows: Mapping[str, int] = field(default_factory=dict)
    choose_by: ChooseBy = "everything"
    refused_sizes: tuple[int, ...] = ()
    """Class sizes of the ladder that were tried before this plan's, and refused."""
    notes: tuple[str, ...] = ()
    exact: bool = True
    search: str = ""
    lattice: tuple[LatticeNode, ...] = field(default=(), repr=False)
    trade_off: tuple[TradeOff, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.levels or set(self.levels) != set(self.hierarchies) or not self.requirements:
            raise ParameterError("a plan needs a requirement, and a level and a hierarchy for every quasi-identifier")
        for name, level in self.levels.items():
            height = self.hierarchies[name].height
            if type(level) is not int or not 0 <= level <= height:
                raise ParameterError(f"the level of column {name!r} must be a whole number from 0 to {height}")
        require_share(self.max_suppression)
        require_unknown(self.unknown)
        if self.choose_by not in CHOICES:
            raise ParameterError(f"choose_by must be one of {', '.join(CHOICES)}, not {self.choose_by!r}")
        require_sizes(self.refused_sizes)
        if not all(isinstance(note, str) for note in self.notes):
            raise ParameterError("notes of a plan must be text")

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that the plan generalizes."""
        return tuple(self.levels)

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
        """Generalize and suppress where the data lives; only groups are read.

        A database table is read and written in two transactions: rows that others write in between may be in the
        result, so judge the result. Frames return a new frame; a lazy frame reads its data again whenever it is
        collected, so judge what was written. A database table or a file needs the `target` that is created. `keep`
        names the columns of the result (default: all). Suppressed rows are left out (`drop`) or have `*` in every
        quasi-identifier (`mask`); masked rows are a class like any other and must meet the requirements too. The
        `population` is needed where a requirement compares with it. Rows may keep their order, and a pandas frame its
        index, which can identify people; a release asset and `privacy-plugin anonymize` keep neither.

        Raises HierarchyError for values that no hierarchy covers, unless `unknown` says what to do with them, and
        InfeasibleError when more rows than the limit would be suppressed or what is left fails; nothing is written
        then.
        """
        source = open_source(data)
        recoding = self.recoding(source, keep=keep, suppression=suppression, population=population)
        return source.recode(recoding, target=target)

    def label(self, table: FrequencyTable) -> tuple[FrequencyTable, npt.NDArray[np.bool_]]:
        """Return the lines of a table whose values the hierarchies cover, with their labels, and which lines those are.

        The lines keep their order, by the first column of the table, if it identifies them.
        """
        hierarchies = {name: self.hierarchies[name] for name in self.levels}
        known, _ = known_table(table, hierarchies, self.unknown, counted="people" if self.unit else "rows")
        gone = unknown_lines(table, hierarchies) if self.unknown == "suppress" else {}
        inside = ~np.logical_or.reduce([np.zeros(table.distinct, dtype=bool), *gone.values()])
        mappings = {}
        for name in self.levels:
            new = self._mapping(name, known.dictionary(name))
            values = tuple(dict.fromkeys(new.values()))
            places = {value: place for place, value in enumerate(values)}
            codes = np.array([places[new[old]] for old in known.dictionary(name)], dtype=np.int64)
            mappings[name] = codes, values
        return known.recode(mappings), inside

    def recoding(
        self,
        source: Source,
        *,
        keep: Sequence[str] | None = None,
        suppression: Literal["drop", "mask"] = "drop",
        population: Any = None,
    ) -> Recoding:
        """Work out what every value becomes and which classes are suppressed."""
        columns = needed_columns(
            tuple(self.levels), self.requirements, sensitive=self.sensitive, attributes=self.attributes
        )
        table = group_source(source, columns, self.unit, self.requirements)
        table.require_rows()
        if self.unit is not None and table.columns[-1] == self.unit:
            kept = tuple(source.columns if keep is None else keep)
            require_dropping(suppression, kept, self.unit)
            return self._people_recoding(table, kept, population)
        hierarchies = {name: self.hierarchies[name] for name in self.levels}
        known, unknown = known_table(table, hierarchies, self.unknown, counted="people" if self.unit else "rows")
        lattice = Lattice(
            table=known,
            hierarchies=hierarchies,
            requirements=deciding_requirements(self.requirements, self.choose_by),
            max_suppression=unknown.left_to_suppress(self.max_suppression),
            loss_name=self.loss_name,
            sensitive=self.sensitive,
            attributes=self.attributes,
            population=None if population is None else Tables(open_source(population)),
        )
        generalized, failing = lattice.failing_classes(tuple(self.levels.values()), masked=suppression == "mask")
        if self.choose_by == "quasi_identifiers":
            left_out = masked_rows if suppression == "mask" and len(failing) else rows_without
            left = left_out(generalized, failing, lattice.columns)
            require_checked(self.requirements, left, lattice.roles, hierarchies)
        suppressed = frozenset(_class_values(generalized, row, tuple(self.levels)) for row in failing.tolist())
        if len(suppressed) != len(failing):
            raise ColumnError("a quasi-identifier mixes true and 1 (or false and 0); give the column one type")
        mappings = {
            name: self._mapping(name, table.dictionary(name))
            for name, level in self.levels.items()
            if level or self.unknown == "top"
        }
        if unknown.removed:
            suppressed |= self._unknown_classes(table, mappings)
            if suppression == "mask":
                self._require_masked(lattice, table, generalized, failing)
        return Recoding(
            keep=tuple(keep if keep is not None else source.columns),
            mappings=mappings,
            suppressed_columns=tuple(self.levels),
            suppressed=suppressed,
            suppression=suppression,
        )

    def _people_recoding(self, table: FrequencyTable, keep: tuple[str, ...], population: Any) -> Recoding:
        """Recode people whose rows differ: whoever has to be suppressed loses all rows."""
        whole = people_lattice_over(
            table,
            hierarchies={name: self.hierarchies[name] for name in self.levels},
            requirements=self.requirements,
            max_suppression=self.max_suppression,
            loss=self.loss_name,
            sensitive=self.sensitive,
            attributes=self.attributes,
            population=None if population is None else Tables(open_source(population)),
            unit=str(self.unit),
            count=require_count(self.count or "sequences"),
            unknown=self.unknown,
        )
        deciding = replace(whole, requirements=deciding_requirements(self.requirements, self.choose_by))
        node = tuple(self.levels.values())
        gone = deciding.suppressed_people(node)
        if self.choose_by == "quasi_identifiers":
            whole.require_checked(node, gone)
        mappings = {}
        for name, level in self.levels.items():
            values, hierarchy = table.dictionary(name), self.hierarchies[name]
            covered = [value for value in values if hierarchy.path_of(value) is not None]
            if level or self.unknown == "top":
                mapping = _mapping(hierarchy.levels(covered, column=name), level)
                mappings[name] = {value: mapping.get(value, SUPPRESSED) for value in values}  # `*`, or suppressed
        people = whole.people_of(gone)
        return Recoding(
            keep=keep,
            mappings=mappings,
            suppressed_columns=(str(self.unit),) if people else (),
            suppressed=frozenset((person,) for person in people),
        )

    def _mapping(self, column: str, values: Sequence[Value]) -> dict[Value, Value]:
        """Return what every value becomes; an unknown one becomes `*`, or a label whose rows are suppressed."""
        hierarchy, level = self.hierarchies[column], self.levels[column]
        covered = tuple(value for value in values if hierarchy.path_of(value) is not None)
        mapping = _mapping(hierarchy.levels(covered, column=column), level)
        removed = "unknown"
        while any(removed == label(new) for new in mapping.values() if new is not None):
            removed += "."
        unknown = SUPPRESSED if self.unknown == "top" else removed
        return {value: unknown if hierarchy.path_of(value) is None else mapping[value] for value in values}

    def _unknown_classes(
        self, table: FrequencyTable, mappings: Mapping[str, Mapping[Value, Value]]
    ) -> frozenset[tuple[Value, ...]]:
        """Return the new values of all rows with a value that is not covered."""
        lines = unknown_lines(table, {name: self.hierarchies[name] for name in self.levels})
        gone = np.flatnonzero(np.logical_or.reduce(list(lines.values())))
        names = tuple(self.levels)
        return frozenset(
            tuple(mappings[name][value] if name in mappings else value for name, value in zip(names, old, strict=True))
            for old in (_class_values(table, row, names) for row in gone.tolist())
        )

    def _require_masked(
        self, lattice: Lattice, table: FrequencyTable, generalized: FrequencyTable, failing: Integers
    ) -> None:
        """Judge what is released where failing rows and rows with unknown values have `*` in every quasi-identifier."""
        lines = unknown_lines(table, lattice.hierarchies)
        gone = np.flatnonzero(np.logical_or.reduce(list(lines.values())))
        stars = FrequencyTable.from_columns(
            table.columns,
            [np.zeros(len(gone), np.int32) if n in self.levels else table.column_codes(n)[gone] for n in table.columns],
            [[SUPPRESSED] if name in self.levels else table.dictionary(name) for name in table.columns],
            table.counts[gone],
        )
        whole = merge([masked_rows(generalized, failing, lattice.columns), stars])
        for requirement in self.requirements:
            finding = with_hierarchies(requirement, lattice.hierarchies).judge(
                whole,
                quasi_identifiers=lattice.columns,
                sensitive=self.sensitive,
                attributes=self.attributes,
                population=lattice.population,
            )
            if not finding.passed:
                raise InfeasibleError(f"with the suppressed rows masked the table fails: {finding.reason}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `load_plan` reads; hierarchies list the values they were given."""
        return {
            "format": _FORMAT,
            "levels": dict(self.levels),
            "hierarchies": {name: hierarchy.specification for name, hierarchy in self.hierarchies.items()},
            "requirements": [requirement.to_dict() for requirement in self.requirements],
            "loss": self.loss,
            "loss_name": self.loss_name,
            "suppressed": self.suppressed,
            "rows": self.rows,
            "max_suppression": self.max_suppression,
            "minimal_nodes": [dict(node) for node in self.minimal_nodes],
            "nodes_visited": self.nodes_visited,
            "sensitive": self.sensitive,
            "attributes": None if self.attributes is None else list(self.attributes),
            "unit": self.unit,
            "count": self.count,
            "unknown": self.unknown,
            "unknown_rows": dict(self.unknown_rows),
            "choose_by": self.choose_by,
            "refused_sizes": list(self.refused_sizes),
            "notes": list(self.notes),
            "exact": self.exact,
            "search": self.search,
            "lattice": [[list(node.levels), node.loss, node.feasible] for node in self.lattice],
            "trade_off": [[point.k, point.loss] for point in self.trade_off],
        }

    def summary(self) -> dict[str, Any]:
        """Return what the plan does, without its hierarchies, which list values."""
        names = ("loss", "loss_name", "suppressed", "rows", "max_suppression", "unknown")
        content = {"levels": dict(self.levels), **{name: getattr(self, name) for name in names}}
        content |= {"unknown_rows": dict(self.unknown_rows), "choose_by": self.choose_by}
        return {**content, "refused_sizes": list(self.refused_sizes)}

    def describe(self) -> Description:
        """Return levels, loss, suppressed rows and how the plan was found."""
        counted = "people" if self.unit else "rows"
        return Description(
            title="One level of generalization for each column",
            rows=(
                (f"loss ({self.loss_name})", self._loss_text()),
                (
                    "suppressed",
                    f"{self.suppressed:,} of {self.rows:,} {counted} ({self.suppressed_share:.2%}; at most "
                    f"{self.max_suppression:.1%} allowed)",
                ),
                *describe_unknown_rows(self.unknown, self.unknown_rows, counted),
                ("searched", self._search_text()),
            ),
            levels=column_levels(self.levels, self.hierarchies),
            notes=self.notes,
            facts={
                "loss": self.loss,
                f"suppressed {counted}": self.suppressed,
                "suppressed share": self.suppressed_share,
                f"{counted} read": self.rows,
            },
            released_rows=None if self.unit else self.rows - self.suppressed,
        )

    def _loss_text(self) -> str:
        if self.loss_name in SHARES:
            return f"{self.loss:.4g} on a scale from 0 (nothing lost) to 1 (nothing left)"
        unit = _LOSS_UNITS.get(self.loss_name)
        return f"{self.loss:,.6g} ({unit})" if unit else f"{self.loss:,.6g}"

    def _search_text(self) -> str:
        if not self.search:
            return f"{self.nodes_visited:,} combinations of levels" if self.nodes_visited else "not recorded"
        best = "no plan that meets the policy loses less"
        found = "this plan meets the policy but is not known to be the best"
        return f"{self.search}; {best if self.exact else found}"

    def save(self, path: str | Location) -> None:
        """Write the plan to a file, whole or not at all."""
        write_atomically(path, json.dumps(self.to_dict(), indent=2))

    def export(self, folder: str | Path, *, data: Any = None) -> Path:
        """Write what the plan applies as files that other tools read, all or none, and return the new folder.

        One `value;level1;...;*` file a quasi-identifier, of the values that occur in `data` or, without it, those that
        the hierarchy lists; and `levels.csv` with the file, the level and the height of every column. The files hold
        raw values by their nature.
        """
        target = Path(folder)
        values = {name: self._values_of(name, data) for name in self.levels}
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ParameterError(f"{str(folder)!r} exists and is not an empty folder; export to a new one")
        staging = staging_path(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            staging.mkdir(mode=0o700)  # its files hold raw values
            lines = ["column;file;level;of\n"]
            for number, (name, level) in enumerate(self.levels.items(), start=1):
                file = f"{number:02d}_{re.sub(r'[^0-9A-Za-z_-]+', '_', name)}.csv"
                write_hierarchy(self.hierarchies[name], staging / file, values=values[name])
                quoted = '"' + name.replace('"', '""') + '"'
                lines.append(f"{quoted};{file};{level};{self.hierarchies[name].height}\n")
            (staging / "levels.csv").write_text("".join(lines), encoding="utf-8")
            if target.exists():
                target.rmdir()
            os.replace(staging, target)
        except OSError as problem:
            raise ParameterError(f"cannot write the folder {str(folder)!r}: {describe_error(problem)}") from None
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return target

    def _values_of(self, column: str, data: Any) -> tuple[Value, ...]:
        if data is not None:
            return open_source(data).frequencies([column]).dictionary(column)
        hierarchy = self.hierarchies[column]
        if not isinstance(hierarchy, TableHierarchy):
            raise ParameterError(
                f"the hierarchy of column {column!r} follows a rule and lists no values; give the data whose values "
                "are to be written with data="
            )
        return hierarchy.values


def load_plan(path: str | Location) -> "Plan | LocalPlan":
    """Read a plan that `Plan.save` or `LocalPlan.save` wrote."""
    try:
        given = json.loads(read_text_file(path))
    except PrivacyPluginError:
        raise
    except (OSError, ValueError, RecursionError) as problem:
        raise ParameterError(f"cannot read the plan {str(path)!r}: {describe_error(problem)}") from None
    return read_plan(given, named=f"the plan {str(path)!r}")


def read_plan(given: Any, *, named: str = "the plan of the last release") -> "Plan | LocalPlan":
    """Read a plan from what `to_dict` returned; `named` is what errors call it."""
    try:
        from privacy_plugin.generalization.local_plan import read_local_plan, require_format

        if given.get("kind") is not None:
            return read_local_plan(given)
        require_format(given.pop("format"), _FORMAT)
        given["hierarchies"] = {
            name: hierarchy_from_specification(entry) for name, entry in given["hierarchies"].items()
        }
        given["requirements"] = tuple(
            require(metric, **entry) for line in given["requirements"] for metric, entry in line.items()
        )
        given["minimal_nodes"] = tuple(given["minimal_nodes"])
        given["attributes"] = None if given.get("attributes") is None else tuple(given["attributes"])
        given["lattice"] = tuple(
            LatticeNode(levels=tuple(levels), loss=loss, feasible=feasible)
            for levels, loss, feasible in given.get("lattice", ())
        )
        given["trade_off"] = tuple(TradeOff(k=k, loss=loss) for k, loss in given.get("trade_off", ()))
        given["notes"] = tuple(given.get("notes", ()))
        given["refused_sizes"] = tuple(given.get("refused_sizes", ()))
        given["unknown_rows"] = read_unknown_rows(given.get("unknown_rows", {}))
        given |= {"loss": float(given["loss"])} | {name: int(given[name]) for name in ("suppressed", "rows")}
        if not math.isfinite(given["loss"]) or not 0 <= given["suppressed"] <= given["rows"] or not given["rows"]:
            raise ParameterError(f"{named} counts rows or losses that no table has; make it again")
        return Plan(**given)
    except PrivacyPluginError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
        raise ParameterError(f"cannot read {named}: {describe_error(problem)}") from None


def _mapping(levels: Levels, level: int) -> dict[Value, Value]:
    original, general = levels.dictionaries[0], levels.dictionaries[level]
    return {value: general[code] for value, code in zip(original, levels.maps[level].tolist(), strict=True)}


def _class_values(table: FrequencyTable, row: int, columns: tuple[str, ...]) -> tuple[Value, ...]:
    values = dict(zip(table.columns, table.values(row), strict=True))
    return tuple(values[name] for name in columns)
