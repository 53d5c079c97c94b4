"""What an operation does about what fails, waits and is taken away."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from services.chassis.errors import Aborted, Unavailable
from services.reporting.model.batch import Batch
from services.reporting.rebuild.job import RebuildJob
from services.reporting.rebuild.ports import ComparisonPage
from services.reporting.rebuild.state import Difference, JobState, Operation, Phase, ReplaySource
from services.reporting.rebuild.steps import RebuildTimings
from services.reporting.storage.generations import DeadlineGuard
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_rebuild import FakeConsumerProgress, FakeFactHistory

QUICK = RebuildTimings(outbox=0, stalled=0, look=0, drop=0, poll=0)


class FakeTurn:
    """A turn that is ours, until it is lost."""

    def __init__(self, *, ours: bool = True) -> None:
        self.ours = ours
        self.asked = asyncio.Event()
        self.released = False

    async def acquire(self) -> bool:
        if not self.ours:
            self.asked.set()
        return self.ours

    async def release(self) -> None:
        self.released = True


@dataclass
class FakeWorkbench:
    """Remembers what was asked of it; `differing` are differences at each look."""

    differing: list[Sequence[str]] = field(default_factory=list)
    state: JobState | None = None
    prepared: int = 0
    looks: int = 0
    failing: int = 0

    async def take_over(self) -> JobState | None:
        return self.state if self.state and self.state.phase is not Phase.DONE else None

    async def begin(self, operation: Operation) -> JobState:
        self.state = JobState(operation, 1, START)
        return self.state

    async def prepare(self, state: JobState) -> None:
        self.prepared += 1

    async def fold(self, state: JobState, batch: Batch) -> None:
        await self.keep(state)

    async def expire(self, state: JobState, limit: int) -> tuple[int, str]:
        return 0, ""

    async def keep(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        if self.failing:
            self.failing -= 1
            raise Unavailable("away", reason="AWAY")
        self.state = state

    async def told(self) -> Sequence[Difference]:
        return ()

    async def sizes(self, state: JobState) -> Mapping[str, int]:
        return {"cells": 1}

    async def compare(self, state: JobState, limit: int) -> ComparisonPage:
        return ComparisonPage(1, ["a"] if self.differing else [], "")

    async def differences(self, state: JobState, ids: Sequence[str]) -> Sequence[Difference]:
        self.looks += 1
        ids = self.differing[min(self.looks, len(self.differing)) - 1]
        return [Difference("cells", each, "", "1", "2") for each in ids]

    async def discrepancies(self, state: JobState) -> Sequence[Difference]:
        return ()

    async def swap(self, state: JobState) -> JobState:
        self.state = replace(state, swapped_at=START)
        return self.state

    async def since_swap(self, state: JobState) -> timedelta:
        return timedelta(days=1)

    async def finish(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        self.state = state


def operating(
    bench: FakeWorkbench, turn: FakeTurn | None = None, patience: RebuildTimings = QUICK, **parts: object
) -> RebuildJob:
    history, offsets = parts.get("history", FakeFactHistory()), parts.get("offsets", FakeConsumerProgress())
    return RebuildJob(
        history,  # type: ignore[arg-type]
        bench,
        offsets,  # type: ignore[arg-type]
        turn or FakeTurn(),
        passes=lambda error: isinstance(error, Unavailable),
        patience=patience,
    )


async def carried_out(work: RebuildJob, operation: Operation = Operation.VERIFY) -> JobState:
    async with aclosing(work.run(operation)) as steps:
        states = [progress.state async for progress in steps]
    return states[-1]


async def test_what_passes_by_itself_is_tried_again() -> None:
    state = await carried_out(operating(FakeWorkbench(failing=3)))
    assert (state.phase, state.differences) == (Phase.DONE, 0)


async def test_what_does_not_pass_in_time_ends_it() -> None:
    turn = FakeTurn()
    with pytest.raises(Unavailable):
        await carried_out(operating(FakeWorkbench(failing=100), turn, replace(QUICK, error=0)))
    assert turn.released


async def test_a_document_that_agrees_at_a_later_look_is_no_difference() -> None:
    bench = FakeWorkbench(differing=[["a"], ["a"], []])
    assert (await carried_out(operating(bench))).differences == 0
    assert bench.looks == 3


async def test_a_document_that_still_differs_after_some_looks_is_one() -> None:
    bench = FakeWorkbench(differing=[["a"]])
    assert (await carried_out(operating(bench))).differences == 1


async def test_a_thousand_differences_are_told_and_all_are_counted() -> None:
    bench = FakeWorkbench(differing=[[str(number) for number in range(1500)]])
    async with aclosing(operating(bench).run(Operation.VERIFY)) as steps:
        progress = [each async for each in steps]
    assert sum(len(each.found) for each in progress) == 1000
    assert progress[-1].state.differences == 1500


async def test_looks_come_to_an_end() -> None:
    bench = FakeWorkbench(differing=[["a"]])
    await carried_out(operating(bench, patience=replace(QUICK, look=0.01, looks=0.01)))
    assert bench.looks == 2


async def test_it_waits_as_long_as_somebody_folds() -> None:
    class Projector(FakeConsumerProgress):
        async def behind(self, ends: Mapping[str, int]) -> int:
            self.left -= 1
            return self.left

    offsets = Projector(20)
    await carried_out(operating(FakeWorkbench(), patience=replace(QUICK, stalled=3600), offsets=offsets))
    assert offsets.left == 0


async def test_nobody_else_gets_a_turn_meanwhile() -> None:
    with pytest.raises(Aborted, match="under way"):
        await carried_out(operating(FakeWorkbench(), FakeTurn(ours=False)))


async def test_it_ends_when_its_turn_is_lost() -> None:
    turn, bench = FakeTurn(), FakeWorkbench()

    async def lose(source: ReplaySource, token: str) -> None:
        turn.ours = False
        await turn.asked.wait()

    history = FakeFactHistory(before=lose)
    with pytest.raises(Aborted, match="taken"):
        await carried_out(operating(bench, turn, replace(QUICK, renew=0), history=history))
    assert bench.state is not None
    assert bench.state.phase is Phase.REPLAYING


async def test_an_interrupted_operation_is_no_longer_ours() -> None:
    turn = FakeTurn()
    async with aclosing(operating(FakeWorkbench(), turn).run(Operation.VERIFY)) as steps:
        await anext(steps)
    assert turn.released


class Slow:
    async def Answer(self, request: float, context: object) -> str:  # noqa: N802
        await asyncio.sleep(request)
        return "here"


async def test_an_answer_that_took_too_long_is_not_given() -> None:
    assert await DeadlineGuard(Slow(), seconds=3600).Answer(0, None) == "here"
    with pytest.raises(Unavailable):
        await DeadlineGuard(Slow(), seconds=0).Answer(0.001, None)
