"""Sessions are opened, and deleted whatever happens to the hub, the browser or the worker."""

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from deploy.devices import hubs
from deploy.devices.hubs import Hub
from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceFailure
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, HubConnection
from mobiletest_automation.devices.webdriver.sessions import (
    delete_session,
    is_ready,
    open_device,
    wait_for_unfinished,
)
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Point, Role
from tests.devices.conftest import BROWSER, FAKE_APP, PHONE, browser_target, phone_target
from tests.devices.gates import gate_before
from tests.devices.screens import seen
from tests.eventually import eventually
from tests.hubs import start_hub
from tests.unit.automation.attempts import fails


@pytest.fixture
def own_appium() -> Iterator[Hub]:
    """A hub that this test may kill."""
    yield from start_hub(hubs.appium)


@pytest.fixture
def own_chromedriver() -> Iterator[Hub]:
    yield from start_hub(hubs.chromedriver)


async def phone_on(hub: Hub, **options: float) -> tuple[Device, Session]:
    opened: list[Session] = []

    async def note(session: Session) -> None:
        opened.append(session)

    target = phone_target(hub, new_command_timeout=options.get("new_command_timeout", 60.0))
    device = await open_device(target, PHONE, AppUnderTest(), app=str(FAKE_APP), on_session=note)
    return device, opened[0]


async def is_gone(session: Session) -> bool:
    """Asks the hub for something in the session."""
    wire = HubConnection(session.hub)
    try:
        await DriverSession(wire, session.id, {}).source()
    except DriverError as error:
        return error.code == "invalid session id"
    finally:
        await wire.close()
    return False


async def browsers(hub: Hub) -> list[object]:
    """The sessions that chromedriver has."""
    wire = HubConnection(hub.url)
    try:
        sessions = await wire.call("GET", "/sessions", seconds=10)
    finally:
        await wire.close()
    assert isinstance(sessions, list)
    return list(sessions)


async def test_closing_deletes_the_session_and_may_be_repeated(appium: Hub) -> None:
    device, session = await phone_on(appium)
    assert session.hub == appium.url
    assert not await is_gone(session)
    await device.close()
    assert await is_gone(session)
    await device.close()
    with pytest.raises(DeviceFailure):
        await device.view.tree()


async def test_an_idle_session_is_ended_by_the_hub(appium: Hub) -> None:
    device, session = await phone_on(appium, new_command_timeout=1.0)
    log = appium.folder / "appium.log"

    def ended() -> bool:
        return session.id in log.read_text().partition("Shutting down because we waited 1 seconds")[2]

    await eventually(ended)
    with fails(Category.SESSION_LOST):
        await device.view.tree()
    await device.close()


async def test_a_session_that_cannot_be_recorded_is_deleted(appium: Hub, own_chromedriver: Hub) -> None:
    known: list[Session] = []

    async def forgetful(session: Session) -> None:
        known.append(session)
        raise LookupError("the lease was lost")

    with pytest.raises(LookupError, match="the lease was lost"):
        await open_device(phone_target(appium), PHONE, AppUnderTest(), app=str(FAKE_APP), on_session=forgetful)
    assert await is_gone(known[0])
    with pytest.raises(LookupError):
        await open_device(browser_target(own_chromedriver), BROWSER, AppUnderTest(), on_session=forgetful)
    assert await browsers(own_chromedriver) == []


async def test_the_session_is_announced_before_it_is_used(appium: Hub) -> None:
    lines: list[str] = []

    async def note(session: Session) -> None:
        lines.extend(line for line in (appium.folder / "appium.log").read_text().splitlines() if session.id in line)

    device = await open_device(phone_target(appium), PHONE, AppUnderTest(), app=str(FAKE_APP), on_session=note)
    await device.close()
    assert not [line for line in lines if "--> " in line and "POST /session " not in line]


async def cancelled(opening: "asyncio.Task[Device]") -> None:
    """Cancel it; it ends although the hub does not answer."""
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening


