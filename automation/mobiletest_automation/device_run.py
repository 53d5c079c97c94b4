"""What an attempt does on its device: installs and launches the app, and runs the steps."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace

from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.commands.context import (
    ELEMENT_SECONDS,
    CommandContext,
    RandomTexts,
    ScreenRecordings,
    TakenPictures,
)
from mobiletest_automation.commands.executor import CommandExecutor
from mobiletest_automation.commands.support import check_supported
from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceFailure
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.evidence.failure_capture import LATE_SECONDS, AppNames, FailureCapture
from mobiletest_automation.evidence.recorder import StepRecorder, TranscriptRecorder
from mobiletest_automation.evidence.screen_memory import ScreenMemory
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.steps import Flow
from mobiletest_automation.flows.templates import ExpressionError
from mobiletest_automation.flows.variables import VariableScope
from mobiletest_automation.keyboard import Keyboard
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.run_config import CacheRetryMode, RunConfig
from mobiletest_automation.outcome import StepFailed
from mobiletest_automation.ports import AcceptedBaselines, FlowFiles, Human, StepCache, StepCacheKey
from mobiletest_automation.scripting.limits import ScriptError
from mobiletest_automation.scripting.templates import Templates
from mobiletest_automation.steps.device_actions import DeviceActions
from mobiletest_automation.steps.dialog_dismisser import DialogDismisser
from mobiletest_automation.steps.goal_runner import GoalRunner
from mobiletest_automation.steps.human_help import HumanHelp
from mobiletest_automation.steps.interactive_help import InteractiveHelp
from mobiletest_automation.steps.model_access import ModelAccess
from mobiletest_automation.steps.preconditions import NEVER_LAUNCHED, begins_launched, starts_app
from mobiletest_automation.steps.replay import StepReplay
from mobiletest_automation.steps.resolution_policy import resolution_policy
from mobiletest_automation.steps.runner import StepRunner
from mobiletest_automation.steps.screen_questions import ScreenQuestions
from mobiletest_automation.steps.screen_reader import ScreenReader
from mobiletest_automation.steps.script_runner import ScriptRunner
from mobiletest_automation.steps.sentence_actions import REFUSAL_SECONDS, SentenceActions
from mobiletest_automation.steps.sentence_runner import SentenceRunner


def _misses_element(failure: Failure) -> bool:
    return failure.category is Category.ELEMENT_NOT_FOUND or failure.step_kind in ("assertVisible", "extendedWaitUntil")


def wrong_steps(error: Exception) -> str:
    return f"the steps cannot be run: {error}"


@dataclass(frozen=True, slots=True)
class DeviceRun:
    """What one attempt works with. `config` has its defaults filled in, `scope` has the variables from outside."""

    request: AttemptRequest
    config: RunConfig
    flow: Flow
    scope: VariableScope
    templates: Templates
    models: ModelAccess
    cache: StepCache
    recorder: StepRecorder
    transcripts: TranscriptRecorder
    capture: FailureCapture
    human: Human | None
    files: FlowFiles
    baselines: AcceptedBaselines
    memory: ScreenMemory

    async def run(self, device: Device) -> Failure | None:
        check_supported(device, self.flow.without(self.request.left_out), self.files)
        self.scope.built_in.add_device(device.info.flow_platform, device.info.udid or device.info.name)
        scope = await self._scope_of_flow()
        own_ids = await self._own_ids(scope)
        build = self._named_build(own_ids)
        self.capture.app = AppNames(build.package_name or "", build.app_name)
        begins_later = any(step.path in self.request.left_out for step in self.flow.own_steps[:1])
        keeps_app = begins_later and device.info.keeps_apps
        if not (self.config.execution_mode.skip_app_install or keeps_app):
            await device.app.install(build)
        if not keeps_app and (begins_later or begins_launched(self.flow)):
            await device.app.launch()
        recordings = ScreenRecordings(device)
        failure = await self._step_runner(device, recordings, scope, own_ids).run(self.flow)
        if failure is not None and _misses_element(failure) and not starts_app(self.flow):
            failure = replace(failure, message=f"{failure.message} ({NEVER_LAUNCHED})")
        name = recordings.name
        recording = await recordings.stop()
        if name is not None and recording is not None:
            await self.recorder.store_recording(None, name, recording)
        return failure

    async def _scope_of_flow(self) -> VariableScope:
        """With the flow's own variables, which may depend on the device; the secret ones are masked from now on."""
        try:
            scope = await self.templates.extend(self.scope, self.flow.env)
        except (DocumentError, ScriptError) as error:
            raise DeviceFailure(Category.SCRIPT_ERROR, wrong_steps(error), error.path) from error
        self.recorder.secrets.add_variables(scope.values)
        return scope

    async def _own_ids(self, scope: VariableScope) -> frozenset[str]:
        """The ids that the flow's header gives the app under test, without those whose variables have no value."""
        ids = set[str]()
        for written in self.flow.app_ids:
            with suppress(ExpressionError, ScriptError):
                ids.add(await self.templates.fill(written, scope, "appId"))
        return frozenset(ids)

    def _named_build(self, own_ids: frozenset[str]) -> AppUnderTest:
        """The build, with the id that the flow gives its app where the build names none."""
        build = self.request.build
        return replace(build, package_name=min(own_ids)) if build.package_name is None and own_ids else build

    def _step_runner(
        self, device: Device, recordings: ScreenRecordings, scope: VariableScope, own_ids: frozenset[str]
    ) -> StepRunner:
        request, secrets, watcher = self.request, self.recorder.secrets, Watcher(device)
        self.capture.watcher = watcher
        dialogs = DialogDismisser(device, self.config.dismiss_dialogs, self.capture.app_of_dialog, self.recorder.remark)
        if device.info.keeps_apps:  # a page could say that it is a dialog
            watcher.dismiss = dialogs.dismiss
        device = self.memory.watch(device, watcher)
        policy = resolution_policy(self.config, ask_model=request.ask_model)
        keyboard = Keyboard(device, watcher, secrets, self.recorder.remark)
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
            secrets=secrets,
            variables=scope.built_in,
            random_texts=RandomTexts(request.run_id),
            baselines=TakenPictures(self.baselines, self.files),
            recordings=recordings,
            own_ids=own_ids,
            files=self.files,
            seconds=min(request.step_seconds, ELEMENT_SECONDS),
        )
        return StepRunner(
            device,
            self.recorder,
            CommandExecutor(context),
            sentences,
            ScreenQuestions(ScreenReader(device, watcher, pictures=True), self.models),
            GoalRunner(screen=screen, replay=replay, models=self.models, policy=policy),
            capture=self.capture,
            transcripts=self.transcripts,
            memory=self.memory,
            dialogs=dialogs,
            scripts=ScriptRunner(self.templates, secrets, scope),
            seconds=request.step_seconds,
            left_out=request.left_out,
            human_help=self._human_help(device, watcher, actions),
        )

    def _human_help(self, device: Device, watcher: Watcher, actions: DeviceActions) -> HumanHelp | None:
        if self.human is None:
            return None
        kind = InteractiveHelp if self.request.interactive else HumanHelp
        return kind(self.human, device, watcher, actions, self.recorder)

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
        failed = StepFailed(Category.RUN_TIMEOUT, message, reason="the run took too long")
        failure = (
            recorder.failure(index, failed) if index is not None else Failure(failed.category, message, failed.reason)
        )
        await recorder.interrupt(failed, screenshot=captured.screenshot, tree=captured.tree)
        return failure
