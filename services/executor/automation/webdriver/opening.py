"""Opens sessions at hubs, and closes them whatever happens."""

import asyncio
import re
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass

from services.chassis import logs
from services.executor.automation.devices import Build, Device, DeviceFailure, DeviceInfo, OnSession, Session
from services.executor.automation.webdriver import client
from services.executor.automation.webdriver.assembling import assemble
from services.executor.automation.webdriver.client import DriverSession
from services.executor.automation.webdriver.ending import end
from services.executor.automation.webdriver.wire import DriverError, HubAway, Json, Wire
from services.executor.model.failures import Category

__all__ = ["NEW_COMMAND_SECONDS", "Json", "Target", "delete_session", "open_device", "ready", "settled"]

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
class Target:
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
    target: Target, info: DeviceInfo, build: Build, *, app: str | None = None, on_session: OnSession | None = None
) -> Device:
    """A device with a session of its own at the hub.

    `app` is a path or URL that the hub can read the app from; None installs nothing. `on_session` is told of the
    session before anything is done in it. Raises DeviceFailure: device_unavailable, app_install_failed,
    app_launch_failed, network_error. Whatever ends it early, no session is left behind: neither by a cancellation,
    nor by an `on_session` that raises, nor by a hub that answers when nobody waits any more.
    """
    wire = Wire(target.url)
    driver = await _created(wire, target, app)
    session = Session(target.url, driver.id)
    try:
        if on_session is not None:
            await on_session(session)
        return assemble(driver, session, info, build, app)
    except BaseException:
        await _behind(end(driver, seconds=DELETE_SECONDS))
        raise


async def delete_session(session: Session, *, timeout: float = DELETE_SECONDS) -> bool:
    """End a session that somebody left behind; whether it is certainly gone now. Never raises."""
    wire = Wire(session.hub)
    try:
        await client.delete_session(wire, session.id, seconds=timeout)
    except DriverError as error:
        return error.category is Category.SESSION_LOST
    except HubAway as error:
        log.info("session_not_deleted", hub=wire.shown, error=error.message)
        return False
    finally:
        await wire.close()
    return True


async def ready(url: str, *, timeout: float = 5.0) -> bool:
    """Whether the hub answers and says that it takes sessions. Never raises."""
    wire = Wire(url)
    try:
        return await client.status(wire, seconds=timeout)
    except DeviceFailure:
        return False
    finally:
        await wire.close()


async def settled(timeout: float) -> bool:
    """Wait for what goes on behind everybody's back; for the end of a process. False if some still does."""
    if not _unfinished:
        return True
    _, pending = await asyncio.wait(set(_unfinished), timeout=timeout)
    return not pending


async def _created(wire: Wire, target: Target, app: str | None) -> DriverSession:
    """The session; the request for it is never given up, as the hub would then answer to nobody."""
    asked = capabilities_of(target, app)
    creating = asyncio.create_task(client.new_session(wire, asked, seconds=LATE_SECONDS))
    try:
        done, _ = await asyncio.wait({creating}, timeout=target.opening_seconds)
    except asyncio.CancelledError:
        await _behind(_end_when_created(wire, creating))
        raise
    if not done:
        _start(_end_when_created(wire, creating))
        raise DeviceFailure(
            Category.DEVICE_UNAVAILABLE,
            f"the hub {wire.shown} opened no session within {target.opening_seconds:g} s",
        )
    try:
        session_id, got = creating.result()
    except BaseException as error:
        await wire.close()
        if isinstance(error, DriverError):
            raise _refused(error) from error
        raise
    return DriverSession(wire, session_id, got)


def capabilities_of(target: Target, app: str | None) -> dict[str, Json]:
    """What the hub is asked for. Only Appium knows commands' timeouts, and is asked by its own capabilities."""
    asked = dict(target.capabilities)
    if not any(name.startswith("appium:") for name in asked):
        return {"unhandledPromptBehavior": "ignore", "timeouts": dict(PAGE_TIMEOUTS), **asked}
    asked["appium:newCommandTimeout"] = target.new_command_timeout
    if str(asked.get("appium:automationName", "")).lower() == "fake" and app is not None:
        asked["appium:app"] = app  # it has no command to install one
    return asked


def _refused(error: DriverError) -> DeviceFailure:
    if _NO_APP.search(error.message):
        return DeviceFailure(Category.APP_INSTALL_FAILED, f"the hub opened no session: {error.message}")
    if _NO_START.search(error.message):
        return DeviceFailure(Category.APP_LAUNCH_FAILED, f"the hub opened no session: {error.message}")
    return DeviceFailure(Category.DEVICE_UNAVAILABLE, f"the hub opened no session: {error.message}")


async def _end_when_created(wire: Wire, creating: "asyncio.Task[tuple[str, Mapping[str, Json]]]") -> None:
    try:
        session_id, got = await creating
    except DeviceFailure:
        await wire.close()  # it was not created after all
        return
    log.info("late_session", hub=wire.shown, session=session_id)
    await end(DriverSession(wire, session_id, got), seconds=DELETE_SECONDS)


def _start(ending: Coroutine[object, object, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(ending)
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)
    return task


async def _behind(ending: Coroutine[object, object, None]) -> None:
    """Wait a moment for it; it goes on by itself after that."""
    task = _start(ending)
    with suppress(asyncio.CancelledError):
        await asyncio.wait({task}, timeout=CANCELLED_SECONDS)
