"""Closes dialogs of the system that hide what a step waits for, of the kinds that the run configuration names."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from mobiletest_automation import logs
from mobiletest_automation.devices.port import Device
from mobiletest_automation.model.run_config import DismissDialogs
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.system_dialogs import DialogKind, SystemDialog, find_system_dialog

# In one step.
DISMISSALS_LIMIT = 3

# The app of which a dialog is, "" if that is not certain; and whether it is the app under test.
AppOfDialog: TypeAlias = Callable[[SystemDialog], Awaitable[tuple[str, bool]]]

logger = logs.get(__name__)


class DialogDismisser:
    """Of one attempt. That an app has crashed, or does not respond, is dismissed only if it certainly is another one
    than the app under test. Each dialog is dismissed once: what still shows it afterwards may be about to vanish, and
    a second tap would hit the app.
    """

    def __init__(
        self, device: Device, dialogs: DismissDialogs, app_of_dialog: AppOfDialog, remark: Callable[[str], None]
    ) -> None:
        """`remark` is called with what was dismissed."""
        self._device = device
        self._kinds = {
            kind
            for kind, dismissed in (
                (DialogKind.CRASH, dialogs.other_app_crash),
                (DialogKind.NOT_RESPONDING, dialogs.other_app_not_responding),
                (DialogKind.PERMISSION, dialogs.permission),
            )
            if dismissed
        }
        self._app_of_dialog = app_of_dialog
        self._remark = remark
        self._remaining = 0
        # The dialog that was looked at last, while it is on the screen.
        self._seen: SystemDialog | None = None

    def begin_step(self) -> None:
        self._remaining = DISMISSALS_LIMIT
        self._seen = None

    async def dismiss(self, outline: Outline) -> bool:
        """Tap the button that closes the dialog on this screen. Returns whether it did.

        Raises:
            DeviceFailure: the device did not accept the tap.
        """
        if not self._kinds or not self._remaining:
            return False
        dialog = find_system_dialog(outline.root)
        before, self._seen = self._seen, dialog
        if dialog is None or dialog == before or dialog.kind not in self._kinds or dialog.button is None:
            return False
        whose = ""
        if dialog.kind is not DialogKind.PERMISSION:
            app, is_own = await self._app_of_dialog(dialog)
            if not app or is_own:
                return False
            whose = f" of {app}"
        await self._device.view.tap(dialog.button)
        self._remaining -= 1
        self._remark(f"dismissed the dialog {dialog}{whose}")
        logger.info("dialog_dismissed", kind=str(dialog.kind))
        return True
