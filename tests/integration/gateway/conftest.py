"""A running gateway before scripted services."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from services.gateway.app import App, start_app
from services.gateway.settings import Settings
from tests.eventually import eventually
from tests.fakes.gateway import TOKEN, FakeBackends, run_fake_backends, script_api_key

NO_BROKER = "127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer."""

    status: int
    headers: Any
    body: bytes
    json: Any


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks REST with a key that has every scope."""

    session: aiohttp.ClientSession
    url: str
    key: str

    async def __call__(self, verb: str, path: str, *, key: str | None = None, **options: Any) -> Answer:
        headers = {"Authorization": f"Bearer {key or self.key}", **options.pop("headers", {})}
        async with self.session.request(verb, self.url + path, headers=headers, **options) as response:
            body = await response.read()
            is_json = response.content_type == "application/json" and body
            return Answer(response.status, response.headers, body, await response.json() if is_json else None)


def gateway_settings(backends: FakeBackends, **settings_overrides: Any) -> Settings:
    """Without a broker, unless `changes` names one: the gateway serves all the same."""
    values = {
        "service_tokens": TOKEN,
        "http_listen": "127.0.0.1:0",
        "kafka_bootstrap": NO_BROKER,
        "kafka_idempotence": False,
        "kafka_session_seconds": 2,
        "shutdown_grace_seconds": 1,
        **{f"{name}_address": address for name, address in backends.addresses.items()},
        **settings_overrides,
    }
    return Settings(**values)


@pytest.fixture
async def backends() -> AsyncIterator[FakeBackends]:
    async with run_fake_backends() as services:
        yield services


@pytest.fixture
def settings_overrides() -> dict[str, Any]:
    """Settings that differ from the defaults; a test module overrides this."""
    return {}


@pytest.fixture
async def gateway(backends: FakeBackends, settings_overrides: dict[str, Any]) -> AsyncIterator[App]:
    async with start_app(gateway_settings(backends, **settings_overrides)) as app:
        yield app


@pytest.fixture
async def client(gateway: App, backends: FakeBackends) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as session:
        client = Client(session, gateway.url, script_api_key(backends))

        async def ready() -> bool:
            return (await client("GET", "/readyz")).status == 200

        await eventually(ready)
        yield client
