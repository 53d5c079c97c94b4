"""Opens sessions at hubs, and closes them whatever happens."""

import asyncio
import re
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass

from services.chassis import logs
from services.executor.automation.devices.port import Build, Device, DeviceFailure, DeviceInfo, OnSession, Session
from services.executor.automation.devices.webdriver import driver_session
from services.executor.automation.devices.webdriver.android import AndroidCommands
from services.executor.automation.devices.webdriver.appium_fake import FakeApp, FakeView
from services.executor.automation.devices.webdriver.browser_app import BrowserApp
from services.executor.automation.devices.webdriver.contexts import AppiumContexts, BrowserTabs
from services.executor.automation.devices.webdriver.device import WebDriverDevice
from services.executor.automation.devices.webdriver.driver_session import DriverSession, end_session
from services.executor.automation.devices.webdriver.hub_connection import (
    DriverError,
    HubConnection,
    HubUnreachable,
    Json,
)
from services.executor.automation.devices.webdriver.ios import IosCommands
from services.executor.automation.devices.webdriver.native_view import NativeView, press_android, press_ios
from services.executor.automation.devices.webdriver.phone_app import PhoneApp
from services.executor.automation.devices.webdriver.web_view import WebView
from services.executor.model.failures import Category

__all__ = [
    "NEW_COMMAND_SECONDS",
    "HubTarget",
    "Json",
    "delete_session",
    "is_ready",
    "open_device",
    "wait_for_unfinished",
]

log = logs.get(__name__)

NEW_COMMAND_SECONDS = 90.0
OPENING_SECONDS = 240.0
LATE_SECONDS = 900.0
"""How long a session that nobody waits for any more may still come, and then is deleted."""
CANCELLED_SECONDS = 1.0
"""How long a cancelled opening waits for its session to come and to go; the rest happens behind its back."""
DELETE_SECONDS = 20.0
PAGE_TIMEOUTS: Mapping[str, Json] = {"pageLoad": 25_000, "script": 25_000}
"""Milliseconds, less than a command is waited for: a page that does not load is to be blamed, and not the hub."""

_NO_APP = re.compile(
    r"does not exist or is not accessible|INSTALL_FAILED|INSTALL_PARSE_FAILED|not installed|could not be installed"
    r"|failed to install|(un)?able to install|cannot install|bad app|ENOENT",
    re.IGNORECASE,
)
_NO_START = re.compile(
    r"cannot start the .{0,200}application|never started|activity .{0,200}(doesn't|does not) exist|unable to launch",
    re.IGNORECASE,
)

_unfinished: set[asyncio.Task[None]] = set()
"""Sessions that come, or go, when nobody waits for them any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTarget:
    """A hub and what to ask it for.

    `url` is where its `/session` and `/status` are; `capabilities` are W3C ones (vendor prefixes included), the hub
    decides by them which of its devices it takes; `new_command_timeout` is after how many idle seconds an Appium hub
    ends a session by itself.
    """

    url: str
    capabilities: Mapping[str, Json]
    labels: tuple[str, ...] = ()
    new_command_timeout: float = NEW_COMMAND_SECONDS
    opening_seconds: float = OPENING_SECONDS


async def open_device(
    target: HubTarget, info: DeviceInfo, build: Build, *, app: str | None = None, on_session: OnSession | None = None
) -> Device:
    """A device with a session of its own at the hub.

    `app` is a path or URL that the hub can read the app from; None installs nothing. `on_session` is told of the
    session before anything is done in it. Raises DeviceFailure: device_unavailable, app_install_failed,
    app_launch_failed, network_error. Whatever ends it early, no session is left behind: neither by a cancellation,
    nor by an `on_session` that raises, nor by a hub that answers when nobody waits any more.
    """
    connection = HubConnection(target.url)
    driver = await _create_session(connection, target, app)
    session = Session(target.url, driver.id)
    try:
        if on_session is not None:
            await on_session(session)
        return assemble(driver, session, info, build, app)
    except BaseException:
        await _end_in_background(end_session(driver, seconds=DELETE_SECONDS))
        raise


async def delete_session(session: Session, *, timeout: float = DELETE_SECONDS) -> bool:
    """End a session that somebody left behind; whether it is certainly gone now. Never raises."""
    connection = HubConnection(session.hub)
    try:
        await driver_session.delete_session(connection, session.id, seconds=timeout)
    except DriverError as error:
        return error.category is Category.SESSION_LOST
    except HubUnreachable as error:
        log.info("session_not_deleted", hub=connection.shown, error=error.message)
        return False
    finally:
        await connection.close()
    return True


async def is_ready(url: str, *, timeout: float = 5.0) -> bool:
    """Whether the hub answers and says that it takes sessions. Never raises."""
    connection = HubConnection(url)
    try:
        return await driver_session.status(connection, seconds=timeout)
    except DeviceFailure:
        return False
    finally:
        await connection.close()


async def wait_for_unfinished(timeout: float) -> bool:
    """Wait for what goes on behind everybody's back; for the end of a process. False if some still does."""
    if not _unfinished:
        return True
    _, pending = await asyncio.wait(set(_unfinished), timeout=timeout)
    return not pending


