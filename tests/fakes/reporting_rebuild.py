"""The world around operations on the read models: a history, and how far it was folded."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import astuple

from aiokafka import TopicPartition

from services.chassis.consumer_lag import Ends
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.snapshots import ExecutionSnapshot, RunSnapshot
from services.reporting.rebuild.ports import FactsPage
from services.reporting.rebuild.state import ReplaySource

Hook = Callable[[ReplaySource, str], Awaitable[None]]


class FakeFactHistory:
    """What executor and catalog know: of each thing the newest committed. `before` is called for each page."""

    def __init__(self, page_size: int = 7, before: Hook | None = None) -> None:
        self.page_size = page_size
        self.before = before
        self._known: dict[ReplaySource, dict[str, Snapshot]] = {source: {} for source in ReplaySource}

    def commit(self, told: Iterable[Snapshot]) -> None:
        """From now on the history has these."""
        for snapshot in told:
            known = self._known[_source(snapshot)]
            key = ":".join((type(snapshot).__name__, *astuple(snapshot)[:2]))  # the ids are first
            present = known.get(key)
            if present is None or snapshot.revision > present.revision:
                known[key] = snapshot

    def told(self) -> list[Snapshot]:
        """Everything that it has."""
        return [snapshot for known in self._known.values() for snapshot in known.values()]

    async def page(self, source: ReplaySource, token: str) -> FactsPage:
        if self.before is not None:
            await self.before(source, token)
        known = self._known[source]
        keys = sorted(key for key in known if key > token)[: self.page_size]
        following = keys[-1] if len(keys) == self.page_size else ""
        return FactsPage(Batch.of(known[key] for key in keys), len(keys), following, len(known))


class FakeConsumerProgress:
    """A group that is so far behind."""

    def __init__(self, behind: int = 0) -> None:
        self.left = behind

    async def ends(self) -> Ends:
        return {TopicPartition("events", 0): 100}

    async def behind(self, ends: Ends) -> int:
        return self.left


def _source(snapshot: Snapshot) -> ReplaySource:
    if isinstance(snapshot, RunSnapshot):
        return ReplaySource.RUNS
    return ReplaySource.EXECUTIONS if isinstance(snapshot, ExecutionSnapshot) else ReplaySource.CATALOG
