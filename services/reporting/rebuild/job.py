"""Runs verify and rebuild: replay the history into a new generation, compare it, then swap or drop it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import ParamSpec, TypeVar

from services.chassis import logs
from services.chassis.consumer_lag import Ends
from services.chassis.error_status import to_domain_error
from services.chassis.errors import Aborted, DeadlineExceeded, FailedPrecondition, Unavailable
from services.chassis.leases import Lease
from services.chassis.retry import retry_transient
from services.reporting.rebuild.ports import ConsumerProgress, FactHistory, RebuildStore, TakenOver
from services.reporting.rebuild.state import (
    CATCHING_UP,
    Difference,
    JobKind,
    JobProgress,
    JobState,
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
# How many differences of a job are reported; all are counted.
REPORTED_DIFFERENCES = 1000

log = logs.get(__name__)
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RebuildTimings:
    """How long a job waits, in seconds."""

    renew_lease: float = 5.0
    # For the outboxes of executor and catalog to publish what was committed.
    publish: float = 3.0
    # For consumers that make no progress.
    stalled: float = 15.0
    # Before documents that differ are compared again.
    recheck: float = 0.5
    # For all rechecks of a job together.
    rechecks: float = 15.0
    # For readers to leave the generation that served.
    drop: float = 60.0
    # For a dependency that is down.
    retry: float = 120.0
    poll: float = 0.5


DEFAULT_TIMINGS = RebuildTimings()


class RebuildJob:
    """One job at a time over all processes; the next call resumes an interrupted one.

    A step may run twice, and the next one may run in another process.
    """

    def __init__(
        self,
        history: FactHistory,
        store: RebuildStore,
        consumers: ConsumerProgress,
        lease: Lease,
        timings: RebuildTimings = DEFAULT_TIMINGS,
    ) -> None:
        self._history = history
        self._store = store
        self._consumers = consumers
        self._lease = lease
        self._timings = timings
        self._recheck_seconds = timings.rechecks

    async def run(self, operation: JobKind, *, restart: bool = False) -> AsyncGenerator[JobProgress, None]:
        """Run the job to its end, yielding the progress of each step.

        Raises:
            Aborted: another job is running.
            FailedPrecondition: the rebuilt read models are inconsistent; nothing changed.
        """
        async with self._hold_lease():
            state = await self._retry(self._store.take_over)
            if state is not None and state.swapped_at is not None and (state.operation is not operation or restart):
                async for progress in self._steps(state):  # its generation serves already, so it is finished first
                    yield JobProgress(progress.state)
                state = None
            state = await self._retry(self._begin_or_resume, state, operation, restart=restart)
            yield JobProgress(state, tuple(await self._store.reported()))
            async for progress in self._steps(state):
                yield progress

    @asynccontextmanager
    async def _hold_lease(self) -> AsyncIterator[None]:
        """Refuses a second job. A lease that is lost needs no check: the job that takes over fences our writes off."""
        if not await self._lease.acquire():
            raise Aborted(
                "Another operation on the read models is under way", reason="OPERATION_UNDER_WAY", retry_after=10.0
            )
        renewal = asyncio.create_task(self._renew_lease())
        try:
            yield
        except TakenOver as error:
            raise Aborted("Another process has taken this operation over", reason="OPERATION_TAKEN_OVER") from error
        finally:
            renewal.cancel()
            await asyncio.wait([renewal])
            with suppress(Exception):  # otherwise it expires
                await self._lease.release()

    async def _renew_lease(self) -> None:
        while True:
            await asyncio.sleep(self._timings.renew_lease)
            try:
                await self._lease.acquire()
            except Exception as error:
                log.warning("turn_not_renewed", error=repr(error))

    async def _begin_or_resume(self, state: JobState | None, operation: JobKind, *, restart: bool) -> JobState:
        if state is not None and state.operation is operation and not restart:
            log.info("operation_goes_on", operation=operation.value, phase=state.phase.value, place=state.stage)
            return state
        state = await self._store.begin(operation)
        log.info("operation_begins", operation=operation.value, generation=state.generation)
        return state

    async def _steps(self, state: JobState) -> AsyncIterator[JobProgress]:
        while state.phase is not Phase.DONE:
            progress = await self._retry(self._step, state)
            state = progress.state
            yield progress

    async def _retry(self, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Repeat the work while a dependency is down, for a while."""
        return await retry_transient(
            partial(work, *args, **kwargs),
            log=log,
            event="operation_waits",
            until=monotonic() + self._timings.retry,
            pause=lambda attempt: min(10.0, self._timings.poll * 2.0 ** (attempt - 1)),
            transient=lambda error: isinstance(to_domain_error(error), Unavailable | DeadlineExceeded),
        )

    async def _step(self, state: JobState) -> JobProgress:
        match state.phase:
            case Phase.REPLAYING if state.stage == ReplaySource.EXPIRED:
                return await self._expire(state)
            case Phase.REPLAYING:
                return await self._replay(state)
            case Phase.COMPARING if state.stage == CATCHING_UP:
                return await self._catch_up(state)
            case Phase.COMPARING:
                return await self._compare(state)
            case Phase.SWAPPING:
                return await self._swap(state)
            case Phase.DONE:
                return JobProgress(state)

    async def _replay(self, state: JobState) -> JobProgress:
        page = await self._history.page(ReplaySource(state.stage), state.token)
        after = replace(state, unreadable=state.unreadable + page.unreadable)
        after = after_replay(after, page.facts, token=page.token, total=page.total)
        if page.batch:
            await self._store.fold(after, page.batch)
        else:
            await self._store.save(after)
        return JobProgress(after)

    async def _expire(self, state: JobState) -> JobProgress:
        """Retention is not a difference, and a rebuild does not bring expired runs back."""
        count, token = await self._store.expire(state, EXPIRE_LIMIT)
        after = after_replay(state, count, token=token, total=0)
        await self._store.save(after)
        return JobProgress(after)

    async def _catch_up(self, state: JobState) -> JobProgress:
        """The replay has read what was committed; both generations agree once that is published and folded."""
        await asyncio.sleep(self._timings.publish)
        behind = await self._wait_for_consumers(await self._retry(self._consumers.ends))
        if behind:
            log.warning("comparing_though_events_wait", events=behind)
        after = begin_comparison(state, await self._retry(self._store.sizes, state))
        await self._retry(self._store.save, after)
        return JobProgress(after, behind=behind)

    async def _wait_for_consumers(self, ends: Ends) -> int:
        """The lag that is left when the consumers have caught up or made no progress for too long.

        This may take longer than a step is retried, so each poll is retried on its own.
        """
        loop = asyncio.get_running_loop()
        behind, since = await self._retry(self._consumers.behind, ends), loop.time()
        while behind and loop.time() - since < self._timings.stalled:
            await asyncio.sleep(self._timings.poll)
            before, behind = behind, await self._retry(self._consumers.behind, ends)
            since = loop.time() if behind < before else since
        return behind

    async def _compare(self, state: JobState) -> JobProgress:
        page = await self._store.compare(state, COMPARE_LIMIT)
        differences = await self._recheck(state, page.found)
        after = after_comparison(state, page.documents, len(differences), token=page.token)
        if after.phase is not Phase.COMPARING:
            inconsistencies = tuple(await self._store.inconsistencies(state))
            after = replace(after, differences=after.differences + len(inconsistencies))
            if inconsistencies and after.operation is JobKind.REBUILD:
                await self._reject(after, inconsistencies)
            differences += inconsistencies
        reported = differences[: max(0, REPORTED_DIFFERENCES - state.differences)]
        await (self._store.finish if after.phase is Phase.DONE else self._store.save)(after, reported)
        return JobProgress(after, reported)

    async def _recheck(self, state: JobState, differences: Sequence[Difference]) -> tuple[Difference, ...]:
        """What still differs when compared again: an event may have been published late."""
        for _ in range(RECHECKS):
            if not differences or self._recheck_seconds <= 0:
                break
            # One budget for the job: documents that really differ must not make every page wait.
            self._recheck_seconds -= self._timings.recheck
            await asyncio.sleep(self._timings.recheck)
            differences = await self._store.differences(state, sorted({difference.id for difference in differences}))
        return tuple(differences)

    async def _reject(self, state: JobState, inconsistencies: Sequence[Difference]) -> None:
        await self._store.finish(finished(state), inconsistencies)
        totals = "; ".join(f"{counter.id}: {counter.serving} of {counter.recounted}" for counter in inconsistencies)
        message = f"The rebuilt read models are inconsistent and were dropped; nothing has changed: {totals}"
        raise FailedPrecondition(message, reason="REBUILD_CONTRADICTORY")

    async def _swap(self, state: JobState) -> JobProgress:
        if state.swapped_at is None:
            return JobProgress(await self._store.swap(state))
        left = timedelta(seconds=self._timings.drop) - await self._store.since_swap(state)
        if left > timedelta():
            await asyncio.sleep(min(1.0, left.total_seconds()))
            return JobProgress(state)
        after = finished(state)
        await self._store.finish(after)
        return JobProgress(after)
