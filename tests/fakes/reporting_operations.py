"""The world around operations on the read models: a history, and how far it was folded."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from services.reporting.model.batch import Batch, Told
from services.reporting.model.operations import Source
from services.reporting.model.snapshots import ExecutionSnapshot, RunSnapshot
from services.reporting.operation_ports import FactsPage

Hook = Callable[[Source, str], Awaitable[None]]


class FakeHistory:
    """What executor and catalog know: of each thing the newest committed. `before` is called for each page."""

    def __init__(self, page_size: int = 7, before: Hook | None = None) -> None:
        self.page_size = page_size
        self.before = before
        self._known: dict[Source, dict[str, Told]] = {source: {} for source in Source}

    def commit(self, told: Iterable[Told]) -> None:
        """From now on the history has these."""
        for snapshot in told:
            known = self._known[_source(snapshot)]
            key = f"{type(snapshot).__name__}:{snapshot.key}"
            present = known.get(key)
            if present is None or snapshot.revision > present.revision:
                known[key] = snapshot

    def told(self) -> list[Told]:
        """Everything that it has."""
        return [snapshot for known in self._known.values() for snapshot in known.values()]

    async def page(self, source: Source, token: str) -> FactsPage:
        if self.before is not None:
            await self.before(source, token)
        known = self._known[source]
        keys = sorted(key for key in known if key > token)[: self.page_size]
        following = keys[-1] if len(keys) == self.page_size else ""
        return FactsPage(Batch.of(known[key] for key in keys), len(keys), following, len(known))


class FakeOffsets:
    """A group that is so far behind."""

    def __init__(self, behind: int = 0) -> None:
        self.left = behind

    async def ends(self) -> Mapping[str, int]:
        return {"events/0": 100}

    async def behind(self, ends: Mapping[str, int]) -> int:
        return self.left


def _source(snapshot: Told) -> Source:
    if isinstance(snapshot, RunSnapshot):
        return Source.RUNS
    return Source.EXECUTIONS if isinstance(snapshot, ExecutionSnapshot) else Source.CATALOG
