"""deploy/kafka/acls.sh on Apache Kafka with users and its authorizer: services do their work, and cannot forge that of
others.

With MOBILETEST_KAFKA_LIBS, a folder of Kafka's jars, the broker runs in a JVM of this machine instead of the image.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError, TopicAuthorizationFailedError
from pydantic import SecretStr

from deploy.local.ports import LOOPBACK, Ports
from services.catalog.events import CATALOG_EVENTS, KEY_EVENTS
from services.catalog.events import TOPICS as CATALOG_TOPICS
from services.chassis.consumer import Consumer
from services.chassis.consumer_lag import GroupProgress
from services.chassis.events import Event
from services.chassis.kafka_cluster import KafkaCluster
from services.chassis.producer import Producer, PublishResult
from services.chassis.topics import ensure_topics
from services.executor.events import EXECUTION_EVENTS, RUN_REQUESTS
from services.executor.events import TOPICS as EXECUTOR_TOPICS
from services.gateway.app import KEY_EVENTS as GATEWAY_TOPICS
from services.reporting.consumer import TOPICS as REPORTING_TOPICS
from tests.eventually import eventually
from tests.images.docker import ROOT
from tests.unit.chassis.samples import an_event

pytestmark = pytest.mark.timeout(400)

LIBS = os.environ.get("MOBILETEST_KAFKA_LIBS")
IMAGE = os.environ.get("MOBILETEST_KAFKA_IMAGE", "mobiletest/kafka:8.1.1")
SCRIPTS = ROOT / "deploy" / "kafka"
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
USERS = ("gateway", "catalog", "executor-api", "executor-worker", "reporting", "operator", "stranger")
LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="admin-secret";'
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
controller.listener.names=CONTROLLER
listeners=SASL_PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=SASL_PLAINTEXT://{host}:{port}
listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=SASL_PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config={login}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.dirs={folder}/data
"""


def of_kafka(folder: Path, *command: str) -> list[str]:
    """A command where Kafka is installed, in a container that has the folder, or on this machine."""
    if LIBS:
        return list(command)
    mounts = ("--volume", f"{folder}:{folder}", "--volume", f"{SCRIPTS}:{SCRIPTS}:ro")
    docker = ("docker", "run", "--rm", "--interactive", "--network", "host", *mounts)
    return [*docker, "--user", f"{os.getuid()}:{os.getgid()}", IMAGE, *command]


