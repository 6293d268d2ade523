"""Record what a release publishes: before the table can be seen, in the release's own transaction where possible."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from privacy_plugin.errors import ParameterError
from privacy_plugin.history.in_use import find_history, using_history
from privacy_plugin.sources import Source

if TYPE_CHECKING:
    from privacy_plugin.history import ReleaseHistory

Reserve = Callable[..., None]


class ReleaseRecord:
    """The record of one release in a history; without a history it records nothing."""

    def __init__(self, history: "ReleaseHistory | None", policy: Any, partition: str | None) -> None:
        """Begin with nothing recorded."""
        self._history = history
        self._policy = policy
        self._partition = partition
        self._state: str | None = None
        self._reserved: list[int] = []
        self.numbers: list[int] = []
        """The numbers that the history gave to the release."""

    @property
    def remembers(self) -> bool:
        """Whether a history is in use."""
        return self._history is not None

    @contextmanager
    def within(self, bind: Any) -> Iterator[bool]:
        """Read and write the history in the transaction of the release, if it is in the history's database.

        Holds the state of the history from the first entry on: what is judged from then on is judged in this state.
        """
        if self._history is None:
            yield False
            return
        with self._history.within(bind) as together:
            if self._state is None:
                self._state = self._history.state(self._policy.dataset)
            yield together

    @contextmanager
    def verifying(self, staged: Source) -> Iterator[Reserve]:
        """Verify a staged copy in the block; yield the function that records the release.

        Call that function last, before the certificate is written. If the copy is in the database of the history, the
        record becomes visible in the transaction that replaces the target; otherwise it is reserved now, and counts as
        released, whatever happens next. Raises HistoryError if another release was recorded since the verification
        began.
        """
        with self.within(getattr(staged, "bind", None)) as together:
            yield partial(self._reserve, together)

    def _reserve(self, together: bool, data: Any, *, plan: Any = None, **about: Any) -> None:
        """Record a release, with the plan that made it if the next release continues it."""
        if self._history is None:
            return
        if self._policy.anonymizer.continues and self._policy.anonymizer.plan_type is not None:
            if plan is None:
                raise ParameterError(
                    "releases: together continues the plan of each release; give the plan that made this table"
                )
            about["plan"] = json.dumps(plan.to_dict())
        about |= {"partition": self._partition, "after": self._state}
        number = self._history.reserve(data, policy=self._policy, **about)
        self.numbers.append(number)
        if not together:
            self._reserved.append(number)

    def commit(self) -> None:
        """Record that the target was replaced."""
        while self._reserved and self._history is not None:
            self._history.commit(self._reserved.pop())


@contextmanager
def recording(policy: Any, *, partition: str | None = None) -> Iterator[ReleaseRecord]:
    """Record the release that the block publishes, in the history in use; after an error the reservation stays."""
    with ExitStack() as stack:
        history = stack.enter_context(find_history())
        if history is not None:
            stack.enter_context(using_history(history))  # one history: its transaction may be that of the release
        record = ReleaseRecord(history, policy, partition)
        yield record
        record.commit()
