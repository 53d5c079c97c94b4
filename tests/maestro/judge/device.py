"""A phone whose screens are given, and which records what it is told to do as Judge.java's does."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self, cast

from PIL import Image, ImageDraw

from mobiletest_automation.devices.port import (
    LAUNCH,
    AppUnderTest,
    DeviceInfo,
    DeviceLog,
    LaunchOptions,
    LinkTarget,
    PageSource,
    Recording,
    VirtualTimer,
)
from mobiletest_automation.devices.webdriver.actions import ANDROID_KEYS, find_key, plain_key
from mobiletest_automation.devices.webdriver.native_view import NativeView
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.screen.elements import Bounds, Element, Point
from mobiletest_automation.screen.page_source.reader import read_source
from tests.fakes.webdriver import FakeHub, fake_driver
from tests.maestro.judge.flows import Action, JudgedFlow

_LONG_PRESS_MILLISECONDS = 500
_MODES: Mapping[Mode, str] = {Mode.AIRPLANE: "airplane mode", Mode.DARK: "dark mode"}


class _Recorder:
    def __init__(self, record: Callable[..., None]) -> None:
        self._record = record

    async def start(self) -> None:
        self._record("start recording")

    async def add_frame(self) -> None: ...

    async def stop(self) -> Recording | None:
        self._record("stop recording")
        return Recording(b"video", "video/mp4")


class RecordingDevice:
    """Touches go through the view of real phones, so what is recorded is what a phone would be sent.

    It is its own view, and its own app.
    """

    def __init__(self, flow: JudgedFlow, app_id: str) -> None:
        self.info = DeviceInfo("judge", "android", simulated=False, udid="judge")
        self.timer = VirtualTimer()
        self.actions: list[Action] = []
        self._app_id = app_id
        self._screens = flow.screens
        self._moves = flow.moves
        self._shown = 0
        self._offset = 0
        self._left = 0
        self._modes: dict[Mode, bool] = {}
        hub = FakeHub({"GET /source": lambda _: self._read(), "POST /actions": self._touch})
        driver = fake_driver(hub)
        self._native = NativeView(driver, cast("PhoneCommands", _Android))
        self.recorder = _Recorder(self._record)

    @property
    def view(self) -> Self:
        return self

    @property
    def app(self) -> Self:
        return self

    def unsupported(self, command: BaseCommand) -> str:
        return ""

    async def begin_step(self) -> None:
        await self.timer.sleep(0)

    async def install(self, build: AppUnderTest) -> None: ...

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        app_id = options.app_id or self._app_id
        if options.clear_state:
            await self.clear_state(options.app_id)
        if options.permissions or options.grants_permissions:
            granted = {"all": "allow"} if options.grants_permissions else dict(options.permissions)
            self._record("permissions", app_id, granted)
        if options.stop_first:
            self._record("stop", app_id)
        self._record("launch", app_id, dict(options.arguments))

    async def stop(self, app_id: str | None = None) -> None:
        self._record("stop", app_id or self._app_id)

    async def clear_state(self, app_id: str | None = None) -> None:
        self._record("clear state", app_id or self._app_id)

    async def kill(self, app_id: str | None = None) -> None:
        self._record("kill", app_id or self._app_id)

    async def clear_keychain(self) -> None:
        self._record("clear keychain")

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        self._record("permissions", app_id or self._app_id, dict(permissions))

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        return await self._native.tree(css)

    async def screen_bounds(self) -> Bounds:
        return read_source(self._screens[self._shown]).bounds

    async def source(self) -> PageSource:
        return PageSource(self._read())

    async def screenshot(self) -> bytes:
        """Stripes that move as the list does."""
        self._move()
        picture = Image.new("L", (54, 96), "white")
        draw = ImageDraw.Draw(picture)
        for top in range(self._offset % 40 - 40, 960, 40):
            draw.rectangle((0, top // 10, 54, top // 10 + 1), fill="black")
        content = io.BytesIO()
        picture.save(content, "PNG")
        return content.getvalue()

    async def log(self) -> DeviceLog:
        return DeviceLog()

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        await self._native.tap(target, times=times)

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        await self._native.long_press(target, seconds)

    async def type(self, text: str, target: Element | None = None) -> None:
        self._advance("type", text)

    async def field_text(self, *, focused: bool = False) -> str | None:
        return None

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        self._advance("erase", characters)

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        self._left = self._moves.readings if self._moves is not None else 0
        points = (round(start.x), round(start.y), round(end.x), round(end.y))
        self._advance("swipe", *points, round(seconds * 1000))

    async def back(self) -> None:
        self._advance("back")

    async def press_key(self, key: str) -> None:
        find_key(ANDROID_KEYS, key, "an Android device")
        self._advance("key", plain_key(key))

    async def hide_keyboard(self) -> None:
        self._record("hide keyboard")

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        self._advance("link", url, target is LinkTarget.OWN_APP, target is LinkTarget.BROWSER)

    async def is_mode_on(self, mode: Mode) -> bool:
        return self._modes.get(mode, False)

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        self._modes[mode] = on
        self._record(_MODES[mode], on)

    async def add_media(self, name: str, content: bytes) -> None:
        self._record("media", name)

    async def set_location(self, latitude: float, longitude: float) -> None:
        self._record("location", latitude, longitude)

    async def set_orientation(self, orientation: Orientation) -> None:
        self._record("orientation", orientation.upper())

    async def close(self) -> None: ...

    def _record(self, *action: object) -> None:
        self.actions.append(action)

    def _advance(self, *action: object) -> None:
        self._record(*action)
        self._shown = min(self._shown + 1, len(self._screens) - 1)

    def _move(self) -> None:
        if self._left and self._moves is not None:
            self._left -= 1
            self._offset += self._moves.pixels

    def _read(self) -> str:
        self._move()
        return _moved(self._screens[self._shown], self._offset)

    def _touch(self, body: Mapping[str, Any]) -> None:
        """A touch arrives when the list is at rest."""
        while self._left:
            self._move()
        for name, point in _gestures(body["actions"][0]["actions"]):
            self._advance(name, *point)


class _Android:
    platform = "Android"


def _gestures(moves: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[int, int]]]:
    """Taps and long presses of W3C actions: a pause while the finger is down says which of them it is."""
    at, gestures = (0, 0), []
    for move, after in pairwise((*moves, {"type": "end"})):
        if move["type"] == "pointerMove":
            at = (move["x"], move["y"])
        if move["type"] == "pointerDown":
            held = after.get("duration", 0) if after["type"] == "pause" else 0
            gestures.append(("long press" if held >= _LONG_PRESS_MILLISECONDS else "tap", at))
    return gestures


def _moved(screen: str, pixels: int) -> str:
    if not pixels:
        return screen
    return re.sub(
        r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]",
        lambda match: f"[{match[1]},{int(match[2]) + pixels}][{match[3]},{int(match[4]) + pixels}]",
        screen,
    )
