"""The recording of the screen that a test has started."""

from mobiletest_automation.devices.port import Device, DeviceFailure, Recording
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed


class ScreenRecordings:
    """Of one attempt, one at a time."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.name: str | None = None
        """Of the recording that is being made."""

    async def start(self, name: str) -> None:
        """StepFailed (script_error) if one is being made already."""
        if self.name is not None:
            what = f'the recording "{self.name}" has not ended: use stopRecording before another one'
            raise StepFailed(Category.SCRIPT_ERROR, what)
        await self._device.start_recording()
        self.name = name

    async def stop(self) -> Recording | None:
        """None if none is being made, or it cannot be read: verdicts do not depend on it."""
        if self.name is None:
            return None
        self.name = None
        try:
            return await self._device.stop_recording()
        except DeviceFailure:
            return None
