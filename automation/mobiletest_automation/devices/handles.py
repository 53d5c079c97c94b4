"""Hands a device over to the process that drives it, while this one keeps its session and ends it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceInfo, NoteChange, Seed
from mobiletest_automation.devices.simulated.app_model import Pace
from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import HubConnection, Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.model.devices import DeviceChange


@dataclass(frozen=True, slots=True)
class SimulatedHandle:
    info: DeviceInfo
    pace: Pace


@dataclass(frozen=True, slots=True)
class SessionHandle:
    """A session at a hub; `app` is where the hub can read the app."""

    info: DeviceInfo
    target: HubTarget
    session_id: str
    capabilities: Mapping[str, Json]
    app: str | None


DeviceHandle: TypeAlias = SimulatedHandle | SessionHandle


def handle_of(device: Device) -> DeviceHandle:
    match device:
        case SimulatedDevice():
            return SimulatedHandle(device.info, device.app.pace)
        case WebDriverDevice():
            session, app = device.driver, device.app_location
            return SessionHandle(device.info, device.target, session.id, session.capabilities, app)
        case _:
            raise TypeError(f"a {type(device).__name__} cannot be driven by another process")


def attach(handle: DeviceHandle, build: AppUnderTest, seed: Seed, note: NoteChange) -> Device:
    """The device of the handle. It must be left with `detach`, not closed.

    `note` tells the process that ends the session what is about to be changed.
    """
    if isinstance(handle, SimulatedHandle):
        return SimulatedDevice(handle.info, build, seed, handle.pace)
    driver = DriverSession(HubConnection(handle.target.url), handle.session_id, handle.capabilities)
    session = HubSession(driver=driver, target=handle.target, info=handle.info, build=build, app=handle.app, note=note)
    return assemble_device(session)


async def note_change(device: Device, change: DeviceChange) -> None:
    """Note what the process that drives the device is about to change.

    Raises:
        DeviceFailure: the note cannot be stored, so the change must not be made.
    """
    if isinstance(device, WebDriverDevice) and device.cleaner is not None:
        await device.cleaner.note(change)


async def detach(device: Device) -> None:
    """Leave an attached device; its session goes on."""
    if isinstance(device, WebDriverDevice):
        await device.driver.connection.close()
