"""Checking the read models against the history, and making them anew."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from services.chassis import logs
from services.chassis.errors import Aborted
from services.reporting.ports import Lease
from services.reporting.rebuild.ports import ConsumerProgress, FactHistory, RebuildStore
from services.reporting.rebuild.state import JobProgress, JobState, Operation, Phase
from services.reporting.rebuild.steps import RebuildSteps, RebuildTimings

log = logs.get(__name__)
T = TypeVar("T")


class RebuildJob:
    """One operation at a time, over all processes; whoever calls again goes on where an interrupted one was."""

    def __init__(
        self,
        history: FactHistory,
        workbench: RebuildStore,
        offsets: ConsumerProgress,
        turn: Lease,
        *,
        passes: Callable[[BaseException], bool],
        patience: RebuildTimings,
    ) -> None:
        """`passes` says whether an error passes by itself."""
        self._history = history
        self._bench = workbench
        self._offsets = offsets
        self._turn = turn
        self._passes = passes
        self._patience = patience

    async def run(self, operation: Operation, *, restart: bool = False) -> AsyncGenerator[JobProgress, None]:
        """Carry the operation out, saying where it stands after each piece; the last is done.

        Aborted: another one is under way. FailedPrecondition: what was rebuilt contradicts itself; nothing changed.
        """
        async with self._held() as check:
            pieces = RebuildSteps(self._history, self._bench, self._offsets, self._patience)
            async for state in self._settled(pieces, operation, restart=restart):
                yield JobProgress(state)
            state = await self._patiently(lambda: self._taken(operation, restart=restart))
            yield JobProgress(state, tuple(await self._bench.told()))
            while state.phase is not Phase.DONE:
                check()
                progress = await self._patiently(lambda at=state: pieces.step(at))  # type: ignore[misc]
                state = progress.state
                yield progress

    async def _settled(self, pieces: RebuildSteps, operation: Operation, *, restart: bool) -> AsyncIterator[JobState]:
        """Bring a rebuild to its end that let its generation serve already, if it is not the one that is asked for."""
        state = await self._patiently(self._bench.take_over)
        if state is None or state.swapped_at is None or (operation is state.operation and not restart):
            return
        while state.phase is not Phase.DONE:
            state = (await pieces.step(state)).state
            yield state

    async def _taken(self, operation: Operation, *, restart: bool) -> JobState:
        state = await self._bench.take_over()
        if state is None or state.operation is not operation or restart:
            state = await self._bench.begin(operation)
            log.info("operation_begins", operation=operation.value, generation=state.generation)
        else:
            log.info("operation_goes_on", operation=operation.value, phase=state.phase.value, place=state.place)
        if state.phase is Phase.REPLAYING:
            await self._bench.prepare(state)
        return state

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[Callable[[], None]]:
        """Inside of the block it is our turn; gives a check that raises Aborted when it no longer is."""
        if not await self._turn.acquire():
            raise Aborted(
                "Another operation on the read models is under way", reason="OPERATION_UNDER_WAY", retry_after=10.0
            )
        renewing = asyncio.create_task(self._renewed())

        def check() -> None:
            if renewing.done():
                raise Aborted("Somebody else has taken this operation over", reason="OPERATION_TAKEN_OVER")

        try:
            yield check
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            with suppress(Exception):  # else it runs out by itself
                await self._turn.release()

    async def _renewed(self) -> None:
        """Until it is not ours any more. A database that is away may have us lose it: writes are fenced."""
        while True:
            await asyncio.sleep(self._patience.renew)
            try:
                if not await self._turn.acquire():
                    return
            except Exception as error:
                if not self._passes(error):
                    raise
                log.warning("turn_not_renewed", error=repr(error))

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Again after what passes by itself, for a while: every piece may be done twice."""
        waited, wait = 0.0, self._patience.poll
        while True:
            try:
                return await work()
            except Exception as error:
                if not self._passes(error) or waited >= self._patience.error:
                    raise
                log.warning("operation_waits", error=repr(error), seconds=wait)
            await asyncio.sleep(wait)
            waited, wait = waited + wait, min(10.0, wait * 2)
