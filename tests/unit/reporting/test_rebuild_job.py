"""How a rebuild job retries, rechecks, waits, and holds its lease."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from services.chassis.consumer_lag import Ends
from services.chassis.errors import Aborted, Unavailable
from services.reporting.model.batch import Batch
from services.reporting.rebuild.job import RebuildJob, RebuildTimings
from services.reporting.rebuild.ports import ComparisonPage, TakenOver
from services.reporting.rebuild.state import Difference, JobKind, JobProgress, JobState, Phase
from tests.fakes.chassis import FakeLease
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_rebuild import FakeConsumerProgress, FakeFactHistory

QUICK = RebuildTimings(publish=0, stalled=0, recheck=0, drop=0, poll=0)


@dataclass
class FakeRebuildStore:
    """Saves fail with `errors` first; `differing` are the ids that differ when compared and at each recheck."""

    differing: list[Sequence[str]] = field(default_factory=lambda: [()])
    errors: list[Exception] = field(default_factory=list)
    state: JobState | None = None
    comparisons: int = 0

    async def take_over(self) -> JobState | None:
        return self.state if self.state and self.state.phase is not Phase.DONE else None

    async def begin(self, operation: JobKind) -> JobState:
        self.state = JobState(operation, 1, START)
        return self.state

    async def fold(self, state: JobState, batch: Batch) -> None:
        await self.save(state)

    async def expire(self, state: JobState, limit: int) -> tuple[int, str]:
        return 0, ""

    async def save(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.state = state

    async def finish(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        self.state = state

    async def reported(self) -> Sequence[Difference]:
        return ()

    async def sizes(self, state: JobState) -> Mapping[str, int]:
        return {"cells": 1}

    async def compare(self, state: JobState, limit: int) -> ComparisonPage:
        return ComparisonPage(1, self._differences(), "")

    async def differences(self, state: JobState, ids: Sequence[str]) -> Sequence[Difference]:
        return self._differences()

    async def inconsistencies(self, state: JobState) -> Sequence[Difference]:
        return ()

    async def swap(self, state: JobState) -> JobState:
        self.state = replace(state, swapped_at=START)
        return self.state

    async def since_swap(self, state: JobState) -> timedelta:
        return timedelta(days=1)

    def _differences(self) -> Sequence[Difference]:
        self.comparisons += 1
        ids = self.differing[min(self.comparisons, len(self.differing)) - 1]
        return [Difference("cells", each, "", "1", "2") for each in ids]


async def verify(
    store: FakeRebuildStore,
    *,
    lease: FakeLease | None = None,
    consumers: FakeConsumerProgress | None = None,
    timings: RebuildTimings = QUICK,
) -> list[JobProgress]:
    """The progress of a job that is run to its end."""
    job = RebuildJob(FakeFactHistory(), store, consumers or FakeConsumerProgress(), lease or FakeLease(), timings)
    async with aclosing(job.run(JobKind.VERIFY)) as steps:
        return [progress async for progress in steps]


async def test_a_step_is_retried_while_a_dependency_is_down() -> None:
    state = (await verify(FakeRebuildStore(errors=[Unavailable("down")] * 3)))[-1].state
    assert (state.phase, state.differences) == (Phase.DONE, 0)


async def test_retries_end_when_a_dependency_stays_down() -> None:
    lease = FakeLease()
    with pytest.raises(Unavailable):
        await verify(FakeRebuildStore(errors=[Unavailable("down")] * 2), lease=lease, timings=replace(QUICK, retry=0))
    assert lease.released == 1


@pytest.mark.parametrize(
    ("differing", "differences", "comparisons"),
    [([["a"], ["a"], []], 0, 3), ([["a"]], 1, 4)],
    ids=["agrees-later", "still-differs"],
)
async def test_a_document_that_differs_is_compared_again(
    differing: list[Sequence[str]], differences: int, comparisons: int
) -> None:
    store = FakeRebuildStore(differing)
    assert (await verify(store))[-1].state.differences == differences
    assert store.comparisons == comparisons


async def test_rechecks_end_with_their_budget() -> None:
    store = FakeRebuildStore([["a"]])
    await verify(store, timings=replace(QUICK, recheck=0.01, rechecks=0.01))
    assert store.comparisons == 2


async def test_the_first_1000_differences_are_reported_and_all_are_counted() -> None:
    progress = await verify(FakeRebuildStore([[str(number) for number in range(1500)]]))
    assert sum(len(each.found) for each in progress) == 1000
    assert progress[-1].state.differences == 1500


async def test_the_comparison_waits_while_consumers_make_progress() -> None:
    class CatchingUp(FakeConsumerProgress):
        async def behind(self, ends: Ends) -> int:
            self.left -= 1
            return self.left

    consumers = CatchingUp(20)
    await verify(FakeRebuildStore(), consumers=consumers, timings=replace(QUICK, stalled=3600))
    assert consumers.left == 0


async def test_consumer_lag_is_reported() -> None:
    progress = await verify(FakeRebuildStore(), consumers=FakeConsumerProgress(behind=3))
    assert [one.behind for one in progress if one.behind] == [3]


async def test_an_outage_after_a_long_wait_for_consumers_is_retried() -> None:
    class CatchingUp(FakeConsumerProgress):
        async def behind(self, ends: Ends) -> int:
            self.left -= 1
            if self.left == 2:
                await asyncio.sleep(2 * retry)
            if self.left == 1:
                raise Unavailable("down")
            return self.left

    retry = 0.1
    timings = replace(QUICK, stalled=3600, retry=retry)
    progress = await verify(FakeRebuildStore(), consumers=CatchingUp(4), timings=timings)
    assert progress[-1].state.phase is Phase.DONE


async def test_a_second_job_is_refused() -> None:
    with pytest.raises(Aborted, match="under way"):
        await verify(FakeRebuildStore(), lease=FakeLease(times=0))


async def test_a_job_that_was_taken_over_ends() -> None:
    lease = FakeLease()
    with pytest.raises(Aborted, match="taken"):
        await verify(FakeRebuildStore(errors=[TakenOver()]), lease=lease)
    assert lease.released == 1


async def test_an_interrupted_job_releases_its_lease() -> None:
    lease = FakeLease()
    job = RebuildJob(FakeFactHistory(), FakeRebuildStore(), FakeConsumerProgress(), lease, QUICK)
    async with aclosing(job.run(JobKind.VERIFY)) as steps:
        await anext(steps)
    assert lease.released == 1


async def test_the_lease_is_renewed_whatever_fails() -> None:
    """A database that is away for a moment ends neither the renewal nor the job."""

    class Flaky(FakeLease):
        async def acquire(self) -> bool:
            self.asked += 1
            if self.asked == 2:
                raise Unavailable("down")
            return True

    class CatchingUp(FakeConsumerProgress):
        async def behind(self, ends: Ends) -> int:
            return 0 if lease.asked > 3 else lease.asked

    lease = Flaky()
    timings = replace(QUICK, renew_lease=0, stalled=3600)
    assert (await verify(FakeRebuildStore(), lease=lease, consumers=CatchingUp(), timings=timings))[-1].state.total == 1
    assert lease.asked > 3
