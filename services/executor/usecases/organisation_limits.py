"""Limits of an organisation: what it uses of them, and how many runs it may start, have waiting and store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from services.chassis.clock import Clock, SystemClock
from services.chassis.context import current
from services.chassis.errors import DomainError
from services.chassis.limit_refusals import limit_reached
from services.chassis.org_counts import Numbers, OrgCounts
from services.executor.model.organisation_limits import ModelDay, OrganisationLimits, StartedRuns
from services.executor.model.runs import PLAN_BYTES
from services.executor.model.workers import Fleet
from services.executor.ports.baselines import Baselines
from services.executor.ports.executions import Executions, Workers
from services.executor.ports.organisation_limits import EvidenceBytes, ModelUsageLedger, OrganisationLimitsSource
from services.executor.ports.screens import ScreenBytes

FRESH_SECONDS = 1.0
RETRY_SECONDS = 30.0
NONE = {"queued_runs": 0, "runs_per_day": 0, "stored_runs": 0}
TOO_LARGE = "this execution alone has {}; start fewer tests at a time, or ask the operator for more"
FULL = "this execution has {}; wait until runs have ended, or cancel executions that are not needed"
TOMORROW = "this execution has {}; start it after midnight (UTC), or ask the operator for more"
ALL_STORED = "this execution has {}; runs are not deleted, because verdicts rest on them: ask the operator for more"


@dataclass(frozen=True, slots=True)
class LimitInUse:
    """A limit, and how much of it is used."""

    name: str
    limit: int
    used: int


class LimitUseCases:
    """The limits of the caller's organisation."""

    def __init__(
        self,
        executions: Executions,
        baselines: Baselines,
        limits: OrganisationLimitsSource,
        *,
        ledger: ModelUsageLedger,
        evidence: EvidenceBytes,
        screens: ScreenBytes,
        workers: Workers,
        clock: Clock,
    ) -> None:
        self._executions = executions
        self._baselines = baselines
        self._limits = limits
        self._ledger = ledger
        self._evidence = evidence
        self._screens = screens
        self._workers = workers
        self._clock = clock

    async def in_use(self) -> Sequence[LimitInUse]:
        """The limits with their use, without those that are unlimited."""
        org_id, today = current().org_id, self._clock.now().date()
        limits, runs, models, pictures, evidence, screens = await asyncio.gather(
            self._limits.get(org_id),
            self._runs(today),
            self._ledger.used(ModelDay(org_id, today)),
            self._baselines.used_bytes(org_id),
            self._evidence.used_bytes(org_id),
            self._screens.used_bytes(org_id),
        )
        waiting, running, started = runs
        uses = (
            ("queued_runs", limits.queued_runs, waiting),
            ("concurrent_runs", limits.concurrent_runs, running),
            ("runs_per_day", limits.runs_per_day, started.today),
            ("stored_runs", limits.stored_runs, started.stored),
            ("model_calls_per_day", limits.model_calls_per_day, models.calls),
            ("model_tokens_per_day", limits.model_tokens_per_day, models.tokens),
            ("baseline_bytes", limits.baseline_bytes, pictures),
            ("evidence_bytes", limits.evidence_bytes, evidence),
            ("screen_bytes", limits.screen_bytes, screens),
        )
        return [LimitInUse(name, limit, used) for name, limit, used in uses if limit is not None]

    async def has_models(self) -> bool | None:
        """Whether runs of the organisation may ask a model; None if no worker says so."""
        return Fleet(await self._workers.all()).has_models(current().org_id)

    async def _runs(self, today: date) -> tuple[int, int, StartedRuns]:
        """Those that wait, those in progress, and those that were started."""
        executions = self._executions
        return await asyncio.gather(
            executions.waiting_runs(), executions.running_runs(), executions.started_runs(today)
        )


class StartLimits:
    """Counts once a second per organisation, adds what this process starts meanwhile, and recounts before a refusal.

    So the limits may be exceeded by what other processes start within a second.
    """

    def __init__(self, executions: Executions, clock: Clock | None = None) -> None:
        self._executions = executions
        self._clock = clock or SystemClock()
        self._counts = OrgCounts(self._count, FRESH_SECONDS, self._clock)

    async def refresh(self) -> None:
        """Count the runs of the caller's organisation, unless that was done within the last second."""
        await self._counts.get(current().org_id)

    @asynccontextmanager
    async def room(self, number: int, limits: OrganisationLimits, *, counted: int | None = None) -> AsyncIterator[None]:
        """Inside the block so many runs of the caller's organisation are started.

        `counted` is as how many they count when they are stored.

        Raises:
            ResourceExhausted: too many wait, or were started today.
            PermissionDenied: there will never be room for so many.
        """
        org_id, counted = current().org_id, number if counted is None else counted
        more = {"queued_runs": number, "runs_per_day": counted, "stored_runs": counted}
        if (exceeded := _exceeded(NONE, more, limits)) is not None:
            raise limit_reached(exceeded, getattr(limits, exceeded), TOO_LARGE.format(_describe(number, counted)))
        if _exceeded(await self._counts.get(org_id), more, limits) is not None:
            exceeded = _exceeded(await self._counts.get(org_id, 0.0), more, limits)
            if exceeded is not None:
                raise self._refusal(exceeded, getattr(limits, exceeded), _describe(number, counted))
        with self._counts.adding(org_id, more):
            yield

    async def _count(self, _: str) -> Numbers:
        waiting, started = await asyncio.gather(
            self._executions.waiting_runs(), self._executions.started_runs(self._clock.now().date())
        )
        return {"queued_runs": waiting, "runs_per_day": started.today, "stored_runs": started.stored}

    def _refusal(self, name: str, limit: int, runs: str) -> DomainError:
        if name == "stored_runs":
            return limit_reached(name, limit, ALL_STORED.format(runs))
        if name == "runs_per_day":
            return limit_reached(name, limit, TOMORROW.format(runs), retry_after=self._seconds_to_midnight())
        return limit_reached(name, limit, FULL.format(runs), retry_after=RETRY_SECONDS)

    def _seconds_to_midnight(self) -> float:
        now = self._clock.now()
        midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        return max(1.0, (midnight - now).total_seconds())


def _exceeded(numbers: Numbers, more: Numbers, limits: OrganisationLimits) -> str | None:
    """The name of the limit that so many more would exceed."""
    for name, number in more.items():
        limit = getattr(limits, name)
        if limit is not None and numbers[name] + number > limit:
            return name
    return None


def _describe(number: int, counted: int) -> str:
    runs = "1 run" if number == 1 else f"{number} runs"
    if counted == number:
        return runs
    return f"{runs} that count as {counted}, because their steps have more than {PLAN_BYTES // 1024} KiB"
