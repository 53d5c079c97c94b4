"""The parts of a WebDriver device: control of the app under test, and the context that is read and acted in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from services.executor.automation.devices.port import (
    NO_ARGUMENTS,
    NO_PERMISSIONS,
    Argument,
    Build,
    DeviceFailure,
    Orientation,
    PageSource,
)
from services.executor.automation.screen.elements import Bounds, Element, Point
from services.executor.automation.screen.page_source.nodes import SourceError
from services.executor.automation.screen.page_source.reader import read_source
from services.executor.model.failures import Category

_PLATFORMS = {"android": "Android", "ios": "iOS"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """The arguments of `Device.launch`; `app_id` is None for the app under test."""

    app_id: str | None = None
    clear_state: bool = False
    stop_first: bool = True
    permissions: Mapping[str, str] = field(default_factory=lambda: NO_PERMISSIONS)
    arguments: Mapping[str, Argument] = field(default_factory=lambda: NO_ARGUMENTS)


class AppControl(Protocol):
    """Control of the app under test and its device. Methods are those of `Device`."""

    @property
    def log_type(self) -> str:
        """The driver's name of the log of the device or page."""

    async def install(self, build: Build) -> None: ...

    async def launch(self, order: LaunchOptions) -> None: ...

    async def stop(self, app_id: str | None) -> None: ...

    async def clear_state(self, app_id: str | None) -> None: ...

    async def open_link(self, url: str) -> None: ...

    async def set_location(self, latitude: float, longitude: float) -> None: ...

    async def set_orientation(self, orientation: Orientation) -> None: ...

    async def check(self) -> None:
        """Raise app_crash if the app has ended without being stopped."""


class ContextView(Protocol):
    """The screen of one context, native or web. Methods are those of `Device`."""

    async def tree(self) -> Element: ...

    async def screen_bounds(self) -> Bounds:
        """Asks the driver; `WebDriverDevice` remembers the answer."""

    async def source(self) -> PageSource: ...

    async def screenshot(self) -> bytes: ...

    async def tap(self, target: Element | Point, *, times: int = 1) -> None: ...

    async def long_press(self, target: Element | Point, seconds: float) -> None: ...

    async def type(self, text: str, target: Element | None) -> None: ...

    async def clear(self, target: Element | None, characters: int | None) -> None: ...

    async def back(self) -> None: ...

    async def press_key(self, key: str) -> None: ...

    async def hide_keyboard(self) -> None: ...


def script_error(what: str) -> DeviceFailure:
    """The failure of a step that this device cannot carry out as written."""
    return DeviceFailure(Category.SCRIPT_ERROR, what)


def read_tree(source: str, platform: str | None = None) -> Element:
    """The elements of a driver's page source; `platform` is android, ios, or None for any other."""
    try:
        return read_source(source, _PLATFORMS.get(platform or ""))
    except SourceError as error:
        raise DeviceFailure(Category.DEVICE_UNAVAILABLE, f"the driver's page source cannot be read: {error}") from error
