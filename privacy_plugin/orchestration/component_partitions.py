"""Partitions as a `defs.yaml` writes them, in the words of Dagster's own components."""

from collections.abc import Sequence
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from privacy_plugin.errors import ParameterError

_WINDOWS = {
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}


class PartitionsModel(dg.Model, dg.Resolvable):
    """The partitions of a gate: some keys, or windows of time."""

    type: Literal["static", "daily", "weekly", "monthly"] = Field(description="What kind of partitions they are")
    partition_keys: Sequence[str] | None = Field(default=None, description="static: the key of every partition")
    start_date: str | None = Field(default=None, description="daily, weekly, monthly: the first day, as 2024-01-31")
    end_date: str | None = Field(default=None, description="The day before which the partitions end, if they do")
    timezone: str | None = Field(default=None, description="Where days begin, such as Europe/Berlin; left out, UTC")

    def definition(self) -> dg.PartitionsDefinition[Any]:
        """Return the partitions, or say which attribute they lack or have in vain."""
        windows = {"start_date": self.start_date, "end_date": self.end_date, "timezone": self.timezone}
        if self.type == "static":
            self._require("partition_keys", self.partition_keys, without=windows)
            return dg.StaticPartitionsDefinition(list(self.partition_keys or ()))
        self._require("start_date", self.start_date, without={"partition_keys": self.partition_keys})
        found: dg.PartitionsDefinition[Any] = _WINDOWS[self.type](**windows)
        return found

    def _require(self, name: str, value: Any, *, without: dict[str, Any]) -> None:
        surplus = [other for other, given in without.items() if given is not None]
        if not value or surplus:
            wrong = f"not {', '.join(surplus)}" if surplus else "which is missing"
            raise ParameterError(f"{self.type} partitions are given by {name}, {wrong}")
