"""Human in the loop: asks a person about a step that cannot continue."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic

from mobiletest_automation.devices.port import Device, DeviceFailure
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.evidence.recorder import StepRecorder
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.steps import BlockCommand, Sentence, Step
from mobiletest_automation.flows.texts import well_formed
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.outcome import RECOVERABLE, ScriptFailed, StepFailed, StepOutcome
from mobiletest_automation.ports import Human, HumanQuestion
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.grounder import ground_intent
from mobiletest_automation.sentences.grounding import RefusalReason
from mobiletest_automation.sentences.intents import Action, Intent
from mobiletest_automation.steps.device_actions import DeviceActions

# How often a person is asked about one step.
QUESTIONS_LIMIT = 3
CHOICES_LIMIT = 8
SCREENSHOT_SECONDS = 10.0
# How often the device is read while a person thinks: hubs end idle sessions.
KEEPALIVE_SECONDS = 20.0

RETRY, SKIP, FAIL = "retry", "skip", "fail"

# Failures that a person may help with: the app is still running. (config_invalid: there is no model.)
ASKABLE = RECOVERABLE - {Category.APP_LAUNCH_FAILED} | {
    Category.LLM_UNAVAILABLE,
    Category.LLM_BUDGET_EXCEEDED,
    Category.CONFIG_INVALID,
}

# Runs the step that was asked about, or the one of an answer.
RunStep = Callable[[Step], Awaitable[StepOutcome]]

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_VERBS = {
    Action.TAP: "tap",
    Action.DOUBLE_TAP: "double tap",
    Action.LONG_PRESS: "long press",
    Action.TYPE: "type into",
    Action.CLEAR: "clear",
}


@dataclass(frozen=True, slots=True)
class ElementChoices:
    """The elements that a sentence may mean, as they are offered to a person."""

    intent: Intent
    elements: tuple[Element, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        verb = _VERBS[self.intent.action]
        return tuple(f"{verb} the {_nth(n)}: {each.describe()}" for n, each in enumerate(self.elements, 1))


@dataclass(frozen=True, slots=True)
class HumanAnswer:
    """RETRY, SKIP, one of the choices, or a step to run instead."""

    text: str
    choices: ElementChoices | None = None

    @property
    def chooses_element(self) -> bool:
        return self.choices is not None and self.text in self.choices.options

    def step(self) -> Step:
        """The step that the person wrote, in one line.

        Raises:
            StepFailed: it is not one step (script_error).
        """
        try:
            step = parse_flow([self.text]).steps[0]
        except DocumentError as error:
            raise StepFailed(Category.SCRIPT_ERROR, f"{self.text!r} is not a step: {error.message}") from error
        if isinstance(step.command, BlockCommand):
            raise StepFailed(Category.SCRIPT_ERROR, f"{self.text!r} is not a single step")
        return step

    def annotate(self, outcome: StepOutcome) -> StepOutcome:
        """The outcome of following the answer, with a message that says so."""
        helped = (
            "tried again as a person asked" if self.text == RETRY else f"a person's answer was run instead: {self.text}"
        )
        return replace(outcome, message=f"{outcome.message}; {helped}" if outcome.message else helped)

    def explain(self, failed: StepFailed) -> StepFailed:
        """The failure of following the answer."""
        return _with_sentence(failed, f'This was after a person\'s answer: "{self.text}".')


class HumanHelp:
    """The questions of one attempt."""

    def __init__(
        self,
        human: Human,
        device: Device,
        watcher: Watcher,
        actions: DeviceActions,
        recorder: StepRecorder,
        *,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
    ) -> None:
        self._human = human
        self._keepalive_seconds = keepalive_seconds
        self._device = device
        self._watcher = watcher
        self._actions = actions
        self._recorder = recorder

    async def run(self, index: int, step: Step, run: RunStep) -> StepOutcome | None:
        """Run the step, and ask about it while it fails; None if a person skips it."""
        try:
            return await run(step)
        except StepFailed as failed:
            if failed.category not in ASKABLE or isinstance(failed, ScriptFailed):
                raise
            failure = failed
        for number in range(QUESTIONS_LIMIT):
            answer = await self.ask(index, step, failure, number)
            try:
                outcome = await self._follow(answer, step, run)
            except StepFailed as failed:
                failure = answer.explain(failed)
            else:
                self._recorder.human_helped = True
                return answer.annotate(outcome) if outcome is not None else None
        raise failure

    async def _follow(self, answer: HumanAnswer, step: Step, run: RunStep) -> StepOutcome | None:
        if answer.text == SKIP:
            return None
        if answer.text == RETRY:
            return await run(step)
        return await (self.act_on_choice(answer) if answer.chooses_element else run(answer.step()))

    async def ask(self, index: int, step: Step, failed: StepFailed, number: int) -> HumanAnswer:
        """The answer to the question of this number about the step.

        Raises:
            StepFailed: nobody answers, or the answer is FAIL: `failed`, with the reason added.
        """
        choices = self._choices(step)
        mask = self._recorder.secrets.mask
        options = (*(map(mask, choices.options) if choices else ()), RETRY, SKIP, FAIL)
        text = mask(f"This step cannot continue: {step.title}\n{failed.message}")
        began = monotonic()
        answer = await self._wait_for_answer(index, HumanQuestion(text, index, options), number)
        if answer is None:
            raise _with_sentence(failed, f"Nobody answered within {monotonic() - began:.0f} s.")
        if answer == FAIL:
            raise _with_sentence(failed, "A person let it fail.")
        return HumanAnswer(_unmasked(answer, options, choices), choices)

    async def act_on_choice(self, answer: HumanAnswer) -> StepOutcome:
        """The action on the chosen element, if the screen still offers the same elements."""
        choices = answer.choices
        present = choices and self._choices_on(choices.intent, await self._watcher.look())
        if choices is None or present is None or present.options != choices.options:
            raise StepFailed(Category.ELEMENT_NOT_FOUND, "the screen does not offer that choice any more")
        element = present.elements[present.options.index(answer.text)]
        await self._actions.act(choices.intent, element)
        return StepOutcome(action=choices.intent.action, resolution=Resolution.RULE, element=element)

    async def _wait_for_answer(self, index: int, question: HumanQuestion, number: int) -> str | None:
        """Ask, with a screenshot, and keep the session of the device alive meanwhile."""
        screenshot = await self._take_screenshot(index, number)
        asking = asyncio.ensure_future(self._human.ask(replace(question, screenshot=screenshot)))
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=self._keepalive_seconds)
                if not asking.done():
                    await self._keep_alive()
            answer = asking.result()
        finally:
            asking.cancel()
        return well_formed(answer).strip() if answer is not None else None

    async def _keep_alive(self) -> None:
        """Bounded, because an answer may come meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._keepalive_seconds):
                await self._device.tree()

    async def _take_screenshot(self, index: int, number: int) -> str:
        try:
            async with asyncio.timeout(SCREENSHOT_SECONDS):
                content = await self._device.screenshot()
                return await self._recorder.store_screenshot(index, content, f"question-{number + 1}")
        except (DeviceFailure, TimeoutError):
            return ""

    def _choices(self, step: Step) -> ElementChoices | None:
        """What an ambiguous sentence may mean on the screen as it was read last."""
        intent = parse_sentence(step.command.text) if isinstance(step.command, Sentence) else None
        if not isinstance(intent, Intent) or intent.action not in _VERBS or intent.checked is not None:
            return None
        return self._choices_on(intent, self._watcher.seen) if self._watcher.seen is not None else None

    def _choices_on(self, intent: Intent, outline: Outline) -> ElementChoices | None:
        grounding = ground_intent(intent, outline)
        if grounding.reason is not RefusalReason.AMBIGUOUS:
            return None
        return ElementChoices(intent, grounding.candidates[:CHOICES_LIMIT])


def _unmasked(answer: str, options: Sequence[str], choices: ElementChoices | None) -> str:
    """The answer; of a choice the option without masks."""
    if choices is None or answer not in options[: len(choices.elements)]:
        return answer
    return choices.options[options.index(answer)]


def _with_sentence(failed: StepFailed, sentence: str) -> StepFailed:
    message = failed.message if failed.message.endswith((".", "!", "?")) else f"{failed.message}."
    return StepFailed(failed.category, f"{message} {sentence}", reason=failed.reason, element=failed.element)


def _nth(number: int) -> str:
    return f"{number}{_ENDINGS.get(number, 'th')}"
