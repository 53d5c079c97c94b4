"""The native screen of a phone: elements from the driver's page source, acted on by touch."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from mobiletest_automation.devices.port import NO_FOCUS, DeviceFailure, PageSource, script_error
from mobiletest_automation.devices.webdriver import actions
from mobiletest_automation.devices.webdriver.device import DriverView, check_nothing
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outside_texts import readable_xml
from mobiletest_automation.screen.elements import NOWHERE, Bounds, Element, Point
from mobiletest_automation.screen.page_source.nodes import SourceError, SourceTooLarge
from mobiletest_automation.screen.page_source.reader import read_source

FOCUSED_WITHIN_SECONDS = 3.0
_PAUSE_SECONDS = 0.1


def read_tree(source: str, platform: str) -> Element:
    """The elements of a driver's page source; `platform` is Android or iOS.

    script_error if the app shows too much, which another attempt does not change.
    """
    try:
        return _read(source, platform)
    except SourceTooLarge as error:
        raise script_error(f"the screen is too large to be read: {error}") from error
    except SourceError as error:
        raise DeviceFailure(Category.DEVICE_UNAVAILABLE, f"the driver's page source cannot be read: {error}") from error


def _read(source: str, platform: str) -> Element:
    """Drivers write what an app shows, also characters that XML cannot hold."""
    try:
        return read_source(source, platform)
    except SourceError:
        readable = readable_xml(source)
        if readable == source:
            raise
        return read_source(readable, platform)


class NativeView(DriverView):
    """For UiAutomator2 and XCUITest. A tap goes to the middle of the visible part of an element."""

    def __init__(
        self,
        driver: DriverSession,
        phone: PhoneCommands,
        check_app: Callable[[], Awaitable[None]] = check_nothing,
        *,
        patience: float = FOCUSED_WITHIN_SECONDS,
    ) -> None:
        """`patience` is how long a focus may take."""
        super().__init__(driver, check_app)
        self._phone = phone
        self._patience = patience
        # The bounds of the last tree.
        self._seen = NOWHERE
        self._typed_into: str | None = None

    async def _read_tree(self, css: frozenset[str]) -> Element:
        root = read_tree(await self._driver.source(), self._phone.platform)
        self._seen = root.bounds
        return root

    async def _measure_screen(self) -> Bounds:
        window = await self._driver.window()
        return Bounds(0, 0, window.width, window.height)

    async def source(self) -> PageSource:
        return PageSource(await self._driver.source())

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        await self._driver.perform(actions.tap(self._at(target), times=times))

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        await self._driver.perform(actions.long_press(self._at(target), seconds), lasting=seconds)

    async def type(self, text: str, target: Element | None = None) -> None:
        self._typed_into = await self._field(target)
        await self._driver.send_keys(self._typed_into, text)

    async def field_text(self, *, focused: bool = False) -> str | None:
        field = self._typed_into
        if field is None:
            return None
        try:
            if focused and not await self._has_focus(field):
                return None
            return await self._driver.text(field)
        except DriverError as error:
            if error.category is Category.SESSION_LOST:
                raise
            return None  # the screen with the field is gone

    async def _has_focus(self, field: str) -> bool:
        """Drivers may know an element by several ids."""
        active = await self._focused()
        if active is None or active == field:
            return active is not None
        return await self._driver.rect(active) == await self._driver.rect(field)

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        field = await self._field(target)
        if characters is None:
            await self._driver.clear(field)
        else:
            await self._phone.erase(field, characters)

    async def back(self) -> None:
        await self._driver.back()

    async def press_key(self, key: str) -> None:
        await self._phone.press_key(key)

    async def hide_keyboard(self) -> None:
        if not await self._driver.mobile("isKeyboardShown"):
            return
        await self._driver.mobile("hideKeyboard")
        deadline = monotonic() + self._patience
        while await self._driver.mobile("isKeyboardShown"):
            if monotonic() >= deadline:
                raise script_error("the keyboard cannot be hidden: tap outside of the field, or on its done key")
            await asyncio.sleep(_PAUSE_SECONDS)

    def _at(self, target: Element | Point) -> Point:
        if isinstance(target, Point):
            return target
        middle = target.bounds.middle_within(target.bounds if self._seen == NOWHERE else self._seen)
        if middle is None:
            message = f"{target.describe()} is not on the screen and was not tapped"
            raise DeviceFailure(Category.ELEMENT_NOT_FOUND, message)
        return middle

    async def _field(self, target: Element | None) -> str:
        """The focused field; a target is tapped first, and waited for until it has the focus."""
        if target is None or target.focused:
            if (field := await self._focused()) is None:
                raise script_error(NO_FOCUS)
            return field
        before = await self._focused()
        place = await self._driver.rect(before) if before is not None else None
        await self.tap(target)
        deadline = monotonic() + self._patience
        while (field := await self._field_at(target, place)) is None:
            if monotonic() >= deadline:
                raise script_error(f"{NO_FOCUS} after a tap on {target.describe()}")
            await asyncio.sleep(_PAUSE_SECONDS)
        return field

    async def _field_at(self, target: Element, before: Bounds | None) -> str | None:
        """The focused field, if it is at the target, or not where it was before: a keyboard may move everything."""
        field = await self._focused()
        if field is None:
            return None
        now = await self._driver.rect(field)
        there = now.intersection(target.bounds) is not None
        return field if there or now != before else None

    async def _focused(self) -> str | None:
        try:
            return await self._driver.active()
        except DriverError as error:
            if error.category is not Category.ELEMENT_NOT_FOUND:
                raise
            return None
