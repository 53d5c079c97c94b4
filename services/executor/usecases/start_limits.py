"""Limits the runs that an organisation starts: how many wait for a device, are started in a day, and are stored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from services.chassis.clock import Clock, SystemClock
from services.chassis.context import current
from services.chassis.errors import DomainError
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.limits import limit_reached
from services.executor.model.limits import OrganisationLimits, StartedRuns
from services.executor.model.runs import PLAN_BYTES
from services.executor.ports.executions import Executions

FRESH_SECONDS = 1.0
RETRY_SECONDS = 30.0
MAX_ORGANISATIONS = 10_000
TOO_LARGE = "this execution alone has {}; start fewer tests at a time, or ask the operator for more"
FULL = "this execution has {}; wait until runs have ended, or cancel executions that are not needed"
TOMORROW = "this execution has {}; start it after midnight (UTC), or ask the operator for more"
ALL_STORED = "this execution has {}; runs are not deleted, because verdicts rest on them: ask the operator for more"


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs to start; `counted` is as how many they count when they are stored."""

    number: int = 0
    counted: int = 0

    def __add__(self, other: "_Runs") -> "_Runs":
        return _Runs(self.number + other.number, self.counted + other.counted)

    def __sub__(self, other: "_Runs") -> "_Runs":
        return _Runs(self.number - other.number, self.counted - other.counted)

    def __str__(self) -> str:
        runs = "1 run" if self.number == 1 else f"{self.number} runs"
        if self.counted == self.number:
            return runs
        return f"{runs} that count as {self.counted}, because their steps have more than {PLAN_BYTES // 1024} KiB"


NO_RUNS = _Runs()


@dataclass(slots=True)
class _Counted:
    """Runs as counted at `read_at`; `added` since then, `starting` right now by this process."""

    read_at: float
    waiting: int
    started: StartedRuns
    added: _Runs = NO_RUNS
    starting: _Runs = NO_RUNS

    def exceeded(self, runs: _Runs, limits: OrganisationLimits) -> str | None:
        """The name of the limit that so many runs more would exceed."""
        more = self.added + self.starting + runs
        totals = (
            ("queued_runs", limits.queued_runs, self.waiting + more.number),
            ("runs_per_day", limits.runs_per_day, self.started.today + more.counted),
            ("stored_runs", limits.stored_runs, self.started.stored + more.counted),
        )
        return next((name for name, limit, total in totals if limit is not None and total > limit), None)


class StartLimits:
    """Counts once a second per organisation, adds what this process starts meanwhile, and recounts before a refusal.

    So the limits may be exceeded by what other processes start within a second.
    """

    def __init__(self, executions: Executions, clock: Clock | None = None) -> None:
        self._executions = executions
        self._clock = clock or SystemClock()
        self._counted: dict[str, _Counted] = {}
        self._locks: KeyedLocks[str] = KeyedLocks()

    async def refresh(self, max_age: float = FRESH_SECONDS) -> None:
        """Count the runs of the caller's organisation, unless that was done within the last second."""
        org_id = current().org_id
        async with self._locks[org_id]:
            known, now = self._counted.get(org_id), self._clock.monotonic()
            if known is not None and now - known.read_at < max_age:
                return
            added = known.added if known is not None else NO_RUNS
            waiting, started = await asyncio.gather(
                self._executions.waiting_runs(), self._executions.started_runs(self._clock.now().date())
            )
            if known is None:
                self._keep(org_id, _Counted(now, waiting, started))
            else:
                known.read_at, known.waiting, known.started = now, waiting, started
                known.added -= added

    @asynccontextmanager
    async def room(self, number: int, limits: OrganisationLimits, *, counted: int | None = None) -> AsyncIterator[None]:
        """Inside the block so many runs of the caller's organisation are started; after `refresh`.

        `counted` is as how many they count when they are stored.
        ResourceExhausted: too many wait, or were started today; PermissionDenied: there will never be room for so many.
        """
        runs = _Runs(number, number if counted is None else counted)
        alone = _Counted(0.0, 0, StartedRuns())
        if (exceeded := alone.exceeded(runs, limits)) is not None:
            raise limit_reached(exceeded, getattr(limits, exceeded), TOO_LARGE.format(runs))
        known = self._counted.setdefault(current().org_id, alone)
        if known.exceeded(runs, limits) is not None:
            await self.refresh(max_age=0.0)
            if (exceeded := known.exceeded(runs, limits)) is not None:
                raise self._refusal(exceeded, getattr(limits, exceeded), runs)
        known.starting += runs
        try:
            yield
            known.added += runs
        finally:
            known.starting -= runs

    def _refusal(self, name: str, limit: int, runs: _Runs) -> DomainError:
        if name == "stored_runs":
            return limit_reached(name, limit, ALL_STORED.format(runs))
        if name == "runs_per_day":
            return limit_reached(name, limit, TOMORROW.format(runs), retry_after=self._seconds_to_midnight())
        return limit_reached(name, limit, FULL.format(runs), retry_after=RETRY_SECONDS)

    def _seconds_to_midnight(self) -> float:
        now = self._clock.now()
        midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        return max(1.0, (midnight - now).total_seconds())

    def _keep(self, org_id: str, counted: _Counted) -> None:
        if len(self._counted) >= MAX_ORGANISATIONS:
            idle = [other for other, each in self._counted.items() if each.starting == NO_RUNS]
            for other in idle[: MAX_ORGANISATIONS // 2]:
                del self._counted[other]
        self._counted[org_id] = counted
