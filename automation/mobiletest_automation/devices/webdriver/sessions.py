"""Opens sessions at hubs, and ends them in every case."""

import asyncio
import re
from collections.abc import Coroutine, Mapping
from contextlib import suppress

from mobiletest_automation import logs
from mobiletest_automation.devices.port import (
    AppUnderTest,
    Device,
    DeviceFailure,
    DeviceInfo,
    OnSession,
    UncleanDevices,
)
from mobiletest_automation.devices.webdriver.device_cleaner import clean
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device, find_driver, phone_commands
from mobiletest_automation.devices.webdriver.hub_connection import (
    DriverError,
    HubConnection,
    HubUnreachable,
    Json,
)
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category

log = logs.get(__name__)

CLEAN_ORPHAN_SECONDS = 12.0
# How long to wait for a session after its caller gave up, to delete it when it comes.
LATE_SECONDS = 900.0
# How long a cancelled caller waits for the cleanup, which then continues in the background.
CANCELLED_SECONDS = 1.0
DELETE_SECONDS = 20.0
# Milliseconds, less than the timeout of a command, so that a slow page is not blamed on the hub.
PAGE_TIMEOUTS: Mapping[str, Json] = {"pageLoad": 25_000, "script": 25_000}

_NO_APP = re.compile(
    r"does not exist or is not accessible|INSTALL_FAILED|INSTALL_PARSE_FAILED|not installed|could not be installed"
    r"|failed to install|(un)?able to install|cannot install|bad app|ENOENT",
    re.IGNORECASE | re.ASCII,
)
_NO_START = re.compile(
    r"cannot start the .{0,200}application|never started|activity .{0,200}(doesn't|does not) exist|unable to launch",
    re.IGNORECASE | re.ASCII,
)

# Cleanup of sessions in the background.
_unfinished: set[asyncio.Task[None]] = set()


async def open_device(
    target: HubTarget,
    info: DeviceInfo,
    build: AppUnderTest,
    *,
    app: str | None = None,
    on_session: OnSession | None = None,
    unclean: UncleanDevices | None = None,
) -> Device:
    """A device with a new session at the hub.

    `app` is a path or URL from which the hub can read the app; None installs nothing. `on_session` is called with the
    session before it is used. With `unclean` a phone is cleaned of what earlier sessions left, and at its end. No
    session is left behind, even after a cancellation, an exception from `on_session`, or a late answer of the hub.

    Raises:
        DeviceFailure: there is none (device_unavailable, app_install_failed, app_launch_failed, network_error), or its
            driver cannot be used (config_invalid).
    """
    requested = capabilities_of(target, app)
    driver = await _create_session(HubConnection(target.url), target, requested)
    try:
        if on_session is not None:
            await on_session(Session(target.url, driver.id))
        session = HubSession(driver=driver, target=target, info=info, build=build, app=app, unclean=unclean)
        device = assemble_device(session)
        if device.cleaner is not None:
            await device.cleaner.prepare()
        return device
    except BaseException:
        await _end_in_background(driver.end(seconds=DELETE_SECONDS))
        raise


async def delete_session(
    session: Session, *, timeout: float = DELETE_SECONDS, unclean: UncleanDevices | None = None
) -> bool:
    """End a session that a crashed worker left behind, after cleaning its phone. Return whether it is certainly gone.

    Raise errors of `unclean` only. A phone that cannot be cleaned now is cleaned before it is used again.
    """
    connection = HubConnection(session.hub)
    driver = DriverSession(connection, session.id, {})
    try:
        left = await unclean.find_by_session(session.hub, session.id) if unclean is not None else None
        if unclean is not None and left is not None and not left.dedicated:
            await clean(phone_commands(driver, left.platform), unclean, left, seconds=CLEAN_ORPHAN_SECONDS)
        await driver.delete(seconds=timeout)
    except DriverError as error:
        # The hub does not know the session any more, so it is gone; after other errors it may still be there.
        return error.category is Category.SESSION_LOST
    except HubUnreachable as error:
        log.info("session_not_deleted", hub=connection.display_url, error=error.message)
        return False
    finally:
        await connection.close()
    return True


