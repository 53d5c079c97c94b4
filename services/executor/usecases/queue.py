"""Shows what waits and why, and which workers and devices there are."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mobiletest_automation.model.devices import Platform
from services.chassis.context import current
from services.executor.model.runs import Run
from services.executor.model.wait_reasons import Capacity, RunUse, WaitReason, sentence, wait_reason
from services.executor.model.workers import Fleet, WorkerState, WorkerView
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

    Further ones are `held_back` by the max_parallel of their workflows; `waiting` and `running` are how many wait and
    are in progress by platform, of all pages.
    """

    items: Sequence[WaitingRun]
    total: int
    held_back: int
    waiting: Mapping[Platform, int]
    running: Mapping[Platform, int]


@dataclass(frozen=True, slots=True)
class WorkersPage:
    """A page of the workers, `total` in all. Of all pages: how many are in which state, and by platform how many of
    those with its devices are, and what runs can use of them.
    """

    items: Sequence[WorkerView]
    total: int
    states: Mapping[WorkerState, int]
    states_by_platform: Mapping[Platform, Mapping[WorkerState, int]]
    capacities: Mapping[Platform, Capacity]


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
        counts, runs, unclaimed, limits, running = await asyncio.gather(
            self._waiting.counts(),
            self._waiting.page(page),
            self._executions.waiting_runs(),
            self._limits.get(current().org_id),
            self._executions.running_by_platform(),
        )
        use = RunUse(sum(running.values()), limits.concurrent_runs)
        never_started = sum(number for (_, rank), number in counts.items() if rank)
        waiting = Counter[Platform]()
        for (platform, _), number in counts.items():
            waiting[platform] += number
        before = waiting[Platform.ANDROID]
        first = (page.number - 1) * page.size
        places = [
            (run, max(0, place - (before if run.target.platform is Platform.IOS else 0)))
            for place, run in enumerate(runs, first)
        ]
        items = await self._explain(places, use) if places else []
        return QueuePage(items, waiting.total(), max(0, unclaimed - never_started), waiting, running)

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
        first = (page.number - 1) * page.size
        by_platform = {platform: [each for each in visible if each.has_devices(platform)] for platform in Platform}
        return WorkersPage(
            visible[first : first + page.size],
            len(visible),
            states=_count_states(visible),
            states_by_platform={platform: _count_states(views) for platform, views in by_platform.items()},
            capacities={platform: Capacity.of(visible, platform) for platform in Platform},
        )

    async def _visible_workers(self) -> list[WorkerView]:
        return Fleet(await self._workers.all()).visible_to(current().org_id)


def _count_states(views: Iterable[WorkerView]) -> Mapping[WorkerState, int]:
    return Counter(view.worker.state for view in views)