async def _create_session(connection: HubConnection, target: HubTarget, app: str | None) -> DriverSession:
    """The session; the request for it is never given up, as the hub would then answer to nobody."""
    asked = capabilities_of(target, app)
    creating = asyncio.create_task(driver_session.new_session(connection, asked, seconds=LATE_SECONDS))
    try:
        done, _ = await asyncio.wait({creating}, timeout=target.opening_seconds)
    except asyncio.CancelledError:
        await _end_in_background(_end_when_created(connection, creating))
        raise
    if not done:
        _start_task(_end_when_created(connection, creating))
        raise DeviceFailure(
            Category.DEVICE_UNAVAILABLE,
            f"the hub {connection.shown} opened no session within {target.opening_seconds:g} s",
        )
    try:
        session_id, got = creating.result()
    except BaseException as error:
        await connection.close()
        if isinstance(error, DriverError):
            raise _creation_failure(error) from error
        raise
    return DriverSession(connection, session_id, got)


def capabilities_of(target: HubTarget, app: str | None) -> dict[str, Json]:
    """What the hub is asked for. Only Appium knows commands' timeouts, and is asked by its own capabilities."""
    asked = dict(target.capabilities)
    if not any(name.startswith("appium:") for name in asked):
        return {"unhandledPromptBehavior": "ignore", "timeouts": dict(PAGE_TIMEOUTS), **asked}
    asked["appium:newCommandTimeout"] = target.new_command_timeout
    if str(asked.get("appium:automationName", "")).lower() == "fake" and app is not None:
        asked["appium:app"] = app  # it has no command to install one
    return asked


def _creation_failure(error: DriverError) -> DeviceFailure:
    if _NO_APP.search(error.message):
        return DeviceFailure(Category.APP_INSTALL_FAILED, f"the hub opened no session: {error.message}")
    if _NO_START.search(error.message):
        return DeviceFailure(Category.APP_LAUNCH_FAILED, f"the hub opened no session: {error.message}")
    return DeviceFailure(Category.DEVICE_UNAVAILABLE, f"the hub opened no session: {error.message}")


async def _end_when_created(
    connection: HubConnection, creating: "asyncio.Task[tuple[str, Mapping[str, Json]]]"
) -> None:
    try:
        session_id, got = await creating
    except DeviceFailure:
        await connection.close()  # it was not created after all
        return
    log.info("late_session", hub=connection.shown, session=session_id)
    await end_session(DriverSession(connection, session_id, got), seconds=DELETE_SECONDS)


def _start_task(ending: Coroutine[object, object, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(ending)
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)
    return task


async def _end_in_background(ending: Coroutine[object, object, None]) -> None:
    """Wait a moment for it; it goes on by itself after that."""
    task = _start_task(ending)
    with suppress(asyncio.CancelledError):
        await asyncio.wait({task}, timeout=CANCELLED_SECONDS)


def assemble(
    driver: DriverSession, session: Session, info: DeviceInfo, build: Build, app: str | None
) -> WebDriverDevice:
    """The device of a session; `app` is where the hub can read the app from."""
    got = driver.capabilities
    automation = text_capability(got, "automationName").lower()
    if not automation:
        view = WebView(driver)
        return WebDriverDevice(info, driver, session, BrowserApp(driver, build), BrowserTabs(driver, view))
    if automation == "fake":
        fake = AppiumContexts(driver, FakeView(driver), WebView(driver, by_element=True))
        return WebDriverDevice(info, driver, session, FakeApp(driver), fake)
    phone = IosCommands(driver) if info.platform == "ios" else AndroidCommands(driver)
    press = press_ios if info.platform == "ios" else press_android
    app_id = build.package_name or text_capability(got, "bundleId") or text_capability(got, "appPackage") or None
    contexts = AppiumContexts(
        driver,
        NativeView(driver, info.platform, press),
        WebView(driver, by_element=True),
        in_web=bool(text_capability(got, "browserName")),
    )
    return WebDriverDevice(info, driver, session, PhoneApp(driver, phone, app_id=app_id, app=app), contexts)


def text_capability(capabilities: Mapping[str, Json], name: str) -> str:
    """A capability that is text, with or without Appium's prefix; empty if there is none."""
    value = capabilities.get(name, capabilities.get(f"appium:{name}"))
    return value if isinstance(value, str) else ""
