"""Lists the screens of an app, and compares those of two builds."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from mobiletest.executor.v1 import screens_pb2 as pb

from services.chassis.context import current
from services.chassis.errors import InvalidArgument, Violation
from services.chassis.fair_turns import FairTurns
from services.executor.model.build_screens import SeenRuns, test_key, trees_in_turn
from services.executor.model.runs import Run
from services.executor.ports.executions import ScreensFilter
from services.executor.ports.screens import Screens
from services.executor.screen_pool import ScreensJob
from services.executor.usecases.screens import read_screen

# Of a build: runs that are read, of these so many of each test, and their steps.
RUNS_LIMIT = 300
RUNS_OF_TEST = 5
STEPS_LIMIT = 4_000
RUNS_AT_ONCE = 10
# Of all builds of a request, as stored.
TREES_LIMIT = 1_500
TREE_BYTES = 16 * 1024 * 1024
PICTURE_BYTES = 24 * 1024 * 1024
READ_AT_ONCE = 8
# What is remembered of all organisations, and what each answer counts at least.
ANSWERS_BYTES = 16 * 1024 * 1024
LEAST_ANSWER_BYTES = 80 * 1024

NO_BASE = "name the build to compare with"
TOO_MUCH = "The screens were not compared: that takes more than the limits."
NO_LOOKS = "The looks of elements were not compared: that takes more than the limits."
OLDER = "Older runs were left out."


class RunsWithScreens(Protocol):
    """Runs that have kept screens; a part of the port `Executions`."""

    async def newest_with_screens(self, wanted: ScreensFilter) -> str | None: ...

    async def runs_with_screens(self, wanted: ScreensFilter, limit: int) -> list[Run]: ...


class ScreenJobs(Protocol):
    """Lists or compares screens."""

    async def run(self, org_id: str, job: ScreensJob) -> tuple[list[str], bytes] | None:
        """The hashes of the pictures that are needed, and the message; None if it takes more than the limits."""


_Key: TypeAlias = tuple[object, ...]


class AppScreenUseCases:
    """The screens of the caller's organisation.

    What is read and compared goes on when the caller does not wait any longer, and is remembered until a run with
    screens has ended: so an answer that takes longer than a request may is there for a later one.
    """

    def __init__(self, runs: RunsWithScreens, screens: Screens, jobs: ScreenJobs) -> None:
        self._runs = runs
        self._screens = screens
        self._jobs = jobs
        self._turns = FairTurns(2, per_org=1, waiting_per_org=8, waiting=64)
        self._answers: OrderedDict[_Key, asyncio.Task[bytes]] = OrderedDict()

    async def of_app(self, app_id: str, build_id: str | None = None) -> pb.ListScreensResponse:
        """All screens of the app, or of a build of it, without the fields of a page.

        Raises:
            ResourceExhausted: too many such requests of the organisation wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        wanted = ScreensFilter(app_id=app_id, build_id=build_id)
        key = await self._key(wanted)
        return pb.ListScreensResponse.FromString(await self._answer(key, lambda: self._list(wanted)))

    async def compare(self, build_id: str, base_id: str | None) -> pb.ScreenComparison:
        """The screens of the build compared with those of the base.

        Raises:
            InvalidArgument: there is no base.
            ResourceExhausted: too many such requests of the organisation wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        if base_id is None:
            raise InvalidArgument(f"base: {NO_BASE}", violations=[Violation("base", NO_BASE, "base.required")])
        ids = base_id, build_id
        key = await self._key(*(ScreensFilter(build_id=each) for each in ids))
        return pb.ScreenComparison.FromString(await self._answer(key, lambda: self._compare(ids)))

    async def close(self) -> None:
        """End what is under way."""
        for task in self._answers.values():
            task.cancel()
        await asyncio.gather(*self._answers.values(), return_exceptions=True)

    async def _key(self, *filters: ScreensFilter) -> _Key:
        """What the answer depends on: ended runs do not change."""
        newest = [await self._runs.newest_with_screens(wanted) for wanted in filters]
        return (current().org_id, filters, *newest)

    async def _answer(self, key: _Key, make: Callable[[], Awaitable[bytes]]) -> bytes:
        task = self._answers.get(key)
        if task is None:
            task = self._answers[key] = asyncio.create_task(self._make(make))
            task.add_done_callback(lambda ended: self._settle(key, ended))
        self._answers.move_to_end(key)
        return await asyncio.shield(task)

    async def _make(self, make: Callable[[], Awaitable[bytes]]) -> bytes:
        async with self._turns.take(current().org_id):
            return await make()

    def _settle(self, key: _Key, task: "asyncio.Task[bytes]") -> None:
        """Forget an answer that failed and, of too many, the oldest ones of the organisation that has most."""
        if task.cancelled() or task.exception() is not None:
            self._answers.pop(key, None)
            return
        sizes = {
            each: max(len(done.result()), LEAST_ANSWER_BYTES)
            for each, done in self._answers.items()
            if done.done() and not done.cancelled() and done.exception() is None
        }
        while sum(sizes.values()) > ANSWERS_BYTES:
            by_org = Counter[object]()
            for each, size in sizes.items():
                by_org[each[0]] += size
            [(org_id, _)] = by_org.most_common(1)
            oldest = next(each for each in sizes if each[0] == org_id)
            del sizes[oldest], self._answers[oldest]

    async def _list(self, wanted: ScreensFilter) -> bytes:
        seen = await self._collect(wanted)
        trees = await self._read(trees_in_turn([seen])[:TREES_LIMIT], TREE_BYTES)
        done = await self._jobs.run(current().org_id, ScreensJob([seen], blobs=trees, notices=_notices(seen)))
        if done is None:
            return pb.ListScreensResponse(runs=seen.runs, notice=TOO_MUCH).SerializeToString()
        return done[1]

    async def _compare(self, ids: Sequence[str]) -> bytes:
        org_id = current().org_id
        sides = [await self._collect(ScreensFilter(build_id=each), of_test=RUNS_OF_TEST) for each in ids]
        trees = await self._read(trees_in_turn(sides)[:TREES_LIMIT], TREE_BYTES)
        job = ScreensJob(sides, ids, trees, _notices(*sides))
        done = await self._jobs.run(org_id, job)
        if done is None:
            return _not_compared(ids, sides, TOO_MUCH)
        names, message = done
        if not names:
            return message
        pictures = await self._read(names, PICTURE_BYTES)
        looked = await self._jobs.run(org_id, replace(job, blobs={**trees, **pictures}, with_pictures=True))
        if looked is not None:
            return looked[1]
        comparison = pb.ScreenComparison.FromString(message)
        comparison.notice = " ".join(filter(None, (comparison.notice, NO_LOOKS)))
        return comparison.SerializeToString()

    async def _collect(self, wanted: ScreensFilter, of_test: int = RUNS_LIMIT) -> SeenRuns:
        """What the newest runs saw, at most `of_test` of each test."""
        seen, taken, read = SeenRuns(), Counter[str](), 0
        while read < RUNS_LIMIT and len(seen.steps) < STEPS_LIMIT:
            runs = await self._runs.runs_with_screens(wanted, RUNS_AT_ONCE)
            for run in runs:
                taken[test_key(run)] += 1
                if taken[test_key(run)] <= of_test:
                    seen.add(run)
            if len(runs) < RUNS_AT_ONCE:
                return seen
            read += len(runs)
            wanted = replace(wanted, before=runs[-1].end)
        seen.complete = False
        return seen

    async def _read(self, names: Iterable[str], limit: int) -> dict[str, bytes]:
        """What is still stored, until it has too many bytes."""
        contents, left = dict[str, bytes](), limit
        waiting = list(names)
        while waiting and left > 0:
            batch, waiting = waiting[:READ_AT_ONCE], waiting[READ_AT_ONCE:]
            read = await asyncio.gather(*(read_screen(self._screens, name) for name in batch))
            for name, content in zip(batch, read, strict=True):
                if content is not None and len(content) <= left:
                    contents[name] = content
                left -= len(content or b"")
        return contents


def _notices(*sides: SeenRuns) -> list[str]:
    return [] if all(side.complete for side in sides) else [OLDER]


def _not_compared(ids: Sequence[str], sides: Sequence[SeenRuns], notice: str) -> bytes:
    base, build = (
        pb.ComparedScreens(build_id=name, version=side.version, runs=side.runs)
        for name, side in zip(ids, sides, strict=True)
    )
    return pb.ScreenComparison(build=build, base=base, notice=notice).SerializeToString()
