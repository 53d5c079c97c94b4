"""One attempt at a test: a device, the app on it, the steps, a verdict. The door that the engine comes in by."""

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

from services.chassis.clock import Clock, SystemClock
from services.executor.automation.commands.executor import CommandExecutor
from services.executor.automation.devices.port import NO_BUILD, Build, Device, DeviceFailure, Devices, OnSession, Seed
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.evidence.failure_capture import LATE_SECONDS, FailureCapture
from services.executor.automation.evidence.model_transcripts import TranscriptRecorder
from services.executor.automation.evidence.recorder import StepRecorder
from services.executor.automation.ports import (
    EvidenceStore,
    Human,
    ModelFailed,
    ModelOptions,
    ModelProvider,
    ModelSession,
    NoEvidenceStore,
    NoModelProvider,
    NoStepCache,
    OnProgress,
    StepCache,
    StepCacheKey,
)
from services.executor.automation.sentences.element_checks import SETTLE_SECONDS
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.automation.steps.human_help import HumanHelp
from services.executor.automation.steps.runner import StepRunner
from services.executor.automation.steps.sentence_actions import SentenceActions
from services.executor.automation.steps.sentence_runner import ResolutionPolicy, SentenceRunner
from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import Category, Failure
from services.executor.model.run_config import (
    DEFAULTS,
    CacheRetryMode,
    FallbackTrigger,
    Grounder,
    RunConfig,
    with_defaults,
)
from services.flows.command_types import LaunchApp
from services.flows.loader import parse_flow
from services.flows.nodes import DocumentError
from services.flows.steps import Flow, Sentence, Step
from services.flows.variables import BuiltInVariables, Scope, initial_scope

RELEASE_SECONDS = 1.5
"""How long an attempt that ends waits for its device to be closed; longer closing goes on behind its back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """What to run. `steps` are as stored (JSON values); `run_seconds` is what is left of the run's time.

    `org_id` and `app` (its id) say whose step cache is used; `use_cache` and `ask_model` whether in this attempt.
    `human` is who is asked about steps that cannot go on.
    `on_session` is told of a session on a real device before anything is done in it.
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
    on_session: OnSession | None = None
    human: Human | None = None


