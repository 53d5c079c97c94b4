"""Attempts through the automation: claims in its words, its evidence into the object store."""

from collections.abc import Callable, Sequence

from services.executor.automation.attempt import Automation, Plan
from services.executor.automation.pools.places import Pools
from services.executor.automation.ports import Human, Model, StepCache
from services.executor.model.attempts import Result
from services.executor.model.retrying import asks_model, uses_cache
from services.executor.model.runs import Platform
from services.executor.ports import Artifacts, Claim, Progress
from services.executor.worker.appfiles import Using
from services.executor.worker.evidence import ClaimEvidence
from services.executor.worker.offering import Builds
from services.executor.worker.sessions import Sessions


class AutomatedAttempts:
    """The port `Attempts` on the device pools of this process."""

    def __init__(
        self,
        pools: Pools,
        builds: Builds,
        sessions: Sessions,
        artifacts: Artifacts,
        *,
        step_seconds: float,
        cache: StepCache | None = None,
        model: Model | None = None,
        people: Callable[[Claim], Human] | None = None,
    ) -> None:
        """`people` gives who may be asked about a claim; None: nobody."""
        self._pools = pools
        self._automation = Automation(pools, cache=cache, model=model)
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

    async def run(self, claim: Claim, progress: Progress) -> Result:
        evidence = ClaimEvidence(self._artifacts, claim)
        await self._sessions.clear(claim)
        with self._builds.using() as using:
            return await self._automation.attempt(self._plan(claim, using), evidence=evidence, progress=progress)

    def _plan(self, claim: Claim, using: Using) -> Plan:
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
