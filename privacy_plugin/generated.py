"""Audit a generated table against its original, wherever they lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privacy_plugin.errors import require_columns
from privacy_plugin.metrics.generated_audit import KeptItemsets, RepeatedRecords, kept_itemsets, repeated_records
from privacy_plugin.sources import open_source


@dataclass(frozen=True, kw_only=True)
class GeneratedAudit:
    """What a generated table repeats of the original's records, and what it keeps of its itemsets."""

    records: RepeatedRecords
    itemsets: KeptItemsets

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; it holds no value of either table."""
        return {"records": self.records.to_dict(), "itemsets": self.itemsets.to_dict()}


def audit_generated(original: Any, *, generated: Any, columns: Sequence[str], support: Any = "1/10") -> GeneratedAudit:
    """Compare a generated table with the original it was made from; definitions in `metrics.generated_audit`.

    Few repeated records are no proof of privacy: the budget in the ledger of `pp.synthesize` is.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"], "smokes": ["no", "yes"]})
    >>> float(audit_generated(people, generated=people, columns=["sex", "smokes"]).records.unique_repeated)
    1.0
    """
    sources = open_source(original), open_source(generated)
    for source in sources:
        require_columns(columns, source.columns, role="columns")
    first, second = (source.frequencies(list(columns)) for source in sources)
    return GeneratedAudit(
        records=repeated_records(first, second), itemsets=kept_itemsets(first, second, support=support)
    )
