"""Audits of any data: the channel between two columns, a generated table against its original."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privacy_plugin.errors import ColumnError, require_columns
from privacy_plugin.measuring.measure import Tables, measure
from privacy_plugin.metrics.compression_difference import CompressionDifference
from privacy_plugin.metrics.dependence.epsilon_dependence import PairedColumns, paired_columns
from privacy_plugin.metrics.itemset_difference import ItemsetDifference
from privacy_plugin.metrics.learned_accuracy import LearnedAccuracy
from privacy_plugin.metrics.registry import find_metric
from privacy_plugin.metrics.repeated_records import RepeatedRecords
from privacy_plugin.metrics.unique_itemsets import UniqueItemsets
from privacy_plugin.sources import open_source


def audit_channel(data: Any, *, original: str, released: str, confidence: float = 0.95) -> PairedColumns:
    """Bound from below how much a released column reveals about the original of the same rows.

    The definition, the bounds and what they assume are in `metrics.dependence.epsilon_dependence`; the pairs are
    counted where the data lies. A small bound does not prove privacy.
    """
    source = open_source(data)
    if not isinstance(original, str) or not isinstance(released, str):
        raise ColumnError("original and released must each be the name of one column")
    require_columns([original, released], source.columns, role="original and released")
    pairs = source.frequencies([original, released])
    return paired_columns(pairs, original=original, released=released, confidence=confidence)


@dataclass(frozen=True, kw_only=True)
class GeneratedAudit:
    """What a generated table repeats of the original's records, and what it keeps of its itemsets.

    `accuracy` is None where no target was named.
    """

    records: RepeatedRecords
    unique_itemsets: UniqueItemsets
    itemsets: ItemsetDifference
    compression: CompressionDifference
    accuracy: LearnedAccuracy | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; it holds no value of either table."""
        return {name: None if found is None else found.to_dict() for name, found in vars(self).items()}


def audit_generated(
    original: Any,
    *,
    generated: Any,
    columns: Sequence[str],
    support: Any = "1/10",
    largest: int = 3,
    compression_support: Any = "1/100",
    target: str | None = None,
) -> GeneratedAudit:
    """Compare a generated table with the original it was made from, by every metric that does.

    Each is a requirement of its own too; their files in `privacy_plugin.metrics` define them. `support` is that of
    frequent itemsets, `compression_support` that of Krimp's candidates, `largest` the columns of a unique itemset,
    `target` the column whose prediction is compared. Few repeated records do not prove privacy; the budget in the
    ledger of `pp.synthesize` does.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"], "smokes": ["no", "yes"]})
    >>> float(audit_generated(people, generated=people, columns=["sex", "smokes"]).records.unique_repeated)
    1.0
    """
    real, made = Tables(open_source(original)), Tables(open_source(generated))

    def found(metric: str, **options: Any) -> Any:
        return measure(find_metric(metric), made, population=real, attributes=columns, **options)

    return GeneratedAudit(
        records=found("repeated_records"),
        unique_itemsets=found("unique_itemsets", largest=largest),
        itemsets=found("itemset_difference", support=support),
        compression=found("compression_difference", support=compression_support),
        accuracy=None if target is None else found("learned_accuracy", target=target),
    )
