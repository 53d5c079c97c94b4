"""Kafka over TLS: every client of the chassis reaches a broker that demands certificates."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka.errors import KafkaError

from services.chassis.consumer import Consumer
from services.chassis.events import Event
from services.chassis.group_progress import GroupProgress
from services.chassis.kafka_cluster import KafkaCluster
from services.chassis.producer import Producer
from services.chassis.tls import TlsFiles
from services.chassis.topics import ensure_topics, list_partitions
from tests.certificates import Authority
from tests.eventually import eventually
from tests.integration.chassis.broker_proxy import BrokerProxy, proxied_broker
from tests.unit.chassis.samples import an_event

TOPIC = "tls-events"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.new(tmp_path / "authority")


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """That of a broker which demands certificates of the same authority."""
    assert files.certificate is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=files.authorities)
    context.load_cert_chain(files.certificate, files.key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@asynccontextmanager
async def secured_broker(authority: Authority, tmp_path: Path) -> AsyncIterator[BrokerProxy]:
    tls = server_context(authority.issue("broker"))
    async with proxied_broker(tmp_path / "broker.log", tls) as broker:
        yield broker


async def test_events_are_published_and_consumed(authority: Authority, tmp_path: Path) -> None:
    async with secured_broker(authority, tmp_path) as broker:
        kafka = KafkaCluster(broker.bootstrap, "SSL", authority.issue("client"))
        received: list[Event] = []

        async def keep(events: list[Event]) -> None:
            received.extend(events)

        async with Producer(kafka, {TOPIC: 1}, idempotence=False) as producer:
            assert not any(isinstance(each, Exception) for each in await producer.publish([an_event(TOPIC)]))
            group = f"group-{uuid4()}"
            consumer = Consumer([TOPIC], group, keep, kafka=kafka, instance_id=None, dlq=producer, session_seconds=1)
            running = asyncio.create_task(consumer.run())
            await eventually(lambda: received)
            progress = GroupProgress(kafka, group, [TOPIC])

            async def caught_up() -> bool:
                return await progress.behind(await progress.ends()) == 0

            await eventually(caught_up)
            consumer.stop()
            await running


async def test_clients_without_a_certificate_of_the_authority_are_refused(authority: Authority, tmp_path: Path) -> None:
    stranger = Authority.new(tmp_path / "stranger")
    foreign = stranger.issue("client")
    async with secured_broker(authority, tmp_path) as broker:
        await ensure_topics(KafkaCluster(broker.bootstrap, "SSL", authority.issue("client")), {TOPIC: 1})
        for kafka in (
            broker.bootstrap,
            KafkaCluster(broker.bootstrap, "SSL", TlsFiles(authorities=authority.file)),
            KafkaCluster(broker.bootstrap, "SSL", TlsFiles(foreign.certificate, foreign.key, authority.file)),
            KafkaCluster(broker.bootstrap, "SSL", stranger.issue("client")),
        ):
            with pytest.raises((KafkaError, OSError)):
                await ensure_topics(kafka, {TOPIC: 1}, timeout=2)


async def test_a_client_shows_its_new_certificate(authority: Authority, tmp_path: Path) -> None:
    """Also one that was made before, such as a producer that runs for months: its next connection counts."""
    stranger = Authority.new(tmp_path / "stranger")
    files = authority.issue("client")
    async with secured_broker(authority, tmp_path) as broker:
        kafka = KafkaCluster(broker.bootstrap, "SSL", files)
        authority.write("client", stranger.ca.issue_cert("127.0.0.1"))
        with pytest.raises((KafkaError, OSError)):
            await list_partitions(kafka)
        authority.issue("client")
        assert await list_partitions(kafka) is not None
