"""The budget ledger as a Dagster resource; its address is told to nobody."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.in_use import LEDGER_VARIABLE, using_ledger
from privacy_plugin.orchestration.launching import replaced_at_launch, require_as_defined


class BudgetLedgerResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The ledger that randomized releases spend from and gates ask, behind a SQLAlchemy URL (SQLite or PostgreSQL).

    Give a URL with a password as `dg.EnvVar(...)`, or leave it out: then the address is read from PRIVACY_PLUGIN_LEDGER
    when a step needs it. What is written here is shown in Dagster's pages. The ledger must be there already:
    `privacy-plugin ledger --set-cap` begins one. A run's configuration cannot name another: whoever may launch
    runs would have as much budget as they like.
    """

    url: str = Field(default="", description="SQLAlchemy URL of the ledger; left out, PRIVACY_PLUGIN_LEDGER names it")

    _replaced: bool = PrivateAttr(default=False)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Notice a run whose configuration names another ledger than the definitions; whoever asks it is told."""
        self._replaced = replaced_at_launch(context, {"url": self.url})

    @contextmanager
    def in_use(self) -> Iterator[BudgetLedger | None]:
        """Let a step ask and spend from this ledger; None where no address is known, which gates then say."""
        require_as_defined(self._replaced, "ledger")
        address = self.url or os.environ.get(LEDGER_VARIABLE, "")
        if not address:
            yield None
            return
        with using_ledger(address) as ledger:
            yield ledger


@contextmanager
def ledger_of(resources: Any, name: str | None) -> Iterator[BudgetLedger | None]:
    """Open the ledger of a step that needs one."""
    if name is None:
        yield None
        return
    resource: BudgetLedgerResource = getattr(resources, name)
    with resource.in_use() as ledger:
        yield ledger