def java(*arguments: str) -> list[str]:
    """The command that runs a class of Kafka, in a JVM for a short life."""
    jvm = ("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    return [*jvm, "-cp", f"{LIBS or '/opt/kafka/libs'}/*", *arguments]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker with the users of mobiletest and the rights of acls.txt."""
    folder = tmp_path_factory.mktemp("kafka")
    with Ports() as ports:
        port, controller = ports.take(), ports.take()
        text = PROPERTIES.format(host=LOOPBACK, port=port, controller=controller, login=LOGIN, folder=folder)
        (folder / "server.properties").write_text(text)
        secrets = [f"SCRAM-SHA-512=[name={name},password={name}-secret]" for name in ("admin", *map(user, USERS))]
        scram = [argument for secret in secrets for argument in ("--add-scram", secret)]
        arguments = ("format", "--cluster-id", CLUSTER, "--config", str(folder / "server.properties"), *scram)
        storage = of_kafka(folder, *java("kafka.tools.StorageTool", *arguments))
        subprocess.run(storage, check=True, capture_output=True)
        with (folder / "broker.log").open("wb") as log:
            command = of_kafka(folder, *java("kafka.Kafka", str(folder / "server.properties")))
            broker = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            set_rights(folder, f"{LOOPBACK}:{port}")
            yield f"{LOOPBACK}:{port}"
        finally:
            os.killpg(broker.pid, signal.SIGTERM)
            broker.wait()


def set_rights(folder: Path, address: str) -> None:
    """As an administrator does. The first of many JVMs saves its classes for the others."""
    admin = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={LOGIN}\n"
    (folder / "admin.properties").write_text(admin)
    jvm, *rest = java("org.apache.kafka.tools.AclCommand")
    classes = folder / "acls.jsa"
    saved = f"$([ -e {classes} ] && echo -XX:SharedArchiveFile={classes} || echo -XX:ArchiveClassesAtExit={classes})"
    command = " ".join([jvm, saved, *(f"'{part}'" for part in rest)])
    (folder / "kafka-acls").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    (folder / "kafka-acls").chmod(0o755)
    script = ("sh", str(SCRIPTS / "acls.sh"), address, str(folder / "admin.properties"))
    with (SCRIPTS / "acls.txt").open() as rights:
        done = subprocess.run(
            of_kafka(folder, "env", f"KAFKA_ACLS={folder / 'kafka-acls'}", *script),
            stdin=rights,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:] + (folder / "broker.log").read_text()[-2000:]


def user(name: str) -> str:
    return f"mobiletest-{name}"


def cluster(address: str, name: str, password: str | None = None) -> KafkaCluster:
    """How this service reaches the broker."""
    secret = SecretStr(password or f"{user(name)}-secret")
    return KafkaCluster(address, "SASL_PLAINTEXT", mechanism="SCRAM-SHA-512", user=user(name), password=secret)


@pytest.fixture(scope="module", autouse=True)
def topics(address: str) -> None:
    """All topics, created by the services that publish them."""
    asyncio.run(ensure_topics(cluster(address, "catalog"), CATALOG_TOPICS))
    asyncio.run(ensure_topics(cluster(address, "executor-api"), EXECUTOR_TOPICS))


async def published(kafka: KafkaCluster, topics: dict[str, int], topic: str) -> PublishResult | Exception:
    async with Producer(kafka, topics) as producer:
        (result,) = await producer.publish([an_event(topic)])
    return result


CREATED = {
    "gateway": GATEWAY_TOPICS,
    "catalog": CATALOG_TOPICS,
    "executor-api": EXECUTOR_TOPICS,
    "executor-worker": EXECUTOR_TOPICS,
    "reporting": REPORTING_TOPICS,
}
EVENTS = (CATALOG_EVENTS, KEY_EVENTS, EXECUTION_EVENTS, *RUN_REQUESTS.values())
WRITERS = {
    **dict.fromkeys((CATALOG_EVENTS, KEY_EVENTS), ("catalog",)),
    **dict.fromkeys((EXECUTION_EVENTS, *RUN_REQUESTS.values()), ("executor-api", "executor-worker")),
}


@pytest.mark.parametrize("topic", EVENTS)
@pytest.mark.parametrize("service", CREATED)
async def test_only_its_own_services_publish_to_a_topic(address: str, service: str, topic: str) -> None:
    result = await published(cluster(address, service), CREATED[service], topic)
    if service in WRITERS[topic]:
        assert isinstance(result, PublishResult), result
    else:
        assert isinstance(result, TopicAuthorizationFailedError | TimeoutError), result


@pytest.mark.parametrize(
    ("service", "topic", "group"),
    [
        ("gateway", KEY_EVENTS, "gateway-1"),
        ("reporting", EXECUTION_EVENTS, "mobiletest-reporting"),
        ("executor-worker", next(iter(RUN_REQUESTS.values())), "executor-workers-android"),
    ],
)
async def test_services_consume_and_dead_letter(address: str, service: str, topic: str, group: str) -> None:
    kafka, received = cluster(address, service), asyncio.Queue[Event]()

    async def keep(events: list[Event]) -> None:
        for event in events:
            await received.put(event)

    assert isinstance(await published(cluster(address, WRITERS[topic][0]), {}, topic), PublishResult)
    async with Producer(kafka, CREATED[service]) as dlq:
        consumer = Consumer([topic], group, keep, kafka=kafka, instance_id=None, dlq=dlq, session_seconds=6)
        running = asyncio.create_task(consumer.run())
        assert (await asyncio.wait_for(received.get(), 60)).topic == topic
        (letter,) = await dlq.publish([an_event(f"{topic}.dlq")])
        assert isinstance(letter, PublishResult), letter
        progress = GroupProgress(kafka, group, [topic])

        async def caught_up() -> bool:
            return await progress.behind(await progress.ends()) == 0

        await eventually(caught_up)
        consumer.stop()
        await running


async def test_an_unknown_kafka_user_is_refused(address: str) -> None:
    with pytest.raises((TopicAuthorizationFailedError, GroupAuthorizationFailedError, KafkaError)):
        await ensure_topics(cluster(address, "stranger"), {CATALOG_EVENTS: 1})
    assert isinstance(await published(cluster(address, "stranger"), {}, CATALOG_EVENTS), Exception)


async def test_a_wrong_password_is_refused(address: str) -> None:
    with pytest.raises(KafkaError):
        await ensure_topics(cluster(address, "catalog", "guessed"), CATALOG_TOPICS)
