"""Human in the loop: asks a person about a step that cannot continue."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic

from mobiletest_automation.devices.port import Device, DeviceFailure
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.evidence.recorder import StepRecorder
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.steps import BlockCommand, Flow, Sentence, Step
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

# The flow of an answer's text; DocumentError: it has none.
ReadFlow = Callable[[str], Flow]
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

    def step(self, read: ReadFlow) -> Step:
        """The step that the person wrote.

        Raises:
            StepFailed: it is not one step (script_error).
        """
        try:
            [step] = read(self.text).steps
        except DocumentError as error:
            raise StepFailed(Category.SCRIPT_ERROR, f"{self.text!r} is not a step: {error.message}") from error
        except ValueError:
            raise StepFailed(Category.SCRIPT_ERROR, f"{self.text!r} is not a single step") from None
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


@dataclass(frozen=True, slots=True)
class HelpRequest:
    """A question to a person, whose first options stand for these choices."""

    question: HumanQuestion
    choices: ElementChoices | None

    def answer(self, text: str) -> HumanAnswer:
        """The answer of this text; of a choice the option without masks."""
        if self.choices is None or text not in self.question.options[: len(self.choices.elements)]:
            return HumanAnswer(text, self.choices)
        return HumanAnswer(self.choices.options[self.question.options.index(text)], self.choices)


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
            return await self._check(run(step))
        except StepFailed as failed:
            if not self._may_ask(failed):
                raise
            failure = failed
        return await self._help(index, step, run, failure)

    async def _help(self, index: int, step: Step, run: RunStep, failure: StepFailed) -> StepOutcome | None:
        """Ask about a step that has failed until it passes, a person skips it, or raise why it fails."""
        for number in range(1, QUESTIONS_LIMIT + 1):
            answer = await self.ask(self._question(index, step, failure), failure, f"question-{number}")
            try:
                return self._helped(index, answer, await self._follow(answer, step, run))
            except StepFailed as failed:
                failure = answer.explain(failed)
        raise failure

    def _helped(self, index: int, answer: HumanAnswer, outcome: StepOutcome | None) -> StepOutcome | None:
        self._recorder.record_help(index, instead=outcome is not None and answer.text != RETRY)
        return answer.annotate(outcome) if outcome is not None else None

    def _may_ask(self, failed: StepFailed) -> bool:
        return failed.category in ASKABLE and not isinstance(failed, ScriptFailed)

    async def _check(self, running: Awaitable[StepOutcome]) -> StepOutcome:
        """The outcome. StepFailed: it failed, which a person may be asked about."""
        return await running

    async def _follow(self, answer: HumanAnswer, step: Step, run: RunStep) -> StepOutcome | None:
        if answer.text == SKIP:
            return None
        if answer.text == RETRY:
            return await self._check(run(step))
        if answer.chooses_element:
            return await self._check(self.act_on_choice(answer))
        return await self._check(run(answer.step(self._read_flow)))

    def _read_flow(self, text: str) -> Flow:
        """The flow of an answer, which is a sentence; see `ReadFlow`."""
        return parse_flow([text])

    def _question(self, index: int, step: Step, problem: StepFailed) -> HelpRequest:
        """What to ask about the step, which `problem` keeps from continuing."""
        choices = self._choices(step)
        mask = self._recorder.secrets.mask
        options = (*(map(mask, choices.options) if choices else ()), RETRY, SKIP, FAIL)
        text = mask(f"This step cannot continue: {step.title}\n{problem.message}")
        return HelpRequest(HumanQuestion(text, index, options), choices)

    async def ask(self, request: HelpRequest, failure: StepFailed, picture: str) -> HumanAnswer:
        """The answer to the question; `picture` is the name of its screenshot.

        Raises:
            StepFailed: nobody answers, or the answer is FAIL: `failure`, with the reason added.
            DeviceFailure: the device cannot be read meanwhile.
        """
        began = monotonic()
        answer = await self._wait_for_answer(request.question, picture)
        if answer is None:
            raise _with_sentence(failure, f"Nobody answered within {monotonic() - began:.0f} s.")
        if answer == FAIL:
            raise _with_sentence(failure, "A person let it fail.")
        return request.answer(answer)

    async def act_on_choice(self, answer: HumanAnswer) -> StepOutcome:
        """The action on the chosen element, if the screen still offers the same elements."""
        choices = answer.choices
        present = choices and self._choices_on(choices.intent, await self._watcher.look())
        if choices is None or present is None or present.options != choices.options:
            raise StepFailed(Category.ELEMENT_NOT_FOUND, "the screen does not offer that choice any more")
        element = present.elements[present.options.index(answer.text)]
        await self._actions.act(choices.intent, element)
        return StepOutcome(action=choices.intent.action, resolution=Resolution.RULE, element=element)

    async def _wait_for_answer(self, question: HumanQuestion, picture: str) -> str | None:
        """Ask, with a screenshot, and keep the session of the device alive meanwhile."""
        screenshot = await self._take_screenshot(question.step_index, picture)
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
                await self._device.view.tree()

    async def _take_screenshot(self, index: int, picture: str) -> str:
        try:
            async with asyncio.timeout(SCREENSHOT_SECONDS):
                content = await self._device.view.screenshot()
                return await self._recorder.store_screenshot(index, content, picture)
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


def _with_sentence(failed: StepFailed, sentence: str) -> StepFailed:
    message = failed.message if failed.message.endswith((".", "!", "?")) else f"{failed.message}."
    return StepFailed(failed.category, f"{message} {sentence}", reason=failed.reason, element=failed.element)


def _nth(number: int) -> str:
    return f"{number}{_ENDINGS.get(number, 'th')}"
