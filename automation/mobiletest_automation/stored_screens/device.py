"""A device that shows one stored screen for ever: what a step finds on it, its actions leave as it is."""

from mobiletest_automation.devices.port import (
    AppControl,
    Device,
    DeviceInfo,
    DeviceLog,
    PageSource,
    Recorder,
    Timer,
    Unsupported,
    View,
)
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Bounds, Element, Point
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.intents import Intent
from mobiletest_automation.steps.device_actions import DeviceActions

# Longer than anything is waited for.
_FOR_EVER = 1e9

PICTURE = "it needs a picture of the screen"
SCROLLING = "it scrolls, and what the screen shows then was not stored"
OUTSIDE = "it swipes from a point outside of the screen, which not every device does"
ON_DEVICE = "it acts on the device, not on an element of the screen"


class NotOnScreen(Exception):
    """The answer depends on something that a stored screen does not have; `why` says on what."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class StoredScreenDevice(Device):
    """Shows the screen at each reading. Where a step needs more than that, it raises NotOnScreen.

    `platform` is what flows call it: android, ios or web. With `may_swipe` a swipe is an action, and not the search for
    an element.
    """

    def __init__(self, outline: Outline, platform: str, *, may_swipe: bool) -> None:
        self._info = DeviceInfo("stored screen", platform, simulated=True, browser=platform == "web")
        self._timer = _LeapingTimer()
        self._view = _StoredView(outline, may_swipe=may_swipe)

    @property
    def info(self) -> DeviceInfo:
        return self._info

    @property
    def timer(self) -> Timer:
        return self._timer

    @property
    def view(self) -> View:
        return self._view

    @property
    def app(self) -> AppControl:
        raise NotOnScreen(ON_DEVICE)

    @property
    def recorder(self) -> Recorder:
        raise NotOnScreen(PICTURE)

    @property
    def unsupported(self) -> Unsupported:
        """Nothing: what a device cannot do is no question of its screen."""
        return lambda command: ""

    async def begin_step(self) -> None:
        return None

    async def log(self) -> DeviceLog:
        raise NotOnScreen(ON_DEVICE)

    async def close(self) -> None:
        return None


class StoredScreenWatcher(Watcher):
    """Reads the stored screen, which is indexed once."""

    def __init__(self, device: Device, outline: Outline) -> None:
        super().__init__(device)
        self._outline = outline

    async def look(self) -> Outline:
        self.seen = self._outline
        return self._outline


class NoActions(DeviceActions):
    """Leaves the device alone."""

    def __init__(self) -> None:
        """It needs no device."""

    async def perform(self, chosen: ChosenAction) -> None:
        return None

    async def act(self, intent: Intent, element: Element | None) -> None:
        return None


class _LeapingTimer(Timer):
    """Each pause outlasts every wait, so that a step looks twice at a screen on which it would wait."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += _FOR_EVER


class _StoredView(View):
    def __init__(self, outline: Outline, *, may_swipe: bool) -> None:
        self._outline = outline
        self._may_swipe = may_swipe

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        return self._outline.root

    async def screen_bounds(self) -> Bounds:
        return self._outline.root.bounds

    async def source(self) -> PageSource:
        raise NotOnScreen(PICTURE)

    async def screenshot(self) -> bytes:
        raise NotOnScreen(PICTURE)

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        return None

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        return None

    async def type(self, text: str, target: Element | None = None) -> None:
        raise NotOnScreen(ON_DEVICE)

    async def field_text(self, *, focused: bool = False) -> str | None:
        return None

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        raise NotOnScreen(ON_DEVICE)

    async def back(self) -> None:
        raise NotOnScreen(ON_DEVICE)

    async def press_key(self, key: str) -> None:
        raise NotOnScreen(ON_DEVICE)

    async def hide_keyboard(self) -> None:
        raise NotOnScreen(ON_DEVICE)

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        if not self._may_swipe:
            raise NotOnScreen(SCROLLING)
        if not self._outline.root.bounds.contains(start):
            raise NotOnScreen(OUTSIDE)