async def is_ready(url: str, *, timeout: float = 5.0) -> bool:
    """Whether the hub answers and accepts sessions; one that does not say is taken to accept them. Never raises."""
    connection = HubConnection(url)
    try:
        status = await connection.call("GET", "/status", seconds=timeout)
    except DeviceFailure:
        return False
    finally:
        await connection.close()
    return not isinstance(status, dict) or status.get("ready") is not False


async def wait_for_unfinished(timeout: float) -> bool:
    """Wait for cleanup in the background, at the end of a process. False if some is unfinished."""
    if not _unfinished:
        return True
    _, pending = await asyncio.wait(set(_unfinished), timeout=timeout)
    return not pending


async def _create_session(connection: HubConnection, target: HubTarget, requested: Mapping[str, Json]) -> DriverSession:
    """The session. The request is never cancelled, because the hub would open a session that nobody deletes."""
    creating = asyncio.create_task(DriverSession.create(connection, requested, seconds=LATE_SECONDS))
    try:
        # `wait`, unlike `wait_for`, leaves the request running when the time is over.
        done, _ = await asyncio.wait({creating}, timeout=target.opening_seconds)
    except asyncio.CancelledError:
        await _end_in_background(_end_when_created(connection, creating))
        raise
    if not done:
        _start_task(_end_when_created(connection, creating))
        raise DeviceFailure(
            Category.DEVICE_UNAVAILABLE,
            f"the hub opened no session within {target.opening_seconds:g} s",
        )
    try:
        return creating.result()
    except BaseException as error:
        await connection.close()
        if isinstance(error, DriverError):
            raise _creation_failure(error) from error
        raise


def capabilities_of(target: HubTarget, app: str | None) -> dict[str, Json]:
    """The capabilities to request. Appium has its own for the command timeout."""
    pool = target.capabilities
    if not any(name.startswith("appium:") for name in pool):
        return {"unhandledPromptBehavior": "ignore", "timeouts": dict(PAGE_TIMEOUTS), **pool}
    driver = find_driver(str(pool.get("appium:automationName", "")))
    requested = {**driver.defaults, **pool, "appium:newCommandTimeout": target.new_command_timeout, **driver.required}
    return {**requested, "appium:app": app} if driver.loads_app and app is not None else requested


def _creation_failure(error: DriverError) -> DeviceFailure:
    category = Category.DEVICE_UNAVAILABLE
    if _NO_APP.search(error.message):
        category = Category.APP_INSTALL_FAILED
    elif _NO_START.search(error.message):
        category = Category.APP_LAUNCH_FAILED
    return DeviceFailure(category, f"the hub opened no session: {error.message}")


async def _end_when_created(connection: HubConnection, creating: asyncio.Task[DriverSession]) -> None:
    try:
        driver = await creating
    except DeviceFailure:
        await connection.close()  # no session was created
        return
    log.info("late_session", hub=connection.display_url, session=driver.id)
    await driver.end(seconds=DELETE_SECONDS)


def _start_task(ending: Coroutine[object, object, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(ending)
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)
    return task


async def _end_in_background(ending: Coroutine[object, object, None]) -> None:
    """Wait for it up to CANCELLED_SECONDS; it continues in the background after that."""
    task = _start_task(ending)
    with suppress(asyncio.CancelledError):
        await asyncio.wait({task}, timeout=CANCELLED_SECONDS)


class WebDriverHubs:
    """The hubs of device pools, and the devices there that must be cleaned."""

    def __init__(self, unclean: UncleanDevices) -> None:
        self._unclean = unclean

    async def open_device(
        self, target: HubTarget, info: DeviceInfo, build: AppUnderTest, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        return await open_device(target, info, build, app=app, on_session=on_session, unclean=self._unclean)

    async def is_ready(self, url: str) -> bool:
        return await is_ready(url)
