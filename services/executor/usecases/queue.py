"""Shows what waits and why, and which workers and devices there are."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from mobiletest_automation.model.devices import Platform
from services.chassis.context import current
from services.executor.model.runs import Run
from services.executor.model.wait_reasons import Capacity, RunUse, WaitReason, sentence, wait_reason
from services.executor.model.workers import Fleet, WorkerView
from services.executor.ports.executions import Executions, Page, WaitingRuns, Workers
from services.executor.ports.organisation_limits import OrganisationLimitsSource


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A waiting run: how many of the organisation's runs are claimed before it, and why it waits."""

    run: Run
    ahead: int
    reason: WaitReason
    message: str


@dataclass(frozen=True, slots=True)
class QueuePage:
    """A page of the waiting runs of an organisation, `total` in all.

    Further ones are `held_back` by the max_parallel of their workflows; `running` are in progress.
    """

    items: Sequence[WaitingRun]
    total: int
    held_back: int
    running: int


@dataclass(frozen=True, slots=True)
class WorkersPage:
    """A page of the workers, `total` in all, with how many devices they all have and how many of these are free."""

    items: Sequence[WorkerView]
    total: int
    devices: int
    free_devices: int


class QueueUseCases:
    """The queue of the caller's organisation, and the workers whose devices it may use."""

    def __init__(
        self, executions: Executions, waiting: WaitingRuns, workers: Workers, limits: OrganisationLimitsSource
    ) -> None:
        self._executions = executions
        self._waiting = waiting
        self._workers = workers
        self._limits = limits

    async def queue(self, page: Page) -> QueuePage:
        """A page of the waiting runs, Android first, in the order of claims."""
        counts, runs, unclaimed, use = await asyncio.gather(
            self._waiting.counts(), self._waiting.page(page), self._executions.waiting_runs(), self._run_use()
        )
        never_started = sum(number for (_, rank), number in counts.items() if rank)
        before = sum(number for (platform, _), number in counts.items() if platform is Platform.ANDROID)
        first = (page.number - 1) * page.size
        places = [
            (run, max(0, place - (before if run.target.platform is Platform.IOS else 0)))
            for place, run in enumerate(runs, first)
        ]
        items = await self._explain(places, use) if places else []
        return QueuePage(items, sum(counts.values()), max(0, unclaimed - never_started), use.running)

    async def _run_use(self) -> RunUse:
        limits, running = await asyncio.gather(self._limits.get(current().org_id), self._executions.running_runs())
        return RunUse(running, limits.concurrent_runs)

    async def _explain(self, places: Sequence[tuple[Run, int]], use: RunUse) -> list[WaitingRun]:
        """Why runs wait, each with the number of runs ahead of it."""
        workers, now = await asyncio.gather(self._visible_workers(), self._executions.now())
        capacities = {platform: Capacity.of(workers, platform) for platform in Platform}
        explained = []
        for run, ahead in places:
            platform = run.target.platform or Platform.ANDROID
            reason = wait_reason(run, ahead, capacities[platform], use, now)
            explained.append(WaitingRun(run, ahead, reason, sentence(reason, platform, capacities[platform], use)))
        return explained

    async def questions(self, page: Page) -> tuple[Sequence[Run], int]:
        """A page of the runs that wait for a person's answer, the oldest question first, and how many there are."""
        return await self._waiting.asking(page)

    async def workers(self, page: Page) -> WorkersPage:
        """A page of the workers with devices for the organisation."""
        visible = await self._visible_workers()
        capacities = [Capacity.of(visible, platform) for platform in Platform]
        first = (page.number - 1) * page.size
        return WorkersPage(
            visible[first : first + page.size],
            len(visible),
            devices=sum(each.devices for each in capacities),
            free_devices=sum(each.free for each in capacities),
        )

    async def _visible_workers(self) -> list[WorkerView]:
        return Fleet(await self._workers.all()).visible_to(current().org_id)
