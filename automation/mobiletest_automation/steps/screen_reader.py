"""Reads the screen for models and for replayed actions, once it has come to rest."""

from mobiletest_automation.devices.port import Device
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.model_ports import ScreenView
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.fingerprint import screen_state
from mobiletest_automation.screen.outline import Outline

# How long a screen may take to come to rest before it is shown to a model.
SETTLE_SECONDS = 2.0


class ScreenReader:
    def __init__(self, device: Device, watcher: Watcher, *, pictures: bool) -> None:
        """`pictures` says whether models see screenshots."""
        self._device = device
        self._watcher = watcher
        self._pictures = pictures

    async def read(self) -> Outline:
        """The screen at this moment."""
        return await self._watcher.look()

    async def settled(self) -> ScreenView:
        """The screen once two readings in a row are the same, or SETTLE_SECONDS have passed."""
        await self._watcher.until(_Settled(), SETTLE_SECONDS)
        return ScreenView(self.last, await self._device.view.screenshot() if self._pictures else None)

    @property
    def last(self) -> Element:
        """The screen as it was read last."""
        return self._watcher.seen.root if self._watcher.seen is not None else Element()


class _Settled:
    """True once the screen is as it was at the reading before, and shows no progress indicator."""

    def __init__(self) -> None:
        self._before: object = None

    def __call__(self, outline: Outline) -> bool | None:
        now = screen_state(outline)
        same, self._before = now == self._before, now
        loading = any(element.role is Role.PROGRESS for element in outline.visible)
        return True if same and not loading else None
