"""The device port: what the runner asks of a phone, a simulator or a browser, and how devices are had."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from services.executor.automation.screen.elements import Bounds, Element, Point
from services.executor.model.failures import Category
from services.executor.model.runs import Session as Session


class DeviceFailure(Exception):
    """A device, or the app on it, did not do what was asked. `category` says whose fault it is."""

    def __init__(self, category: Category, message: str) -> None:
        super().__init__(message)
        self.category = category
        self.message = message


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """`platform` is android or ios; `kind` the pool's kind (simulated, webdriver)."""

    name: str
    platform: str
    kind: str
    simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The app to test. `read(limit)` gives the first `limit` bytes of the artifact, `file()` the whole of it as a file
    of this machine; both raise DeviceFailure and are None for a build without an artifact.

    `artifact_url` is where a build lies that the service only knows the address of; `static_url` a web build's page.
    """

    app_name: str = "app"
    version: str = ""
    package_name: str | None = None
    static_url: str | None = None
    artifact_url: str | None = None
    read: Callable[[int], Awaitable[bytes]] | None = None
    file: Callable[[], Awaitable[Path]] | None = None


NO_BUILD = Build()


@dataclass(frozen=True, slots=True)
class Seed:
    """What chance is drawn from on a simulated device: the same run and attempt draw the same."""

    run_id: str
    attempt: int


OnSession: TypeAlias = Callable[[Session], Awaitable[None]]
"""Told of a session as soon as there is one, before anything is done in it; an exception from it ends the attempt."""


@dataclass(frozen=True, slots=True)
class PageSource:
    """What is on the screen, as the driver says it."""

    content: str
    content_type: str = "application/xml"


Orientation: TypeAlias = Literal["portrait", "landscape"]
Argument: TypeAlias = str | int | float | bool
NO_PERMISSIONS: Mapping[str, str] = MappingProxyType({})
NO_ARGUMENTS: Mapping[str, Argument] = MappingProxyType({})


class Timer(Protocol):
    """The device's time; on a simulated device it is virtual, so waiting costs nothing."""

    def now(self) -> float:
        """Seconds that never go back; only differences mean anything."""

    async def sleep(self, seconds: float) -> None: ...


class Device(Protocol):
    """One device with one session. Every method but `close` may raise DeviceFailure.

    Where no target is given, the element that has the focus is meant. Methods return when the device has taken the
    order, not when the screen has settled: whoever looks for something afterwards waits for it.
    """

    @property
    def info(self) -> DeviceInfo: ...

    @property
    def timer(self) -> Timer: ...

    async def begin_step(self, title: str) -> None:
        """A step begins: for the device's own log; a simulated device passes its configured real time here."""

    async def install(self, build: Build) -> None:
        """Put the build on the device, over what is there (app_install_failed, artifact_invalid)."""

    async def launch(
        self,
        app_id: str | None = None,
        *,
        clear_state: bool = False,
        stop_first: bool = True,
        permissions: Mapping[str, str] = NO_PERMISSIONS,
        arguments: Mapping[str, Argument] = NO_ARGUMENTS,
    ) -> None:
        """Start the app under test, or another one (app_launch_failed).

        `permissions` are allow, deny or unset by their names ("camera", "all"); `arguments` are given to the app.
        """

    async def stop(self, app_id: str | None = None) -> None: ...

    async def clear_state(self, app_id: str | None = None) -> None:
        """Forget everything that the app has kept; a running one is stopped."""

    async def tree(self) -> Element:
        """What is on the screen now. The root's bounds are the screen's (app_crash when the app has died)."""

    async def screen_bounds(self) -> Bounds:
        """The screen in the pixels of `tree`, without reading what is on it."""

    async def source(self) -> PageSource:
        """The screen as the driver itself describes it, for people."""

    async def screenshot(self) -> bytes:
        """A PNG of the screen."""

    async def log(self) -> str:
        """What the device logged since it was asked last; empty where there is no log."""

    async def tap(self, target: Element | Point) -> None: ...

    async def double_tap(self, target: Element | Point) -> None: ...

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None: ...

    async def type(self, text: str, target: Element | None = None) -> None:
        """Type at the end of what a field holds."""

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        """Remove the last `characters` of what a field holds, or all of it."""

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None: ...

    async def back(self) -> None: ...

    async def press_key(self, key: str) -> None:
        """A key by its name in lower case: enter, home, tab, delete, ... (script_error for one that it has not)."""

    async def hide_keyboard(self) -> None: ...

    async def open_link(self, url: str) -> None: ...

    async def set_location(self, latitude: float, longitude: float) -> None: ...

    async def set_orientation(self, orientation: Orientation) -> None: ...

    async def contexts(self) -> Sequence[str]:
        """The views that can be entered, the native one first; a web view has a name of its own."""

    async def enter_context(self, name: str) -> None:
        """From now on this view is looked at and acted in (script_error for one that there is not)."""

    async def close(self) -> None:
        """End the session whatever state it is in; may be called twice; never raises."""


class Devices(Protocol):
    """Where devices come from."""

    async def acquire(self, platform: str, build: Build, seed: Seed, *, on_session: OnSession | None = None) -> Device:
        """A free device of the platform (android, ios). Raises DeviceFailure: config_invalid, device_unavailable."""

    async def release(self, device: Device) -> None:
        """Close the device and give its place to the next; never raises."""


class RealTimer:
    """Time as it passes."""

    def now(self) -> float:
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualTimer:
    """Time that passes only when somebody waits for it; each of its seconds takes `scale` real ones."""

    def __init__(self, scale: float = 0.0) -> None:
        self._now = 0.0
        self._scale = scale

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Always gives way to other tasks once, so that waiting on a virtual clock can be cancelled."""
        await asyncio.sleep(seconds * self._scale)
        self._now += max(seconds, 0.0)
