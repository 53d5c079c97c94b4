"""Carries out what a sentence means, waiting for what it needs."""

from collections.abc import Callable

from services.executor.automation.devices.gestures import scroll, scroll_to_end, scroll_until, swipe
from services.executor.automation.devices.port import Device
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.outcome import StepFailed, not_found_error, not_visible_error, still_visible_error
from services.executor.automation.ports import ChosenAction
from services.executor.automation.screen.elements import Bounds, Element, Point
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.element_checks import (
    ELEMENT_CHECKS,
    SETTLE_SECONDS,
    GroundingCondition,
    describe_mismatch,
)
from services.executor.automation.sentences.grounder import Grounding, RefusalReason, ground_intent
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.model.failures import Category

LONG_PRESS_SECONDS = 1.0


class Undecided(Exception):
    """The rules have no answer on this screen: ambiguous, or beyond them. `message` says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class SentenceActions:
    """Raises Undecided, StepFailed, DeviceFailure."""

    def __init__(
        self, device: Device, watcher: Watcher, *, app_name: str, seconds: float, patience: float = SETTLE_SECONDS
    ) -> None:
        """`patience` is how long words that may mean several things get to turn out to be a mere name."""
        self._device = device
        self._watcher = watcher
        self._app_name = app_name
        self._seconds = seconds
        self._patience = patience

    async def perform(self, intent: Intent) -> Grounding:
        """Do it; what was done comes back."""
        match intent.action:
            case Action.WAIT_FOR | Action.ASSERT_VISIBLE:
                return await self._wait_for(intent)
            case Action.ASSERT_NOT_VISIBLE:
                return await self._wait_until_gone(intent)
            case Action.SCROLL_UNTIL_VISIBLE:
                return await self._scroll_until(intent)
            case action if action in ELEMENT_CHECKS:
                return await self._wait_until_so(intent)
            case _ if intent.target is not None or intent.action in (Action.TYPE, Action.CLEAR):
                grounding = await self._ready(intent)
                if grounding.action is intent.action:
                    await self.act(intent, grounding.element)
                return grounding
            case _:
                await self.act(intent, None)
                return Grounding(action=intent.action, value=intent.value)

    async def apply(self, answer: ChosenAction) -> None:
        """What somebody else decided: the action, or the check, on this element as it is now, or at this point."""
        intent, element = Intent(action=answer.action, value=answer.value), answer.element
        check = ELEMENT_CHECKS.get(answer.action)
        if check is not None:
            if element is None or not check(intent, element):
                what = describe_mismatch(intent, element) if element is not None else "the element is not there"
                raise StepFailed(Category.ASSERTION_FAILED, what, element=element)
        elif answer.action is Action.WAIT_FOR and element is None and answer.value:
            await self._device.timer.sleep(float(answer.value))
        elif answer.action in (Action.ASSERT_VISIBLE, Action.WAIT_FOR, Action.SCROLL_UNTIL_VISIBLE):
            if element is None:
                raise StepFailed(Category.ASSERTION_FAILED, "what is to be seen is not there")
        elif answer.action is Action.ASSERT_NOT_VISIBLE:
            if element is not None:
                raise still_visible_error("what is not to be seen", 0, element, Category.ASSERTION_FAILED)
        elif answer.point is not None and element is None:
            await self._at(intent, answer.point)
        else:
            await self.act(intent, element)

    async def _at(self, intent: Intent, point: Point) -> None:
        """The action at a point of the screen; a field is typed into by tapping it first."""
        device = self._device
        match intent.action:
            case Action.TAP:
                await device.tap(point)
            case Action.DOUBLE_TAP:
                await device.double_tap(point)
            case Action.LONG_PRESS:
                await device.long_press(point, LONG_PRESS_SECONDS)
            case Action.TYPE | Action.CLEAR:
                await device.tap(point)
                await self.act(intent, None)
            case Action.SWIPE:
                await swipe(device, intent.value or "up", source=Element(bounds=Bounds(point.x, point.y, 0, 0)))
            case _:
                await self.act(intent, None)

    async def act(self, intent: Intent, element: Element | None) -> None:
        """The action itself, now, on this element."""
        device, value = self._device, intent.value
        match intent.action, element:
            case Action.TAP, Element():
                await device.tap(element)
            case Action.DOUBLE_TAP, Element():
                await device.double_tap(element)
            case Action.LONG_PRESS, Element():
                await device.long_press(element, intent.seconds or LONG_PRESS_SECONDS)
            case Action.TYPE, _:
                if intent.replaces:
                    await device.clear(element)
                await device.type(value or "", element)
            case Action.CLEAR, _:
                await device.clear(element)
            case Action.SWIPE, _:
                await swipe(device, value or "up", source=element)
            case Action.SCROLL, _:
                await self._scroll(value or "down")
            case _:
                await self._plain(intent)

    async def _plain(self, intent: Intent) -> None:
        device, value = self._device, intent.value or ""
        match intent.action:
            case Action.BACK:
                await device.back()
            case Action.PRESS_KEY:
                await device.press_key(value)
            case Action.HIDE_KEYBOARD:
                await device.hide_keyboard()
            case Action.OPEN_LINK:
                await device.open_link(value)
            case Action.LAUNCH_APP:
                await device.launch(self._app_id(value))
            case Action.STOP_APP:
                await device.stop(self._app_id(value))
            case _:
                raise StepFailed(Category.SCRIPT_ERROR, f"{intent.action} is nothing that can be done here")

    def _app_id(self, name: str) -> str | None:
        """None for the app under test, which may also be called by its name; other apps are called by their ids."""
        if not name or name.casefold() == self._app_name.casefold():
            return None
        if "." in name:
            return name
        raise StepFailed(
            Category.SCRIPT_ERROR,
            f'which app "{name}" is, is not known: the app under test is {self._app_name}; say an id',
        )

    async def _scroll(self, direction: str) -> None:
        ends = {"bottom": "down", "top": "up"}
        if direction in ends:
            await scroll_to_end(self._device, self._watcher, ends[direction])
        else:
            await scroll(self._device, direction)

    async def _ready(self, intent: Intent) -> Grounding:
        """The element to act on, once it is there and enabled."""
        patience = self._patience if intent.whole_phrase else SETTLE_SECONDS
        decided = GroundingCondition(intent, self._device, patience, needs_enabled=intent.action is not Action.SWIPE)
        grounding = await self._watcher.until(decided, self._seconds)
        if grounding is not None:
            return self._certain(grounding)
        last = decided.last
        if last is not None and last.reason in (RefusalReason.AMBIGUOUS, RefusalReason.NEEDS_MODEL):
            raise Undecided(last.message)
        if last is not None and last.element is not None:
            what = last.element.describe()
            raise StepFailed(
                Category.STEP_TIMEOUT,
                f"{what} was disabled for {self._seconds:g} s",
                reason=f"{what} was disabled",
                element=last.element,
            )
        if intent.target is None:
            raise StepFailed(Category.SCRIPT_ERROR, last.message if last else "no field has the focus")
        raise not_found_error(str(intent.target), self._seconds, self._watcher.seen)

    def _certain(self, grounding: Grounding) -> Grounding:
        if grounding.action is Action.NONE:
            raise Undecided(grounding.message)
        return grounding

    async def _wait_for(self, intent: Intent) -> Grounding:
        seconds = self._seconds if intent.seconds is None else intent.seconds
        if intent.target is None:
            await self._device.timer.sleep(seconds)
            return Grounding(action=intent.action, value=intent.value)
        grounding = await self._watcher.until(_found(intent), seconds)
        if grounding is None:
            waiting = intent.action is Action.WAIT_FOR or intent.seconds is not None
            category = Category.STEP_TIMEOUT if waiting else Category.ASSERTION_FAILED
            raise not_visible_error(str(intent.target), seconds, self._watcher.seen, category)
        return grounding

    async def _wait_until_gone(self, intent: Intent) -> Grounding:
        seconds = self._seconds if intent.seconds is None else intent.seconds
        first = await self._watcher.until(GroundingCondition(intent, self._device), SETTLE_SECONDS)
        self._certain(first or ground_intent(intent, await self._watcher.look()))
        present = _present(intent)
        element = await self._watcher.until_gone(present, seconds)
        if element is not None:
            category = Category.STEP_TIMEOUT if intent.seconds is not None else Category.ASSERTION_FAILED
            raise still_visible_error(str(intent.target), seconds, element, category)
        return self._certain(ground_intent(intent, self._watcher.seen or await self._watcher.look()))

    async def _scroll_until(self, intent: Intent) -> Grounding:
        def found(outline: Outline) -> Element | None:
            return ground_intent(intent, outline).element

        element = await scroll_until(self._device, self._watcher, intent.value or "down", found, self._seconds)
        if element is None:
            raise not_found_error(str(intent.target), self._seconds, self._watcher.seen)
        return Grounding(action=intent.action, element=element, value=intent.value)

    async def _wait_until_so(self, intent: Intent) -> Grounding:
        """For checks of how an element is."""
        seconds = self._seconds if intent.seconds is None else intent.seconds
        decided = GroundingCondition(intent, self._device, holds=ELEMENT_CHECKS[intent.action])
        grounding = await self._watcher.until(decided, seconds)
        if grounding is not None:
            return self._certain(grounding)
        last = decided.last
        if last is None or last.element is None:
            raise not_found_error(str(intent.target), seconds, self._watcher.seen)
        raise StepFailed(
            Category.ASSERTION_FAILED,
            f"{describe_mismatch(intent, last.element)} (waited {seconds:g} s)",
            reason=describe_mismatch(intent, last.element),
            element=last.element,
        )


def _found(intent: Intent) -> Callable[[Outline], Grounding | None]:
    def found(outline: Outline) -> Grounding | None:
        grounding = ground_intent(intent, outline)
        return grounding if grounding.element is not None else None

    return found


def _present(intent: Intent) -> Callable[[Outline], Element | None]:
    return lambda outline: ground_intent(intent, outline).element
