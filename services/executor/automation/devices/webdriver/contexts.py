"""The contexts of a device: the native one and web views, or the tabs of a browser."""

from collections.abc import Sequence
from typing import Protocol

from services.executor.automation.devices.webdriver.driver_session import DriverSession
from services.executor.automation.devices.webdriver.hub_connection import DriverError
from services.executor.automation.devices.webdriver.interfaces import ContextView, script_error

NATIVE = "NATIVE_APP"
TAB = "CHROMIUM"


class Contexts(Protocol):
    """`view` is the current context."""

    @property
    def view(self) -> ContextView: ...

    async def names(self) -> Sequence[str]: ...

    async def enter(self, name: str) -> None: ...


class AppiumContexts:
    """Appium's contexts: NATIVE_APP is the native one, all others are web views."""

    def __init__(self, driver: DriverSession, native: ContextView, web: ContextView, *, in_web: bool = False) -> None:
        """`in_web`: the session begins in a web view, as in a browser on a phone."""
        self._driver = driver
        self._native = native
        self._web = web
        self._in_web = in_web

    @property
    def view(self) -> ContextView:
        return self._web if self._in_web else self._native

    async def names(self) -> Sequence[str]:
        try:
            names = await self._driver.contexts()
        except DriverError as error:
            if error.code not in ("unknown command", "unknown method"):
                raise
            return (NATIVE,)
        return tuple(sorted(names, key=lambda name: name != NATIVE))

    async def enter(self, name: str) -> None:
        names = await self.names()
        if name not in names:
            raise script_error(f"unknown context {name}; available contexts: {', '.join(names)}")
        await self._driver.enter_context(name)
        self._in_web = name != NATIVE


class BrowserTabs:
    """The tabs of a browser in the order in which they were first seen; the first is the app's."""

    def __init__(self, driver: DriverSession, view: ContextView) -> None:
        self._driver = driver
        self.view = view
        self._known: list[str] = []

    async def names(self) -> Sequence[str]:
        handles = await self._driver.get("/window/handles")
        open_now = [str(handle) for handle in handles] if isinstance(handles, list) else []
        self._known += [handle for handle in open_now if handle not in self._known]
        return tuple(_tab(number) for number, handle in enumerate(self._known) if handle in open_now)

    async def enter(self, name: str) -> None:
        names = await self.names()
        if name not in names:
            raise script_error(f"unknown context {name}; available contexts: {', '.join(names)}")
        handle = next(handle for number, handle in enumerate(self._known) if _tab(number) == name)
        await self._driver.post("/window", {"handle": handle})


def _tab(number: int) -> str:
    return f"{TAB}_{number + 1}" if number else TAB
