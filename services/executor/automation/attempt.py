"""One attempt at a test: a device, the app on it, the steps, a verdict. What the worker calls."""

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace

from services.chassis.clock import Clock, SystemClock
from services.executor.automation.commands.context import CommandContext
from services.executor.automation.commands.executor import CommandExecutor
from services.executor.automation.devices.port import NO_BUILD, Build, Device, DeviceFailure, Devices, Seed
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.evidence.failure_capture import LATE_SECONDS, FailureCapture
from services.executor.automation.evidence.recorder import StepRecorder, TranscriptRecorder
from services.executor.automation.outcome import StepFailed
from services.executor.automation.ports import (
    EvidenceStore,
    Human,
    ModelOptions,
    ModelProvider,
    ModelSession,
    NoEvidenceStore,
    NoStepCache,
    OnProgress,
    StepCache,
    StepCacheKey,
)
from services.executor.automation.secret_texts import Keyboard, SecretTexts
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.automation.steps.device_actions import DeviceActions
from services.executor.automation.steps.goal_runner import GoalRunner
from services.executor.automation.steps.human_help import HumanHelp
from services.executor.automation.steps.model_access import NO_MODEL, ModelAccess
from services.executor.automation.steps.replay import StepReplay
from services.executor.automation.steps.resolution_policy import needs_model, resolution_policy
from services.executor.automation.steps.runner import StepRunner
from services.executor.automation.steps.screen_reader import ScreenReader
from services.executor.automation.steps.sentence_actions import REFUSAL_SECONDS, SentenceActions
from services.executor.automation.steps.sentence_runner import SentenceRunner
from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import Category, Failure
from services.executor.model.run_config import DEFAULTS, CacheRetryMode, Grounder, RunConfig, with_defaults
from services.flows.commands import LaunchApp
from services.flows.loader import parse_flow
from services.flows.nodes import DocumentError
from services.flows.steps import Flow, Sentence, Step
from services.flows.variables import BuiltInVariables, Scope, initial_scope

