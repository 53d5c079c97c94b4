"""Hubs that misbehave in ways that Appium and chromedriver cannot be made to."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from aiohttp import web

from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, DeviceInfo
from mobiletest_automation.devices.webdriver.driver_session import COMMAND_SECONDS, DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, HubConnection, HubUnreachable
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.sessions import (
    delete_session,
    is_ready,
    open_device,
    wait_for_unfinished,
)
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category
from tests.eventually import eventually
from tests.integration.executor.devices.scripted_hub import serve

PHONE = DeviceInfo("phone-1", "android", simulated=False)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
OPENED = {"value": {"sessionId": "one", "capabilities": {"platformName": "Android", "automationName": "UiAutomator2"}}}


class ScriptedHub:
    """Answers each request by `answers["METHOD /path"]`; records its requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.bodies: list[Any] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        order = f"{request.method} {request.path}"
        self.asked.append(order)
        self.bodies.append(await request.json() if request.can_read_body else None)
        answer = self.answers.get(order)
        return await answer(request) if answer else web.json_response({"value": None})


@pytest.fixture
async def hub() -> AsyncIterator[ScriptedHub]:
    scripted = ScriptedHub()
    async with serve(scripted.handle) as scripted.url:
        yield scripted


def says(content: bytes, *, status: int = 200) -> Answer:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=content, status=status, content_type="application/json")

    return answer


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>502 Bad Gateway</html>", "without JSON: '<html>502 Bad Gateway</html>'"),
        (b"", "without JSON"),
        (b"[1]", "without a value"),
        (b'{"status": 0}', "without a value"),
    ],
)
async def test_replies_that_are_not_webdriver_are_network_errors(
    hub: ScriptedHub, content: bytes, message: str
) -> None:
    hub.answers["GET /session/one/source"] = says(content)
    async with driving(hub) as driver:
        with pytest.raises(HubUnreachable, match=message) as raised:
            await driver.source()
    assert raised.value.category is Category.NETWORK_ERROR


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b'"a\\ud83d"', "a\ufffd"),
        (b'"\\ude00a"', "\ufffda"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"a\\u0000b"', "ab"),
        (b'"a\xff"', "a\ufffd"),
        (b'"a\xf0\x9f"', "a\ufffd"),
    ],
)
async def test_texts_of_a_driver_are_made_well_formed(hub: ScriptedHub, written: bytes, text: str) -> None:
    """A page that cuts a text in the middle of an emoji is no reason to lose the session."""
    hub.answers["GET /session/one/source"] = says(b'{"value": %b}' % written)
    failed = b'{"value": {"error": "invalid argument", "message": %b}}' % written
    hub.answers["GET /session/one/url"] = says(failed, status=400)
    async with driving(hub) as driver:
        assert await driver.source() == text
        with pytest.raises(DriverError) as raised:
            await driver.url()
    assert raised.value.message == f"invalid argument: {text}"


async def test_an_endless_reply_is_cut_off(hub: ScriptedHub) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse()
        await reply.prepare(request)
        while True:
            await reply.write(b" " * 65536)

    hub.answers["GET /session/one/source"] = endless
    async with driving(hub, reply_limit=1_000_000) as driver:
        with pytest.raises(HubUnreachable, match="larger than 1000000 bytes"):
            await driver.source()


async def test_commands_time_out(hub: ScriptedHub) -> None:
    hub.answers["GET /session/one/url"] = never
    async with driving(hub) as driver:
        with pytest.raises(HubUnreachable, match=r"did not answer GET /url within 0\.2 s"):
            await driver.get("/url", seconds=0.2)


@pytest.mark.parametrize(
    ("content", "category"),
    [
        (b'{"value": {"error": "invalid session id", "message": "gone"}}', Category.SESSION_LOST),
        (b'{"value": {"error": "unknown error", "message": "tab crashed"}}', Category.APP_CRASH),
        (b'{"value": {"error": "unknown error", "message": "socket hang up"}}', Category.SESSION_LOST),
        (b'{"value": {"error": "unknown error", "message": "whatever"}}', Category.DEVICE_UNAVAILABLE),
        (b'{"value": {"error": 5, "message": null}}', Category.DEVICE_UNAVAILABLE),
        (b'{"value": "odd"}', Category.DEVICE_UNAVAILABLE),
        (b'{"value": null}', Category.DEVICE_UNAVAILABLE),
    ],
)
async def test_errors_of_any_shape_have_a_category(hub: ScriptedHub, content: bytes, category: Category) -> None:
    hub.answers["GET /session/one/source"] = says(content, status=500)
    async with driving(hub) as driver:
        with pytest.raises(DriverError) as raised:
            await driver.source()
    assert raised.value.category is category


@pytest.mark.parametrize("picture", ["not base64!", "", base64.b64encode(b"GIF89a").decode()])
async def test_an_invalid_screenshot_is_an_error(hub: ScriptedHub, picture: str) -> None:
    hub.answers["GET /session/one/screenshot"] = says(b'{"value": "%s"}' % picture.encode())
    async with driving(hub) as driver:
        with pytest.raises(HubUnreachable, match="screenshot"):
            await driver.screenshot()


async def test_a_redirect_is_not_followed(hub: ScriptedHub) -> None:
    async def elsewhere(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "/secret"})

    hub.answers["GET /session/one/source"] = elsewhere
    async with driving(hub) as driver:
        with pytest.raises(HubUnreachable):
            await driver.source()
    assert "GET /secret" not in hub.asked


