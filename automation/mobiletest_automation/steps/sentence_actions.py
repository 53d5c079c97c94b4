"""Performs what a sentence means, waiting for the elements that it needs."""

from dataclasses import replace

from mobiletest_automation.devices.gestures import scroll_until
from mobiletest_automation.devices.port import Device
from mobiletest_automation.devices.stability import wait_until_at_rest
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import (
    StepFailed,
    not_found_error,
    not_visible_error,
    still_visible_error,
)
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.doubts import doubt_about_missing, doubt_about_owner
from mobiletest_automation.sentences.grounder import ground_intent
from mobiletest_automation.sentences.grounding import Grounding, RefusalReason
from mobiletest_automation.sentences.intents import ELEMENT_CHECKS, Action, Intent, describe_mismatch
from mobiletest_automation.steps.device_actions import DeviceActions

# How long a screen on which the sentence is refused may take to become another one.
REFUSAL_SECONDS = 2.0

_REFUSALS = (RefusalReason.AMBIGUOUS, RefusalReason.NEEDS_MODEL)


class Undecided(Exception):
    """The rules have no answer on this screen: the sentence is ambiguous, or beyond them. `message` says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class SentenceActions:
    """Carries out sentences by the rules.

    Raises:
        Undecided: the rules are not certain.
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
    """

    def __init__(
        self,
        device: Device,
        watcher: Watcher,
        actions: DeviceActions,
        *,
        seconds: float,
        patience: float = REFUSAL_SECONDS,
    ) -> None:
        """`patience` is how long words that could be an instruction may take to turn out to be an element's name."""
        self._device = device
        self._watcher = watcher
        self._actions = actions
        self._seconds = seconds
        self._patience = patience
        self._last: tuple[Intent, Outline, Grounding] | None = None

    def ground(self, intent: Intent, outline: Outline) -> Grounding:
        """What the intent does on this screen; asked again about the same screen it does no work."""
        if self._last is not None and self._last[0] is intent and self._last[1] is outline:
            return self._last[2]
        grounding = ground_intent(intent, outline)
        self._last = (intent, outline, grounding)
        return grounding

    async def perform(self, intent: Intent, first: Outline | None = None) -> Grounding:
        """Perform it; the grounding says what was done. `first` is the screen, if it has just been read."""
        match intent.action:
            case Action.WAIT_FOR | Action.ASSERT_VISIBLE:
                return await self._wait_for(intent, first)
            case Action.ASSERT_NOT_VISIBLE:
                return await self._wait_until_gone(intent, first)
            case Action.SCROLL_UNTIL_VISIBLE:
                return await self._scroll_until(intent)
            case action if action in ELEMENT_CHECKS:
                return await self._wait_for_check(intent, first)
            case _ if intent.needs_screen:
                grounding = await self._wait_until_ready(intent, first)
                if grounding.action is intent.action:
                    await self._actions.act(intent, grounding.element)
                return grounding
            case _:
                await self._actions.act(intent, None)
                return Grounding(action=intent.action, value=intent.value)

    async def _wait_until_ready(self, intent: Intent, first: Outline | None) -> Grounding:
        """The element to act on, once it is there and enabled."""
        patience = self._patience if intent.whole_phrase else REFUSAL_SECONDS
        condition = _Decision(self, intent, self._device, patience, needs_enabled=intent.action is not Action.SWIPE)
        grounding = await self._watcher.until(condition, self._seconds, first)
        if grounding is not None:
            return await self._at_rest(_certain(grounding), intent)
        last = condition.last
        if last.reason in _REFUSALS:
            raise Undecided(last.message)
        if last.element is not None:
            what = last.element.describe()
            raise StepFailed(
                Category.STEP_TIMEOUT,
                f"{what} was disabled for {self._seconds:g} s",
                reason=f"{what} was disabled",
                element=last.element,
            )
        if intent.target is None:
            raise StepFailed(Category.SCRIPT_ERROR, last.message)
        raise not_found_error(str(intent.target), self._seconds, self._watcher.seen)

    async def _at_rest(self, grounding: Grounding, intent: Intent) -> Grounding:
        """With the element where it is once a list that was swiped does not move any more."""
        if grounding.element is None or not self._watcher.in_motion:
            return grounding
        self._watcher.in_motion = False
        element = await wait_until_at_rest(
            self._device, self._watcher, lambda outline: self.ground(intent, outline).element
        )
        return replace(grounding, element=element or grounding.element)

    async def _wait_for(self, intent: Intent, first: Outline | None) -> Grounding:
        seconds = self._limit(intent)
        if intent.target is None:
            await self._device.timer.sleep(seconds)
            return Grounding(action=intent.action, value=intent.value)

        def find(outline: Outline) -> Grounding | None:
            grounding = self.ground(intent, outline)
            return grounding if grounding.element is not None else None

        grounding = await self._watcher.until(find, seconds, first)
        if grounding is None:
            last = self.ground(intent, await self._screen())
            if last.reason in _REFUSALS:
                raise Undecided(last.message)
            waiting = intent.action is Action.WAIT_FOR or intent.seconds is not None
            category = Category.STEP_TIMEOUT if waiting else Category.ASSERTION_FAILED
            raise not_visible_error(str(intent.target), seconds, self._watcher.seen, category)
        return grounding

    async def _wait_until_gone(self, intent: Intent, first: Outline | None) -> Grounding:
        seconds = self._limit(intent)
        decided = await self._watcher.until(_Decision(self, intent, self._device), REFUSAL_SECONDS, first)
        _certain(decided or self.ground(intent, await self._watcher.look()))
        element = await self._watcher.until_gone(lambda outline: self.ground(intent, outline).element, seconds)
        if element is not None:
            category = Category.STEP_TIMEOUT if intent.seconds is not None else Category.ASSERTION_FAILED
            raise still_visible_error(str(intent.target), seconds, element, category)
        return _certain(self.ground(intent, await self._screen()))

    async def _screen(self) -> Outline:
        """The last screen that was read."""
        return self._watcher.seen or await self._watcher.look()

    async def _scroll_until(self, intent: Intent) -> Grounding:
        def find(outline: Outline) -> Element | None:
            return self.ground(intent, outline).element

        element = await scroll_until(self._device, self._watcher, intent.value or "down", find, self._seconds)
        if element is None:
            raise not_found_error(str(intent.target), self._seconds, self._watcher.seen)
        return Grounding(action=intent.action, element=element, value=intent.value)

    async def _wait_for_check(self, intent: Intent, first: Outline | None) -> Grounding:
        """Until the element is as the sentence says."""
        seconds = self._limit(intent)
        condition = _Decision(self, intent, self._device)
        grounding = await self._watcher.until(condition, seconds, first)
        if grounding is not None:
            return _certain(grounding)
        last = condition.last
        if last.element is None:
            screen, target = await self._screen(), intent.target
            doubt = target and (doubt_about_missing(target, screen) or doubt_about_owner(target, screen))
            if doubt:
                raise Undecided(doubt)
            raise not_found_error(str(intent.target), seconds, self._watcher.seen)
        mismatch = describe_mismatch(replace(intent, action=Action(last.action)), last.element)
        raise StepFailed(
            Category.ASSERTION_FAILED, f"{mismatch} (waited {seconds:g} s)", reason=mismatch, element=last.element
        )

    def _limit(self, intent: Intent) -> float:
        return self._seconds if intent.seconds is None else intent.seconds


