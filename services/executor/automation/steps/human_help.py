"""Human in the loop: asks a person about a step that cannot go on, and does what the person says."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic

from services.executor.automation.devices.port import Device, DeviceFailure
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.evidence.recorder import StepRecorder
from services.executor.automation.outcome import RECOVERABLE, StepFailed, StepOutcome
from services.executor.automation.ports import Human, HumanQuestion
from services.executor.automation.screen.elements import Element
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.grounder import RefusalReason, ground_intent
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.automation.steps.sentence_actions import SentenceActions
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category
from services.flows.steps import Sentence, Step

QUESTIONS_LIMIT = 3
"""How often a person is asked about one step."""
CHOICES_LIMIT = 8
PICTURE_SECONDS = 10.0
AWAKE_SECONDS = 20.0
"""A device is looked at so often while a person thinks: sessions that nobody talks to are ended by their hubs."""

RETRY, SKIP, FAIL = "retry", "skip", "fail"

ASKABLE = RECOVERABLE | {Category.LLM_UNAVAILABLE, Category.LLM_BUDGET_EXCEEDED, Category.CONFIG_INVALID}
"""What a person may help with: the app is still there. (A step that needs a model and has none is config_invalid.)"""

RunStep = Callable[[], Awaitable[StepOutcome]]
RunInstead = Callable[[str], Awaitable[StepOutcome]]
"""Carries out a step that is written in one line. Raises StepFailed and DeviceFailure, as CarryOut does."""

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_CHOSEN = {
    Action.TAP: "tap",
    Action.DOUBLE_TAP: "double tap",
    Action.LONG_PRESS: "long press",
    Action.TYPE: "type into",
    Action.CLEAR: "clear",
}


@dataclass(frozen=True, slots=True)
class ElementChoices:
    """The elements that a sentence may mean, as they are offered."""

    intent: Intent
    elements: tuple[Element, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        verb = _CHOSEN[self.intent.action]
        return tuple(f"{verb} the {_nth(n)}: {each.describe()}" for n, each in enumerate(self.elements, 1))


class HumanHelp:
    """One attempt's questions."""

    def __init__(
        self,
        human: Human,
        device: Device,
        watcher: Watcher,
        journal: StepRecorder,
        *,
        awake_seconds: float = AWAKE_SECONDS,
    ) -> None:
        self._human = human
        self._awake_seconds = awake_seconds
        self._device = device
        self._watcher = watcher
        self._performer = SentenceActions(device, watcher, app_name="", seconds=0)
        self._journal = journal

    async def helped(self, index: int, step: Step, carry_out: RunStep, instead: RunInstead) -> StepOutcome | None:
        """What carried the step out, by itself or with help; None when a person skips it.

        Raises StepFailed and DeviceFailure.
        """
        try:
            return await carry_out()
        except StepFailed as failed:
            if failed.category not in ASKABLE:
                raise
            return await self._help(index, step, failed, carry_out, instead)

    async def _help(
        self, index: int, step: Step, failed: StepFailed, again: RunStep, instead: RunInstead
    ) -> StepOutcome | None:
        for asked in range(QUESTIONS_LIMIT):
            choices = self._choices(step)
            options = (*(choices.options if choices else ()), RETRY, SKIP, FAIL)
            began = monotonic()
            answer = await self._answer(index, HumanQuestion(_text(step, failed), index, options), asked)
            if answer is None:
                raise _because(failed, f"Nobody answered within {monotonic() - began:.0f} s.")
            if answer == FAIL:
                raise _because(failed, "A person let it fail.")
            if answer == SKIP:
                self._journal.human_helped = True
                return None
            try:
                deed = await (again() if answer == RETRY else self._instead(answer, choices, instead))
            except StepFailed as once_more:
                failed = _because(once_more, f'That was with a person\'s answer: "{answer}".')
            else:
                self._journal.human_helped = True
                return replace(deed, message=_said(answer, deed))
        raise failed

    async def _instead(self, answer: str, choices: ElementChoices | None, instead: RunInstead) -> StepOutcome:
        if choices is not None and answer in choices.options:
            return await self._chosen(choices, choices.options.index(answer))
        return await instead(answer)

    async def _answer(self, index: int, question: HumanQuestion, asked: int) -> str | None:
        """Ask, with a picture, and keep the device awake meanwhile."""
        picture = await self._picture(index, asked)
        asking = asyncio.ensure_future(self._human.ask(replace(question, screenshot=picture)))
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=self._awake_seconds)
                if not asking.done():
                    await self._keep_awake()
            answer = asking.result()
        finally:
            asking.cancel()
        return answer.strip() if answer is not None else None

    async def _keep_awake(self) -> None:
        """Bounded, since an answer may come meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._awake_seconds):
                await self._device.tree()

    async def _picture(self, index: int, asked: int) -> str:
        try:
            async with asyncio.timeout(PICTURE_SECONDS):
                content = await self._device.screenshot()
                return await self._journal.picture(index, content, f"question-{asked + 1}")
        except (DeviceFailure, TimeoutError):
            return ""

    def _choices(self, step: Step) -> ElementChoices | None:
        """What an ambiguous sentence may mean on the screen as it was seen last."""
        intent = parse_sentence(step.command.text) if isinstance(step.command, Sentence) else None
        if not isinstance(intent, Intent) or intent.action not in _CHOSEN or intent.checked is not None:
            return None
        grounding = ground_intent(intent, self._watcher.seen) if self._watcher.seen is not None else None
        if grounding is None or grounding.reason is not RefusalReason.AMBIGUOUS:
            return None
        return ElementChoices(intent, grounding.candidates[:CHOICES_LIMIT])

    async def _chosen(self, choices: ElementChoices, number: int) -> StepOutcome:
        """The action on the element that was chosen, if the screen still offers the same ones."""
        grounding = ground_intent(choices.intent, await self._watcher.look())
        present = ElementChoices(choices.intent, grounding.candidates[:CHOICES_LIMIT])
        if grounding.reason is not RefusalReason.AMBIGUOUS or present.options != choices.options:
            raise StepFailed(Category.ELEMENT_NOT_FOUND, "the screen does not offer that choice any more")
        element = present.elements[number]
        await self._performer.act(choices.intent, element)
        return StepOutcome(action=choices.intent.action, resolution=Resolution.RULE, element=element)


def _text(step: Step, failed: StepFailed) -> str:
    return f"This step cannot go on: {step.title}\n{failed.message}"


def _said(answer: str, deed: StepOutcome) -> str:
    helped = (
        "tried again at a person's word" if answer == RETRY else f"carried out instead by a person's answer: {answer}"
    )
    return f"{deed.message}; {helped}" if deed.message else helped


def _because(failed: StepFailed, more: str) -> StepFailed:
    message = failed.message if failed.message.endswith((".", "!", "?")) else f"{failed.message}."
    return StepFailed(failed.category, f"{message} {more}", reason=failed.reason, element=failed.element)


def _nth(number: int) -> str:
    return f"{number}{_ENDINGS.get(number, 'th')}"