@pytest.mark.parametrize("answered", [False, True], ids=["before the hub was asked", "before its answer arrived"])
async def test_a_session_whose_opening_is_cancelled_is_deleted(own_chromedriver: Hub, *, answered: bool) -> None:
    async with gate_before(own_chromedriver.url) as gate:
        target = replace(browser_target(own_chromedriver), url=gate.url)
        opening = asyncio.create_task(open_device(target, BROWSER, AppUnderTest()))
        await gate.requests.arrived.wait()
        if answered:
            gate.requests.open.set()
            await gate.answers.arrived.wait()
        await cancelled(opening)
        gate.requests.open.set()
        gate.answers.open.set()
        assert await wait_for_unfinished(60)
    assert gate.answers.arrived.is_set()
    assert await browsers(own_chromedriver) == []


async def test_a_session_whose_opening_is_cancelled_before_it_is_remembered_is_deleted(own_chromedriver: Hub) -> None:
    opened = asyncio.Event()

    async def slow(_: Session) -> None:
        opened.set()
        await asyncio.Event().wait()

    opening = asyncio.create_task(
        open_device(browser_target(own_chromedriver), BROWSER, AppUnderTest(), on_session=slow)
    )
    await opened.wait()
    await cancelled(opening)
    assert await wait_for_unfinished(60)
    assert await browsers(own_chromedriver) == []


async def test_a_cancelled_attempt_closes_its_session_all_the_same(appium: Hub) -> None:
    device, session = await phone_on(appium)
    closing = asyncio.create_task(device.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing

    async def gone() -> bool:
        return await is_gone(session)

    await eventually(gone)


async def test_a_hub_that_is_killed_is_noticed_and_closing_never_fails(own_appium: Hub) -> None:
    device, session = await phone_on(own_appium)
    os.kill(own_appium.child.pid, signal.SIGKILL)
    await own_appium.child.ended(5)
    for order in (device.view.tree(), device.view.screenshot(), device.view.tap(Point(1, 1))):
        with pytest.raises(DeviceFailure) as raised:
            await order
        assert raised.value.category in (Category.SESSION_LOST, Category.NETWORK_ERROR)
        assert "127.0.0.1" not in raised.value.message
    await device.close()
    assert not await delete_session(session)
    assert not await is_ready(own_appium.url)


async def test_a_browser_that_is_killed_is_a_lost_session(own_chromedriver: Hub, web_shop: str) -> None:
    device = await open_device(browser_target(own_chromedriver), BROWSER, AppUnderTest(static_url=web_shop))
    await device.app.launch()
    process = device.driver.capabilities["goog:processID"]  # type: ignore[attr-defined]
    os.kill(process, signal.SIGKILL)
    with fails(Category.SESSION_LOST):
        await device.view.tree()
    await device.close()


async def test_what_a_hub_refuses_is_said(appium: Hub) -> None:
    known = phone_target(appium)
    unknown = replace(known, capabilities={**known.capabilities, "appium:automationName": "Nobody"})
    with fails(Category.DEVICE_UNAVAILABLE, "Nobody"):
        await open_device(unknown, PHONE, AppUnderTest())
    with fails(Category.APP_INSTALL_FAILED):
        await open_device(phone_target(appium), PHONE, AppUnderTest(), app="/nowhere/app.xml")


async def test_hubs_say_that_they_are_ready(appium: Hub, chromedriver: Hub) -> None:
    assert await is_ready(appium.url)
    assert await is_ready(f"{chromedriver.url}/")


async def test_two_browsers_know_nothing_of_each_other(chromedriver: Hub, web_shop: str) -> None:
    target, build = browser_target(chromedriver), AppUnderTest(static_url=web_shop)
    first, second = await asyncio.gather(open_device(target, BROWSER, build), open_device(target, BROWSER, build))
    try:
        await asyncio.gather(first.app.launch(), second.app.launch())
        await first.view.type("ada@example.com", await seen(first, "Email", Role.FIELD))
        assert (await seen(second, "Email", Role.FIELD)).text == ""
    finally:
        await asyncio.gather(first.close(), second.close())