def _certain(grounding: Grounding) -> Grounding:
    if grounding.action is Action.NONE:
        raise Undecided(grounding.message)
    return grounding


class _Decision:
    """The grounding on a screen, once it counts.

    A refusal counts when it has been the answer for `patience` seconds; an answer counts when its element is enabled,
    where that is needed, and as a check wants it.
    """

    def __init__(
        self,
        actions: SentenceActions,
        intent: Intent,
        device: Device,
        patience: float = REFUSAL_SECONDS,
        *,
        needs_enabled: bool = False,
    ) -> None:
        self._actions = actions
        self._intent = intent
        self._timer = device.timer
        self._patience = patience
        self._needs_enabled = needs_enabled
        self._refused_since: float | None = None
        self.last = Grounding(reason=RefusalReason.NOT_FOUND)

    def __call__(self, outline: Outline) -> Grounding | None:
        grounding = self.last = self._actions.ground(self._intent, outline)
        if grounding.reason in _REFUSALS:
            return grounding if self._refused_for_long() else None
        self._refused_since = None
        if grounding.reason is RefusalReason.NOT_FOUND:
            return None
        element = grounding.element
        if element is not None and self._needs_enabled and not element.enabled:
            return None
        check = ELEMENT_CHECKS.get(grounding.action)
        if element is not None and check is not None and not check(self._intent, element):
            return None
        return grounding

    def _refused_for_long(self) -> bool:
        now = self._timer.now()
        self._refused_since = now if self._refused_since is None else self._refused_since
        return now - self._refused_since >= self._patience
