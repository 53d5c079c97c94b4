"""The device port: what a runner needs of a phone, a simulator or a browser, and where devices come from."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import Protocol, TypeAlias

from mobiletest_automation.flows.app_commands import Argument
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.model.devices import DeviceChange, Session, UncleanDevice
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Bounds, Element, Point

NO_FOCUS = "no editable field has the focus"
# In place of what is missing in a log.
LEFT_OUT = "\n[...]\n"


class DeviceFailure(Exception):
    """A device, or the app on it, failed to carry out an operation. `category` says whose fault it is.

    `path` is that of the step, or the variable, in the flow that cannot be carried out, if there is one.
    """

    def __init__(self, category: Category, message: str, path: str = "") -> None:
        super().__init__(message)
        self.category = category
        self.message = message
        self.path = path


def script_error(message: str) -> DeviceFailure:
    """The failure of a step that this device cannot carry out as written."""
    return DeviceFailure(Category.SCRIPT_ERROR, message)


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """`platform` is android or ios, also of a browser, whose pool has one. `udid` is its id at its hub.

    `built_in_model`: whether a simulated device has its built-in model as the app; None before it has one.
    """

    name: str
    platform: str
    simulated: bool
    browser: bool = False
    udid: str = ""
    built_in_model: bool | None = None

    @property
    def flow_platform(self) -> str:
        """What flows call the platform: android, ios or web."""
        return "web" if self.browser else self.platform

    @property
    def keeps_apps(self) -> bool:
        """Whether a new session finds the app in the state in which the one before left it."""
        return not (self.simulated or self.browser)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppUnderTest:
    """The app to test. `read(limit)` returns the first `limit` bytes of the artifact, `file()` a local file of all of
    it; both are None for a build without an artifact.

    `artifact_url` is the location of an artifact that the service does not store, `static_url` a web build's page. With
    `skips_install` the test uses the app that is already on the device.

    Raises:
        DeviceFailure: by `read` and `file`, if the artifact cannot be read.
    """

    org_id: str = ""
    skips_install: bool = False
    app_name: str = "app"
    version: str = ""
    package_name: str | None = None
    static_url: str | None = None
    artifact_url: str | None = None
    read: Callable[[int], Awaitable[bytes]] | None = None
    file: Callable[[], Awaitable[Path]] | None = None


NO_BUILD = AppUnderTest()


@dataclass(frozen=True, slots=True)
class Seed:
    """The seed of chances on a simulated device: the same run and attempt draw the same."""

    run_id: str
    attempt: int


# Why a device cannot carry out a command; "" if it can, or if only trying shows it.
Unsupported: TypeAlias = Callable[[BaseCommand], str]

# Called with a session as soon as it is open, before it is used; an exception ends the attempt.
OnSession: TypeAlias = Callable[[Session], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PageSource:
    """The screen as the driver describes it."""

    content: str
    content_type: str = "application/xml"


@dataclass(frozen=True, slots=True)
class DeviceLog:
    """What a device has logged in this session; of a long log the middle is missing.

    `since_launch` is the end of `text` that came after the app was last started, `recent` the end of that which came
    about since the step before the present one began. `reports` are the system's reports of crashes, the newest last.
    `app_id` is the id of the app under test, or the origin of a page; "" if it is unknown.
    """

    text: str = ""
    since_launch: str = ""
    recent: str = ""
    reports: tuple[str, ...] = ()
    app_id: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """A video (video/mp4), or an animation of one picture for each step (image/webp)."""

    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """`app_id` is None for the app under test, which is stopped first unless `stop_first` is false.

    `permissions` maps names ("camera", "all") to answers (allow, deny, unset, ...); `arguments` are passed to the app.
    With `grants_permissions` the app gets all that it asks for, where the device can grant them.
    """

    app_id: str | None = None
    clear_state: bool = False
    stop_first: bool = True
    permissions: Mapping[str, str] = field(default_factory=dict)
    grants_permissions: bool = False
    arguments: Mapping[str, Argument] = field(default_factory=dict)


LAUNCH = LaunchOptions()


class LinkTarget(StrEnum):
    """Which app opens a link: any that handles it, the browser, or the app under test. Only Android can choose."""

    ANY = "any"
    BROWSER = "browser"
    OWN_APP = "own app"


# Called before something is changed on a device that is put back at the end of the session.
NoteChange: TypeAlias = Callable[[DeviceChange], Awaitable[None]]


async def note_nothing(change: DeviceChange) -> None:
    """For devices that nobody uses after the session."""


class Timer:
    """The device's clock."""

    def now(self) -> float:
        """Monotonic seconds; only differences are meaningful."""
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualTimer(Timer):
    """Of a simulated device: time that passes only in `sleep`; each second takes `scale` real seconds."""

    def __init__(self, scale: float = 0.0) -> None:
        self._now = 0.0
        self.scale = scale

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Yields to other tasks at least once, so that waiting on a virtual clock can be cancelled."""
        await asyncio.sleep(seconds * self.scale)
        self._now += max(seconds, 0.0)


class View(Protocol):
    """What is read and acted in: the screen, or the page of a browser.

    Without a target, methods act on the focused element. They return when the device has accepted the command, not when
    the screen has settled: a caller that needs its effect waits for it.

    Raises:
        DeviceFailure: by every method.
    """

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        """The elements on the screen. The root's bounds are the screen's (app_crash if the app has crashed).

        In a browser each element has those of the CSS selectors `css` that it matches (script_error for an invalid
        one); elsewhere none.
        """

    async def screen_bounds(self) -> Bounds:
        """The screen in the pixels of `tree`, without reading what is on it."""

    async def source(self) -> PageSource:
        """The driver's own description of the screen, for people."""

    async def screenshot(self) -> bytes:
        """A PNG of the screen."""

    async def tap(self, target: Element | Point, *, times: int = 1) -> None: ...

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None: ...

    async def type(self, text: str, target: Element | None = None) -> None:
        """Append to the text of a field."""

    async def field_text(self, *, focused: bool = False) -> str | None:
        """What the field holds that was typed into last; None if that cannot be read, and for a password.

        With `focused` also None if another element has the focus now, to which some of the text may have gone.
        """

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        """Remove the last `characters` of a field's text, or all of it."""

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None: ...

    async def back(self) -> None: ...

    async def press_key(self, key: str) -> None:
        """Press a key by its lower-case name: enter, home, tab, delete, ... (script_error for an unknown one)."""

    async def hide_keyboard(self) -> None:
        """script_error if the keyboard is still shown afterwards."""


