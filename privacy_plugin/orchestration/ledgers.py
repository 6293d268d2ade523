"""The budget ledger as a Dagster resource; its address is told to nobody."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from privacy_plugin.errors import ParameterError
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger_in_use import LEDGER_VARIABLE, using_ledger
from privacy_plugin.requirement import Requirement


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
        schema = context.resource_def.config_schema if context.resource_def else None
        defined = schema.default_value["url"] if schema is not None and schema.default_provided else self.url
        self._replaced = self.url != (os.environ.get(defined["env"]) if isinstance(defined, dict) else defined)

    @contextmanager
    def in_use(self) -> Iterator[BudgetLedger | None]:
        """Let a step ask and spend from this ledger; None where no address is known, which gates then say."""
        if self._replaced:
            raise ParameterError(
                "the run's configuration names another ledger than the definitions; launch it without, or change those"
            )
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


def asks_ledger(requirements: Iterable[Requirement]) -> bool:
    """Tell whether a requirement can only be judged with a ledger."""
    return any(requirement.definition.needs_ledger for requirement in requirements)
