import asyncio
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack, suppress

from services.chassis.context import Caller, bind
from services.reporting.usecases.report_sources import POLL_SECONDS, POLLS_AT_ONCE, POLLS_OF_ORG, Polls, ReportTurns


async def test_polling_ends_though_a_read_ignores_its_cancellation() -> None:
    reads = 0

    async def read(_: Collection[str]) -> Mapping[str, int]:
        nonlocal reads
        reads += 1
        if reads == 2:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return {"app": reads}

    with bind(Caller("org-1")):
        assert await Polls(read, ReportTurns()).until("app", lambda _: False, seconds=0.1) is not None


async def test_callers_that_wait_for_the_same_share_its_reads() -> None:
    """Each reads once at first, and one read after a pause is that of all."""
    callers, reads = 200, list[Collection[str]]()

    async def read(keys: Collection[str]) -> Mapping[str, int]:
        reads.append(keys)
        return {"app": len(reads)}

    def is_enough(value: int | None) -> bool:
        return value is not None and value > callers

    shared = Polls(read, ReportTurns())
    with bind(Caller("org-1")):
        values = await asyncio.gather(*(shared.until("app", is_enough, seconds=3600) for _ in range(callers)))
    assert min(each or 0 for each in values) > callers
    assert len(reads) <= callers + 2


async def test_a_caller_gets_what_it_waits_for_although_others_wait_for_more() -> None:
    revision = 0

    async def read(keys: Collection[str]) -> Mapping[str, int]:
        nonlocal revision
        revision += 1
        return dict.fromkeys(keys, revision)

    shared = Polls(read, ReportTurns())
    with bind(Caller("org-1")):
        others = asyncio.create_task(shared.until("a", lambda _: False, seconds=3600))
        value = await shared.until("b", lambda value: value is not None and value >= 4, seconds=3600)
        others.cancel()
        await asyncio.wait([others])
    assert value is not None
    assert value >= 4


async def test_polling_takes_turns_of_which_an_organisation_has_few() -> None:
    turns, reads = ReportTurns(), 0

    async def read(_: Collection[str]) -> Mapping[str, int]:
        nonlocal reads
        reads += 1
        return {}

    async def reads_of(org: str, seconds: float) -> int:
        """Until it has read after a pause, or the time is up."""
        nonlocal reads
        reads = 0
        with bind(Caller(org)):
            await Polls(read, turns).until("app", lambda _: reads > 1, seconds)
        return reads

    async with AsyncExitStack() as held:
        with bind(Caller("crowd")):
            for _ in range(POLLS_OF_ORG):
                await held.enter_async_context(turns.poll())
        assert await reads_of("crowd", 3 * POLL_SECONDS) == 1
        assert await reads_of("another", 3600) == 2
        for number in range(POLLS_AT_ONCE - POLLS_OF_ORG):
            with bind(Caller(f"org-{number}")):
                await held.enter_async_context(turns.poll())
        assert await reads_of("another", 3 * POLL_SECONDS) == 1