class AppControl(Protocol):
    """Control of the app under test, other apps and the settings of the device.

    `app_id` is None for the app under test.

    Raises:
        DeviceFailure: by every method.
    """

    async def install(self, build: AppUnderTest) -> None:
        """Install the build, or replace an installed one (app_install_failed, artifact_invalid)."""

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        """Start the app under test, or another one (app_launch_failed)."""

    async def stop(self, app_id: str | None = None) -> None: ...

    async def kill(self, app_id: str | None = None) -> None:
        """End the app as the system does when it needs memory."""

    async def clear_state(self, app_id: str | None = None) -> None:
        """Delete the app's data; a running app is stopped."""

    async def clear_keychain(self) -> None:
        """Does nothing on devices without a keychain."""

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        """Change these permissions of the app, and no others."""

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None: ...

    async def is_mode_on(self, mode: Mode) -> bool: ...

    async def set_mode(self, mode: Mode, *, on: bool) -> None: ...

    async def add_media(self, name: str, content: bytes) -> None:
        """Add a picture or a video to the gallery. `name` is that of the file, without folders."""

    async def set_location(self, latitude: float, longitude: float) -> None: ...

    async def set_orientation(self, orientation: Orientation) -> None: ...


class Recorder(Protocol):
    """Records the screen, bounded in time and size.

    Raises:
        DeviceFailure: by `start` and `stop`.
    """

    async def start(self) -> None:
        """Begin to record; an earlier recording is forgotten."""

    async def add_frame(self) -> None:
        """Take a picture, where a recording consists of pictures."""

    async def stop(self) -> Recording | None:
        """What was recorded; None if nothing was."""


class Device(Protocol):
    """One device with one session."""

    @property
    def info(self) -> DeviceInfo: ...

    @property
    def timer(self) -> Timer: ...

    @property
    def view(self) -> View: ...

    @property
    def app(self) -> AppControl: ...

    @property
    def recorder(self) -> Recorder: ...

    @property
    def unsupported(self) -> Unsupported: ...

    async def begin_step(self) -> None:
        """Add a frame to a recording, and note in the log that a step begins.

        A simulated device spends its configured real time here.
        """

    async def log(self) -> DeviceLog:
        """The log of the session up to now; empty if the device has no log.

        Raises:
            DeviceFailure: the device cannot be asked.
        """

    async def close(self) -> None:
        """End the session in any state. Idempotent; never raises."""


class Devices(Protocol):
    """Where devices come from."""

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        """A free device of the platform (android, ios).

        Raises:
            DeviceFailure: there is none (config_invalid, device_unavailable).
        """

    async def release(self, device: Device) -> None:
        """Close the device and free its slot; never raises."""


class MarksUnavailable(Exception):
    """The records of unclean devices are out of reach."""


class UncleanDevices(Protocol):
    """The devices that must be cleaned before another organisation gets them. Shared by all workers.

    Raises:
        MarksUnavailable: by every method.
    """

    async def mark(self, device: UncleanDevice) -> None:
        """Replaces what is known of the device."""

    async def find(self, hub: str, device: str) -> UncleanDevice | None: ...

    async def find_by_session(self, hub: str, session: str) -> UncleanDevice | None: ...

    async def forget(self, device: UncleanDevice) -> None:
        """Does nothing if a later session has marked the device."""
