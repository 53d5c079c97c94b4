"""Attempts through the automation: claims in its words, its evidence into the object store."""

from collections.abc import Callable, Sequence

from services.chassis import logs
from services.executor import telemetry
from services.executor.automation.attempt import AttemptRequest, AttemptRunner
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.ports import Human, ModelProvider, StepCache
from services.executor.model.attempts import AttemptResult
from services.executor.model.retries import may_ask_model, may_use_cache
from services.executor.model.runs import Platform
from services.executor.ports.attempts import Artifacts, Progress
from services.executor.ports.runs import Claim
from services.executor.worker.build_files import FilesInUse
from services.executor.worker.build_provider import BuildProvider
from services.executor.worker.session_tracker import SessionTracker


class AutomatedAttempts:
    """The port `Attempts` on the device pools of this process."""

    def __init__(
        self,
        pools: PooledDevices,
        builds: BuildProvider,
        sessions: SessionTracker,
        artifacts: Artifacts,
        *,
        step_seconds: float,
        cache: StepCache | None = None,
        model: ModelProvider | None = None,
        people: Callable[[Claim], Human] | None = None,
    ) -> None:
        """`people` gives who may be asked about a claim; None: nobody."""
        self._pools = pools
        self._automation = AttemptRunner(pools, cache=cache, model=model)
        self._builds = builds
        self._sessions = sessions
        self._artifacts = artifacts
        self._step_seconds = step_seconds
        self._people = people

    @property
    def platforms(self) -> Sequence[Platform]:
        """Those that there are pools of, whether their hubs are well or not."""
        return [platform for platform in Platform if platform.lower() in self._pools.platforms]

    def places(self, platform: Platform) -> int:
        return self._pools.slots(platform.lower())

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        evidence = ClaimEvidence(self._artifacts, claim)
        await self._sessions.clear(claim)
        with self._builds.using() as using:
            return await self._automation.attempt(self._plan(claim, using), evidence=evidence, progress=progress)

    def _plan(self, claim: Claim, using: FilesInUse) -> AttemptRequest:
        plan, target = claim.plan, claim.run.target
        return AttemptRequest(
            run_id=claim.run.id,
            org_id=claim.run.org_id,
            app=target.app_id or "",
            attempt=claim.attempt,
            use_cache=may_use_cache(claim.run),
            ask_model=may_ask_model(claim.run),
            platform=(target.platform or Platform.ANDROID).lower(),
            steps=list(plan.steps),
            build=self._builds.of(claim, using),
            config=claim.execution.run_config,
            app_prompt=plan.system_prompt,
            step_seconds=self._step_seconds,
            run_seconds=min(claim.seconds_left, plan.timeout_seconds or float("inf")),
            on_session=self._sessions.noting(claim),
            human=self._person(claim),
        )

    def _person(self, claim: Claim) -> Human | None:
        wanted = claim.execution.run_config.execution_mode.human_in_the_loop
        return self._people(claim) if wanted and self._people is not None else None


log = logs.get(__name__)


class ClaimEvidence:
    """Where one attempt's evidence goes."""

    def __init__(self, artifacts: Artifacts, claim: Claim) -> None:
        self._artifacts = artifacts
        self._claim = claim

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        """Store it; a store that fails costs the artifact, never the verdict."""
        run_id, attempt = self._claim.run.id, self._claim.attempt
        try:
            await self._artifacts.put(run_id, attempt, name, content)
        except Exception as error:
            telemetry.artifact_failures.inc()
            log.warning("artifact_not_kept", run_id=run_id, attempt=attempt, name=name, error=repr(error))
            raise
