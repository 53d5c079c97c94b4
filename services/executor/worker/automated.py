"""Attempts through the automation: claims in its words, its evidence into the object store."""

from collections.abc import Awaitable, Callable, Sequence

from services.chassis.errors import NotFound
from services.chassis.status import domain_error
from services.executor.automation.attempt import Automation, Plan
from services.executor.automation.devices import Build, DeviceFailure
from services.executor.automation.pools.places import Pools
from services.executor.automation.ports import StepCache
from services.executor.model.attempts import Result
from services.executor.model.failures import Category
from services.executor.model.retrying import asks_model, uses_cache
from services.executor.model.runs import Platform
from services.executor.ports import Artifacts, Claim, Progress
from services.executor.worker.builds import BuildFiles
from services.executor.worker.evidence import ClaimEvidence


class AutomatedAttempts:
    """The port `Attempts` on the device pools of this process."""

    def __init__(
        self,
        pools: Pools,
        builds: BuildFiles,
        artifacts: Artifacts,
        *,
        step_seconds: float,
        cache: StepCache | None = None,
    ) -> None:
        self._pools = pools
        self._automation = Automation(pools, cache=cache)
        self._builds = builds
        self._artifacts = artifacts
        self._step_seconds = step_seconds

    @property
    def platforms(self) -> Sequence[Platform]:
        return [platform for platform in Platform if self.places(platform)]

    def places(self, platform: Platform) -> int:
        return self._pools.slots(platform.lower())

    async def run(self, claim: Claim, progress: Progress) -> Result:
        evidence = ClaimEvidence(self._artifacts, claim)
        return await self._automation.attempt(self._plan(claim), evidence=evidence, progress=progress)

    def _plan(self, claim: Claim) -> Plan:
        plan, target = claim.plan, claim.run.target
        return Plan(
            run_id=claim.run.id,
            org_id=claim.run.org_id,
            app=target.app_id or "",
            attempt=claim.attempt,
            use_cache=uses_cache(claim.run),
            ask_model=asks_model(claim.run),
            platform=(target.platform or Platform.ANDROID).lower(),
            steps=list(plan.steps),
            build=Build(
                app_name=target.app_name or "app",
                version=target.resolved_build_version or "",
                package_name=plan.artifact.package_name,
                static_url=plan.static_url,
                read=self._reader(claim),
            ),
            config=claim.execution.run_config,
            app_prompt=plan.system_prompt,
            step_seconds=self._step_seconds,
            run_seconds=min(claim.seconds_left, plan.timeout_seconds or float("inf")),
        )

    def _reader(self, claim: Claim) -> Callable[[int], Awaitable[bytes]] | None:
        """How the automation reads the build's file; None for a build without one."""
        build_id, sha256 = claim.run.target.build_id, claim.plan.artifact.sha256
        if build_id is None or not sha256:
            return None

        async def read(limit: int) -> bytes:
            try:
                return await self._builds.read(claim.run.org_id, build_id, sha256, limit)
            except Exception as error:
                raise _unreadable(error) from error

        return read


def _unreadable(error: Exception) -> Exception:
    """A failed download as the automation knows failures; a bug stays as it is."""
    known = domain_error(error)
    if known is None:
        return error
    category = Category.ARTIFACT_INVALID if isinstance(known, NotFound) else Category.NETWORK_ERROR
    return DeviceFailure(category, f"The build's file could not be had from the catalog: {known.message}.")
