"""Limits the waiting runs of an organisation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from services.chassis.clock import Clock, SystemClock
from services.chassis.context import current
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.limits import limit_reached
from services.executor.ports.executions import Executions

FRESH_SECONDS = 1.0
RETRY_SECONDS = 30.0
MAX_ORGANISATIONS = 10_000
TOO_LARGE = "this execution alone has {}; start fewer tests at a time, or ask the operator for more"
FULL = "this execution has {}; wait until runs have ended, or cancel executions that are not needed"


@dataclass(slots=True)
class _Waiting:
    """Waiting runs as counted at `read_at`; `added` since then, `starting` right now by this process."""

    read_at: float
    counted: int
    added: int = 0
    starting: int = 0

    @property
    def total(self) -> int:
        return self.counted + self.added + self.starting


class QueueLimit:
    """Counts once a second per organisation, adds what this process starts meanwhile, and recounts before a refusal.

    So the limit may be exceeded by what other processes start within a second.
    """

    def __init__(self, executions: Executions, clock: Clock | None = None) -> None:
        self._executions = executions
        self._clock = clock or SystemClock()
        self._waiting: dict[str, _Waiting] = {}
        self._locks: KeyedLocks[str] = KeyedLocks()

    async def refresh(self, max_age: float = FRESH_SECONDS) -> None:
        """Count the waiting runs of the caller's organisation, unless that was done within the last second."""
        org_id = current().org_id
        async with self._locks[org_id]:
            known, now = self._waiting.get(org_id), self._clock.monotonic()
            if known is not None and now - known.read_at < max_age:
                return
            added = known.added if known is not None else 0
            counted = await self._executions.waiting_runs()
            if known is None:
                self._keep(org_id, _Waiting(now, counted))
            else:
                known.read_at, known.counted, known.added = now, counted, known.added - added

    @asynccontextmanager
    async def room(self, runs: int, limit: int | None) -> AsyncIterator[None]:
        """Inside the block so many runs of the caller's organisation are started; after `refresh`.

        ResourceExhausted: too many wait; PermissionDenied: there will never be room for so many.
        """
        if limit is not None and runs > limit:
            raise limit_reached("queued_runs", limit, TOO_LARGE.format(_runs(runs)))
        waiting = self._waiting.setdefault(current().org_id, _Waiting(0.0, 0))
        if limit is not None and waiting.total + runs > limit:
            await self.refresh(max_age=0.0)
            if waiting.total + runs > limit:
                raise limit_reached("queued_runs", limit, FULL.format(_runs(runs)), retry_after=RETRY_SECONDS)
        waiting.starting += runs
        try:
            yield
            waiting.added += runs
        finally:
            waiting.starting -= runs

    def _keep(self, org_id: str, waiting: _Waiting) -> None:
        if len(self._waiting) >= MAX_ORGANISATIONS:
            idle = [other for other, each in self._waiting.items() if not each.starting]
            for other in idle[: MAX_ORGANISATIONS // 2]:
                del self._waiting[other]
        self._waiting[org_id] = waiting


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"
