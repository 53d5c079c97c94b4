"""Says what a model has left out of a sentence that the rules understand: its word alone is no proof."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from services.executor.automation.devices.port import Device, DeviceFailure
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.outcome import StepFailed
from services.executor.automation.ports import (
    CannotContinue,
    ChosenAction,
    ModelFailed,
    ModelSession,
    ModelTask,
    ScreenView,
    TaskDone,
)
from services.executor.automation.screen.elements import Element, Role
from services.executor.automation.screen.fingerprint import screen_state
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.element_checks import ELEMENT_CHECKS
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.automation.steps.relocation import relocate
from services.executor.automation.steps.sentence_actions import SentenceActions
from services.executor.model.failures import Category

_CHANGING_ACTIONS = frozenset(
    {
        Action.TAP,
        Action.DOUBLE_TAP,
        Action.LONG_PRESS,
        Action.TYPE,
        Action.SWIPE,
        Action.SCROLL,
        Action.BACK,
        Action.PRESS_KEY,
        Action.OPEN_LINK,
        Action.LAUNCH_APP,
        Action.STOP_APP,
    }
)
"""What is never done already: a step that says so has to do something."""


@dataclass(frozen=True, slots=True)
class PerformedAction:
    """An action that was carried out, and the screen before it."""

    tree: Element
    answer: ChosenAction


def missing_work(intent: Intent | None, moves: Sequence[PerformedAction]) -> str:
    """What has to be done or checked yet, as the end of a sentence; empty when nothing is known to be."""
    if intent is None:
        return ""
    answers = [move.answer for move in moves]
    if intent.action in ELEMENT_CHECKS:
        return (
            ""
            if any(_checked_as_said(intent, each) for each in answers)
            else "no element was checked that is as the step says"
        )
    if intent.action is Action.ASSERT_NOT_VISIBLE and intent.target is not None and intent.target.quoted:
        named = intent.target.name.casefold()
        absent = [each.value or "" for each in answers if each.action is Action.ASSERT_NOT_VISIBLE]
        return (
            "" if any(named in each.casefold() for each in absent) else "it was not checked that the text is not there"
        )
    if (
        intent.action in _CHANGING_ACTIONS
        and intent.checked is None
        and all(each.action is Action.WAIT_FOR for each in answers)
    ):
        return "nothing was done, and the step says what to do"
    return ""


def _checked_as_said(intent: Intent, answer: ChosenAction) -> bool:
    """Whether the model checked an element, and that is as the sentence says."""
    checked = answer.action is Action.ASSERT_VISIBLE or answer.action in ELEMENT_CHECKS
    return checked and answer.element is not None and ELEMENT_CHECKS[intent.action](intent, answer.element)


SETTLED_SECONDS = 2.0
"""How long a screen gets to come to rest before it is shown to a model."""

REJECTIONS_LIMIT = 2
"""How often a model hears that a step is not done when it says so."""

_REPORTED_TO_MODEL = frozenset({Category.SCRIPT_ERROR, Category.ELEMENT_NOT_FOUND})
"""What a device refuses and a model may mend: an unknown key, an element that has just gone."""


@dataclass(slots=True)
class ModelRun:
    """What was done, how many actions were tried for it, how often it was not what the step says, and how the model
    summed it up.
    """

    moves: list[PerformedAction] = field(default_factory=list)
    tried: int = 0
    doubts: int = 0
    summary: str = ""

    @property
    def smooth(self) -> bool:
        """Whether every action that was tried worked."""
        return self.tried == len(self.moves)

    @property
    def message(self) -> str:
        if not self.moves:
            return f"nothing was to be done: {self.summary}" if self.summary else "nothing was to be done"
        return "; ".join(describe_action(move.answer) for move in self.moves) if len(self.moves) > 1 else ""


class ScreenReader:
    """The screen as models get to see it."""

    def __init__(self, device: Device, watcher: Watcher, *, pictures: bool) -> None:
        self._device = device
        self._watcher = watcher
        self._pictures = pictures

    async def settled(self) -> ScreenView:
        """The screen once it is the same twice in a row, or has had its time."""
        await self._watcher.until(_Stable(), SETTLED_SECONDS)
        return await self.now()

    async def again(self) -> Outline:
        """The screen this very moment."""
        return await self._watcher.look()

    async def now(self) -> ScreenView:
        """The screen as it was looked at last, with its picture if models get to see pictures."""
        seen = self._watcher.seen or await self._watcher.look()
        return ScreenView(seen.root, await self._device.screenshot() if self._pictures else None)


class ModelStepRunner:
    """Raises StepFailed, DeviceFailure, ModelFailed."""

    def __init__(self, performer: SentenceActions, advisor: ModelSession, sight: ScreenReader) -> None:
        self._performer = performer
        self._advisor = advisor
        self._sight = sight

    async def carry_out(self, task: ModelTask) -> ModelRun:
        acting = self._advisor.acting(task)
        guided = ModelRun()
        happened = ""
        while True:
            view = await self._sight.settled()
            move = await acting.next(view, happened)
            match move:
                case TaskDone(why):
                    happened = self._doubt(task, guided)
                    if not happened:
                        guided.summary = why
                        return guided
                case CannotContinue(why):
                    raise StepFailed(Category.GOAL_NOT_REACHED, f"the model cannot carry out this step: {why}")
                case ChosenAction():
                    self._allow_one_more(guided)
                    happened = await self._apply(view, move, guided)

    def _doubt(self, task: ModelTask, guided: ModelRun) -> str:
        """Why the model's word is not taken for it; empty when it is."""
        why = missing_work(task.intent, guided.moves)
        guided.doubts += bool(why)
        if guided.doubts > REJECTIONS_LIMIT:
            raise StepFailed(Category.GOAL_NOT_REACHED, f"the model says that this step is carried out, but {why}")
        return f"not carried out yet: {why}" if why else ""

    def _allow_one_more(self, guided: ModelRun) -> None:
        limit = self._advisor.step_actions
        if guided.tried >= limit:
            did = "; ".join(describe_action(move.answer) for move in guided.moves[-3:])
            raise StepFailed(
                Category.GOAL_NOT_REACHED,
                f"the model did not reach the aim of this step within {limit} actions; the last were: {did}",
                reason="the model did not reach the aim of this step within its actions",
            )

    async def _apply(self, view: ScreenView, answer: ChosenAction, guided: ModelRun) -> str:
        guided.tried += 1
        now = await self._sight.again()
        present = relocate(answer, view.tree, now)
        if present is None:
            return f"{describe_action(answer)}: not done, since the screen has changed there meanwhile"
        try:
            await self._performer.apply(present)
        except DeviceFailure as failed:
            if failed.category not in _REPORTED_TO_MODEL:
                raise
            return f"{describe_action(answer)} failed: {failed.message}"
        guided.moves.append(PerformedAction(now.root, present))
        return f"{describe_action(answer)}: done"


class _Stable:
    """True once the screen is what it was when it was looked at before, and shows no progress of something."""

    def __init__(self) -> None:
        self._before: object = None

    def __call__(self, outline: Outline) -> bool | None:
        now = screen_state(outline)
        same, self._before = now == self._before, now
        loading = any(element.role is Role.PROGRESS for element in outline.visible)
        return True if same and not loading else None


def describe_action(answer: ChosenAction) -> str:
    """In words, for messages: the action, and on what."""
    if answer.element is not None:
        return f"{answer.action} {answer.element.describe()}"
    if answer.point is not None:
        return f"{answer.action} at {answer.point.x:g}, {answer.point.y:g}"
    return str(answer.action)


@asynccontextmanager
async def model_time_limit(advisor: ModelSession) -> AsyncIterator[None]:
    """Bounds how long models work on one step."""
    try:
        async with asyncio.timeout(advisor.step_seconds):
            yield
    except TimeoutError as error:
        seconds = f"{advisor.step_seconds:g} s"
        raise StepFailed(Category.STEP_TIMEOUT, f"the model did not finish this step within {seconds}") from error


def model_error(failed: ModelFailed) -> StepFailed:
    return StepFailed(failed.category, f"the model could not help: {failed.message}")
