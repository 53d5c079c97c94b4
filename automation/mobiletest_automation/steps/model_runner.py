"""Carries out a sentence by what a model says, action by action, reading the screen before each.

Screens change while a model thinks: each action is relocated to the present screen first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.model_ports import CannotContinue, ModelSession, ModelTask, ScreenView, TaskDone
from mobiletest_automation.outcome import StepFailed, StepOutcome
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element, Point, walk
from mobiletest_automation.screen.fingerprint import screen_state
from mobiletest_automation.screen.locators import locate, locator_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounder import ground_sentence
from mobiletest_automation.sentences.intents import ELEMENT_CHECKS, Action, Intent, is_as_said
from mobiletest_automation.steps.device_actions import DeviceActions
from mobiletest_automation.steps.screen_reader import ScreenReader

# How often a model may say that a step is done while the rules know that it is not.
REJECTIONS_LIMIT = 2

# Failures of a device that a model may work around: an unknown key, an element that has just gone.
_REPORTED_TO_MODEL = frozenset({Category.SCRIPT_ERROR, Category.ELEMENT_NOT_FOUND})

# Actions that a screen cannot show to have been done already: a step that names one has to do something.
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


@dataclass(frozen=True, slots=True)
class PerformedAction:
    """An action that was performed, and the screen before it."""

    tree: Element
    chosen: ChosenAction


@dataclass(slots=True)
class ModelRun:
    """What was done for one task; `tried` counts failed actions too, `summary` is the model's own."""

    actions: list[PerformedAction] = field(default_factory=list)
    tried: int = 0
    rejections: int = 0
    summary: str = ""

    @property
    def all_worked(self) -> bool:
        """Whether every action that was tried worked."""
        return self.tried == len(self.actions)

    @property
    def outcome(self) -> StepOutcome:
        last = self.actions[-1].chosen if self.actions else ChosenAction(Action.NONE)
        return StepOutcome(action=last.action, resolution=Resolution.MODEL, element=last.element, message=self._message)

    @property
    def _message(self) -> str:
        if not self.actions:
            return f"nothing had to be done: {self.summary}" if self.summary else "nothing had to be done"
        return "; ".join(describe_action(each.chosen) for each in self.actions) if len(self.actions) > 1 else ""


class ModelStepRunner:
    """Carries out sentences as a model says.

    Raises:
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
        ModelFailed: the model cannot be asked, or its reply cannot be used.
    """

    def __init__(self, actions: DeviceActions, session: ModelSession, screen: ScreenReader) -> None:
        self._actions = actions
        self._session = session
        self._screen = screen

    async def run(self, task: ModelTask) -> ModelRun:
        dialog = self._session.start_task(task)
        run = ModelRun()
        happened = ""
        while True:
            view = await self._screen.settled()
            answer = await dialog.next(view, happened)
            match answer:
                case TaskDone(why):
                    happened = self._reject(task, run)
                    if not happened:
                        run.summary = why
                        return run
                case CannotContinue(why):
                    raise StepFailed(Category.GOAL_NOT_REACHED, f"the model cannot carry out this step: {why}")
                case ChosenAction():
                    self._check_limit(run)
                    happened = await self._perform(view, answer, run)

    def _reject(self, task: ModelTask, run: ModelRun) -> str:
        """Why the task is not done although the model says so; empty if nothing speaks against it."""
        why = missing_work(task.intent, run.actions)
        run.rejections += bool(why)
        if run.rejections > REJECTIONS_LIMIT:
            raise StepFailed(Category.GOAL_NOT_REACHED, f"the model says that this step is done, but {why}")
        return f"not done yet: {why}" if why else ""

    def _check_limit(self, run: ModelRun) -> None:
        limit = self._session.step_actions
        if run.tried >= limit:
            last = "; ".join(describe_action(each.chosen) for each in run.actions[-3:])
            raise StepFailed(
                Category.GOAL_NOT_REACHED,
                f"the model did not finish this step within {limit} actions; the last were: {last}",
                reason="the model did not finish this step within its actions",
            )

    async def _perform(self, view: ScreenView, chosen: ChosenAction, run: ModelRun) -> str:
        run.tried += 1
        now = await self._screen.read()
        present = relocate(chosen, view.tree, now)
        if present is None:
            return f"{describe_action(chosen)}: not done, because that part of the screen has changed"
        try:
            await self._actions.perform(present)
        except DeviceFailure as failed:
            if failed.category not in _REPORTED_TO_MODEL:
                raise
            return f"{describe_action(chosen)} failed: {failed.message}"
        run.actions.append(PerformedAction(now.root, present))
        return f"{describe_action(chosen)}: done"


