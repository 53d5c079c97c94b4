"""Attempts through the automation, in processes of their own, on the device pools of this worker."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import SecretStr

from mobiletest_automation.attempt_request import AttemptRequest, secret_texts_of
from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, Seed
from mobiletest_automation.evidence.recorder import JSON_LINES
from mobiletest_automation.flows.texts import splitting_no_secret
from mobiletest_automation.llm.budget import BudgetTracker, ModelBudget
from mobiletest_automation.llm.conversation import MASK, ChatModel
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import NO_PLATFORM, Failure
from mobiletest_automation.model.results import AttemptResult, BindingChange
from mobiletest_automation.model.run_config import Screens
from mobiletest_automation.ports import Human, ScreenStore
from mobiletest_automation.scripting.http import SendHttp
from mobiletest_automation.step_cache.entries import StepCacheStore
from services.chassis import logs
from services.executor import telemetry
from services.executor.model.lifecycle import may_ask_model, may_use_cache
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.ports.baselines import Baselines, TestKey
from services.executor.ports.runs import Claim, Progress, RunArtifacts
from services.executor.worker.binding_alarm import BindingAlarm
from services.executor.worker.build_provider import BuildProvider
from services.executor.worker.live_steps import LiveStepsWriter
from services.executor.worker.model_quota import DailyModelQuota
from services.executor.worker.processes.host import AttemptHost, AttemptModels, Services
from services.executor.worker.processes.messages import ModelOffer, RunAttempt
from services.executor.worker.processes.pool import AttemptProcesses
from services.executor.worker.processes.process_limits import CpuAllowance
from services.executor.worker.screen_store import BuildScreens, WorkerScreens
from services.executor.worker.session_tracker import SessionTracker
from services.executor.worker.variables import VariableReader

# How long an attempt waits for its device to be closed; after that, closing goes on in the background.
RELEASE_SECONDS = 1.0

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Models:
    """The language models of the deployment, what they may cost, and the `secrets` that no transcript may show."""

    client: ChatModel
    budget: ModelBudget
    quota: DailyModelQuota | None = None
    secrets: Sequence[SecretStr] = ()


class AutomatedAttempts:
    """The port `Attempts` on device pools."""

    def __init__(
        self,
        pools: PooledDevices,
        processes: AttemptProcesses,
        builds: BuildProvider,
        sessions: SessionTracker,
        artifacts: RunArtifacts,
        baselines: Baselines,
        *,
        variables: VariableReader,
        step_seconds: float,
        cpu: CpuAllowance,
        live: LiveStepsWriter,
        cache: StepCacheStore | None = None,
        models: Models | None = None,
        human_for: Callable[[Claim], Human] | None = None,
        http_for: Callable[[str], SendHttp] | None = None,
        screens: WorkerScreens | None = None,
        binding_alarm: BindingAlarm | None = None,
    ) -> None:
        """`human_for` returns the person who can be asked about a claimed run; None: nobody can be asked.

        `http_for` returns what sends the requests of scripts of an organisation; None: they have no network.
        """
        self._pools = pools
        self._processes = processes
        self._builds = builds
        self._sessions = sessions
        self._artifacts = artifacts
        self._baselines = baselines
        self._variables = variables
        self._step_seconds = step_seconds
        self._cpu = cpu
        self._live = live
        self._cache = cache
        self._models = models
        self._human_for = human_for
        self._http_for = http_for
        self._screens = screens
        self._binding_alarm = binding_alarm
        self._releasing: set[asyncio.Task[None]] = set()

    @property
    def platforms(self) -> Sequence[Platform]:
        """The platforms that have pools, whether or not their hubs are healthy."""
        return [platform for platform in Platform if platform.lower() in self._pools.platforms]

    def accepts(self, platform: Platform, org_id: str) -> bool:
        return self._pools.accepts(platform.lower(), org_id)

    def places(self, platform: Platform) -> int:
        return self._pools.slots(platform.lower())

    async def reserve(self, platform: Platform, runs: int) -> int:
        return await self._pools.reserve(platform.lower(), runs)

    def settle(self, platform: Platform, runs: int) -> None:
        self._pools.settle(platform.lower(), runs)

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        platform = claim.run.target.platform
        await self._sessions.delete_orphans(claim)
        if platform is None:
            return AttemptResult(failure=NO_PLATFORM)
        try:
            variables = await self._variables.read(claim)
        except DeviceFailure as failed:
            return AttemptResult(failure=Failure(failed.category, failed.message, failed.message))
        with self._builds.open_build(claim) as build:
            request = replace(self._request(claim, platform, build), env=variables.values, secrets=variables.secrets)
            secrets = secret_texts_of(request)
            logs.add_mask(secrets.mask)
            with splitting_no_secret(secrets):
                result = await self._run(claim, request, build, progress)
        return replace(result, bindings_changed=await self._bindings_changed(claim, result))

    async def _bindings_changed(self, claim: Claim, result: AttemptResult) -> tuple[BindingChange, ...]:
        if result.failure is not None or self._binding_alarm is None or claim.run.verifies is not None:
            return ()
        return await self._binding_alarm.note_pass(claim.run, result.steps)

    async def _run(
        self, claim: Claim, request: AttemptRequest, build: AppUnderTest, progress: Progress
    ) -> AttemptResult:
        services, model = self._services(claim), self._models
        seed = Seed(request.run_id, request.attempt)
        host = AttemptHost(services, org_id=request.org_id, platform=request.platform, build=build, seed=seed)
        order = RunAttempt(
            request=request,
            cpu=self._cpu,
            ports=host.server.available,
            model=ModelOffer(model.client.endpoint.models, model.budget) if model is not None else None,
            files=tuple(services.files),
        )
        try:
            with self._live.follow(claim, host):
                return await self._processes.run(order, host)
        except asyncio.CancelledError:
            await progress(*host.progress())
            raise
        finally:
            await self._release(host)

    def _services(self, claim: Claim) -> Services:
        secrets = self._models.secrets if self._models is not None else ()
        return Services(
            devices=self._pools,
            evidence=AttemptEvidence(self._artifacts, claim, secrets),
            cache=self._cache,
            models=self._open_models(claim.run.org_id),
            human=self._human(claim),
            files={file.path: partial(self._builds.read_test_file, claim, file) for file in claim.plan.files},
            baselines=partial(self._baselines.load, TestKey(claim.run.org_id, claim.run.target.test_id)),
            http=self._http_for(claim.run.org_id) if self._http_for is not None else None,
            screens=self._open_screens(claim),
            on_session=self._sessions.recorder(claim),
        )

    def _open_screens(self, claim: Claim) -> ScreenStore | None:
        if self._screens is None or claim.execution.run_config.screens is Screens.OFF:
            return None
        return BuildScreens(self._screens, claim.run.org_id, claim.run.target.build_id)

    def _open_models(self, org_id: str) -> AttemptModels | None:
        if self._models is None:
            return None
        return AttemptModels(self._models.client, BudgetTracker(self._models.budget, self._models.quota, org_id))

    def _request(self, claim: Claim, platform: Platform, build: AppUnderTest) -> AttemptRequest:
        plan = claim.plan
        return AttemptRequest(
            run_id=claim.run.id,
            flow_name=plan.flow_name,
            org_id=claim.run.org_id,
            app=claim.run.target.app_id or "",
            attempt=claim.attempt,
            use_cache=may_use_cache(claim.run),
            ask_model=may_ask_model(claim.run),
            platform=platform.lower(),
            steps=list(plan.steps),
            positions=plan.step_positions,
            build=replace(build, read=None, file=None),
            config=replace(claim.execution.run_config, env={}),
            app_prompt=plan.system_prompt,
            step_seconds=self._step_seconds,
            run_seconds=claim.attempt_seconds,
        )

    def _human(self, claim: Claim) -> Human | None:
        enabled = claim.execution.run_config.execution_mode.human_in_the_loop
        return self._human_for(claim) if enabled and self._human_for is not None else None

    async def close(self, seconds: float) -> None:
        """Wait for the devices that are being closed."""
        if self._releasing:
            await asyncio.wait(set(self._releasing), timeout=seconds)

    async def _release(self, host: AttemptHost) -> None:
        """Close the device, in the background if it takes long."""
        releasing = host.release()
        if releasing is not None:
            self._releasing.add(releasing)
            releasing.add_done_callback(self._releasing.discard)
            await asyncio.wait({releasing}, timeout=RELEASE_SECONDS)


class AttemptEvidence:
    """Stores the screenshots and other evidence of one attempt."""

    def __init__(self, artifacts: RunArtifacts, claim: Claim, secrets: Sequence[SecretStr]) -> None:
        """`secrets` are masked in transcripts of models."""
        self._artifacts = artifacts
        self._claim = claim
        self._secrets = [secret.get_secret_value().encode() for secret in secrets if secret.get_secret_value()]

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        """Store an artifact. The caller survives a failure: it costs the artifact, never the verdict."""
        run_id, attempt = self._claim.run.id, self._claim.attempt
        if content_type == JSON_LINES:
            for secret in self._secrets:
                content = content.replace(secret, MASK.encode())
        try:
            await self._artifacts.put(run_id, attempt, name, content)
        except Exception as error:
            telemetry.artifact_failures.inc()
            log.warning("artifact_not_kept", run_id=run_id, attempt=attempt, name=name, error=repr(error))
            raise
        return len(content)
