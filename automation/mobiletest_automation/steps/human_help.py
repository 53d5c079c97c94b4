"""Human in the loop: asks a person about a step that cannot continue."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from time import monotonic

from mobiletest_automation.devices.port import Device, DeviceFailure
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.evidence.recorder import StepRecorder
from mobiletest_automation.flows.loader import load_flow, parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.steps import BlockCommand, Sentence, Step
from mobiletest_automation.flows.texts import well_formed
from mobiletest_automation.model.failures import Category, Fault
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
# Of an interactive person: the answer that has worked takes the place of the step; ask again, with the present screen.
KEEP, LOOK = "keep", "look"

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

    def step(self, *, commands: bool = False) -> Step:
        """The step that the person wrote, in one line. `commands`: it may be a line of a flow, "- tapOn: Pay".

        Raises:
            StepFailed: it is not one step (script_error).
        """
        try:
            is_line = commands and self.text.startswith("- ")
            flow = load_flow(self.text).require() if is_line else parse_flow([self.text])
            [step] = flow.steps
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
        interactive: bool = False,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
    ) -> None:
        """An `interactive` person is asked until the step passes or the person ends it, also after an answer that has
        worked, and about any failure of the test.
        """
        self._human = human
        self._interactive = interactive
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
        problem = failure
        worked: tuple[HumanAnswer, StepOutcome] | None = None
        for number in count() if self._interactive else range(QUESTIONS_LIMIT):
            answer = await self.ask(index, step, failure, number, problem, worked[0] if worked else None)
            if self._interactive and answer.text == LOOK:
                continue
            if worked is not None and answer.text == KEEP:
                answer, outcome = worked
                self._recorder.human_helped = True
                return answer.annotate(outcome)
            try:
                followed = await self._follow(answer, step, run)
            except StepFailed as failed:
                if self._interactive and failed.category is Category.SESSION_LOST:
                    raise
                problem, worked = failed if self._interactive else answer.explain(failed), None
                if answer.text == RETRY or not self._interactive:
                    failure = problem
                continue
            if self._interactive and followed is not None and answer.text != RETRY:
                worked = (answer, followed)
                continue
            self._recorder.human_helped = True
            return answer.annotate(followed) if followed is not None else None
        raise failure

    def _may_ask(self, failed: StepFailed) -> bool:
        if self._interactive:
            return failed.category in ASKABLE or failed.category.fault is Fault.TEST
        return failed.category in ASKABLE and not isinstance(failed, ScriptFailed)

    async def _check(self, running: Awaitable[StepOutcome]) -> StepOutcome:
        """The outcome; what a device refuses is a failure that an interactive person is asked about."""
        try:
            return await running
        except DeviceFailure as failed:
            if not self._interactive:
                raise
            raise StepFailed(failed.category, failed.message) from failed

    async def _follow(self, answer: HumanAnswer, step: Step, run: RunStep) -> StepOutcome | None:
        if answer.text == SKIP:
            return None
        if answer.text == RETRY:
            return await self._check(run(step))
        if answer.chooses_element:
            return await self._check(self.act_on_choice(answer))
        return await self._check(run(answer.step(commands=self._interactive)))

    async def ask(
        self,
        index: int,
        step: Step,
        failed: StepFailed,
        number: int,
        problem: StepFailed | None = None,
        worked: HumanAnswer | None = None,
    ) -> HumanAnswer:
        """The answer to the question of this number about the step, which says the `problem`, or `failed` without one.

        Raises:
            StepFailed: nobody answers, or the answer is FAIL: `failed`, with the reason added.
            DeviceFailure: the device cannot be read meanwhile; of an interactive person, only if its session is lost.
        """
        choices = self._choices(step)
        mask = self._recorder.secrets.mask
        options = (*(map(mask, choices.options) if choices else ()), RETRY, SKIP, FAIL)
        text = mask(f"This step cannot continue: {step.title}\n{(problem or failed).message}")
        question = HumanQuestion(text, index, options)
        if self._interactive:
            position, screen = self._recorder.steps[index].position, await self._read_screen()
            question = replace(question, position=position, screen=tuple(map(mask, screen)))
            if worked is not None:
                shown = mask(worked.text)
                means_same = worked.text in (shown, self._recorder.secrets.fill_template(shown))
                can_write = means_same and not worked.chooses_element
                question = replace(question, worked=shown, can_write=can_write)
        began = monotonic()
        answer = await self._wait_for_answer(question, number)
        if answer is None:
            raise _with_sentence(failed, f"Nobody answered within {monotonic() - began:.0f} s.")
        if answer == FAIL:
            raise _with_sentence(failed, "A person let it fail.")
        return HumanAnswer(_unmasked(answer, options, choices), choices)

    async def _read_screen(self) -> Sequence[str]:
        """The visible elements that have a name."""
        try:
            async with asyncio.timeout(SCREENSHOT_SECONDS):
                outline = await self._watcher.look()
        except (DeviceFailure, TimeoutError):
            return ()
        return [element.describe() for element in outline.visible if element.name]

    async def act_on_choice(self, answer: HumanAnswer) -> StepOutcome:
        """The action on the chosen element, if the screen still offers the same elements."""
        choices = answer.choices
        present = choices and self._choices_on(choices.intent, await self._watcher.look())
        if choices is None or present is None or present.options != choices.options:
            raise StepFailed(Category.ELEMENT_NOT_FOUND, "the screen does not offer that choice any more")
        element = present.elements[present.options.index(answer.text)]
        await self._actions.act(choices.intent, element)
        return StepOutcome(action=choices.intent.action, resolution=Resolution.RULE, element=element)

    async def _wait_for_answer(self, question: HumanQuestion, number: int) -> str | None:
        """Ask, with a screenshot, and keep the session of the device alive meanwhile."""
        screenshot = await self._take_screenshot(question.step_index, 0 if self._interactive else number)
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
        """Bounded, because an answer may come meanwhile. An interactive person may repair all but a lost session."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._keepalive_seconds):
                    await self._device.view.tree()
        except DeviceFailure as failed:
            if not self._interactive or failed.category is Category.SESSION_LOST:
                raise

    async def _take_screenshot(self, index: int, number: int) -> str:
        try:
            async with asyncio.timeout(SCREENSHOT_SECONDS):
                content = await self._device.view.screenshot()
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