def missing_work(intent: Intent | None, performed: Sequence[PerformedAction]) -> str:
    """What a model has left out of a sentence that the rules understand; empty if nothing is known to be missing."""
    if intent is None:
        return ""
    actions = [each.chosen for each in performed]
    if intent.action in ELEMENT_CHECKS:
        checked = any(_is_checked_by(intent, each) for each in actions)
        return "" if checked else "no element was checked that is as the step says"
    if intent.action is Action.ASSERT_NOT_VISIBLE and intent.target is not None and intent.target.quoted:
        name = intent.target.name.casefold()
        absent = [each.value or "" for each in actions if each.action is Action.ASSERT_NOT_VISIBLE]
        checked = any(name in each.casefold() for each in absent)
        return "" if checked else "it was not checked that the text is not there"
    waited_only = all(each.action is Action.WAIT_FOR for each in actions)
    if intent.action in _CHANGING_ACTIONS and intent.checked is None and waited_only:
        return "nothing was done, and the step says what to do"
    return ""


def _is_checked_by(intent: Intent, chosen: ChosenAction) -> bool:
    """Whether the model checked an element that is as the sentence says."""
    is_check = chosen.action is Action.ASSERT_VISIBLE or chosen.action in ELEMENT_CHECKS
    return is_check and chosen.element is not None and is_as_said(intent, chosen.element)


def describe_action(chosen: ChosenAction) -> str:
    """The action, and on what, for messages."""
    if chosen.element is not None:
        return f"{chosen.action} {chosen.element.describe()}"
    if chosen.point is not None:
        return f"{chosen.action} at {chosen.point.x:g}, {chosen.point.y:g}"
    return str(chosen.action)


def relocate(chosen: ChosenAction, before: Element, now: Outline) -> ChosenAction | None:
    """The same action on the present screen; None if its element or place is not certain to be there."""
    then = Outline(before)
    unchanged = screen_state(then) == screen_state(now)
    if chosen.action is Action.ASSERT_NOT_VISIBLE:
        return chosen if unchanged else _still_absent(chosen, now)
    if chosen.element is not None:
        element = _same_position(chosen.element, then, now) if unchanged else _locate_again(chosen.element, then, now)
        return replace(chosen, element=element) if element is not None else None
    if chosen.point is not None and not unchanged:
        return chosen if _elements_at(chosen.point, then) == _elements_at(chosen.point, now) else None
    return chosen


def _same_position(element: Element, then: Outline, now: Outline) -> Element | None:
    """The corresponding element of an equal screen."""
    return next((new for old, new in zip(walk(then.root), walk(now.root), strict=True) if old is element), None)


def _locate_again(element: Element, then: Outline, now: Outline) -> Element | None:
    locator = locator_of(element, then, "", exact=True)
    return locate(locator, now) if locator is not None else None


def _still_absent(chosen: ChosenAction, now: Outline) -> ChosenAction | None:
    grounding = ground_sentence(f'I do not see "{chosen.value}"', now.root)
    return replace(chosen, element=grounding.element) if grounding.action is Action.ASSERT_NOT_VISIBLE else None


def _elements_at(point: Point, outline: Outline) -> list[tuple[object, ...]]:
    """The elements at this point."""
    return [(each.role, each.text, each.label, each.bounds) for each in outline.visible if each.bounds.contains(point)]
