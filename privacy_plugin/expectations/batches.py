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
    batch = _batch(engine, domain)
    if batch is None:
        return words
    parts = _parts(batch)
    if len(parts) > 1:
        words += f" Only one of {len(parts)} batches was looked at."
    elif parts and set(batch.batch_request.options or {}) - set(parts[0]):  # GX lists no parts of a folder read as one
        words += " Only the rows that the batch parameters pick were looked at."
    return words


def _batch(engine: Any, domain: Mapping[str, Any]) -> Any:
    """Return the batch that is looked at, if it is of an asset; a frame that was handed over is whole."""
    manager = engine.batch_manager
    batch = manager.batch_cache.get(domain.get("batch_id"), manager.active_batch)
    request = getattr(batch, "batch_request", None)
    return None if request is None or "dataframe" in (request.options or {}) else batch


def _parts(batch: Any) -> list[dict[str, Any]]:
    """List the batches into which the batch's definition parts its asset."""
    asset, partitioner = batch.data_asset, batch.batch_request.partitioner
    listed: list[dict[str, Any]] = asset.get_batch_identifiers_list(asset.build_batch_request(partitioner=partitioner))
    return listed
