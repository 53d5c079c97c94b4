"""Attempts through the automation on the device pools of this process."""

from collections.abc import Callable, Sequence

from services.chassis import logs
from services.executor import telemetry
from services.executor.automation.attempt import AttemptRequest, AttemptRunner
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.devices.port import Build
from services.executor.automation.ports import Human, ModelProvider, StepCache
from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import NO_PLATFORM
from services.executor.model.retries import may_ask_model, may_use_cache
from services.executor.model.runs import Platform
from services.executor.ports.runs import Artifacts, Claim, Progress
from services.executor.worker.build_provider import BuildProvider
from services.executor.worker.session_tracker import SessionTracker

log = logs.get(__name__)


class AutomatedAttempts:
    """The port `Attempts` on device pools."""

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
        human_for: Callable[[Claim], Human] | None = None,
    ) -> None:
        """`human_for` returns the person who can be asked about a claimed run; None: nobody can be asked."""
        self._pools = pools
        self._automation = AttemptRunner(pools, cache=cache, model=model)
        self._builds = builds
        self._sessions = sessions
        self._artifacts = artifacts
        self._step_seconds = step_seconds
        self._human_for = human_for

    @property
    def platforms(self) -> Sequence[Platform]:
        """The platforms that have pools, whether or not their hubs are healthy."""
        return [platform for platform in Platform if platform.lower() in self._pools.platforms]

    def accepts(self, platform: Platform, org_id: str) -> bool:
        return self._pools.accepts(platform.lower(), org_id)

    def places(self, platform: Platform) -> int:
        return self._pools.slots(platform.lower())

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        platform = claim.run.target.platform
        await self._sessions.delete_orphans(claim)
        if platform is None:
            return AttemptResult(failure=NO_PLATFORM)
        evidence = AttemptEvidence(self._artifacts, claim)
        with self._builds.open_build(claim) as build:
            request = self._request(claim, platform, build)
            return await self._automation.run(request, evidence=evidence, progress=progress)

    def _request(self, claim: Claim, platform: Platform, build: Build) -> AttemptRequest:
        plan = claim.plan
        return AttemptRequest(
            run_id=claim.run.id,
            org_id=claim.run.org_id,
            app=claim.run.target.app_id or "",
            attempt=claim.attempt,
            use_cache=may_use_cache(claim.run),
            ask_model=may_ask_model(claim.run),
            platform=platform.lower(),
            steps=list(plan.steps),
            build=build,
            config=claim.execution.run_config,
            app_prompt=plan.system_prompt,
            step_seconds=self._step_seconds,
            run_seconds=claim.attempt_seconds,
            on_session=self._sessions.recorder(claim),
            human=self._human(claim),
        )

    def _human(self, claim: Claim) -> Human | None:
        enabled = claim.execution.run_config.execution_mode.human_in_the_loop
        return self._human_for(claim) if enabled and self._human_for is not None else None


class AttemptEvidence:
    """Stores the screenshots and other evidence of one attempt."""

    def __init__(self, artifacts: Artifacts, claim: Claim) -> None:
        self._artifacts = artifacts
        self._claim = claim

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        """Store an artifact. The caller survives a failure: it costs the artifact, never the verdict."""
        run_id, attempt = self._claim.run.id, self._claim.attempt
        try:
            await self._artifacts.put(run_id, attempt, name, content)
        except Exception as error:
            telemetry.artifact_failures.inc()
            log.warning("artifact_not_kept", run_id=run_id, attempt=attempt, name=name, error=repr(error))
            raise
