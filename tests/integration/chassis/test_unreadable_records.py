"""Records that the client of Kafka itself cannot read, on a broker that took them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiokafka.producer import message_accumulator, producer
from aiokafka.record import default_records

from services.chassis.dead_letters.letters import DeadLetter
from services.chassis.dead_letters.replay import read_letters
from services.chassis.events import Event, encode_headers
from services.chassis.producer import Producer, PublishResult, Record
from services.chassis.topics import open_reader
from tests.eventually import eventually
from tests.integration.chassis.consuming import consuming
from tests.unit.chassis.samples import an_event


class NoText(str):
    """The name of a header in bytes that are no UTF-8."""

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return b"\xff\xfe"


@pytest.fixture(autouse=True)
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """aiokafka's producer in pure Python sends what its compiled one refuses."""
    for module in (message_accumulator, producer):
        monkeypatch.setattr(module, "DefaultRecordBatchBuilder", default_records._DefaultRecordBatchBuilderPy)


@dataclass
class Bench:
    topic: str
    producer: Producer
    seen: list[str] = field(default_factory=list)

    async def handle(self, events: list[Event]) -> None:
        self.seen += [event.key for event in events]

    async def publish(self, *records: Record) -> None:
        """In one batch per partition."""
        results = await self.producer.publish_records(records)
        assert all(isinstance(result, PublishResult) for result in results), results

    def good(self, name: str, count: int) -> list[Record]:
        """Over all partitions."""
        keys = [f"{name}-{number}" for number in range(count)]
        return [Record(self.topic, key.encode(), b"v", encode_headers(an_event(self.topic, key=key))) for key in keys]

    def bad(self) -> Record:
        return Record(self.topic, b"always the same", b"x", [(NoText("x"), b"1")])

    async def letters(self) -> list[DeadLetter]:
        async with open_reader(self.producer.kafka) as reader:
            return [letter async for letter in read_letters(self.producer.kafka, reader, f"{self.topic}.dlq")]


@pytest.fixture
async def bench(kafka_bootstrap: str, topic_suffix: str) -> AsyncIterator[Bench]:
    topic = f"unreadable-{topic_suffix}"
    async with Producer(kafka_bootstrap, {topic: 3}, idempotence=False) as sender:
        yield Bench(topic, sender)


async def test_unreadable_records_are_dead_lettered_and_no_others_are_lost(bench: Bench) -> None:
    for number in range(3):
        await bench.publish(*bench.good(f"before-{number}", 50))
        await bench.publish(bench.bad())
    await bench.publish(bench.bad(), bench.bad())
    await bench.publish(*bench.good("after", 50))
    async with consuming(bench.producer, bench.topic, bench.handle):
        await eventually(lambda: len(set(bench.seen)) >= 200)
        await bench.publish(*bench.good("later", 50))
        await eventually(lambda: len(set(bench.seen)) >= 250)
    letters = await bench.letters()
    assert {letter.reason for letter in letters} == {"UNREADABLE"}
    assert all(letter.cut and letter.message.startswith("offsets ") for letter in letters)
    assert len(bench.seen) == len(set(bench.seen)) == 250
