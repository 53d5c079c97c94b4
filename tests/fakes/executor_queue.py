"""The ports of the queue in memory: waiting runs, and what workers report of themselves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from services.chassis.context import current
from services.executor.model.claim_order import rank
from services.executor.model.runs import Platform, Run
from services.executor.model.workers import KnownWorker, WorkerReport
from services.executor.ports.executions import PageRequest
from tests.fakes.executor_runs import FakeRuns


class FakeWaitingRuns:
    """The port `WaitingRuns` on runs in memory."""

    def __init__(self, memory: FakeRuns) -> None:
        self._memory = memory

    async def counts(self) -> Mapping[tuple[Platform, int], int]:
        return Counter((run.target.platform, rank(run)) for run in self._waiting() if run.target.platform)

    async def page(self, page: PageRequest) -> Sequence[Run]:
        order = sorted(
            self._waiting(), key=lambda run: (run.target.platform or "", rank(run), run.claimable_at, run.claim_order)
        )
        return order[(page.number - 1) * page.size : page.number * page.size]

    def _waiting(self) -> list[Run]:
        own = [run for run in self._memory.stored.values() if run.org_id == current().org_id]
        return [run for run in own if run.claimable_at is not None and run.lease is None and run.target.platform]


class FakeWorkers:
    """The port `Workers`; `advance` moves its clock."""

    def __init__(self, seconds: float = 15.0) -> None:
        self._seconds = seconds
        self._now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        self._known: dict[str, KnownWorker] = {}
        self.failure: Exception | None = None
        self.reports: list[WorkerReport] = []

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    async def report(self, worker: WorkerReport) -> None:
        if self.failure is not None:
            raise self.failure
        self.reports.append(worker)
        before = self._known.get(worker.id)
        self._known[worker.id] = KnownWorker(worker, before.started_at if before else self._now, self._now)

    async def retire(self, worker_id: str) -> None:
        self._known.pop(worker_id, None)

    async def all(self) -> Sequence[KnownWorker]:
        limit = self._now - timedelta(seconds=self._seconds)
        return [
            KnownWorker(each.report, each.started_at, each.heartbeat_at, silent=each.heartbeat_at <= limit)
            for each in self._known.values()
        ]
