"""What the catalog announces on Kafka: each change, whole, in the order of its revisions."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
import pytest_asyncio
from mobiletest.catalog.v1 import api_keys_pb2, apps_pb2, builds_pb2, events_pb2

from services.catalog.events import CATALOG_EVENTS, KEY_EVENTS
from services.chassis import context
from services.chassis.consumer import Consumer
from services.chassis.events import Event
from services.chassis.lifecycle import Background
from services.chassis.producer import Producer
from tests.eventually import eventually
from tests.integration.catalog.conftest import Service
from tests.integration.catalog.test_apps_rpc import made

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def events(service: Service, kafka_bootstrap: str) -> AsyncIterator[list[Event]]:
    """What is on the topics, in the order of arrival, each event once: the broker may have it twice."""
    seen: list[Event] = []

    async def handler(batch: list[Event]) -> None:
        seen.extend(event for event in batch if event not in seen)

    topics = [CATALOG_EVENTS, KEY_EVENTS]
    async with (
        Background() as background,
        Producer(kafka_bootstrap, dict.fromkeys(topics, 1), idempotence=False) as dlq,
    ):
        group = f"test-{uuid4()}"
        consumer = Consumer(topics, group, handler, kafka=kafka_bootstrap, instance_id=None, dlq=dlq, session_seconds=1)
        async with background.run("consumer", consumer.run(), stop=consumer.stop):
            yield seen


async def test_the_changes_of_an_app_are_announced(service: Service, events: list[Event]) -> None:
    """With a build before the app that knows it, under the app's key."""
    app = await made(service)
    new = builds_pb2.CreateBuildRequest(app_id=app.id, version="1", artifact_url="https://x.test")
    build = await service.builds.CreateBuild(new)
    await service.apps.DeleteApp(apps_pb2.DeleteAppRequest(app_id=app.id))

    def of_app() -> list[Event]:
        return [event for event in events if event.key == app.id]

    await eventually(lambda: len(of_app()) >= 5)
    published = [event.type.rpartition(".")[2] for event in of_app()]
    assert published == ["AppChanged", "BuildChanged", "AppChanged", "BuildChanged", "AppChanged"]
    payloads = [event.payload for event in of_app()]
    first, last = (events_pb2.AppChanged.FromString(payloads[index]) for index in (0, -1))
    assert (first.name, first.revision, first.deleted, first.org_id) == ("Shop", 1, False, context.current().org_id)
    assert (last.revision, last.deleted) == (3, True)
    uploaded = events_pb2.BuildChanged.FromString(payloads[1])
    assert (uploaded.build_id, uploaded.version, uploaded.uploaded_at) == (build.id, "1", build.uploaded_at)


@pytest.mark.usefixtures("operator")
async def test_the_deletion_of_a_key_is_announced(service: Service, events: list[Event]) -> None:
    """So that every gateway forgets it."""
    key = await service.keys.CreateApiKey(api_keys_pb2.CreateApiKeyRequest(name="ci"))
    await service.keys.DeleteApiKey(api_keys_pb2.DeleteApiKeyRequest(api_key_id=key.id))

    def of_key() -> list[Event]:
        return [event for event in events if event.topic == KEY_EVENTS and event.key == key.id]

    await eventually(lambda: len(of_key()) >= 2)
    published = [events_pb2.ApiKeyChanged.FromString(event.payload) for event in of_key()]
    assert [(t.api_key_id, t.revision, t.deleted) for t in published] == [(key.id, 1, False), (key.id, 2, True)]
