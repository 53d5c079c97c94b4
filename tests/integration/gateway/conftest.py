"""A running gateway before scripted services, one for each module."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from services.gateway.app import RunningGateway, start_app
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
    """Without a broker, unless `settings_overrides` names one: the gateway serves all the same."""
    values = {
        "service_token": TOKEN,
        "http_listen": "127.0.0.1:0",
        "kafka_bootstrap": NO_BROKER,
        "object_store": "memory:///",
        "kafka_idempotence": False,
        "kafka_session_seconds": 2,
        "shutdown_grace_seconds": 1,
        **{f"{name}_address": address for name, address in backends.addresses.items()},
        **settings_overrides,
    }
    return Settings(**values)


@asynccontextmanager
async def run_gateway(backends: FakeBackends, **settings_overrides: Any) -> AsyncIterator[RunningGateway]:
    """A gateway that is ready."""
    async with start_app(gateway_settings(backends, **settings_overrides)) as app:

        async def ready() -> bool:
            async with aiohttp.request("GET", f"{app.url}/readyz") as answer:
                return answer.status == 200

        await eventually(ready)
        yield app


@asynccontextmanager
async def open_client(gateway: RunningGateway, backends: FakeBackends) -> AsyncIterator[Client]:
    """A client with a key of its own organisation."""
    async with aiohttp.ClientSession() as session:
        yield Client(session, gateway.url, script_api_key(backends))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_backends() -> AsyncIterator[FakeBackends]:
    """The services of all tests of a module."""
    async with run_fake_backends() as services:
        yield services


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    """Settings that differ from the defaults; a test module overrides this."""
    return {}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The object store of the gateway."""
    return tmp_path_factory.mktemp("objects")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(
    shared_backends: FakeBackends, settings_overrides: dict[str, Any], store: Path
) -> AsyncIterator[RunningGateway]:
    """The gateway of all tests of a module, which neither stop services nor make reporting's statistics fail."""
    patient = {"stats_timeout_seconds": 60}  # a busy machine would get apps without their statistics
    objects = {"object_store": store.as_uri()}
    async with run_gateway(shared_backends, **objects | patient | settings_overrides) as app:
        yield app


@pytest.fixture
def backends(shared_backends: FakeBackends) -> FakeBackends:
    """The services without the answers and calls of other tests."""
    shared_backends.reset()
    return shared_backends


@pytest_asyncio.fixture(loop_scope="module")
async def client(gateway: RunningGateway, backends: FakeBackends) -> AsyncIterator[Client]:
    async with open_client(gateway, backends) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def own_backends() -> AsyncIterator[FakeBackends]:
    """Services of a single test, which may stop them."""
    async with run_fake_backends() as services:
        yield services


@pytest_asyncio.fixture(loop_scope="module")
async def own_client(own_backends: FakeBackends) -> AsyncIterator[Client]:
    """A client of a gateway of a single test."""
    async with run_gateway(own_backends) as app, open_client(app, own_backends) as client:
        yield client
