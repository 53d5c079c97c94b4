"""Reads the screen of a device until a condition holds, by the device's clock."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from mobiletest_automation.devices.port import Device
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
# How long an element must be absent: right after a tap the next screen may not be shown yet.
ABSENT_FOR_SECONDS = 0.5


# Closes a dialog of the system that is on the screen; whether it did.
Dismiss: TypeAlias = Callable[[Outline], Awaitable[bool]]


async def dismiss_nothing(_: Outline) -> bool:
    """For screens that are only read."""
    return False


class Watcher:
    """`seen` is the last screen read, or the one that decided. `dismiss` is called with each screen that does not show
    what is waited for.

    `in_motion`: something was swiped, and nothing tapped since, so that what is on the screen may still be moving.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._css: frozenset[str] = frozenset()
        self.seen: Outline | None = None
        self.in_motion = False
        self.dismiss: Dismiss = dismiss_nothing

    async def look(self) -> Outline:
        self.seen = Outline(await self._device.view.tree(self._css))
        return self.seen

    @contextmanager
    def matching(self, css: frozenset[str]) -> Iterator[None]:
        """Inside, the elements of each screen have the CSS selectors that they match."""
        before, self._css = self._css, css
        try:
            yield
        finally:
            self._css = before

    async def until(
        self,
        read: Callable[[Outline], T | None],
        seconds: float,
        first: Outline | None = None,
        *,
        dismiss: Dismiss | None = None,
    ) -> T | None:
        """The first result of `read` that is not None, or None after `seconds`.

        `first` is the current screen, if it has just been read. `dismiss` is called in place of the watcher's.
        """
        timer = self._device.timer
        deadline = timer.now() + seconds
        pause = FIRST_PAUSE_SECONDS
        outline = first or await self.look()
        while True:
            result = read(outline)
            if result is not None:
                return result
            remaining = deadline - timer.now()
            if remaining <= 0:
                return None
            await (dismiss or self.dismiss)(outline)
            await timer.sleep(min(pause, remaining))
            pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            outline = await self.look()

    async def until_gone(self, present: Callable[[Outline], Element | None], seconds: float) -> Element | None:
        """None once the element has been absent for ABSENT_FOR_SECONDS; after `seconds`, the element still there.

        Then `seen` is the last screen with it, even if it has just disappeared.
        """
        last: Element | None = None
        shown: Outline | None = None
        since: float | None = None

        def is_gone(outline: Outline) -> bool | None:
            nonlocal last, shown, since
            element, now = present(outline), self._device.timer.now()
            if element is not None:
                last, shown, since = element, outline, None
                return None
            since = now if since is None else since
            return True if now - since >= ABSENT_FOR_SECONDS else None

        async def dismiss(outline: Outline) -> bool:
            """A dialog that shows the element stays, and what another one has hidden may still be there."""
            nonlocal since
            dismissed = since is not None and await self.dismiss(outline)
            since = None if dismissed else since
            return dismissed

        if await self.until(is_gone, seconds + ABSENT_FOR_SECONDS, dismiss=dismiss):
            return None
        self.seen = shown or self.seen
        return last
