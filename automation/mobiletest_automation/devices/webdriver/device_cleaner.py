"""Cleans phones between organisations: apps, browser data and clipboard of a session are removed before the next one.

What a session changes on a phone, such as its dark mode, is put back at its end, also for the same organisation.

The device is marked before it is used and unmarked once it is clean, in records that outlive this process, so nothing
is forgotten when it dies: whoever deletes its session cleans the device, or else whoever opens the next one there.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from mobiletest_automation import logs, telemetry
from mobiletest_automation.devices.port import DeviceFailure, MarksUnavailable, UncleanDevices, script_error
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.model.devices import DeviceChange, DeviceSetting, UncleanDevice
from mobiletest_automation.model.failures import Category

log = logs.get(__name__)

CLEAN_SECONDS = 30.0
CHANGES_LIMIT = 100


class DeviceCleaner:
    """Keeps the device of one session clean."""

    def __init__(self, phone: PhoneCommands, records: UncleanDevices, device: UncleanDevice) -> None:
        """`device` is what this session is going to leave, as far as it is known; `apps` is what it may install."""
        self._phone = phone
        self._records = records
        self._device = device

    async def prepare(self) -> None:
        """Clean what an earlier session left, and mark the device.

        Raises:
            DeviceFailure: that is impossible, so the device must not be used.
        """
        left = await self._stored(self._records.find(self._device.hub, self._device.device))
        stays = left is not None and left.dedicated and self._device.dedicated and left.org_id == self._device.org_id
        if left is not None and not stays and not await clean(self._phone, self._records, left):
            message = "the device still holds something of an earlier run, which could not be removed"
            raise DeviceFailure(Category.DEVICE_UNAVAILABLE, message)
        if left is not None and stays and left.changes and not await put_back(self._phone, self._records, left):
            message = "the device still has settings of an earlier run, which could not be put back"
            raise DeviceFailure(Category.DEVICE_UNAVAILABLE, message)
        installed_before = await self._phone.list_apps()
        marked = replace(self._device, installed_before=installed_before)
        if installed_before is None:
            marked = replace(marked, apps=await self._missing(marked.apps))
        if left is not None and stays:
            marked = replace(marked, installed_before=left.installed_before, apps=marked.apps | left.apps)
        self._device = marked
        await self._stored(self._records.mark(marked))

    async def _missing(self, apps: frozenset[str]) -> frozenset[str]:
        """Those that are not installed: others belong to the device."""
        return frozenset({app_id for app_id in apps if await self._phone.is_installed(app_id) is not True})

    async def note(self, change: DeviceChange) -> None:
        """Note a change before it is made.

        Raises:
            DeviceFailure: that is impossible, so the change must not be made.
        """
        if change in self._device.changes:
            return
        if len(self._device.changes) >= CHANGES_LIMIT:
            raise script_error(f"a test may change at most {CHANGES_LIMIT} things on a device")
        noted = replace(self._device, changes=(*self._device.changes, change))
        await self._stored(self._records.mark(noted))
        self._device = noted

    async def finish(self) -> None:
        """Clean the device at the end of its session; what fails is left to the next session. Never raises.

        What the session changed is also put back on a device of one organisation.
        """
        if not self._device.dedicated:
            await clean(self._phone, self._records, self._device)
        elif self._device.changes:
            await put_back(self._phone, self._records, self._device)

    async def _stored(self, work: Awaitable[UncleanDevice | None]) -> UncleanDevice | None:
        try:
            return await work
        except MarksUnavailable as error:
            message = "the device could not be marked as in use, because the database was unavailable"
            raise DeviceFailure(Category.EXECUTOR_LOST, message) from error


async def clean(
    phone: PhoneCommands, records: UncleanDevices, device: UncleanDevice, *, seconds: float = CLEAN_SECONDS
) -> bool:
    """Remove what the session left on the device; returns whether that is done. Never raises."""

    async def work() -> None:
        await _put_back_changes(phone, device)
        await _remove_traces(phone, device)
        await records.forget(device)

    return await _attempt(work(), device, seconds)


async def put_back(phone: PhoneCommands, records: UncleanDevices, device: UncleanDevice) -> bool:
    """Undo the session's changes, and keep everything else; returns whether that is done. Never raises."""

    async def work() -> None:
        await _put_back_changes(phone, device)
        await records.mark(replace(device, changes=()))

    return await _attempt(work(), device, CLEAN_SECONDS)


async def _put_back_changes(phone: PhoneCommands, device: UncleanDevice) -> None:
    """Airplane mode first: without a network the others may fail."""
    for change in sorted(device.changes, key=lambda each: each.setting is not DeviceSetting.AIRPLANE_MODE):
        await phone.put_back(change)


async def _attempt(work: Awaitable[None], device: UncleanDevice, seconds: float) -> bool:
    done = False
    try:
        async with asyncio.timeout(seconds):
            await work
        done = True
    except Exception as error:
        why = error.message if isinstance(error, DeviceFailure) else repr(error)
        log.warning("device_not_cleaned", hub=device.hub, device=device.device, org_id=device.org_id, error=why)
    telemetry.device_cleanings.labels("cleaned" if done else "failed").inc()
    return done


async def _remove_traces(phone: PhoneCommands, device: UncleanDevice) -> None:
    installed = await phone.list_apps()
    if installed is None or device.installed_before is None:
        added = device.apps if installed is None else device.apps & installed
    else:
        added = installed - device.installed_before
    for app_id in sorted(added):
        await phone.remove(app_id)
    for browser in sorted(phone.browsers & (installed or frozenset())):
        await phone.clear_data(browser)
    await phone.clear_clipboard()
