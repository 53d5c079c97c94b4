"""Authentication over REST, with the three messages of the contract."""

import asyncio
from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import apps_pb2, events_pb2

from services.chassis.clock import SystemClock
from services.chassis.events import Event
from services.chassis.producer import Producer
from services.gateway.app import App
from services.gateway.auth.api_keys import invalid_api_key
from services.gateway.auth.key_cache import KEY_EVENTS_TOPIC
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends, new_key, script_api_key
from tests.integration.gateway.conftest import Client, open_client, run_gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/api/v1/apps"


def no_apps(_: apps_pb2.ListAppsRequest) -> apps_pb2.ListAppsResponse:
    return apps_pb2.ListAppsResponse(page=1)


async def test_a_missing_header_is_a_401(client: Client, gateway: App) -> None:
    async with client.session.get(gateway.url + PATH) as answer:
        assert answer.status == 401
        assert await answer.json() == {"detail": "Authorization header missing"}
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic eDp5",
        "mt_x",
        f"Bearer {'x' * 8000}",
        "Bearer mt_000000000000_" + "0" * 38,
        "Bearer ä",
    ],
)
async def test_a_malformed_key_is_rejected_without_a_call_to_the_catalog(
    client: Client, backends: FakeBackends, header: str
) -> None:
    asked = len(backends.of("VerifyApiKey"))
    answer = await client("GET", PATH, headers={"Authorization": header})
    assert (answer.status, answer.json["detail"]) == (401, "Invalid API key")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert len(backends.of("VerifyApiKey")) == asked


async def test_two_headers_are_rejected(client: Client, gateway: App) -> None:
    headers = [("Authorization", f"Bearer {client.key}"), ("Authorization", f"Bearer {client.key}")]
    async with client.session.get(gateway.url + PATH, headers=headers) as answer:
        assert answer.status == 401
        assert (await answer.json())["detail"] == "Invalid API key"


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


async def test_the_request_timeout_covers_the_verification_of_the_key(client: Client, backends: FakeBackends) -> None:
    never = asyncio.Event()

    async def hang(_: object) -> None:
        await never.wait()

    backends.on("VerifyApiKey", hang)
    async with asyncio.timeout(30):
        answer = await client("GET", PATH, key=new_key(), headers={"X-Request-Timeout": "0.2"})
    assert answer.status == 504


async def test_a_key_event_revokes_a_cached_key(backends: FakeBackends, kafka_bootstrap: str) -> None:
    backends.on("ListApps", no_apps)
    async with (
        Producer(kafka_bootstrap, {KEY_EVENTS_TOPIC: 1}, idempotence=False) as producer,
        run_gateway(backends, kafka_bootstrap=kafka_bootstrap) as app,
        open_client(app, backends) as client,
    ):

        async def status() -> int:
            return (await client("GET", PATH)).status

        async def served() -> bool:
            return await status() == 200

        await eventually(served)
        holder = backends.of("VerifyApiKey")[0]
        answer = backends.answers["VerifyApiKey"](holder.request)
        backends.on("VerifyApiKey", deny)
        assert await status() == 200, "remembered"
        await producer.publish([deletion(answer.api_key_id)])

        async def refused() -> bool:
            return await status() == 401

        await eventually(refused)


def deny(_: object) -> object:
    raise invalid_api_key()


def deletion(key_id: str) -> Event:
    message = events_pb2.ApiKeyChanged(org_id=str(uuid4()), api_key_id=key_id, revision=2, deleted=True)
    return Event(
        topic=KEY_EVENTS_TOPIC,
        key=key_id,
        type=message.DESCRIPTOR.full_name,
        source="test",
        id=str(uuid4()),
        time=SystemClock().now(),
        payload=message.SerializeToString(),
    )
