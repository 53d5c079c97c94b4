"""Help by a person at a terminal, who tries steps on the device until one is kept."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.steps import Flow, Step
from mobiletest_automation.model.failures import Category, Fault
from mobiletest_automation.outcome import StepFailed, StepOutcome
from mobiletest_automation.steps.human_help import (
    ASKABLE,
    RETRY,
    SCREENSHOT_SECONDS,
    HelpRequest,
    HumanAnswer,
    HumanHelp,
    RunStep,
)

# The answer that has worked takes the place of the step; ask again, with the present screen.
KEEP, LOOK = "keep", "look"
# Each screenshot takes the place of the one before.
PICTURE = "question-1"


class InteractiveHelp(HumanHelp):
    """Asks until the step passes or the person ends it, also after an answer that has worked, and about any failure of
    the test. The person may repair all but a lost session.
    """

    async def _help(self, index: int, step: Step, run: RunStep, failure: StepFailed) -> StepOutcome | None:
        problem = failure
        worked: tuple[HumanAnswer, StepOutcome] | None = None
        while True:
            request = await self._describe(self._question(index, step, problem), worked[0] if worked else None)
            answer = await self.ask(request, failure, PICTURE)
            if answer.text == LOOK:
                continue
            if worked is not None and answer.text == KEEP:
                return self._helped(index, *worked)
            try:
                outcome = await self._follow(answer, step, run)
            except StepFailed as failed:
                if failed.category is Category.SESSION_LOST:
                    raise
                problem, worked = failed, None
                if answer.text == RETRY:
                    failure = failed
                continue
            if outcome is None or answer.text == RETRY:
                return self._helped(index, answer, outcome)
            worked = (answer, outcome)

    def _may_ask(self, failed: StepFailed) -> bool:
        return failed.category in ASKABLE or failed.category.fault is Fault.TEST

    async def _check(self, running: Awaitable[StepOutcome]) -> StepOutcome:
        """What a device refuses is a failure to ask about too."""
        try:
            return await running
        except DeviceFailure as failed:
            raise StepFailed(failed.category, failed.message) from failed

    def _read_flow(self, text: str) -> Flow:
        """Of a sentence, or of a line of a flow: "- tapOn: Pay"."""
        return load_flow(text).require() if text.startswith("- ") else super()._read_flow(text)

    async def _describe(self, request: HelpRequest, worked: HumanAnswer | None) -> HelpRequest:
        """The request with the position of the step, the screen, and the answer that has worked."""
        secrets = self._recorder.secrets
        position = self._recorder.steps[request.question.step_index].position
        screen = tuple(map(secrets.mask, await self._read_screen()))
        question = replace(request.question, position=position, screen=screen)
        if worked is not None:
            shown = secrets.mask(worked.text)
            means_same = worked.text in (shown, secrets.fill_template(shown))
            question = replace(question, worked=shown, can_write=means_same and not worked.chooses_element)
        return replace(request, question=question)

    async def _read_screen(self) -> Sequence[str]:
        """The visible elements that have a name."""
        try:
            async with asyncio.timeout(SCREENSHOT_SECONDS):
                outline = await self._watcher.look()
        except (DeviceFailure, TimeoutError):
            return ()
        return [element.describe() for element in outline.visible if element.name]

    async def _keep_alive(self) -> None:
        try:
            await super()._keep_alive()
        except DeviceFailure as failed:
            if failed.category is Category.SESSION_LOST:
                raise
