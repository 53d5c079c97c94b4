"""Shows what an organisation uses of runs, language models, baselines and evidence."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from services.chassis.clock import Clock
from services.chassis.context import current
from services.executor.model.organisation_limits import ModelDay, StartedRuns
from services.executor.ports.baselines import Baselines
from services.executor.ports.executions import Executions
from services.executor.ports.organisation_limits import EvidenceBytes, ModelUsageLedger, OrganisationLimitsSource


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
        clock: Clock,
    ) -> None:
        self._executions = executions
        self._baselines = baselines
        self._limits = limits
        self._ledger = ledger
        self._evidence = evidence
        self._clock = clock

    async def in_use(self) -> Sequence[LimitInUse]:
        """The limits with their use, without those that are unlimited."""
        org_id, today = current().org_id, self._clock.now().date()
        limits, runs, models, pictures, evidence = await asyncio.gather(
            self._limits.get(org_id),
            self._runs(today),
            self._ledger.used(ModelDay(org_id, today)),
            self._baselines.used_bytes(org_id),
            self._evidence.used_bytes(org_id),
        )
        waiting, running, started = runs
        found = (
            ("queued_runs", limits.queued_runs, waiting),
            ("concurrent_runs", limits.concurrent_runs, running),
            ("runs_per_day", limits.runs_per_day, started.today),
            ("stored_runs", limits.stored_runs, started.stored),
            ("model_calls_per_day", limits.model_calls_per_day, models.calls),
            ("model_tokens_per_day", limits.model_tokens_per_day, models.tokens),
            ("baseline_bytes", limits.baseline_bytes, pictures),
            ("evidence_bytes", limits.evidence_bytes, evidence),
        )
        return [LimitInUse(name, limit, used) for name, limit, used in found if limit is not None]

    async def _runs(self, today: date) -> tuple[int, int, StartedRuns]:
        """Those that wait, those in progress, and those that were started."""
        executions = self._executions
        return await asyncio.gather(
            executions.waiting_runs(), executions.running_runs(), executions.started_runs(today)
        )
