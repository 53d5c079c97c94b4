"""The device port: what the runner asks of a phone, a simulator or a browser, and how devices are had."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from services.executor.automation.elements import Element, Point
from services.executor.model.failures import Category


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
    """The app to test. `read(limit)` gives the first `limit` bytes of the artifact, or raises DeviceFailure.

    It is None for a build without an artifact.
    """

    app_name: str = "app"
    version: str = ""
    package_name: str | None = None
    static_url: str | None = None
    read: Callable[[int], Awaitable[bytes]] | None = None


NO_BUILD = Build()


@dataclass(frozen=True, slots=True)
class Seed:
    """What chance is drawn from on a simulated device: the same run and attempt draw the same."""

    run_id: str
    attempt: int


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

    async def launch(self, app_id: str | None = None, *, clear_state: bool = False, stop_first: bool = True) -> None:
        """Start the app under test, or another one (app_launch_failed)."""

    async def stop(self, app_id: str | None = None) -> None: ...

    async def tree(self) -> Element:
        """What is on the screen now. The root's bounds are the screen's (app_crash when the app has died)."""

    async def screenshot(self) -> bytes:
        """A PNG of the screen."""

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

    async def close(self) -> None:
        """End the session whatever state it is in; may be called twice; never raises."""


class Devices(Protocol):
    """Where devices come from."""

    async def acquire(self, platform: str, build: Build, seed: Seed) -> Device:
        """A free device of the platform (android, ios). Raises DeviceFailure: config_invalid, device_unavailable."""

    async def release(self, device: Device) -> None:
        """Close the device and give its place to the next; never raises."""
