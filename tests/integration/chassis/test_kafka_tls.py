"""Kafka over TLS: every client of the chassis reaches a broker that demands certificates."""

import ssl
from pathlib import Path

import pytest
from aiokafka.errors import KafkaError

from services.chassis.consumer_lag import GroupProgress
from services.chassis.events import Event
from services.chassis.kafka_cluster import KafkaCluster
from services.chassis.producer import Producer
from services.chassis.tls import TlsFiles
from services.chassis.topics import ensure_topics, list_partitions
from tests.certificates import Authority
from tests.eventually import eventually
from tests.integration.chassis.consuming import consuming
from tests.integration.chassis.proxies import BrokerProxy
from tests.unit.chassis.samples import an_event


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.new(tmp_path / "authority")


@pytest.fixture
def broker_tls(authority: Authority) -> ssl.SSLContext:
    """That of a broker which demands certificates of the same authority."""
    files = authority.issue("broker")
    assert files.certificate is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=files.authorities)
    context.load_cert_chain(files.certificate, files.key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def test_events_are_published_and_consumed(
    authority: Authority, broker_proxy: BrokerProxy, topic_suffix: str
) -> None:
    kafka, topic = KafkaCluster(broker_proxy.bootstrap, "SSL", authority.issue("client")), f"tls-{topic_suffix}"
    received: list[Event] = []

    async def keep(events: list[Event]) -> None:
        received.extend(events)

    async with Producer(kafka, {topic: 1}, idempotence=False) as producer:
        assert not any(isinstance(each, Exception) for each in await producer.publish([an_event(topic)]))
        progress = GroupProgress(kafka, f"{topic}-group", [topic])

        async def caught_up() -> bool:
            return await progress.behind(await progress.ends()) == 0

        async with consuming(producer, topic, keep):
            await eventually(lambda: received)
            await eventually(caught_up)


async def test_clients_without_a_certificate_of_the_authority_are_refused(
    authority: Authority, broker_proxy: BrokerProxy, topic_suffix: str, tmp_path: Path
) -> None:
    stranger, address, topics = Authority.new(tmp_path / "stranger"), broker_proxy.bootstrap, {f"tls-{topic_suffix}": 1}
    foreign = stranger.issue("client")
    await ensure_topics(KafkaCluster(address, "SSL", authority.issue("client")), topics)
    for kafka in (
        address,
        KafkaCluster(address, "SSL", TlsFiles(authorities=authority.file)),
        KafkaCluster(address, "SSL", TlsFiles(foreign.certificate, foreign.key, authority.file)),
        KafkaCluster(address, "SSL", stranger.issue("client")),
    ):
        with pytest.raises((KafkaError, OSError)):
            await ensure_topics(kafka, topics, timeout=2)


async def test_a_client_shows_its_new_certificate(
    authority: Authority, broker_proxy: BrokerProxy, tmp_path: Path
) -> None:
    """Also one that was made before, such as a producer that runs for months: its next connection counts."""
    stranger = Authority.new(tmp_path / "stranger")
    kafka = KafkaCluster(broker_proxy.bootstrap, "SSL", authority.issue("client"))
    authority.write("client", stranger.ca.issue_cert("127.0.0.1"))
    with pytest.raises((KafkaError, OSError)):
        await list_partitions(kafka)
    authority.issue("client")
    assert await list_partitions(kafka) is not None
