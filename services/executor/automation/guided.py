"""Carries out a task by what a model says, action by action, looking at the screen after each."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from services.executor.automation.aiming import aimed, impression
from services.executor.automation.devices import Device, DeviceFailure
from services.executor.automation.elements import Role
from services.executor.automation.failing import StepFailed
from services.executor.automation.lacking import Move, lacking
from services.executor.automation.performing import Performer
from services.executor.automation.ports import Advisor, Answer, Cannot, Done, ModelFailed, Task, View
from services.executor.automation.sentences.matching import Outline
from services.executor.automation.watching import Watcher
from services.executor.model.failures import Category

SETTLED_SECONDS = 2.0
"""How long a screen gets to come to rest before it is shown to a model."""

DOUBTS_LIMIT = 2
"""How often a model hears that a step is not done when it says so."""

_TOLD = frozenset({Category.SCRIPT_ERROR, Category.ELEMENT_NOT_FOUND})
"""What a device refuses and a model may mend: an unknown key, an element that has just gone."""


@dataclass(slots=True)
class Guided:
    """What was done, how many actions were tried for it, how often it was not what the step says, and how the model
    summed it up.
    """

    moves: list[Move] = field(default_factory=list)
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
        return "; ".join(described(move.answer) for move in self.moves) if len(self.moves) > 1 else ""


class Sight:
    """The screen as models get to see it."""

    def __init__(self, device: Device, watcher: Watcher, *, pictures: bool) -> None:
        self._device = device
        self._watcher = watcher
        self._pictures = pictures

    async def settled(self) -> View:
        """The screen once it is the same twice in a row, or has had its time."""
        await self._watcher.until(_Still(), SETTLED_SECONDS)
        return await self.now()

    async def again(self) -> Outline:
        """The screen this very moment."""
        return await self._watcher.look()

    async def now(self) -> View:
        """The screen as it was looked at last, with its picture if models get to see pictures."""
        seen = self._watcher.seen or await self._watcher.look()
        return View(seen.root, await self._device.screenshot() if self._pictures else None)


class Guide:
    """Raises StepFailed, DeviceFailure, ModelFailed."""

    def __init__(self, performer: Performer, advisor: Advisor, sight: Sight) -> None:
        self._performer = performer
        self._advisor = advisor
        self._sight = sight

    async def carry_out(self, task: Task) -> Guided:
        acting = self._advisor.acting(task)
        guided = Guided()
        happened = ""
        while True:
            view = await self._sight.settled()
            move = await acting.next(view, happened)
            match move:
                case Done(why):
                    happened = self._doubt(task, guided)
                    if not happened:
                        guided.summary = why
                        return guided
                case Cannot(why):
                    raise StepFailed(Category.GOAL_NOT_REACHED, f"the model cannot carry out this step: {why}")
                case Answer():
                    self._allow_one_more(guided)
                    happened = await self._apply(view, move, guided)

    def _doubt(self, task: Task, guided: Guided) -> str:
        """Why the model's word is not taken for it; empty when it is."""
        why = lacking(task.intent, guided.moves)
        guided.doubts += bool(why)
        if guided.doubts > DOUBTS_LIMIT:
            raise StepFailed(Category.GOAL_NOT_REACHED, f"the model says that this step is carried out, but {why}")
        return f"not carried out yet: {why}" if why else ""

    def _allow_one_more(self, guided: Guided) -> None:
        limit = self._advisor.step_actions
        if guided.tried >= limit:
            did = "; ".join(described(move.answer) for move in guided.moves[-3:])
            raise StepFailed(
                Category.GOAL_NOT_REACHED,
                f"the model did not reach the aim of this step within {limit} actions; the last were: {did}",
                reason="the model did not reach the aim of this step within its actions",
            )

    async def _apply(self, view: View, answer: Answer, guided: Guided) -> str:
        guided.tried += 1
        now = await self._sight.again()
        present = aimed(answer, view.tree, now)
        if present is None:
            return f"{described(answer)}: not done, since the screen has changed there meanwhile"
        try:
            await self._performer.apply(present)
        except DeviceFailure as failed:
            if failed.category not in _TOLD:
                raise
            return f"{described(answer)} failed: {failed.message}"
        guided.moves.append(Move(now.root, present))
        return f"{described(answer)}: done"


class _Still:
    """True once the screen is what it was when it was looked at before, and shows no progress of something."""

    def __init__(self) -> None:
        self._before: object = None

    def __call__(self, outline: Outline) -> bool | None:
        now = impression(outline)
        same, self._before = now == self._before, now
        loading = any(element.role is Role.PROGRESS for element in outline.visible)
        return True if same and not loading else None


def described(answer: Answer) -> str:
    """In words, for messages: the action, and on what."""
    if answer.element is not None:
        return f"{answer.action} {answer.element.describe()}"
    if answer.point is not None:
        return f"{answer.action} at {answer.point.x:g}, {answer.point.y:g}"
    return str(answer.action)


@asynccontextmanager
async def in_time(advisor: Advisor) -> AsyncIterator[None]:
    """Bounds how long models work on one step."""
    try:
        async with asyncio.timeout(advisor.step_seconds):
            yield
    except TimeoutError as error:
        seconds = f"{advisor.step_seconds:g} s"
        raise StepFailed(Category.STEP_TIMEOUT, f"the model did not finish this step within {seconds}") from error


def helpless(failed: ModelFailed) -> StepFailed:
    return StepFailed(failed.category, f"the model could not help: {failed.message}")
