"""Ports of the queue: the waiting runs of the caller's organisation, and what workers report of themselves."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mobiletest_automation.model.devices import Platform
from services.executor.model.runs import Run
from services.executor.model.workers import KnownWorker, WorkerReport
from services.executor.ports.executions import PageRequest


class WaitingRuns(Protocol):
    """Runs of the caller's organisation that wait for a worker."""

    async def counts(self) -> Mapping[tuple[Platform, int], int]:
        """How many there are by platform and rank; absent: none."""

    async def page(self, page: PageRequest) -> Sequence[Run]:
        """A page of them: Android first, then in the order of claims."""


class Workers(Protocol):
    """The reports of all workers."""

    async def report(self, worker: WorkerReport) -> None:
        """Store the report, which counts for the time of a lease."""

    async def retire(self, worker_id: str) -> None:
        """Forget a worker that has ended."""

    async def all(self) -> Sequence[KnownWorker]:
        """Those that have reported within a day, at most 1,000: the latest ones."""