@dataclass(frozen=True, slots=True)
class AttemptSetup:
    """What the steps say, the variables that they begin with, and the models that may be asked, or why none may."""

    flow: Flow
    scope: Scope
    advisor: ModelSession | None
    no_model_reason: str
    transcripts: TranscriptRecorder


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
        self._model = model or NoModelProvider()
        self._cache = cache or NoStepCache()
        self._clock = clock or SystemClock()
        self._release_seconds = release_seconds
        self._closing: set[asyncio.Task[None]] = set()

    async def attempt(
        self, plan: AttemptRequest, *, evidence: EvidenceStore | None = None, progress: OnProgress | None = None
    ) -> AttemptResult:
        """The result; what a test, an app or a device does wrong is in its failure and never raised.

        When it is cancelled the device is closed before CancelledError comes out, or after `release_seconds` closes
        by itself.
        """
        try:
            flow = parse_flow(plan.steps)
            scope = initial_scope(flow.env, BuiltInVariables(plan.platform, plan.build.package_name))
            config = with_defaults(plan.config)
            self._check_model(plan, config)
        except DocumentError as error:
            return AttemptResult(
                failure=Failure(Category.SCRIPT_ERROR, f"the steps cannot be run: {error}", error.message)
            )
        except ModelFailed as failed:
            return AttemptResult(failure=Failure(failed.category, failed.message, failed.message))
        journal = StepRecorder(
            attempt=plan.attempt, evidence=evidence or NoEvidenceStore(), now=self._clock.now, progress=progress
        )
        advisor, no_model_reason = self._advisor(plan, config)
        script = AttemptSetup(flow, scope, advisor, no_model_reason, TranscriptRecorder(journal, advisor))
        return await self._in_time(plan, script, journal)

    def _check_model(self, plan: AttemptRequest, config: RunConfig) -> None:
        """What asks for a model in any case fails at once where there is none, and so does the attempt that is made
        only to ask one.
        """
        mode = config.execution_mode
        asks = mode.enable_planning or mode.enable_reflection or mode.grounder_type is not Grounder.ACCESSIBILITY
        if asks or (plan.ask_model and config.fallback_trigger is FallbackTrigger.FINAL_FAIL):
            self._model.check()

    def _advisor(self, plan: AttemptRequest, config: RunConfig) -> tuple[ModelSession | None, str]:
        """The models for this attempt, or why there are none."""
        terms = ModelOptions(
            config=config.llm_config,
            app_prompt=plan.app_prompt,
            vision=config.execution_mode.grounder_type is Grounder.VISION,
            grid=not config.disable_grid,
        )
        try:
            return self._model.advisor(terms), ""
        except ModelFailed as failed:
            return None, failed.message

    async def _in_time(self, plan: AttemptRequest, script: AttemptSetup, journal: StepRecorder) -> AttemptResult:
        witness = FailureCapture(journal, plan.run_seconds)
        async with AsyncExitStack() as held:
            failure = await self._verdict(plan, script, journal, witness, held)
            if failure is not None:
                await witness.log(late=failure.category is Category.RUN_TIMEOUT)
        device = witness.device
        return AttemptResult(
            failure=failure,
            device=device.info.name if device is not None else None,
            simulated=device is not None and device.info.simulated,
            steps=tuple(journal.steps),
            artifacts=tuple(journal.artifacts),
            cache_failed=journal.cache_failed,
            human_helped=journal.human_helped,
        )

    async def _verdict(
        self,
        plan: AttemptRequest,
        script: AttemptSetup,
        journal: StepRecorder,
        witness: FailureCapture,
        held: AsyncExitStack,
    ) -> Failure | None:
        """How it went. The device is closed with `held`, so that it can be looked at until then."""
        try:
            async with asyncio.timeout(plan.run_seconds) as limit:
                seed = Seed(plan.run_id, plan.attempt)
                acquiring = self._devices.acquire(plan.platform, plan.build, seed, on_session=plan.on_session)
                device = witness.device = await acquiring
                held.push_async_callback(self._release, device)
                return await self._on(device, plan, script, journal, witness)
        except DeviceFailure as failed:
            await witness.sight(None)
            return Failure(failed.category, failed.message, failed.message)
        except TimeoutError:
            if not limit.expired():
                raise
            await _store_transcripts_late(journal, script.transcripts)
            return await _run_timeout(plan, journal, witness)

    async def _on(
        self, device: Device, plan: AttemptRequest, script: AttemptSetup, journal: StepRecorder, witness: FailureCapture
    ) -> Failure | None:
        config = with_defaults(plan.config)
        if not config.execution_mode.skip_app_install:
            await device.install(plan.build)
        if not _launches_app((*script.flow.on_start, *script.flow.steps)[0]):
            await device.launch()
        watcher = Watcher(device)
        interpreter = self._interpreter(device, watcher, plan, script)
        commander = CommandExecutor(
            device,
            watcher,
            plan.platform,
            script.scope.built_in,
            own_ids=script.flow.app_ids,
            seconds=plan.step_seconds,
        )
        runner = StepRunner(
            device,
            journal,
            commander,
            interpreter,
            witness=witness,
            transcripts=script.transcripts,
            scope=script.scope,
            seconds=plan.step_seconds,
            asking=HumanHelp(plan.human, device, watcher, journal) if plan.human is not None else None,
        )
        return await runner.run(script.flow)

    def _interpreter(
        self, device: Device, watcher: Watcher, plan: AttemptRequest, script: AttemptSetup
    ) -> SentenceRunner:
        manner = _resolution_policy(plan, with_defaults(plan.config))
        patience = SETTLE_SECONDS if manner.asks and script.advisor is not None else plan.step_seconds
        performer = SentenceActions(
            device, watcher, app_name=plan.build.app_name, seconds=plan.step_seconds, patience=patience
        )
        return SentenceRunner(
            device,
            watcher,
            performer,
            advisor=script.advisor,
            no_model_reason=script.no_model_reason,
            cache=self._cache if plan.use_cache else NoStepCache(),
            manner=manner,
        )

    async def _release(self, device: Device) -> None:
        """Close the device; what takes long goes on by itself, and a cancelled attempt does not wait for it."""
        closing = asyncio.create_task(self._devices.release(device))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        await asyncio.wait({closing}, timeout=self._release_seconds)


async def _store_transcripts_late(journal: StepRecorder, transcripts: TranscriptRecorder) -> None:
    """What models said until the time was over; bounded, since it is."""
    if journal.open:
        with suppress(TimeoutError):
            async with asyncio.timeout(LATE_SECONDS):
                await transcripts.keep(journal.open[-1])


async def _run_timeout(plan: AttemptRequest, journal: StepRecorder, witness: FailureCapture) -> Failure:
    index = journal.open[-1] if journal.open else None
    kind = journal.steps[index].kind if index is not None else ""
    message = f"the run did not end within its {plan.run_seconds:g} s"
    seen = await witness.sight(index, late=True)
    await journal.interrupted(Category.RUN_TIMEOUT, message, screenshot=seen.screenshot, tree=seen.tree)
    return Failure(Category.RUN_TIMEOUT, message, "the run took too long", index, kind)


def _resolution_policy(plan: AttemptRequest, config: RunConfig) -> ResolutionPolicy:
    """How the attempt carries out sentences; `config` is effective, so that everything is said."""
    mode = config.execution_mode
    return ResolutionPolicy(
        cached=lambda sentence: StepCacheKey(plan.org_id, plan.app, plan.platform, sentence),
        grounder=mode.grounder_type or Grounder.ACCESSIBILITY,
        fallback=plan.ask_model and config.fallback_trigger is not FallbackTrigger.NEVER,
        cache_retry=config.cache_retry_mode or CacheRetryMode.STEP,
        planning=bool(mode.enable_planning),
        reflections=(mode.reflection_retries or 0) if mode.enable_reflection else None,
    )


def _launches_app(step: Step) -> bool:
    if isinstance(step.command, Sentence):
        meaning = parse_sentence(step.command.text)
        return isinstance(meaning, Intent) and meaning.action is Action.LAUNCH_APP
    return isinstance(step.command, LaunchApp)
