"""Appium's fake driver, whose app is an XML file: for tests with a real hub."""

from collections.abc import Mapping

from mobiletest_automation.devices.port import (
    LAUNCH,
    NO_FOCUS,
    Build,
    DeviceFailure,
    LaunchOptions,
    LinkTarget,
    PageSource,
    script_error,
)
from mobiletest_automation.devices.webdriver import actions
from mobiletest_automation.devices.webdriver.device import DriverView
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.native_view import read_tree
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Bounds, Element, Point, walk


class FakeApp:
    """The app is loaded with the session; it cannot be started or stopped."""

    def __init__(self, driver: DriverSession) -> None:
        self._driver = driver

    async def install(self, build: Build) -> None:
        return None

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        return None

    async def stop(self, app_id: str | None = None) -> None:
        return None

    async def kill(self, app_id: str | None = None) -> None:
        return None

    async def clear_state(self, app_id: str | None = None) -> None:
        return None

    async def clear_keychain(self) -> None:
        return None

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        raise script_error("the fake driver has no permissions")

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        raise script_error("the fake driver cannot open links")

    async def is_mode_on(self, mode: Mode) -> bool:
        raise script_error(f"the fake driver has no {mode.words}")

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        raise script_error(f"the fake driver has no {mode.words}")

    async def add_media(self, name: str, content: bytes) -> None:
        raise script_error("the fake driver has no gallery")

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.set_location(latitude, longitude)

    async def set_orientation(self, orientation: Orientation) -> None:
        await self._driver.set_orientation("landscape" if orientation.startswith("landscape") else "portrait")


class FakeView(DriverView):
    """Acts on elements by the driver's own ids, found by their attributes: its pointer actions have no effect."""

    def __init__(self, driver: DriverSession) -> None:
        super().__init__(driver)
        self._tree: Element | None = None
        self._focus = ""

    async def _read_tree(self, css: frozenset[str]) -> Element:
        self._tree = read_tree(await self._driver.source())
        return self._tree

    async def _measure_screen(self) -> Bounds:
        return (await self._read_tree(frozenset())).bounds

    async def source(self) -> PageSource:
        return PageSource(await self._driver.source())

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        if isinstance(target, Point):
            await self._driver.perform(actions.tap(target, times=times))
            return
        element_id = await self._driver_id(target)
        for _ in range(times):
            await self._driver.click(element_id)
        self._focus = element_id

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        point = target if isinstance(target, Point) else target.bounds.center
        await self._driver.perform(actions.long_press(point, seconds), lasting=seconds)

    async def type(self, text: str, target: Element | None = None) -> None:
        await self._driver.send_keys(await self._focused(target), text)

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        element_id = await self._focused(target)
        if characters is None:
            await self._driver.clear(element_id)
        else:
            text = await self._driver.text(element_id)
            await self._driver.send_keys(element_id, text[: max(len(text) - characters, 0)])

    async def back(self) -> None:
        await self._driver.back()

    async def press_key(self, key: str) -> None:
        raise script_error("the fake driver has no keys")

    async def hide_keyboard(self) -> None:
        return None

    async def _focused(self, target: Element | None) -> str:
        """The driver's id of the element, or of the one that was tapped last."""
        if target is not None:
            self._focus = await self._driver_id(target)
        if not self._focus:
            raise script_error(NO_FOCUS)
        return self._focus

    async def _driver_id(self, target: Element) -> str:
        """The driver's id of the element: of those with the same attributes, the one at the same position."""
        alike = [each for each in walk(self._tree or target) if dict(each.attributes) == dict(target.attributes)]
        place = next((number for number, each in enumerate(alike) if each is target), 0)
        element_ids = await self._driver.find_all("xpath", _locator(target))
        if place >= len(element_ids):
            raise DeviceFailure(Category.ELEMENT_NOT_FOUND, f"{target.describe()} is no longer on the screen")
        return element_ids[place]


def _locator(target: Element) -> str:
    said = [f"@{name}={_literal(value)}" for name, value in target.attributes.items() if name.isidentifier()]
    return f"//*[{' and '.join(said)}]" if said else "//*[not(@*)]"


def _literal(value: str) -> str:
    """A string literal of XPath 1.0, which has no escapes."""
    if '"' not in value:
        return f'"{value}"'
    parts = ", '\"', ".join(f'"{part}"' for part in value.split('"'))
    return f"concat({parts})"
