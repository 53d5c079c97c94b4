"""The device port over a WebDriver session."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from services.executor.automation.devices.port import (
    NO_ARGUMENTS,
    NO_PERMISSIONS,
    Argument,
    Build,
    DeviceInfo,
    Orientation,
    PageSource,
    RealTimer,
    Session,
)
from services.executor.automation.devices.webdriver import w3c_actions
from services.executor.automation.devices.webdriver.contexts import Contexts
from services.executor.automation.devices.webdriver.driver_session import DriverSession
from services.executor.automation.devices.webdriver.hub_connection import DriverError, Json
from services.executor.automation.devices.webdriver.interfaces import AppControl, ContextView, LaunchOptions
from services.executor.automation.screen.elements import Bounds, Element, Point

CLOSE_SECONDS = 15.0
LOG_LIMIT = 256 * 1024


class WebDriverDevice:
    """A phone, a simulator or a browser behind a hub."""

    def __init__(
        self, info: DeviceInfo, driver: DriverSession, session: Session, app: AppControl, contexts: Contexts
    ) -> None:
        self.info = info
        self.timer = RealTimer()
        self.session = session
        self.driver = driver
        self._app = app
        self._contexts = contexts
        self._screen: Bounds | None = None
        self._closed = False

    async def begin_step(self, title: str) -> None:
        return None

    async def install(self, build: Build) -> None:
        await self._app.install(build)

    async def launch(
        self,
        app_id: str | None = None,
        *,
        clear_state: bool = False,
        stop_first: bool = True,
        permissions: Mapping[str, str] = NO_PERMISSIONS,
        arguments: Mapping[str, Argument] = NO_ARGUMENTS,
    ) -> None:
        options = LaunchOptions(
            app_id=app_id,
            clear_state=clear_state,
            stop_first=stop_first,
            permissions=permissions,
            arguments=arguments,
        )
        self._screen = None
        await self._app.launch(options)

    async def stop(self, app_id: str | None = None) -> None:
        self._screen = None
        await self._app.stop(app_id)

    async def clear_state(self, app_id: str | None = None) -> None:
        self._screen = None
        await self._app.clear_state(app_id)

    async def tree(self) -> Element:
        await self._app.check()
        root = await self._contexts.view.tree()
        self._screen = root.bounds
        return root

    async def screen_bounds(self) -> Bounds:
        """The bounds of the last tree; asks the driver after an action, which may have resized the screen."""
        if self._screen is None:
            await self._app.check()
            self._screen = await self._contexts.view.screen_bounds()
        return self._screen

    async def source(self) -> PageSource:
        return await self._contexts.view.source()

    async def screenshot(self) -> bytes:
        return await self._contexts.view.screenshot()

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
        await self.driver.perform(w3c_actions.swipe(start, end, seconds), lasting=seconds)

    async def back(self) -> None:
        await self._view_to_act_in().back()

    async def press_key(self, key: str) -> None:
        await self._view_to_act_in().press_key(key)

    async def hide_keyboard(self) -> None:
        await self._view_to_act_in().hide_keyboard()

    async def open_link(self, url: str) -> None:
        self._screen = None
        await self._app.open_link(url)

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._app.set_location(latitude, longitude)

    async def set_orientation(self, orientation: Orientation) -> None:
        self._screen = None
        await self._app.set_orientation(orientation)

    async def contexts(self) -> Sequence[str]:
        return await self._contexts.names()

    async def enter_context(self, name: str) -> None:
        self._screen = None
        await self._contexts.enter(name)

    def _view_to_act_in(self) -> ContextView:
        """The current context, for an action that may resize the screen: by a rotation, a dialog, a keyboard."""
        self._screen = None
        return self._contexts.view

    async def close(self) -> None:
        """Bounded in time. Ends the session and closes the connection even if cancelled."""
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.create_task(self.driver.end(seconds=CLOSE_SECONDS)))


def _line(entry: Mapping[str, Json]) -> str:
    moment = entry.get("timestamp")
    when = datetime.fromtimestamp(moment / 1000, UTC).isoformat() if isinstance(moment, int | float) else ""
    return " ".join(str(part) for part in (when, entry.get("level", ""), entry.get("message", "")) if part)


def _bounded(text: str) -> str:
    """The end of a text that is too long."""
    return text if len(text) <= LOG_LIMIT else "[...]\n" + text[-LOG_LIMIT:]