RELEASE_SECONDS = 1.5
"""How long an attempt waits for its device to be closed; after that, closing goes on in the background."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """What to run. `steps` are as stored (JSON values); `run_seconds` is what is left of the run's time.

    `org_id` and `app` (its id) select the entries of the step cache.
    """

    run_id: str
    org_id: str = ""
    app: str = ""
    use_cache: bool = True
    ask_model: bool = True
    attempt: int
    platform: str
    steps: object
    build: Build = NO_BUILD
    config: RunConfig = DEFAULTS
    app_prompt: str | None = None
    step_seconds: float = 30.0
    run_seconds: float = 1800.0


class AttemptRunner:
    """Runs attempts, any number at a time."""

    def __init__(
        self,
        devices: Devices,
        *,
        model: ModelProvider | None = None,
        cache: StepCache | None = None,
        clock: Clock | None = None,
        release_seconds: float = RELEASE_SECONDS,
    ) -> None:
        self._devices = devices
        self._model = model
        self._cache = cache or NoStepCache()
        self._clock = clock or SystemClock()
        self._release_seconds = release_seconds
        self._closing: set[asyncio.Task[None]] = set()

    async def run(
        self,
        request: AttemptRequest,
        *,
        evidence: EvidenceStore | None = None,
        progress: OnProgress | None = None,
        human: Human | None = None,
    ) -> AttemptResult:
        """`human` is the person to ask about steps that cannot continue.

        What a test, an app or a device does wrong is in the result's failure and never raised.

        When it is cancelled, the device is closed before CancelledError comes out, or after `release_seconds` in the
        background.
        """
        config = with_defaults(request.config)
        try:
            flow = parse_flow(request.steps)
            scope = initial_scope(flow.env, BuiltInVariables(request.platform, request.build.package_name))
        except DocumentError as error:
            message = f"the steps cannot be run: {error}"
            return AttemptResult(failure=Failure(Category.SCRIPT_ERROR, message, error.message))
        secrets = SecretTexts()
        secrets.add_variables(scope.values)
        session = self._open_session(request, config, secrets)
        if session is None and needs_model(config, ask_model=request.ask_model):
            return AttemptResult(failure=Failure(Category.CONFIG_INVALID, NO_MODEL, NO_MODEL))
        recorder = StepRecorder(
            attempt=request.attempt,
            evidence=evidence or NoEvidenceStore(),
            now=self._clock.now,
            progress=progress,
            secrets=secrets,
        )
        capture = FailureCapture(recorder, request.run_seconds)
        transcripts = TranscriptRecorder(recorder, session)
        cache = self._cache if request.use_cache else NoStepCache()
        attempt = _Attempt(
            request, config, flow, scope, ModelAccess(session), cache, recorder, transcripts, capture, human
        )
        failure = await self._run_on_device(attempt)
        device = capture.device
        return AttemptResult(
            failure=failure and _masked(failure, secrets),
            device=device.info.name if device is not None else None,
            simulated=device.info.simulated if device is not None else None,
            steps=tuple(recorder.steps),
            artifacts=tuple(recorder.artifacts),
            cache_failed=recorder.cache_failed,
            human_helped=recorder.human_helped,
        )

    def _open_session(self, request: AttemptRequest, config: RunConfig, secrets: SecretTexts) -> ModelSession | None:
        """The models for this attempt; None if no model is configured."""
        if self._model is None:
            return None
        options = ModelOptions(
            config=config.llm_config,
            app_prompt=request.app_prompt,
            vision=config.execution_mode.grounder_type is Grounder.VISION,
            grid=not config.disable_grid,
            secrets=secrets,
            org_id=request.org_id,
        )
        return self._model.open_session(options)

    async def _run_on_device(self, attempt: "_Attempt") -> Failure | None:
        request, capture = attempt.request, attempt.capture
        async with AsyncExitStack() as held:
            failure: Failure | None
            try:
                async with asyncio.timeout(request.run_seconds) as limit:
                    seed = Seed(request.run_id, request.attempt)
                    device = capture.device = await self._devices.acquire(request.platform, request.build, seed)
                    held.push_async_callback(self._release, device)
                    failure = await attempt.run(device)
            except DeviceFailure as failed:
                await capture.capture_screen(None)
                failure = Failure(failed.category, failed.message, failed.message)
            except TimeoutError:
                if not limit.expired():
                    raise
                failure = await attempt.end_late()
            if failure is not None:
                await capture.capture_log(late=failure.category is Category.RUN_TIMEOUT)
            return failure

    async def _release(self, device: Device) -> None:
        """Close the device; a cancelled attempt does not wait for a close that takes long."""
        closing = asyncio.create_task(self._devices.release(device))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        await asyncio.wait({closing}, timeout=self._release_seconds)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What one attempt works with. `config` has its defaults filled in."""

    request: AttemptRequest
    config: RunConfig
    flow: Flow
    scope: Scope
    models: ModelAccess
    cache: StepCache
    recorder: StepRecorder
    transcripts: TranscriptRecorder
    capture: FailureCapture
    human: Human | None

    async def run(self, device: Device) -> Failure | None:
        if not self.config.execution_mode.skip_app_install:
            await device.install(self.request.build)
        if not _launches_app((*self.flow.on_start, *self.flow.steps)[0]):
            await device.launch()
        return await self._step_runner(device).run(self.flow)

    def _step_runner(self, device: Device) -> StepRunner:
        request, secrets, watcher = self.request, self.recorder.secrets, Watcher(device)
        policy = resolution_policy(self.config, ask_model=request.ask_model)
        keyboard = Keyboard(device, watcher, secrets)
        actions = DeviceActions(device, watcher, keyboard, request.build.app_name)
        screen = ScreenReader(device, watcher, pictures=policy.sees_pictures)
        retry = self.config.cache_retry_mode or CacheRetryMode.STEP
        replay = StepReplay(self.cache, self._cache_key, actions, screen, retry, secrets)
        model_helps = policy.may_ask_model and self.models.available
        sentence_actions = SentenceActions(
            device,
            watcher,
            actions,
            seconds=request.step_seconds,
            patience=REFUSAL_SECONDS if model_helps else request.step_seconds,
        )
        sentences = SentenceRunner(
            device, actions, sentence_actions, screen=screen, replay=replay, models=self.models, policy=policy
        )
        context = CommandContext(
            device=device,
            watcher=watcher,
            keyboard=keyboard,
            platform=request.platform,
            variables=self.scope.built_in,
            own_ids=self.flow.app_ids,
            seconds=request.step_seconds,
        )
        return StepRunner(
            device,
            self.recorder,
            CommandExecutor(context),
            sentences,
            GoalRunner(screen=screen, replay=replay, models=self.models, policy=policy),
            capture=self.capture,
            transcripts=self.transcripts,
            scope=self.scope,
            seconds=request.step_seconds,
            human_help=HumanHelp(self.human, device, watcher, actions, self.recorder) if self.human else None,
        )

    def _cache_key(self, sentence: str) -> StepCacheKey:
        return StepCacheKey(self.request.org_id, self.request.app, self.request.platform, sentence)

    async def end_late(self) -> Failure:
        """The run is out of time: store what there is, within LATE_SECONDS, and end the open steps."""
        recorder = self.recorder
        index = recorder.open[-1] if recorder.open else None
        if index is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LATE_SECONDS):
                    await self.transcripts.store(index)
        message = f"the run did not end within its {self.request.run_seconds:g} s"
        captured = await self.capture.capture_screen(index, late=True)
        failed = StepFailed(Category.RUN_TIMEOUT, message)
        await recorder.interrupt(failed, screenshot=captured.screenshot, tree=captured.tree)
        kind = recorder.steps[index].kind if index is not None else ""
        return Failure(Category.RUN_TIMEOUT, message, "the run took too long", index, kind)


def _masked(failure: Failure, secrets: SecretTexts) -> Failure:
    return replace(failure, message=secrets.mask(failure.message), reason=secrets.mask(failure.reason))


def _launches_app(step: Step) -> bool:
    if isinstance(step.command, Sentence):
        meaning = parse_sentence(step.command.text)
        return isinstance(meaning, Intent) and meaning.action is Action.LAUNCH_APP
    return isinstance(step.command, LaunchApp)
