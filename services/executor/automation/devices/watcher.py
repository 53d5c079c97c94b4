"""Watches the screen of a device until something is so, in the device's own time."""

from collections.abc import Callable
from typing import TypeVar

from services.executor.automation.devices.port import Device
from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
ABSENT_FOR_SECONDS = 0.5
"""What is not to be seen must stay away for so long: right after a tap the next screen may not be there yet."""


class Watcher:
    """`seen` is what it saw last."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.seen: Outline | None = None

    async def look(self) -> Outline:
        self.seen = Outline(await self._device.tree())
        return self.seen

    async def until(
        self, found: Callable[[Outline], T | None], seconds: float, first: Outline | None = None
    ) -> T | None:
        """What `found` returns for the screen, once that is not None; None after so many seconds.

        `first` is the screen, if it has just been read.
        """
        timer = self._device.timer
        deadline = timer.now() + seconds
        pause = FIRST_PAUSE_SECONDS
        outline = first or await self.look()
        while True:
            result = found(outline)
            if result is not None:
                return result
            remaining = deadline - timer.now()
            if remaining <= 0:
                return None
            await timer.sleep(min(pause, remaining))
            pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            outline = await self.look()

    async def until_gone(self, present: Callable[[Outline], Element | None], seconds: float) -> Element | None:
        """None as soon as it has been away for a while; else the element that is still there after so many seconds."""
        away = _AbsenceCheck(self._device, present)
        gone = await self.until(away, seconds + ABSENT_FOR_SECONDS)
        return None if gone else away.element


class _AbsenceCheck:
    """True once something has not been seen for GONE_FOR_SECONDS."""

    def __init__(self, device: Device, present: Callable[[Outline], Element | None]) -> None:
        self._timer = device.timer
        self._present = present
        self._since: float | None = None
        self.element: Element | None = None

    def __call__(self, outline: Outline) -> bool | None:
        found = self._present(outline)
        if found is not None:
            self.element, self._since = found, None
            return None
        now = self._timer.now()
        self._since = now if self._since is None else self._since
        return True if now - self._since >= ABSENT_FOR_SECONDS else None
