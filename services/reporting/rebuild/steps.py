"""The pieces of an operation on the read models: each may be done twice, and the next one may be another process's."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from services.chassis import logs
from services.chassis.errors import FailedPrecondition
from services.reporting.rebuild.ports import ConsumerProgress, FactHistory, RebuildStore
from services.reporting.rebuild.state import (
    CATCHING_UP,
    Difference,
    JobProgress,
    JobState,
    Operation,
    Phase,
    ReplaySource,
    after_comparison,
    after_replay,
    begin_comparison,
    finished,
)

EXPIRE_LIMIT = 1000
COMPARE_LIMIT = 500
RECHECKS = 3
DIFFERENCES_REPORTED = 1000
"""So many differences of an operation are told; all are counted."""

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class RebuildTimings:
    """How long an operation waits, in seconds.

    `renew`: between two renewals of its turn. `outbox`: for what was committed to be published. `stalled`: for
    consumers that fold nothing. `look`: between two looks at documents that differ, in all no longer than `looks`.
    `drop`: for readers to turn from the generation that served. `error`: for what passes by itself.
    """

    renew: float = 5.0
    outbox: float = 3.0
    stalled: float = 15.0
    look: float = 0.5
    looks: float = 15.0
    drop: float = 60.0
    error: float = 120.0
    poll: float = 0.5


class RebuildSteps:
    """Does one after the other, and knows what is worth remembering from one to the next within a process."""

    def __init__(
        self, history: FactHistory, bench: RebuildStore, offsets: ConsumerProgress, patience: RebuildTimings
    ) -> None:
        self._history = history
        self._bench = bench
        self._offsets = offsets
        self._patience = patience
        self._looks_left = patience.looks

    async def step(self, state: JobState) -> JobProgress:
        """Do the next piece; gives where the operation stands then."""
        match state.phase:
            case Phase.REPLAYING if state.place == ReplaySource.EXPIRED:
                return await self._expire(state)
            case Phase.REPLAYING:
                return await self._replay(state)
            case Phase.COMPARING if state.place == CATCHING_UP:
                return await self._catch_up(state)
            case Phase.COMPARING:
                return await self._compare(state)
            case Phase.SWAPPING:
                return await self._swap(state)
            case Phase.DONE:
                return JobProgress(state)

    async def _replay(self, state: JobState) -> JobProgress:
        page = await self._history.page(ReplaySource(state.place), state.token)
        after = replace(state, unreadable=state.unreadable + page.unreadable)
        after = after_replay(after, page.facts, token=page.token, total=page.total)
        if page.batch:
            await self._bench.fold(after, page.batch)
        else:
            await self._bench.keep(after)
        return JobProgress(after)

    async def _expire(self, state: JobState) -> JobProgress:
        """Retention is no difference, and a rebuild brings nothing back: what it took is taken from the new one too."""
        count, token = await self._bench.expire(state, EXPIRE_LIMIT)
        after = after_replay(state, count, token=token, total=0)
        await self._bench.keep(after)
        return JobProgress(after)

    async def _catch_up(self, state: JobState) -> JobProgress:
        """What the replay has read was committed; once it was published and folded, both generations must agree."""
        await asyncio.sleep(self._patience.outbox)
        behind = await self._until_folded(await self._offsets.ends())
        if behind:
            log.warning("comparing_though_events_wait", events=behind)
        after = begin_comparison(state, await self._bench.sizes(state))
        await self._bench.keep(after)
        return JobProgress(after, behind=behind)

    async def _until_folded(self, ends: Mapping[str, int]) -> int:
        loop = asyncio.get_running_loop()
        behind, since = await self._offsets.behind(ends), loop.time()
        while behind and loop.time() - since < self._patience.stalled:
            await asyncio.sleep(self._patience.poll)
            before, behind = behind, await self._offsets.behind(ends)
            since = loop.time() if behind < before else since
        return behind

    async def _compare(self, state: JobState) -> JobProgress:
        page = await self._bench.compare(state, COMPARE_LIMIT)
        found = await self._confirmed(state, page.differing) if page.differing else ()
        after = after_comparison(state, page.documents, len(found), token=page.token)
        if after.phase is not Phase.COMPARING:
            sums = tuple(await self._bench.discrepancies(state))
            found, after = (*found, *sums), replace(after, differences=after.differences + len(sums))
            if sums and after.operation is Operation.REBUILD:
                await self._refuse(after, sums)
        told = found[: max(0, DIFFERENCES_REPORTED - state.differences)]
        await (self._bench.finish if after.phase is Phase.DONE else self._bench.keep)(after, told)
        return JobProgress(after, told)

    async def _confirmed(self, state: JobState, ids: Sequence[str]) -> tuple[Difference, ...]:
        """What still differs after further looks: what was published late may still be on its way."""
        found = await self._bench.differences(state, ids)
        for _ in range(RECHECKS):
            if not found or self._looks_left <= 0:
                break
            self._looks_left -= self._patience.look
            await asyncio.sleep(self._patience.look)
            found = await self._bench.differences(state, [difference.id for difference in found])
        return tuple(found)

    async def _refuse(self, state: JobState, sums: Sequence[Difference]) -> None:
        await self._bench.finish(finished(state), sums)
        contradictions = "; ".join(f"{sum.id}: {sum.serving} of {sum.recounted}" for sum in sums)
        message = f"What was rebuilt contradicts itself, so it was dropped and nothing has changed: {contradictions}"
        raise FailedPrecondition(message, reason="REBUILD_CONTRADICTORY")

    async def _swap(self, state: JobState) -> JobProgress:
        if state.swapped_at is None:
            return JobProgress(await self._bench.swap(state))
        left = timedelta(seconds=self._patience.drop) - await self._bench.since_swap(state)
        if left > timedelta():
            await asyncio.sleep(min(1.0, left.total_seconds()))
            return JobProgress(state)
        after = finished(state)
        await self._bench.finish(after)
        return JobProgress(after)
