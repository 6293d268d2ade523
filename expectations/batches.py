"""How much of its asset was looked at: GX leaves out what a row condition leaves out, and all batches but one.

Of several batches GX's own checkpoints judge the last, unless one was picked. Whether it was picked cannot be told: GX
hands over a batch that names itself, either way. So results say how many there are; our own runner asks for one before
it begins.
"""

from collections.abc import Mapping
from typing import Any


def left_out(engine: Any, domain: Mapping[str, Any]) -> str:
    """Say, as the end of a reason, what was not looked at; nothing where everything was."""
    words = ""
    if domain.get("row_condition") is not None:
        words += " Only the rows that meet the row condition were looked at."
    batches = _batches(engine, domain)
    if batches > 1:
        words += f" Only one of {batches} batches was looked at."
    return words


def _batches(engine: Any, domain: Mapping[str, Any]) -> int:
    """Count the batches into which the batch's definition parts its asset; a frame that was handed over is whole."""
    manager = engine.batch_manager
    batch = manager.batch_cache.get(domain.get("batch_id"), manager.active_batch)
    request = getattr(batch, "batch_request", None)
    if batch is None or request is None or "dataframe" in (request.options or {}):
        return 1
    asset = batch.data_asset
    return len(asset.get_batch_identifiers_list(asset.build_batch_request(partitioner=request.partitioner)))
