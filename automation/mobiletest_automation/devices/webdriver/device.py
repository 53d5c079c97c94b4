"""The device port over a WebDriver session."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from mobiletest_automation.devices.port import (
    LAUNCH,
    Build,
    DeviceInfo,
    LaunchOptions,
    LinkTarget,
    PageSource,
    RealTimer,
    Recording,
)
from mobiletest_automation.devices.recording import FrameRecorder
from mobiletest_automation.devices.webdriver import actions
from mobiletest_automation.devices.webdriver.device_cleaner import DeviceCleaner
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.unsupported import Unsupported
from mobiletest_automation.devices.webdriver.video import VideoRecorder
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.flows.texts import cut_beginning
from mobiletest_automation.model.unclean_devices import DeviceChange
from mobiletest_automation.screen.elements import Bounds, Element, Point

CLOSE_SECONDS = 15.0
LOG_LIMIT = 256 * 1024
# Milliseconds from 1970 to the year 10000.
_LAST_TIME = 253_402_300_800_000


class AppControl(Protocol):
    """Control of the app under test and its device. Methods are those of `Device`."""

    @property
    def log_type(self) -> str:
        """The driver's name of the log of the device or page."""

    async def install(self, build: Build) -> None: ...

    async def launch(self, options: LaunchOptions) -> None: ...

    async def stop(self, app_id: str | None) -> None: ...

    async def kill(self, app_id: str | None) -> None: ...

    async def clear_state(self, app_id: str | None) -> None: ...

    async def clear_keychain(self) -> None: ...

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None: ...

    async def open_link(self, url: str, target: LinkTarget) -> None: ...

    async def open_browser(self, url: str) -> None: ...

    async def is_mode_on(self, mode: Mode) -> bool: ...

    async def set_mode(self, mode: Mode, *, on: bool) -> None: ...

    async def add_media(self, name: str, content: bytes) -> None: ...

    async def set_location(self, latitude: float, longitude: float) -> None: ...

    async def set_orientation(self, orientation: Orientation) -> None: ...

    async def check(self) -> None:
        """Check that the app runs.

        Raises:
            DeviceFailure: the app has ended without being stopped (app_crash).
        """


class View(Protocol):
    """What is read and acted in: a phone's screen, or a page. Methods are those of `Device`."""

    async def tree(self, css: frozenset[str] = frozenset()) -> Element: ...

    async def screen_bounds(self) -> Bounds:
        """Asks the driver; `WebDriverDevice` remembers the answer."""

    async def source(self) -> PageSource: ...

    async def tap(self, target: Element | Point, *, times: int = 1) -> None: ...

    async def long_press(self, target: Element | Point, seconds: float) -> None: ...

    async def type(self, text: str, target: Element | None) -> None: ...

    async def clear(self, target: Element | None, characters: int | None) -> None: ...

    async def back(self) -> None: ...

    async def press_key(self, key: str) -> None: ...

    async def hide_keyboard(self) -> None: ...


