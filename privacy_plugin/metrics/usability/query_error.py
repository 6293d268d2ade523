"""Query error: how far the answers to COUNT queries on a release are from those on its original."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement
from privacy_plugin.metrics.presence.population_join import require_hierarchies
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.usability.compared_tables import compare_tables
from privacy_plugin.metrics.usability.coverage import Hierarchies
from privacy_plugin.metrics.usability.queries import query_errors

ROUNDING = 1e-9  # sums of at most 2**31 products of floating-point shares


@dataclass(frozen=True, kw_only=True)
class QueryError(Measurement):
    """The median relative error of COUNT queries; `details` has their number, the mean and the 90th percentile."""

    @property
    def queries(self) -> int:
        """How many queries were asked."""
        return int(self.details["queries"])

    @property
    def comparison(self) -> Comparison:
        """The median next to the mean and to what nine of ten queries do not exceed."""
        return Comparison(
            caption=f"Relative errors of {self.queries:,} COUNT queries",
            values=(
                ComparedValue(name="median", value=self.value, role="judged"),
                ComparedValue(name="mean", value=self.details["mean"]),
                ComparedValue(name="90th percentile", value=self.details["percentile_90"]),
            ),
        )


@metric(
    title="query error",
    safer="lower",
    kind="utility",
    attacker="gets counts over {attributes} of which half are wrong by more than {limit} of their value",
    remedy="recode locally, give the columns that are counted a weight, or allow some rows to be suppressed",
    paper="Xiao and Tao 2006, section 6",
    axis="relative error of COUNT queries",
    shows="Half of the COUNT queries over up to three columns have at most this relative error.",
    hides="Anything about privacy: the original scores best. Nor how wrong the other half of the queries is.",
    smallest=0,
    check=require_hierarchies,
    called={"attributes": "columns"},
)
def query_error(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    original: FrequencyTable,
    hierarchies: Hierarchies | None = None,
) -> QueryError:
    """Return the median of |count in the release - count in the original| / count in the original, over COUNT queries.

    A query counts the rows whose values in one, two or three columns are given ones, or lie in given ranges; about 500
    are chosen from the original, always the same ones (`metrics.usability.queries`). In the release a row counts with
    the product over the columns of the share of its label's leaves that the query asks for: labels are taken to be
    spread evenly, since the release does not show more. `hierarchies` define what labels cover; `*` covers everything.
    Dropped rows count nowhere. Xiao and Tao 2006, whose queries ask for random sets of values. Right to 1e-9, and
    exactly 0 where every answer is right. Cost: sets of columns * distinct rows, and queries * distinct combinations.

    >>> from privacy_plugin.frequency.hierarchy_builders import mask_hierarchy
    >>> real = FrequencyTable.from_rows(["zip"], [("81",), ("81",), ("81",), ("82",)])
    >>> made = FrequencyTable.from_rows(["zip"], [("8*",)] * 4)
    >>> query_error(made, attributes=["zip"], original=real, hierarchies={"zip": mask_hierarchy(length=2)}).value
    0.3333333333333333
    """
    compared = compare_tables(table, original, attributes=attributes, hierarchies=hierarchies)
    errors = query_errors(compared).released
    return QueryError(
        metric="query_error",
        value=float(np.median(errors)),
        error=ROUNDING if errors.any() else 0.0,
        parameters={"attributes": list(attributes)},
        rows=table.rows,
        classes=table.distinct,
        details={
            "queries": len(errors),
            "mean": float(errors.mean()),
            "percentile_90": float(np.quantile(errors, 0.9)),
            "original_rows": original.rows,
        },
    )
