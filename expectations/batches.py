"""How much of its asset a batch is: of several batches GX's own checkpoints judge the last, unless one was picked.

Whether it was picked cannot be told: GX hands over a batch that names itself, either way. So results say how many there
are; our own runner asks for one before it begins.
"""

from collections.abc import Mapping
from typing import Any


def told_as_one_of_several(reason: str, engine: Any, domain: Mapping[str, Any]) -> str:
    """Add to what was found in a batch how many others its batch definition has."""
    batches = _batches(engine, domain)
    return reason if batches < 2 else f"{reason} (in one of {batches} batches; the others were not looked at)"


def _batches(engine: Any, domain: Mapping[str, Any]) -> int:
    """Count the batches into which the batch's definition parts its asset."""
    manager = engine.batch_manager
    batch = manager.batch_cache.get(domain.get("batch_id"), manager.active_batch)
    partitioner = getattr(getattr(batch, "batch_request", None), "partitioner", None)
    if batch is None or partitioner is None:
        return 1
    asset = batch.data_asset
    return len(asset.get_batch_identifiers_list(asset.build_batch_request(partitioner=partitioner)))
