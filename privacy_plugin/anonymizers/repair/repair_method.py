"""Repairs as methods of a policy: the source's rows and the added ones, which are marked until the release."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from privacy_plugin.anonymizers.base import Anonymized, Anonymizer, Request
from privacy_plugin.anonymizers.repair.decoys import draw_rows
from privacy_plugin.anonymizers.repair.score_repair import ScoreRepair, repair_score
from privacy_plugin.errors import InfeasibleError, PolicyError
from privacy_plugin.frequency.added_rows import DECOY, PERSON
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.table import FrequencyTable, merge
from privacy_plugin.requirements.requirement import Requirement
from privacy_plugin.requirements.rules import ADDED
from privacy_plugin.sources import Source

_MARGIN = 1e-9  # scores of other weights than 0 and 1 are right to 1e-12, and a limit is held against the upper end


class RepairMethod(Anonymizer):
    """Added records lower the privacy score; the weights and the score to reach are those of the requirement."""

    repairs_by: ClassVar[Literal["witnesses", "holes"]]
    supplied: ClassVar[tuple[str, ...]] = ("data", "attributes", "options")
    makes = "repair"
    form = "rows, with added ones"
    made_once = "repair"

    @classmethod
    def policy_options(cls) -> dict[str, inspect.Parameter]:
        """Return the options a policy may set; the requirement supplies weights and the score to reach."""
        share = inspect.Parameter("max_false_share", inspect.Parameter.KEYWORD_ONLY, default=0.5, annotation=float)
        return {**super().policy_options(), "max_false_share": share}

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that the privacy score is about."""
        return (*self.rules.columns("quasi_identifier"), *self.rules.columns("sensitive"))

    @property
    def aim(self) -> Requirement:
        """The requirement on the privacy score."""
        return next(requirement for requirement in self.rules.requirements if requirement.metric == "privacy_score")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the verdict has to know about added rows."""
        return (
            "some rows were added and are false; every requirement counts the people of the source only",
            "the privacy score holds against an attacker who cannot tell added rows from people; combinations that "
            "cannot occur in reality can give an added row away",
        )

    def released_roles(self) -> Mapping[str, str]:
        """Return the roles of the source, and the marks, which are withheld from the release."""
        kept = {name: role for name, role in self.rules.roles.items() if role != "identifier"}
        return {**kept, ADDED: ADDED}

    def require_policy(self) -> None:
        """Refuse a policy that no repair can meet, or whose gate could not compare with the source."""
        if ADDED in self.rules.roles:
            raise PolicyError(f"{self.name} adds a column {ADDED!r}, and the policy has one already; rename it")
        if self.rules.unit is not None:
            raise PolicyError(f"{self.name} needs one row per person; it cannot count people by {self.rules.unit!r}")
        scores = [requirement for requirement in self.rules.requirements if requirement.metric == "privacy_score"]
        if len(scores) != 1:
            raise PolicyError(
                f"{self.name} lowers the privacy score; the policy needs one requirement privacy_score, not "
                f"{len(scores)}"
            )
        used = [name for name in ("bins", "generalized") if scores[0].options.get(name)]
        used += ["confidence"] if exact(scores[0].options.get("confidence", 1)) != 1 else []
        if used:
            raise PolicyError(f"{self.name} is for scores without {' and '.join(used)}; leave it out of privacy_score")
        for requirement in self.rules.requirements:
            definition = requirement.definition
            if definition.needs_ledger or definition.needs_history:
                raise PolicyError(f"{self.name} cannot meet {requirement}: added rows are no people of any release")
            if definition.second_table == "population":
                raise PolicyError(
                    f"{self.name} cannot meet {requirement}: the gate compares a repaired table with its source, and a "
                    "policy has one second table"
                )

    def run(self, source: Source, request: Request) -> Anonymized:
        """Find the records to add, draw what they leave open, and write people and added rows in one table."""
        request.report("searching")
        columns = tuple(name for name in source.columns if name in self.rules.released)
        table = source.frequencies(columns)
        table.require_rows()
        result = self._repaired(table)
        if not result.reached:
            raise InfeasibleError(
                f"{self.name} cannot meet {self.aim}: with {result.false_rows:,} added rows ({result.false_share:.1%} "
                f"of all) the highest score is {result.maximum_after:.4g} and the average {result.average_after:.4g}; "
                "raise max_false_share, or generalize the table first"
            )
        rows, incomplete = draw_rows(table, result.records, attributes=self.attributes, generator=request.generator)
        made = merge(
            [
                _marked(table, PERSON),
                *([_marked(FrequencyTable.from_rows(columns, rows), DECOY)] if rows else []),
            ]
        )
        request.report("writing")
        return Anonymized(
            made=source.write_rows(made, target=request.target, verify=lambda _: None),
            method=self.name,
            makes=self.makes,
            left_out=tuple(name for name in source.columns if name not in columns),
            result=replace(result, incomplete=incomplete),
        )

    def _repaired(self, table: FrequencyTable) -> ScoreRepair:
        options = self.aim.options
        measure, wanted = self._wanted()
        given = {name: options[name] for name in ("likelihood", "danger", "roles", "saturation") if name in options}
        return repair_score(
            table,
            method=self.repairs_by,
            attributes=self.attributes,
            wanted=wanted,
            measure=measure,
            **given,
            **self.options,
        )

    def _wanted(self) -> tuple[Literal["maximum", "average"], float]:
        """Return the statistic and the score to reach: to count people, a maximum below the threshold."""
        options, (limit,) = self.aim.options, self.aim.limit.given.values()
        statistic = options.get("statistic", "average")
        strict = "below" in self.aim.limit.given
        if "threshold" in options:
            return "maximum", max(float(exact(options["threshold"])) - _MARGIN, 0)
        rounded = bool(options.get("likelihood") or options.get("danger") or options.get("saturation"))
        margin = _MARGIN if strict or rounded else 0
        return "maximum" if statistic == "maximum" else "average", max(float(exact(limit)) - margin, 0)


def _marked(table: FrequencyTable, mark: str) -> FrequencyTable:
    """Return the table with one more column, which has the mark in every row."""
    return FrequencyTable.from_columns(
        (*table.columns, ADDED),
        [*(table.column_codes(name) for name in table.columns), np.zeros(table.distinct, dtype=np.int32)],
        [*table.dictionaries, [mark]],
        table.counts,
    )
