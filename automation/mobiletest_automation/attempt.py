"""One attempt at a test: a device, the app on it, the steps, a verdict. What the worker calls."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from mobiletest_automation import logs
from mobiletest_automation.attempt_request import AttemptRequest, secret_texts_of, well_formed_request
from mobiletest_automation.device_run import DeviceRun, wrong_steps
from mobiletest_automation.devices.port import Device, DeviceFailure, Devices, Seed
from mobiletest_automation.evidence.failure_capture import FailureCapture
from mobiletest_automation.evidence.recorder import StepRecorder, TranscriptRecorder
from mobiletest_automation.evidence.screen_memory import ScreenMemory
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.positions import read_positions
from mobiletest_automation.flows.step_places import step_places
from mobiletest_automation.flows.texts import splitting_no_secret
from mobiletest_automation.flows.variables import BuiltInVariables, VariableScope
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import Grounder, RunConfig, Screens, with_defaults
from mobiletest_automation.model_ports import ModelOptions, ModelProvider, ModelSession
from mobiletest_automation.outcome import StepFailed
from mobiletest_automation.ports import (
    AcceptedBaselines,
    EvidenceStore,
    FlowFiles,
    Human,
    NoBaselines,
    NoEvidenceStore,
    NoFlowFiles,
    NoStepCache,
    OnProgress,
    ScreenStore,
    StepCache,
)
from mobiletest_automation.scripting.engine import ScriptEngine
from mobiletest_automation.scripting.http import HttpFailed, SendHttp
from mobiletest_automation.scripting.templates import Templates, maestro_variables
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.steps.model_access import ModelAccess
from mobiletest_automation.steps.preconditions import why_model_is_needed

# How long an attempt waits for its device to be closed; after that, closing goes on in the background.
RELEASE_SECONDS = 1.5


class AttemptRunner:
    """Runs attempts, any number at a time."""

    def __init__(
        self,
        devices: Devices,
        *,
        model: ModelProvider | None = None,
        cache: StepCache | None = None,
        http: SendHttp | None = None,
        release_seconds: float = RELEASE_SECONDS,
    ) -> None:
        self._devices = devices
        self._model = model
        self._cache = cache or NoStepCache()
        self._http = http
        self._release_seconds = release_seconds
        self._closing: set[asyncio.Task[None]] = set()

    async def run(
        self,
        request: AttemptRequest,
        *,
        evidence: EvidenceStore | None = None,
        progress: OnProgress | None = None,
        human: Human | None = None,
        files: FlowFiles | None = None,
        baselines: AcceptedBaselines | None = None,
        screens: ScreenStore | None = None,
    ) -> AttemptResult:
        """`human` is the person to ask about steps that cannot continue, `files` are those that the flow uses, and
        `baselines` are for assertScreenshot. Without `screens` none are kept.

        What a test, an app or a device does wrong is in the result's failure and never raised.

        When it is cancelled, the device is closed before CancelledError comes out, or after `release_seconds` in the
        background.
        """
        request = well_formed_request(request)
        secrets = secret_texts_of(request)
        logs.add_mask(secrets.mask)
        with splitting_no_secret(secrets):
            return await self._run(
                request,
                secrets,
                evidence=evidence or NoEvidenceStore(),
                progress=progress,
                human=human,
                files=files or NoFlowFiles(),
                baselines=baselines or NoBaselines(),
                screens=screens,
            )

    async def _run(
        self,
        request: AttemptRequest,
        secrets: SecretTexts,
        *,
        evidence: EvidenceStore,
        progress: OnProgress | None,
        human: Human | None,
        files: FlowFiles,
        baselines: AcceptedBaselines,
        screens: ScreenStore | None,
    ) -> AttemptResult:
        async with ScriptEngine(seed=request.run_id, http=self._http, read_file=partial(_read, files)) as engine:
            config = with_defaults(request.config)
            try:
                flow = parse_flow(request.steps)
            except DocumentError as error:
                wrong = Failure(Category.SCRIPT_ERROR, wrong_steps(error), error.message)
                return AttemptResult(failure=_masked(wrong, secrets))
            session = self._open_session(request, config, secrets)
            run_steps = flow.without(request.left_out)
            if session is None and (why := why_model_is_needed(run_steps, config, ask_model=request.ask_model)):
                return AttemptResult(failure=Failure(Category.CONFIG_INVALID, why, why))
            recorder = StepRecorder(
                attempt=request.attempt,
                evidence=evidence,
                now=_utc_now,
                progress=progress,
                secrets=secrets,
                source=read_positions(request.positions, flow),
                places=step_places(flow),
            )
            capture = FailureCapture(recorder, request.run_seconds)
            transcripts = TranscriptRecorder(recorder, session)
            attempt = DeviceRun(
                request,
                config,
                flow,
                VariableScope(_built_in(request), dict(request.env)),
                Templates(engine),
                ModelAccess(session),
                self._cache if request.use_cache else NoStepCache(),
                recorder,
                transcripts,
                capture,
                human,
                files,
                baselines,
                ScreenMemory(recorder, screens, config.screens or Screens.ALL),
            )
            try:
                failure = await self._run_on_device(attempt)
                await attempt.memory.finish(failed=failure is not None)
                return _result(attempt, failure)
            finally:
                attempt.memory.close()
                await recorder.close()

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
        )
        return self._model.open_session(options)

    async def _run_on_device(self, attempt: DeviceRun) -> Failure | None:
        request, capture = attempt.request, attempt.capture
        async with AsyncExitStack() as held:
            failure: Failure | None
            try:
                async with asyncio.timeout(request.run_seconds) as limit:
                    seed = Seed(request.run_id, request.attempt)
                    device = capture.device = await self._devices.acquire(request.platform, request.build, seed)
                    held.push_async_callback(self._release, device)
                    failure = await attempt.run(device)
            except DeviceFailure as error:
                failed = await capture.explain(StepFailed(error.category, error.message, path=error.path))
                await capture.capture_screen(None)
                position, run_from = attempt.recorder.source.locate(failed.path)
                failure = Failure(failed.category, failed.message, failed.reason, position=position, run_from=run_from)
            except TimeoutError:
                # A timeout of something else, which is a defect, and not the end of the run's time.
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


def _utc_now() -> datetime:
    """In whole milliseconds, which every database stores exactly."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


async def _read(files: FlowFiles, path: str) -> bytes | None:
    try:
        return await files.read(path) if path in files else None
    except DeviceFailure as failure:
        raise HttpFailed(failure.message) from failure


def _built_in(request: AttemptRequest) -> BuiltInVariables:
    named = maestro_variables(request.build.package_name, request.flow_name)
    return BuiltInVariables(request.platform, named=named)


def _result(attempt: DeviceRun, failure: Failure | None) -> AttemptResult:
    recorder, device = attempt.recorder, attempt.capture.device
    return AttemptResult(
        failure=failure and _masked(failure, recorder.secrets),
        device=device.info.name if device is not None else None,
        simulated=device.info.simulated if device is not None else None,
        built_in_model=device.info.built_in_model if device is not None else None,
        steps=tuple(recorder.steps),
        artifacts=tuple(recorder.artifacts),
        cache_failed=recorder.cache_failed,
        human_helped=recorder.human_helped,
    )


def _masked(failure: Failure, secrets: SecretTexts) -> Failure:
    return replace(failure, message=secrets.mask(failure.message), reason=secrets.mask(failure.reason))
