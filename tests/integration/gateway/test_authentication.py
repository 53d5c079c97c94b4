"""Authentication over REST, with the three messages of the contract."""

import asyncio

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.errors import Unavailable
from services.gateway.app import RunningGateway
from tests.fakes.gateway import FakeBackends, new_key, script_api_key
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/api/v1/apps"


def no_apps(_: apps_pb2.ListAppsRequest) -> apps_pb2.ListAppsResponse:
    return apps_pb2.ListAppsResponse(page=1)


async def test_a_missing_header_is_a_401(client: Client, gateway: RunningGateway) -> None:
    async with client.session.get(gateway.url + PATH) as answer:
        assert answer.status == 401
        assert await answer.json() == {"detail": "Authorization header missing"}
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["", f"Bearer {'x' * 8000}", "Bearer mt_000000000000_" + "0" * 38, "Bearer ä"])
async def test_a_malformed_key_is_rejected_without_a_call_to_the_catalog(
    client: Client, backends: FakeBackends, header: str
) -> None:
    asked = len(backends.of("VerifyApiKey"))
    answer = await client("GET", PATH, headers={"Authorization": header})
    assert (answer.status, answer.json["detail"]) == (401, "Invalid API key")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert len(backends.of("VerifyApiKey")) == asked


async def test_the_scheme_is_case_insensitive(client: Client, backends: FakeBackends) -> None:
    backends.on("ListApps", no_apps)
    answer = await client("GET", PATH, headers={"Authorization": f"bearer {client.key}"})
    assert answer.status == 200


async def test_a_missing_scope_is_named(client: Client, backends: FakeBackends) -> None:
    key = script_api_key(backends, "read")
    answer = await client("POST", PATH, key=key, json={"name": "x", "platform": "iOS"})
    assert (answer.status, answer.json) == (
        403,
        {"detail": "This API key lacks the scope write", "code": "SCOPE_MISSING"},
    )
    assert backends.of("CreateApp") == []


async def test_services_receive_the_caller(client: Client, backends: FakeBackends) -> None:
    backends.on("ListApps", no_apps)
    key = script_api_key(backends, "read", "write", org_id="an-organisation")
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await client("GET", PATH, key=key, headers={"X-Request-ID": "my-id", "traceparent": trace})
    caller = backends.of("ListApps")[0].caller
    assert (caller.org_id, caller.scopes, caller.request_id) == (
        "an-organisation",
        frozenset({"read", "write"}),
        "my-id",
    )
    assert caller.via_gateway
    assert caller.traceparent == trace
    assert caller.subject


async def test_a_catalog_that_is_down_is_a_503_and_not_a_401(client: Client, backends: FakeBackends) -> None:
    backends.fail("VerifyApiKey", Unavailable("down"))
    assert (await client("GET", PATH, key=new_key())).status == 503


async def test_the_request_timeout_covers_the_verification_of_the_key(client: Client, backends: FakeBackends) -> None:
    backends.hang("VerifyApiKey")
    async with asyncio.timeout(30):
        answer = await client("GET", PATH, key=new_key(), headers={"X-Request-Timeout": "0.2"})
    assert answer.status == 504