class WebDriverDevice:
    """A phone, a simulator or a browser behind a hub."""

    def __init__(
        self,
        info: DeviceInfo,
        driver: DriverSession,
        app: AppControl,
        view: View,
        cleaner: DeviceCleaner | None = None,
        *,
        target: HubTarget,
        unsupported: Unsupported,
        app_location: str | None = None,
        video: Mapping[str, Json] | None = None,
    ) -> None:
        """`app_location` is where the hub can read the app; `video` are the driver's options of videos, if it makes
        any.
        """
        self._unsupported = unsupported
        self.info = info
        self.target = target
        self.app_location = app_location
        self.timer = RealTimer()
        self.driver = driver
        self._app = app
        self._view = view
        self._cleaner = cleaner
        shot = driver.screenshot
        self._recorder = FrameRecorder(shot) if video is None else VideoRecorder(driver, video, shot)
        self._screen: Bounds | None = None
        self._closed = False

    async def prepare(self) -> None:
        """Make the device clean before it is used (device_unavailable)."""
        if self._cleaner is not None:
            await self._cleaner.prepare()

    async def note_change(self, change: DeviceChange) -> None:
        """Note what the session is about to change, so that it is put back however the session ends."""
        if self._cleaner is not None:
            await self._cleaner.note(change)

    def unsupported(self, command: BaseCommand) -> str:
        return self._unsupported(command)

    async def begin_step(self, title: str) -> None:
        await self._recorder.add_frame()

    async def install(self, build: Build) -> None:
        await self._app.install(build)

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        self._screen = None
        await self._app.launch(options)

    async def stop(self, app_id: str | None = None) -> None:
        self._screen = None
        await self._app.stop(app_id)

    async def kill(self, app_id: str | None = None) -> None:
        self._screen = None
        await self._app.kill(app_id)

    async def clear_state(self, app_id: str | None = None) -> None:
        self._screen = None
        await self._app.clear_state(app_id)

    async def clear_keychain(self) -> None:
        await self._app.clear_keychain()

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        self._screen = None
        await self._app.set_permissions(app_id, permissions)

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        await self._app.check()
        root = await self._view.tree(css)
        self._screen = root.bounds
        return root

    async def screen_bounds(self) -> Bounds:
        """The bounds of the last tree; asks the driver after an action, which may have resized the screen."""
        if self._screen is None:
            await self._app.check()
            self._screen = await self._view.screen_bounds()
        return self._screen

    async def source(self) -> PageSource:
        return await self._view.source()

    async def screenshot(self) -> bytes:
        return await self.driver.screenshot()

    async def log(self) -> str:
        try:
            entries = await self.driver.log(self._app.log_type)
        except DriverError as error:
            if error.code in ("invalid session id", "no such window"):
                raise
            return ""  # the driver has no such log
        return _bounded("\n".join(_line(entry) for entry in entries))

    async def tap(self, target: Element | Point) -> None:
        await self._view_to_act_in().tap(target)

    async def double_tap(self, target: Element | Point) -> None:
        await self._view_to_act_in().tap(target, times=2)

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        await self._view_to_act_in().long_press(target, seconds)

    async def type(self, text: str, target: Element | None = None) -> None:
        await self._view_to_act_in().type(text, target)

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        await self._view_to_act_in().clear(target, characters)

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        await self.driver.perform(actions.swipe(start, end, seconds), lasting=seconds)

    async def back(self) -> None:
        await self._view_to_act_in().back()

    async def press_key(self, key: str) -> None:
        await self._view_to_act_in().press_key(key)

    async def hide_keyboard(self) -> None:
        await self._view_to_act_in().hide_keyboard()

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        self._screen = None
        await self._app.open_link(url, target)

    async def open_browser(self, url: str) -> None:
        self._screen = None
        await self._app.open_browser(url)

    async def is_mode_on(self, mode: Mode) -> bool:
        return await self._app.is_mode_on(mode)

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        self._screen = None
        await self._app.set_mode(mode, on=on)

    async def add_media(self, name: str, content: bytes) -> None:
        await self._app.add_media(name, content)

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._app.set_location(latitude, longitude)

    async def set_orientation(self, orientation: Orientation) -> None:
        self._screen = None
        await self._app.set_orientation(orientation)

    async def start_recording(self) -> None:
        await self._recorder.start()

    async def stop_recording(self) -> Recording | None:
        return await self._recorder.stop()

    def _view_to_act_in(self) -> View:
        """The view, for an action that may resize the screen: by a rotation, a dialog, a keyboard."""
        self._screen = None
        return self._view

    async def close(self) -> None:
        """Bounded in time. Cleans the device, ends the session and closes the connection even if cancelled."""
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.create_task(self._end()))

    async def _end(self) -> None:
        if self._cleaner is not None:
            await self._cleaner.finish()
        await self.driver.end(seconds=CLOSE_SECONDS)


def _line(entry: Mapping[str, Json]) -> str:
    moment, when = entry.get("timestamp"), ""
    if isinstance(moment, int | float) and 0 <= moment < _LAST_TIME:
        when = datetime.fromtimestamp(moment / 1000, UTC).isoformat()
    return " ".join(str(part) for part in (when, entry.get("level", ""), entry.get("message", "")) if part)


def _bounded(text: str) -> str:
    """The end of a text that is too long."""
    return text if len(text) <= LOG_LIMIT else "[...]\n" + cut_beginning(text, LOG_LIMIT)