async def test_messages_do_not_contain_the_urls_password(hub: ScriptedHub) -> None:
    hub.answers["GET /session/one/source"] = says(b"no")
    wire = HubConnection(hub.url.replace("http://", "http://ada:lovelace@"))
    try:
        with pytest.raises(HubUnreachable) as raised:
            await DriverSession(wire, "one", {}).source()
    finally:
        await wire.close()
    assert "lovelace" not in raised.value.message


def opened_after(moment: asyncio.Event) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        await moment.wait()
        return web.json_response(OPENED)

    return answer


async def test_a_late_session_is_deleted(hub: ScriptedHub) -> None:
    answered = asyncio.Event()
    hub.answers["POST /session"] = opened_after(answered)
    target = HubTarget(url=hub.url, capabilities={"appium:automationName": "UiAutomator2"}, opening_seconds=0.1)
    with pytest.raises(DeviceFailure, match=r"opened no session within 0\.1 s") as raised:
        await open_device(target, PHONE, AppUnderTest())
    assert raised.value.category is Category.DEVICE_UNAVAILABLE
    answered.set()
    assert await wait_for_unfinished(10)
    assert hub.asked == ["POST /session", "DELETE /session/one"]


@pytest.mark.parametrize(
    ("message", "category"),
    [
        ("no device is connected", Category.DEVICE_UNAVAILABLE),
        ("Failure [INSTALL_FAILED_NO_MATCHING_ABIS]", Category.APP_INSTALL_FAILED),
        ("Cannot start the 'com.example.shop' application", Category.APP_LAUNCH_FAILED),
    ],
)
async def test_a_refused_session_says_whether_the_device_or_the_app_is_at_fault(
    hub: ScriptedHub, message: str, category: Category
) -> None:
    hub.answers["POST /session"] = says(
        b'{"value": {"error": "session not created", "message": "%s"}}' % message.encode(), status=500
    )
    with pytest.raises(DeviceFailure) as raised:
        await open_device(HubTarget(url=hub.url, capabilities={}), PHONE, AppUnderTest())
    assert (raised.value.category, message in raised.value.message) == (category, True)


async def test_a_session_opened_after_a_cancellation_is_deleted(hub: ScriptedHub) -> None:
    answered = asyncio.Event()
    hub.answers["POST /session"] = opened_after(answered)
    opening = asyncio.create_task(open_device(HubTarget(url=hub.url, capabilities={}), PHONE, AppUnderTest()))
    await eventually(lambda: hub.asked)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    answered.set()
    assert await wait_for_unfinished(10)
    assert hub.asked == ["POST /session", "DELETE /session/one"]


async def test_closing_does_not_wait_for_a_dead_hub(hub: ScriptedHub) -> None:
    hub.answers["POST /session"] = opened
    hub.answers["DELETE /session/one"] = never
    assert not await delete_session(Session(hub.url, "one"), timeout=0.1)
    device = await open_device(HubTarget(url=hub.url, capabilities={}), PHONE, AppUnderTest())
    closing = asyncio.create_task(device.close())
    await eventually(lambda: hub.asked[-2:] == ["POST /session", "DELETE /session/one"])
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing


@pytest.mark.parametrize(("code", "told"), [("unknown error", True), ("invalid session id", False)])
async def test_a_session_that_may_be_left_behind_is_logged(hub: ScriptedHub, code: str, told: bool) -> None:
    hub.answers["POST /session"] = opened
    refusal = b'{"value": {"error": "%s", "message": "no"}}' % code.encode()
    hub.answers["DELETE /session/one"] = says(refusal, status=500)
    device = await open_device(HubTarget(url=hub.url, capabilities={}), PHONE, AppUnderTest())
    with structlog.testing.capture_logs() as said:
        await device.close()
    assert ("session_not_deleted" in [entry["event"] for entry in said]) is told


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"value": {"ready": true}}', True),
        (b'{"value": {"ready": false}}', False),
        (b'{"value": {"build": {}}}', True),
        (b"nonsense", False),
    ],
)
async def test_readiness_is_what_the_hub_reports(hub: ScriptedHub, content: bytes, expected: bool) -> None:
    hub.answers["GET /status"] = says(content)
    assert await is_ready(hub.url) is expected


async def test_a_hub_that_does_not_answer_is_not_ready(hub: ScriptedHub) -> None:
    hub.answers["GET /status"] = never
    assert not await is_ready(hub.url, timeout=0.1)


async def test_sessions_end_when_idle_and_pages_load_in_less_time_than_a_command_has(hub: ScriptedHub) -> None:
    hub.answers["POST /session"] = opened
    for capabilities in ({"appium:automationName": "UiAutomator2"}, {"browserName": "chrome"}):
        device = await open_device(HubTarget(url=hub.url, capabilities=capabilities), PHONE, AppUnderTest())
        await device.close()
    phone, browser = [body["capabilities"]["alwaysMatch"] for body in hub.bodies if body]
    assert phone["appium:newCommandTimeout"] == 90.0
    assert max(browser["timeouts"].values()) / 1000 < COMMAND_SECONDS


async def opened(request: web.Request) -> web.StreamResponse:
    return web.json_response(OPENED)


async def never(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


@asynccontextmanager
async def driving(hub: ScriptedHub, **options: int) -> AsyncIterator[DriverSession]:
    """A session "one" at the hub."""
    wire = HubConnection(hub.url, **options)
    try:
        yield DriverSession(wire, "one", {})
    finally:
        await wire.close()
