"""Records of deals and repairs, of which a dataset releases one: two of the same people disclose more than either.

Two deals of the same people intersect; two repairs show which rows were added: those that only one of them has. The
asset keeps what it made while the source is unchanged, and a release refuses everything but the first of its dataset
(and partition). The records are files in a private folder of the `certificates` resource, like plans.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from privacy_plugin.atomic_write import write_atomically
from privacy_plugin.errors import CertificateError, ColumnError, SourceError
from privacy_plugin.locations import Location
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.bundle import Bundle


def released_deal_path(folder: Location, policy: Policy, partition: str | None) -> Location:
    """Return the file that records the released pair of a dataset and partition."""
    name = hashlib.sha256(json.dumps([policy.dataset, partition]).encode()).hexdigest()[:16]
    return folder / f"released-{name}.json"


_INTERSECT = {
    "deal": "Two deals of the same people intersect and disclose more than either",
    "repair": "Two repairs of the same people show which rows were added",
}


def require_first_deal(
    folder: Location, policy: Policy, pair: Source, *, partition: str | None, remember: bool = True
) -> None:
    """Raise CertificateError if another deal or repair of this dataset was released before, else record this one.

    It is recorded before the tables are put in place: if that fails, only this one can be released. With a release
    history, which remembers it by itself, only a record from before is looked at.
    """
    path = released_deal_path(folder, policy, partition)
    digest = pair.fingerprint(policy.rules.released).digest
    known = _read(path)
    if known is None and not remember:
        return
    if known is None:
        write_atomically(path, json.dumps({"pair": digest}))
    elif known.get("pair") != digest:
        once = policy.anonymizer.once
        raise CertificateError(
            f"another {once} of {policy.dataset!r} was released already. {_INTERSECT[once]}: release the first one "
            "again, or a dataset of other people under its own name"
        )


class KeptDeal:
    """The pair or the repaired table that an asset wrote last, with what it was made from."""

    def __init__(self, path: Location, policy: Policy, source: Source, tables: Mapping[str, Any]) -> None:
        """`path` is the record; `tables` are the tables that the asset writes: of a bundle all, else one."""
        self._path, self._policy, self._source = path, policy, source
        self._tables = tables
        rules = policy.source_rules
        dealt = (*rules.columns("quasi_identifier"), *rules.columns("sensitive"))
        self._used = list(dealt if policy.rules.tables else rules.released)

    def _made_digest(self) -> str:
        if self._policy.rules.tables:
            return Bundle(self._tables).fingerprint(self._policy.rules.released).digest
        (table,) = self._tables.values()
        return open_source(table).fingerprint(list(self._policy.rules.roles)).digest

    @cached_property
    def _source_digest(self) -> str:
        """Identifies the source before the deal: if it changes during the deal, the pair is not kept."""
        return self._source.fingerprint(self._used).digest

    def facts(self) -> dict[str, Any] | None:
        """Return the recorded facts of the pair if source, policy and pair are unchanged, else None."""
        source, known = self._source_digest, _read(self._path)
        if known is None or known.get("policy") != self._policy.digest:
            return None
        try:
            unchanged = known["source"] == source
            if unchanged and known["pair"] == self._made_digest():
                return dict(known["facts"])
        except (SourceError, ColumnError, KeyError):  # a table was dropped
            return None
        return None

    def record(self, facts: Mapping[str, Any]) -> None:
        """Record the pair that was written now."""
        content = {
            "policy": self._policy.digest,
            "source": self._source_digest,
            "pair": self._made_digest(),
            "facts": facts,
        }
        write_atomically(self._path, json.dumps(content))


def _read(path: Location) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as problem:
        raise CertificateError(f"cannot read the record of deals: {type(problem).__name__}") from None
