"""Performs actions on a device at once, without waiting for what they need."""

from mobiletest_automation.devices.gestures import scroll, scroll_to_end, swipe
from mobiletest_automation.devices.port import Device, LaunchOptions
from mobiletest_automation.devices.stability import wait_until_at_rest
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.keyboard import Keyboard
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed, still_visible_error
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element, Point
from mobiletest_automation.screen.locators import locate, locator_of
from mobiletest_automation.sentences.intents import ELEMENT_CHECKS, Action, Intent, describe_mismatch

LONG_PRESS_SECONDS = 1.0


class DeviceActions:
    """Performs on the device what a sentence or a model has chosen.

    Raises:
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
    """

    def __init__(self, device: Device, watcher: Watcher, keyboard: Keyboard, app_name: str = "") -> None:
        """`app_name` is what sentences may call the app under test."""
        self._device = device
        self._keyboard = keyboard
        self._watcher = watcher
        self._app_name = app_name

    async def perform(self, chosen: ChosenAction) -> None:
        """The action, or the check, that a model or the step cache chose."""
        intent, element = Intent(action=chosen.action, value=chosen.value), chosen.element
        check = ELEMENT_CHECKS.get(chosen.action)
        if check is not None:
            if element is None or not check(intent, element):
                what = describe_mismatch(intent, element) if element is not None else "the element is not there"
                raise StepFailed(Category.ASSERTION_FAILED, what, element=element)
        elif chosen.action is Action.WAIT_FOR and element is None and chosen.value:
            await self._device.timer.sleep(float(chosen.value))
        elif chosen.action in (Action.ASSERT_VISIBLE, Action.WAIT_FOR, Action.SCROLL_UNTIL_VISIBLE):
            if element is None:
                raise StepFailed(Category.ASSERTION_FAILED, "the element that must be visible is not there")
        elif chosen.action is Action.ASSERT_NOT_VISIBLE:
            if element is not None:
                raise still_visible_error("what must not be visible", 0, element, Category.ASSERTION_FAILED)
        elif chosen.point is not None and element is None:
            await self._act_at(intent, chosen.point)
        else:
            await self.act(intent, await self._at_rest(element) if element is not None else None)

    async def _at_rest(self, element: Element) -> Element:
        """The element where it is once a list that was swiped does not move any more."""
        watcher = self._watcher
        if not watcher.in_motion or watcher.seen is None:
            return element
        watcher.in_motion = False
        locator = locator_of(element, watcher.seen, "", exact=True)
        if locator is None:
            return element
        return await wait_until_at_rest(self._device, watcher, lambda outline: locate(locator, outline)) or element

    async def act(self, intent: Intent, element: Element | None) -> None:
        """The action on this element, or on the device if there is none."""
        device, value = self._device, intent.value
        match intent.action, element:
            case Action.TAP, Element():
                await device.view.tap(element)
            case Action.DOUBLE_TAP, Element():
                await device.view.tap(element, times=2)
            case Action.LONG_PRESS, Element():
                await device.view.long_press(element, intent.seconds or LONG_PRESS_SECONDS)
            case Action.TYPE, _:
                if intent.replaces:
                    await device.view.clear(element)
                await self._keyboard.type(value or "", element, cleared=intent.replaces)
            case Action.CLEAR, _:
                await device.view.clear(element)
            case Action.SWIPE, _:
                middle = element.bounds.center if element is not None else None
                await swipe(device, self._watcher, value or "up", start=middle)
            case Action.SCROLL, _:
                await self._scroll(value or "down")
            case _:
                await self._act_on_device(intent)

    async def _act_at(self, intent: Intent, point: Point) -> None:
        """The action at a point of the screen; a field is tapped before typing."""
        device = self._device
        match intent.action:
            case Action.TAP:
                await device.view.tap(point)
            case Action.DOUBLE_TAP:
                await device.view.tap(point, times=2)
            case Action.LONG_PRESS:
                await device.view.long_press(point, LONG_PRESS_SECONDS)
            case Action.TYPE | Action.CLEAR:
                await device.view.tap(point)
                await self.act(intent, None)
            case Action.SWIPE:
                await swipe(device, self._watcher, intent.value or "up", start=point)
            case _:
                await self.act(intent, None)

    async def _act_on_device(self, intent: Intent) -> None:
        device, value = self._device, intent.value or ""
        match intent.action:
            case Action.BACK:
                await device.view.back()
            case Action.PRESS_KEY:
                await device.view.press_key(value)
            case Action.HIDE_KEYBOARD:
                self._watcher.in_motion = True
                await device.view.hide_keyboard()
            case Action.OPEN_LINK:
                await device.app.open_link(value)
            case Action.LAUNCH_APP:
                self._watcher.in_motion = False
                await device.app.launch(LaunchOptions(app_id=self._app_id(value)))
            case Action.STOP_APP:
                await device.app.stop(self._app_id(value))
            case _:
                raise StepFailed(Category.SCRIPT_ERROR, f'"{intent.action}" is not supported on this device')

    def _app_id(self, name: str) -> str | None:
        """None for the app under test; other apps are named by their ids."""
        if not name or name.casefold() == self._app_name.casefold():
            return None
        if "." in name:
            return name
        raise StepFailed(
            Category.SCRIPT_ERROR,
            f'unknown app "{name}": give its bundle or package id (the app under test is {self._app_name})',
        )

    async def _scroll(self, direction: str) -> None:
        ends = {"bottom": "down", "top": "up"}
        if direction in ends:
            await scroll_to_end(self._device, self._watcher, ends[direction])
        else:
            await scroll(self._device, self._watcher, direction)
