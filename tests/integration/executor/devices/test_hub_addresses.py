"""Failures are shown to organisations, so no failure shows the address of a hub."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from deploy.local.ports import Ports
from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, DeviceInfo
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, HubConnection
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.sessions import open_device
from tests.integration.executor.devices.scripted_hub import serve

PHONE = DeviceInfo("phone-1", "android", simulated=False)


@pytest.fixture
async def hub() -> AsyncIterator[str]:
    """A hub that answers every request with what its path asks for: an error, no JSON, or no value."""

    async def handle(request: web.Request) -> web.Response:
        if request.path == "/html":
            return web.Response(text=f"<html>proxy of http://{request.host}/</html>")
        if request.path == "/odd":
            return web.json_response({"status": 0})
        message = (
            f"could not proxy to http://{request.host}/wd/hub of 10.1.2.3:8200 and [fd00::7]:8200"
            f" ({request.host}, http://metadata.internal/x) for https://shop.example/a at 8.8.8.8, version 1.2.3"
        )
        return web.json_response({"value": {"error": "unknown error", "message": message}}, status=500)

    async with serve(handle) as url:
        yield url


async def test_driver_errors_keep_their_text_without_private_addresses(hub: str) -> None:
    connection = HubConnection(hub)
    with pytest.raises(DriverError) as raised:
        await connection.call("GET", "/error", seconds=5)
    await connection.close()
    assert raised.value.message == (
        "unknown error: could not proxy to (hub) of (hub) and (hub) ((hub), (hub))"
        " for https://shop.example/a at 8.8.8.8, version 1.2.3"
    )


@pytest.mark.parametrize("path", ["/html", "/odd"])
async def test_malformed_answers_are_described_without_addresses(hub: str, path: str) -> None:
    connection = HubConnection(hub)
    with pytest.raises(DeviceFailure, match="the hub answered 200 without") as raised:
        await connection.call("GET", path, seconds=5)
    await connection.close()
    assert "127.0.0.1" not in raised.value.message


async def test_an_unreachable_hub_is_described_without_its_address() -> None:
    with Ports() as ports:
        url = f"http://127.0.0.1:{ports.take()}"
        with pytest.raises(DeviceFailure, match=r"the hub cannot be reached \(ClientConnectorError\)") as raised:
            await open_device(HubTarget(url=url, capabilities={}), PHONE, AppUnderTest())
    assert "127.0.0.1" not in raised.value.message
