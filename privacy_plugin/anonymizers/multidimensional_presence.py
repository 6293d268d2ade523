"""Regions in which nobody's presence in a population shows, of any data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacy_plugin.anonymizers.presence_regions import PresenceRegions, presence_regions
from privacy_plugin.errors import ParameterError, require_columns
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import Source, open_source


def multidimensional_presence(
    research: Any, *, population: Any, hierarchies: Mapping[str, Hierarchy], delta: Sequence[float | Fraction | str]
) -> "PresenceGeneralization":
    """Generalize the research table region by region, as little as keeps every region delta-present (MPALM).

    The quasi-identifiers are the keys of `hierarchies`. The population's values are split top-down along one column's
    hierarchy at a time, as long as every part stays delta-present; of the possible splits the one that saves most
    loss is made. Nergiz, Atzori, Clifton 2007. Deterministic. InfeasibleError where not even the most general table
    is delta-present. The result states what it reached and applies to the research table.

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
    columns = list(hierarchies)
    table, others = open_source(research), open_source(population)
    for source in (table, others):
        require_columns(columns, source.columns)
    regions = presence_regions(
        table.frequencies(columns), population=others.frequencies(columns), hierarchies=hierarchies, delta=delta
    )
    return PresenceGeneralization(regions=regions)


@dataclass(frozen=True, kw_only=True)
class PresenceGeneralization:
    """A generalization that differs from region to region, what it costs and what it reached."""

    regions: PresenceRegions

    @property
    def minimum(self) -> Any:
        """The least probability of presence over the people of the population."""
        return self.regions.presence.minimum

    @property
    def maximum(self) -> Any:
        """The largest probability of presence over the people of the population."""
        return self.regions.presence.maximum

    @property
    def classes(self) -> int:
        """The number of classes of the generalized table."""
        return self.regions.classes

    @property
    def loss_metric(self) -> float:
        """The mean over cells of (leaves covered - 1) / (leaves - 1)."""
        return float(self.regions.loss_metric)

    @property
    def discernibility(self) -> int:
        """The sum of squared class sizes."""
        return self.regions.discernibility

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without a value of the tables."""
        return self.regions.to_dict()

    def apply(self, research: Any, *, target: str | None = None, keep: Sequence[str] | None = None) -> Any:
        """Generalize the research table where it lies; only groups are read, and quasi-identifiers become text.

        Frames return a new frame, in which rows keep their order; a database table or a file needs the `target` that is
        created, whole or not at all. `keep` names the columns of the result (default: all). Raises ParameterError for
        rows whose values the population does not have, and InfeasibleError for a table that is not delta-present in
        these regions; nothing is written then.
        """
        source = open_source(research)
        return source.recode(self.recoding(source, keep=keep), target=target)

    def recoding(self, source: Source, *, keep: Sequence[str] | None = None) -> Recoding:
        """Work out what every combination of quasi-identifiers becomes."""
        columns = self.regions.columns
        require_columns(columns, source.columns)
        table = source.frequencies(columns)
        table.require_rows()
        return Recoding(
            keep=tuple(source.columns if keep is None else keep),
            mappings={},
            combined_columns=columns,
            combined=self.regions.recoded(table),
        )
